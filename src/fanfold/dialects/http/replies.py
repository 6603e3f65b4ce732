"""Replies in the words of any dialect: whole, as a stream, and with another usage.

    whole = tell(reply, Opening(id=reply_id("anthropic", "told-1"), model="claude-opus-4-5"))
    body = write_reply("anthropic", whole)                    # a dict, to be sent as JSON
    stream = write_all(stream_writer("anthropic"), deltas_of(whole))   # the same, as the bytes of a stream

`replay` makes a stream of a body that came whole from the provider, with every field that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fanfold.core.ids import digest
from fanfold.core.record import TokenUsage
from fanfold.dialects.http.deltas import StreamReader, StreamWriter, WholeReply
from fanfold.dialects.registry import DialectName, module_of

Asked = Mapping[str, Any]
"""The body of the client's request: it says whether usage is wanted in a stream, and what Responses repeats."""


def reply_id(dialect: DialectName, seed: str) -> str:
    """An id as a dialect's provider makes them; the same for the same seed."""
    return f"{module_of(dialect, 'tell').PREFIX}{digest(seed.encode('utf-8', 'surrogatepass'))[:24]}"


def write_reply(dialect: DialectName, whole: WholeReply, asked: Asked | None = None) -> dict[str, Any]:
    """A whole reply as a body. Messages that came over this dialect's wire are told as they came."""
    body: dict[str, Any] = module_of(dialect, "tell").write_reply(whole, asked or {})
    return body


def stream_writer(dialect: DialectName, asked: Asked | None = None, *, events: bool = True) -> StreamWriter:
    """Writes steps as a stream; `events=False` is Gemini's stream of one JSON array."""
    make: Callable[[Asked], StreamWriter] = getattr(
        module_of(dialect, "tell"), "WRITER" if events else "ARRAY"
    )
    return make(asked or {})


def stream_reader(dialect: DialectName) -> StreamReader:
    """Reads a stream's events as steps."""
    reader: StreamReader = module_of(dialect, "hear").READER()
    return reader


def replay(
    dialect: DialectName, body: Mapping[str, Any], asked: Asked | None = None, *, events: bool = True
) -> Iterator[bytes]:
    """A body that came whole, as a stream: what the client gets that asked for one."""
    more = {} if events else {"events": False}
    yield from module_of(dialect, "tell").replay(body, asked or {}, **more)


def write_usage(dialect: DialectName, usage: TokenUsage) -> dict[str, Any]:
    """A usage in a provider's words."""
    found: dict[str, Any] = module_of(dialect, "tell").write_usage(usage)
    return found


def set_usage(dialect: DialectName, body: dict[str, Any], usage: TokenUsage) -> dict[str, Any]:
    """A reply, or an event of a stream, with another usage; the very same object where it tells none.

    Fields that fanfold does not know stay in it.
    """
    changed: dict[str, Any] = module_of(dialect, "tell").set_usage(body, usage)
    return changed


def merge_usage(old: Any, new: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a usage replaced, with all else that stands in it kept."""
    merged = dict(old) if isinstance(old, dict) else {}
    for key, value in new.items():
        merged[key] = merge_usage(merged.get(key), value) if isinstance(value, Mapping) else value
    return merged


def pieces(text: str, most: int = 4_000) -> Iterator[str]:
    """A text in pieces of a size that is convenient for clients."""
    yield from (text[at : at + most] for at in range(0, len(text), most))
