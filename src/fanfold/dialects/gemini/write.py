"""Gemini's contents, written: parts that were elided, messages of other wires, and rows as the contents of a request.

Gemini wants the responses to all calls of a content in one content of their own, and no call right after another
content of the model. What was recorded piece by piece is joined so; contents that came over this wire as
separate ones are never regrouped here. Words after responses are a content of their own: mixed with responses
they are refused by models from Gemini 3 on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text
from fanfold.core.view import Row, call_ids
from fanfold.dialects.dialect import is_sent, leaves_out, read_arguments
from fanfold.dialects.gemini.names import DIALECT, get_object, made_up, spelling, without
from fanfold.dialects.gemini.read import is_bare, is_sound, parts_of, read
from fanfold.dialects.gemini.tools import NAMING
from fanfold.dialects.media import is_web, note, unpack


def is_own(message: Message) -> bool:
    """Whether a message came over this wire."""
    return message.wire is not None and message.wire.dialect == DIALECT


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
            return {**part, key: {**kept, "response": _response(words, error)}}
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
    said = [
        part for part in message.parts if is_sent(part) and not isinstance(part, Result) and part != Text("")
    ]
    if said:
        parts = [function_call(part) if isinstance(part, Call) else _part(part) for part in said]
        yield {"role": "model" if message.role == "assistant" else "user", "parts": parts}


def function_call(call: Call) -> dict[str, Any]:
    """A call as a part; an id that was made up stays at home."""
    id = {} if made_up(call.id, call.name) else {"id": call.id}
    return {"functionCall": {**id, "name": NAMING.fit(call.name), "args": arguments(call.raw)}}


def arguments(raw: str) -> dict[str, Any]:
    """Arguments as the object Gemini wants; NaN and Infinity as words."""
    value = read_arguments(raw)
    return value if isinstance(value, dict) else {"arguments": value}


def function_response(result: Result, *, media: bool = True) -> dict[str, Any]:
    """A result as a part. Without a name it is nameless until it meets its call."""
    called = result.name if result.name is not None or result.call else ""
    name = {} if called is None else {"name": NAMING.fit(called)}
    id = {} if called is not None and made_up(result.call, called) else {"id": result.call}
    pictures = [part for part in result.parts if media and _is_media(part)]
    texts = [_words(part) for part in result.parts if part not in pictures]
    shown = {"parts": [_part(part) for part in pictures]} if pictures else {}
    return {"functionResponse": {**id, **name, "response": _response(texts, result.error), **shown}}


def _response(texts: Sequence[str], error: bool) -> dict[str, str]:
    return {"error" if error else "output": "\n".join(texts)}


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


class ContentTurn(msgspec.Struct, kw_only=True):
    """One content of a request."""

    speaker: Speaker
    calls: tuple[str, ...]
    results: tuple[str, ...]
    own: bool
    """It came over this wire just so."""
    bodies: list[Any]
    """The contents it is made of."""

    def continues(self, last: ContentTurn) -> bool:
        """Whether it was recorded as a piece of the last one."""
        if self.speaker != last.speaker or (self.own and last.own):
            return False
        return self.speaker == "model" or bool(self.results and last.results)


def turns(rows: Iterable[Row]) -> list[ContentTurn]:
    """The contents of a request, each with the calls and results in it."""
    done: list[ContentTurn] = []
    for turn in (turn for row in rows for turn in _turns_of(row)):
        if done and turn.continues(done[-1]):
            last = done[-1]
            last.calls += turn.calls
            last.results += turn.results
            last.bodies += turn.bodies
            last.own = False
        else:
            done.append(turn)
    return done


def _turns_of(row: Row) -> Iterator[ContentTurn]:
    """The turns of a row; of one message that is sent as one content, what is known of the row tells all."""
    wire = row.weight.wire
    whole = len(wire) == 1 and len(row.messages) == 1
    own = is_own(row.was or row.messages[0]) if whole else all(map(is_own, row.messages))
    for body in wire:
        calls, results, model = row.calls, row.results, row.messages[0].role == "assistant"
        if not whole:
            is_content = isinstance(body, dict)
            calls, results = call_ids((Message("user", read(parts_of(body)) if is_content else ()),))
            model = is_content and body.get("role") == "model"
        speaker: Speaker = "model" if model else "user"
        yield ContentTurn(speaker=speaker, calls=calls, results=results, own=own, bodies=[body])


def contents(rows: Sequence[Row]) -> list[Any]:
    """The contents as they are sent; what came over this wire just so is the same object."""
    sent: list[Any] = []
    for i, turn in enumerate(turns(rows)):
        if turn.own:
            sent.extend(turn.bodies)
            continue
        body = turn.bodies[0]
        if len(turn.bodies) > 1:
            parts = [part for one in turn.bodies for part in parts_of(one)]
            body = {"role": turn.speaker, "parts": parts}
        sent.append(_add_names(body, sent[i - 1] if i else None) if turn.results else body)
    return sent


def _add_names(body: dict[str, Any], calling: Any) -> dict[str, Any]:
    """Responses with the names of the functions they answer, where a call is among those before."""
    parts = list(parts_of(body))
    responses = [(at, get_object(part, "functionResponse")) for at, part in enumerate(parts)]
    nameless = [(at, response) for at, response in responses if response and not response.get("name")]
    if not nameless or not isinstance(calling, dict):
        return body
    names = {call.id: call.name for call in read(parts_of(calling)) if isinstance(call, Call)}
    for at, response in nameless:
        if response.get("id") in names:
            named = {**response, "name": names[response["id"]]}
            parts[at] = {**parts[at], spelling(parts[at], "functionResponse"): named}
    return {**body, "parts": parts}


def with_context(sent: list[Any], context: str) -> list[Any]:
    """Inside a tool loop the context joins the last response: a user's content would end the loop."""
    last = sent[-1] if sent else None
    parts = parts_of(last) if isinstance(last, dict) else []
    response = get_object(parts[-1], "functionResponse") if parts else None
    if not isinstance(last, dict) or response is None:
        return [*sent, {"role": "user", "parts": [{"text": context}]}]
    given = response.get("response")
    words = given if isinstance(given, dict) else {"output": given}
    field = next((key for key in ("output", "result", "error") if isinstance(words.get(key), str)), None)
    added = {"context": context} if field is None else {field: f"{words[field]}\n\n{context}"}
    part = {
        **parts[-1],
        spelling(parts[-1], "functionResponse"): {**response, "response": {**words, **added}},
    }
    return [*sent[:-1], {**last, "parts": [*parts[:-1], part]}]
