"""Finding outputs again by their references: for people whole, for models as the caller's filters left them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from fanfold.config.telemetry import recall_span
from fanfold.core.edit import RECALL
from fanfold.core.errors import BadArguments, BadInput, Corrupt, Gone, NotFound
from fanfold.core.message import Call, Message, Result, text_of
from fanfold.core.record import Kept
from fanfold.deferral.catalog import FINDING
from fanfold.outputs import recall as tools
from fanfold.outputs.output import Output
from fanfold.outputs.references import behind, line_count
from fanfold.outputs.source import BlobBytes, Held, LineIndex, encode
from fanfold.session.outputs import call_answered
from fanfold.session.state import State
from fanfold.session.undo import entry_named, names_no_message
from fanfold.stores.store import Tenant

_INDEXES = 8
"""The indexes of so many outputs are kept at hand."""


def output(state: State, ref: str, *, told: bool = False) -> Output:
    """What stands behind a reference: a tool's output, or what an edit hides (an edit's id does too).

    A person may give a message's id, or its beginning: it stands for the message's only output, or for all its words.
    `told`: for models, who get what the caller's filters left of an output.
    """
    if not isinstance(ref, str):
        raise NotFound(_no_output(state, ref))
    if ref not in state.log.kept:
        state.read_whole()
    record = state.log.kept.get(ref)
    if record is None and ref in state.log.decisions:
        record = Kept(ref, ref)
    if record is None and not told:
        found = _of_message(state, ref)
        if isinstance(found, Output):
            return found
        record = found
    if record is None:
        raise NotFound(_no_output(state, ref))
    if record.gone is not None:
        raise Gone(f"The output {ref} was deleted on purpose ({record.gone}).")
    changed = record.told if told else None
    if changed is not None and changed.blob is not None:
        told_of = replace(
            record, blob=changed.blob, size=changed.size, lines=changed.lines, index=changed.index
        )
        return _from_store(state, replace(told_of, media="text/plain"))
    if record.blob is not None and changed is None:
        return _from_store(state, record)
    replaced = record.entry in state.log.replaced and record.ref not in state.log.kept_at
    if not record.is_part or replaced or changed is not None:
        state.read_whole()
    data, media = behind(state.log, record.address, state.log.kept_at.get(record.ref), told=told)
    return Output(ref=record.ref, size=len(data), line_count=line_count(data), media=media, source=Held(data))


def _of_message(state: State, name: str) -> Kept | Output | None:
    """What a message's id, or its beginning, stands for: its only output, else all its words."""
    if not any(id.startswith(name) for id in state.path) or names_no_message(name):
        return None
    entry = entry_named(state, name, state.path)
    outputs = [one for one in state.log.kept.values() if one.is_part and one.entry == entry]
    if len(outputs) == 1:
        return outputs[0]
    data = encode(text_of(state.log.message(entry)))
    return Output(
        ref=name, size=len(data), line_count=line_count(data), media="text/plain", source=Held(data)
    )


def _no_output(state: State, ref: object) -> str:
    known = [ref for ref, record in state.log.kept.items() if record.gone is None]
    there = f"{', '.join(known[-12:])} are the newest" if known else "there are none yet"
    return f"There is no output {str(ref)[:40]!r} in this conversation; {there}."


def _from_store(state: State, record: Kept) -> Output:
    tenant = state.terms.tenant
    id = str(record.blob)

    def fetch(start: int, stop: int) -> Iterator[bytes]:
        return _blob(tenant, record.ref, id, start, stop)

    source = BlobBytes(record.size, fetch)
    return Output(
        ref=record.ref,
        size=record.size,
        line_count=record.lines,
        media=record.media,
        source=source,
        load=lambda: _index(state, record),
    )


def _blob(tenant: Tenant, ref: str, id: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """A blob that a record refers to; where there is none, it was lost."""
    try:
        return tenant.store.get_blob(tenant.name, id, start, stop)
    except NotFound:
        raise Corrupt(f"The content of output {ref} is missing. `fanfold doctor` says more.") from None


def _index(state: State, record: Kept) -> LineIndex | None:
    """Where the lines of a blob begin; the last few of these are kept at hand."""
    id, known = record.index, state.indexes
    if id is not None and id not in known:
        found = LineIndex.unpacked(b"".join(_blob(state.terms.tenant, record.ref, id)))
        while len(known) >= _INDEXES:
            known.pop(next(iter(known)))
        known[id] = found
    return None if id is None else known[id]


def outputs(state: State) -> list[Output]:
    """Everything that has a reference and is still there, newest first; what undone edits hid comes last."""
    return list(_every(state))


def _every(state: State, *, told: bool = False) -> Iterator[Output]:
    state.read_whole()
    newest = [ref for ref, record in reversed(state.log.kept.items()) if record.gone is None]
    undone = undone_behind(state)
    return (output(state, ref, told=told) for ref in sorted(newest, key=undone.__contains__))


def undone_behind(state: State) -> dict[str, str]:
    """The references to what an edit hid that was undone since, each with this edit."""
    dead = state.log.undone()
    return {ref: record.entry for ref, record in state.log.kept.items() if record.entry in dead}


def definitions(state: State) -> tuple[dict[str, Any], ...]:
    """The tools with which the model looks things up again, in this session's dialect."""
    return tools.definitions(state.dialect.name)


def recall(state: State, call: Call) -> str:
    """What a recall tool answers to a call."""
    if not isinstance(call, Call) or not isinstance(call.raw, str):
        raise BadInput(f"Give the model's call, as `reply.calls` has it, not {type(call).__name__}.")
    try:
        arguments = call.args
    except BadArguments as error:
        return str(error)

    def find(ref: str) -> Output:
        return output(state, ref, told=True)

    def searchable() -> Iterator[Output]:  # all but what the model looked up itself
        every = _every(state, told=True)
        return (found for found in every if not _is_recall(state, state.log.kept[found.ref]))

    with recall_span(state.terms.name, call) as told:
        answer = tools.answer(call.name, arguments, find, searchable)
        told.append(answer)
    return answer


def find_tool(state: State, call: Call) -> Message:
    """The message that answers a call of `find_tool`; recorded with `add`, it loads what it found."""
    if not isinstance(call, Call) or not isinstance(call.raw, str):
        raise BadInput(f"Give the model's call, as `reply.calls` has it, not {type(call).__name__}.")
    return state.deferral.answer(state.log.frame(), call)


def tool_answer(state: State, call: Call, loaded: Sequence[str]) -> Message | None:
    """The answer of a session whose tools wait: to a search for them, or to a call of one that is not loaded."""
    frame = state.log.frame()
    if not state.deferral.is_ours(frame):
        return None
    if call.name in FINDING:
        return state.deferral.answer(frame, call)
    return state.deferral.answer_early(frame, call, loaded)


def _is_recall(state: State, record: Kept) -> bool:
    """Whether it is what a recall tool answered. Calls are told apart by their place, for their ids may come again."""
    if not record.is_part or record.entry not in state.log.tree:
        return False
    number, parts = int(record.address.rpartition("#")[2]), state.log.message(record.entry).parts
    part = parts[number] if number < len(parts) else None
    if not isinstance(part, Result):
        return False
    call = call_answered(state, state.log.tree[record.entry], part.call)
    return (call.name if call else part.name) in RECALL
