"""Strategies: decisions about what to reduce, one file each."""
