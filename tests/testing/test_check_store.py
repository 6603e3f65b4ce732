"""`check_store` finds every mistake that it is there for: one wrong store for each."""

from __future__ import annotations

import re
import threading
import time
from contextlib import nullcontext
from typing import Any

import msgspec
import pytest

import fanfold
from fanfold import Memory
from fanfold.stores import Blob, Hold, referred_to
from fanfold.testing import check_store


class TakesAll(Memory):
    def append(self, tenant: str, session: str, batch: Any, *, expect: int | None) -> Any:
        return super().append(tenant, session, batch, expect=None)


class LooksThenLeaps(Memory):
    def append(self, tenant: str, session: str, batch: Any, *, expect: int | None) -> Any:
        if expect is not None and self.load(tenant, session).version != expect:
            raise fanfold.Moved
        if threading.current_thread() is not threading.main_thread():
            time.sleep(1)  # long enough for the others to look
        return super().append(tenant, session, batch, expect=None)


class MixesTenants(Memory):
    def entry(self, tenant: str, id: str) -> Any:
        return next((entry for (_, known), entry in self._entries.items() if known == id), None)


class KeepsHalfABlob(Memory):
    def put_blob(self, tenant: str, chunks: Any, *, holder: str = "") -> Any:
        taken: list[bytes] = []
        try:
            taken.extend(chunks)
        finally:
            super().put_blob(tenant, taken)
        return super().put_blob(tenant, taken, holder=holder)


class DropsWhatIsHeld(Memory):
    def put_blob(self, tenant: str, chunks: Any, *, holder: str = "") -> Any:
        return super().put_blob(tenant, chunks)


class DropsWhatIsNeeded(Memory):
    def drop_blobs(self, tenant: str, ids: Any) -> Any:
        held = super().drop_blobs(tenant, ids)
        for id in set(ids).difference(hold.blob for hold in held):
            self._blobs.pop((tenant, id), None)
        return held


class CreatesByHalf(Memory):
    def create(self, tenant: str, session: str, batches: Any) -> Any:
        for batch in batches:
            made = self.append(tenant, session, batch, expect=None)
        return made


class LosesItsPlace(Memory):
    def load(self, tenant: str, session: str, *, after: int = 0, most: int | None = None) -> Any:
        found = super().load(tenant, session, after=after, most=most)
        return msgspec.structs.replace(found, seq=after + len(found.records))


class KeepsCheckpoints(Memory):
    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[Any, Any] = {}

    def keep_checkpoint(self, tenant: str, session: str, seq: int, checkpoint: Any) -> None:
        self.kept[tenant, session] = (seq, checkpoint)

    def checkpoint(self, tenant: str, session: str) -> Any:
        return self.kept.get((tenant, session))


class SaysItAgain(Memory):
    def erase(self, tenant: str, stub: Any, scrub: Any) -> None:
        super().erase(tenant, stub, lambda session, records: None)


class ErasesByHalf(Memory):
    def erase(self, tenant: str, stub: Any, scrub: Any) -> None:
        self._entries[(tenant, stub.id)] = stub
        super().erase(tenant, stub, scrub)


class WelcomesTheErased(Memory):
    def append(self, tenant: str, session: str, batch: Any, *, expect: int | None) -> Any:
        known = [entry for entry in batch.entries if (tenant, entry.id) not in self._entries]
        return super().append(tenant, session, msgspec.structs.replace(batch, entries=known), expect=expect)


class FindsAnyones(Memory):
    def find(self, tenant: str, beginning: str) -> list[str]:
        return [id for _, id in self._entries if id.startswith(beginning)][:3]


class FindsByPattern(Memory):
    def find(self, tenant: str, beginning: str) -> list[str]:
        pattern = re.escape(beginning).replace("%", ".*").replace("_", ".")
        return [id for owner, id in self._entries if owner == tenant and re.match(pattern, id)][:3]


class WalksAnywhere(Memory):
    def path(self, tenant: str, tip: str, *, stop: str | None = None) -> Any:
        owner = next((owner for owner, id in self._entries if id == tip), tenant)
        return super().path(owner, tip, stop=stop)


class ListsAnyones(Memory):
    def blobs(self, tenant: str) -> list[Blob]:
        return [Blob(id, len(data)) for (_, id), data in self._blobs.items()]


class NeverLetsGo(Memory):
    def let_go(self, tenant: str, holder: str) -> None:
        pass


class LetsGoOfAnyones(Memory):
    def let_go(self, tenant: str, holder: str) -> None:
        self._held = {key: since for key, since in self._held.items() if key[1] != holder}


