"""Messages: what was said, as pure values without identity.

Values never form cycles, so the garbage collector need not look at them (`gc=False`): a log of a hundred thousand
messages costs it nothing.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from fanfold.core.errors import BadArguments
from fanfold.text.json_text import from_json, to_json

Role = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")


class Text(msgspec.Struct, frozen=True, gc=False, tag="text"):
    """Plain words."""

    text: str


class Image(msgspec.Struct, frozen=True, gc=False, tag="image", omit_defaults=True):
    """A picture, as base64 data or as an address."""

    media: str | None = None
    data: str | None = None
    url: str | None = None


class Document(msgspec.Struct, frozen=True, gc=False, tag="document", omit_defaults=True):
    """A file (a PDF, a text), as base64 data, as an address or as words."""

    media: str | None = None
    data: str | None = None
    url: str | None = None
    name: str | None = None
    text: str | None = None


class Call(msgspec.Struct, frozen=True, gc=False, tag="call"):
    """The model asks for a tool to be run."""

    id: str
    name: str
    raw: str
    """The arguments as the model wrote them; not always JSON."""

    @property
    def args(self) -> dict[str, Any]:
        """The arguments as a dict; `BadArguments` if the model wrote something else."""
        value = from_json(self.raw or "{}")
        if not isinstance(value, dict):
            raise BadArguments(
                f"The arguments of {self.name}({self.id}) are no JSON object: {self.raw[:80]!r}. "
                "Write them as one, such as {}."
            )
        return value


class Thinking(msgspec.Struct, frozen=True, gc=False, tag="thinking", omit_defaults=True):
    """The model's reasoning; `signature` is what its provider wants back unchanged."""

    text: str = ""
    signature: str | None = None


class Opaque(msgspec.Struct, frozen=True, gc=False, tag="opaque"):
    """A provider's block that fanfold does not know, kept verbatim."""

    dialect: str
    body: Any


class Result(msgspec.Struct, frozen=True, gc=False, tag="result", omit_defaults=True):
    """What a tool returned for one call."""

    call: str
    parts: tuple[Text | Image | Document | Opaque, ...] = ()
    error: bool = False
    name: str | None = None

    @property
    def text(self) -> str:
        """The words of this result, joined."""
        return "\n".join(map(_words, self.parts))


Part = Text | Image | Document | Call | Result | Thinking | Opaque


class Wire(msgspec.Struct, frozen=True, gc=False):
    """The form in which a message came over the wire, exactly as received."""

    dialect: str
    body: Any


class Message(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A role and its parts."""

    role: Role
    parts: tuple[Part, ...] = ()
    wire: Wire | None = None
    """An unedited message is sent exactly so; the parts are what fanfold reads in it."""

    def came_over(self, dialect: str) -> bool:
        """Whether this message came over a dialect's wire, so that it is sent there as it is."""
        return self.wire is not None and self.wire.dialect == dialect

    @property
    def text(self) -> str:
        """The words of this message, joined."""
        return "\n".join([part.text for part in self.parts if type(part) is Text])

    @property
    def calls(self) -> tuple[Call, ...]:
        """The tool calls in this message."""
        return tuple([part for part in self.parts if type(part) is Call])

    @property
    def results(self) -> tuple[Result, ...]:
        """The tool results in this message."""
        return tuple([part for part in self.parts if type(part) is Result])

    @property
    def is_request(self) -> bool:
        """Whether a person speaks here: a user message with more in it than tool results."""
        return self.role == "user" and set(map(type, self.parts)) != {Result}

    @property
    def is_compaction(self) -> bool:
        """Whether a provider's compaction stands in this message; one that failed has no content."""
        bodies = [part.body for part in self.parts if isinstance(part, Opaque)]
        items = [body for body in bodies if isinstance(body, dict) and body.get("type") == "compaction"]
        return any(item.get("content") or item.get("encrypted_content") for item in items)


def text_of(what: Message | Part, *, unescaped: bool = False) -> str:
    r"""All that can be read in a message or a part, calls and results included.

    `unescaped`: where arguments have escapes in them (`\u0026` is an ampersand), their values follow. Whether a line
    stands somewhere must not depend on how a program writes its JSON.
    """
    parts = what.parts if isinstance(what, Message) else (what,)
    texts = list(filter(None, map(_words, parts)))
    for part in parts if unescaped else ():
        if isinstance(part, Call) and "\\" in part.raw:
            texts += argument_texts(part)
    return "\n".join(texts)


def _words(part: Part) -> str:
    match part:
        case Text(text=text) | Thinking(text=text) | Document(text=str(text)):
            return text
        case Result():
            return part.text
        case Call():
            return f"{part.name}({part.raw})"
        case _:
            return ""


def argument_texts(call: Call) -> list[str]:
    """The texts and whole numbers among the arguments of a call, as its tool gets them."""
    try:
        left: list[Any] = [call.args]
    except BadArguments:
        return []
    texts = []
    while left:  # no recursion: a model's JSON may be nested deeper than the stack
        match left.pop():
            case str(text):
                texts.append(text)
            case dict(items):
                left += reversed(items.values())
            case list(items):
                left += reversed(items)
            case bool():
                pass
            case int(number):
                texts.append(str(number))
    return texts


def is_readable(part: Part) -> bool:
    """Whether a part of a result is text: words, or a document given as words."""
    return isinstance(part, Text) or (isinstance(part, Document) and bool(part.text))


def user(text: str) -> Message:
    """A user message of plain words."""
    return Message("user", (Text(text),))


def assistant(text: str = "", *calls: Call) -> Message:
    """An assistant message of words and calls."""
    return Message("assistant", ((Text(text),) if text else ()) + calls)


def system(text: str) -> Message:
    """A system message of plain words."""
    return Message("system", (Text(text),))


def result(call: str, text: str, *, error: bool = False) -> Message:
    """A tool message with one result."""
    return Message("tool", (Result(call, (Text(text),) if text else (), error),))


def replace_part(part: Part, text: str, *, beside: bool = False) -> Part:
    """The part with its content replaced by a short text; a call keeps its name and id, a result its call.

    Of thinking nothing stays where there is no text; the parts behind it keep their numbers.
    With `beside`, what cannot be read as text in a result stays beside it.
    """
    match part:
        case Call(id=id, name=name):
            return Call(id, name, to_json({"_elided": text}))
        case Result(call=call, parts=parts, error=error, name=name):
            others = tuple(one for one in parts if beside and not is_readable(one))
            return Result(call, (Text(text), *others), error, name)
        case Thinking() if not text:
            return Thinking()
        case _:
            return Text(text)
