"""Roo Code's two stages: condense, and if that fails and the window is full, truncate (systems.md E1, E2, E9)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from fanfold.systems.roo_code.condensing import RooApi, summarize_conversation
from fanfold.systems.roo_code.counting import blocks_of
from fanfold.systems.roo_code.history import ApiMessage, countable, truncate_conversation

TOKEN_BUFFER_PERCENTAGE = 0.1
DEFAULT_MAX_TOKENS = 8_192
CONDENSE_PERCENT = 75
MIN_CONDENSE_THRESHOLD = 5
MAX_CONDENSE_THRESHOLD = 100
INHERIT = -1


def effective_threshold(percent: float, profiles: Mapping[str, float], profile: str | None) -> float:
    """The percentage at which a profile condenses: its own, or the global one for -1 and for none (E2)."""
    own = profiles.get(profile) if profile is not None else None
    if own is None or own == INHERIT:
        return percent
    if MIN_CONDENSE_THRESHOLD <= own <= MAX_CONDENSE_THRESHOLD:
        return own
    warnings.warn(
        f'Invalid profile threshold {own} for profile "{profile}". Using global default of {percent}%',
        stacklevel=2,
    )
    return percent


def allowed_tokens(context_window: int, max_tokens: int | None = None) -> float:
    """What may stand in the window: nine tenths of it less the reply (E1)."""
    return context_window * (1 - TOKEN_BUFFER_PERCENTAGE) - (max_tokens or DEFAULT_MAX_TOKENS)


def will_manage_context(
    *,
    total_tokens: int,
    context_window: int,
    last_message_tokens: int,
    max_tokens: int | None = None,
    auto_condense_context: bool = True,
    auto_condense_context_percent: float = CONDENSE_PERCENT,
    profile_thresholds: Mapping[str, float] | None = None,
    current_profile_id: str | None = None,
) -> bool:
    """Whether `manage_context` would try to condense or truncate; nothing is done (E9)."""
    current = total_tokens + last_message_tokens
    if current > allowed_tokens(context_window, max_tokens):
        return True
    if not auto_condense_context:
        return False
    least = effective_threshold(auto_condense_context_percent, profile_thresholds or {}, current_profile_id)
    return 100 * current / context_window >= least


def manage_context(
    *,
    messages: Sequence[ApiMessage],
    total_tokens: int,
    context_window: int,
    api_handler: RooApi,
    max_tokens: int | None = None,
    auto_condense_context: bool = True,
    auto_condense_context_percent: float = CONDENSE_PERCENT,
    system_prompt: str = "",
    task_id: str = "",
    custom_condensing_prompt: str | None = None,
    condensing_api_handler: RooApi | None = None,
    profile_thresholds: Mapping[str, float] | None = None,
    current_profile_id: str | None = None,
    use_native_tools: bool = False,
) -> dict[str, Any]:
    """Condense where the threshold is reached or the window full; truncate half where that failed and it is full.

    `total_tokens` does not include the last message, which is estimated here.
    """
    last = _count(api_handler, messages[-1:])
    current = total_tokens + last
    unchanged: dict[str, Any] = {"messages": messages, "summary": "", "cost": 0, "prevContextTokens": current}
    if auto_condense_context and will_manage_context(
        total_tokens=total_tokens,
        context_window=context_window,
        last_message_tokens=last,
        max_tokens=max_tokens,
        auto_condense_context_percent=auto_condense_context_percent,
        profile_thresholds=profile_thresholds,
        current_profile_id=current_profile_id,
    ):
        condensed = summarize_conversation(
            messages,
            api_handler,
            system_prompt,
            task_id,
            current,
            True,
            custom_condensing_prompt,
            condensing_api_handler,
            use_native_tools,
        )
        if not condensed.get("error"):
            return {**condensed, "prevContextTokens": current}
        unchanged |= {"cost": condensed["cost"], "error": condensed["error"]}
    if current <= allowed_tokens(context_window, max_tokens):
        return unchanged
    return unchanged | _truncate(messages, task_id, system_prompt, api_handler)


def _truncate(
    messages: Sequence[ApiMessage], task_id: str, system_prompt: str, api_handler: RooApi
) -> dict[str, Any]:
    truncated = truncate_conversation(messages, 0.5, task_id)
    system = api_handler.count_tokens(list(blocks_of(system_prompt)))
    left = _count(api_handler, countable(truncated["messages"]))
    return {**truncated, "newContextTokensAfterTruncation": system + left}


def _count(api_handler: RooApi, messages: Sequence[ApiMessage]) -> int:
    """The messages counted one by one; content without blocks costs nothing."""
    contents = [list(blocks_of(message.get("content"))) for message in messages]
    return sum(api_handler.count_tokens(content) for content in contents if content)
