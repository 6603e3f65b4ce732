"""Reading what people have: requests and lists of messages as they are, transcripts as requests of their dialect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import IO, Any

import msgspec

from fanfold import transcripts
from fanfold.codecs.detect import dialect_of
from fanfold.codecs.reading import parse
from fanfold.errors import BadInput
from fanfold.transcripts import Conversation
from fanfold.transcripts.files import opened, unpacked

WHOLE = 256 << 20
"""A document up to this size is read at once."""
_FIELDS = {"openai.responses": "input", "gemini": "contents"}
"""What a dialect calls its messages, where it is not `messages`."""


class Source(msgspec.Struct, frozen=True):
    """One conversation to be fitted or counted."""

    name: str
    request: Any
    """A request or a list of messages."""
    dialect: str
    model: str | None = None


def sources(file: Path) -> Iterator[Source]:
    """The conversations of a file, a folder or standard input (`-`)."""
    if file.is_dir():
        yield from _transcripts(file)
        return
    stream = bytes_of(file)
    head = stream.peek(1 << 16)
    if not head:
        raise BadInput(f"{file}: the file is empty.")
    whole = _document(stream, file) if _is_document(head) else None
    if isinstance(whole, Source):
        yield whole
        return
    yield from _transcripts(whole if whole is not None else stream, str(file))


def bytes_of(file: Path) -> BufferedReader:
    """The bytes of a file or of standard input, without their packing."""
    name = str(file)
    return unpacked(opened(name, name), name)


def _is_document(head: bytes) -> bool:
    """Whether this is one JSON value, not a line of JSON for each message."""
    first, _, rest = head.strip().partition(b"\n")
    if not first.startswith((b"{", b"[")):
        return False
    return not rest.strip() or not _is_json(first)


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError:
        return False
    return True


def _document(stream: IO[bytes], file: Path) -> Source | IO[bytes]:
    """A request or a list; where it is something else, the bytes again."""
    data = stream.read(WHOLE + 1)
    if len(data) > WHOLE:
        raise BadInput(f"{file}: a document of more than {WHOLE >> 20} MiB; give it as JSON lines.")
    try:
        value = parse(data)
        dialect = dialect_of(value)
    except BadInput as error:
        if not _is_json(data):
            raise BadInput(f"{file}: {error}") from error
        return BytesIO(data)
    model = value.get("model") if isinstance(value, Mapping) else None
    return Source(file.stem or "-", value, dialect, model if isinstance(model, str) else None)


def _transcripts(origin: Any, name: str = "") -> Iterator[Source]:
    for conversation in transcripts.read(origin):
        yield Source(
            conversation.id or name, request_of(conversation), conversation.dialect, conversation.model
        )


def request_of(conversation: Conversation) -> dict[str, object]:
    """A recorded conversation as a request of its dialect."""
    field = _FIELDS.get(conversation.dialect, "messages")
    return {**conversation.frame, field: list(conversation.messages)}
