"""Gemini CLI chats: one JSON document, the newer log of changes in JSON lines, and both kinds of checkpoint files.

In the log a record with a known id replaces the older one; `$set` changes fields (or all messages),
`$rewindTo` takes back a message and all after it. A checkpoint that was made before a tool ran holds what was shown
to people (`history`) and what was sent (`clientHistory`); the latter is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from fanfold.transcripts.bills import gemini_cli_bill
from fanfold.transcripts.conversation import Conversation, Parent, Recorded, Wire
from fanfold.transcripts.formats import Format
from fanfold.transcripts.rows import Recording
from fanfold.transcripts.values import listing, mapping, mappings, seconds, some, string

NAME = "gemini-cli"


def fits(value: Any) -> bool:
    record = mapping(value)
    if "$set" in record or "$rewindTo" in record or _is_checkpoint(record):
        return True
    has_session = string(record.get("sessionId")) is not None and "type" not in record
    is_typed = any("type" in message for message in mappings(record.get("messages"))[:8])
    return has_session and (is_typed or bool({"projectHash", "startTime"} & set(record)))


def _is_checkpoint(record: Wire) -> bool:
    return bool(_contents(record))


def _contents(record: Wire) -> list[Wire]:
    """The contents of a checkpoint; an answer that was empty has no parts."""
    for history in (mappings(record.get(key)) for key in ("clientHistory", "history")):
        bare = [one for one in history if "parts" not in one]
        if len(bare) < len(history) and all({*one} <= {"role"} for one in bare):
            return [one for one in history if "parts" in one]
    return []


def read(recording: Recording) -> Iterator[Conversation]:
    chat = _Chat()
    for row in recording.rows():
        if not isinstance(row.value, dict):
            raise recording.wrong(row.line, "a Gemini CLI record is a JSON object.")
        chat.take(row.value)
    conversation = chat.finish(recording.name)
    if conversation.messages:
        yield conversation


class _Chat:
    """A chat log being replayed."""

    def __init__(self) -> None:
        self.fields: Wire = {}
        self.now: dict[str, Wire] = {}
        self.past: list[list[Wire]] = []
        """What stood there before each compression."""
        self.fresh: list[int] = [0]
        """How many records each compression put there."""
        self.other: Counter[str] = Counter()
        self.models: list[str] = []
        self.thoughts: Wire = {}

    def take(self, record: Wire) -> None:
        if "$rewindTo" in record:
            self._rewind(string(record["$rewindTo"]) or "")
        elif "type" in record and "sessionId" not in record:
            self._put(self.now, record)
        else:
            self._set(mapping(record["$set"]) if "$set" in record else record)

    def _put(self, into: dict[str, Wire], record: Wire) -> None:
        into[string(record.get("id")) or f"record {len(into)}"] = record

    def _set(self, fields: Wire) -> None:
        left_out = ("messages", "history", "clientHistory")
        self.fields |= {key: value for key, value in fields.items() if key not in left_out}
        if contents := _contents(fields):
            self.now = {str(number): content for number, content in enumerate(contents)}
        if isinstance(fields.get("messages"), list):
            self._replace(mappings(fields["messages"]))

    def _replace(self, records: list[Wire]) -> None:
        """The same ids over again are a rewrite; other ones took the place of older history."""
        new: dict[str, Wire] = {}
        for record in records:
            self._put(new, record)
        is_other = any(old != fresh for old, fresh in zip(self.now, new, strict=False))
        if is_other or (self.now and not new):
            self.past.append(list(self.now.values()))
            self.fresh.append(len(new))
        self.now = new

    def _rewind(self, id: str) -> None:
        if id not in self.now:
            self.other["rewind to an unknown message"] += 1
            return
        ids = list(self.now)
        for gone in ids[ids.index(id) :]:
            del self.now[gone]

    def finish(self, source: str) -> Conversation:
        draft = Recorded()
        for number, records in enumerate([*self.past, list(self.now.values())]):
            if number:
                draft.compact([])
            for place, record in enumerate(records):
                self._add(draft, record)
                if place + 1 == self.fresh[number]:
                    draft.end_compaction()
        meta = some(self.fields, "projectHash", "startTime", "summary", "directories", "kind", "toolCall")
        noticed = {"thoughts": self.thoughts, "other_lines": dict(self.other)}
        return draft.finish(
            string(self.fields.get("sessionId")) or source,
            source,
            NAME,
            "gemini",
            model=self.models[-1] if self.models else None,
            parent=self._parent(source),
            meta=meta | {key: value for key, value in noticed.items() if value},
        )

    def _parent(self, source: str) -> Parent | None:
        """A sub-agent's file lies in a folder named after the session that started it."""
        folder = PurePath(source).parent.name
        return Parent(folder) if self.fields.get("kind") == "subagent" and folder else None

    def _add(self, draft: Recorded, record: Wire) -> None:
        time = seconds(record.get("timestamp"))
        match record.get("type"):
            case "user":
                draft.add({"role": "user", "parts": _parts(record.get("content"))}, time)
            case "gemini":
                self._add_answer(draft, record, time)
            case None if "parts" in record:
                draft.add(record)
            case kind:
                self.other[string(kind) or "unknown"] += 1

    def _add_answer(self, draft: Recorded, record: Wire, time: float | None) -> None:
        calls = mappings(record.get("toolCalls"))
        parts = _with_calls(_parts(record.get("content")), calls)
        if model := string(record.get("model")):
            self.models.append(model)
        if thoughts := listing(record.get("thoughts")):
            self.thoughts[str(len(draft.messages))] = thoughts
        if parts:
            draft.add({"role": "model", "parts": parts}, time, gemini_cli_bill(mapping(record.get("tokens"))))
        results = [part for call in calls for part in _results(call)]
        if results:
            draft.add({"role": "user", "parts": results}, seconds(calls[-1].get("timestamp")) or time)


def _parts(content: Any) -> list[Wire]:
    """A text, a part or a list of both, as parts."""
    items = content if isinstance(content, list) else [content]
    texts = ({"text": item} if isinstance(item, str) else item for item in items if item)
    return [part for part in texts if isinstance(part, dict)]


def _with_calls(parts: list[Wire], calls: list[Wire]) -> list[Wire]:
    """The parts, and the calls that are not among them already."""
    there = [mapping(part.get("functionCall")) for part in parts if "functionCall" in part]
    missing = [call for call in calls if not any(_is_same(call, known) for known in there)]
    return parts + [
        {"functionCall": some(call, "id", "name") | {"args": mapping(call.get("args"))}} for call in missing
    ]


def _is_same(call: Wire, known: Wire) -> bool:
    if known.get("id"):
        return bool(known.get("id") == call.get("id"))
    return known.get("name") == call.get("name") and mapping(known.get("args")) == mapping(call.get("args"))


def _results(call: Wire) -> list[Wire]:
    result = call.get("result")
    if isinstance(result, str) and result:
        return [{"functionResponse": some(call, "id", "name") | {"response": {"output": result}}}]
    return _parts(result)


FORMAT = Format(NAME, fits, read)
