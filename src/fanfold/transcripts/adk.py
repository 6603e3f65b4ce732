"""Sessions of Google's Agent Development Kit: events, alone or in the session that holds them.

Fields are spelled in camel case or in snake case. The content of an event is a content of Gemini's API. Pieces of a
stream (`partial`) are left out where the whole follows; a compaction names the time of the last event it covers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from fanfold.dialects.gemini.names import camel, snake
from fanfold.transcripts.conversation import Conversation, Recorded, Wire
from fanfold.transcripts.formats import Format
from fanfold.transcripts.rows import Recording
from fanfold.transcripts.values import first_string, listing, mapping, mappings, seconds, some, string

NAME = "adk"


def fits(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], dict) and fits(value[0])
    record = mapping(value)
    return _is_event(record) or any(_is_event(event) for event in mappings(record.get("events"))[:8])


def _is_event(record: Wire) -> bool:
    return string(record.get("author")) is not None and _has(record, "invocationId")


def read(recording: Recording) -> Iterator[Conversation]:
    """A conversation for each session; events that stand alone make one together."""
    loose = _AdkTeller()
    for row in recording.rows():
        for record in mappings(row.value if isinstance(row.value, list) else [row.value]):
            if "events" not in record:
                loose.take(record)
                continue
            told = _AdkTeller()
            for event in mappings(record["events"]):
                told.take(event)
            yield told.finish(recording.name, record)
    if loose.draft.messages or loose.pieces:
        yield loose.finish(recording.name, {})


class _AdkTeller:
    """A session being told."""

    def __init__(self) -> None:
        self.draft = Recorded()
        self.pieces: list[Wire] = []
        """Parts of a stream whose whole has not come yet."""
        self.authors: Counter[str] = Counter()
        self.model: str | None = None

    def take(self, event: Wire) -> None:
        content, author = mapping(event.get("content")), string(event.get("author")) or "user"
        parts, time = mappings(content.get("parts")), seconds(event.get("timestamp"))
        self.model = string(_get(event, "modelVersion")) or self.model
        if event.get("partial"):
            self.pieces += parts
            return
        if parts:
            self._end(author)
            role = string(content.get("role")) or ("user" if author == "user" else "model")
            self.authors[author] += 1
            self.draft.add({"role": role, "parts": listing(content.get("parts"))}, time, _bill(event))
        self._compact(mapping(_get(mapping(event.get("actions")), "compaction")), time)

    def _end(self, author: str) -> None:
        """Drop the pieces of what has now come whole; what broke off before the user spoke stays."""
        if self.pieces and author == "user":
            self.draft.add({"role": "model", "parts": _merge(self.pieces)})
        self.pieces = []

    def _compact(self, compaction: Wire, time: float | None) -> None:
        shown = mapping(_get(compaction, "compactedContent"))
        if not mappings(shown.get("parts")):
            return
        end = seconds(_get(compaction, "endTimestamp"))
        times = enumerate(self.draft.times)
        kept = [at for at, moment in times if end is not None and moment is not None and moment > end]
        role = string(shown.get("role")) or "model"
        self.draft.compact([{"role": role, "parts": listing(shown.get("parts"))}], time, kept=kept)

    def finish(self, source: str, session: Wire) -> Conversation:
        self._end("user")
        names = {name: _get(session, name) for name in ("appName", "userId", "state")}
        agents = [author for author in self.authors if author != "user"]
        return self.draft.finish(
            first_string(session, "id", "session_id", "sessionId") or source,
            source,
            NAME,
            "gemini",
            model=self.model,
            meta=some(names | {"agents": agents}, *names, "agents"),
        )


def _bill(event: Wire) -> Wire | None:
    """`usageMetadata` as the API spells it."""
    usage = mapping(_get(event, "usageMetadata"))
    return {camel(key): value for key, value in usage.items() if value is not None} or None


def _merge(parts: list[Wire]) -> list[Wire]:
    """Pieces of text joined; everything else as it came."""
    texts = "".join(string(part.get("text")) or "" for part in parts if not part.get("thought"))
    return ([{"text": texts}] if texts else []) + [part for part in parts if "text" not in part]


def _get(record: Wire, name: str) -> Any:
    """A field in either spelling."""
    return record.get(name, record.get(snake(name)))


def _has(record: Wire, name: str) -> bool:
    return name in record or snake(name) in record


FORMAT = Format(NAME, fits, read)
