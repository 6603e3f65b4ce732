"""Roo Code: condense, else truncate, tag instead of delete, rewind (systems.md E), on its own dicts."""

from fanfold.systems.roo_code.condensing import (
    RooApi,
    keep_with_tool_blocks,
    messages_since_last_summary,
    summarize_conversation,
)
from fanfold.systems.roo_code.counting import estimate_tokens
from fanfold.systems.roo_code.history import (
    cleanup_after_truncation,
    effective_history,
    truncate_conversation,
)
from fanfold.systems.roo_code.managing import (
    allowed_tokens,
    effective_threshold,
    manage_context,
    will_manage_context,
)
from fanfold.systems.roo_code.rewinding import rewind_to_index, rewind_to_timestamp

__all__ = [
    "RooApi",
    "allowed_tokens",
    "cleanup_after_truncation",
    "effective_history",
    "effective_threshold",
    "estimate_tokens",
    "keep_with_tool_blocks",
    "manage_context",
    "messages_since_last_summary",
    "rewind_to_index",
    "rewind_to_timestamp",
    "summarize_conversation",
    "truncate_conversation",
    "will_manage_context",
]
