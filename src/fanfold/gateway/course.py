"""The course of a conversation: what a client sent last, as bytes. Of its next request only the end is read.

Clients send their whole history with every request, and add a few messages. Where a request begins with the bytes of
the last one, up to the end of one of its messages, all messages so far are the same, and what is new costs what is new.
Courses are kept for conversations in which nothing was edited, in the memory of this process. Whoever has none is read
as a whole; nothing depends on it but time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fanfold.core.errors import BadInput
from fanfold.dialects.http.request import HttpRequest
from fanfold.dialects.reading import parse
from fanfold.dialects.registry import dialect_named, facts
from fanfold.gateway.compaction import PROMPTS, TRIGGER
from fanfold.gateway.identity import claim_of
from fanfold.gateway.keys import Holder
from fanfold.session.pool import Lease

_KEPT_BYTES = 16 << 20
_READ = 6
"""What was read takes about so many times as much as its bytes."""
_AT_ONE_PLACE = 32
_SPECIAL = tuple(word.encode() for word in (TRIGGER, '"compaction"', '"item_reference"', *PROMPTS))
"""Words in new messages for which a request is read as a whole: it may mean more than it says."""
OUTSIDE = {"anthropic": ("betas",), "gemini": ("model",)}
"""What stands in a header or in the path, and is in the body only for the dialects."""
_ELSEWHERE = ("previous_response_id", "conversation")
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
Place = tuple[str, ...]
"""Where a course is looked for: the tenant, the path, what the client calls its session, its betas."""
Headers = list[tuple[bytes, bytes]]


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the last request of a conversation."""

    place: Place
    name: str
    holder: Holder
    lease: Lease
    mark: object
    """What the session knows this history by."""
    asked: HttpRequest
    """The request without its messages."""
    before: frozenset[str]
    """The fields that stand before the messages."""
    frame: tuple[tuple[Any, ...], tuple[Any, ...]]
    """System prompt and tools."""
    lead: tuple[Any, ...]
    """The messages before the first that is the session's: the system prompt, where it is one of them."""
    params: dict[str, Any]
    """What else is sent, as a budget is to see it."""
    head: bytes
    """The request up to the end of its last message."""
    tail: bytes
    """All behind that."""
    ends: tuple[int, ...]
    """Where each of the session's messages ends."""

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes: all but the messages is kept as it was read, too."""
        return len(self.head) + _READ * (self.ends[0] + len(self.tail))


class Continuation(msgspec.Struct, frozen=True, kw_only=True):
    """A request that goes on from a course."""

    course: Course
    """As it will be after this request; the session has still to adopt what is new."""
    known: int
    """How many of the session's messages were sent again just so."""
    new: list[Any]
    reframed: bool
    """Whether something may have changed beside the messages."""

    @property
    def size(self) -> int:
        """How many bytes are new."""
        new = len(self.course.head) - self.course.ends[self.known - 1]
        return new + len(self.course.tail) if self.reframed else new


class Courses:
    """The courses that are known, each by its place; those that were not gone on for longest are forgotten."""

    def __init__(self) -> None:
        self._places: OrderedDict[Place, dict[str, Course]] = OrderedDict()
        self.size = 0
        """About how many bytes of memory they take."""

    def keep(self, course: Course) -> None:
        """Go on from here next time."""
        here = self._places.setdefault(course.place, {})
        self._places.move_to_end(course.place)
        old = here.pop(course.name, None)
        self.size += course.size - (old.size if old is not None else 0)
        here[course.name] = course
        if len(here) > _AT_ONE_PLACE:
            self.size -= here.pop(next(iter(here))).size
        while self.size > _KEPT_BYTES and len(self._places) > 1:
            _, gone = self._places.popitem(last=False)
            self.size -= sum(one.size for one in gone.values())

    def forget(self, place: Place, name: str) -> None:
        """Something else is sent for this conversation than its client sent."""
        gone = self._places.get(place, {}).pop(name, None)
        self.size -= gone.size if gone is not None else 0

    def find(self, place: Place, holder: Holder, headers: Headers, data: bytes) -> Continuation | None:
        """The course that a request goes on from, and how; None where it has to be read as a whole.

        A client that names its session may also have changed its last messages: Claude Code moves its cache marks.
        """
        here = self._places.get(place)
        if not here:
            return None
        named, found = place[2] != "", None
        for course in reversed(here.values()):
            if data.startswith(course.head) and (found is None or len(found.head) < len(course.head)):
                found = course
        if found is None and named:
            found = next(reversed(here.values()))
        if found is None or len(found.ends) < (1 if named else 2):
            return None
        step = _step(found, headers, data)
        # Settings may have been read again, and they may be others for another model.
        return (
            step if step is not None and holder.for_model(step.course.asked.model) is found.holder else None
        )


def place_of(tenant: str, path: str, query: str, headers: Headers, betas: str) -> Place:
    """Where the course of a request is looked for."""
    return (tenant, f"{path}?{query}", claim_of(headers, {}) or "", betas)


