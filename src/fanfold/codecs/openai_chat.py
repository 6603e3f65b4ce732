"""OpenAI Chat Completions, and everything that speaks it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fanfold.codecs.assembly import Pieces, cut_call, sent
from fanfold.codecs.codec import Allowed, Assembly, Marks, Repair, Reply, Split, plain
from fanfold.codecs.mending import chat as mending
from fanfold.codecs.rules import broken, faults
from fanfold.codecs.rules import chat as rules
from fanfold.errors import BadMessage
from fanfold.ids import digest
from fanfold.message import (
    Call,
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Result,
    Role,
    Text,
    Thinking,
    Wire,
)
from fanfold.models import Model
from fanfold.record import Frame
from fanfold.usage import TokenUsage
from fanfold.view import Row, Violation

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_ONCE = frozenset({"role", "id", "type", "index"})
"""Fields that a stream repeats instead of continuing."""
_THOUGHTS = ("reasoning_content", "reasoning")
Place = tuple[str | int, ...]


class OpenAIChat:
    """The codec for `openai.chat`."""

    dialect = "openai.chat"

    def __init__(self, model: Model | None = None) -> None:
        self._model = model

    def split(self, request: Any) -> Split:
        """Take a request (or a bare list of messages) apart; leading system messages are the frame's."""
        body = request if isinstance(request, Mapping) else {"messages": request}
        messages, tools = body.get("messages"), body.get("tools")
        if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
            raise BadMessage("A transcript is a list of messages, or a request with `messages` in it.")
        framed = ("messages", "tools") if isinstance(tools, list | tuple) and tools else ("messages",)
        params = {key: value for key, value in body.items() if key not in framed}
        first = next((i for i, body in enumerate(messages) if _role(body) != "system"), len(messages))
        rest = messages[first:] if first else messages
        return Split(tuple(messages[:first]), rest, tuple(tools or ()) if "tools" in framed else (), params)

    def frame(self, system: Iterable[Any], tools: Iterable[Any]) -> Frame:
        """System prompt (texts or messages) and tools as a frame."""
        spoken = tuple(self._system(body, f"system[{i}]") for i, body in enumerate(system))
        return Frame(spoken, tuple(self._tool(tool, f"tools[{i}]") for i, tool in enumerate(tools)))

    def _system(self, body: Any, where: str) -> Message:
        return Message("system", (Text(body),)) if isinstance(body, str) else self.message(body, where)

    def _tool(self, tool: Any, where: str) -> Any:
        body = plain(tool, where)
        if not isinstance(body, dict):
            raise BadMessage(f"{where} is no tool definition: give a dict with `type` and `function`.")
        return body

    def message(self, body: Any, where: str = "message") -> Message:
        """Read one wire message."""
        body = plain(body, where)
        if not isinstance(body, dict):
            raise BadMessage(
                f"{where} is {type(body).__name__}, not a message: give a dict with role and content."
            )
        role = _ROLES.get(str(body.get("role")))
        if role is None:
            known = ", ".join(_ROLES)
            raise BadMessage(f"{where} has the role {body.get('role')!r}; known roles are {known}.")
        parts = tuple(part for _, part in located(body, role, where))
        return Message(role, parts, Wire(self.dialect, body))

    def wire(self, message: Message, was: Message | None = None) -> tuple[Any, ...]:
        """One message in wire form."""
        if was is not None and was.wire is not None and was.wire.dialect == self.dialect:
            return (_patched(was, message),)
        if message.wire is not None and message.wire.dialect == self.dialect:
            return (message.wire.body,)
        return tuple(_written(message))

    def lost(self, message: Message) -> tuple[int, ...]:
        """Thinking that did not come over this wire has no place in it."""
        if message.wire is not None and message.wire.dialect == self.dialect:
            return ()
        return tuple(i for i, part in enumerate(message.parts) if isinstance(part, Thinking))

    def limit(self, tokens: int | None, default: int) -> dict[str, Any]:
        """OpenAI's reasoning models take the limit of the reply by another name."""
        renamed = self._model is not None and "max_completion_tokens" in self._model.quirks
        return {} if tokens is None else {"max_completion_tokens" if renamed else "max_tokens": tokens}

    def allow(self, rows: Sequence[Row], params: Mapping[str, Any]) -> Allowed:
        """Nothing in Chat Completions depends on the parameters."""
        return Allowed(rows, params)

    def encode(
        self,
        frame: Frame,
        rows: Sequence[Row],
        params: Mapping[str, Any],
        *,
        context: str | None = None,
        marks: Marks | None = None,
    ) -> dict[str, Any]:
        """The keyword arguments for `client.chat.completions.create`."""
        messages = [body for message in frame.system for body in self.wire(message)]
        messages += [body for row in rows for body in row.weight.wire]
        if context:
            messages = [*messages[:-1], *_with_context(messages[-1:], context)]
        request: dict[str, Any] = {**params, "messages": messages}
        if frame.tools:
            request["tools"] = list(frame.tools)
        if marks and self._model is not None and self._model.provider == "openai":
            request.setdefault("prompt_cache_key", marks.key)
        return request

    def reply(self, response: Any) -> Reply:
        """Read a whole response: a `chat.completion`, as a dict or an SDK object."""
        body = plain(response, "response")
        choices = body.get("choices") if isinstance(body, dict) else None
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise BadMessage("The response has no `choices`: give what chat.completions.create returned.")
        message = self.message(choices[0].get("message"), "response.choices[0].message")
        usage = body.get("usage")
        return Reply((message,), TokenUsage.of(usage) if usage else None, choices[0].get("finish_reason"))

    def assembly(self) -> Assembly:
        """A place to collect a stream of chunks."""
        return Chunks(self)

    def faults(self, message: Message) -> tuple[Violation, ...]:
        """The rules that a message breaks by itself."""
        return faults(message, rules.MESSAGE) + rules.body_faults(self.wire(message))

    def check(self, rows: Sequence[Row], params: Mapping[str, Any]) -> list[Violation]:
        """The rules of Chat Completions that these rows break."""
        return broken(rows, params, rules.ORDER)

    def mend(self, rows: Sequence[Row], params: Mapping[str, Any]) -> list[Repair]:
        """The smallest repairs that make these rows legal."""
        return mending.mend(rows, self.faults)


