"""What a codec is: the one door between fanfold's messages and a provider's wire format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from fanfold.errors import BadMessage
from fanfold.message import Call, Message
from fanfold.record import Frame
from fanfold.usage import TokenUsage
from fanfold.view import Row, Violation


class Split(msgspec.Struct, frozen=True):
    """A request taken apart, nothing read yet."""

    system: tuple[Any, ...]
    messages: Sequence[Any]
    tools: tuple[Any, ...]
    params: dict[str, Any]


class Reply(msgspec.Struct, frozen=True):
    """What the model answered."""

    message: Message
    usage: TokenUsage | None = None
    stop: str | None = None

    @property
    def text(self) -> str:
        """Its words."""
        return self.message.text

    @property
    def calls(self) -> tuple[Call, ...]:
        """The tools it wants run."""
        return self.message.calls

    @property
    def done(self) -> bool:
        """Whether it asked for nothing more."""
        return not self.message.calls


class Codec(Protocol):
    """Messages ⇄ one provider's wire format, lossless and pure."""

    @property
    def dialect(self) -> str:
        """The name of the wire format."""

    def split(self, request: Any) -> Split:
        """Take a request (or a bare list of messages) apart."""

    def frame(self, system: Iterable[Any], tools: Iterable[Any]) -> Frame:
        """System prompt and tools as a frame."""

    def message(self, body: Any, where: str = "message") -> Message:
        """Read one wire message."""

    def wire(self, message: Message, was: Message | None = None) -> tuple[Any, ...]:
        """One message in wire form; `was` is the message before parts of it were elided."""

    def encode(
        self, frame: Frame, wires: Iterable[Any], params: Mapping[str, Any], context: str | None = None
    ) -> dict[str, Any]:
        """The keyword arguments for the provider's SDK."""

    def reply(self, response: Any) -> Reply:
        """Read a whole response."""

    def faults(self, message: Message) -> tuple[Violation, ...]:
        """The provider's rules that a message breaks by itself."""

    def check(self, rows: Sequence[Row], params: Mapping[str, Any]) -> list[Violation]:
        """The provider's rules that a request of these rows breaks."""

    def mend(self, rows: Sequence[Row]) -> list[tuple[tuple[str, ...], tuple[Message, ...]]]:
        """The smallest repairs that make these rows legal: what each covers, and what it shows."""


def plain(value: Any, where: str = "message") -> Any:
    """A deep copy in plain dicts, lists and strings; official SDK objects are taken too."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        value = dump(mode="json", by_alias=True, exclude_unset=True)
    try:
        return msgspec.to_builtins(value, str_keys=True, enc_hook=_dumped)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise BadMessage(
            f"{where} holds something that is no JSON: {error}. Give plain dicts or SDK objects."
        ) from error


def _dumped(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", by_alias=True, exclude_unset=True)
    raise TypeError(f"a {type(value).__name__}")
