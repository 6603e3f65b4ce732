"""The tree of a tenant: it knows again what clients re-send, and what was erased here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from fanfold.core.ids import digest, entry_id
from fanfold.core.message import Message
from fanfold.core.tree import Entry, Tree
from fanfold.stores.echo import entry_echo, former_echo, is_former
from fanfold.stores.prefix import START, Prefix, goes_on, resume


class TenantTree(Tree):
    """The entries of a tenant, with the hashes by which a history that comes again is known.

    An echo tells a message that was erased; a prefix tells the session that a history belongs to.
    """

    def __init__(self, fetch: Callable[[Sequence[str]], Iterable[Entry]] | None = None) -> None:
        super().__init__(fetch)
        self._stubs: dict[str | None, dict[str, set[str]]] = {}
        """The entries of which bodies were destroyed, by their parents and by the echoes of those."""
        self._open: dict[str, Prefix] = {}
        """The conversation that was last gone on with, before and after its last message: its words may go on.

        Before it, too, because somebody else may have written first, and then the message comes after what they wrote.
        """

    def put(self, entry: Entry) -> None:
        """Take in an entry that is kept elsewhere."""
        super().put(entry)
        if entry.erased is not None:
            self._open = {}
        for echo in entry.destroyed:
            self._stubs.setdefault(entry.parent, {}).setdefault(echo, set()).add(entry.id)

    def hash(self, parent: str | None, message: Message, id: str) -> tuple[str, str]:
        """The echo and the prefix of a new entry."""
        before, goes_on = self._before(parent, message)
        prefix = before.follow(message)
        self._open = {id: prefix, parent: before} if goes_on and parent is not None else {id: prefix}
        return self.echo(parent, message), prefix.hash

    def prefix(self, id: str | None) -> str:
        """The hash by which the conversation up to an entry is found; made now where an earlier release kept none."""
        if id is None:
            return START
        known = self[id].prefix
        if known:
            return known
        for entry in reversed(list(self._above(id, lambda entry: not entry.prefix))):
            made = self._prefix(entry.parent, entry.message).hash
            self.entries[entry.id] = msgspec.structs.replace(entry, prefix=made)
        return self[id].prefix

    def _prefix(self, parent: str | None, message: Message) -> Prefix:
        """The conversation up to a message after this parent."""
        return self._before(parent, message)[0].follow(message)

    def _before(self, parent: str | None, message: Message) -> tuple[Prefix, bool]:
        """The conversation up to a parent, and whether its words can go on. Those are hashed together over messages."""
        if parent is None:
            return Prefix(), False
        if parent in self._open:
            return self._open[parent], True
        after, pieces = message, list[Entry]()
        for entry in self._above(parent, lambda entry: entry.erased is None):
            if entry.id in self._open or not goes_on(entry.message, after):
                break
            pieces.append(entry)
            after = entry.message
        first = pieces[-1].parent if pieces else parent
        prefix = self._up_to(first)
        for entry in reversed(pieces):
            prefix = prefix.follow(entry.message)
        return prefix, bool(pieces)

    def _up_to(self, id: str | None) -> Prefix:
        """The conversation up to an entry; its words go on only where it was last gone on with."""
        if id is None:
            return Prefix()
        return self._open.get(id) or resume(self.prefix(id), self[id].message)

    def renew(self, entry: Entry) -> Entry:
        """An entry with the present echo, and a prefix. Of what was erased only the former echo is left."""
        echo = entry.echo if entry.erased is not None else self.echo(entry.parent, entry.message)
        prefix = self._prefix(entry.parent, entry.message).hash
        self.put(msgspec.structs.replace(entry, echo=echo, prefix=prefix))
        return self.entries[entry.id]

    def _above(self, id: str | None, test: Callable[[Entry], bool]) -> Iterator[Entry]:
        """An entry and those before it, as long as a test holds."""
        while id is not None and test(self[id]):
            yield self[id]
            id = self[id].parent

    def is_destroyed(self, id: str, message: Message) -> bool:
        """Whether a message is a body of an entry that was erased, as far as clients repeat it."""
        entry = self[id]
        if entry.erased is not None and entry_id(entry.parent, message) == id:
            return True
        return bool(entry.destroyed) and any(
            echo in entry.destroyed for echo in self._echoes(entry.parent, message)
        )

    def echo(self, parent: str | None, message: Message) -> str:
        """The echo that a message has after this parent."""
        return entry_echo(self[parent].echo if parent is not None else None, message)

    def stub(self, parent: str | None, message: Message) -> Entry | None:
        """The erased entry that had this body after this parent, if it is at hand.

        What its id does not prove must have been erased here, and be a message of the same role about the same calls.
        """
        stubs = self._stubs.get(parent)
        if not stubs:
            return None
        exact = self.entries.get(entry_id(parent, message))
        if exact is not None and exact.erased is not None and exact.parent == parent:
            return exact
        for echo in self._echoes(parent, message):
            for id in stubs.get(echo, ()):
                if echo in self[id].destroyed and _may_stand_for(self[id], message):
                    return self[id]
        return None

    def _echoes(self, parent: str | None, message: Message) -> Iterator[str]:
        """The echoes by which a message after this parent may be known: the present one, and that of 0.1."""
        yield self.echo(parent, message)
        if any(map(is_former, self._stubs.get(parent, ()))):
            yield former_echo(self._former(parent), message)

    def _former(self, id: str | None) -> str | None:
        """The echo that an entry had in 0.1: made again from the last one that is left of that time."""
        above = list(self._above(id, lambda entry: not is_former(entry.echo)))
        first = above[-1].parent if above else id
        echo = self[first].echo if first is not None else None
        for entry in reversed(above):
            echo = former_echo(echo, entry.message)
        return echo

    def erase(self, id: str, reason: str, echoes: Iterable[str] = ()) -> Entry:
        """Replace the content of an entry by a stub; its id and place stay, and by what echoes it is known."""
        entry = self[id]
        if entry.imported:  # only its id is proof, once somebody says the words; an export made up the rest
            entry = msgspec.structs.replace(entry, echo=digest(id.encode()), echoes=(), imported=False)
        elif entry.erased is None:  # an export may have put an echo behind one that it made up
            entry = msgspec.structs.replace(entry, echo=self.echo(entry.parent, entry.message))
        self.put(entry.to_stub(reason, echoes))
        return self.entries[id]


def _may_stand_for(entry: Entry, message: Message) -> bool:
    """Whether an entry that is known by an echo can be shown where a client sent this message."""

    def about(one: Message) -> tuple[object, ...]:
        return one.role, [call.id for call in one.calls], [result.call for result in one.results]

    return not entry.imported and about(entry.message) == about(message)
