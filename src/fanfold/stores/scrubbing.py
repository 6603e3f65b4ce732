"""What an erasure makes of the records of a session.

To read and scrub a long session takes seconds. So it is done before the transaction, while others write, and counts in
it if nobody wrote to this session since. Whoever changes a record in its place adds one that says so, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fanfold.core.record import Record
from fanfold.stores.coding import Coding, is_relabelled
from fanfold.stores.store import Scrub


class Scrubbed(NamedTuple):
    """The records of a session without what is erased."""

    seq: int
    """How many records the session had."""
    changed: dict[int, bytes]
    """The records that change, by their numbers, as they are kept."""
    added: tuple[Record, ...]
    relabelled: bool
    """Whether labels changed, which summaries repeat."""

    @classmethod
    def of(
        cls,
        coding: Coding,
        place: tuple[str, str],
        seq: int,
        records: Iterable[tuple[int, Record]],
        scrub: Scrub,
    ) -> Scrubbed:
        """What a scrub makes of the records of the session in this place."""
        records = list(records)
        changed, added = coding.scrub(*place, records, scrub)
        return cls(seq, changed, added, is_relabelled(records, changed))
