"""Filters: each shapes one output when it arrives, once; what it decided is recorded."""

from fanfold.outputs.filters.binary import binary
from fanfold.outputs.filters.clip import clip, clip_within
from fanfold.outputs.filters.filter import Filter, Shaped, apply_filters, is_shortening, shortens
from fanfold.outputs.filters.prune import prune

__all__ = [
    "Filter",
    "Shaped",
    "apply_filters",
    "binary",
    "clip",
    "clip_within",
    "is_shortening",
    "prune",
    "shortens",
]
