"""Passes: each shapes one output when it arrives, once; what it decided is recorded."""

from fanfold.passes.binary import binary
from fanfold.passes.clip import clip, clip_within
from fanfold.passes.passing import Pass, Shaped, is_shortening, shaped, shortens
from fanfold.passes.prune import prune

__all__ = ["Pass", "Shaped", "binary", "clip", "clip_within", "is_shortening", "prune", "shaped", "shortens"]
