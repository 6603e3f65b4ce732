"""OpenCode sessions: the exported document `{info, messages: [{info, parts}]}` and the storage folder.

OpenCode records its own parts, not a provider's form: Claude sessions are given in Anthropic's, all others
in OpenAI chat. Each step (one request) becomes an assistant message and the results of its calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fanfold.core.errors import BadInput
from fanfold.dialects.registry import DialectName
from fanfold.transcripts import chat
from fanfold.transcripts.conversation import Conversation, Parent, Teller, Wire
from fanfold.transcripts.files import load
from fanfold.transcripts.recording import Recording
from fanfold.transcripts.values import inner, mapping, mappings, number, seconds, some, text

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
            info = mapping(load(path))
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
    name = Path(text(message, "id") or "unknown").name
    newer = folder / "part" / name
    return newer if newer.is_dir() else folder / "part" / session / name


def _folder(folder: Path) -> list[Wire]:
    """The records of a folder; their file names sort in time."""
    return [mapping(load(path)) for path in sorted(folder.glob("*.json"))]


def _conversation(source: str, info: Wire, messages: list[Wire]) -> Conversation:
    infos = (mapping(message.get("info")) for message in messages)
    last: Wire = next(reversed([one for one in infos if one.get("role") == "assistant"]), {})
    names = f"{text(last, 'providerID')} {text(last, 'modelID')}"
    teller = _PartTeller("anthropic" if "anthropic" in names or "claude" in names else "openai.chat")
    for message in messages:
        teller.take(mapping(message.get("info")), mappings(message.get("parts")))
    parent = text(info, "parentID")
    return teller.finish(
        text(info, "id") or source,
        source,
        teller.dialect,
        model=text(last, "modelID"),
        frame={"system": teller.system} if teller.system and teller.dialect == "anthropic" else {},
        parent=Parent(parent) if parent else None,
        meta=some(info, "title", "directory", "version", "projectID"),
    )


class _PartTeller(Teller):
    """A session being told in a provider's form."""

    def __init__(self, dialect: DialectName) -> None:
        super().__init__()
        self.dialect = dialect
        self.places: dict[str, int] = {}
        self.tail: int | None = None
        """Where the messages begin that the coming compaction keeps."""
        self.system = ""
        """A system prompt is recorded only where a user message overrode it."""

    def take(self, info: Wire, parts: list[Wire]) -> None:
        self.places.setdefault(text(info, "id"), len(self.messages))
        time = seconds(inner(info, "time").get("created"))
        if info.get("role") == "user":
            self._ask(info, parts, time)
        else:
            self._answer(info, parts, time)

    def _ask(self, info: Wire, parts: list[Wire], time: float | None) -> None:
        starts = (text(part, "tail_start_id") for part in parts if part.get("type") == "compaction")
        self.tail = next((self.places[start] for start in starts if start and start in self.places), None)
        self.system = text(info, "system") or self.system
        if content := [block for part in parts if (block := _asked_block(part, self.dialect))]:
            self.say("user", content, time)

    def _answer(self, info: Wire, parts: list[Wire], time: float | None) -> None:
        steps = list(_steps(parts))
        for step in steps:
            finished = (inner(part, "tokens") for part in step if part.get("type") == "step-finish")
            tokens = next(finished, {}) or (inner(info, "tokens") if len(steps) == 1 else {})
            self._add_step(step, time, bill_of(tokens, self.dialect))
        if info.get("summary") is True and steps:
            self._mark()

    def _mark(self) -> None:
        """The summary, just added as the last message, took the place of everything before it."""
        at = len(self.messages) - 1
        message, time, usage = self.messages[at], self.times[at], self.usage[at]
        self.truncate(at)
        self.compact([message], time, kept=() if self.tail is None else range(self.tail, at))
        self.usage[at] = usage

    def _add_step(self, step: list[Wire], time: float | None, usage: Wire | None) -> None:
        tools = [part for part in step if part.get("type") == "tool"]
        done = [part for part in tools if inner(part, "state").get("status") in ("completed", "error")]
        ended = seconds(inner(done[-1], "state", "time").get("end")) if done else None
        if self.dialect == "anthropic":
            blocks = [block for part in step if (block := _block(part))]
            self.add({"role": "assistant", "content": blocks}, time, usage)
            if done:
                self.say("user", [_result_block(part) for part in done], ended)
            return
        said, thought = (
            "".join(text(part, "text") for part in step if part.get("type") == kind)
            for kind in ("text", "reasoning")
        )
        calls = [
            chat.make_call(_call_id(one), text(one, "tool"), inner(one, "state", "input")) for one in tools
        ]
        self.add(chat.make_answer(said or None, calls, thought), time, usage)
        for part in done:
            self.add(chat.make_result(_call_id(part), _output(part)), ended)


