"""A check for those who write a store: an AssertionError says what is wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from fanfold.checkpoint import Checkpoint
from fanfold.errors import Gone, Moved, NotFound, StoreFailed
from fanfold.log import Entry, Tree
from fanfold.message import user
from fanfold.opening import open
from fanfold.record import Answered, Erased, Frame, Kept, Record
from fanfold.record import Moved as Move
from fanfold.stores.store import Batch, Store
from fanfold.testing.talks import talk

_LARGE = bytes(range(256)) * 8_000
_WRITERS = 4
_NAMES = ("", "'; --", 'a"b', "a\x00b", "../..", "漢字", "\ud800", "x" * 3_000)


def check_store(store: Store) -> None:
    """See that a store keeps its promises. It is written to: give a fresh one."""
    for check in _CHECKS:
        check(store)


def _said(store: Store, tenant: str, session: str, *texts: str) -> list[Entry]:
    """Write messages one after the other, each with its move."""
    tree, entries = Tree(), list[Entry]()
    for text in texts:
        entries.append(tree.add(entries[-1].id if entries else None, user(text)))
        store.append(tenant, session, Batch((Move(entries[-1].id),), (entries[-1],)), expect=len(entries) - 1)
    return entries


def _swaps(store: Store) -> None:
    entries = _said(store, "swaps", "s", "a", "b")
    late = Tree().add(None, user("late"))
    _refused(Moved, lambda: store.append("swaps", "s", Batch((Move(late.id),), (late,)), expect=1))
    _sure(store.entry("swaps", late.id) is None, "A batch that lost left an entry behind.")
    beside = store.append("swaps", "s", Batch((Answered("k", "t", ()),)), expect=None)
    _sure(beside.version == 2, "A record beside the view counts as a version.")
    stored = store.load("swaps", "s")
    _sure(
        list(stored.records) == [*(Move(entry.id) for entry in entries), Answered("k", "t", ())],
        "The records of a session are not those that were written, in their order.",
    )
    later = store.load("swaps", "s", after=beside.was).records
    _sure(list(later) == [Answered("k", "t", ())], "`load(after=…)` does not give just what came later.")
    _sure(not store.load("swaps", "nobody").records, "A session nobody wrote to has records.")


def _pages(store: Store) -> None:
    """Records are read some at a time, also where one was erased between."""
    entries = _said(store, "pages", "s", *map(str, range(7)))
    store.append("pages", "s", Batch((Answered("k", "t", ()),)), expect=None)
    store.append("pages", "s", Batch((Move(entries[0].id, "rewind"),)), expect=7)
    whole = list(store.load("pages", "s").records)
    _sure(_by_twos(store) == whole, "Read some at a time, the records are not the same.")
    store.erase(
        "pages",
        _stub(entries[0]),
        lambda _, records: [None if isinstance(r, Answered) else r for r in records],
    )
    whole.remove(Answered("k", "t", ()))
    _sure(_by_twos(store) == whole, "Read some at a time, the records are not the same after an erasure.")


def _by_twos(store: Store) -> list[Record]:
    found, after = list[Record](), 0
    while (some := store.load("pages", "s", after=after, most=2)).records:
        _sure(len(some.records) <= 2, "`load(most=…)` gives more than that.")
        found, after = [*found, *some.records], some.seq
    return found


def _creates(store: Store) -> None:
    """A session is written from many batches as one, or not at all."""
    entry = Tree().add(None, user("first"))
    batches = [Batch((Move(entry.id),), (entry,)), Batch((Answered("k", "t", ()),))]

    def broken() -> Iterator[Batch]:
        yield from batches
        raise _Broken

    _refused(_Broken, lambda: store.create("creates", "s", broken()))
    _sure(not store.load("creates", "s").records, "A session whose source broke off is there by half.")
    made = store.create("creates", "s", iter(batches))
    stored = store.load("creates", "s")
    _sure(
        list(stored.records) == [Move(entry.id), Answered("k", "t", ())],
        "A session is not as it was created.",
    )
    _sure((made.seq, made.version) == (stored.seq, 1), "A created session does not end where its log does.")
    _refused(Moved, lambda: store.create("creates", "s", batches))
    _sure(len(store.load("creates", "s").records) == 2, "A session was created a second time.")


def _swaps_once(store: Store) -> None:
    """Of several who expect the same version at the same time, one writes."""
    entries = [Tree().add(None, user(f"writer {n}")) for n in range(_WRITERS)]

    together = threading.Barrier(_WRITERS)

    def wrote(entry: Entry) -> bool:
        together.wait()
        try:
            store.append("at once", "s", Batch((Move(entry.id),), (entry,)), expect=0)
        except Moved:
            return False
        return True

    with ThreadPoolExecutor(_WRITERS) as writers:
        _sure(
            sum(writers.map(wrote, entries)) == 1, "Two who expected the same version both wrote, or nobody."
        )
    _sure(len(store.load("at once", "s").records) == 1, "What lost was written all the same.")


def _paths(store: Store) -> None:
    entries = _said(store, "paths", "s", *map(str, range(9)))
    _sure(
        list(store.path("paths", entries[-1].id)) == entries[::-1], "A path is not all of it, newest first."
    )
    part = list(store.path("paths", entries[-1].id, stop=entries[4].id))
    _sure(part == entries[:4:-1], "A path does not end before `stop`.")


def _finds(store: Store) -> None:
    entry = _said(store, "finds", "s", "find me")[0]
    _sure(
        store.find("finds", entry.id[:9]) == [entry.id], "An entry is not found by the beginning of its id."
    )
    _sure(store.find("finds", "nothing") == [], "Something is found that is not there.")


def _names(store: Store) -> None:
    for name in _NAMES:
        _said(store, name, name, f"of {name[:9]}")
    for name in _NAMES:
        _sure(store.sessions(name) == [name], f"The session {name[:9]!r} is not there under its name.")
        entry = next(store.path(name, store.load(name, name).records[0].head))  # type: ignore[union-attr, arg-type]
        _sure(entry.message.text == f"of {name[:9]}", f"The tenant {name[:9]!r} has another's message.")
        others = [other for other in _NAMES if other != name]
        _sure(
            all(store.entry(other, entry.id) is None for other in others), "A tenant reaches another's entry."
        )


def _blobs(store: Store) -> None:
    for data in (b"", b"small", _LARGE):
        blob = store.put_blob("blobs", [data[:1000], data[1000:]])
        _sure(store.put_blob("blobs", [data]) == blob, "The same content is two blobs.")
        _sure(b"".join(store.get_blob("blobs", blob.id)) == data, "A blob does not come back as it was.")
        part = b"".join(store.get_blob("blobs", blob.id, 2, 1_500_000))
        _sure(part == data[2:1_500_000], "A range of a blob is not that slice of it.")
        _refused(StoreFailed, partial(store.get_blob, "blobs", blob.id, -1))
        _refused(NotFound, partial(store.get_blob, "others", blob.id))
        store.drop_blobs("others", [blob.id])
        _sure(blob in store.blobs("blobs"), "A tenant dropped another's blob.")
        _sure(store.drop_blobs("blobs", [blob.id]) == [], "A blob is held by nobody, and yet it stays.")
        _refused(NotFound, partial(store.get_blob, "blobs", blob.id))
    _refused(_Broken, lambda: store.put_blob("blobs", _breaks_off()))
    _sure(not store.blobs("blobs"), "Of a source that broke off there is a blob.")


def _holds(store: Store) -> None:
    """A blob that a record refers to, or that somebody holds, is not dropped."""
    blob, free = store.put_blob("holds", [b"held"], holder="one"), store.put_blob("holds", [b"free"])
    store.put_blob("holds", [b"held"], holder="two")
    store.let_go("others", "one")
    store.let_go("holds", "one")
    stays = store.drop_blobs("holds", [blob.id, free.id])
    _sure(stays == [blob.id], "Of what was to be dropped, not just the blob that somebody holds stays.")
    _sure(store.blobs("holds") == [blob], "A blob was dropped while somebody held it.")
    store.append("holds", "s", Batch((Kept("o1", "e#0", blob.id),)), expect=None)
    store.let_go("holds", "two")
    _sure(store.drop_blobs("holds", [blob.id]) == [], "A blob is held by nobody, and yet it is said to be.")
    _sure(store.blobs("holds") == [blob], "A blob was dropped that a record refers to.")


class _Broken(Exception):
    """A source of bytes broke off."""


def _breaks_off() -> Iterator[bytes]:
    yield _LARGE
    raise _Broken


def _checkpoints(store: Store) -> None:
    """A store may keep none; one that it keeps is the newest, and gone after an erasure."""
    entry = _said(store, "checkpoints", "s", "secret")[0]
    _said(store, "checkpoints", "other", "unrelated")
    for edits in (1, 2):
        store.keep_checkpoint("checkpoints", "s", 1, _checkpoint(entry, edits))
    kept = store.checkpoint("checkpoints", "s")
    _sure(kept in (None, (1, _checkpoint(entry, 2))), "A checkpoint is not the one that was kept last.")
    for place in (("checkpoints", "other"), ("others", "s")):
        _sure(store.checkpoint(*place) is None, "A session has another's checkpoint.")
    store.erase("checkpoints", _stub(entry), lambda session, records: None)
    _sure(store.checkpoint("checkpoints", "s") is None, "A checkpoint outlived an erasure.")


def _checkpoint(entry: Entry, edits: int) -> Checkpoint:
    return Checkpoint(version=1, head=entry.id, edits=edits, requests=0, frame=Frame(), rows=())


def _erases(store: Store) -> None:
    entry = _said(store, "erases", "s", "secret", "after")[0]
    _said(store, "erases", "other", "unrelated")
    store.append("erases", "s", Batch((Answered("k", "secret", ()),)), expect=None)

    def scrub(session: str, records: Sequence[Record]) -> list[Record | None] | None:
        if session != "s":
            return None
        return [*(None if isinstance(r, Answered) else r for r in records), Erased(entry.id, "gone")]

    store.erase("erases", _stub(entry), scrub)
    _sure(store.entry("erases", entry.id) == _stub(entry), "An erased entry is not its stub.")
    kinds = [type(record) for record in store.load("erases", "s").records]
    _sure(kinds == [Move, Move, Erased], "A session is not scrubbed as told.")
    _sure(store.load("erases", "s").version == 3, "An erasure does not count as a version.")
    _sure(
        len(store.load("erases", "other").records) == 1, "A session was scrubbed that was to be left alone."
    )


def _meets_stubs(store: Store) -> None:
    entry = _said(store, "stubs", "s", "secret")[0]
    store.erase("stubs", _stub(entry), lambda session, records: None)
    batch = Batch((Move(entry.id),), (entry,))
    _refused(Gone, lambda: store.append("stubs", "new", batch, expect=0))
    _sure(not store.load("stubs", "new").records, "A batch that met a stub was written all the same.")
    store.append("stubs", "new", Batch((Move(entry.id),), (), (entry,)), expect=0)
    _sure(store.entry("stubs", entry.id) == entry, "What was said again is not there.")


def _stub(entry: Entry) -> Entry:
    return Entry(entry.id, entry.echo, entry.parent, entry.depth, user("[erased]"), "gone")


def _opens_again(store: Store) -> None:
    with open("check", window=9_000, store=store, tenant="check-one") as chat:
        chat.merge(talk(2))
        chat.note("state", "tests are red")
        head, messages = chat.head, chat.view().messages
    with open("check", window=9_000, store=store, tenant="check-one") as again:
        _sure(again.head == head, "A session opened again stands elsewhere than where it ended.")
        _sure(again.view().messages == messages, "A session opened again shows other messages.")
    with open("other", window=9_000, store=store, tenant="check-one") as other:
        other.merge(talk(2))
        _sure(other.head == head, "Two sessions of a tenant do not share the same entries.")
        _sure(other.view().messages != messages, "A note of one session shows in another.")
    with open("check", window=9_000, store=store, tenant="check-two") as stranger:
        _sure(stranger.head is None, "A tenant sees another tenant's session.")
        _sure(stranger.stats()["entries"] == 0, "A tenant sees another tenant's entries.")


_CHECKS: tuple[Callable[[Store], None], ...] = (
    _swaps,
    _swaps_once,
    _creates,
    _paths,
    _finds,
    _names,
    _blobs,
    _holds,
    _checkpoints,
    _erases,
    _pages,
    _meets_stubs,
    _opens_again,
)


def _refused(error: type[Exception], work: Callable[[], object]) -> None:
    try:
        work()
    except error:
        return
    raise AssertionError(f"{error.__name__} was not raised where it must be.")


def _sure(true: bool, sentence: str) -> None:
    if not true:
        raise AssertionError(sentence)