def chart(course: Course, asked: HttpRequest, data: bytes, bodies: Sequence[Any]) -> Course | None:
    """The course of a request that was read as a whole; `bodies` are the messages that its session adopted.

    None where the next one has to be read as a whole, too.
    """
    field = facts(asked.dialect).field
    messages = asked.body.get(field)
    if not isinstance(messages, list) or not bodies or any(asked.body.get(key) for key in _ELSEWHERE):
        return None
    lead = len(messages) - len(bodies)
    if lead < 0 or messages[lead:] != list(bodies):
        return None
    try:
        items = _ITEMS.decode(bytes(_FIELDS.decode(data)[field]))
        ends = _ends(data, items, data.find(bytes(items[0])))
        # The array must be the one on top: then what stands before its end is a request without what is behind.
        before = parse(data[: ends[-1]] + b"]}")
    except (msgspec.MsgspecError, KeyError, ValueError, BadInput):
        return None
    if not isinstance(before, dict) or before.get(field) != messages:
        return None
    split = dialect_named(asked.dialect).split(asked.body)
    return msgspec.structs.replace(
        course,
        asked=_without(asked, field),
        before=frozenset(before) - {field},
        frame=(split.system, split.tools),
        lead=tuple(messages[:lead]),
        head=data[: ends[-1]],
        tail=data[ends[-1] :],
        ends=ends[lead:],
    )


def _without(asked: HttpRequest, field: str) -> HttpRequest:
    body = {key: value for key, value in asked.body.items() if key != field}
    return msgspec.structs.replace(asked, body=body)


def _ends(data: bytes, items: Sequence[msgspec.Raw], at: int) -> tuple[int, ...]:
    """Where items end that follow each other from here on, with nothing but commas and blanks between them."""
    ends: list[int] = []
    for item in items:
        raw = bytes(item)
        found = data.find(raw, at)
        if found < 0 or (ends and data[at:found].strip(b" \t\r\n") != b","):
            raise ValueError("These are not the items.")
        at = found + len(raw)
        ends.append(at)
    return tuple(ends)


def _step(course: Course, headers: Headers, data: bytes) -> Continuation | None:
    known = len(course.ends)
    if not data.startswith(course.head):
        known = _count_same(course, data)
        if not known:
            return None
    at = course.ends[known - 1]
    if data[at : at + 1] != b",":
        return None
    try:
        return _with_same_tail(course, data, known, at) or _with_other_tail(course, headers, data, known, at)
    except (msgspec.MsgspecError, BadInput, ValueError):
        return None


def _count_same(course: Course, data: bytes) -> int:
    """How many messages from the start are the same, byte for byte."""
    low, high = 0, len(course.ends)
    while low < high:
        middle = (low + high + 1) // 2
        if data.startswith(course.head[: course.ends[middle - 1]]):
            low = middle
        else:
            high = middle - 1
    return low


def _with_same_tail(course: Course, data: bytes, known: int, at: int) -> Continuation | None:
    """What was added, where all behind the messages is as it was: only the messages between are read."""
    end = len(data) - len(course.tail)
    if end <= at or not data.endswith(course.tail):
        return None
    listed = b"[%b]" % data[at + 1 : end]
    try:
        new = parse(listed)
    except BadInput:
        return None  # the messages end elsewhere
    return _added(course, data, known, listed, new)


def _with_other_tail(
    course: Course, headers: Headers, data: bytes, known: int, at: int
) -> Continuation | None:
    """What was added, where something behind the messages changed, too."""
    opened = b'{"":[' + data[at + 1 :]
    listed = bytes(_FIELDS.decode(opened)[""])
    behind = parse(opened)
    new, asked = behind.pop(""), course.asked
    if not course.before.isdisjoint(behind):
        return None
    stay = course.before.union(OUTSIDE.get(asked.dialect, ()))
    kept = {key: value for key, value in asked.body.items() if key in stay}
    body = {**kept, **behind}
    if any(body.get(key) for key in _ELSEWHERE) or claim_of(headers, body) != claim_of(headers, asked.body):
        return None
    field = facts(asked.dialect).field
    split = dialect_named(asked.dialect).split({**body, field: [*course.lead, *new]})
    if split.messages != new:
        return None
    changed = msgspec.structs.replace(
        course,
        asked=HttpRequest(
            route=asked.route,
            body=body,
            model=asked.route.model or _text(body.get("model")),
            streams=asked.streams if asked.dialect == "gemini" else body.get("stream") is True,
        ),
        frame=(split.system, split.tools),
        params=course.holder.budgeted(split.params),
    )
    return _added(changed, data, known, listed, new, reframed=True)


def _added(
    course: Course, data: bytes, known: int, listed: bytes, new: list[Any], *, reframed: bool = False
) -> Continuation | None:
    """The step by which these messages were added; `listed` are their bytes, in brackets."""
    if not new or not all(type(one) is dict for one in new) or any(word in listed for word in _SPECIAL):
        return None
    if course.asked.dialect == "openai.responses" and any(map(refers_to_item, new)):
        return None
    at = course.ends[known - 1]
    ends = _ends(data, _ITEMS.decode(listed), at + 1)
    after = msgspec.structs.replace(
        course,
        head=data[: ends[-1]],
        tail=data[at + len(listed) - 1 :],
        ends=(*course.ends[:known], *ends),
    )
    return Continuation(course=after, known=known, new=new, reframed=reframed)


def refers_to_item(item: Mapping[str, Any]) -> bool:
    """Whether an item of Responses stands for one that the provider has: its type need not be said."""
    kind = item.get("type")
    return kind == "item_reference" or (kind is None and "role" not in item)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
