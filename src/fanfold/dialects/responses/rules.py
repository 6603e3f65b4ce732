"""The rules of OpenAI's Responses. An item of the input is one message here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fanfold.core.message import Role
from fanfold.core.view import Row, Violation
from fanfold.dialects.openai import NAMING
from fanfold.dialects.rules import OrderRule, some_message

Item = dict[str, Any]
CALLS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
    "tool_search_call": "tool_search_output",
}
"""Calls that the client answers, and the kind of item that answers them."""
OUTPUTS = {output: call for call, output in CALLS.items()}
ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}
PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
LONGEST_ID = 64
LONGEST_TEXT = 10 * 1024 * 1024
_SETTINGS = frozenset({"additional_tools", "configuration_update", "compaction_trigger"})
_ID = re.compile(r"[a-zA-Z0-9_-]+")


def kind_of(item: Mapping[str, Any]) -> str:
    """An item's type; one without is a message if it has a role, and else refers to a stored item."""
    kind = item.get("type")
    if kind is None:
        return "message" if "role" in item else "item_reference"
    return str(kind)


def speaker(item: Mapping[str, Any]) -> Role:
    """Who an item comes from: the model, unless it is a message of someone else, an output or a setting."""
    kind = kind_of(item)
    if kind == "message":
        return ROLES.get(str(item.get("role")), "user")
    if kind.endswith("_output") or kind == "mcp_approval_response":
        return "tool"
    return "system" if kind in _SETTINGS else "assistant"


def by_model(item: Mapping[str, Any]) -> bool:
    """Whether the model made an item, so that reasoning may stand before it."""
    return speaker(item) == "assistant" and kind_of(item) != "item_reference"


def pairs(item: Mapping[str, Any]) -> bool:
    """Whether an item is a call that the client answers, or such an answer; a server's own search is not."""
    kind = item.get("type")
    if kind in ("tool_search_call", "tool_search_output"):
        return item.get("call_id") is not None
    return kind in CALLS or kind in OUTPUTS


def is_id(id: object, kind: str) -> bool:
    """Whether the server could have given this id to an item of this kind."""
    return isinstance(id, str) and _ID.fullmatch(id) is not None and id.startswith(PREFIXES.get(kind, ""))


def fits(block: object, role: str) -> bool:
    """Whether a block of content may stand in a message of this role."""
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        return False
    if role == "assistant":
        return kind == "refusal" or kind.startswith("output_")
    return kind.startswith("input_")


def type_given(item: Item) -> str | None:
    """A message may go without a type; none is null."""
    return "its type is null" if kind_of(item) == "message" and item.get("type", "") is None else None


def content_given(item: Item) -> str | None:
    """A message has content: a text or a list of blocks."""
    if kind_of(item) != "message" or isinstance(item.get("content"), str | list):
        return None
    return "no content"


def blocks_fit(item: Item) -> str | None:
    """The assistant's blocks are output, everyone else's are input."""
    content = item.get("content")
    if kind_of(item) != "message" or not isinstance(content, list):
        return None
    role = str(item.get("role"))
    fitting = all(fits(block, role) for block in content)
    return None if fitting else f"a block that a {role} message cannot have"


def texts_whole(item: Item) -> str | None:
    """No text is longer than ten mebibytes of characters."""
    long = any(len(text) > LONGEST_TEXT for text in texts(item))
    return "a text too long to be sent" if long else None


def id_given_by_server(item: Item) -> str | None:
    """An item's id is of the server's form, with the prefix of its kind."""
    id = item.get("id")
    return None if id is None or is_id(id, kind_of(item)) else f"the id {str(id)[:80]!r}"


def call_identified(item: Item) -> str | None:
    """A call and its output have a call id of at most 64 characters."""
    id = item.get("call_id")
    if not pairs(item) or (isinstance(id, str) and 0 < len(id) <= LONGEST_ID):
        return None
    return "a call or an output without a call id, or with too long a one"


