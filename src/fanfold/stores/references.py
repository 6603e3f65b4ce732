"""What the records of a session name: messages and blobs, each as a number, by which stores find the session again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b

from fanfold.core.errors import Corrupt, NotFound
from fanfold.core.record import Branched, Kept, Move, Record, Replaced
from fanfold.core.tree import Tree

_NAMING = frozenset({Branched, Replaced, Kept})
"""The records that name something, beside those that only move the head."""


def numbers(ids: Iterable[str]) -> list[int]:
    """Ids as stores keep them in an index: each once."""
    return [_number(id) for id in dict.fromkeys(ids)]


def _number(id: str) -> int:
    """A whole number of 64 bits with a sign. Two ids that share one make a store look at a session in vain."""
    hashed = blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(hashed.digest(), signed=True)


def head_number(record: Record | None) -> int | None:
    """The number of the message that a record moves the head to."""
    return _number(record.head) if isinstance(record, Move) and record.head is not None else None


def names_in(record: Record) -> tuple[str, ...]:
    """The messages and blobs that a record names."""
    match record:
        case Move(head=str(entry)) | Branched(head=entry) | Replaced(entry=entry):
            return (entry,)
        case Kept():
            return (record.entry, *record.blobs) if record.is_part else record.blobs
        case _:
            return ()


def named_beside(records: Iterable[Record]) -> Iterator[str]:
    """The messages and blobs that some records name, but for those that they move the head to."""
    records = list(records)
    heads = {record.head for record in records if type(record) is Move}
    for record in records:
        if type(record) is not Move:
            yield from (id for id in names_in(record) if id not in heads)


def names_more(records: Iterable[Record]) -> bool:
    """Whether some records name anything but what they move the head to. Most say one thing, and are told at once."""
    return not _NAMING.isdisjoint(map(type, records)) and any(named_beside(records))


def all_named(tree: Tree, records: Iterable[Record]) -> Iterator[str]:
    """All messages and blobs that a session names. A fork of 0.1 moved its head at once past all that it took along."""
    records = list(records)
    yield from named_beside(records)
    for record in records:
        if isinstance(record, Move) and record.head is not None:
            yield record.head
            if record.how == "fork":
                with suppress(Corrupt, NotFound):
                    yield from tree.path(record.head)
