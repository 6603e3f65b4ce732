"""The algorithms of five documented systems as plain functions on plain dicts, exactly as their documents say.

Nothing is corrected here; what the documents get wrong is put right in strategies and presets. A dict has the keys of
its document (`condenseParent`, `functionResponse`, `output_ref`); functions and arguments are spelled as in Python.
"""

from collections.abc import Callable
from typing import Any, Literal

from fanfold.core.errors import unknown
from fanfold.systems import budgets, codelia, gemini_cli, meters, miki, openstarry, roo_code
from fanfold.systems.codelia import should_compact, tool_output_cache, tool_output_cache_grep
from fanfold.systems.gemini_cli import compress, find_split_point
from fanfold.systems.miki import compress_ui_data, importance, retain, update_snapshot
from fanfold.systems.openstarry import compose_payload, on_turn_complete
from fanfold.systems.roo_code import (
    cleanup_after_truncation,
    effective_history,
    keep_with_tool_blocks,
    manage_context,
    rewind_to_index,
    rewind_to_timestamp,
    summarize_conversation,
    truncate_conversation,
    will_manage_context,
)

__all__ = [
    "budgets",
    "cleanup_after_truncation",
    "codelia",
    "compose_payload",
    "compress",
    "compress_ui_data",
    "effective_history",
    "estimate_tokens",
    "find_split_point",
    "gemini_cli",
    "importance",
    "keep_with_tool_blocks",
    "manage_context",
    "meters",
    "miki",
    "on_turn_complete",
    "openstarry",
    "retain",
    "rewind_to_index",
    "rewind_to_timestamp",
    "roo_code",
    "should_compact",
    "summarize_conversation",
    "tool_output_cache",
    "tool_output_cache_grep",
    "truncate_conversation",
    "update_snapshot",
    "will_manage_context",
]

System = Literal["codelia", "openstarry", "miki", "gemini_cli", "roo_code"]
_ESTIMATES: dict[str, Callable[[Any], int]] = {
    "codelia": codelia.estimate_tokens,
    "openstarry": openstarry.estimate_tokens,
    "miki": miki.estimate_tokens,
    "gemini_cli": gemini_cli.estimate_tokens,
    "roo_code": roo_code.estimate_tokens,
}


def estimate_tokens(content: Any, system: System) -> int:
    """What a system takes some content to cost: a text, a value, messages, parts or blocks, as its document has it."""
    if system not in _ESTIMATES:
        raise unknown("system", system, _ESTIMATES)
    return _ESTIMATES[system](content)
