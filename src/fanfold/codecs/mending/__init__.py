"""Mending: broken rows made legal by the smallest change; one module per provider. It is recorded and visible."""
