"""Contents made legal one by one: what cannot stand in a part becomes plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fanfold.dialects.gemini.names import spelled, spelling, without
from fanfold.dialects.gemini.read import kind_of
from fanfold.dialects.gemini.tools import NAMING
from fanfold.dialects.gemini.wellformed import has_data, is_call, is_response
from fanfold.text.json_text import to_json

EMPTY = "[empty]"
Content = dict[str, Any]


def said(text: str) -> Content:
    """A user's content of plain words."""
    return {"role": "user", "parts": [{"text": text}]}


def cleaned(body: Content) -> Iterator[Content]:
    """A content whose parts are legal; responses and anything beside them are two."""
    model = body.get("role") == "model"
    parts = [part for given in body["parts"] for part in _cleaned(given, model)]
    responses = [part for part in parts if _is_response(part)]
    others = [part for part in parts if not _is_response(part)]
    if responses and others:
        yield {**body, "parts": responses}
        yield {"role": "user", "parts": others}
    elif not parts:
        yield {**body, "parts": [{"text": EMPTY}]}
    else:
        yield body if parts == body["parts"] else {**body, "parts": parts}


def _cleaned(part: Any, model: bool) -> Iterator[Any]:
    """A part as it may stand here: itself, repaired, as words, or nothing where it carries nothing."""
    kind = kind_of(part)
    if kind in ("functionCall", "function_call"):
        yield _call(part, kind) if model else _words(part)
    elif kind in ("functionResponse", "function_response"):
        yield _words(part) if model else _response(part, kind)
    elif has_data(part):
        yield part
    elif isinstance(part, str) and part:
        yield {"text": part}
    elif not isinstance(part, dict) or kind_of(part) != "text":
        yield from () if _is_empty(part) else (_words(part),)


def _is_empty(part: Any) -> bool:
    """Whether nothing is lost with a part."""
    return not part or (isinstance(part, dict) and not any(without(part, "thought", "text").values()))


def _words(part: Any) -> Content:
    return {"text": to_json(without(part, "thoughtSignature") if isinstance(part, dict) else part)}


def _call(part: Content, kind: str) -> Content:
    call = part[kind]
    if is_call(call):
        return part
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return _words(part)
    args = call.get("args")
    given = args if isinstance(args, dict | None) else {"arguments": args}
    return {kind: {**call, "name": NAMING.fit(call["name"]), "args": given or {}}}


def _response(part: Content, kind: str) -> Content:
    """A response that is an object and names its function; without a name it waits for its call."""
    given = part[kind]
    if is_response(given):
        return part
    if not isinstance(given, dict) or not (given.get("id") or isinstance(given.get("name"), str)):
        return _words(part)
    name = {"name": NAMING.fit(given["name"])} if isinstance(given.get("name"), str) else {}
    output = given.get("response")
    if not isinstance(output, dict):
        output = {"output": output if isinstance(output, str) else "" if output is None else to_json(output)}
    return {**part, kind: {**without(given, "name"), **name, "response": output}}


def _is_response(part: Any) -> bool:
    return isinstance(spelled(part, "functionResponse"), dict)


def distinct(content: Content) -> Content:
    """A content whose calls have different ids."""
    parts = list(_distinct(content["parts"]))
    return content if parts == content["parts"] else {**content, "parts": parts}


def _distinct(parts: Sequence[Content]) -> Iterator[Content]:
    seen: set[str] = set()
    for part in parts:
        call = spelled(part, "functionCall")
        id = call.get("id") if isinstance(call, dict) else None
        while id and id in seen:
            id += "~"
        if id:
            seen.add(id)
        renamed = isinstance(call, dict) and id != call.get("id")
        yield {**part, spelling(part, "functionCall"): {**call, "id": id}} if renamed else part
