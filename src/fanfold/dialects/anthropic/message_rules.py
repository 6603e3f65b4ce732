"""Anthropic's rules on one message, checked once when it is weighed, and the repair of a message by itself.

The rules are those of the API reference (Messages), of the pages on tool use and extended thinking, and of the 400s
that the API answers. `legal` repairs them all, block by block; what depends on the neighbours is in `rules.py`.
"""

from __future__ import annotations

from typing import Any

from fanfold.core.message import Message, Opaque, Result, Text, Thinking, text_of
from fanfold.core.view import Violation
from fanfold.dialects.anthropic.read import (
    DIALECT,
    THOUGHTS,
    is_own,
    kind,
    part,
    parts,
    server_ids,
    server_use,
)
from fanfold.dialects.anthropic.tools import NAMING
from fanfold.dialects.anthropic.write import arguments, text_block, wire_id
from fanfold.dialects.dialect import is_sent
from fanfold.dialects.rules import Body, MessageRule, calls_by_assistant, faults, results_by_tools, stray
from fanfold.text.json_text import to_json

LONGEST_NAME = 200
"""How long a name that the model called may be; the name of a tool may not be that long."""
_READ = frozenset({"text", "tool_use", "tool_result", "image", "document"}) | THOUGHTS
"""Types of blocks that are read into parts."""
_ELSEWHERE = frozenset({"image_url", "input_text", "input_image", "output_text", "function_call", "file"})
"""Types of blocks that other providers know, and Anthropic does not."""


def content_given(message: Message) -> str | None:
    """Content is a text or a list of blocks."""
    content = message.wire.body.get("content") if message.wire and is_own(message) else ""
    return None if isinstance(content, str | list) else f"content is {type(content).__name__}"


def legal(body: Body) -> Body | None:
    """The message as the rules want it by itself, or None if nothing of it is left."""
    content = body.get("content")
    if isinstance(content, str):
        return {"role": body["role"], "content": content} if content.strip() else None
    if not isinstance(content, list):
        return None
    found = [block for each in content for block in _legal(each, body["role"])]
    found.sort(key=lambda block: kind(block) != "tool_result")
    return {"role": body["role"], "content": found} if found else None


def results_first(message: Message) -> str | None:
    """In a message, results come before everything else."""
    answers = [isinstance(part, Result) for part in message.parts if is_own(message) or is_sent(part)]
    return "a result behind other content" if answers != sorted(answers, reverse=True) else None


def assistants_own(message: Message) -> str | None:
    """Only the assistant thinks and uses the server's tools."""
    if message.role == "assistant" or not is_own(message):
        return None
    for one in message.parts:
        if isinstance(one, Thinking) or (isinstance(one, Opaque) and server_use(one.body)[1] is not None):
            return f"thinking or a server's tool in a {message.role} message"
    return None


def no_blank_text(message: Message) -> str | None:
    """No text is empty, and where there is text, some of it is more than whitespace."""
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    good = not texts or ("" not in texts and any(map(str.strip, texts)))
    return None if good else "a text of nothing but whitespace"


def _legal(block: Any, role: str) -> list[Body]:
    """A block as it may stand in a message of this role."""
    found = part(block)
    if isinstance(found, Opaque) and (is_malformed(found) or not isinstance(block, dict)):
        return _without_form(block)
    match kind(block):
        case "text":
            return [block] if block["text"].strip() else []
        case "tool_use":
            return [_legal_call(block)] if role == "assistant" else [text_block(text_of(found))]
        case "tool_result":
            return [_legal_result(block)] if role == "user" else as_stray_words(block)
        case name if name in THOUGHTS:
            return [block] if role == "assistant" else []
        case name if role != "assistant" and server_use(block)[1] is not None:
            return [text_block(f"[{name}: cannot be shown here]")]
    return [block]


def whole_blocks(message: Message) -> str | None:
    """Every block is an object with a type that Anthropic knows and the fields of that type."""
    odd = [part.body for part in message.parts if isinstance(part, Opaque) and is_malformed(part)]
    return f"a malformed block ({kind(odd[0]) or type(odd[0]).__name__})" if odd else None


