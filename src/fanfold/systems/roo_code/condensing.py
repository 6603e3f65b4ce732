"""Roo Code's condensing: a summary before the last three messages (systems.md E3, E4, E5)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from fanfold.strategies.prompting import prompt
from fanfold.strategies.telling import REASONING
from fanfold.systems.roo_code.counting import blocks_of
from fanfold.systems.roo_code.history import ApiMessage, before

N_MESSAGES_TO_KEEP = 3
NOT_ENOUGH = (
    "Not enough messages to condense: there must be at least two beside the first and the last three."
)
RECENTLY = "The context was condensed recently; wait for more messages."
FAILED = "The context could not be condensed: the summary was empty."
GREW = "The context would grow by condensing; nothing was changed."
REQUEST = "Summarize the conversation so far, as described in the prompt instructions."
CONTINUE = "Go on from this summary:"
IMAGE = "[An image was shown here]"


class RooApi(Protocol):
    """What talks to a model, as the document has it."""

    def create_message(
        self, system_prompt: str, messages: list[ApiMessage]
    ) -> str | Iterable[Mapping[str, Any]]:
        """A text, or a stream of `{"type": "text", "text"}` and `{"type": "usage", "totalCost", "outputTokens"}`."""

    def count_tokens(self, content: list[Mapping[str, Any]]) -> int:
        """The tokens of some blocks."""


class _Kept(NamedTuple):
    """The tail that stays, and what of the message before it must stay with it."""

    messages: list[ApiMessage]
    calls: list[dict[str, Any]]
    reasoning: list[dict[str, Any]]


def keep_with_tool_blocks(messages: Sequence[ApiMessage], keep_count: int) -> dict[str, Any]:
    """The last messages; where they begin with a tool's result, also its calls and the reasoning to them."""
    kept = _tail_of(messages, keep_count)
    return {
        "keepMessages": kept.messages,
        "toolUseBlocksToPreserve": kept.calls,
        "reasoningBlocksToPreserve": kept.reasoning,
    }


def _tail_of(messages: Sequence[ApiMessage], count: int) -> _Kept:
    start = max(len(messages) - count, 0)
    tail = list(messages[start:])
    calls = _blocks(messages[start - 1], "assistant", "tool_use") if start else []
    if not tail or not calls or not _blocks(tail[0], "user", "tool_result"):
        return _Kept(tail, [], [])
    return _Kept(tail, calls, _blocks(messages[start - 1], "assistant", "reasoning"))


def _blocks(message: ApiMessage, role: str, kind: str) -> list[dict[str, Any]]:
    content = message.get("content")
    if message.get("role") != role or not isinstance(content, list):
        return []
    return [block for block in content if block.get("type") == kind]


def messages_since_last_summary(messages: Sequence[ApiMessage]) -> list[ApiMessage]:
    """The last summary and all after it, behind the first message, for requests begin with the user."""
    last = max((index for index, message in enumerate(messages) if message.get("isSummary")), default=None)
    if last is None:
        return list(messages)
    since = list(messages[last:])
    if since[0].get("role") == "user":
        return since
    if messages[0].get("role") == "user":
        return [messages[0], *since]
    return [
        {"role": "user", "content": CONTINUE, "ts": before(messages)},
        *since,
    ]


