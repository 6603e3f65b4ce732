"""What the doctor found, and what a visit to either kind of database has in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

import msgspec

from fanfold.core.errors import Corrupt, FanfoldError
from fanfold.core.ids import entry_id
from fanfold.core.record import Record, blobs_of
from fanfold.stores.blobs import BlobPlace, is_unfinished
from fanfold.stores.coding import as_text, readable_name
from fanfold.stores.sealing import as_bytes
from fanfold.stores.sql_store import Row, SQLStore
from fanfold.stores.store import ABANDONED, name_of, summing
from fanfold.text.lines import many

Abandoned = Callable[[str, float], bool]
"""Whether a file or object of this name and age, in seconds, is nobody's if it is no blob's."""


class Finding(msgspec.Struct, frozen=True):
    """Something that is not as it should be."""

    what: str
    repaired: bool = False
    unused: bool = False
    """Whether it is no damage, but something that nobody refers to: after a loss it may be all that is left."""

    def __str__(self) -> str:
        kind = "repaired" if self.repaired else "unused" if self.unused else "DAMAGE"
        return f"{kind}: {self.what}"


_NOTHING = "What is damaged has to come from a copy."
_WAY_OUT = (
    f"{_NOTHING} Without one, `fanfold export SESSION --readable` saves the messages of a "
    "session that can be read, and says which cannot; `fanfold import` reads that file into another store."
)


class Report(msgspec.Struct, frozen=True):
    """What the doctor saw."""

    place: str
    findings: tuple[Finding, ...]
    sessions: int = 0
    lines: int = 0
    blobs: int = 0
    tenants: int = 1
    """Whose sessions these are: of so many tenants. `fanfold ls` lists those of one."""

    @property
    def healthy(self) -> bool:
        """Whether nothing is damaged any more."""
        return all(finding.repaired or finding.unused for finding in self.findings)

    def __str__(self) -> str:
        whose = f" of {self.tenants:,} tenants" if self.tenants > 1 else ""
        lines, blobs = many(self.lines, "line"), many(self.blobs, "blob")
        counts = f"{many(self.sessions, 'session')}{whose}, {lines}, {blobs}"
        looked = f"{self.place}: {counts} looked over"
        said = [looked, *map(str, self.findings)]
        if any(finding.unused and not finding.repaired for finding in self.findings):
            said.append("What is unused is deleted with `clear=True`, on the command line with --clear.")
        said.append("All is well." if self.healthy else _WAY_OUT if self.lines else _NOTHING)
        return "\n".join(said)


_OWN = "\N{SYMBOL FOR UNIT SEPARATOR}"
"""The sign in names of tenants under which stores and gateways keep notes of their own."""


class Visit:
    """What a look at any kind of store has in common."""

    def __init__(self, store: SQLStore, *, repair: bool, clear: bool) -> None:
        self.examined = store
        self.repair = repair
        self.clear = clear
        self.findings: list[Finding] = []
        self.sessions = self.lines = self.blobs = 0
        self.owners = set[object]()
        """The tenants that sessions belong to."""
        self.needed: dict[tuple[bytes, bytes], str] = {}
        """The blobs that records refer to, by tenant and id, and where."""

    def report(self, place: str, looks: Iterable[Callable[[], None]]) -> Report:
        """Look everywhere; damage in one place does not end the visit, whatever a value turned into."""
        for look in looks:
            try:
                look()
            except FanfoldError as error:
                self.found(str(error))
            except (TypeError, ValueError, AttributeError, LookupError, OverflowError) as error:
                self.found(f"a value that is none of its kind ({error})")
        return Report(
            place=place,
            findings=tuple(self.findings),
            sessions=self.sessions,
            lines=self.lines,
            blobs=self.blobs,
            tenants=len(self.owners),
        )

    def count_session(self, owner: object, name: str) -> None:
        """One session more, unless fanfold keeps notes of its own under a tenant with this name."""
        if _OWN not in name:
            self.sessions += 1
            self.owners.add(owner)

    def found(self, what: str, *, repaired: bool = False) -> None:
        """Say that something is not as it should be."""
        self.findings.append(Finding(what, repaired))

    def look_at_entry(self, tenant: str, id: bytes, parent: bytes | None, data: bytes, where: str) -> None:
        """A message is what its id says."""
        entry = self.examined.coding.read_row(tenant, id, parent, data)
        if entry.erased is None and entry_id(entry.parent, entry.message) != entry.id:
            self.found(f"{where}: the message {entry.id[:12]} is not what its id says")

    def look_for_orphans(self, rows: Iterable[Row]) -> None:
        """Every message has the one before it."""
        for (id,) in rows:
            self.found(f"the message before {readable_name(id)[:12]} is missing")

    def note_blobs(self, tenant: bytes, record: Record, where: str) -> None:
        """Remember which blobs a record refers to."""
        for id in blobs_of((record,)):
            self.needed.setdefault((tenant, as_bytes(id)), where)

    def look_at_blobs(self, blobs: Iterable[Row]) -> None:
        """A blob is whole, and what its name says; and none that a record refers to is missing."""
        for tenant, id, *_ in blobs:
            self.blobs += 1
            self.needed.pop((tenant, id), None)
            try:
                total = summing(as_text(id))
                for chunk in self.examined.get_blob(as_text(tenant), as_text(id)):
                    total.update(chunk)
                if name_of(total) != as_text(id):
                    raise Corrupt(f"The content of blob {as_text(id)} is damaged. Bring back a copy of it.")
            except FanfoldError as error:
                self.found(f"the blob {readable_name(id)[:12]}: {error}")
        for (_, id), where in self.needed.items():
            self.found(f"{where}: the blob {readable_name(id)[:12]} that it refers to is missing")

    def look_at_checkpoint(self, body: bytes, place: bytes, where: str, forget: Callable[[], object]) -> bool:
        """A checkpoint only saves time: one that cannot be read is forgotten. Says whether it can be."""
        try:
            self.examined.coding.read_checkpoint(body, place)
        except FanfoldError:
            if self.repair:
                forget()
            self.found(f"{where}: its checkpoint", repaired=self.repair)
            return False
        return True

    def clear_away(self, place: BlobPlace, blobs: Callable[[], Iterable[Row]], abandoned: Abandoned) -> None:
        """Find files that belong to no blob: a process that died left them, or they are what survived a loss.

        What was never finished is of no use to anybody; everything else is deleted only with `clear`.
        """
        old = [name for name, age in place.all() if abandoned(name, age)]
        kept = set[str]()
        for tenant, id, *_ in blobs():
            with suppress(Corrupt):
                kept.add(place.name(as_text(tenant), as_text(id)))
        for name in (name for name in old if name not in kept):
            doomed = self.repair and (self.clear or is_unfinished(name))
            if doomed:
                place.remove(name)
            what = f"{name.rpartition('/')[2][:24]} belongs to no blob"
            self.findings.append(Finding(what, repaired=doomed, unused=True))


def is_old(name: str, age: float) -> bool:
    """Whether nobody is bringing this any more; where others cannot be made to wait, an hour has to pass first."""
    return age > ABANDONED