def _asked_block(part: Wire, dialect: DialectName) -> Wire | None:
    if part.get("type") == "text" and text(part, "text") and not part.get("ignored"):
        return {"type": "text", "text": part["text"]}
    if part.get("type") == "file" and part.get("mime") not in TEXT_FILES:
        return _file(part, dialect)
    return None


def _file(part: Wire, dialect: DialectName) -> Wire:
    url, mime = text(part, "url"), text(part, "mime")
    is_image = mime.startswith("image/")
    if dialect == "openai.chat":
        other = {"type": "file", "file": {"filename": text(part, "filename") or "file", "file_data": url}}
        return chat.make_image(url) if is_image else other
    _, comma, data = url.partition(",")
    packed = {"type": "base64", "media_type": mime, "data": data}
    source = packed if url.startswith("data:") and comma else {"type": "url", "url": url}
    return {"type": "image" if is_image else "document", "source": source}


def _steps(parts: Iterable[Wire]) -> Iterator[list[Wire]]:
    """Parts by request: a `step-start` begins the next one."""
    steps: list[list[Wire]] = [[]]
    for part in parts:
        if part.get("type") == "step-start":
            steps.append([])
        steps[-1].append(part)
    for step in steps:
        if any(part.get("type") in ("text", "reasoning", "tool") for part in step):
            yield step


def _call_id(part: Wire) -> str:
    return text(part, "callID", "id")


def _output(part: Wire) -> str:
    return text(inner(part, "state"), "output", "error")


def _block(part: Wire) -> Wire | None:
    match part.get("type"):
        case "text" if text(part, "text"):
            return {"type": "text", "text": part["text"]}
        case "reasoning":
            noted = inner(part, "metadata", "anthropic")
            if redacted := text(noted, "redactedData"):
                return {"type": "redacted_thinking", "data": redacted}
            return {"type": "thinking", "thinking": text(part, "text")} | some(noted, "signature")
        case "tool":
            tool = {"type": "tool_use", "id": _call_id(part), "name": text(part, "tool")}
            return tool | {"input": inner(part, "state", "input")}
    return None


def _result_block(part: Wire) -> Wire:
    block = {"type": "tool_result", "tool_use_id": _call_id(part), "content": _output(part)}
    failed = inner(part, "state").get("status") == "error"
    return block | ({"is_error": True} if failed else {})


def bill_of(tokens: Wire, dialect: DialectName) -> Wire | None:
    """OpenCode's `tokens`, whose `input` leaves the cached ones out, as the provider bills them.

    Newer versions leave reasoning out of `output`, older ones do not; `total`, where given, tells.
    """
    if not tokens:
        return None
    fresh, output = number(tokens.get("input")), number(tokens.get("output"))
    read, written = (number(inner(tokens, "cache").get(key)) for key in ("read", "write"))
    output = max(output, number(tokens.get("total")) - fresh - read - written)
    if dialect == "anthropic":
        cached = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
        return {"input_tokens": fresh, **cached, "output_tokens": output}
    return chat.make_bill(fresh + read + written, read, output, number(tokens.get("reasoning")))
