"""Turns: the rows as the contents that will be sent, joined where the grammar wants one.

Gemini wants the responses to all calls of a content in one content of their own, and no call right after another
content of the model. What was recorded piece by piece is joined so; contents that came over this wire as
separate ones are never regrouped here. Words after responses are a content of their own: mixed with responses
they are refused by models from Gemini 3 on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from fanfold.core.message import Call, Result
from fanfold.core.view import Row
from fanfold.dialects.gemini.names import DIALECT, spelled, spelling
from fanfold.dialects.gemini.read import listed, read
from fanfold.dialects.gemini.write import is_own

Speaker = Literal["user", "model"]


class Turn(msgspec.Struct):
    """One content of a request."""

    speaker: Speaker
    calls: tuple[str, ...]
    results: tuple[str, ...]
    own: bool
    """It came over this wire just so."""
    bodies: list[Any]
    """The contents it is made of."""


def turns(rows: Iterable[Row]) -> list[Turn]:
    """The contents of a request, each with the calls and results in it."""
    done: list[Turn] = []
    last: Turn | None = None
    for row in rows:
        wire = row.weight.wire
        if len(wire) == 1 and len(row.messages) == 1:
            message = row.messages[0]
            speaker: Speaker = "model" if message.role == "assistant" else "user"
            source = (row.was or message).wire
            own = source is not None and source.dialect == DIALECT
            pieces: Iterable[Turn] = (Turn(speaker, row.calls, row.results, own, list(wire)),)
        else:
            pieces = _pieces(row)
        for turn in pieces:
            if last is not None and turn.speaker == last.speaker and _belongs(turn, last):
                _join(last, turn)
            else:
                done.append(turn)
                last = turn
    return done


def _belongs(turn: Turn, last: Turn) -> bool:
    """Whether a turn of the same speaker was recorded as a piece of the last one."""
    if turn.own and last.own:
        return False
    return turn.speaker == "model" or bool(turn.results and last.results)


def _join(last: Turn, turn: Turn) -> None:
    last.calls += turn.calls
    last.results += turn.results
    last.bodies += turn.bodies
    last.own = False


def _pieces(row: Row) -> Iterator[Turn]:
    """The turns of a row with several messages, or of a message that is written as several contents."""
    own = all(is_own(message) for message in row.messages)
    for body in row.weight.wire:
        parts = read(listed(body)) if isinstance(body, dict) else ()
        calls = tuple(part.id for part in parts if isinstance(part, Call))
        results = tuple(part.call for part in parts if isinstance(part, Result))
        model = isinstance(body, dict) and body.get("role") == "model"
        yield Turn("model" if model else "user", calls, results, own, [body])


def contents(rows: Sequence[Row]) -> list[Any]:
    """The contents as they are sent; what came over this wire just so is the same object."""
    found = turns(rows)
    sent: list[Any] = []
    for i, turn in enumerate(found):
        if turn.own:
            sent.extend(turn.bodies)
        else:
            body = turn.bodies[0] if len(turn.bodies) == 1 else joined(turn.speaker, turn.bodies)
            sent.append(_named(body, sent[i - 1] if i else None) if turn.results else body)
    return sent


def joined(speaker: Speaker, bodies: Sequence[Any]) -> dict[str, Any]:
    """Several contents as one."""
    return {"role": speaker, "parts": [part for body in bodies for part in listed(body)]}


def _named(body: dict[str, Any], calling: Any) -> dict[str, Any]:
    """Responses with the names of the functions they answer."""
    parts = listed(body)
    if not isinstance(calling, dict) or not any(map(_is_nameless, parts)):
        return body
    calls = read(listed(calling))
    names = {call.id: call.name for call in calls if isinstance(call, Call)}
    return {**body, "parts": [named(part, names) for part in parts]}


def _is_nameless(part: dict[str, Any]) -> bool:
    response = spelled(part, "functionResponse")
    return isinstance(response, dict) and not response.get("name")


def named(part: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """One response with the name of its function, if its call is among the named ones."""
    key = spelling(part, "functionResponse")
    if not _is_nameless(part) or part[key].get("id") not in names:
        return part
    response = part[key]
    return {**part, key: {**response, "name": names[response["id"]]}}


def with_context(sent: list[Any], context: str) -> list[Any]:
    """Inside a tool loop the context joins the last response: a user's content would end the loop."""
    last = sent[-1] if sent else None
    parts = listed(last) if isinstance(last, dict) else []
    response = spelled(parts[-1], "functionResponse") if parts and isinstance(parts[-1], dict) else None
    if not isinstance(last, dict) or not isinstance(response, dict):
        return [*sent, {"role": "user", "parts": [{"text": context}]}]
    key = spelling(parts[-1], "functionResponse")
    part = {**parts[-1], key: {**response, "response": _extended(response.get("response"), context)}}
    return [*sent[:-1], {**last, "parts": [*parts[:-1], part]}]


def _extended(response: Any, context: str) -> dict[str, Any]:
    given = response if isinstance(response, dict) else {"output": response}
    for key in ("output", "result", "error"):
        if isinstance(given.get(key), str):
            return {**given, key: f"{given[key]}\n\n{context}"}
    return {**given, "context": context}
