"""From a path to conversations."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from fanfold.core.errors import BadInput
from fanfold.transcripts import inspect_logs, opencode, openhands
from fanfold.transcripts.conversation import Conversation
from fanfold.transcripts.files import ZIP, Origin, is_event_folder, name_of, open_path, peek_at, unpack, walk
from fanfold.transcripts.formats import detect, format_named
from fanfold.transcripts.recording import NothingRead, Recording, UnknownFormat


def read(origin: Origin, *, format: str | None = None, strict: bool = True) -> Iterator[Conversation]:
    """Conversations of a file, a folder, an open file or standard input (`-`), one at a time.

    The format is judged by content unless `format` names it; gzip and zstandard are taken off.
    A broken line is a `BadInput` that names file and line. With `strict=False` it is left out and counted in
    `meta["skipped"]`, and a broken file in a folder is passed over. A last line that is still being
    written is no error: `meta["cut"]` tells. A file of which no message can be read is a `BadInput`, too.
    Files in a folder that are no transcripts, or hold no message, are passed over.
    """
    if format is not None:
        format_named(format)
    if origin != "-" and isinstance(origin, str | os.PathLike) and os.path.isdir(origin):
        return _read_folder(Path(origin), format, strict)
    return _read_file(origin, format, strict)


def _read_folder(folder: Path, format: str | None, strict: bool) -> Iterator[Conversation]:
    for path in walk(folder):
        try:
            if path.is_dir():
                yield from _read_whole(path, strict)
            elif path.stat().st_size:
                yield from _read_file(path, format, strict)
        except UnknownFormat:
            continue
        except BadInput:
            if strict:
                raise


def _read_whole(folder: Path, strict: bool) -> Iterator[Conversation]:
    """A folder that holds conversations only as a whole."""
    if is_event_folder(folder):
        return _label(openhands.read_folder(folder, strict=strict), "openhands")
    return _label(opencode.read_store(folder, strict=strict), "opencode")


def _read_file(origin: Origin, format: str | None, strict: bool) -> Iterator[Conversation]:
    name = name_of(origin)
    stream = open_path(origin, name)
    is_ours = origin != "-" and isinstance(origin, str | os.PathLike)
    with stream if is_ours else contextlib.nullcontext():
        yield from _read_stream(unpack(stream, name), name, format, strict)


def _read_stream(
    stream: io.BufferedReader, name: str, format: str | None, strict: bool
) -> Iterator[Conversation]:
    if peek_at(stream, name) == ZIP:
        yield from _refuse_empty(_label(inspect_logs.read_archive(stream, name), "inspect"), name, "inspect")
        return
    recording = Recording(stream, name, strict=strict)
    try:
        found = format_named(format) if format else detect(recording)
        conversations = _label(found.read(recording), found.name)
        yield from _refuse_empty(_add_notes(conversations, recording), name, found.name)
    except RecursionError:  # a reader may need more of the stack than the parser did
        raise BadInput(f"{name}: it is nested too deeply.") from None


def _label(conversations: Iterator[Conversation], format: str) -> Iterator[Conversation]:
    return (structs.replace(conversation, format=format) for conversation in conversations)


def _refuse_empty(conversations: Iterator[Conversation], name: str, format: str) -> Iterator[Conversation]:
    """The same conversations, if there is a message in one of them."""
    waiting: list[Conversation] = []
    for conversation in conversations:
        waiting.append(conversation)
        if conversation.messages:
            yield from waiting
            yield from conversations
            return
    raise NothingRead(
        f"{name}: it looks like {format}, but there is no message in it that can be read. "
        "If another tool wrote it, name its format."
    )


def _add_notes(conversations: Iterator[Conversation], recording: Recording) -> Iterator[Conversation]:
    """Each with what was noticed so far; one is held back, so that the last one can tell of a cut end."""
    held: Conversation | None = None
    for conversation in conversations:
        if held is not None:
            yield structs.replace(held, meta=held.meta | recording.notes())
        held = conversation
    if held is not None:
        yield structs.replace(held, meta=held.meta | recording.notes())
