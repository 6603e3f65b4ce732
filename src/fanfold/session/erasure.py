"""An erasure: what is destroyed, and what edits are without anything that was made from it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from fanfold.core.edit import Decision, Elide, Fold, Note, Pin, Repair, covered
from fanfold.core.log import Log
from fanfold.core.message import Message, Part, replaced, user, words
from fanfold.core.pins import PINNED
from fanfold.core.reading import legible
from fanfold.core.tree import Entry
from fanfold.dialects.rules import MADE_UP
from fanfold.session.traces import notes_from

_RECOGNISED = 8
"""A shorter piece may stand somewhere by chance; it is not taken for a copy of what is erased."""


class Erasure(msgspec.Struct, frozen=True):
    """What is destroyed, and what stands in its place."""

    entry: Entry
    """What is left of it."""
    content: str
    """All that can be read in any body that it had."""
    calls: frozenset[str]
    """The calls in it: the placeholder of an output says what was asked."""
    notes: frozenset[str]
    """The notes of this session that were made from it."""

    @classmethod
    def of(cls, log: Log, id: str, bodies: Iterable[Message]) -> Erasure:
        """The erasure of these bodies of an entry, as far as this session's log goes."""
        bodies = list(bodies)
        told = (log.decisions[edit].edit for edit in log.instead_of(id))
        texts = (edit.text for edit in told if isinstance(edit, Elide))
        content = "\n".join(dict.fromkeys((*map(legible, bodies), *texts)))
        calls = frozenset(call.id for body in bodies for call in body.calls)
        return cls(log.tree[id], content, calls, notes_from(log, id))

    @property
    def stub(self) -> str:
        """What is shown instead."""
        return f"[erased: {self.entry.erased}]"

    def placeholder(self, edit: Elide) -> str:
        """What is shown instead of a placeholder that told of it, and that stands for something else."""
        return f"{self.stub[:-1]}; ref={edit.ref}]" if edit.ref is not None else self.stub

    def was_among(self, log: Log, rows: Iterable[str]) -> bool:
        """Whether it, or a note that was made from it, stands in some rows or behind them."""
        return self.entry.id in log.leaves(rows) or not self.notes.isdisjoint(rows)

    def cleaned(self, value: Any) -> Any:
        """A value with the stub in the place of every text that holds a line of the content."""
        if isinstance(value, str):
            return self.stub if self.is_quoted(value) else value
        if isinstance(value, dict):
            return {key: self.cleaned(item) for key, item in value.items()}
        return [self.cleaned(item) for item in value] if isinstance(value, list | tuple) else value

    def unpinned(self, pinned: str) -> str:
        """Pinned lines, with the stub in the place of those that tell of the content."""
        lines = pinned.splitlines()
        kept = [self.stub if line.strip() and self.tells(line) else line for line in lines]
        return pinned if kept == lines else "\n".join(dict.fromkeys(kept))

    def repinned(self, text: str) -> str:
        """What an edit shows, without pinned lines that tell of the content: they may have stood in a note."""
        told, heading, pinned = text.partition(PINNED)
        return f"{told}{heading}{self.unpinned(pinned)}"

    def unnoted(self, note: str) -> str:
        """A person's note, with the stub in the place of lines that quote the content."""
        return "\n".join(self.stub if self._quotes(line) else line for line in note.split("\n"))

    def unquoted(self, context: str | None) -> str | None:
        """A request's context, unless it quotes the content, or shares a long word with it: then it may."""
        if context is None:
            return None
        shared = any(word in context for word in self._pieces(self.content.split()))
        return self.stub if shared or self._quotes(context) else context

    def is_quoted(self, text: str) -> bool:
        """Whether a text holds a line of the content."""
        return any(line in text for line in self._pieces(self.content.splitlines()))

    def tells(self, text: str) -> bool:
        """Whether a text is a piece of the content, or holds a line of it."""
        return text in self.content or self.is_quoted(text)

    def _quotes(self, text: str) -> bool:
        """Whether a text, if it is long enough to be recognised, tells of the content."""
        return bool(self._pieces([text])) and self.tells(text.strip())

    def _pieces(self, pieces: list[str]) -> list[str]:
        """Those that are long enough to be recognised."""
        return [piece for piece in pieces if len(piece.strip()) >= _RECOGNISED]


def blank(log: Log, decision: Decision, erasure: Erasure) -> Decision:
    """The decision without anything that was made from the erased entry."""
    edit = decision.edit
    match edit:
        case Fold(covers=covers) if erasure.entry.id in log.leaves(covers):
            edit = Fold(covers, erasure.stub)
        case Fold():
            edit = msgspec.structs.replace(edit, shows=_repinned(edit.shows, erasure))
        case Repair():
            edit = _repaired(log, edit, erasure)
        case Elide(entry=entry) if entry == erasure.entry.id:
            edit = msgspec.structs.replace(edit, text=erasure.stub)
        case Elide() if _answers(log, edit.entry, erasure):
            edit = msgspec.structs.replace(edit, text=erasure.placeholder(edit))
        case Elide(text=text):
            edit = msgspec.structs.replace(edit, text=erasure.repinned(text))
        case Note() if decision.id in erasure.notes:
            edit = msgspec.structs.replace(edit, text=erasure.stub)
        case Note(text=text):
            edit = msgspec.structs.replace(edit, text=erasure.unnoted(text))
        case Pin(text=str(pinned)):
            edit = Pin(text=erasure.unpinned(pinned))
    return msgspec.structs.replace(decision, edit=edit)


