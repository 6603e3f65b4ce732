"""Gemini CLI chats: one JSON document, the newer log of changes in JSON lines, and both kinds of checkpoint files.

In the log a record with a known id replaces the older one; `$set` changes fields (or all messages),
`$rewindTo` takes back a message and all after it. A checkpoint that was made before a tool ran holds what was shown
to people (`history`) and what was sent (`clientHistory`); the latter is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from fanfold.transcripts.conversation import Conversation, Parent, Teller, Wire
from fanfold.transcripts.recording import Recording
from fanfold.transcripts.values import inner, listing, mapping, mappings, number, seconds, some, text, without

BILL = {
    "input": "promptTokenCount",
    "output": "candidatesTokenCount",
    "cached": "cachedContentTokenCount",
    "thoughts": "thoughtsTokenCount",
    "tool": "toolUsePromptTokenCount",
    "total": "totalTokenCount",
}
"""Gemini CLI's names and those of the API's `usageMetadata`."""


def fits(value: Any) -> bool:
    record = mapping(value)
    if "$set" in record or "$rewindTo" in record or _contents(record):
        return True
    has_session = bool(text(record, "sessionId")) and "type" not in record
    is_typed = any("type" in message for message in mappings(record.get("messages"))[:8])
    return has_session and (is_typed or bool({"projectHash", "startTime"} & set(record)))


def _contents(record: Wire) -> list[Wire]:
    """The contents of a checkpoint; an answer that was empty has no parts."""
    for history in (mappings(record.get(key)) for key in ("clientHistory", "history")):
        bare = [one for one in history if "parts" not in one]
        if len(bare) < len(history) and all({*one} <= {"role"} for one in bare):
            return [one for one in history if "parts" in one]
    return []


def read(recording: Recording) -> Iterator[Conversation]:
    chat = _ChatLog()
    for record in recording.objects("a Gemini CLI record"):
        chat.take(record)
    conversation = chat.tell(recording.name)
    if conversation.messages:
        yield conversation


class _ChatLog(Teller):
    """A chat log being replayed."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: Wire = {}
        self.now: dict[str, Wire] = {}
        self.past: list[list[Wire]] = []
        """What stood there before each compression."""
        self.fresh: list[int] = [0]
        """How many records each compression put there."""
        self.thoughts: Wire = {}

    def take(self, record: Wire) -> None:
        if "$rewindTo" in record:
            self._rewind(text(record, "$rewindTo"))
        elif "type" in record and "sessionId" not in record:
            self._put(self.now, record)
        else:
            self._set(mapping(record["$set"]) if "$set" in record else record)

    def _put(self, into: dict[str, Wire], record: Wire) -> None:
        into[text(record, "id") or f"record {len(into)}"] = record

    def _set(self, fields: Wire) -> None:
        self.fields |= without(fields, "messages", "history", "clientHistory")
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

    def tell(self, source: str) -> Conversation:
        for count, records in enumerate([*self.past, list(self.now.values())]):
            if count:
                self.compact([])
            for place, record in enumerate(records):
                self._append(record)
                if place + 1 == self.fresh[count]:
                    self.end_compaction()
        meta = some(self.fields, "projectHash", "startTime", "summary", "directories", "kind", "toolCall")
        folder = PurePath(
            source
        ).parent.name  # a sub-agent's file lies in one named after its parent's session
        return self.finish(
            text(self.fields, "sessionId") or source,
            source,
            "gemini",
            parent=Parent(folder) if self.fields.get("kind") == "subagent" and folder else None,
            meta=meta | ({"thoughts": self.thoughts} if self.thoughts else {}),
        )

    def _append(self, record: Wire) -> None:
        time = seconds(record.get("timestamp"))
        match record.get("type"):
            case "user":
                self.add({"role": "user", "parts": _parts(record.get("content"))}, time)
            case "gemini":
                self._append_answer(record, time)
            case None if "parts" in record:
                self.add(record)
            case _:
                self.other[text(record, "type") or "unknown"] += 1

    def _append_answer(self, record: Wire, time: float | None) -> None:
        calls = mappings(record.get("toolCalls"))
        self.model = text(record, "model") or self.model
        if thoughts := listing(record.get("thoughts")):
            self.thoughts[str(len(self.messages))] = thoughts
        if parts := _with_calls(_parts(record.get("content")), calls):
            self.add({"role": "model", "parts": parts}, time, bill_of(inner(record, "tokens")))
        if results := [part for call in calls for part in _results(call)]:
            self.add({"role": "user", "parts": results}, seconds(calls[-1].get("timestamp")) or time)


def bill_of(tokens: Wire) -> Wire | None:
    """Gemini CLI's `tokens` as `usageMetadata`."""
    return {BILL[name]: number(tokens[name]) for name in BILL if name in tokens} or None


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
