"""Claude Code sessions: JSON lines that form a tree; also the Agent SDK's stream of the same lines.

A line names its parent, so a rewound session holds several branches; the one that ends last is read.
The API's answer is written as one line per content block, all with the same `message.id`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fanfold.transcripts.claude_tree import TALK, ClaudeLine, ClaudeSession, calls_of, kept_uuids, path_of
from fanfold.transcripts.conversation import Conversation, Parent, Teller, Wire
from fanfold.transcripts.recording import Recording
from fanfold.transcripts.values import listing, mapping, mappings, seconds, some, text

NAMING = ("sessionId", "session_id", "uuid", "parentUuid", "parent_tool_use_id")
"""Fields that lines with messages have, though somebody may have made them empty."""
OTHERS = ("init",)
"""Lines that name a session too, but are those of another tool: Gemini CLI's stream begins so."""


def fits(value: Any) -> bool:
    record = mapping(value)
    kind = text(record, "type")
    if not kind or kind in OTHERS or "payload" in record or "record_type" in record:
        return False
    if kind in TALK:
        message = record.get("message")
        return isinstance(message, dict) and ("content" in message or bool({*NAMING} & set(record)))
    names_session = bool(text(record, "sessionId", "session_id", "leafUuid", "uuid"))
    return names_session or kind == "file-history-snapshot" or "parentUuid" in record


def read(recording: Recording) -> Iterator[Conversation]:
    session = ClaudeSession()
    for line in recording.objects("a Claude Code line"):
        session.add(line)
    session.place()
    calls = calls_of(session.lines)
    for name, lines in session.chains().items():
        if path := path_of(lines, session.known):
            id = next(filter(None, (text(one.raw, "sessionId", "session_id") for one in reversed(path))), "")
            meta = some(path[0].raw, "agentId", "slug") if name else _meta(session, lines, path)
            id = id or recording.name
            yield _Joiner(path).finish(
                f"{id}/{name}" if name else id,
                recording.name,
                "anthropic",
                parent=Parent(id, _call_of(name, path, calls)) if name else None,
                meta=meta,
            )


def _call_of(name: str, path: list[ClaudeLine], calls: dict[str, str]) -> str | None:
    """The call that started a side chain, where the recording tells."""
    first = next(line for line in path if line.message)
    prompt = text(mapping(first.message), "content")
    prompt = prompt or "".join(text(block, "text") for block in first.blocks("text"))
    found = (calls.get(key) for key in (name, prompt, first.parent) if key)
    return text(first.raw, "parent_tool_use_id") or next(filter(None, found), None)


def _meta(session: ClaudeSession, lines: list[ClaudeLine], path: list[ClaudeLine]) -> Wire:
    on_path = {line.uuid for line in path}
    left = [line for line in lines if line.message and line.uuid not in on_path]
    parents = {line.parent for line in lines}
    branches = sum(line.uuid not in parents for line in left)
    told: Wire = {"titles": session.titles, "other_lines": dict(session.other)}
    told |= {"left_out": len(left), "branches": branches}
    return some(path[-1].raw, "cwd", "version", "gitBranch") | {key: one for key, one in told.items() if one}


class _Joiner(Teller):
    """Joins lines to the messages that the API saw."""

    def __init__(self, path: list[ClaudeLine]) -> None:
        super().__init__()
        self.answers: dict[str, int] = {}
        self.places: dict[str, int] = {}
        self.boundary: ClaudeLine | None = None
        self.calls: set[str] = set()
        self.open_results = -1
        for line in path:
            self._take(line)

    def _take(self, line: ClaudeLine) -> None:
        if line.is_boundary:
            self._mark()
            self.boundary = line
        if line.message is None:
            return
        if line.is_summary:
            self._mark(line)
        else:
            self._mark()
            self._append(line, line.message)
        self.places[line.uuid] = len(self.messages) - 1
        self.model = text(line.message, "model") or self.model

    def _mark(self, summary: ClaudeLine | None = None) -> None:
        """Note a compaction: with its summary, or for a boundary that got none."""
        if summary is None and self.boundary is None:
            return
        noted = mapping(self.boundary and self.boundary.raw.get("compactMetadata"))
        kept = self._places_kept(self.boundary) if self.boundary else ()
        shown = [] if summary is None else [_wire(mapping(summary.message))]
        time = seconds(summary.raw.get("timestamp")) if summary else None
        self.compact(shown, time, kept=kept, meta=noted)
        self.boundary, self.open_results = None, -1

    def _places_kept(self, boundary: ClaudeLine) -> Sequence[int]:
        found = sorted({self.places[uuid] for uuid in kept_uuids(boundary) if uuid in self.places})
        has_segment = "preservedSegment" in mapping(boundary.raw.get("compactMetadata"))
        return range(found[0], found[-1] + 1) if found and has_segment else found

    def _append(self, line: ClaudeLine, message: Wire) -> None:
        usage, answer = mapping(message.get("usage")) or None, text(message, "id")
        content = listing(message.get("content"))
        has_results = bool(content) and all(mapping(one).get("type") == "tool_result" for one in content)
        if answer in self.answers:
            self._extend(self.answers[answer], message, usage)
        elif has_results and self.open_results == len(self.messages) - 1 >= 0:
            self._extend(self.open_results, message, usage)
        else:
            self.calls |= _call_ids(_blocks(message))
            if answer:
                self.answers[answer] = len(self.messages)
            self.add(_wire(message), seconds(line.raw.get("timestamp")), usage)
            self.open_results = len(self.messages) - 1 if has_results else -1

    def _extend(self, index: int, message: Wire, usage: Wire | None) -> None:
        whole = self.messages[index]
        whole["content"] = _blocks(whole)
        whole["content"] += [block for block in _blocks(message) if not _call_ids([block]) & self.calls]
        self.calls |= _call_ids(_blocks(message))
        self.usage[index] = usage or self.usage[index]


def _wire(message: Wire) -> Wire:
    """The message as the API takes it back: without id, model, stop reason and usage."""
    return {"role": text(message, "role") or "user", "content": message.get("content", "")}


def _blocks(message: Wire) -> list[Any]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else listing(content)


def _call_ids(blocks: list[Any]) -> set[str]:
    return {id for block in mappings(blocks) if (id := text(block, "id"))}
