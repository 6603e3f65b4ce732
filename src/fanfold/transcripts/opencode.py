"""OpenCode sessions: the exported document `{info, messages: [{info, parts}]}` and the storage folder.

OpenCode records its own parts, not a provider's form: Claude sessions are given in Anthropic's, all others
in OpenAI chat. Each step (one request) becomes an assistant message and the results of its calls.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fanfold.core.errors import BadInput
from fanfold.dialects.registry import DialectName
from fanfold.transcripts.bills import opencode_bill
from fanfold.transcripts.chat import make_call
from fanfold.transcripts.conversation import Conversation, Parent, Recorded, Wire
from fanfold.transcripts.files import open_path
from fanfold.transcripts.formats import Format
from fanfold.transcripts.rows import Recording
from fanfold.transcripts.values import first_string, mapping, mappings, seconds, some, string

NAME = "opencode"
TEXT_FILES = ("text/plain", "application/x-directory")
"""Attached files of these kinds stand in a text part beside them already."""


def fits(value: Any) -> bool:
    record = mapping(value)
    if not isinstance(record.get("info"), dict) or not isinstance(record.get("messages"), list):
        return False
    return all("info" in message or "parts" in message for message in mappings(record["messages"]))


def read(recording: Recording) -> Iterator[Conversation]:
    for row in recording.rows():
        record = mapping(row.value)
        if "messages" not in record:
            raise recording.wrong(row.line, "an OpenCode session has `info` and `messages`.")
        yield _conversation(recording.name, mapping(record.get("info")), mappings(record["messages"]))


def read_store(folder: Path, *, strict: bool = True) -> Iterator[Conversation]:
    """Every session of a storage folder, one at a time."""
    for path in _sessions(folder):
        try:
            info = _load(path)
            messages = [
                {"info": message, "parts": _folder(_parts_folder(folder, path.stem, message))}
                for message in _folder(folder / "message" / path.stem)
            ]
        except BadInput:
            if strict:
                raise
            continue
        yield _conversation(str(path), info, messages)


def _sessions(folder: Path) -> list[Path]:
    """`session/<project>/<id>.json`; before that `info/<id>.json`."""
    newer = sorted((folder / "session").glob("*/*.json"))
    return newer or sorted((folder / "info").glob("*.json")) or sorted((folder / "session").glob("*.json"))


def _parts_folder(folder: Path, session: str, message: Wire) -> Path:
    """`part/<message>`; before that `part/<session>/<message>`."""
    name = Path(string(message.get("id")) or "unknown").name
    newer = folder / "part" / name
    return newer if newer.is_dir() else folder / "part" / session / name


def _folder(folder: Path) -> list[Wire]:
    """The records of a folder; their file names sort in time."""
    return [_load(path) for path in sorted(folder.glob("*.json"))]


def _load(path: Path) -> Wire:
    with open_path(path, str(path)) as stream:
        return mapping(next(Recording(stream, str(path)).rows()).value)


def _conversation(source: str, info: Wire, messages: list[Wire]) -> Conversation:
    answers = [mapping(message.get("info")) for message in messages if _role(message) == "assistant"]
    told = _PartTeller(_dialect(answers))
    for message in messages:
        told.take(mapping(message.get("info")), mappings(message.get("parts")))
    parent = string(info.get("parentID"))
    return told.draft.finish(
        string(info.get("id")) or source,
        source,
        NAME,
        told.dialect,
        model=first_string(answers[-1], "modelID") if answers else None,
        frame={"system": told.system} if told.system and told.dialect == "anthropic" else {},
        parent=Parent(parent) if parent else None,
        meta=some(info, "title", "directory", "version", "projectID"),
    )


def _role(message: Wire) -> str | None:
    return string(mapping(message.get("info")).get("role"))


def _dialect(answers: list[Wire]) -> DialectName:
    last = answers[-1] if answers else {}
    names = f"{string(last.get('providerID'))} {string(last.get('modelID'))}"
    return "anthropic" if "anthropic" in names or "claude" in names else "openai.chat"


class _PartTeller:
    """A session being told in a provider's form."""

    def __init__(self, dialect: DialectName) -> None:
        self.dialect, self.draft = dialect, Recorded()
        self.places: dict[str, int] = {}
        self.tail: int | None = None
        """Where the messages begin that the coming compaction keeps."""
        self.system: str | None = None
        """A system prompt is recorded only where a user message overrode it."""

    def take(self, info: Wire, parts: list[Wire]) -> None:
        self.places.setdefault(string(info.get("id")) or "", len(self.draft.messages))
        time = seconds(mapping(info.get("time")).get("created"))
        if info.get("role") == "user":
            self._ask(info, parts, time)
        else:
            self._answer(info, parts, time)

    def _ask(self, info: Wire, parts: list[Wire], time: float | None) -> None:
        starts = (string(part.get("tail_start_id")) for part in parts if part.get("type") == "compaction")
        self.tail = next((self.places[start] for start in starts if start in self.places), None)
        self.system = string(info.get("system")) or self.system
        if content := _blocks_asked(parts, self.dialect):
            self.draft.add({"role": "user", "content": content}, time)

    def _answer(self, info: Wire, parts: list[Wire], time: float | None) -> None:
        steps = list(_steps(parts))
        for step in steps:
            tokens = _tokens(step) or (mapping(info.get("tokens")) if len(steps) == 1 else {})
            _add_step(self.draft, step, self.dialect, time, opencode_bill(tokens, self.dialect))
        if info.get("summary") is True and steps:
            self._mark()

    def _mark(self) -> None:
        """The summary, just added as the last message, took the place of everything before it."""
        at = len(self.draft.messages) - 1
        message, time, usage = self.draft.messages[at], self.draft.times[at], self.draft.usage[at]
        self.draft.truncate(at)
        self.draft.compact([message], time, kept=() if self.tail is None else range(self.tail, at))
        self.draft.usage[at] = usage


