"""Laying a re-sent history beside the recorded one: which messages are which entries.

Clients cut a history otherwise than they got it: they join texts, send one message as two, leave out thoughts, and send
results twice. So messages and entries are compared in groups: each group of messages says what its group of entries
says. Where they differ one for one, both are taken for the same place, and the caller decides what that means.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fanfold.core.message import Message, Thinking
from fanfold.dialects.dialect import plain
from fanfold.session.state import State
from fanfold.stores.echo import Atom, atoms, compare, is_told, join
from fanfold.text.plain import same_kinds

_MOST = 64
"""So many entries or messages are tried as one group."""


class Pairing(NamedTuple):
    """Messages that are the same as entries, or that stand in their place; each from a number up to another."""

    entries: tuple[int, int]
    messages: tuple[int, int]
    same: bool
    spoken: bool = True
    """Whether anything in it is repeated by clients: thoughts are not."""

    @property
    def is_pair(self) -> bool:
        """Whether one message is one entry."""
        return self.entries[1] - self.entries[0] == 1 == self.messages[1] - self.messages[0]


class Alignment:
    """A re-sent history on its way along the recorded one."""

    def __init__(self, state: State, incoming: Sequence[Any], read: dict[int, Message]) -> None:
        self.groups: list[Pairing] = []
        self.changed: list[Pairing] = []
        """Those of the groups that are not the same."""
        self._state, self._path, self._incoming, self._read = state, state.path, incoming, read
        self._answers: list[Message] = []
        """The messages with results since the last call."""
        self._open = 0
        """How many calls are not answered yet."""

    def start(self, groups: list[Pairing]) -> None:
        """Begin behind groups that are known; what follows is added to them."""
        self.groups = groups
        last = list[Message]()
        for id in reversed(self._path[max(0, self.entry - _MOST) : self.entry]):
            last.append(self._state.log.message(id))
            if not last[-1].results:  # the calls that the results behind it answer, if there are any
                break
        for message in reversed(last):
            self._note(message)

    @property
    def many(self) -> int:
        """How many messages the client sent."""
        return len(self._incoming)

    @property
    def entry(self) -> int:
        """The first entry that is in no group."""
        return self.groups[-1].entries[1] if self.groups else 0

    @property
    def at(self) -> int:
        """The first message that is in no group."""
        return self.groups[-1].messages[1] if self.groups else 0

    def message(self, at: int) -> Message:
        """A message that the client sent."""
        if at not in self._read:
            self._read[at] = self._state.dialect.message(self._incoming[at], f"messages[{at}]")
        return self._read[at]

    def body(self, at: int, *, owned: bool) -> Any:
        """The same as it came, which nobody changes: the message has a copy of it, unless it was read otherwise."""
        came = self._incoming[at]
        if owned:
            return came
        wire = self.message(at).wire
        return wire.body if wire is not None and wire.body == came else plain(came)

    def go(self, *, past_changes: bool) -> None:
        """Lay as much as possible side by side; `past_changes`, also behind messages that differ one for one."""
        while self.at < len(self._incoming):
            group = self._next()
            if group is None or not (group.same or past_changes):
                return
            self.groups.append(group)
            if not group.same:
                self.changed.append(group)
            for id in self._path[slice(*group.entries)]:
                self._note(self._state.log.message(id))

    def is_thought(self, entry: int) -> bool:
        """Whether an entry holds nothing but thoughts."""
        id = self._path[entry]
        return id not in self._state.log.tree.erased and _only_thinks(self._state.log.message(id))

    def _next(self) -> Pairing | None:
        entry, at = self.entry, self.at
        if entry < len(self._path) and self._is_entry(entry, at):
            spoken = any(map(is_told, self._state.log.message(self._path[entry]).parts))
            return Pairing((entry, entry + 1), (at, at + 1), True, spoken)
        if self._is_doubled(atoms(self.message(at))):
            return Pairing((entry, entry), (at, at + 1), True)
        if entry >= len(self._path):
            return None
        if self.is_thought(entry):
            return self._without_thoughts(entry, at)
        if _only_thinks(self.message(at)):
            return Pairing((entry, entry), (at, at + 1), True, spoken=False)
        return self._regrouped(entry, at) or self._changed(entry, at)

    def _without_thoughts(self, entry: int, at: int) -> Pairing | None:
        """Thoughts that the client left out; else another message is in their place."""
        end = entry
        while end < len(self._path) and self.is_thought(end):
            end += 1
        if end == len(self._path) or self._is_entry(end, at) or self._regrouped(end, at):
            return Pairing((entry, end), (at, at), True, spoken=False)
        return self._changed(entry, at) or Pairing((entry, end), (at, at), True, spoken=False)

    def _is_doubled(self, told: Sequence[Atom]) -> bool:
        """Whether these are results that came before, once more, though no call waits for any."""
        if not told or self._open > 0 or any(atom[0] != "result" for atom in told):
            return False
        answered = [atom for message in self._answers for atom in atoms(message)]
        return all(atom in answered for atom in told)

    def _is_entry(self, entry: int, at: int) -> bool:
        """Whether a message is an entry, as far as clients repeat it; an erased one is known by its hashes."""
        log, id, body = self._state.log, self._path[entry], self._incoming[at]
        recorded = log.message(id)
        if at not in self._read:
            wire = recorded.wire
            if wire is not None and wire.body == body and same_kinds(wire.body, body):
                return True
        message = self.message(at)
        if message is recorded or self._state.tree.is_destroyed(id, message):
            return True
        if id in log.tree.erased or message.role != recorded.role:
            return False
        return atoms(message) == atoms(recorded)

    def _regrouped(self, entry: int, at: int) -> Pairing | None:
        """The entries and messages from here on that say the same when they are joined."""
        log, end, last = self._state.log, entry, at
        recorded, told = list[Atom](), list[Atom]()
        for _ in range(2 * _MOST):
            order = compare(recorded, told)
            if order == "same" and recorded:
                return Pairing((entry, end), (at, last), True)
            if order == "other":
                return None
            if order != "second is shorter" and end < len(self._path):
                if self._path[end] in log.tree.erased:
                    return None
                recorded, end = join(recorded, atoms(log.message(self._path[end]))), end + 1
            elif order != "first is shorter" and last < len(self._incoming):
                told, last = join(told, atoms(self.message(last))), last + 1
            else:
                return None
        return None

    def _changed(self, entry: int, at: int) -> Pairing | None:
        """One message in the place of one entry: of the same role, and about the same calls."""
        recorded, message = self._state.log.message(self._path[entry]), self.message(at)
        if _place(recorded) != _place(message):
            return None
        return Pairing((entry, entry + 1), (at, at + 1), False)

    def _note(self, message: Message) -> None:
        results = message.results
        if results:
            self._answers.append(message)
            self._open -= len(results)
        elif any(map(is_told, message.parts)):
            self._open = len(message.calls) + (self._open if not self._answers else 0)
            self._answers = []


def _only_thinks(message: Message) -> bool:
    return not any(map(is_told, message.parts)) and any(isinstance(part, Thinking) for part in message.parts)


def _place(message: Message) -> tuple[object, ...]:
    told = [atom[:2] for atom in atoms(message) if atom[0] in ("call", "result")]
    return message.role, told
