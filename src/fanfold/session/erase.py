"""Erasing: the one way in which anything is destroyed, with everything that was made from it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from fanfold.core.draft import PINNED
from fanfold.core.edit import RECALL, SEARCH, Decision, Elide, Fold, Note, Pin, Repair, covers_of
from fanfold.core.errors import BadInput, Busy, FanfoldError
from fanfold.core.log import Log
from fanfold.core.message import Call, Message, Part, replace_part, text_of, user
from fanfold.core.record import Answered, Edited, Erased, Framed, Kept, Opened, Record, Replaced, Sent
from fanfold.core.tree import Entry
from fanfold.dialects.rules import MADE_UP
from fanfold.outputs.recall import ref_of
from fanfold.session.beside import NAMELESS, find_beside, notes_with, put_stub, with_stub, words_id, written
from fanfold.session.cause import retold
from fanfold.session.gc import (
    destroy,
    entries_ever,
    named_damage,
    read_log,
    renew_sessions,
    scouring,
    without_content,
)
from fanfold.session.quotes import stub_with_ref, without_call
from fanfold.session.state import State
from fanfold.session.traces import notes_from
from fanfold.session.undo import entry_named
from fanfold.stores.search import labels_in_words
from fanfold.stores.store import Hold, Scrub, Tenant


def erase(state: State, name: str, reason: str, was: Sequence[Message] = ()) -> str:
    """Destroy an entry's content, a system prompt, labels, contexts or what a person wrote, everywhere in the tenant.

    What was made from it goes with it. Done once more after it failed half-way, it does the rest. Where others have
    destroyed the entry already, `was` says what it was: what quotes it is found by that.
    """
    if not isinstance(reason, str) or not reason.strip():
        raise BadInput(f"Say in words why it is erased, not {reason!r}: the reason stands in its place.")
    state.read_whole()
    beside = find_beside(state, name) if isinstance(name, str) else None
    if beside is not None:
        return _erase_beside(state, beside, name, reason)
    kept = state.log.kept.get(name) if isinstance(name, str) else None
    id = kept.entry if kept is not None and kept.is_part else entry_named(state, name)
    tenant = state.terms.tenant
    with renew_sessions(tenant), scouring(tenant):
        held = [
            hold for entry in (*copies_of(tenant, id), id) for hold in _destroy(state, entry, reason, was)
        ]
    if held:
        raise _busy(tenant.name, held[-1])
    return id


def edits_along(state: State, names: Sequence[str]) -> list[str]:
    """Those of some names that are edits which nobody wrote, and that lose words when the others are erased."""
    state.read_whole()
    log = state.log
    found = [log.decisions[name] for name in dict.fromkeys(names) if name in log.decisions]
    automatic = {one.id: one for one in found if one.by != "person" or written(one) is None}
    others = [name for name in names if name not in automatic] if automatic else []
    erasures = [erasure for name in others for erasure in _erasures(state, name)]
    return [id for id, one in automatic.items() if any(blank(log, one, each) != one for each in erasures)]


def _erasures(state: State, name: str) -> Iterator[Erasure]:
    """What would be destroyed with a name, in this session."""
    log, beside = state.log, find_beside(state, name)
    for words in beside or ():
        stub = Entry(id=words_id(words), echo="", parent=None, depth=0, message=words)
        yield Erasure.of(log, stub, (words,))
    if beside is None:
        kept = log.kept.get(name)
        id = kept.entry if kept is not None and kept.is_part else entry_named(state, name)
        for entry in (id, *copies_of(state.terms.tenant, id)):
            if entry in log.tree:
                yield Erasure.of(log, log.tree[entry], log.bodies(entry))


def _erase_beside(state: State, words: Sequence[Message], name: str, reason: str) -> str:
    """Destroy system prompts, labels, contexts, or what a person wrote; returns what they were named by."""
    tenant = state.terms.tenant
    with renew_sessions(tenant), scouring(tenant):
        for message in words:
            entry = put_stub(tenant, state.terms.name, message, reason)
            scrub: Scrub = lambda session, records: _scrub(state, session, records, entry.id, (message,))  # noqa: E731, B023
            destroy(tenant, entry.id, reason, scrub, also=state.terms.name)
    return name


def _busy(tenant: str, hold: Hold) -> Busy:
    """Who is in the way, until when, and what to do if they died."""
    since, until = (datetime.fromtimestamp(time).strftime("%H:%M:%S") for time in (hold.since, hold.until))
    return Busy(
        f"The same output is being taken in by {hold.holder} since {since}. Erase once more when that is done. "
        f"If they died, their claim ends at {until}, or at once with `store.let_go({tenant!r}, {hold.holder!r})`."
    )


def _destroy(state: State, id: str, reason: str, was: Sequence[Message]) -> list[Hold]:
    """Destroy the content of one entry; returns who is about to need its blobs, which therefore stay."""
    tenant, store = state.terms.tenant, state.terms.tenant.store
    sessions = store.referring(tenant.name, [id])
    records = [record for session in sessions for record in store.load(tenant.name, session).records]
    kept = (record for record in records if isinstance(record, Kept) and record.entry == id)
    blobs = {blob for record in kept for blob in record.blobs}
    bodies = (tenant.tree[id].message, *was, *_bodies(records, id))
    scrub: Scrub = lambda session, records: _scrub(state, session, records, id, bodies)  # noqa: E731
    destroy(tenant, id, reason, scrub, also=state.terms.name)
    return store.drop_blobs(tenant.name, blobs) if blobs else []


def _bodies(records: Iterable[Record], entry: str) -> Iterator[Message]:
    """The bodies that clients sent in the place of an entry."""
    yield from (one.message for one in records if isinstance(one, Replaced) and one.entry == entry)


def _scrub(
    state: State, session: str, records: Sequence[Record], id: str, bodies: Sequence[Message]
) -> list[Record | None] | None:
    """Replace everything a session made from an entry: summaries, notes, placeholders, answers, replaced bodies."""
    with named_damage(session):
        log = Log(state.log.tree, records)
        erasure = Erasure.of(log, log.tree[id], (*bodies, *_bodies(records, id)))
        scrubbed = [_scrub_record(log, record, erasure) for record in records]
    has = id in log.times or id in log.replaced or id in log.tree.path(log.head)
    if session != state.terms.name and scrubbed == list(records) and not has:
        return None
    return [*scrubbed, Erased(id, str(erasure.entry.erased), state.terms.clock())]


def _scrub_record(log: Log, record: Record, erasure: Erasure) -> Record | None:
    match record:
        case Edited(decisions=decisions):
            return msgspec.structs.replace(
                record, decisions=tuple(blank(log, decision, erasure) for decision in decisions)
            )
        case Answered(sources=sources, text=text) if erasure.was_among(log, sources) or (
            erasure.is_beside and erasure.is_quoted(text)
        ):
            return None
        case Opened(labels=labels) if labels and labels_in_words(labels) == erasure.content:
            return msgspec.structs.replace(record, labels={})
        case Framed(frame=frame) if erasure.is_beside:
            return Framed(with_stub(log, frame, erasure.entry))
        case Sent(params=params, context=context):
            return msgspec.structs.replace(
                record, params=erasure.clean(params), context=erasure.clean_context(context)
            )
        case _:
            return without_content(record, erasure.entry)


_RECOGNISED = 8
"""A shorter piece may stand somewhere by chance; it is not taken for a copy of what is erased."""


class Erasure(msgspec.Struct, frozen=True):
    """What is destroyed, and what stands in its place."""

    entry: Entry
    """What is left of it."""
    content: str
    """All that can be read in any body that it had."""
    calls: frozenset[str]
    """The calls in it: the placeholder of an output says what was asked."""
    notes: frozenset[str]
    """The notes of this session that were made from it, and the folds that tell of it and hide it no more."""
    is_context: bool = False
    """Whether it is the context of a request: then nothing was made from it only because a word is the same."""

    @classmethod
    def of(cls, log: Log, entry: Entry, bodies: Iterable[Message]) -> Erasure:
        """The erasure of these bodies of an entry, as far as this session's log goes."""
        bodies, id = list(bodies), entry.id
        told = (log.decisions[edit].edit for edit in log.instead_of(id))
        texts = (edit.text for edit in told if isinstance(edit, Elide))
        content = "\n".join(dict.fromkeys((*(text_of(one, unescaped=True) for one in bodies), *texts)))
        calls = frozenset(call.id for body in bodies for call in body.calls)
        notes = notes_from(log, id)
        for note in (note for body in bodies for note in notes_with(log, body)):
            notes |= {note, *notes_from(log, log.decisions[note].at, log.born[note])}
        is_context = any(sent.context == content for sent in log.sent)
        return cls(entry, content, calls, notes | retold(log, id), is_context)

    @property
    def is_beside(self) -> bool:
        """Whether it may be a system prompt or a note: strategies may have quoted it where nothing says so."""
        return self.entry.parent is None and self.entry.message.role == "system"

    @property
    def stub(self) -> str:
        """What is shown instead."""
        return f"[erased: {self.entry.erased}]"

    def placeholder(self, edit: Elide) -> str:
        """What is shown instead of a placeholder that told of it, and that stands for something else."""
        return stub_with_ref(str(self.entry.erased), edit)

    def without_call(self, log: Log, edit: Elide, text: str) -> str:
        """What is shown of an output whose call is erased, without what quotes the call."""
        return self.clean_shown(without_call(log, edit, self.content, self.placeholder(edit), text))

    def was_among(self, log: Log, rows: Iterable[str]) -> bool:
        """Whether it, or a note that was made from it, stands in some rows or behind them."""
        behind = {*rows, *(under for row in rows for under in log.under(row))}
        return self.entry.id in log.leaves(behind) or not self.notes.isdisjoint(behind)

    def is_told_by(self, log: Log, fold: Decision) -> bool:
        """Whether a fold stands for it, says what a person wrote and is erased, or covers a fold that does."""
        under = log.leaves(covers_of(fold.edit)), log.under(fold.id)
        return self.entry.id in under[0] or not self.notes.isdisjoint((fold.id, *under[1]))

    def clean(self, value: Any) -> Any:
        """A value with the stub in the place of every text that holds a line of the content."""
        if isinstance(value, str):
            return self.stub if self.is_quoted(value) else value
        if isinstance(value, dict):
            return {key: self.clean(item) for key, item in value.items()}
        return [self.clean(item) for item in value] if isinstance(value, list | tuple) else value

    def clean_pinned(self, pinned: str) -> str:
        """Pinned lines, with the stub in the place of those that tell of the content."""
        lines = pinned.splitlines()
        kept = [self.stub if line.strip() and self.tells(line) else line for line in lines]
        return pinned if kept == lines else "\n".join(dict.fromkeys(kept))

    def unpin(self, pinned: str) -> str:
        """What is left of pinned lines without those that tell of the content: a stub would pin other stubs."""
        return "\n".join(line for line in pinned.splitlines() if not (line.strip() and self.tells(line)))

    def clean_shown(self, text: str) -> str:
        """What an edit shows, without pinned lines that tell of the content: they may have stood in a note."""
        told, heading, pinned = text.partition(PINNED)
        told = self.clean_note(told) if self.is_beside else told
        return f"{told}{heading}{self.clean_pinned(pinned)}"

    def clean_note(self, note: str) -> str:
        """A person's note, with the stub in the place of lines that quote the content."""
        return "\n".join(self.stub if self._quotes(line) else line for line in note.split("\n"))

    def clean_context(self, context: str | None) -> str | None:
        """A request's context, unless it is or quotes the content, or shares a long word with it: then it may."""
        if context is None or context == self.content:
            return context and self.stub
        shared = not self.is_context and any(word in context for word in self._pieces(self.content.split()))
        return self.stub if shared or self._quotes(context) else context

    def is_quoted(self, text: str) -> bool:
        """Whether a text holds a line of the content."""
        return any(line in text for line in self._pieces(self.content.splitlines()))

    def tells(self, text: str) -> bool:
        """Whether a text is a piece of the content, or holds a line of it."""
        return text in self.content or self.is_quoted(text)

    def _quotes(self, text: str) -> bool:
        """Whether a text, if it is long enough to be recognised, tells of the content."""
        return bool(self._pieces([text])) and self.tells(text.strip())

    def _pieces(self, pieces: list[str]) -> list[str]:
        """Those that are long enough to be recognised."""
        return [piece for piece in pieces if len(piece.strip()) >= _RECOGNISED]


