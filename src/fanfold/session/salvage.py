"""Salvage: an export of what can still be read of a damaged session.

Ids are hashes, so messages after a damaged one cannot keep theirs. What can be read becomes a session of its own, with
a line in the place of each message that is lost, and that session is exported.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

import msgspec

from fanfold.core.errors import Corrupt, NotFound
from fanfold.core.message import Message, user
from fanfold.core.record import Frame, Framed, Kept, Move, Opened, Record
from fanfold.dialects.dialect import encode
from fanfold.session.open import open
from fanfold.stores.coding import DamagedMessage
from fanfold.stores.export import export_session
from fanfold.stores.memory import Memory
from fanfold.stores.opening import open_store
from fanfold.stores.store import Store

_BEYOND = 1 << 31
"""More records than any session has."""
_IN_MEMORY = 1 << 24
"""A larger export waits in a file."""


class Salvaged(msgspec.Struct, frozen=True):
    """What was written of a session, and what could not be."""

    lines: int
    messages: int = 0
    """So many could be read; counted where something is lost."""
    lost: tuple[str, ...] = ()
    """What could not be read, each in a sentence."""


def export_readable(store: Store | str, name: str, file: BinaryIO, *, tenant: str = "default") -> Salvaged:
    """Write a session to a file: all of it, or where it is damaged, the messages that can be read."""
    place = open_store(store)
    with SpooledTemporaryFile(_IN_MEMORY) as whole:
        try:
            lines = export_session(place, name, cast(BinaryIO, whole), tenant=tenant)
        except Corrupt as error:
            return _Salvage(place, tenant, name).write(file, str(error))
        whole.seek(0)
        shutil.copyfileobj(whole, file)
        return Salvaged(lines)


class _Salvage:
    """What is found of a damaged session."""

    def __init__(self, store: Store, tenant: str, name: str) -> None:
        self.store, self.tenant, self.name = store, tenant, name
        self.lost: list[str] = []

    def write(self, file: BinaryIO, why: str) -> Salvaged:
        """A new session of the messages that can be read, as an export."""
        opened, frame, head, blobs = self._look()
        before = len(self.lost)
        messages = list(self._path(head))[::-1]
        self.lost[before:] = self.lost[before:][::-1]  # the oldest first, as doctor says it
        if blobs:
            self.lost.append("What is kept beside the messages of very large outputs is left out.")
        kept = Memory()
        with open(
            self.name,
            store=kept,
            model=opened.model,
            dialect=opened.dialect,
            window=opened.window or 1 << 40,
            filters=(),
            recall=False,
            meter="characters/4",
        ) as chat:
            told = [message or user(_gap(id)) for id, message in messages]
            chat.merge(encode(chat._state.dialect, frame, told, {}))
        lost = tuple(dict.fromkeys((*self.lost, why)))
        found = sum(message is not None for _, message in messages)
        return Salvaged(export_session(kept, self.name, file), found, lost)

    def _look(self) -> tuple[Opened, Frame, str | None, bool]:
        """What the session was opened with, its newest frame and head, and whether it has blobs."""
        opened, frame, head, blobs, seen = Opened(), Frame(), None, False, False
        end = self.store.load(self.tenant, self.name, after=_BEYOND, most=1).seq
        for record in self._records(0, end):
            seen = True
            match record:
                case Opened():
                    opened = record
                case Framed():
                    frame = record.frame
                case Move():
                    head = record.head
                case Kept(blob=str()):
                    blobs = True
        if not seen:
            raise NotFound(f"Nothing of a session {self.name!r} can be read here.")
        return opened, frame, head, blobs

    def _records(self, after: int, end: int) -> Iterator[Record]:
        """The records between two numbers that can be read."""
        if after >= end:
            return
        try:
            yield from self.store.load(self.tenant, self.name, after=after, most=end - after).records
        except Corrupt as error:
            middle = (after + end) // 2
            if middle == after:
                self.lost.append(str(error))
                return
            yield from self._records(after, middle)
            yield from self._records(middle, end)

    def _path(self, tip: str | None) -> Iterator[tuple[str, Message | None]]:
        """The messages up to the newest one, that first; None in the place of each that is damaged."""
        id = tip
        while id is not None:
            try:
                entry = self.store.entry(self.tenant, id)
            except DamagedMessage as error:
                self.lost.append(str(error))
                yield id, None
                id = error.parent
                continue
            if entry is None:
                self.lost.append(f"The message {id[:12]} is missing, and with it all that came before.")
                yield id, None
                return
            yield id, entry.message
            id = entry.parent


def _gap(id: str) -> str:
    return f"[The message {id[:12]} that stood here is damaged, and could not be read.]"