def summarize_conversation(
    messages: Sequence[ApiMessage],
    api_handler: RooApi,
    system_prompt: str,
    task_id: str,
    prev_context_tokens: int,
    is_automatic_trigger: bool = False,
    custom_condensing_prompt: str | None = None,
    condensing_api_handler: RooApi | None = None,
    use_native_tools: bool = False,
) -> dict[str, Any]:
    """Put a summary before the last three messages and tag what it stands for; or say in `error` why not."""
    unchanged: dict[str, Any] = {"messages": messages, "summary": "", "cost": 0}
    tail = list(messages[-N_MESSAGES_TO_KEEP:])
    kept = _tail_of(messages, N_MESSAGES_TO_KEEP) if use_native_tools else _Kept(tail, [], [])
    start = max(len(messages) - N_MESSAGES_TO_KEEP, 0)
    old = messages_since_last_summary(messages[: start + 1 if kept.calls else start])
    if len(old) <= 1:
        few = len(messages) <= N_MESSAGES_TO_KEEP + 1
        return {**unchanged, "error": NOT_ENOUGH if few else RECENTLY}
    if any(message.get("isSummary") for message in kept.messages):
        return {**unchanged, "error": RECENTLY}
    wanted = (custom_condensing_prompt or "").strip() or prompt("sections")
    try:
        answer = _answer(_able(condensing_api_handler, api_handler).create_message(wanted, _request(old)))
    except Exception as error:  # a provider may raise anything; truncation is the way out
        return {**unchanged, "error": f"{type(error).__name__}: {error}"}
    if not answer.text:
        return {**unchanged, "cost": answer.cost, "error": FAILED}
    summary = _summary(answer.text, kept)
    after = _tokens(api_handler, system_prompt, answer.tokens, summary, kept.messages)
    if after >= prev_context_tokens:
        return {**unchanged, "cost": answer.cost, "error": GREW}
    return {
        "messages": _tag(messages, start, summary),
        "summary": answer.text,
        "cost": answer.cost,
        "newContextTokens": after,
        "condenseId": summary["condenseId"],
    }


def _able(own: RooApi | None, usual: RooApi) -> RooApi:
    """The model for condensing, if it can be asked; else the usual one."""
    return own if own is not None and callable(getattr(own, "create_message", None)) else usual


def _request(messages: Sequence[ApiMessage]) -> list[ApiMessage]:
    """The request for a summary: roles and content only, no pictures, and what is wanted at the end."""
    asked = [*messages, {"role": "user", "content": REQUEST}]
    return [{"role": one["role"], "content": _without_images(one.get("content"))} for one in asked]


def _without_images(content: Any) -> Any:
    return list(map(_without_image, content)) if isinstance(content, list) else content


def _without_image(block: dict[str, Any]) -> dict[str, Any]:
    if block.get("type") == "image":
        return {"type": "text", "text": IMAGE}
    within = block.get("content")
    return {**block, "content": _without_images(within)} if isinstance(within, list) else block


class _Answer(NamedTuple):
    text: str
    cost: float
    tokens: int


def _answer(stream: str | Iterable[Mapping[str, Any]]) -> _Answer:
    if isinstance(stream, str):
        return _Answer(stream.strip(), 0, 0)
    text, cost, tokens = "", 0.0, 0
    for chunk in stream:
        if chunk.get("type") == "text":
            text += chunk.get("text") or ""
        elif chunk.get("type") == "usage":
            cost, tokens = chunk.get("totalCost") or 0, chunk.get("outputTokens") or 0
    return _Answer(text.strip(), cost, tokens)


def _summary(text: str, kept: _Kept) -> ApiMessage:
    """The message with the summary: reasoning, which some providers demand, the text, and the calls of the tail."""
    content = [
        {"type": "reasoning", "text": REASONING},
        *kept.reasoning,
        {"type": "text", "text": text},
        *kept.calls,
    ]
    return {
        "role": "assistant",
        "content": content,
        "ts": before(kept.messages),
        "isSummary": True,
        "condenseId": str(uuid.uuid4()),
    }


def _tag(messages: Sequence[ApiMessage], start: int, summary: ApiMessage) -> list[ApiMessage]:
    """All messages, those between the first and the tail tagged, with the summary before the tail."""
    parent = summary["condenseId"]
    middle = [
        one if one.get("condenseParent") else {**one, "condenseParent": parent} for one in messages[1:start]
    ]
    return [messages[0], *middle, summary, *messages[start:]]


def _tokens(
    api_handler: RooApi, system_prompt: str, billed: int, summary: ApiMessage, kept: Sequence[ApiMessage]
) -> int:
    """What the context costs afterwards; the summary as it was billed, where that is known."""
    shown = [*([] if billed else [summary]), *kept]
    blocks = [*blocks_of(system_prompt), *(block for one in shown for block in blocks_of(one.get("content")))]
    return billed + api_handler.count_tokens(blocks)