def blank(log: Log, decision: Decision, erasure: Erasure) -> Decision:
    """The decision without anything that was made from the erased entry."""
    edit = decision.edit
    match edit:
        case Fold(covers=covers) if erasure.is_told_by(log, decision):
            edit = Fold(covers, erasure.stub)
        case Fold():
            edit = msgspec.structs.replace(edit, shows=_clean_shows(edit.shows, erasure))
        case Repair():
            edit = _clean_repair(log, edit, erasure)
        case Elide(entry=entry) if entry == erasure.entry.id:
            edit = msgspec.structs.replace(edit, text=erasure.stub)
        case Elide() if _tells_of(log, edit, erasure):
            edit = msgspec.structs.replace(edit, text=erasure.without_call(log, edit, edit.text))
        case Elide(text=text):
            edit = msgspec.structs.replace(edit, text=erasure.clean_shown(text))
        case Note(name=name, text=text) if decision.id in erasure.notes:
            own = decision.by == "person" and text == erasure.content  # its name is a person's word, too
            edit = msgspec.structs.replace(edit, name=NAMELESS if own else name, text=erasure.stub)
        case Note(text=text):
            edit = msgspec.structs.replace(edit, text=erasure.clean_note(text))
        case Pin(text=str(pinned)):
            edit = Pin(text=erasure.unpin(pinned))
    return msgspec.structs.replace(decision, edit=edit)