class RespectsAnyonesHold(Memory):
    def drop_blobs(self, tenant: str, ids: Any) -> list[Hold]:
        doomed = set(ids).difference(referred_to(self, tenant))
        held = [Hold(blob, by, since) for (_, by, blob), since in self._held.items() if blob in doomed]
        super().drop_blobs(tenant, doomed.difference(hold.blob for hold in held))
        return held


class NeedsAnyones(Memory):
    def drop_blobs(self, tenant: str, ids: Any) -> list[Hold]:
        others = {owner for owner, _ in self._records}
        return super().drop_blobs(tenant, set(ids).difference(*(referred_to(self, one) for one in others)))


class DropsAnyones(Memory):
    def drop_blobs(self, tenant: str, ids: Any) -> list[Hold]:
        stay = super().drop_blobs(tenant, ids)
        needed = {*(hold.blob for hold in stay), *referred_to(self, tenant)}
        self._blobs = {key: data for key, data in self._blobs.items() if key[1] not in set(ids) - needed}
        return stay


class HoldsForever(Memory):
    def put_blob(self, tenant: str, chunks: Any, *, holder: str = "") -> Any:
        blob = super().put_blob(tenant, chunks, holder=holder)
        self._held = dict.fromkeys(self._held, 0.0)
        return blob


class Overwrites(Memory):
    def append(self, tenant: str, session: str, batch: Any, *, expect: int | None) -> Any:
        stored = super().append(tenant, session, batch, expect=expect)
        self._entries |= {(tenant, entry.id): entry for entry in batch.entries}
        return stored


class LocksNothing(Memory):
    def __init__(self) -> None:
        super().__init__()
        self._lock = nullcontext()  # type: ignore[assignment]


class LosesWhatCameBetween(Memory):
    def append(self, tenant: str, session: str, batch: Any, *, expect: int | None) -> Any:
        if expect is not None:
            return super().append(tenant, session, batch, expect=expect)
        key = (tenant, session)
        lines = list(self._records.get(key, []))
        time.sleep(0.001)
        self._records[key] = lines
        return self._append(tenant, key, batch, expect)


class ListsAsTheyCame(Memory):
    def sessions(self, tenant: str) -> list[str]:
        return [name for owner, name in self._records if owner == tenant]


class ErasesAnyones(Memory):
    def erase(self, tenant: str, stub: Any, scrub: Any) -> None:
        super().erase(tenant, stub, scrub)
        self._entries = {key: stub if key[1] == stub.id else entry for key, entry in self._entries.items()}


class ScrubsAnyones(Memory):
    def erase(self, tenant: str, stub: Any, scrub: Any) -> None:
        super().erase(tenant, stub, scrub)
        for owner, session in list(self._records):
            if owner != tenant:
                scrub(session, self.load(owner, session).records)


@pytest.mark.slow  # it tells of the check alone; real stores are checked in any case
@pytest.mark.parametrize(
    ("store", "says"),
    [
        (TakesAll, "Moved was not raised"),
        (LooksThenLeaps, "both wrote"),
        (MixesTenants, "reads another's entries"),
        (KeepsHalfABlob, "broke off"),
        (KeepsCheckpoints, "outlived an erasure"),
        (SaysItAgain, "not scrubbed as told"),
        (ErasesByHalf, "broken off erased something"),
        (WelcomesTheErased, "Gone was not raised"),
        (DropsWhatIsHeld, "somebody holds"),
        (DropsWhatIsNeeded, "a record refers to"),
        (CreatesByHalf, "by half"),
        (LosesItsPlace, "after an erasure"),
        (FindsAnyones, "finds another's entry"),
        (FindsByPattern, "is found that is not there"),
        (WalksAnywhere, "walks another's path"),
        (ListsAnyones, "listed with another's"),
        (NeverLetsGo, "still held"),
        (HoldsForever, "since when"),
        (LetsGoOfAnyones, "somebody holds"),
        (RespectsAnyonesHold, "another tenant holds"),
        (NeedsAnyones, "another tenant's record"),
        (DropsAnyones, "A tenant dropped another's blob"),
        (Overwrites, "was overwritten"),
        (LocksNothing, "both wrote"),
        (LosesWhatCameBetween, "somebody's records are lost"),
        (ListsAsTheyCame, "order of their names"),
        (ErasesAnyones, "reached another tenant's entry"),
        (ScrubsAnyones, "just the sessions of its tenant"),
    ],
)
def test_a_store_that_breaks_a_promise_is_told_which(store: type[Memory], says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_store(store())
