"""What a framework's message says, told in the form of Chat Completions or of Anthropic's Messages.

A framework that speaks to several providers says in fanfold's own parts what is in one of its messages (`tell`), and
builds a message from parts (`build`). The rest is here: both forms, and which contents of a message go on as they are.

    CHAT, CLAUDE = forms(tell, build)

Claude's form has signed thoughts, and Anthropic's rules on them; the other one serves everybody else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text, Thinking
from fanfold.dialects.anthropic.message_rules import is_malformed
from fanfold.dialects.chat.read import FOREIGN
from fanfold.dialects.chat.rules import is_part
from fanfold.dialects.media import pack, unpack
from fanfold.text.json_text import from_json, to_json

M = TypeVar("M")
C = TypeVar("C")
Tell = Callable[[M], Message]
"""What a message says. A tool's message is one result; a reply is its thoughts, its words, then its calls."""
BuildFrom = Callable[[Message, M | None], M]
"""A message for what is shown, in the place of the framework's own one, if there is one."""
_PDF = "application/pdf"


class ToldForm(Generic[M]):
    """A `Converter` for the messages of a framework."""

    def __init__(self, tell: Tell[M], build: BuildFrom[M], *, claude: bool) -> None:
        self.dialect = "anthropic" if claude else "openai.chat"
        self.one_result = claude
        self._tell, self._build, self._write = tell, build, as_claude if claude else as_chat

    def body(self, message: M) -> dict[str, Any]:
        """A message as a wire message."""
        return self._write(self._tell(message))

    def build(self, shown: Message, wire: Any, was: M | None) -> M:
        """A message for what is shown."""
        return self._build(shown, was)


def forms(tell: Tell[M], build: BuildFrom[M]) -> tuple[ToldForm[M], ToldForm[M]]:
    """The form for most providers, and the one for Claude."""
    return ToldForm(tell, build, claude=False), ToldForm(tell, build, claude=True)


def show_contents(parts: Iterable[Part], own: Iterable[tuple[Part, C]]) -> list[C | Part]:
    """What is shown of a message's contents: the framework's own where nothing changed, else the part to build.

    `own` are the contents with what each says. Thoughts are kept or left out together, and stand first: a provider
    takes them back just as it gave them. A call is always a part: the framework has its own place for it.
    """
    left = list(own)
    shown = [part for part in parts if not isinstance(part, Call | Result)]
    thinks = shows_thoughts(shown)
    made: list[C | Part] = [content for part, content in left if thinks and isinstance(part, Thinking)]
    for part in shown:
        if not isinstance(part, Thinking):
            at = next((at for at, (told, _) in enumerate(left) if _says(told, part)), None)
            made.append(part if at is None else left.pop(at)[1])
    return made


def shows_thoughts(parts: Iterable[Part]) -> bool:
    """Whether thoughts are shown; what is left of one that was left out is an empty one."""
    return any(isinstance(part, Thinking) and part != Thinking() for part in parts)


def _says(told: Part, shown: Part) -> bool:
    """Whether a part is what became of another one on its way through a wire form, which may rename it."""
    match told, shown:
        case Image(), Image():
            return (told.data, told.url) == (shown.data, shown.url)
        case Document(), Document():
            return (told.data, told.url, told.text) == (shown.data, shown.url, shown.text)
        case Opaque(body=body), Opaque(body=known):
            return known in (body, _foreign(body))
    return told == shown


def tell_result(
    call: str, parts: Iterable[Part], *, failed: bool = False, name: str | None = None
) -> Message:
    """The message of a tool: what it answered to a call."""
    held = tuple(part for part in parts if isinstance(part, Text | Image | Document | Opaque))
    return Message("tool", (Result(call, held, failed, name),))


def tell_reply(parts: Sequence[Part], calls: Iterable[Call]) -> Message:
    """A reply: its thoughts, its words, then its calls."""
    thoughts = [part for part in parts if isinstance(part, Thinking)]
    words = [part for part in parts if not isinstance(part, Thinking)]
    return Message("assistant", (*thoughts, *words, *calls))


def medium(
    media: str | None, data: str | None = None, url: str | None = None, name: str | None = None
) -> Part:
    """A picture, a document, a sound or a film, by its bytes in base64 or by its address."""
    kind = media or ""
    if url and not data and (inline := unpack(url)) is not None:
        kind, data = inline
    if kind.startswith("image/"):
        return Image(kind, data) if data else Image(url=url)
    if kind in ("", _PDF):
        return Document(_PDF, data, name=name) if data else Document(url=url, name=name)
    return Opaque(
        "", {"inlineData": {"data": data, "mimeType": kind}} if data else {"uri": url, "media": kind}
    )


def unknown_content(value: Any) -> Opaque:
    """Content that fanfold does not know, as far as JSON can tell it."""
    try:
        return Opaque("", from_json(to_json(value)))
    except (TypeError, ValueError, RecursionError):
        return Opaque("", {"kind": type(value).__name__})