class Chunks:
    """The chunks of a streamed chat completion, on their way to a reply."""

    def __init__(self, codec: OpenAIChat) -> None:
        self._codec = codec
        self._body = Pieces()
        self._calls: dict[int, Pieces] = {}
        self._usage: Any = None
        self._stop: str | None = None

    @property
    def complete(self) -> bool:
        """Whether a chunk said why the model stopped."""
        return self._stop is not None

    def feed(self, event: Any) -> None:
        """Take in one chunk."""
        chunk = plain(event, "chunk")
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices") or ():
            if choice.get("index", 0) == 0:
                self._take(choice.get("delta") or {})
                self._stop = choice.get("finish_reason") or self._stop

    def _take(self, delta: dict[str, Any]) -> None:
        for call in delta.get("tool_calls") or ():
            self._calls.setdefault(call.get("index", len(self._calls)), Pieces()).add(call, once=_ONCE)
        self._body.add({key: value for key, value in delta.items() if key != "tool_calls"}, once=_ONCE)

    def reply(self) -> Reply:
        """What came so far."""
        usage = TokenUsage.of(self._usage) if self._usage else None
        body = {"role": "assistant", "content": None, **self._body.joined()}
        calls = [self._calls[i].joined() for i in sorted(self._calls)]
        for call in calls:
            call.pop("index", None)
        if self.complete:
            body |= {"tool_calls": calls} if calls else {}
            return Reply((self._codec.message(body, "stream"),), usage, self._stop)
        said = self._codec.message(body, "stream")
        cut = tuple(cut_call(call) for call in calls)
        return Reply((Message("assistant", (*said.parts, *cut)),), usage, "cut")


def _role(body: Any) -> Role | None:
    return _ROLES.get(str(body.get("role"))) if isinstance(body, dict) else None


def located(body: dict[str, Any], role: Role, where: str) -> Iterator[tuple[Place, Part]]:
    """Every part of a wire message with the place where it stands."""
    if role == "tool":
        yield ("content",), _result(body, where)
        return
    for key in _THOUGHTS:
        if isinstance(body.get(key), str) and body[key]:
            yield (key,), Thinking(body[key])
            break
    yield from _contents(body.get("content"), where)
    yield from _calls(body, where)


def _contents(content: Any, where: str) -> Iterator[tuple[Place, Part]]:
    if content is None or content == "":
        return
    if isinstance(content, str):
        yield ("content",), Text(content)
        return
    if not isinstance(content, list | tuple):
        raise BadMessage(
            f"{where}.content is {type(content).__name__}; it must be a text, a list of parts or null."
        )
    for i, block in enumerate(content):
        yield ("content", i), _block(block, f"{where}.content[{i}]")


def _block(block: Any, where: str) -> Text | Image | Document | Opaque:
    if not isinstance(block, dict):
        raise BadMessage(f"{where} is {type(block).__name__}; a part is a dict with a `type`.")
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return _image(url)
        case {"type": "file", "file": dict(file)}:
            return Document(
                data=_text(file.get("file_data")),
                url=_text(file.get("file_id")),
                name=_text(file.get("filename")),
            )
        case _:
            return Opaque("openai.chat", block)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _image(url: str) -> Image:
    head, found, data = url.partition(";base64,")
    if found and head.startswith("data:"):
        return Image(media=head[5:], data=data)
    return Image(url=url)


