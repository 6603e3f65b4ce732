"""Integrations: fanfold inside other people's tools, one file each."""
