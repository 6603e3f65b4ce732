"""From messages to wire bodies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fanfold.core.ids import digest
from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text, Thinking
from fanfold.core.view import Row
from fanfold.dialects.assembly import sent
from fanfold.dialects.carrying import plain_thoughts
from fanfold.dialects.chat import rules
from fanfold.dialects.chat.read import OLD, THOUGHTS, Place, located
from fanfold.dialects.dialect import plain
from fanfold.dialects.names import CHAT
from fanfold.dialects.naming import OPENAI
from fanfold.dialects.notes import note
from fanfold.dialects.openai_media import file, image_url


def patched(was: Message, message: Message) -> dict[str, Any]:
    """The wire form as received, with exactly those parts changed that were elided."""
    assert was.wire is not None
    body: dict[str, Any] = plain(was.wire.body)
    places = [place for place, _ in located(body, was.role, "message")]
    for place, before, after in zip(places, was.parts, message.parts, strict=True):
        if after is not before and after != before:
            _put(body, place, after)
    return body


def _put(body: dict[str, Any], place: Place, part: Part) -> None:
    match place, part:
        case ("content",), Result():
            body["content"] = _result_content(part)
        case ("content" | "refusal" as key,), Text(text=text):
            body[key] = text
        case ("content", int(i)), Text(text=text):
            body["content"][i] = _text(text)
        case ("tool_calls", int(i)), Call(raw=raw) if "custom" in body["tool_calls"][i]:
            body["tool_calls"][i]["custom"]["input"] = raw
        case ("tool_calls", int(i)), Call(raw=raw):
            body["tool_calls"][i]["function"]["arguments"] = raw
        case ("function_call",), Call(raw=raw):
            body["function_call"]["arguments"] = raw


def written(message: Message, *, reasoning: bool = False) -> Iterator[dict[str, Any]]:
    """A message that did not come over this wire, in this wire's form.

    `reasoning`: the maker takes reasoning as plain words, so what nobody signed goes along.
    """
    role = "user" if message.role == "tool" else message.role
    if all(isinstance(part, Text) for part in message.parts):
        yield {"role": role, "content": message.text}
        return
    for result in message.results:
        yield {**_answering(result), "content": _result_content(result)}
    spoken = [part for part in message.parts if not isinstance(part, Result) and sent(part)]
    if not spoken and (message.results or message.parts):
        return
    body: dict[str, Any] = {"role": role, "content": _content(spoken, role)}
    calls = _called([part for part in spoken if isinstance(part, Call)])
    if calls:
        body |= {"content": body["content"] or None, **calls}
    thoughts = "\n".join(part.text for part in plain_thoughts(message)) if reasoning else ""
    yield body | {THOUGHTS[0]: thoughts} if thoughts else body


def _answering(result: Result) -> dict[str, Any]:
    """Whose answer it is: a function called the old way is named."""
    if result.call == OLD:
        return {"role": "function", "name": OPENAI.fitted(result.name or "")}
    return {"role": "tool", "tool_call_id": short_id(result.call)}


def _called(calls: Sequence[Call]) -> dict[str, Any]:
    """Calls, the old way if they came so."""
    new = [_function(call) for call in calls if call.id != OLD]
    old = [_function(call)["function"] for call in calls if call.id == OLD]
    return {**({"tool_calls": new} if new else {}), **({"function_call": old[0]} if old else {})}


def joined(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The wire messages of some rows; what the assistant said piece by piece in another dialect becomes one."""
    if not rules.loose(rows):
        return [body for row in rows for body in row.weight.wire]
    bodies: list[dict[str, Any]] = []
    open = False
    for row in rows:
        if len(row.messages) == 1 and not rules.joins(row.was or row.messages[0]):
            bodies.extend(row.weight.wire)
            open = False
            continue
        for body in row.weight.wire:
            joins = body.get("role") == "assistant" and not _came_so(row, body)
            if joins and open:
                bodies[-1] = _both(bodies[-1], body)
            else:
                bodies.append(body)
            open = joins
    return bodies


def _came_so(row: Row, body: dict[str, Any]) -> bool:
    """Whether a wire message of a row came over this wire, be it with parts elided since."""
    if row.was is not None:
        return not rules.joins(row.was)
    return any(message.wire is not None and message.wire.body is body for message in row.messages)


def _both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    contents = [body["content"] for body in (one, other) if body.get("content")]
    calls = [*one.get("tool_calls", ()), *other.get("tool_calls", ())]
    content = _flat([block for content in contents for block in _blocks(content)])
    kept = {key: one[key] for key in THOUGHTS if key in one}
    old = {key: body[key] for body in (one, other) for key in ("function_call",) if key in body}
    said = {**({"tool_calls": calls} if calls else {}), **old}
    return {"role": "assistant", "content": content or (None if said else ""), **kept, **said}


def _blocks(content: Any) -> list[Any]:
    return [_text(content)] if isinstance(content, str) else list(content)


def _result_content(result: Result) -> Any:
    return _flat([_fitting(part, "tool") for part in result.parts])


def _content(parts: Sequence[Part], role: str) -> Any:
    return _flat([_fitting(part, role) for part in parts if not isinstance(part, Call | Thinking | Result)])


def _fitting(part: Text | Image | Document | Opaque, role: str) -> Any:
    """The part as a block that this role may use; a short note where there is none."""
    block = _part(part)
    return block if block is not None and rules.is_part(block, role) else _text(note(part))


def _flat(blocks: list[Any]) -> Any:
    if all(block.keys() == {"type", "text"} for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return blocks


def _part(part: Text | Image | Document | Opaque) -> Any:
    """The part as a block, or None where there is no form for it."""
    match part:
        case Text(text=text) | Document(text=str(text)):
            return _text(text)
        case Image():
            url = image_url(part)
            return {"type": "image_url", "image_url": {"url": url}} if url else None
        case Document():
            taken = file(part)
            return {"type": "file", "file": taken} if taken else None
        case Opaque(dialect=dialect, body=dict(body)) if dialect == CHAT:
            return body
        case _:
            return None


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _function(call: Call) -> dict[str, Any]:
    function = {"name": OPENAI.fitted(call.name), "arguments": call.raw}
    return {"id": short_id(call.id), "type": "function", "function": function}


def short_id(id: str) -> str:
    """An id that Chat Completions takes; a longer one is shortened, the same way for call and result."""
    return (
        id if len(id) <= rules.LONGEST_ID else f"{id[:23]}_{digest(id.encode('utf-8', 'surrogatepass'))[:16]}"
    )


def with_context(last: Sequence[Any], context: str) -> list[Any]:
    """Inside a tool loop the context joins the last result: a user message would end the loop."""
    body = last[0] if last else {}
    if body.get("role") not in ("tool", "function"):
        return [*last, {"role": "user", "content": context}]
    content = body.get("content")
    if isinstance(content, list):
        return [{**body, "content": [*content, _text(context)]}]
    return [{**body, "content": f"{content}\n\n{context}"}]