def _blocks_asked(parts: list[Wire], dialect: DialectName) -> list[Wire]:
    return [block for part in parts if (block := _asked_block(part, dialect))]


def _asked_block(part: Wire, dialect: DialectName) -> Wire | None:
    if part.get("type") == "text" and string(part.get("text")) and not part.get("ignored"):
        return {"type": "text", "text": part["text"]}
    if part.get("type") == "file" and part.get("mime") not in TEXT_FILES:
        return _file(part, dialect)
    return None


def _file(part: Wire, dialect: DialectName) -> Wire | None:
    url, mime = string(part.get("url")) or "", string(part.get("mime")) or ""
    is_image = mime.startswith("image/")
    if dialect == "openai.chat":
        name = string(part.get("filename")) or "file"
        other = {"type": "file", "file": {"filename": name, "file_data": url}}
        return {"type": "image_url", "image_url": {"url": url}} if is_image else other
    _, comma, data = url.partition(",")
    packed = {"type": "base64", "media_type": mime, "data": data}
    source = packed if url.startswith("data:") and comma else {"type": "url", "url": url}
    return {"type": "image" if is_image else "document", "source": source}


def _steps(parts: Iterable[Wire]) -> Iterator[list[Wire]]:
    """Parts by request: a `step-start` begins the next one."""
    number = itertools.count()
    here = next(number)
    numbered = []
    for part in parts:
        here = next(number) if part.get("type") == "step-start" else here
        numbered.append((here, part))
    for _, group in itertools.groupby(numbered, key=lambda pair: pair[0]):
        step = [part for _, part in group]
        if any(part.get("type") in ("text", "reasoning", "tool") for part in step):
            yield step


def _tokens(step: list[Wire]) -> Wire:
    return next((mapping(part.get("tokens")) for part in step if part.get("type") == "step-finish"), {})


def _add_step(
    draft: Recorded, step: list[Wire], dialect: DialectName, time: float | None, usage: Wire | None
) -> None:
    tools = [part for part in step if part.get("type") == "tool"]
    done = [part for part in tools if mapping(part.get("state")).get("status") in ("completed", "error")]
    ended = seconds(mapping(mapping(done[-1].get("state")).get("time")).get("end")) if done else None
    if dialect == "anthropic":
        draft.add({"role": "assistant", "content": _blocks(step)}, time, usage)
        if done:
            draft.add({"role": "user", "content": [_result_block(part) for part in done]}, ended)
        return
    draft.add(_chat_message(step, tools), time, usage)
    for part in done:
        draft.add({"role": "tool", "tool_call_id": _call_id(part), "content": _output(part)}, ended)


def _call_id(part: Wire) -> str:
    return string(part.get("callID")) or string(part.get("id")) or ""


def _output(part: Wire) -> str:
    return first_string(mapping(part.get("state")), "output", "error") or ""


def _blocks(step: list[Wire]) -> list[Wire]:
    return [block for part in step if (block := _block(part))]


def _block(part: Wire) -> Wire | None:
    match part.get("type"):
        case "text" if string(part.get("text")):
            return {"type": "text", "text": part["text"]}
        case "reasoning":
            return _thinking(part)
        case "tool":
            tool = {"type": "tool_use", "id": _call_id(part), "name": string(part.get("tool")) or ""}
            return tool | {"input": mapping(mapping(part.get("state")).get("input"))}
    return None


def _thinking(part: Wire) -> Wire:
    noted = mapping(mapping(part.get("metadata")).get("anthropic"))
    if redacted := string(noted.get("redactedData")):
        return {"type": "redacted_thinking", "data": redacted}
    return {"type": "thinking", "thinking": string(part.get("text")) or ""} | some(noted, "signature")


def _result_block(part: Wire) -> Wire:
    block = {"type": "tool_result", "tool_use_id": _call_id(part), "content": _output(part)}
    failed = mapping(part.get("state")).get("status") == "error"
    return block | ({"is_error": True} if failed else {})


def _chat_message(step: list[Wire], tools: list[Wire]) -> Wire:
    said = "".join(string(part.get("text")) or "" for part in step if part.get("type") == "text")
    thought = "".join(string(part.get("text")) or "" for part in step if part.get("type") == "reasoning")
    message: Wire = {"role": "assistant", "content": said or None}
    if thought:
        message["reasoning_content"] = thought
    if tools:
        message["tool_calls"] = [_chat_call(part) for part in tools]
    return message


def _chat_call(part: Wire) -> Wire:
    arguments = mapping(mapping(part.get("state")).get("input"))
    return make_call(_call_id(part), string(part.get("tool")) or "", arguments)


FORMAT = Format(NAME, fits, read)
