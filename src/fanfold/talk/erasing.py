"""Erasing: the one way in which anything is destroyed, with everything that was made from it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from fanfold.edit import Decision, Elide, Fold, Mend, Pin
from fanfold.errors import BadInput, Busy
from fanfold.legible import legible
from fanfold.log import Log
from fanfold.message import Message, replaced, words
from fanfold.record import Answered, Edited, Erased, Kept, Record, Redressed, Sent
from fanfold.stores.store import Hold, Tenant
from fanfold.talk.collecting import destroy, renewing, without_content
from fanfold.talk.copies import copies_of
from fanfold.talk.revising import entry_named
from fanfold.talk.state import State

_RECOGNISED = 8
"""A shorter piece may stand somewhere by chance; it is not taken for a copy of what is erased."""


def erase(state: State, name: str, reason: str) -> str:
    """Destroy the content of an entry, everywhere in the tenant, with what was made from it.

    Done once more after it failed half-way, it does the rest.
    """
    if not isinstance(reason, str) or not reason.strip():
        raise BadInput(f"Say in words why it is erased, not {reason!r}: the reason stands in its place.")
    state.read_whole()
    id = _meant(state, name)
    tenant = state.terms.tenant
    with renewing(tenant):
        held = [hold for entry in (*copies_of(tenant, id), id) for hold in _destroy(state, entry, reason)]
    if held:
        raise _busy(tenant.name, held[-1])
    return id


def _busy(tenant: str, hold: Hold) -> Busy:
    """Who is in the way, until when, and what to do if they died."""
    since, until = (datetime.fromtimestamp(time).strftime("%H:%M:%S") for time in (hold.since, hold.until))
    return Busy(
        f"The same output is being taken in by {hold.holder} since {since}. Erase once more when that is done. "
        f"If they died, their claim ends at {until}, or at once with `store.let_go({tenant!r}, {hold.holder!r})`."
    )


def _destroy(state: State, id: str, reason: str) -> list[Hold]:
    """Destroy the content of one entry; gives back who is about to need blobs of it, which therefore stay."""
    tenant = state.terms.tenant
    blobs = {blob for session in tenant.store.sessions(tenant.name) for blob in _blobs(tenant, session, id)}
    whole = state.log.tree[id]
    erasure = Erasure(id, reason, legible(whole.message), frozenset(call.id for call in whole.message.calls))
    destroy(tenant, id, reason, lambda session, records: _scrub(state, session, records, erasure))
    return tenant.store.drop_blobs(tenant.name, blobs) if blobs else []


def _meant(state: State, name: str) -> str:
    """The entry that a name means: its id, the beginning of it, or the reference of an output."""
    kept = state.log.kept.get(name) if isinstance(name, str) else None
    return kept.entry if kept is not None and kept.is_part else entry_named(state, name)


def _blobs(tenant: Tenant, session: str, entry: str) -> list[str]:
    """The blobs in which a session keeps or kept the outputs of an entry."""
    records = tenant.store.load(tenant.name, session).records
    found = (record for record in records if isinstance(record, Kept) and record.entry == entry)
    return [blob for record in found for blob in record.blobs]


class Erasure(msgspec.Struct, frozen=True):
    """What is destroyed, and what stands in its place."""

    entry: str
    reason: str
    content: str
    calls: frozenset[str] = frozenset()
    """The calls in it: the placeholder of an output says what was asked."""

    @property
    def stub(self) -> str:
        """What is shown instead."""
        return f"[erased: {self.reason}]"

    def cleaned(self, value: Any) -> Any:
        """A value with the stub in the place of every text that holds a line of the content."""
        if isinstance(value, str):
            return (
                self.stub if any(line in value for line in self._pieces(self.content.splitlines())) else value
            )
        if isinstance(value, dict):
            return {key: self.cleaned(item) for key, item in value.items()}
        return [self.cleaned(item) for item in value] if isinstance(value, list | tuple) else value

    def unpinned(self, pinned: str) -> str:
        """Pinned lines, with the stub in the place of those that stand in the content."""
        lines = pinned.splitlines()
        kept = [self.stub if line.strip() and line in self.content else line for line in lines]
        return pinned if kept == lines else "\n".join(dict.fromkeys(kept))

    def unquoted(self, context: str | None) -> str | None:
        """A request's context, unless it shares a long word with the content: it may quote it."""
        shared = context is not None and any(word in context for word in self._pieces(self.content.split()))
        return self.stub if shared else context

    def _pieces(self, pieces: list[str]) -> list[str]:
        """Those that are long enough to be recognised."""
        return [piece for piece in pieces if len(piece.strip()) >= _RECOGNISED]


def _scrub(
    state: State, session: str, records: Sequence[Record], erasure: Erasure
) -> list[Record | None] | None:
    """Replace everything a session made from an entry: summaries, placeholders, answers, re-dressed bodies."""
    log = Log(state.log.tree, records)
    scrubbed = [_scrubbed(log, record, erasure) for record in records]
    if session != state.terms.name and scrubbed == list(records) and not _has(log, erasure.entry):
        return None
    return [*scrubbed, Erased(erasure.entry, erasure.reason)]


def _has(log: Log, id: str) -> bool:
    return id in log.times or id in log.redressed or id in log.tree.path(log.head)


def _scrubbed(log: Log, record: Record, erasure: Erasure) -> Record | None:
    match record:
        case Edited(decisions=decisions, time=time):
            return Edited(tuple(_blank(log, decision, erasure) for decision in decisions), time)
        case Answered(sources=sources) if erasure.entry in log.leaves(sources):
            return None
        case Redressed(entry=entry) if entry == erasure.entry:
            return Redressed(entry, log.tree[entry].message)
        case Sent(params=params, context=context):
            return msgspec.structs.replace(
                record, params=erasure.cleaned(params), context=erasure.unquoted(context)
            )
        case _:
            return without_content(record, erasure.entry, erasure.reason)


def _blank(log: Log, decision: Decision, erasure: Erasure) -> Decision:
    """The decision without anything that was made from the erased entry."""
    edit = decision.edit
    match edit:
        case Fold(covers=covers) if erasure.entry in log.leaves(covers):
            edit = Fold(covers, erasure.stub)
        case Mend(covers=covers, shows=shows) if erasure.entry in log.leaves(covers):
            edit = Mend(covers, tuple(_without(message, erasure) for message in shows))
        case Elide(address=address, ref=ref) if _tells_of(log, edit, erasure):
            edit = Elide(address, erasure.stub, ref)
        case Pin(text=str(pinned)):
            edit = Pin(text=erasure.unpinned(pinned))
    return msgspec.structs.replace(decision, edit=edit)


def _tells_of(log: Log, edit: Elide, erasure: Erasure) -> bool:
    """Whether a placeholder stands for the erased entry, or for what one of its calls gave."""
    if edit.entry == erasure.entry:
        return True
    return bool(erasure.calls) and any(
        result.call in erasure.calls for result in log.tree[edit.entry].message.results
    )


def _without(message: Message, erasure: Erasure) -> Message:
    parts = tuple(
        replaced(part, erasure.stub) if words(part) and words(part) in erasure.content else part
        for part in message.parts
    )
    return message if parts == message.parts else Message(message.role, parts)
