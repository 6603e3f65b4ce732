"""In which sessions something was erased: known also to those who cannot reach the store just now.

A client sends its whole history with every request, also what was erased in it here. While the store works, the log
says so. A gateway that cannot read the log must still know what it may not pass on. So whoever erases says it here
first: in a file beside an SQLite file, which every process of the machine can read; in the store itself where it is
reached over a network, for gateways to read as long as it works. Only names are kept, nothing that was said.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from fanfold.core.errors import StoreFailed
from fanfold.core.message import user
from fanfold.core.record import Move
from fanfold.stores.private import make_private, open_private
from fanfold.stores.store import Batch, Store
from fanfold.stores.tenant_tree import TenantTree
from fanfold.text.json_text import from_json, to_json

Erasures = frozenset[tuple[str, str]]
"""Sessions, by tenant and name."""
_ENDING = ".erased.jsonl"
_SHELF = "\N{SYMBOL FOR UNIT SEPARATOR}erased"
"""The tenant and the session under which a store across a network keeps them."""


def erasures_file(database: Path) -> Path:
    """The file beside an SQLite file."""
    return database.with_name(database.name + _ENDING)


def note_erasure(store: Store, tenant: str, sessions: Iterable[str]) -> None:
    """Keep that something is about to be erased in these sessions; a store in memory is never out of reach."""
    named = [(tenant, session) for session in sorted(set(sessions))]
    file = getattr(store, "file", None)
    if isinstance(file, Path):
        add_lines(erasures_file(file), named)
    elif store.remote:
        _append(store, named)


def add_lines(file: Path, sessions: Iterable[tuple[str, str]]) -> None:
    """Add sessions to a file, each on a line of its own: several processes may do so at once."""
    known = read_lines(file)
    make_private(file, like=file.with_name(file.name.removesuffix(_ENDING)))
    lines = [
        b"\n" + to_json(one).encode("utf-8", "surrogatepass") + b"\n" for one in sessions if one not in known
    ]
    if not lines:
        return
    try:
        with open(file, "ab", buffering=0, opener=open_private) as out:
            out.write(b"".join(lines))
            os.fsync(out.fileno())
        make_private(file, like=file.with_name(file.name.removesuffix(_ENDING)))
    except OSError as error:
        raise StoreFailed(
            f"Nothing was erased: {file} cannot be written ({error.strerror}). Gateways read there what they must "
            "not pass on while the store is down."
        ) from error


def read_lines(file: Path) -> Erasures:
    """The sessions in a file; nothing was erased where there is none."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return frozenset()
    return frozenset(_lines(data))


def _lines(data: bytes) -> Iterator[tuple[str, str]]:
    for line in data.split(b"\n"):
        try:
            yield _session(line.decode("utf-8", "surrogatepass"))
        except ValueError:
            continue  # the line of a process that was killed before it erased anything


def _session(line: str) -> tuple[str, str]:
    """The tenant and the session that a line names; a name may have half a character in it."""
    return msgspec.convert(from_json(line), tuple[str, str])


def _append(store: Store, sessions: Iterable[tuple[str, str]]) -> None:
    for one in sessions:
        entry = TenantTree().add(None, user(to_json(one)))
        store.append(_SHELF, _SHELF, Batch((Move(entry.id),), (entry,), prefixes=(None,)), expect=None)


def read_erasures(store: Store, after: int = 0) -> tuple[Erasures, int]:
    """The sessions that a store across a network names after this place in its list, and where the list ends."""
    stored = store.load_later(_SHELF, _SHELF, after)
    heads = [record.head for record in stored.records if isinstance(record, Move) and record.head is not None]
    entries = store.read_entries(_SHELF, list(dict.fromkeys(heads)))
    return frozenset(_session(entry.message.text) for entry in entries), stored.seq