def tell_arguments(given: Any) -> str:
    """The arguments of a call as a text; one that the model wrote stays what it wrote."""
    if isinstance(given, str):
        return given
    try:
        return to_json(given)
    except (TypeError, ValueError, RecursionError):  # a framework may have made dates and the like of them
        return to_json({"raw": str(given)})


# The form of Chat Completions


def as_chat(said: Message) -> dict[str, Any]:
    """A message in the form of Chat Completions."""
    for result in said.results:
        content = _chat_content(result.parts, "tool")
        return {"role": "tool", "tool_call_id": result.call, "content": content}
    words = [part for part in said.parts if not isinstance(part, Call | Thinking)]
    if said.role != "assistant":
        return {"role": said.role, "content": _chat_content(words, said.role)}
    thought = "\n".join(part.text for part in said.parts if isinstance(part, Thinking))
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw}}
        for call in said.calls
    ]
    return {
        "role": "assistant",
        "content": _chat_content(words, "assistant") or (None if calls else ""),
        **({"reasoning_content": thought} if thought else {}),
        **({"tool_calls": calls} if calls else {}),
    }


def _chat_content(parts: Sequence[Part], role: str) -> Any:
    if len(parts) <= 1 and all(isinstance(part, Text) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, Text))
    return [_chat_block(part, role) for part in parts]


def _chat_block(part: Part, role: str) -> dict[str, Any]:
    """A part as a block of this role's; what Chat Completions has no place for is a foreign one."""
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Image():
            url = pack(part.media or "image/png", part.data) if part.data is not None else part.url
            return _named("image_url", {"url": url or ""}, role)
        case Document(text=str(text)):
            return {"type": "text", "text": text}
        case Document():
            name = {"filename": part.name} if part.name else {}
            data = pack(part.media or _PDF, part.data) if part.data is not None else None
            return _named(
                "file", {**name, **({"file_data": data} if data else {"file_url": part.url or ""})}, role
            )
        case Opaque(body=dict(body)) if is_part(body, role):
            return body
    return _foreign(part.body if isinstance(part, Opaque) else {})


def _named(kind: str, value: Any, role: str) -> dict[str, Any]:
    return {"type": kind if role == "user" else FOREIGN, kind: value}


def _foreign(body: Any) -> dict[str, Any]:
    """Content of a framework's own, as a block that no dialect has a rule for."""
    if isinstance(body, Mapping) and "inlineData" in body:
        return {"type": FOREIGN, **body}
    return {"type": FOREIGN, "content": body}


def as_foreign(block: dict[str, Any]) -> dict[str, Any]:
    """A block of Chat Completions that OpenAI would refuse in this place, as one that is only counted."""
    kind = block.get("type")
    return {**block, "type": FOREIGN} if kind in ("image_url", "file") else _foreign(block)


def from_foreign(block: dict[str, Any]) -> dict[str, Any]:
    """The block that `as_foreign` was given."""
    if block.get("type") != FOREIGN:
        return block
    kind = next((kind for kind in ("image_url", "file") if kind in block), None)
    content: dict[str, Any] = {**block, "type": kind} if kind else block["content"]
    return content


# The form of Anthropic's Messages


def as_claude(said: Message) -> dict[str, Any]:
    """A message in the form of Anthropic's Messages."""
    if said.results:
        return {"role": "user", "content": list(map(_claude_block, said.results))}
    if said.role != "assistant":
        return {"role": said.role, "content": _claude_content(said.parts)}
    return {"role": "assistant", "content": list(map(_claude_block, said.parts))}


def _claude_content(parts: Sequence[Part]) -> Any:
    if len(parts) <= 1 and all(isinstance(part, Text) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, Text))
    return list(map(_claude_block, parts))


def _claude_block(part: Part) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Thinking(text="", signature=str(data)):
            return {"type": "redacted_thinking", "data": data}
        case Thinking(text=text, signature=signature):
            return {"type": "thinking", "thinking": text, "signature": signature or ""}
        case Call(id=id, name=name, raw=raw):
            return {"type": "tool_use", "id": id, "name": name, "input": as_object(raw)}
        case Result(call=call, parts=parts):
            told = {"type": "tool_result", "tool_use_id": call, "content": _claude_content(parts)}
            return told | ({"is_error": True} if part.error else {})
        case Image() | Document():
            return {"type": "image" if isinstance(part, Image) else "document", "source": _source(part)}
        case Opaque(body=dict(body)) if not is_malformed(Opaque("anthropic", body)):
            return body
    return _foreign(part.body)


def _source(part: Image | Document) -> dict[str, Any]:
    media = part.media or ("image/png" if isinstance(part, Image) else _PDF)
    if isinstance(part, Document) and part.text is not None:
        return {"type": "text", "media_type": "text/plain", "data": part.text}
    if part.data is not None:
        return {"type": "base64", "media_type": media, "data": part.data}
    return {"type": "url", "url": part.url or ""}


def as_object(raw: str) -> Any:
    """Arguments as an object; those that are none stay what the model wrote."""
    read = from_json(raw)
    return read if isinstance(read, dict) else {"raw": raw} if raw else {}
