"""Reading what people have: requests and lists of messages as they are, transcripts as requests of their dialect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any

import msgspec

from fanfold import transcripts
from fanfold.core.errors import BadInput
from fanfold.dialects.detect import dialect_of
from fanfold.dialects.dialect import as_request
from fanfold.dialects.reading import parse
from fanfold.dialects.registry import dialect_named
from fanfold.transcripts import Conversation
from fanfold.transcripts.files import open_path, rejoin, unpack
from fanfold.transcripts.formats import particular
from fanfold.transcripts.recording import BOM, UnknownFormat
from fanfold.transcripts.recording import parse as loosely

WHOLE = 256 << 20
"""A document up to this size is read at once."""
LONGEST_MARK = 17
"""So many bytes tell what a stream is: the mark of an exported session is the longest."""


class Source(msgspec.Struct, frozen=True):
    """One conversation to be fitted or counted."""

    name: str
    request: Any
    """A request or a list of messages."""
    dialect: str
    model: str | None = None


def sources(file: Path) -> Iterator[Source]:
    """The conversations of a file, a folder or standard input (`-`); none is an error."""
    found = False
    for source in _transcripts(file) if file.is_dir() else _read(file):
        found = True
        yield source
    if not found:
        raise BadInput(f"{file}: there is no conversation in it.")


def _read(file: Path) -> Iterator[Source]:
    stream = bytes_of(file)
    head = _first_lines(stream)
    if head.startswith(b"SQLite format 3\0"):
        raise BadInput(f"{file}: this is a database. If fanfold keeps sessions in it, name it with --store.")
    if not head.strip():
        raise BadInput(f"{file}: the file is empty.")
    if not _is_document(head):
        return _transcripts(rejoin(head, stream, str(file)), str(file))
    data = head + stream.read(WHOLE + 1 - len(head))
    if len(data) > WHOLE:
        raise BadInput(f"{file}: a document of more than {WHOLE >> 20} MiB; give it as JSON lines.")
    return _document(data, file)


def bytes_of(file: Path) -> BufferedReader:
    """The bytes of a file or of standard input, without their packing."""
    name = str(file)
    stream = open_path(name, name)
    return unpack(rejoin(stream.read(LONGEST_MARK), stream, name) if name == "-" else stream, name)


def _first_lines(stream: BufferedReader) -> bytes:
    """As much as tells a document from lines: two lines that are not blank, however slowly they come."""
    head, filled = bytearray(), 0
    while filled < 2 and len(head) <= WHOLE and (line := stream.readline(WHOLE)):
        head += line
        filled += bool(line.strip())
    return bytes(head)


def _is_document(head: bytes) -> bool:
    """Whether this is one JSON value, not a line of JSON for each message."""
    first, _, rest = head.removeprefix(BOM).strip().partition(b"\n")
    if not first.startswith((b"{", b"[")):
        return False
    return not rest.strip() or not _is_json(first)


def _is_json(line: bytes) -> bool:
    try:
        loosely(line)
    except BadInput:
        return False
    return True


def _document(data: bytes, file: Path) -> Iterator[Source]:
    """A request or a list as it is; a transcript that is one value as its format says."""
    try:
        value = parse(data)
    except BadInput as error:
        raise BadInput(f"{file}: {error}") from error
    if particular(value):
        yield from _transcripts(rejoin(data, BytesIO(), str(file)), str(file))
        return
    try:
        dialect = dialect_of(value)
    except BadInput as error:
        yield from _other_document(data, file, error)
        return
    model = value.get("model") if isinstance(value, Mapping) else None
    yield Source(file.stem or "-", value, dialect, model if isinstance(model, str) else None)


def _other_document(data: bytes, file: Path, error: BadInput) -> Iterator[Source]:
    try:
        yield from _transcripts(rejoin(data, BytesIO(), str(file)), str(file))
    except UnknownFormat:
        raise BadInput(f"{file}: {error}") from error


def _transcripts(origin: Any, name: str = "") -> Iterator[Source]:
    for conversation in transcripts.read(origin):
        yield Source(
            conversation.id or name, request_of(conversation), conversation.dialect, conversation.model
        )


def request_of(conversation: Conversation) -> dict[str, object]:
    """A recorded conversation as a request of its dialect."""
    return as_request(dialect_named(conversation.dialect), conversation.frame, conversation.messages)
