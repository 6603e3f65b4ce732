"""Stores: where records and blobs are kept."""
