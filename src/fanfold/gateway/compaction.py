"""Clients that compact by themselves.

Codex ends its input with a trigger and wants one item back, which it sends for ever instead of its history. It gets a
reference to everything that was recorded, which is put back in its place when it comes: nothing is lost. Other clients
ask the model for a summary and begin anew with it; such a question is known by its words.
"""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

import msgspec

from fanfold.dialects.http.request import HttpRequest
from fanfold.dialects.registry import dialect_named

TRIGGER = "compaction_trigger"
_MARK = "fanfold."
PROMPTS = ("CRITICAL: Respond with TEXT ONLY", "CONTEXT CHECKPOINT COMPACTION")
"""What Claude Code and codex say when they want a summary."""


class Reference(msgspec.Struct, frozen=True):
    """What a client sends in the place of its history."""

    session: str
    reply: str
    """The reply up to which everything is meant."""

    def item(self) -> dict[str, Any]:
        """The item that the client gets."""
        name = urlsafe_b64encode(self.session.encode()).decode()
        return {
            "type": "compaction",
            "id": f"cmp_{self.reply}",
            "encrypted_content": f"{_MARK}{name}.{self.reply}",
        }


def new_reference(session: str) -> Reference:
    """A reference to a session as it is now."""
    return Reference(session, f"resp_{secrets.token_hex(12)}")


def is_trigger(request: HttpRequest) -> bool:
    """Whether a client wants its history compacted."""
    items = request.body.get("input")
    last = items[-1] if request.dialect == "openai.responses" and isinstance(items, list) and items else None
    return request.route.purpose == "compact" or (isinstance(last, Mapping) and last.get("type") == TRIGGER)


def without_trigger(request: HttpRequest) -> HttpRequest:
    """The request as it would be if nothing were to be compacted."""
    items = request.body.get("input")
    kept = [item for item in items if not _is(item, TRIGGER)] if isinstance(items, list) else items
    return msgspec.structs.replace(request, body={**request.body, "input": kept})


def expand(request: HttpRequest) -> HttpRequest:
    """The request with what its reference stands for; as it is where it has none.

    Which session is meant is told by the reply alone: what else stands in a reference may be anybody's words.
    """
    items = request.body.get("input")
    if request.dialect != "openai.responses" or not isinstance(items, list):
        return request
    found = [(at, told) for at, item in enumerate(items) if (told := read_reference(item)) is not None]
    if not found:
        return request
    at, told = found[-1]
    body = {**request.body, "input": items[at + 1 :], "previous_response_id": told.reply}
    return msgspec.structs.replace(request, body=body)


def read_reference(item: Any) -> Reference | None:
    """The reference in an item, if it is one of ours."""
    text = item.get("encrypted_content") if _is(item, "compaction") else None
    if not isinstance(text, str) or not text.startswith(_MARK):
        return None
    name, _, reply = text.removeprefix(_MARK).rpartition(".")
    try:
        return Reference(urlsafe_b64decode(name).decode(), reply)
    except ValueError:
        return None


def _is(item: Any, kind: str) -> bool:
    return isinstance(item, Mapping) and item.get("type") == kind


def asks_for_summary(request: HttpRequest) -> bool:
    """Whether the last message is a known client's request for a summary of everything."""
    dialect = dialect_named(request.dialect)
    messages = dialect.split(request.body).messages
    text = dialect.message(messages[-1]).text if messages else ""
    return any(prompt in text for prompt in PROMPTS)


def compacted_reply(reference: Reference, model: str | None, now: int) -> dict[str, Any]:
    """A whole response of the one item that the client wants."""
    nothing = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": reference.reply,
        "object": "response",
        "created_at": now,
        "status": "completed",
        "model": model or "",
        "output": [reference.item()],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {**nothing, **details},
    }
