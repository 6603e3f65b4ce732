"""What a request needs beside its recorded contents: signatures on calls, and a content around bare texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fanfold.core.view import Row
from fanfold.dialects.dialect import Allowed
from fanfold.dialects.gemini.names import spelled, without
from fanfold.dialects.gemini.read import listed

PLACEHOLDER = "skip_thought_signature_validator"
"""The documented signature for calls that this model did not make, or that were edited (thought signatures, FAQ)."""
SENT_OTHERWISE = frozenset({"signed", "whole"})
"""Rules that are kept by sending a row a little otherwise than it is recorded."""


def allowed(rows: Sequence[Row], params: Mapping[str, Any]) -> Allowed:
    """The rows with a signature on the first call of each step, and a whole content for every bare one.

    A placeholder stays when the turn is over, so that the prompt's beginning does not change.
    """
    if not any(row.weight.faults for row in rows):
        return Allowed(rows, params)
    given = [_given(row) if row.weight.faults else row for row in rows]
    missing = sum(new is not row and _is_unsigned(row) for new, row in zip(given, rows, strict=True))
    said = (f"thought signature: {missing} steps have none, a placeholder is sent",) if missing else ()
    return Allowed(given, params, said)


def _given(row: Row) -> Row:
    kept = tuple(fault for fault in row.weight.faults if fault.rule not in SENT_OTHERWISE)
    if len(kept) == len(row.weight.faults):
        return row
    named = {fault.rule for fault in row.weight.faults}
    wire = tuple(whole(body) for body in row.weight.wire)
    if "signed" in named:
        wire = tuple(signed(body) for body in wire)
    return replace(row, weight=replace(row.weight, wire=wire, faults=kept, digest=row.weight.digest + b"+"))


def _is_unsigned(row: Row) -> bool:
    return any(unsigned(body) is not None for body in row.weight.wire)


def whole(body: Any) -> Any:
    """A content with a role and a list of parts; one that is so is the same object."""
    if isinstance(body, str):
        return {"role": "user", "parts": [{"text": body}]}
    if isinstance(body.get("parts"), list):
        return body
    parts = listed(body)
    calling = any(isinstance(part, dict) and spelled(part, "functionCall") for part in parts)
    return {"role": body.get("role") or ("model" if calling else "user"), "parts": parts}


def signed(body: Any) -> Any:
    """A content whose first call has a signature, be it the placeholder."""
    at = unsigned(body)
    if at is None:
        return body
    parts = list(listed(body))
    parts[at] = {**without(parts[at], "thoughtSignature"), "thoughtSignature": PLACEHOLDER}
    return {**body, "parts": parts}


def unsigned(body: Any) -> int | None:
    """Where the first call of a content stands, if it has no signature."""
    if not isinstance(body, dict):
        return None
    for i, part in enumerate(listed(body)):
        if isinstance(part, dict) and isinstance(spelled(part, "functionCall"), dict):
            return None if spelled(part, "thoughtSignature") else i
    return None