def _repinned(shows: str | tuple[Message, ...], erasure: Erasure) -> str | tuple[Message, ...]:
    if isinstance(shows, str):
        return erasure.repinned(shows)
    plain = ((message, message == user(message.text)) for message in shows)
    return tuple(user(erasure.repinned(one.text)) if is_plain else one for one, is_plain in plain)


def _tells_of(log: Log, edit: Elide, erasure: Erasure) -> bool:
    """Whether a placeholder stands for the erased entry, or for what one of its calls gave."""
    return edit.entry == erasure.entry.id or _answers(log, edit.entry, erasure)


def _answers(log: Log, id: str, erasure: Erasure) -> bool:
    if not erasure.calls:
        return False
    return any(result.call in erasure.calls for result in log.tree[id].message.results)


def _repaired(log: Log, repair: Repair, erasure: Erasure) -> Repair:
    """A repair without what it shows of the erased entry, or tells of its calls where it shows what they gave."""
    leaves, others = log.leaves(repair.covers), list(_others(log, repair, erasure))
    if erasure.entry.id in leaves:
        return Repair(repair.covers, tuple(_of_others(message, erasure, others) for message in repair.shows))
    told = [edit for edit in _placeholders(log, leaves) if _tells_of(log, edit, erasure)]
    kept = (_untaken(message, erasure, others) for message in repair.shows)
    return Repair(repair.covers, tuple(_untold(message, erasure, told) for message in kept))


def _placeholders(log: Log, entries: Container[str]) -> list[Elide]:
    edits = (decision.edit for decision in log.decisions.values())
    return [edit for edit in edits if isinstance(edit, Elide) and edit.entry in entries]


def _others(log: Log, repair: Repair, erasure: Erasure) -> Iterator[Message]:
    """What a repair may show that was not made from the erased entry."""
    todo, leaves = list(repair.covers), log.leaves(repair.covers) - {erasure.entry.id}
    while todo:
        decision = log.decisions.get(id := todo.pop())
        if decision is None:
            continue
        todo.extend(covered(decision.edit))
        if isinstance(decision.edit, Fold) and erasure.entry.id not in log.leaves((id,)):
            yield from decision.edit.messages
    for id in leaves:
        yield from log.bodies(id)
    told = (edit for edit in _placeholders(log, leaves) if not _tells_of(log, edit, erasure))
    yield from (user(edit.text) for edit in told)


def _of_others(message: Message, erasure: Erasure, others: Sequence[Message]) -> Message:
    """A message with a stub in the place of every part that nobody else said: a repair may have changed its words."""
    if message in others:
        return message
    said = [part for other in others for part in other.parts]
    return _replaced(message, erasure, [not _is_said(part, erasure, said) for part in message.parts])


def _is_said(part: Part, erasure: Erasure, said: Sequence[Part]) -> bool:
    """Whether a part is one that was said, perhaps with words added or taken away, and not by the erased entry."""
    text = words(part)
    if part in said or text in MADE_UP:
        return True
    if not text or erasure.tells(text):
        return False
    told = (words(other) for other in said)
    return any(text in other or (len(other) >= _RECOGNISED and other in text) for other in told)


def _untaken(message: Message, erasure: Erasure, others: Sequence[Message]) -> Message:
    """A message without what it took from the erased entry, which its repair does not cover: once, repairs did that."""
    said = [words(part) for other in others for part in other.parts]
    taken = [_is_taken(words(part), erasure, said) for part in message.parts]
    return _replaced(message, erasure, taken) if any(taken) else message


def _is_taken(text: str, erasure: Erasure, said: Sequence[str]) -> bool:
    """Whether a text tells of the erased entry, and neither is what others said nor holds it."""
    if not text or text in MADE_UP or not erasure.tells(text):
        return False
    return not any(text in other or (other and other in text) for other in said)


def _untold(message: Message, erasure: Erasure, told: Sequence[Elide]) -> Message:
    """A message without these placeholders; the pictures beside them are nothing that was erased."""
    parts = tuple(_without(part, erasure, told) for part in message.parts)
    return message if parts == message.parts else Message(message.role, parts)


def _without(part: Part, erasure: Erasure, told: Sequence[Elide]) -> Part:
    found = next((edit for edit in told if edit.text in words(part)), None)
    return part if found is None else replaced(part, erasure.placeholder(found), beside=True)


def _replaced(message: Message, erasure: Erasure, which: Sequence[bool]) -> Message:
    """The message with a stub in the place of some parts; its wire form, which has them too, is gone then."""
    if not any(which) and message.parts:
        return message
    parts = zip(message.parts, which, strict=True)
    return Message(
        message.role, tuple(replaced(part, erasure.stub) if gone else part for part, gone in parts)
    )
