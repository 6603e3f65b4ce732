"""Maps what is sent to the framework's own messages: which of them are sent as they are, and which are built anew.

A framework's message may be several entries, and one entry several messages (`Merged.entries`). Messages go on as
they are only if every entry of theirs is shown as it was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from fanfold.core.message import Message, Part, Result, Thinking
from fanfold.core.view import Row
from fanfold.dialects.dialect import Dialect
from fanfold.session.request import SentRequest

M = TypeVar("M")
Build = Callable[[Message, Any, M | None], M]


class Likeness(NamedTuple):
    """Messages of the framework that are these entries together."""

    entries: tuple[str, ...]
    messages: tuple[int, ...]

    @property
    def only(self) -> int | None:
        """The message that is just this entry, if it is one for one."""
        return self.messages[0] if len(self.entries) == 1 == len(self.messages) else None


def lay_back(
    request: SentRequest,
    entries: Sequence[tuple[str, ...]],
    messages: Sequence[M],
    build: Build[M],
    dialect: Dialect,
    *,
    one_result: bool = False,
) -> list[M]:
    """The messages to send: the framework's own where nothing changed.

    With `one_result`, a message of the framework holds one result of a tool, never several.
    """
    laying = _Laying(
        request=request, entries=entries, given=messages, build=build, dialect=dialect, one_result=one_result
    )
    return list(laying.messages())


class _Laying(Generic[M]):
    """One request on its way back to a framework."""

    def __init__(
        self,
        *,
        request: SentRequest,
        entries: Sequence[tuple[str, ...]],
        given: Sequence[M],
        build: Build[M],
        dialect: Dialect,
        one_result: bool,
    ) -> None:
        self._one_result = one_result
        self._request, self._given, self._build, self._dialect = request, given, build, dialect
        self._groups = {id: group for group in _group(entries) for id in group.entries}
        self._untouched = set(_find_untouched(request))

    def messages(self) -> Iterator[M]:
        """The messages of all rows, in order."""
        done: tuple[str, ...] = ()
        for row in self._request.rows:
            group = self._groups.get(row.id) if row.kind == "entry" else None
            if group is not None and self._untouched.issuperset(group.entries):
                if group.entries is not done:
                    yield from self._own(group)
                done = group.entries
            elif row.kind == "entry" and group is None and _is_thought(row):
                continue  # recorded, but the framework does not repeat it: it knows why
            else:
                yield from self._made(row, group)

    def _own(self, group: Likeness) -> Iterator[M]:
        """The framework's own messages; results that it has twice go out once, or the provider refuses them."""
        said = self._request.view.said(group.entries[0])
        once = len(group.entries) == 1 and said is not None and bool(said.results)
        for number in group.messages[: 1 if once else None]:
            yield self._given[number]

    def _made(self, row: Row, group: Likeness | None) -> Iterator[M]:
        if row.kind == "mend":
            slices = self._slices(row)
            if slices is not None:
                yield from slices
                return
        was = None if group is None or group.only is None else self._given[group.only]
        wires = row.weight.wire if len(row.weight.wire) == len(row.messages) else (None,) * len(row.messages)
        for message, wire in zip(row.messages, wires, strict=True):
            if self._one_result and len(message.results) > 1:
                yield from self._apart(row, message)
            else:
                yield self._build(message, wire, was)

    def _apart(self, row: Row, message: Message) -> Iterator[M]:
        """Each result as a message of its own, and behind them what else was said."""
        view = self._request.view
        own = {said.parts: self._groups.get(id) for id in row.covers if (said := view.said(id)) is not None}
        rest = tuple(part for part in message.parts if not isinstance(part, Result))
        for parts in (*((part,) for part in message.results), *((rest,) if rest else ())):
            group = own.get(parts)
            if group is not None and group.only is not None:
                yield self._given[group.only]
            else:
                yield self._build(Message(message.role, parts), None, None)

    def _slices(self, row: Row) -> list[M] | None:
        """The messages that a repair only joined; None where it did more than that."""
        view = self._request.view
        found = [(view.said(id), self._groups.get(id)) for id in row.covers]
        told: list[Part] = [part for said, _ in found if said is not None for part in said.parts]
        shown = row.messages[0].parts if len(row.messages) == 1 else ()
        if len(told) != len(shown) or not all(map(_stands_for, shown, told)):
            return None
        made, start = list[M](), 0
        for said, group in found:
            if said is None or group is None or group.only is None:
                return None
            parts = shown[start : start + len(said.parts)]
            start += len(said.parts)
            own = self._given[group.only]
            made.append(own if parts == said.parts else self._changed(said, parts, own))
        return made

    def _changed(self, said: Message, parts: tuple[Part, ...], own: M) -> M:
        message = Message(said.role, parts)
        return self._build(message, self._dialect.wire(message, said)[0], own)


def _group(entries: Sequence[tuple[str, ...]]) -> Iterator[Likeness]:
    """The messages with their entries; neighbours that are the same entries belong together."""
    start = 0
    for at in range(1, len(entries) + 1):
        if at == len(entries) or entries[at] != entries[start]:
            if entries[start]:
                yield Likeness(entries[start], tuple(range(start, at)))
            start = at


def _find_untouched(request: SentRequest) -> Iterator[str]:
    """The entries that are sent just as they were recorded; what was erased is not."""
    view = request.view
    seen = set(map(id, view.rows))
    for row in request.rows:
        if row.kind == "entry" and row.was is None and id(row) in seen and view.said(row.id) is not None:
            yield row.id


def _stands_for(shown: Part, told: Part) -> bool:
    """Whether a part is another one, or what is shown of it: of a result, perhaps a line."""
    if isinstance(shown, Result) and isinstance(told, Result):
        return shown.call == told.call
    return shown == told


def _is_thought(row: Row) -> bool:
    return {type(part) for message in row.messages for part in message.parts} == {Thinking}
