"""Sessions of Google's Agent Development Kit: events, alone or in the session that holds them.

Fields are spelled in camel case or in snake case. The content of an event is a content of Gemini's API. Pieces of a
stream (`partial`) are left out where the whole follows; a compaction names the time of the last event it covers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fanfold.dialects.gemini.names import camel, snake
from fanfold.transcripts.conversation import Conversation, Teller, Wire
from fanfold.transcripts.recording import Recording
from fanfold.transcripts.values import listing, mapping, mappings, seconds, some, string, text


def fits(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], dict) and fits(value[0])
    record = mapping(value)
    return _is_event(record) or any(_is_event(event) for event in mappings(record.get("events"))[:8])


def _is_event(record: Wire) -> bool:
    return bool(text(record, "author")) and bool({"invocationId", "invocation_id"} & set(record))


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
            yield told.tell(recording.name, record)
    if loose.messages or loose.pieces:
        yield loose.tell(recording.name, {})


class _AdkTeller(Teller):
    """A session being told."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[Wire] = []
        """Parts of a stream whose whole has not come yet."""
        self.authors: dict[str, None] = {}

    def take(self, event: Wire) -> None:
        content, author = mapping(event.get("content")), text(event, "author") or "user"
        parts, time = mappings(content.get("parts")), seconds(event.get("timestamp"))
        self.model = string(_get(event, "modelVersion")) or self.model
        if event.get("partial"):
            self.pieces += parts
            return
        if parts:
            self._end(author)
            self.authors[author] = None
            role = text(content, "role") or ("user" if author == "user" else "model")
            self.add({"role": role, "parts": listing(content.get("parts"))}, time, _bill(event))
        self._compact(mapping(_get(mapping(event.get("actions")), "compaction")), time)

    def _end(self, author: str) -> None:
        """Drop the pieces of what has now come whole; what broke off before the user spoke stays."""
        if self.pieces and author == "user":
            self.add({"role": "model", "parts": _merge(self.pieces)})
        self.pieces = []

    def _compact(self, compaction: Wire, time: float | None) -> None:
        shown = mapping(_get(compaction, "compactedContent"))
        if not mappings(shown.get("parts")):
            return
        end = seconds(_get(compaction, "endTimestamp"))
        times = enumerate(self.times)
        kept = [at for at, moment in times if end is not None and moment is not None and moment > end]
        message = {"role": text(shown, "role") or "model", "parts": listing(shown.get("parts"))}
        self.compact([message], time, kept=kept)

    def tell(self, source: str, session: Wire) -> Conversation:
        self._end("user")
        names = {name: _get(session, name) for name in ("appName", "userId", "state")}
        agents = [author for author in self.authors if author != "user"]
        id = text(session, "id", "session_id", "sessionId") or source
        return self.finish(id, source, "gemini", meta=some(names | {"agents": agents}))


def _bill(event: Wire) -> Wire | None:
    """`usageMetadata` as the API spells it."""
    usage = mapping(_get(event, "usageMetadata"))
    return {camel(key): value for key, value in usage.items() if value is not None} or None


def _merge(parts: list[Wire]) -> list[Wire]:
    """Pieces of text joined; everything else as it came."""
    texts = "".join(text(part, "text") for part in parts if not part.get("thought"))
    return ([{"text": texts}] if texts else []) + [part for part in parts if "text" not in part]


def _get(record: Wire, name: str) -> Any:
    """A field in either spelling."""
    return record.get(name, record.get(snake(name)))
