"""The log: what one session recorded beside the tree of entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fanfold.core import record as kinds
from fanfold.core.edit import Decision, Elide, Pin, Repair, Undo, covers_of, number_in, with_elided
from fanfold.core.errors import NotFound
from fanfold.core.message import Message
from fanfold.core.record import VISIBLE, Frame, Kept, Record, Totals
from fanfold.core.tree import Tree

_NO_FRAME = Frame()
"""One and the same, so that what is made from it is made once."""


class Log:
    """What one session recorded, with the look-ups that the view needs."""

    def __init__(self, tree: Tree | None = None, records: Iterable[Record] = ()) -> None:
        self.tree = tree if tree is not None else Tree()
        self.rewrite(records)

    def rewrite(self, records: Iterable[Record]) -> None:
        """Start over from these records: when a log is read back, and when something was erased."""
        records, self.records = list(records), list[Record]()
        self.ahead = frozenset[str]()  # what a log that was resumed had said before right behind its head
        self.version = self.resumed_at = 0
        """The version this log begins at; above 0 it was resumed, and what happened before is not in it."""
        self.edits = self.requests = 0
        """How many edits and requests were made so far, also before this log begins."""
        self.head: str | None = None
        self.frames: list[tuple[int, Frame]] = []
        self.decisions: dict[str, Decision] = {}
        self.born: dict[str, int] = {}
        self.places: dict[str, list[tuple[int, str | None]]] = {}
        self.here: dict[str | None, list[str]] = {}
        """Which decisions have which entry as their place."""
        self.instead: dict[str, list[str]] = {}
        """The decisions by which the caller's filters say what models get of a part, by its address."""
        self.lasting: list[str] = []
        """Pins and undos: they hold on every path that has their target."""
        self.replaced: dict[str, list[tuple[int, Message]]] = {}
        self.times: dict[str, float] = {}
        self.behind: list[str] = []
        """Where the session stood before each rewind that was not gone forward again."""
        self.sent: list[kinds.Sent] = []
        self.tips: dict[str | None, None] = {}
        """Where requests ended, newest last; a log that was resumed has of those before it what its checkpoint had."""
        self.bills: dict[int, kinds.Billed] = {}
        self.totals: Totals | None = Totals()  # None where a checkpoint of 0.1 does not tell
        self.taught: kinds.Taught | None = None
        self.opened: kinds.Opened | None = None
        self.answers: dict[str, kinds.Answered] = {}
        self.looked: dict[str, str] = {}
        """The last request at which each thing that is kept up to date was looked at."""
        self.spent: list[kinds.Spent] = []
        self.released: set[str] = set()
        self.spawned: dict[str, str] = {}
        self.replies: dict[str, str | None] = {}
        self.erasures: dict[str, str] = {}
        self.kept: dict[str, Kept] = {}
        """What can be found again, by its reference."""
        self.kept_at: dict[str, int] = {}
        """The version at which each reference was given out, where this log knows it."""
        self.addresses: dict[str, str] = {}
        """The references by the addresses they stand for."""
        self.refs: dict[str, int] = {}
        """The highest number given out for each kind of reference."""
        self._behind: dict[str, tuple[str, ...]] = {}  # forgotten when something that is said there changes
        self.branches: list[str] = []
        """The last entries of branches that were kept because somebody else wrote first."""
        self.write(*records)

    def write(self, *records: Record) -> None:
        """Append records; the look-ups follow."""
        for record in records:
            self.records.append(record)
            self.version += type(record) in VISIBLE
            self._index(record)

    def unsay(self, count: int) -> bool:
        """Forget the last records, if they only said something new; False if that is not so."""
        last = self.records[len(self.records) - count :]
        moves = [record for record in last if isinstance(record, kinds.Move) and record.how == "append"]
        if len(moves) != len(last):
            return False
        for move in reversed(moves):
            self.records.pop()
            self.version -= 1
            self.head = move.was
            if move.head not in self.tree:
                self.times.pop(str(move.head), None)
        return True

    def _index(self, record: Record) -> None:
        match record:
            case kinds.Move():
                self._move(record)
            case kinds.Kept(ref=ref):
                self.kept[ref] = record
                self.kept_at.setdefault(ref, self.version)
                if record.gone is None:
                    self.addresses[record.address] = ref
                self.refs[ref[:1]] = max(self.refs.get(ref[:1], 0), number_in(ref[1:]) or 0)
            case kinds.Edited(decisions=decisions):
                self._sum(record)
                for decision in decisions:
                    self._decide(decision)
            case kinds.Sent(tip=tip):
                self.sent.append(record)
                self.requests += 1
                self._sum(record)
                self.tips.pop(tip, None)
                self.tips[tip] = None
            case kinds.Billed(sent=number):
                if number not in self.bills:
                    self._sum(record)
                self.bills[number] = record
            case kinds.Taught():
                self.taught = record
            case kinds.Framed(frame=frame):
                self.frames.append((self.version, frame))
            case kinds.Replaced(entry=entry, message=message):
                # The new body is another content: what was kept of the old one keeps its reference, this has none yet.
                self._behind = {}
                self.replaced.setdefault(entry, []).append((self.version, message))
                for number in range(len(message.parts)):
                    self.addresses.pop(f"{entry}#{number}", None)
            case kinds.Inherited(edits=edits, at=at):
                for edit in edits:
                    if edit in self.decisions or self.resumed_at:  # an export may name what was never made
                        self._place(edit, at)
            case _:
                self._index_beside(record)

    def _index_beside(self, record: Record) -> None:
        match record:
            case kinds.Erased(entry=entry, reason=reason):
                self._behind = {}
                self.erasures[entry] = reason
            case kinds.Answered(key=key):
                self.answers[key] = record
            case kinds.Released(edit=edit):
                self.released.add(edit)
            case kinds.Spawned(call=call, session=session):
                self.spawned[call] = session
            case kinds.Replied(reply=reply, head=head):
                self.replies[reply] = head
            case kinds.Branched(head=branch):
                self.branches.append(branch)
            case kinds.Spent():
                self.spent.append(record)
                self._sum(record)
            case kinds.Opened():
                self.opened = record
            case kinds.Looked(about=about, request=request):
                self.looked[about] = request

    def _sum(self, record: Record) -> None:
        self.totals = self.totals + record if self.totals is not None else None

    def _move(self, move: kinds.Move) -> None:
        self.head = move.head
        if move.how == "append" and move.head is not None:
            self.times.setdefault(move.head, move.time)
        elif move.how in ("rewind", "reset") and move.was is not None:
            self.behind.append(move.was)
        elif move.how == "forward" and move.head in self.behind:
            del self.behind[len(self.behind) - 1 - self.behind[::-1].index(move.head)]

    def _decide(self, decision: Decision) -> None:
        self.edits += 1
        self.decisions[decision.id] = decision
        self.born[decision.id] = self.version
        if isinstance(decision.edit, Pin | Undo):
            self._behind = {}
            self.lasting.append(decision.id)
            self.released.discard(self.meant(decision.id))
        else:
            self._place(decision.id, decision.at)
        if isinstance(decision.edit, Elide) and decision.edit.instead:
            self._behind = {}
            self.instead.setdefault(decision.edit.address, []).append(decision.id)

    def next_ref(self, kind: str, after: int = 0) -> str:
        """The next reference of a kind: `o` for a tool's output, `m` for what an edit hides."""
        return f"{kind}{self.refs.get(kind, 0) + after + 1}"

    def _place(self, edit: str, at: str | None) -> None:
        self.places.setdefault(edit, []).append((self.version, at))
        self.here.setdefault(at, []).append(edit)

    def next_edit(self, after: int = 0) -> str:
        """The id of the next edit, or of one that comes so many after it."""
        return f"e{self.edits + after + 1}"

    def decision(self, id: str) -> Decision:
        """The decision with this id."""
        if not isinstance(id, str) or id not in self.decisions:
            raise NotFound(f"There is no edit {id!r} in this session; `view()` shows which ones stand.")
        return self.decisions[id]

    def meant(self, id: str) -> str:
        """The edit that one is about in the end: what an undo takes away or brings back, else itself."""
        decision, passed = self.decisions.get(id), {id}
        while decision is not None and isinstance(decision.edit, Undo) and decision.edit.edit not in passed:
            passed.add(id := decision.edit.edit)
            decision = self.decisions.get(id)
        return id

    def frame(self, version: int | None = None) -> Frame:
        """The frame in force at a version."""
        for born, frame in reversed(self.frames):
            if version is None or born <= version:
                return frame
        return _NO_FRAME

    def message(self, entry: str, version: int | None = None) -> Message:
        """The body of an entry, or the one that a client sent in its place."""
        if entry in self.replaced and entry not in self.tree.erased:
            for born, message in reversed(self.replaced[entry]):
                if version is None or born <= version:
                    return message
        return self.tree[entry].message

    def bodies(self, entry: str) -> list[Message]:
        """Every body that an entry had: the first, and those that the client sent in its place."""
        return [self.tree[entry].message, *(message for _, message in self.replaced.get(entry, ()))]

    def said(self, entry: str) -> Message | None:
        """The body of an entry as models may read it, unless it was erased.

        In a log that was resumed, only a person's words are sure: no filter changes those.
        """
        return None if self.tree[entry].erased is not None else self.told(entry)

    def told(self, entry: str, version: int | None = None) -> Message:
        """The body of an entry as models may read it: with what the caller's filters left of its outputs.

        It needs the whole log (`State.read_whole`): one that was resumed does not know what filters did before it.
        """
        message = self.message(entry, version)
        if not self.instead:
            return message
        found = (self._instead(entry, number, version) for number in range(len(message.parts)))
        edits = [edit for edit in found if edit is not None]
        return with_elided(message, *edits) if edits else message

    def instead_of(self, entry: str) -> list[str]:
        """The decisions of the caller's filters about any part of any body of an entry."""
        found = (ids for address, ids in self.instead.items() if address.rpartition("#")[0] == entry)
        return [id for ids in found for id in ids]

    def _instead(self, entry: str, number: int, version: int | None) -> Elide | None:
        """What the caller's filters left of a part of this body, unless a person took that back."""
        body, found = self.replaced_at(entry, version), None
        for id in self.instead.get(f"{entry}#{number}", ()):
            if self.replaced_at(entry, self.born[id]) == body and id not in self.undone():
                found = self.decisions[id].edit
        return found if isinstance(found, Elide) else None

    def replaced_at(self, entry: str, version: int | None = None) -> int:
        """The version that last changed the body of this entry, 0 if none did."""
        return max(
            (born for born, _ in self.replaced.get(entry, ()) if version is None or born <= version),
            default=0,
        )

    def undone(self, version: int | None = None) -> dict[str, str]:
        """Which edits do not count, and by which undo: decided newest first, so an undone undo is void."""
        dead: dict[str, str] = {}
        for id in reversed(self.lasting):
            edit = self.decisions[id].edit
            if isinstance(edit, Undo) and id not in dead and (version is None or self.born[id] <= version):
                dead.setdefault(edit.edit, id)
        return dead

    def pins(self, version: int | None = None) -> Iterator[tuple[str, Pin]]:
        """The pins that stand, with their ids."""
        dead = self.undone(version) if self.lasting else {}
        for id in self.lasting:
            edit = self.decisions[id].edit
            if isinstance(edit, Pin) and id not in dead and (version is None or self.born[id] <= version):
                yield id, edit

    def pinned_since(self, made: int, version: int | None = None) -> Iterator[tuple[Decision, Pin]]:
        """The pins that stand, with each decision about them after a version: when they were made, or brought back."""
        if self.lasting and self.born.get(self.lasting[-1], 0) > made:
            pins = dict(self.pins(version))
            for id in self.lasting:
                if (pin := pins.get(self.meant(id))) and made < self.born.get(id, 0) <= (
                    version or self.version
                ):
                    yield self.decisions[id], pin

    def kept_as(self, address: str) -> Kept | None:
        """The record of the output at an address."""
        return self.kept.get(self.addresses.get(address, ""))

    def entries_behind(self, row: str) -> tuple[str, ...]:
        """The entries behind a row, in order, without those that a person chose to hide.

        A log that was resumed knows neither older edits nor what filters left of outputs: there it tells none.
        """
        decision = self.decisions.get(row)
        if decision is None:
            return (row,) if row in self.tree else ()
        if self.resumed_at or (decision.by == "person" and decision.reduces):
            return ()
        if row not in self._behind:
            covers = covers_of(decision.edit)
            self._behind[row] = tuple([entry for id in covers for entry in self.entries_behind(id)])
        return self._behind[row]

    def leaves(self, ids: Iterable[str]) -> set[str]:
        """The entries behind some row ids, folds opened."""
        rows = set(ids)
        return {id for id in rows.union(*map(self.under, rows)) if id not in self.decisions}

    def under(self, id: str) -> set[str]:
        """The rows that an edit covers, and the rows under those, down to the entries."""
        found: set[str] = set()
        todo = [id]
        while todo:
            decision = self.decisions.get(todo.pop())
            if decision is not None:
                below = covers_of(decision.edit)
                todo.extend(set(below) - found)
                found.update(below)
        return found

    def rows_repaired_by(self, id: str) -> Iterator[str]:
        """The row with this id, and where it is a repair, the rows that it shows as the grammar needs them."""
        yield id
        decision = self.decisions.get(id)
        if decision is not None and isinstance(decision.edit, Repair):
            for row in decision.edit.covers:
                yield from self.rows_repaired_by(row)

    def exempt(self, version: int | None = None) -> frozenset[str]:
        """The rows a person brought back: automatic edits leave them alone until `release` or `redo`."""
        rows: set[str] = set()
        for id in self.undone(version) if self.lasting else ():
            if id not in self.released and id in self.decisions:
                rows.update(covers_of(self.decisions[id].edit))
        return frozenset(rows)