def _clean_shows(shows: str | tuple[Message, ...], erasure: Erasure) -> str | tuple[Message, ...]:
    if isinstance(shows, str):
        return erasure.clean_shown(shows)
    plain = ((message, message == user(message.text)) for message in shows)
    return tuple(user(erasure.clean_shown(one.text)) if is_plain else one for one, is_plain in plain)


def _tells_of(log: Log, edit: Elide, erasure: Erasure) -> bool:
    """Whether a placeholder stands for the erased entry, or for what one of its calls gave."""
    if edit.entry == erasure.entry.id or not erasure.calls:
        return edit.entry == erasure.entry.id
    return any(result.call in erasure.calls for result in log.tree[edit.entry].message.results)


def _clean_repair(log: Log, repair: Repair, erasure: Erasure) -> Repair:
    """A repair without what it shows of the erased entry, or tells of its calls where it shows what they gave."""
    leaves, others = log.leaves(repair.covers), list(_others(log, repair, erasure))
    if erasure.entry.id in leaves:
        return Repair(repair.covers, tuple(_of_others(message, erasure, others) for message in repair.shows))
    told = [edit for edit in _placeholders(log, leaves) if _tells_of(log, edit, erasure)]

    def without_placeholder(part: Part) -> Part:  # the pictures beside it are nothing that was erased
        text = text_of(part)
        found = next((edit for edit in told if edit.text and edit.text in text), None)
        if found is None:
            return part
        left = erasure.without_call(log, found, text)
        return part if left == text else replace_part(part, left, beside=True)

    shows = []
    for message in (_drop_taken(message, erasure, others) for message in repair.shows):
        parts = tuple(map(without_placeholder, message.parts))
        shows.append(message if parts == message.parts else Message(message.role, parts))
    return Repair(repair.covers, tuple(shows))


