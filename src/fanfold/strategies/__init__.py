"""Strategies: decisions about what to reduce, one file each."""

from fanfold.strategies.auto import auto
from fanfold.strategies.combining import either, when
from fanfold.strategies.drop_oldest import drop_oldest
from fanfold.strategies.elide import elide
from fanfold.strategies.extract import Snapshot, extract, noted, updated
from fanfold.strategies.handover.layers import digest
from fanfold.strategies.importance import importance
from fanfold.strategies.native import native
from fanfold.strategies.old_reads import shorten_reads
from fanfold.strategies.repeats import shorten_repeats
from fanfold.strategies.rolling import rolling
from fanfold.strategies.shortening import shorten_arguments, shorten_outputs
from fanfold.strategies.summarize import summarize
from fanfold.strategies.thinking import drop_thinking
from fanfold.strategies.truncate import truncate

__all__ = [
    "Snapshot",
    "auto",
    "digest",
    "drop_oldest",
    "drop_thinking",
    "either",
    "elide",
    "extract",
    "importance",
    "native",
    "noted",
    "rolling",
    "shorten_arguments",
    "shorten_outputs",
    "shorten_reads",
    "shorten_repeats",
    "summarize",
    "truncate",
    "updated",
    "when",
]
