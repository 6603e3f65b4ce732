"""Writing Gemini's contents: as received where it came over this wire, from its parts where it did not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text
from fanfold.dialects.dialect import is_sent
from fanfold.dialects.gemini.names import DIALECT, made_up, spelling, without
from fanfold.dialects.gemini.read import is_bare, listed
from fanfold.dialects.gemini.tools import NAMING
from fanfold.dialects.gemini.wellformed import is_sound
from fanfold.dialects.media import is_web, note, unpack


def is_own(message: Message) -> bool:
    """Whether a message came over this wire."""
    return message.came_over(DIALECT)


def patched(was: Message, message: Message) -> Any:
    """The content as received, with exactly those parts changed that were elided."""
    assert was.wire is not None
    body = was.wire.body
    if isinstance(body, str):
        return message.text
    parts = [
        part if after == before else _put(part, after)
        for part, before, after in zip(listed(body), was.parts, message.parts, strict=True)
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


def written(message: Message, *, media: bool = True) -> Iterator[dict[str, Any]]:
    """The contents for a message that did not come over this wire: its results by themselves, then the rest.

    `media`: the model takes pictures and files inside of a function's response.
    """
    results = [function_response(result, media=media) for result in message.results]
    if results:
        yield {"role": "user", "parts": results}
    spoken = list(_spoken(message.parts))
    if spoken:
        yield {"role": "model" if message.role == "assistant" else "user", "parts": spoken}


def _spoken(parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
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