def _placeholders(log: Log, entries: Container[str]) -> list[Elide]:
    edits = (decision.edit for decision in log.decisions.values())
    return [edit for edit in edits if isinstance(edit, Elide) and edit.entry in entries]


def _others(log: Log, repair: Repair, erasure: Erasure) -> Iterator[Message]:
    """What a repair may show that was not made from the erased entry."""
    leaves = log.leaves(repair.covers) - {erasure.entry.id}
    for id in dict.fromkeys((*repair.covers, *(row for cover in repair.covers for row in log.under(cover)))):
        decision = log.decisions.get(id)
        if decision is None:
            continue
        if isinstance(decision.edit, Fold) and erasure.entry.id not in log.leaves((id,)):
            yield from decision.edit.messages
    for id in leaves:
        yield from log.bodies(id)
    told = (edit for edit in _placeholders(log, leaves) if not _tells_of(log, edit, erasure))
    yield from (user(edit.text) for edit in told)


def _of_others(message: Message, erasure: Erasure, others: Sequence[Message]) -> Message:
    """A message with a stub in the place of every part that nobody else said: a repair may have changed its words."""
    if message in others:
        return message
    said = [part for other in others for part in other.parts]
    return _stub_parts(message, erasure, [not _is_said(part, erasure, said) for part in message.parts])


