"""Asking models: fitting a question into their window, and adapters to the official SDKs."""
