"""What the doctor saw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import msgspec

from fanfold.errors import FanfoldError, StoreFailed
from fanfold.ids import entry_id
from fanfold.record import Record, blobs_of
from fanfold.stores.blobs import BlobPlace
from fanfold.stores.coding import Coding, as_bytes, as_text
from fanfold.stores.store import ABANDONED

Listing = Callable[[], Iterable[tuple[bytes, bytes]]]
"""Gives the tenant and the id of every blob."""
Abandoned = Callable[[str, float], bool]
"""Whether a file or object of this name and age, in seconds, is nobody's if it is no blob's."""


class Finding(msgspec.Struct, frozen=True):
    """Something that is not as it should be."""

    what: str
    mended: bool = False

    def __str__(self) -> str:
        return f"{'mended' if self.mended else 'DAMAGE'}: {self.what}"


class Report(msgspec.Struct, frozen=True):
    """What the doctor saw."""

    place: str
    findings: tuple[Finding, ...]
    sessions: int = 0
    lines: int = 0
    blobs: int = 0

    @property
    def healthy(self) -> bool:
        """Whether nothing is damaged any more."""
        return all(finding.mended for finding in self.findings)

    def __str__(self) -> str:
        looked = f"{self.place}: {self.sessions:,} sessions, {self.lines:,} lines, {self.blobs:,} blobs looked over"
        end = "All is well." if self.healthy else "What is damaged has to come from a copy."
        return "\n".join([looked, *map(str, self.findings), end])


class Patient(Protocol):
    """A store that the doctor looks over."""

    coding: Coding

    def get_blob(self, tenant: str, id: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """A blob, in chunks."""


class Visit:
    """What a look at any kind of store has in common."""

    def __init__(self, store: Patient, mend: bool) -> None:
        self.patient = store
        self.mend = mend
        self.findings: list[Finding] = []
        self.sessions = self.lines = self.blobs = 0
        self.needed: dict[tuple[bytes, bytes], str] = {}
        """The blobs that records refer to, by tenant and id, and where."""

    def report(self, place: str, looks: Iterable[Callable[[], None]]) -> Report:
        """Look everywhere; damage in one place does not end the visit."""
        for look in looks:
            try:
                look()
            except StoreFailed as error:
                self.found(str(error))
        return Report(place, tuple(self.findings), self.sessions, self.lines, self.blobs)

    def found(self, what: str, *, mended: bool = False) -> None:
        """Say that something is not as it should be."""
        self.findings.append(Finding(what, mended))

    def look_at_entry(self, id: bytes, parent: bytes | None, data: bytes, where: str) -> None:
        """A message is what its id says."""
        entry = self.patient.coding.read_row(id, parent, data)
        if entry.erased is None and entry_id(entry.parent, entry.message) != entry.id:
            self.found(f"{where}: the message {entry.id[:12]} is not what its id says")

    def note_blobs(self, tenant: bytes, record: Record, where: str) -> None:
        """Remember which blobs a record refers to."""
        for id in blobs_of((record,)):
            self.needed.setdefault((tenant, as_bytes(id)), where)

    def look_at_blobs(self, blobs: Iterable[tuple[bytes, bytes]]) -> None:
        """A blob is whole, and what its name says; and none that a record refers to is missing."""
        for tenant, id in blobs:
            self.blobs += 1
            self.needed.pop((tenant, id), None)
            try:
                for _ in self.patient.get_blob(as_text(tenant), as_text(id)):
                    pass
            except FanfoldError as error:
                self.found(str(error))
        for (_, id), where in self.needed.items():
            self.found(f"{where}: the blob {as_text(id)[:12]} that it refers to is missing")

    def look_at_checkpoints(
        self, checkpoints: Iterable[tuple[int, str, bytes]], forget: Callable[[int], object]
    ) -> None:
        """A checkpoint only saves time: one that cannot be read is forgotten. Given by its session."""
        for number, name, body in checkpoints:
            try:
                self.patient.coding.read_checkpoint(body)
            except StoreFailed:
                if self.mend:
                    forget(number)
                self.found(f"session {name!r}: its checkpoint", mended=self.mend)

    def clear_away(
        self, place: BlobPlace, blobs: Callable[[], Iterable[tuple[bytes, bytes]]], abandoned: Abandoned
    ) -> None:
        """What nobody needs: of a process that died while it brought a blob, or before it said that it is there."""
        old = [name for name, age in place.all() if abandoned(name, age)]
        kept = {place.name(as_text(tenant), as_text(id)) for tenant, id in blobs()}
        for name in old:
            if name not in kept:
                if self.mend:
                    place.remove(name)
                self.found(f"{name.rpartition('/')[2][:24]} belonged to no blob", mended=self.mend)


def after_an_hour(name: str, age: float) -> bool:
    """Whether nobody brings this any more, where nobody can be kept from bringing blobs meanwhile."""
    return age > ABANDONED
