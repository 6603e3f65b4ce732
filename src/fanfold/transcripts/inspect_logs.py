"""Inspect evaluation logs: `.json` (all samples in one document) and `.eval` (a zip, a file per sample).

Inspect has its own message form; it is given in OpenAI chat form. Long texts are kept once per sample and
referred to as `attachment://…`; they are put back.
"""

from __future__ import annotations

import io
import re
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

from fanfold.core.errors import BadInput
from fanfold.transcripts.bills import inspect_bill
from fanfold.transcripts.chat import make_call
from fanfold.transcripts.conversation import Conversation, Recorded, Wire
from fanfold.transcripts.formats import Format
from fanfold.transcripts.rows import LARGEST, Recording, UnknownFormat
from fanfold.transcripts.values import first_string, listing, mapping, mappings, number, seconds, some, string

NAME = "inspect"
SAMPLE = re.compile(r"samples/[^/]+\.json\Z")
HEADERS = ("header.json", "_journal/start.json")
ATTACHMENT = "attachment://"
DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError)


def fits(value: Any) -> bool:
    record = mapping(value)
    return isinstance(record.get("eval"), dict) and bool({"samples", "status"} & set(record))


def read(recording: Recording) -> Iterator[Conversation]:
    for row in recording.rows():
        log = mapping(row.value)
        for sample in mappings(log.get("samples")):
            yield _conversation(recording.name, mapping(log.get("eval")), sample)


def read_archive(stream: io.BufferedReader, name: str) -> Iterator[Conversation]:
    """The samples of an `.eval` file, one at a time."""
    with tempfile.TemporaryFile() as copy:
        archive = _open(_seekable(stream, copy), name)
        names = archive.namelist()
        samples = sorted(member for member in names if SAMPLE.fullmatch(member))
        if not samples:
            raise UnknownFormat(f"{name}: {_why_not(names)}")
        header = next((member for member in HEADERS if member in names), None)
        log = _member(archive, header, name) if header else {}
        for member in samples:
            yield _conversation(name, mapping(log.get("eval")), _member(archive, member, name))


def _why_not(names: list[str]) -> str:
    if any(member.endswith("/sample.json") for member in names):
        return "its samples are in chunks (log version 3); convert it with `inspect log convert` first."
    return "a zip file, but not an Inspect log: it has no samples."


def _seekable(stream: io.BufferedReader, copy: IO[bytes]) -> IO[bytes]:
    if stream.seekable():
        return stream
    shutil.copyfileobj(stream, copy)
    return copy


def _open(stream: IO[bytes], name: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(stream)
    except DAMAGE as error:
        raise BadInput(f"{name}: the zip file is damaged or cut off ({error}).") from None


def _member(archive: zipfile.ZipFile, member: str, name: str) -> Wire:
    """One JSON file of the archive; the size in its directory is not believed."""
    try:
        with archive.open(member) as stream:
            data = stream.read(LARGEST + 1)
    except DAMAGE as error:
        raise BadInput(f"{name}: {member} cannot be unpacked ({error}).") from None
    if len(data) > LARGEST:
        raise BadInput(f"{name}: {member} is longer than {LARGEST:,} bytes.")
    return mapping(next(Recording(io.BytesIO(data), f"{name}/{member}").rows()).value)


def _conversation(source: str, run: Wire, sample: Wire) -> Conversation:
    sample = _resolve(sample)
    calls = _model_calls(sample)
    draft = Recorded()
    for message in mappings(sample.get("messages")):
        call = calls.get(string(message.get("id")) or "", {})
        usage = inspect_bill(mapping(mapping(call.get("output")).get("usage")))
        draft.add(_wire(message), seconds(call.get("completed")) or seconds(call.get("timestamp")), usage)
    tools = [tool for call in calls.values() for tool in [mappings(call.get("tools"))] if tool]
    return draft.finish(
        _id(run, sample, source),
        source,
        NAME,
        "openai.chat",
        model=string(run.get("model")),
        frame={"tools": [_tool(tool) for tool in tools[-1]]} if tools else {},
        meta=some(sample, "id", "epoch", "target", "scores", "model_usage", "error", "limit"),
    )


def _id(run: Wire, sample: Wire, source: str) -> str:
    task = first_string(run, "task_id", "eval_id", "task") or source
    id = string(sample.get("id")) or number(sample.get("id"))
    return f"{task}#{id}.{number(sample.get('epoch')) or 1}"


def _model_calls(sample: Wire) -> dict[str, Wire]:
    """The model events by the id of the message that each produced."""
    found: dict[str, Wire] = {}
    for event in mappings(sample.get("events")):
        for choice in mappings(mapping(event.get("output")).get("choices")):
            if id := string(mapping(choice.get("message")).get("id")):
                found[id] = event
    return found


def _resolve(sample: Wire) -> Wire:
    """The sample with its attachments put back; changed in place, without recursion."""
    texts = mapping(sample.get("attachments"))
    open_ends: list[Any] = [listing(sample.get("messages"))] if texts else []
    while open_ends:
        here = open_ends.pop()
        pairs = list(here.items() if isinstance(here, dict) else enumerate(here))
        for key, value in pairs:
            if isinstance(value, dict | list):
                open_ends.append(value)
            elif isinstance(value, str) and value.startswith(ATTACHMENT):
                here[key] = texts.get(value.removeprefix(ATTACHMENT), value)
    return sample


def _tool(tool: Wire) -> Wire:
    return {"type": "function", "function": some(tool, "name", "description", "parameters")}


def _wire(message: Wire) -> Wire:
    role = string(message.get("role")) or "user"
    wire: Wire = {"role": role, "content": _content(message.get("content"))}
    if thought := _thought_of(message.get("content")):
        wire["reasoning_content"] = thought
    if calls := mappings(message.get("tool_calls")):
        wire["tool_calls"] = [_call(call) for call in calls]
    if role == "tool":
        wire |= some(message, "tool_call_id")
        wire["content"] = wire["content"] or string(mapping(message.get("error")).get("message")) or ""
    return wire


def _call(call: Wire) -> Wire:
    return make_call(string(call.get("id")) or "", string(call.get("function")) or "", call.get("arguments"))


def _thought_of(content: Any) -> str:
    texts = (part.get("reasoning") for part in mappings(content) if part.get("type") == "reasoning")
    return "".join(text for text in texts if isinstance(text, str))


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [_part(part) for part in mappings(content) if part.get("type") != "reasoning"]


def _part(part: Wire) -> Wire:
    match part.get("type"):
        case "text":
            return {"type": "text", "text": string(part.get("text")) or ""}
        case "image" if string(part.get("image")):
            return {"type": "image_url", "image_url": {"url": part["image"], **some(part, "detail")}}
        case "document" if string(part.get("document")):
            return {"type": "file", "file": {"file_data": part["document"], **some(part, "filename")}}
    return {key: value for key, value in part.items() if key != "internal"}


FORMAT = Format(NAME, fits, read)
