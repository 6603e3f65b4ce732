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
from fanfold.transcripts.chat import make_bill, make_call
from fanfold.transcripts.conversation import Conversation, Teller, Wire
from fanfold.transcripts.recording import LARGEST, Recording, UnknownFormat
from fanfold.transcripts.values import inner, listing, mapping, mappings, number, seconds, some, text, without

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
        archive = _open(stream, copy, name)
        names = archive.namelist()
        samples = sorted(member for member in names if SAMPLE.fullmatch(member))
        if any(member.endswith("/sample.json") for member in names) and not samples:
            reason = "its samples are in chunks (log version 3); convert it with `inspect log convert` first."
            raise UnknownFormat(f"{name}: {reason}")
        if not samples:
            raise UnknownFormat(f"{name}: a zip file, but not an Inspect log: it has no samples.")
        header = next((member for member in HEADERS if member in names), None)
        log = _member(archive, header, name) if header else {}
        for member in samples:
            yield _conversation(name, mapping(log.get("eval")), _member(archive, member, name))


def _open(stream: IO[bytes], copy: IO[bytes], name: str) -> zipfile.ZipFile:
    """The archive; a stream in which one cannot go back is copied first."""
    if not stream.seekable():
        shutil.copyfileobj(stream, copy)
        stream = copy
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
    teller = Teller()
    for message in mappings(sample.get("messages")):
        call = calls.get(text(message, "id"), {})
        time = seconds(call.get("completed")) or seconds(call.get("timestamp"))
        teller.add(_wire(message), time, bill_of(inner(call, "output", "usage")))
    tools: list[Wire] = next(
        filter(None, (mappings(call.get("tools")) for call in reversed(calls.values()))), []
    )
    task = text(run, "task_id", "eval_id", "task") or source
    return teller.finish(
        f"{task}#{text(sample, 'id') or number(sample.get('id'))}.{number(sample.get('epoch')) or 1}",
        source,
        "openai.chat",
        model=text(run, "model"),
        frame={"tools": [_tool(tool) for tool in tools]} if tools else {},
        meta=some(sample, "id", "epoch", "target", "scores", "model_usage", "error", "limit"),
    )


def bill_of(usage: Wire) -> Wire | None:
    """Inspect's `usage`, whose `input_tokens` leaves the cached ones out unless the total says otherwise."""
    if not usage:
        return None
    fresh, output = number(usage.get("input_tokens")), number(usage.get("output_tokens"))
    read = number(usage.get("input_tokens_cache_read"))
    cached = read + number(usage.get("input_tokens_cache_write"))
    is_whole = fresh + output == number(usage.get("total_tokens"))
    prompt = fresh if is_whole else fresh + cached
    return make_bill(prompt, read, output, number(usage.get("reasoning_tokens")))


def _model_calls(sample: Wire) -> dict[str, Wire]:
    """The model events by the id of the message that each produced."""
    found: dict[str, Wire] = {}
    for event in mappings(sample.get("events")):
        for choice in mappings(inner(event, "output").get("choices")):
            if id := text(inner(choice, "message"), "id"):
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
    role, content = text(message, "role") or "user", message.get("content")
    thoughts = [part for part in mappings(content) if part.get("type") == "reasoning"]
    parts = [_part(part) for part in mappings(content) if part.get("type") != "reasoning"]
    wire: Wire = {"role": role, "content": parts if isinstance(content, list) else content}
    if thought := "".join(text(part, "reasoning") for part in thoughts):
        wire["reasoning_content"] = thought
    if calls := mappings(message.get("tool_calls")):
        wire["tool_calls"] = [
            make_call(text(call, "id"), text(call, "function"), call.get("arguments")) for call in calls
        ]
    if role == "tool":
        wire |= some(message, "tool_call_id")
        wire["content"] = wire["content"] or text(inner(message, "error"), "message")
    return wire


def _part(part: Wire) -> Wire:
    match part.get("type"):
        case "text":
            return {"type": "text", "text": text(part, "text")}
        case "image" if text(part, "image"):
            return {"type": "image_url", "image_url": {"url": part["image"], **some(part, "detail")}}
        case "document" if text(part, "document"):
            return {"type": "file", "file": {"file_data": part["document"], **some(part, "filename")}}
    return without(part, "internal")
