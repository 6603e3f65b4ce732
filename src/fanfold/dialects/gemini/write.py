"""Gemini's contents, written: parts that were elided, messages of other wires, and rows as the contents of a request.

Gemini wants the responses to all calls of a content in one content of their own, and no call right after another
content of the model. What was recorded piece by piece is joined so; contents that came over this wire as
separate ones are never regrouped here. Words after responses are a content of their own: mixed with responses
they are refused by models from Gemini 3 on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text
from fanfold.core.view import Row
from fanfold.dialects.dialect import is_sent, leaves_out
from fanfold.dialects.gemini.names import DIALECT, get_field, made_up, spelling, without
from fanfold.dialects.gemini.read import is_bare, is_sound, parts_of, read
from fanfold.dialects.gemini.tools import NAMING
from fanfold.dialects.media import is_web, note, unpack


def is_own(message: Message) -> bool:
    """Whether a message came over this wire."""
    return message.came_over(DIALECT)


def patch(was: Message, message: Message) -> Any:
    """The content as received, with exactly those parts changed that were elided."""
    assert was.wire is not None
    body = was.wire.body
    if isinstance(body, str):
        return message.text
    parts = [
        part if after == before else _put(part, after)
        for part, before, after in zip(parts_of(body), was.parts, message.parts, strict=True)
        if not leaves_out(before, after)
    ]
    return parts[0] if is_bare(body) else {**body, "parts": parts}


def _put(part: Any, after: Part) -> dict[str, Any]:
    """One part's new content in the place of the old; a signature of the old content goes with it."""
    match after:
        case Call(raw=raw):
            key = spelling(part, "functionCall")
            return {key: {**part[key], "args": arguments(raw)}}
        case Result(error=error):
            key = spelling(part, "functionResponse")
            words = [_words(one) for one in after.parts if not _is_media(one)]
            kept = part[key] if len(words) < len(after.parts) else without(part[key], "parts")
            return {**part, key: {**kept, "response": _response("\n".join(words), error)}}
        case Text(text=text):
            return {"text": text}
        case _:
            return {"text": ""}


def write(message: Message, *, media: bool = True) -> Iterator[dict[str, Any]]:
    """The contents for a message that did not come over this wire: its results by themselves, then the rest.

    `media`: the model takes pictures and files inside of a function's response.
    """
    results = [function_response(result, media=media) for result in message.results]
    if results:
        yield {"role": "user", "parts": results}
    spoken = list(_write_parts(message.parts))
    if spoken:
        yield {"role": "model" if message.role == "assistant" else "user", "parts": spoken}


