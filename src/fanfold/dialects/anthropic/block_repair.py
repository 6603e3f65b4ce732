"""Repairs single messages for Anthropic: blocks that break its rules wherever they stand."""

from __future__ import annotations

from typing import Any

from fanfold.core.message import Opaque, text_of
from fanfold.dialects.anthropic.message_rules import LONGEST_NAME, malformed
from fanfold.dialects.anthropic.read import THOUGHTS, Body, kind, part, parts, served
from fanfold.dialects.anthropic.tools import NAMING
from fanfold.dialects.anthropic.write import arguments, text_block, wire_id
from fanfold.dialects.rules import stray
from fanfold.text.json_text import to_json


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


def unasked(block: Body) -> list[Body]:
    """A result that answers nothing, as plain words; its pictures stay."""
    inner = block.get("content")
    said = "\n".join(filter(None, map(text_of, parts(inner))))
    note = stray(str(block.get("tool_use_id") or ""), said)
    shown = [one for one in (inner if isinstance(inner, list) else ()) if kind(one) in ("image", "document")]
    return [text_block(note.rstrip()), *shown]


def _legal(block: Any, role: str) -> list[Body]:
    found = part(block)
    if isinstance(found, Opaque) and (malformed(found) or not isinstance(block, dict)):
        return _noted(block)
    match kind(block):
        case "text":
            return [block] if block["text"].strip() else []
        case "tool_use":
            return [_call(block)] if role == "assistant" else [text_block(text_of(found))]
        case "tool_result":
            return [_result(block)] if role == "user" else unasked(block)
        case name if name in THOUGHTS:
            return [block] if role == "assistant" else []
        case name if role != "assistant" and served(block)[1] is not None:
            return [text_block(f"[{name}: cannot be shown here]")]
        case _:
            return [block]


def _noted(block: Any) -> list[Body]:
    """What is left of a malformed block: its words, or a note that it was there."""
    if isinstance(block, str):
        return [text_block(block)] if block.strip() else []
    if kind(block) == "tool_result":
        return unasked(block)
    if kind(block) in ("", "text", *THOUGHTS):
        return []
    said = block.get("text")
    return [
        text_block(
            said if isinstance(said, str) and said.strip() else f"[{kind(block)}: cannot be shown here]"
        )
    ]


def _call(block: Body) -> Body:
    name, given = block["name"], block.get("input")
    known = name if 0 < len(name) <= LONGEST_NAME else NAMING.fit(name)
    called = {**block, "id": wire_id(block["id"]), "name": known}
    if isinstance(given, dict):
        return called
    text = given if isinstance(given, str) else to_json(given)
    return {**called, "input": arguments(text if given is not None else "")}


def _result(block: Body) -> Body:
    """The result with a legal id, and no empty text in it."""
    content = block.get("content")
    if isinstance(content, list):
        content = [inner for inner in content if kind(inner) != "text" or inner.get("text") != ""]
    changed = {"content": content} if content != block.get("content") else {}
    return {**block, "tool_use_id": wire_id(block["tool_use_id"]), **changed}


def without_image(block: Any) -> Any:
    """The block with every picture in it replaced by a word."""
    if kind(block) == "image":
        return text_block("[image left out: too many in one request]")
    if kind(block) == "tool_result" and isinstance(block.get("content"), list):
        return {**block, "content": [without_image(inner) for inner in block["content"]]}
    return block