def function_called(item: Item) -> str | None:
    """A function call has a proper name, and its arguments as text."""
    if item.get("type") != "function_call":
        return None
    if NAMING.allows(item.get("name")) and isinstance(item.get("arguments"), str):
        return None
    return "a call without a proper name, or without arguments as text"


def output_given(item: Item) -> str | None:
    """An output has something in it, be it an empty text."""
    kind = item.get("type")
    if kind not in OUTPUTS or kind in ("apply_patch_call_output", "tool_search_output"):
        return None
    return "an output without output" if item.get("output") is None else None


def summary_given(item: Item) -> str | None:
    """A reasoning item has a summary, be it an empty list."""
    if item.get("type") != "reasoning" or isinstance(item.get("summary"), list):
        return None
    return "reasoning without a summary"


def no_reference(item: Item) -> str | None:
    """Nothing is left to the server's memory: a session sends every item whole."""
    if kind_of(item) != "item_reference":
        return None
    return (
        f"a reference to the item {item.get('id')!r}, which is not recorded here: send the item itself, "
        "with store=False if the client can be told so"
    )


def answered(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """Every call has exactly one output, of its kind, somewhere behind it, and every output such a call."""
    open: set[tuple[str, str]] = set()
    for row in rows:
        for item in row.weight.wire:
            kind = item.get("type") if isinstance(item, dict) else None
            if kind in CALLS and pairs(item):
                open.add((CALLS[kind], str(item.get("call_id"))))
            elif kind in OUTPUTS and pairs(item):
                asked = (kind, str(item.get("call_id")))
                if asked not in open:
                    yield Violation("answered", row.id, f"a {kind} for {asked[1]!r}, which no call asked for")
                open.discard(asked)
    for kind, id in sorted(open, key=str):
        yield Violation("answered", "the end", f"the call {id!r} has no {kind}")


def calls_distinct(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """No two calls have the same call id."""
    seen: set[Any] = set()
    for row in rows:
        for item in row.weight.wire:
            if isinstance(item, dict) and item.get("type") in CALLS:
                id = item.get("call_id")
                if not isinstance(id, str):
                    continue
                if id in seen:
                    yield Violation("calls_distinct", row.id, f"a second call with the id {id!r}")
                seen.add(id)


def ids_distinct(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """No two items have the same id."""
    seen: set[Any] = set()
    for row in rows:
        for item in row.weight.wire:
            id = item.get("id") if isinstance(item, dict) else None
            if isinstance(id, str):
                if id in seen:
                    yield Violation("ids_distinct", row.id, f"a second item with the id {id!r}")
                seen.add(id)


def reasoning_followed(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """Reasoning is followed at once by what the model made of it."""
    thought: str | None = None
    for row in rows:
        for item in row.weight.wire:
            kind = item.get("type") if isinstance(item, dict) else None
            if thought is not None and not (isinstance(item, dict) and by_model(item)):
                yield Violation("reasoning_followed", thought, "reasoning without the item that it led to")
            thought = row.id if kind == "reasoning" else None
    if thought is not None:
        yield Violation("reasoning_followed", thought, "reasoning without the item that it led to")


BODY = (
    type_given,
    content_given,
    blocks_fit,
    texts_whole,
    id_given_by_server,
    call_identified,
    function_called,
    output_given,
    summary_given,
    no_reference,
)
ORDER: tuple[OrderRule, ...] = (some_message, answered, calls_distinct, ids_distinct, reasoning_followed)


def item_faults(items: Iterable[Any]) -> tuple[Violation, ...]:
    """The rules that items break by themselves."""
    found = ((rule.__name__, rule(item)) for item in items if isinstance(item, dict) for rule in BODY)
    return tuple(Violation(name, "an item", text) for name, text in found if text)


def texts(item: Item) -> Iterator[str]:
    """The long texts that an item may hold."""
    for field in (item.get("content"), item.get("output"), item.get("arguments"), item.get("input")):
        if isinstance(field, str):
            yield field
        elif isinstance(field, list):
            blocks = (block.get("text") for block in field if isinstance(block, dict))
            yield from (text for text in blocks if isinstance(text, str))