def _write_parts(parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
    for part in parts:
        if isinstance(part, Result) or not is_sent(part) or (isinstance(part, Text) and not part.text):
            continue
        yield function_call(part) if isinstance(part, Call) else _part(part)


def function_call(call: Call) -> dict[str, Any]:
    """A call as a part; an id that was made up stays at home."""
    id = {} if made_up(call.id, call.name) else {"id": call.id}
    return {"functionCall": {**id, "name": NAMING.fit(call.name), "args": arguments(call.raw)}}


def arguments(raw: str) -> dict[str, Any]:
    """Arguments as the object Gemini wants; NaN and Infinity as words."""
    try:
        value = json.loads(raw or "{}", parse_constant=str)
    except (ValueError, RecursionError):
        value = raw
    return value if isinstance(value, dict) else {"arguments": value}


def function_response(result: Result, *, media: bool = True) -> dict[str, Any]:
    """A result as a part. Without a name it is nameless until it meets its call."""
    called = result.name if result.name is not None or result.call else ""
    name = {} if called is None else {"name": NAMING.fit(called)}
    id = {} if called is not None and made_up(result.call, called) else {"id": result.call}
    pictures = [part for part in result.parts if media and _is_media(part)]
    texts = [_words(part) for part in result.parts if part not in pictures]
    body: dict[str, Any] = {**id, **name, "response": _response("\n".join(texts), result.error)}
    if pictures:
        body["parts"] = [_part(part) for part in pictures]
    return {"functionResponse": body}


def _response(text: str, error: bool) -> dict[str, str]:
    return {"error" if error else "output": text}


def _is_media(part: Part) -> bool:
    return isinstance(part, Image | Document) and "inlineData" in _part(part)


def _words(part: Part) -> str:
    return str(_part(part).get("text", note(part)))


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Text(text=text) | Document(text=str(text)):
            return {"text": text}
        case Image(media=media, data=data, url=url):
            return _media(media or "image/png", data, url) or {"text": note(part)}
        case Document(media=media, data=data, url=url):
            return _media(media or "application/pdf", data, url) or {"text": note(part)}
        case Opaque(dialect=dialect, body=dict(body)) if dialect == DIALECT and is_sound(body):
            return body
        case _:
            return {"text": note(part)}


def _media(media: str, data: str | None, url: str | None) -> dict[str, Any] | None:
    """Bytes inline, an address as a file; a file's id at another provider is neither."""
    inline = unpack(data or url or "")
    if inline:
        return {"inlineData": {"mimeType": inline[0] or media, "data": inline[1]}}
    if data:
        return {"inlineData": {"mimeType": media, "data": data}}
    if url and (is_web(url) or url.startswith("gs://")):
        return {"fileData": {"mimeType": media, "fileUri": url}}
    return None


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

    def continues(self, last: Turn) -> bool:
        """Whether it was recorded as a piece of the last one."""
        if self.speaker != last.speaker or (self.own and last.own):
            return False
        return self.speaker == "model" or bool(self.results and last.results)


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
            if last is not None and turn.continues(last):
                last.calls += turn.calls
                last.results += turn.results
                last.bodies += turn.bodies
                last.own = False
            else:
                done.append(turn)
                last = turn
    return done


def _pieces(row: Row) -> Iterator[Turn]:
    """The turns of a row with several messages, or of a message that is written as several contents."""
    own = all(is_own(message) for message in row.messages)
    for body in row.weight.wire:
        parts = read(parts_of(body)) if isinstance(body, dict) else ()
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
            body = turn.bodies[0]
            if len(turn.bodies) > 1:
                body = {
                    "role": turn.speaker,
                    "parts": [part for one in turn.bodies for part in parts_of(one)],
                }
            sent.append(_add_names(body, sent[i - 1] if i else None) if turn.results else body)
    return sent


def _add_names(body: dict[str, Any], calling: Any) -> dict[str, Any]:
    """Responses with the names of the functions they answer."""
    parts = parts_of(body)
    if not isinstance(calling, dict) or not any(map(_is_nameless, parts)):
        return body
    calls = read(parts_of(calling))
    names = {call.id: call.name for call in calls if isinstance(call, Call)}
    return {**body, "parts": [_with_name(part, names) for part in parts]}


def _is_nameless(part: dict[str, Any]) -> bool:
    response = get_field(part, "functionResponse")
    return isinstance(response, dict) and not response.get("name")


def with_context(sent: list[Any], context: str) -> list[Any]:
    """Inside a tool loop the context joins the last response: a user's content would end the loop."""
    last = sent[-1] if sent else None
    parts = parts_of(last) if isinstance(last, dict) else []
    response = get_field(parts[-1], "functionResponse") if parts and isinstance(parts[-1], dict) else None
    if not isinstance(last, dict) or not isinstance(response, dict):
        return [*sent, {"role": "user", "parts": [{"text": context}]}]
    key = spelling(parts[-1], "functionResponse")
    part = {**parts[-1], key: {**response, "response": _extend(response.get("response"), context)}}
    return [*sent[:-1], {**last, "parts": [*parts[:-1], part]}]


def _extend(response: Any, context: str) -> dict[str, Any]:
    given = response if isinstance(response, dict) else {"output": response}
    for key in ("output", "result", "error"):
        if isinstance(given.get(key), str):
            return {**given, key: f"{given[key]}\n\n{context}"}
    return {**given, "context": context}


def _with_name(part: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """One response with the name of its function, if its call is among the named ones."""
    key = spelling(part, "functionResponse")
    if not _is_nameless(part) or part[key].get("id") not in names:
        return part
    response = part[key]
    return {**part, key: {**response, "name": names[response["id"]]}}
