"""Asking models: fitting a question into their window."""
