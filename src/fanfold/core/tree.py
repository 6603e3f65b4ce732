"""The tree: messages in their places. The same message after the same ones is the same entry."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

import msgspec

from fanfold.core.errors import Corrupt, NotFound
from fanfold.core.ids import entry_id
from fanfold.core.message import Message, replace_part, text_of
from fanfold.text.lines import one_line


class Entry(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A message in its place."""

    id: str
    echo: str
    """What clients repeat of it and of all before it, as a hash (`stores/echo.py`)."""
    parent: str | None
    depth: int
    message: Message
    erased: str | None = None
    """Why the content was destroyed, if it was."""
    echoes: tuple[str, ...] = ()
    """The echoes of bodies that clients had sent in its place, and that were destroyed with it."""
    prefix: str = ""
    """By what the conversation up to here is found (`stores/prefix.py`); earlier releases kept none."""
    imported: bool = False
    """Whether it came as a stub in an export: nothing here proves what it was, so it hides nothing that is said."""

    def __repr__(self) -> str:
        return f"<Entry {self.id[:8]} {self.message.role}: {one_line(text_of(self.message), 48)!r}>"

    @property
    def destroyed(self) -> tuple[str, ...]:
        """The echoes of all bodies that it had and that were destroyed."""
        return self.echoes if self.erased is None else (self.echo, *self.echoes)

    def to_stub(self, reason: str, echoes: Iterable[str] = ()) -> Entry:
        """What is left when the content is destroyed: id, place and role; every part says why, and nothing else."""
        parts = tuple(replace_part(part, f"[erased: {reason}]") for part in self.message.parts)
        known = tuple(sorted({*self.echoes, *echoes}))
        stub = Message(self.message.role, parts)
        return msgspec.structs.replace(self, message=stub, erased=reason, echoes=known)


def missing(id: str) -> Corrupt:
    """What to say of an entry that is named where it must be, but is not there."""
    return Corrupt(
        f"The message {id[:12]} is missing. `fanfold doctor` looks for it; else bring back a copy."
    )


class Tree:
    """The entries of one tenant; the same prefix is the same rows.

    Entries that are not at hand are fetched from whoever keeps them, as many as are asked for at once.
    """

    def __init__(self, fetch: Callable[[Sequence[str]], Iterable[Entry]] | None = None) -> None:
        self.entries: dict[str, Entry] = {}
        self.erased: dict[str, str] = {}
        self._fetch = fetch

    def __getitem__(self, id: str) -> Entry:
        try:
            return self.entries[id]
        except KeyError:
            self.fetch((id,))
        if id not in self.entries:
            raise NotFound(f"There is no entry {id[:12]!r} here.")
        return self.entries[id]

    def __contains__(self, id: object) -> bool:
        return id in self.entries

    def put(self, entry: Entry) -> None:
        """Take in an entry that is kept elsewhere."""
        self.entries[entry.id] = entry
        if entry.erased is not None:
            self.erased[entry.id] = entry.erased
        else:
            self.erased.pop(entry.id, None)

    def add(self, parent: str | None, message: Message) -> Entry:
        """Put a message after its parent; the same message in the same place is the same entry."""
        entry = self.place(parent, message)
        self.entries[entry.id] = entry
        return entry

    def fetch(self, ids: Iterable[str]) -> None:
        """Have these entries at hand, as far as they exist: a store across a network is asked once for all of them."""
        absent = [id for id in ids if id not in self.entries]
        for entry in self._fetch(absent) if self._fetch and absent else ():
            self.put(entry)

    def keep_only(self, ids: Container[str]) -> None:
        """Let go of all other entries; they are fetched again when they are needed. What was erased stays known."""
        self.entries = {id: one for id, one in self.entries.copy().items() if id in ids or id in self.erased}

    def place(self, parent: str | None, message: Message) -> Entry:
        """A message after its parent, as the entry that is here already, or as one that is not put here yet."""
        id = entry_id(parent, message)
        known = self.entries.get(id)
        return known if known is not None else self.make(parent, message, id)

    def make(self, parent: str | None, message: Message, id: str | None = None) -> Entry:
        """A message after its parent, as an entry of which nothing is taken from anywhere else."""
        depth = self[parent].depth + 1 if parent is not None else 0
        id = id or entry_id(parent, message)
        echo, prefix = self.hash(parent, message, id)
        return Entry(id=id, echo=echo, parent=parent, depth=depth, message=message, prefix=prefix)

    def hash(self, parent: str | None, message: Message, id: str) -> tuple[str, str]:
        """The echo and the prefix of a new entry. Only the tree of a tenant needs them (`stores/tenant_tree.py`)."""
        return "", ""

    def path(self, tip: str | None) -> list[str]:
        """The ids from the first entry to the tip."""
        ids: list[str] = []
        while tip is not None:
            try:
                parent = self[tip].parent
            except NotFound:
                if not ids:
                    raise
                raise missing(tip) from None  # another entry stands after it, so something was lost
            ids.append(tip)
            tip = parent
        ids.reverse()
        return ids
