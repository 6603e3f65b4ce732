"""A check for those who write a store: an AssertionError says what is wrong."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from fanfold.core.errors import Gone, Moved, NotFound, StoreFailed
from fanfold.core.message import user
from fanfold.core.record import Answered, Erased, Frame, Kept, Move, Record
from fanfold.core.tree import Entry
from fanfold.session.open import open
from fanfold.stores.checkpoint import Checkpoint
from fanfold.stores.store import Batch, Store
from fanfold.stores.tenant_tree import TenantTree
from fanfold.testing.checking import Broken, gives_nothing, must_raise, sure
from fanfold.testing.talks import talk

T = TypeVar("T")
R = TypeVar("R")
_WRITERS = 4
_ROUNDS = 100
_SLOW = 3
"""In so many rounds threads take turns at every call: who looks, then leaps, is found without luck."""
_EACH = 25
_NAMES = ("", "'; --", 'a"b', "a\x00b", "../..", "漢字", "\ud800", "x" * 3_000)


def check_store(store: Store) -> None:
    """See that a store keeps its promises. It is written to: give a fresh one."""
    for check in _CHECKS:
        check(store)


def _say(store: Store, tenant: str, session: str, *texts: str) -> list[Entry]:
    """Write messages one after the other, each with its move."""
    tree, entries = TenantTree(), list[Entry]()
    for text in texts:
        entries.append(tree.add(entries[-1].id if entries else None, user(text)))
        store.append(tenant, session, Batch((Move(entries[-1].id),), (entries[-1],)), expect=len(entries) - 1)
    return entries


def _swaps(store: Store) -> None:
    entries = _say(store, "swaps", "s", "a", "b")
    late = TenantTree().add(None, user("late"))
    must_raise(Moved, lambda: store.append("swaps", "s", Batch((Move(late.id),), (late,)), expect=1))
    sure(store.entry("swaps", late.id) is None, "A batch that lost left an entry behind.")
    beside = store.append("swaps", "s", Batch((Answered("k", "t", ()),)), expect=None)
    sure(beside.version == 2, "A record beside the view counts as a version.")
    stored = store.load("swaps", "s")
    sure(
        list(stored.records) == [*(Move(entry.id) for entry in entries), Answered("k", "t", ())],
        "The records of a session are not those that were written, in their order.",
    )
    later = store.load("swaps", "s", after=beside.was).records
    sure(list(later) == [Answered("k", "t", ())], "`load(after=…)` does not give just what came later.")
    sure(not store.load("swaps", "nobody").records, "A session nobody wrote to has records.")


def _pages(store: Store) -> None:
    """Records are read some at a time, also where one was erased between."""
    entries = _say(store, "pages", "s", *map(str, range(7)))
    store.append("pages", "s", Batch((Answered("k", "t", ()),)), expect=None)
    store.append("pages", "s", Batch((Move(entries[0].id, "rewind"),)), expect=7)
    whole = list(store.load("pages", "s").records)
    sure(_by_twos(store) == whole, "Read some at a time, the records are not the same.")
    store.erase(
        "pages",
        _stub(entries[0]),
        lambda _, records: [None if isinstance(r, Answered) else r for r in records],
    )
    whole.remove(Answered("k", "t", ()))
    sure(_by_twos(store) == whole, "Read some at a time, the records are not the same after an erasure.")


def _by_twos(store: Store) -> list[Record]:
    found, after = list[Record](), 0
    while (some := store.load("pages", "s", after=after, most=2)).records:
        sure(len(some.records) <= 2, "`load(most=…)` gives more than that.")
        found, after = [*found, *some.records], some.seq
    return found


def _creates(store: Store) -> None:
    """A session is written from many batches as one, or not at all."""
    entry = TenantTree().add(None, user("first"))
    batches = [Batch((Move(entry.id),), (entry,)), Batch((Answered("k", "t", ()),))]

    def break_off() -> Iterator[Batch]:
        yield from batches
        raise Broken

    must_raise(Broken, lambda: store.create("creates", "s", break_off()))
    sure(not store.load("creates", "s").records, "A session whose source broke off is there by half.")
    made = store.create("creates", "s", iter(batches))
    stored = store.load("creates", "s")
    sure(
        list(stored.records) == [Move(entry.id), Answered("k", "t", ())],
        "A session is not as it was created.",
    )
    sure((made.seq, made.version) == (stored.seq, 1), "A created session does not end where its log does.")
    must_raise(Moved, lambda: store.create("creates", "s", batches))
    sure(len(store.load("creates", "s").records) == 2, "A session was created a second time.")


def _swaps_once(store: Store) -> None:
    """Of several who expect the same version at the same time, one writes."""
    entries = [TenantTree().add(None, user(f"writer {n}")) for n in range(_WRITERS)]

    def wrote(session: str, entry: Entry) -> bool:
        try:
            store.append("at once", session, Batch((Move(entry.id),), (entry,)), expect=0)
        except Moved:
            return False
        return True

    for number in range(_ROUNDS):
        session = str(number)
        won = sum(_at_once(partial(wrote, session), entries, slowly=number < _SLOW))
        sure(won == 1, "Two who expected the same version both wrote, or nobody.")
        sure(len(store.load("at once", session).records) == 1, "What lost was written all the same.")


def _loses_none(store: Store) -> None:
    """Of several who write beside the view at the same time, all do, each in its own order."""
    numbers = range(_EACH)

    def write(writer: int) -> None:
        for n in numbers:
            store.append("beside", "s", Batch((Answered(str(writer), str(n), ()),)), expect=None)

    _at_once(write, range(_WRITERS))
    stored = store.load("beside", "s")
    for writer in map(str, range(_WRITERS)):
        texts = [r.text for r in stored.records if isinstance(r, Answered) and r.key == writer]
        sure(texts == [str(n) for n in numbers], "Of those who wrote at once, somebody's records are lost.")
    sure(stored.seq == _WRITERS * _EACH, "The log of a session does not end after its last record.")


def _at_once(work: Callable[[T], R], each: Sequence[T], *, slowly: bool = False) -> list[R]:
    """Let threads begin at the same time, and take turns as often as they can; slowly, at every call they make."""
    together, patient = threading.Barrier(len(each)), sys.getswitchinterval()

    def begin(one: T) -> R:
        together.wait()
        if slowly:
            sys.setprofile(_your_turn)  # of this thread alone, which ends with its work
        return work(one)

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(each)) as threads:
            return list(threads.map(begin, each))
    finally:
        sys.setswitchinterval(patient)


def _your_turn(*_: object) -> None:
    time.sleep(0)


def _keeps_entries(store: Store) -> None:
    """An entry that is there stays as it is, whoever writes it again."""
    entry = _say(store, "entries", "s", "as it was")[0]
    forged = Entry(
        id=entry.id, echo=entry.echo, parent=entry.parent, depth=entry.depth, message=user("as it never was")
    )
    store.append("entries", "forged", Batch((Move(entry.id),), (forged,)), expect=0)
    sure(store.entry("entries", entry.id) == entry, "An entry that was there was overwritten.")


def _paths(store: Store) -> None:
    entries = _say(store, "paths", "s", *map(str, range(9)))
    sure(list(store.path("paths", entries[-1].id)) == entries[::-1], "A path is not all of it, newest first.")
    part = list(store.path("paths", entries[-1].id, stop=entries[4].id))
    sure(part == entries[:4:-1], "A path does not end before `stop`.")


def _reads_many(store: Store) -> None:
    """Entries come many at once, those that are there."""
    entries = _say(store, "many", "s", *map(str, range(5)))
    ids = [*(entry.id for entry in entries), "nobody's"]
    found = sorted(store.read_entries("many", ids), key=lambda entry: entry.depth)
    sure(found == entries, "Entries that were asked for together are not those that are there.")
    sure(not list(store.read_entries("others", ids)), "A tenant reads another's entries.")


def _finds(store: Store) -> None:
    entry = _say(store, "finds", "s", "find me")[0]
    sure(store.find("finds", entry.id[:9]) == [entry.id], "An entry is not found by the beginning of its id.")
    for nothing in ("nothing", "%", "_" * 9, "*", "\udcff"):
        sure(store.find("finds", nothing) == [], "Something is found that is not there.")
    sure(store.find("others", entry.id[:9]) == [], "A tenant finds another's entry.")
    sure(gives_nothing(lambda: list(store.path("others", entry.id))), "A tenant walks another's path.")


def _lists(store: Store) -> None:
    """Sessions are in the order of their names, and a tenant is one thing."""
    names = ["b", "a", "10", "9", "\u00e9", "B", ""]
    for name in names:
        _say(store, "lists", name, name)
    _say(store, "lists too", "c", "c")
    sure(store.sessions("lists") == sorted(names), "Sessions are not in the order of their names.")
    sure(store.sessions("nobody") == [], "A tenant that nobody wrote to has sessions.")
    sure(store.tenant("lists") is store.tenant("lists"), "A tenant at work is two things.")


def _names(store: Store) -> None:
    for name in _NAMES:
        _say(store, name, name, f"of {name[:9]}")
    for name in _NAMES:
        sure(store.sessions(name) == [name], f"The session {name[:9]!r} is not there under its name.")
        entry = next(store.path(name, store.load(name, name).records[0].head))  # type: ignore[union-attr, arg-type]
        sure(entry.message.text == f"of {name[:9]}", f"The tenant {name[:9]!r} has another's message.")
        others = [other for other in _NAMES if other != name]
        sure(
            all(store.entry(other, entry.id) is None for other in others), "A tenant reaches another's entry."
        )


def _checkpoints(store: Store) -> None:
    """A store may keep none; one that it keeps is the newest, and gone after an erasure."""
    entry = _say(store, "checkpoints", "s", "secret")[0]
    _say(store, "checkpoints", "other", "unrelated")
    for edits in (1, 2):
        store.keep_checkpoint("checkpoints", "s", 1, _checkpoint(entry, edits))
    kept = store.checkpoint("checkpoints", "s")
    sure(kept in (None, (1, _checkpoint(entry, 2))), "A checkpoint is not the one that was kept last.")
    for place in (("checkpoints", "other"), ("others", "s")):
        sure(store.checkpoint(*place) is None, "A session has another's checkpoint.")
    store.erase("checkpoints", _stub(entry), lambda session, records: None)
    sure(store.checkpoint("checkpoints", "s") is None, "A checkpoint outlived an erasure.")


def _checkpoint(entry: Entry, edits: int) -> Checkpoint:
    return Checkpoint(version=1, head=entry.id, edits=edits, requests=0, frame=Frame(), rows=())


def _erases(store: Store) -> None:
    entry = _say(store, "erases", "s", "secret", "after")[0]
    _say(store, "erases", "other", "unrelated")
    store.append("erases", "s", Batch((Answered("k", "secret", ()),)), expect=None)

    def scrub(session: str, records: Sequence[Record]) -> list[Record | None] | None:
        if session != "s":
            return None
        return [*(None if isinstance(r, Answered) else r for r in records), Erased(entry.id, "gone")]

    store.erase("erases", _stub(entry), scrub)
    sure(store.entry("erases", entry.id) == _stub(entry), "An erased entry is not its stub.")
    kinds = [type(record) for record in store.load("erases", "s").records]
    sure(kinds == [Move, Move, Erased], "A session is not scrubbed as told.")
    sure(store.load("erases", "s").version == 3, "An erasure does not count as a version.")
    sure(len(store.load("erases", "other").records) == 1, "A session was scrubbed that was to be left alone.")


class _BrokenOff(Exception):
    """A scrub found that it must not go on."""


def _erases_or_not(store: Store) -> None:
    """A scrub that raises leaves everything as it was."""
    entry = _say(store, "unerased", "a", "secret")[0]
    _say(store, "unerased", "b", "secret")

    def scrub(session: str, records: Sequence[Record]) -> list[Record | None]:
        if session == "b":
            raise _BrokenOff
        return [*records, Erased(entry.id, "gone")]

    must_raise(_BrokenOff, lambda: store.erase("unerased", _stub(entry), scrub))
    kept = (store.entry("unerased", entry.id), list(store.load("unerased", "a").records))
    sure(kept == (entry, [Move(entry.id)]), "An erasure that was broken off erased something all the same.")


def _erases_apart(store: Store) -> None:
    """What another tenant said stays, also where it is the same to the letter."""
    entry, told = _say(store, "erased", "s", "the same")[0], list[str]()
    _say(store, "spared", "theirs", "the same")

    def scrub(session: str, records: Sequence[Record]) -> None:
        told.append(session)

    store.erase("erased", _stub(entry), scrub)
    sure(told == ["s"], "An erasure does not scrub just the sessions of its tenant.")
    sure(store.entry("spared", entry.id) == entry, "An erasure reached another tenant's entry.")


def _meets_stubs(store: Store) -> None:
    entry = _say(store, "stubs", "s", "secret")[0]
    store.erase("stubs", _stub(entry), lambda session, records: None)
    batch = Batch((Move(entry.id),), (entry,))
    must_raise(Gone, lambda: store.append("stubs", "new", batch, expect=0))
    sure(not store.load("stubs", "new").records, "A batch that met a stub was written all the same.")
    store.append("stubs", "new", Batch((Move(entry.id),), (), (entry,)), expect=0)
    sure(store.entry("stubs", entry.id) == entry, "What was said again is not there.")


def _meets_given_stubs(store: Store) -> None:
    """A stub that came with a session is one like any other; what was said before it stays."""
    here = _say(store, "given", "here", "said here")[0]
    gone = TenantTree().add(None, user("said elsewhere"))
    stubs = (_stub(here), _stub(gone))
    store.create("given", "imported", iter([Batch((), stubs), Batch((Move(gone.id), Move(here.id)))]))
    sure(store.entry("given", here.id) == here, "A stub took the place of what was said before.")
    must_raise(Gone, lambda: store.append("given", "here", Batch((Move(gone.id),), (gone,)), expect=1))
    store.append("given", "here", Batch((Move(gone.id),), (), (gone,)), expect=1)
    sure(store.entry("given", gone.id) == gone, "What was said again over a stub is not there.")


def _stub(entry: Entry) -> Entry:
    return entry.to_stub("gone", ("an echo",))


def _opens_again(store: Store) -> None:
    with open("check", window=9_000, store=store, tenant="check-one") as chat:
        chat.merge(talk(2))
        chat.note("state", "tests are red")
        head, messages = chat.head, chat.view().messages
    with open("check", window=9_000, store=store, tenant="check-one") as again:
        sure(again.head == head, "A session opened again stands elsewhere than where it ended.")
        sure(again.view().messages == messages, "A session opened again shows other messages.")
    with open("other", window=9_000, store=store, tenant="check-one") as other:
        other.merge(talk(2))
        sure(other.head == head, "Two sessions of a tenant do not share the same entries.")
        sure(other.view().messages != messages, "A note of one session shows in another.")
    with open("check", window=9_000, store=store, tenant="check-two") as stranger:
        sure(stranger.head is None, "A tenant sees another tenant's session.")
        sure(stranger.stats()["entries"] == 0, "A tenant sees another tenant's entries.")


_LARGE = bytes(range(256)) * 8_000


def _blobs(store: Store) -> None:
    for data in (b"", b"small", _LARGE):
        blob = store.put_blob("blobs", [data[:1000], data[1000:]])
        sure(store.put_blob("blobs", [data]) == blob, "The same content is two blobs.")
        sure(b"".join(store.get_blob("blobs", blob.id)) == data, "A blob does not come back as it was.")
        part = b"".join(store.get_blob("blobs", blob.id, 2, 1_500_000))
        sure(part == data[2:1_500_000], "A range of a blob is not that slice of it.")
        must_raise(StoreFailed, partial(store.get_blob, "blobs", blob.id, -1))
        must_raise(NotFound, partial(store.get_blob, "others", blob.id))
        store.drop_blobs("others", [blob.id])
        sure(blob in store.blobs("blobs"), "A tenant dropped another's blob.")
        sure(store.drop_blobs("blobs", [blob.id]) == [], "A blob is held by nobody, and yet it stays.")
        must_raise(NotFound, partial(store.get_blob, "blobs", blob.id))
    must_raise(Broken, lambda: store.put_blob("blobs", _breaks_off()))
    sure(not store.blobs("blobs"), "Of a source that broke off there is a blob.")


def _parts_blobs(store: Store) -> None:
    """The same content with two tenants is two blobs: neither lists, needs, holds or drops the other's."""
    mine = store.put_blob("parts", [b"the same"])
    sure(store.blobs("parts too") == [], "A tenant's blobs are listed with another's.")
    theirs = store.put_blob("parts too", [b"the same"], holder="them")
    store.append("parts too", "s", Batch((Kept("o1", "e#0", theirs.id),)), expect=None)
    sure(store.drop_blobs("parts", [mine.id]) == [], "A blob stays because another tenant holds one like it.")
    sure(
        store.blobs("parts") == [],
        "A blob was not dropped because another tenant's record refers to its like.",
    )
    kept = b"".join(store.get_blob("parts too", theirs.id))
    sure(kept == b"the same", "A tenant's blob went with another's.")


