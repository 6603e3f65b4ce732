"""From messages to wire bodies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text, Thinking
from fanfold.core.view import Row
from fanfold.dialects.chat.read import FOREIGN, OLD, THOUGHTS, Place, locate_parts, read_block
from fanfold.dialects.chat.rules import LONGEST_ID, is_loose, is_part, joins
from fanfold.dialects.dialect import id_digest, is_sent, leaves_out, plain
from fanfold.dialects.media import note
from fanfold.dialects.openai import NAMING, image_url, write_file
from fanfold.dialects.registry import CHAT
from fanfold.dialects.rules import Body, Rows


def patch(was: Message, message: Message) -> Body:
    """The wire form as received, with exactly those parts changed that were elided."""
    assert was.wire is not None
    body: Body = plain(was.wire.body)
    places = [place for place, _ in locate_parts(body, was.role)]
    for place, before, after in zip(places, was.parts, message.parts, strict=True):
        if leaves_out(before, after):
            for key in THOUGHTS:
                body.pop(key, None)
        elif after is not before and after != before:
            _put(body, place, after)
    return body


def _put(body: Body, place: Place, part: Part) -> None:
    match place, part:
        case ("content",), Result():
            body["content"] = _content(part.parts, "tool", body["content"])
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


def write(message: Message, *, reasoning: bool = False) -> Iterator[Body]:
    """A message that did not come over this wire, in this wire's form.

    `reasoning`: the maker takes reasoning as plain words, so what nobody signed goes along.
    """
    role = "user" if message.role == "tool" else message.role
    if all(isinstance(part, Text) for part in message.parts):
        yield {"role": role, "content": message.text}
        return
    for result in message.results:
        answers: Body = {"role": "tool", "tool_call_id": short_id(result.call)}
        if result.call == OLD:  # a function called the old way is named
            answers = {"role": "function", "name": NAMING.fit(result.name or "")}
        yield {**answers, "content": _content(result.parts, "tool")}
    spoken = [part for part in message.parts if not isinstance(part, Result) and is_sent(part)]
    if not spoken and message.parts:
        return
    body: Body = {"role": role, "content": _content(spoken, role)}
    calls = [part for part in spoken if isinstance(part, Call)]
    if calls:
        body["content"] = body["content"] or None
        new = [_function(call) for call in calls if call.id != OLD]
        old = [_function(call)["function"] for call in calls if call.id == OLD]
        body |= ({"tool_calls": new} if new else {}) | ({"function_call": old[0]} if old else {})
    thoughts = "\n".join(part.text for part in plain_thoughts(message)) if reasoning else ""
    yield body | {THOUGHTS[0]: thoughts} if thoughts else body


def plain_thoughts(message: Message) -> tuple[Thinking, ...]:
    """The reasoning that came over no wire and that nobody signed: a word of our own, say."""
    if message.wire is not None or message.role != "assistant":
        return ()
    return tuple(part for part in message.parts if isinstance(part, Thinking) and not part.signature)


def join(rows: Rows) -> list[Body]:
    """The wire messages of some rows; what the assistant said piece by piece in another dialect becomes one."""
    if not is_loose(rows):
        return list(chain.from_iterable([row.weight.wire for row in rows]))
    bodies: list[Body] = []
    open = False
    for row in rows:
        if len(row.messages) == 1 and not joins(row.was or row.messages[0]):
            bodies.extend(row.weight.wire)
            open = False
            continue
        for body in row.weight.wire:
            joining = body.get("role") == "assistant" and not _came_so(row, body)
            if joining and open:
                bodies[-1] = _both(bodies[-1], body)
            else:
                bodies.append(body)
            open = joining
    return bodies


def _came_so(row: Row, body: Body) -> bool:
    """Whether a wire message of a row came over this wire, be it with parts elided since."""
    if row.was is not None:
        return not joins(row.was)
    return any(message.wire is not None and message.wire.body is body for message in row.messages)


def _both(one: Body, other: Body) -> Body:
    contents = [body["content"] for body in (one, other) if body.get("content")]
    blocks = [[_text(content)] if isinstance(content, str) else content for content in contents]
    content = _flat([block for listed in blocks for block in listed])
    calls = [*one.get("tool_calls", ()), *other.get("tool_calls", ())]
    kept = {key: one[key] for key in THOUGHTS if key in one}
    old = {key: body[key] for body in (one, other) for key in ("function_call",) if key in body}
    said = {**({"tool_calls": calls} if calls else {}), **old}
    return {"role": "assistant", "content": content or (None if said else ""), **kept, **said}


def _content(parts: Sequence[Part], role: str, was: Any = ()) -> Any:
    """Parts as content that this role may have; a short note where there is no form for one.

    What a framework sends itself stands in `was`, and stays.
    """
    own = [block for block in was if block.get("type") == FOREIGN] if isinstance(was, list) else []
    blocks = []
    for part in parts:
        if not isinstance(part, Call | Thinking | Result):
            block = next((one for one in own if read_block(one) == part), None) or _block(part)
            blocks.append(block if block is not None and is_part(block, role) else _text(note(part)))
    return _flat(blocks)


def _flat(blocks: list[Any]) -> Any:
    if all(block.keys() == {"type", "text"} for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return blocks


def _block(part: Part) -> Any:
    """The part as a block, or None where there is no form for it."""
    match part:
        case Text(text=text) | Document(text=str(text)):
            return _text(text)
        case Image():
            url = image_url(part)
            return {"type": "image_url", "image_url": {"url": url}} if url else None
        case Document():
            file = write_file(part)
            return {"type": "file", "file": file} if file else None
        case Opaque(dialect=dialect, body=dict(body)) if dialect == CHAT:
            return body
    return None


def _text(text: str) -> Body:
    return {"type": "text", "text": text}


def _function(call: Call) -> Body:
    function = {"name": NAMING.fit(call.name), "arguments": call.raw}
    return {"id": short_id(call.id), "type": "function", "function": function}


def short_id(id: str) -> str:
    """An id that Chat Completions takes; a longer one is shortened, the same way for call and result."""
    return id if len(id) <= LONGEST_ID else f"{id[:23]}_{id_digest(id)[:16]}"


def with_context(last: Sequence[Any], context: str) -> list[Any]:
    """Inside a tool loop the context joins the last result: a user message would end the loop."""
    body = last[0] if last else {}
    if body.get("role") not in ("tool", "function"):
        return [*last, {"role": "user", "content": context}]
    content = body.get("content")
    if isinstance(content, list):
        return [{**body, "content": [*content, _text(context)]}]
    return [{**body, "content": f"{content}\n\n{context}"}]
