"""Claude Code sessions: JSON lines that form a tree; also the Agent SDK's stream of the same lines.

A line names its parent, so a rewound session holds several branches; the one that ends last is read.
The API's answer is written as one line per content block, all with the same `message.id`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fanfold.transcripts.claude_tree import TALK, ClaudeSession, Line, calls_of, path_of, preserved
from fanfold.transcripts.conversation import Conversation, Parent, Recorded, Wire
from fanfold.transcripts.formats import Format
from fanfold.transcripts.rows import Recording
from fanfold.transcripts.values import first_string, listing, mapping, mappings, seconds, some, string

NAME = "claude-code"
NAMING = ("sessionId", "session_id", "uuid", "parentUuid", "parent_tool_use_id")
"""Fields that lines with messages have, though somebody may have made them empty."""
OTHERS = ("init",)
"""Lines that name a session too, but are those of another tool: Gemini CLI's stream begins so."""


def fits(value: Any) -> bool:
    record = mapping(value)
    if not string(record.get("type")) or "payload" in record or "record_type" in record:
        return False
    if record["type"] in TALK:
        message = record.get("message")
        return isinstance(message, dict) and ("content" in message or bool({*NAMING} & set(record)))
    if record["type"] in OTHERS:
        return False
    return first_string(record, "sessionId", "session_id", "leafUuid", "uuid") is not None or (
        record["type"] == "file-history-snapshot" or "parentUuid" in record
    )


def read(recording: Recording) -> Iterator[Conversation]:
    session = ClaudeSession()
    for row in recording.rows():
        if not isinstance(row.value, dict):
            raise recording.wrong(row.line, "a Claude Code line is a JSON object.")
        session.add(row.value)
    session.place()
    chains = session.chains()
    calls = calls_of(session.lines)
    for name, lines in chains.items():
        path = path_of(lines, session.known)
        if path:
            yield _conversation(recording.name, session, name, lines, path, calls)


def _conversation(
    source: str,
    session: ClaudeSession,
    name: str | None,
    lines: list[Line],
    path: list[Line],
    calls: dict[str, str],
) -> Conversation:
    joined = _Joined()
    for line in path:
        joined.take(line)
    id = _session_id(path) or source
    parent = None if name is None else Parent(id, _call_of(name, path, calls))
    models = [line.message["model"] for line in path if line.message and string(line.message.get("model"))]
    meta = _meta(session, lines, path) if name is None else some(path[0].raw, "agentId", "slug")
    return joined.draft.finish(
        id if name is None else f"{id}/{name}",
        source,
        NAME,
        "anthropic",
        model=models[-1] if models else None,
        parent=parent,
        meta=meta,
    )


def _session_id(path: Iterable[Line]) -> str | None:
    names = [first_string(line.raw, "sessionId", "session_id") for line in path]
    return next((name for name in reversed(names) if name), None)


def _call_of(name: str, path: list[Line], calls: dict[str, str]) -> str | None:
    first = next(line for line in path if line.message)
    prompt = string(first.message and first.message.get("content"))
    text = prompt or "".join(string(block.get("text")) or "" for block in first.blocks("text"))
    named = string(first.raw.get("parent_tool_use_id"))
    keys = (key for key in (name, text, first.parent) if key)
    return named or next((calls[key] for key in keys if calls.get(key)), None)


def _meta(session: ClaudeSession, lines: list[Line], path: list[Line]) -> Wire:
    meta = some(path[-1].raw, "cwd", "version", "gitBranch")
    taken = {line.uuid for line in path}
    left = [line for line in lines if line.message and line.uuid not in taken]
    parents = {line.parent for line in lines}
    meta |= {"titles": session.titles, "other_lines": dict(session.other), "left_out": len(left)}
    meta["branches"] = sum(line.uuid not in parents for line in left)
    return {key: value for key, value in meta.items() if value}


class _Joined:
    """Lines put together to the messages that the API saw."""

    def __init__(self) -> None:
        self.draft = Recorded()
        self.answers: dict[str, int] = {}
        self.places: dict[str, int] = {}
        self.boundary: Line | None = None
        self.calls: set[str] = set()
        self.open_results = -1

    def take(self, line: Line) -> None:
        if line.is_boundary:
            self._mark()
            self.boundary = line
        if line.message is None:
            return
        if line.is_summary:
            self._mark(line)
        else:
            self._mark()
            self._add(line, line.message)
        self.places[line.uuid] = len(self.draft.messages) - 1

    def _mark(self, summary: Line | None = None) -> None:
        """Note a compaction: with its summary, or for a boundary that got none."""
        if summary is None and self.boundary is None:
            return
        noted = mapping(self.boundary and self.boundary.raw.get("compactMetadata"))
        kept = self._places_kept(self.boundary) if self.boundary else ()
        shown = [] if summary is None else [_wire(mapping(summary.message))]
        time = seconds(summary.raw.get("timestamp")) if summary else None
        self.draft.compact(shown, time, kept=kept, meta=noted)
        self.boundary, self.open_results = None, -1

    def _places_kept(self, boundary: Line) -> tuple[int, ...]:
        found = sorted({self.places[uuid] for uuid in preserved(boundary) if uuid in self.places})
        has_segment = "preservedSegment" in mapping(boundary.raw.get("compactMetadata"))
        return tuple(range(found[0], found[-1] + 1)) if found and has_segment else tuple(found)

    def _add(self, line: Line, message: Wire) -> None:
        usage = mapping(message.get("usage")) or None
        answer = string(message.get("id"))
        if answer in self.answers:
            self._extend(self.answers[answer], message, usage)
            return
        results = _is_results(message)
        if results and self.open_results == len(self.draft.messages) - 1 >= 0:
            self._extend(self.open_results, message, usage)
            return
        self.calls |= _call_ids(_blocks(message))
        if answer:
            self.answers[answer] = len(self.draft.messages)
        self.draft.add(_wire(message), seconds(line.raw.get("timestamp")), usage)
        self.open_results = len(self.draft.messages) - 1 if results else -1

    def _extend(self, index: int, message: Wire, usage: Wire | None) -> None:
        whole = self.draft.messages[index]
        whole["content"] = _blocks(whole)
        whole["content"] += [block for block in _blocks(message) if not _call_ids([block]) & self.calls]
        self.calls |= _call_ids(_blocks(message))
        self.draft.usage[index] = usage or self.draft.usage[index]


def _wire(message: Wire) -> Wire:
    """The message as the API takes it back: without id, model, stop reason and usage."""
    return {"role": string(message.get("role")) or "user", "content": message.get("content", "")}


def _blocks(message: Wire) -> list[Any]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else listing(content)


def _call_ids(blocks: list[Any]) -> set[str]:
    return {id for block in mappings(blocks) if (id := string(block.get("id")))}


def _is_results(message: Wire) -> bool:
    content = listing(message.get("content"))
    return bool(content) and all(mapping(block).get("type") == "tool_result" for block in content)


FORMAT = Format(NAME, fits, read)