def _calls(body: dict[str, Any], where: str) -> Iterator[tuple[Place, Part]]:
    calls = body.get("tool_calls")
    if calls is not None and not isinstance(calls, list | tuple):
        raise BadMessage(f"{where}.tool_calls is {type(calls).__name__}; it must be a list.")
    for i, call in enumerate(calls or ()):
        yield ("tool_calls", i), _call(call)
    match body.get("function_call"):
        case {"name": str(name), "arguments": str(raw)}:
            yield ("function_call",), Call("", name, raw)


def _call(call: Any) -> Call | Opaque:
    match call:
        case {"id": str(id), "function": {"name": str(name), "arguments": str(raw)}}:
            return Call(id, name, raw)
        case {"id": str(id), "type": "custom", "custom": {"name": str(name), "input": str(raw)}}:
            return Call(id, name, raw)
        case _:
            return Opaque("openai.chat", call)


def _result(body: dict[str, Any], where: str) -> Result:
    parts: list[Text | Image | Document | Opaque] = []
    for _, part in _contents(body.get("content"), where):
        if isinstance(part, Text | Image | Document | Opaque):
            parts.append(part)
    call = body.get("tool_call_id")
    name = body.get("name")
    return Result(
        call if isinstance(call, str) else "", tuple(parts), name=name if isinstance(name, str) else None
    )


def _patched(was: Message, message: Message) -> dict[str, Any]:
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
            body["content"] = part.text
        case ("content",), Text(text=text):
            body["content"] = text
        case ("content", int(i)), Text(text=text):
            body["content"][i] = {"type": "text", "text": text}
        case ("tool_calls", int(i)), Call(raw=raw) if "custom" in body["tool_calls"][i]:
            body["tool_calls"][i]["custom"]["input"] = raw
        case ("tool_calls", int(i)), Call(raw=raw):
            body["tool_calls"][i]["function"]["arguments"] = raw
        case ("function_call",), Call(raw=raw):
            body["function_call"]["arguments"] = raw


def _written(message: Message) -> Iterator[dict[str, Any]]:
    """A message that did not come over this wire, in this wire's form."""
    for result in message.results:
        yield {"role": "tool", "tool_call_id": short_id(result.call), "content": _result_content(result)}
    spoken = [part for part in message.parts if not isinstance(part, Result) and sent(part)]
    if not spoken and (message.results or message.parts):
        return
    role = "user" if message.role == "tool" else message.role
    body: dict[str, Any] = {"role": role, "content": _content(spoken, role)}
    calls = [_function(part) for part in spoken if isinstance(part, Call)]
    if calls:
        body["tool_calls"] = calls
        body["content"] = body["content"] or None
    yield body


def _result_content(result: Result) -> Any:
    return _flat([_fitting(part, "tool") for part in result.parts])


def _content(parts: Sequence[Part], role: str) -> Any:
    return _flat([_fitting(part, role) for part in parts if not isinstance(part, Call | Thinking | Result)])


def _fitting(part: Text | Image | Document | Opaque, role: str) -> Any:
    """The part as a block that this role may use; a short note where there is none."""
    block = _part(part)
    if block.get("type") in rules.PARTS.get(role, ("text",)):
        return block
    return {"type": "text", "text": f"[{type(part).__name__.lower()}]"}


def _flat(blocks: list[Any]) -> Any:
    if all(block.keys() == {"type", "text"} for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return blocks


def _part(part: Text | Image | Document | Opaque) -> Any:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Image(media=media, data=str(data)):
            return {"type": "image_url", "image_url": {"url": f"data:{media or 'image/png'};base64,{data}"}}
        case Image(url=url):
            return {"type": "image_url", "image_url": {"url": url or ""}}
        case Document(text=str(text)):
            return {"type": "text", "text": text}
        case Document(data=data, name=name):
            return {"type": "file", "file": {"file_data": data or "", "filename": name or "document"}}
        case Opaque(dialect="openai.chat", body=dict(body)):
            return body
        case Opaque(dialect=dialect):
            return {"type": "text", "text": f"[a block of {dialect} that cannot be shown here]"}


def _function(call: Call) -> dict[str, Any]:
    name = (
        call.name if rules.is_name(call.name) else re.sub(r"[^a-zA-Z0-9_-]", "_", call.name)[:64] or "unnamed"
    )
    return {"id": short_id(call.id), "type": "function", "function": {"name": name, "arguments": call.raw}}


def short_id(id: str) -> str:
    """An id that Chat Completions takes; a longer one is shortened, the same way for call and result."""
    return (
        id if len(id) <= rules.LONGEST_ID else f"{id[:23]}_{digest(id.encode('utf-8', 'surrogatepass'))[:16]}"
    )


def _with_context(last: Sequence[Any], context: str) -> list[Any]:
    """Inside a tool loop the context joins the last result: a user message would end the loop."""
    if last and last[0].get("role") == "tool" and isinstance(last[0].get("content"), str):
        return [{**last[0], "content": f"{last[0]['content']}\n\n{context}"}]
    return [*last, {"role": "user", "content": context}]