def _is_said(part: Part, erasure: Erasure, said: Sequence[Part]) -> bool:
    """Whether a part is one that was said, perhaps with words added or taken away, and not by the erased entry."""
    text = text_of(part)
    if part in said or text in MADE_UP:
        return True
    if not text or erasure.tells(text):
        return False
    told = (text_of(other) for other in said)
    return any(text in other or (len(other) >= _RECOGNISED and other in text) for other in told)


def _drop_taken(message: Message, erasure: Erasure, others: Sequence[Message]) -> Message:
    """A message without what it took from the erased entry, which its repair does not cover: once, repairs did that."""
    said = [text_of(part) for other in others for part in other.parts]

    def is_taken(text: str) -> bool:
        """Whether it tells of the erased entry, and neither is what others said nor holds it."""
        if not text or text in MADE_UP or not erasure.tells(text):
            return False
        return not any(text in other or (other and other in text) for other in said)

    taken = [is_taken(text_of(part)) for part in message.parts]
    return _stub_parts(message, erasure, taken) if any(taken) else message


def _stub_parts(message: Message, erasure: Erasure, which: Sequence[bool]) -> Message:
    """The message with a stub in the place of some parts; its wire form, which has them too, is gone then."""
    if not any(which) and message.parts:
        return message
    parts = zip(message.parts, which, strict=True)
    return Message(
        message.role, tuple(replace_part(part, erasure.stub) if gone else part for part, gone in parts)
    )


_FOUND = re.compile(r"^([om]\d+):\d+:", re.MULTILINE)
"""How an answer of the search over all outputs begins a line."""


def copies_of(tenant: Tenant, id: str) -> tuple[str, ...]:
    """The entries of a tenant's sessions in which a recall tool gave back some of an entry, or of such an answer.

    All of them are in sessions that have the entry: a recall tool gives back what its own session has.
    """
    logs = [read_log(tenant, session) for session in tenant.store.referring(tenant.name, [id])]
    found: dict[str, None] = {}
    todo = [id]
    while todo:
        source = todo.pop()
        new = {copy for log in logs for copy in _find_recalls(log, source)} - {id, *found}
        found.update(dict.fromkeys(sorted(new)))
        todo.extend(new)
    return tuple(found)


def _find_recalls(log: Log, id: str) -> Iterator[str]:
    """The entries of one session that answer a recall tool's call with some of an entry."""
    refs = {kept.ref for kept in log.kept.values() if id in log.leaves((kept.entry,))}
    refs |= {edit for edit in log.decisions if id in log.leaves((edit,))}
    entries = list(entries_ever(log)) if refs else []
    messages = [(entry, message) for entry in entries for message in log.bodies(entry)]
    asked = [call for _, message in messages for call in message.calls if call.name in RECALL]
    for entry, message in messages:
        answered = {result.call for result in message.results}
        if any(call.id in answered and _refs_in(call, message) & refs for call in asked):
            yield entry


def _refs_in(call: Call, answer: Message) -> set[str]:
    """The references that a recall tool's answer was made from."""
    if call.name == SEARCH:
        return {ref for result in answer.results for ref in _FOUND.findall(result.text)}
    try:
        return {ref_of(call.args)}
    except FanfoldError:
        return set()