def is_malformed(part: Opaque) -> bool:
    """Whether this is a broken block, not one that fanfold does not know."""
    if part.dialect != DIALECT:
        return False
    name = kind(part.body)
    if name in ("image", "document"):
        return not isinstance(part.body.get("source"), dict)
    return not name or name in _READ or name in _ELSEWHERE


def _without_form(block: Any) -> list[Body]:
    """What is left of a malformed block: its words, or a note that it was there."""
    if isinstance(block, str):
        return [text_block(block)] if block.strip() else []
    if kind(block) == "tool_result":
        return as_stray_words(block)
    if kind(block) in ("", "text", *THOUGHTS):
        return []
    said = block.get("text")
    note = f"[{kind(block)}: cannot be shown here]"
    return [text_block(said if isinstance(said, str) and said.strip() else note)]


def as_stray_words(block: Body) -> list[Body]:
    """A result that answers nothing, as plain words; its pictures stay."""
    inner = block.get("content")
    said = "\n".join(filter(None, map(text_of, parts(inner))))
    note = stray(str(block.get("tool_use_id") or ""), said)
    shown = [one for one in (inner if isinstance(inner, list) else ()) if kind(one) in ("image", "document")]
    return [text_block(note.rstrip()), *shown]


def object_inputs(message: Message) -> str | None:
    """The input of a call is an object."""
    odd = is_own(message) and any(not call.raw.startswith("{") for call in message.calls)
    return "the input of a call is no object" if odd else None


def named_calls(message: Message) -> str | None:
    """A call has a name, of at most 200 characters."""
    odd = is_own(message) and any(not 0 < len(call.name) <= LONGEST_NAME for call in message.calls)
    return "a call without a name, or with too long a one" if odd else None


def _legal_call(block: Body) -> Body:
    name, given = block["name"], block.get("input")
    known = name if 0 < len(name) <= LONGEST_NAME else NAMING.fit(name)
    called = {**block, "id": wire_id(block["id"]), "name": known}
    if isinstance(given, dict):
        return called
    text = "" if given is None else given if isinstance(given, str) else to_json(given)
    return {**called, "input": arguments(text)}


def no_empty_text_in_result(message: Message) -> str | None:
    """No text block within a result is empty."""
    empty = is_own(message) and any(Text("") in result.parts for result in message.results)
    return "an empty text in a result" if empty else None


def _legal_result(block: Body) -> Body:
    content = block.get("content")
    if isinstance(content, list):
        content = [inner for inner in content if kind(inner) != "text" or inner.get("text") != ""]
    changed = {"content": content} if content != block.get("content") else {}
    return {**block, "tool_use_id": wire_id(block["tool_use_id"]), **changed}


def signed(message: Message) -> str | None:
    """Thinking comes back with the signature that its provider gave; without one it is not sent (`thinking.py`)."""
    thoughts = [part for part in message.parts if isinstance(part, Thinking)]
    bare = is_own(message) and any(not thought.signature for thought in thoughts)
    return "thinking without a signature" if bare else None


# Suspicions: whether a message is at fault depends on what stands around it, so `rules.py` decides and repairs.


def says_something(message: Message) -> str | None:
    """A message has content, a final assistant message excepted."""
    return "no content" if is_own(message) and not message.parts else None


def thinking_goes_on(message: Message) -> str | None:
    """The assistant's turn does not end with thinking."""
    last = message.parts[-1] if message.parts and is_own(message) else None
    return "nothing behind the thinking" if isinstance(last, Thinking) else None


def server_pairs(message: Message) -> str | None:
    """What a server's tool was asked and what it gave come in pairs."""
    asked, given = server_ids([part.body for part in message.parts if isinstance(part, Opaque)])
    return "a server tool's use or result without the other" if asked != given else None


SUSPICIONS: tuple[MessageRule, ...] = (says_something, thinking_goes_on, server_pairs)
IN_PLACE = frozenset(rule.__name__ for rule in SUSPICIONS)
MESSAGE: tuple[MessageRule, ...] = (
    calls_by_assistant, results_by_tools, assistants_own, results_first, no_blank_text, no_empty_text_in_result,
    whole_blocks, content_given, object_inputs, named_calls, signed, *SUSPICIONS,
)  # fmt: skip


def message_faults(message: Message) -> tuple[Violation, ...]:
    """The rules that a message breaks by itself, suspicions included."""
    return faults(message, MESSAGE)