def _holds(store: Store) -> None:
    """A blob that a record refers to, or that somebody holds, is not dropped."""
    blob, free = store.put_blob("holds", [b"held"], holder="one"), store.put_blob("holds", [b"free"])
    store.put_blob("holds", [b"held"], holder="two")
    store.let_go("holds", "one")
    store.let_go("others", "two")
    stays = store.drop_blobs("holds", [blob.id, free.id])
    held = [(hold.blob, hold.holder) for hold in stays]
    sure(
        held == [(blob.id, "two")], "Of what was to be dropped, not just the blob that somebody holds stays."
    )
    sure(store.blobs("holds") == [blob], "A blob was dropped while somebody held it.")
    store.append("holds", "s", Batch((Kept("o1", "e#0", blob.id),)), expect=None)
    store.let_go("holds", "two")
    sure(store.drop_blobs("holds", [blob.id]) == [], "A blob is held by nobody, and yet it is said to be.")
    sure(store.blobs("holds") == [blob], "A blob was dropped that a record refers to.")


def _lets_go(store: Store) -> None:
    """A blob that was let go of is nobody's."""
    blob = store.put_blob("lets go", [b"held"], holder="one")
    stays = store.drop_blobs("lets go", [blob.id])
    sure(
        [hold.blob for hold in stays] == [blob.id],
        "A blob is held, and yet not said to be: somebody holds it.",
    )
    sure(abs(time.time() - stays[0].since) < 3_600, "A hold does not say since when it is.")
    store.let_go("lets go", "one")
    sure(store.drop_blobs("lets go", [blob.id]) == [], "A blob that was let go of is still held.")
    sure(store.blobs("lets go") == [], "A blob that was let go of stays.")


def _breaks_off() -> Iterator[bytes]:
    yield _LARGE
    raise Broken


_CHECKS: tuple[Callable[[Store], None], ...] = (
    _swaps,
    _swaps_once,
    _loses_none,
    _keeps_entries,
    _creates,
    _paths,
    _reads_many,
    _finds,
    _lists,
    _names,
    _blobs,
    _parts_blobs,
    _lets_go,
    _holds,
    _checkpoints,
    _erases,
    _erases_or_not,
    _erases_apart,
    _pages,
    _meets_stubs,
    _meets_given_stubs,
    _opens_again,
)
