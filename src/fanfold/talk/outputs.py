"""Outputs in a session: taken in whole, shaped once, shown by reference, found again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from os import PathLike
from typing import Any

import msgspec

from fanfold import tools
from fanfold.edit import Decision, Elide
from fanfold.errors import BadArguments, BadInput, Corrupt, Gone, NotFound
from fanfold.events import PassFailed
from fanfold.kinds import is_binary, is_text
from fanfold.message import Call, Document, Image, Opaque, Result, Text
from fanfold.outputs.index import LineIndex
from fanfold.outputs.intake import INLINE, Intake, file_chunks
from fanfold.outputs.output import Output
from fanfold.outputs.source import Held, Stored, decoded, encoded, text_of
from fanfold.passes.binary import note
from fanfold.passes.clip import Clip
from fanfold.passes.passing import Failure, Shaped, shaped
from fanfold.record import Edited, Kept
from fanfold.refs import RECALL, REF
from fanfold.shelf import behind, kept, line_count
from fanfold.stores.store import Tenant, holder_name
from fanfold.talk.owning import owned
from fanfold.talk.state import State
from fanfold.talk.writing import put_beside
from fanfold.tree import Entry
from fanfold.values import copied, plain_text

Content = Text | Image | Document | Opaque
SHAPED_WHOLE = 16 << 20
"""Passes see the whole of a text up to this size; of a longer one, its beginning and its end are shown."""
_COUNTED = 32 * 1024
"""Characters that are counted at once."""
_INDEXES = 8


class Taken(msgspec.Struct, frozen=True):
    """An output that was taken in: its parts, or the blob in which it lies whole."""

    parts: tuple[Content, ...] = ()
    """All of it; beside a blob, what is no text."""
    blob: Kept | None = None
    """A record without reference and address yet."""
    head: str = ""
    tail: str = ""
    whole: bool = False
    """Whether `head` is all of it."""
    holder: str = ""
    """Under this name the blob is held until it is recorded."""
    approval: tuple[Content, ...] = ()
    """What it says to a provider that asks whether it may call a tool of an MCP server; nothing denies."""


def taken(state: State, output: Any) -> Taken:
    """Take in whatever a tool gave back; what is large goes to the store while it comes in."""
    if isinstance(output, Taken):
        return output
    if isinstance(output, Text):
        output = owned(output, Text, "This output").text
    if isinstance(output, str):
        return _text(state, plain_text(output))
    if isinstance(output, bytes | bytearray | memoryview):
        return _stream(state, (bytes(output),))
    if isinstance(output, PathLike):
        with open(output, "rb") as file:
            return _stream(state, file_chunks(file))
    if callable(getattr(output, "read", None)):
        return _stream(state, file_chunks(output))
    if isinstance(output, Iterator):
        return _stream(state, output)
    return _parts(state, output)


def _text(state: State, text: str) -> Taken:
    if len(text) <= INLINE and (len(text) * 4 <= INLINE or len(encoded(text)) <= INLINE):
        return Taken((Text(text),) if text else ())
    return _put(state, Intake((text,)), text)


def _stream(state: State, chunks: Iterable[Any]) -> Taken:
    intake = Intake(chunks)
    if intake.short and not is_binary(intake.head):
        try:
            text = intake.head.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            pass  # neither binary nor UTF-8: kept byte by byte as a blob
        else:
            return Taken((Text(text),) if text else ())
    return _put(state, intake)


def _put(state: State, intake: Intake, text: str | None = None, others: tuple[Content, ...] = ()) -> Taken:
    """Keep an output as a blob, with another one that says where its lines begin; `text` is all of it, if at hand."""
    tenant, holder = state.terms.tenant, holder_name()
    try:
        blob = put_beside(tenant, intake.chunks(), holder)
        index = tenant.store.put_blob(tenant.name, (intake.index().packed(),), holder=holder)
        record = Kept("", "", blob.id, intake.size, intake.lines, intake.media, index.id)
        if not _is_shaped(record):
            return Taken(others, record, decoded(intake.head), intake.tail, False, holder)
        text = text_of(b"".join(tenant.store.get_blob(tenant.name, blob.id))) if text is None else text
    except BaseException:
        state.let_go(holder)
        raise
    return Taken(others, record, text, text, True, holder)


def _is_shaped(blob: Kept) -> bool:
    """Whether passes see the whole of it."""
    return is_text(blob.media, blob.size) and blob.size <= SHAPED_WHOLE


def _parts(state: State, output: Any) -> Taken:
    if isinstance(output, Image | Document | Opaque):
        output = (output,)
    if isinstance(output, list | tuple) and any(isinstance(part, Content) for part in output):
        parts = tuple(_part(one) for one in output)
        match parts:
            case (Text(text=text),):
                return _text(state, text)
        return _mixed(state, parts)
    taken = _text(state, _written(output))
    if not isinstance(output, Mapping) or output.get("approve") is not True:
        return taken
    from fanfold.codecs.openai_responses.calls import approval  # late: few sessions speak this dialect

    return msgspec.structs.replace(taken, approval=approval(output))


def _part(one: Any) -> Content:
    """What stands in a list of parts: a part, a text, or something that JSON can write."""
    if isinstance(one, Content):
        return owned(one, type(one), "This output")
    return Text(plain_text(one) if isinstance(one, str) else _written(one))


def _mixed(state: State, parts: tuple[Content, ...]) -> Taken:
    """Pictures beside text: a large text is kept as a blob, and shown beside the pictures."""
    text = _words(parts)
    if len(encoded(text)) <= INLINE:
        return Taken(parts)
    others = tuple(part for part in parts if not isinstance(part, Text))
    return _put(state, Intake((text,)), text, others)


def _words(parts: Iterable[Content]) -> str:
    """The texts among some parts, joined."""
    return "\n".join([part.text for part in parts if isinstance(part, Text)])


def _written(output: Any) -> str:
    """As JSON; lone surrogates, NaN and Infinity stay what they are."""
    import json

    try:
        return json.dumps(copied(output), ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise BadInput(
            "An output is text, bytes, a file, an iterator of chunks, parts or something JSON can write, "
            f"not {type(output).__name__}: {problem}."
        ) from problem


def shown(state: State, taken: Taken, call: Call, ref: str) -> tuple[tuple[Content, ...], Shaped]:
    """What an entry holds of an output, all of it or a view of a blob that names its reference; and who made that."""
    if taken.blob is None:
        return taken.parts, Shaped()
    found = (_shaped(state, taken.head, call, ref) if taken.whole else None) or Shaped()
    text, by = _view(state, taken, taken.blob, found, ref)
    return (Text(text), *taken.parts), msgspec.structs.replace(found, by=by)


def _view(state: State, taken: Taken, blob: Kept, found: Shaped, ref: str) -> tuple[str, str]:
    """What is shown of a blob, and the passes that made it."""
    if not is_text(blob.media, blob.size):
        return note(blob.media, blob.size).replace(REF, ref), "binary"
    text = taken.head if found.text is None else found.text
    if taken.whole and len(encoded(text)) <= INLINE:
        return text, found.by
    clip = next((one for one in state.terms.passes if isinstance(one, Clip)), Clip())
    ends = clip.ends(taken.head, taken.tail, blob.lines, blob.size)
    if ends == taken.head:
        return ends, ""
    body, end, last = ends.rpartition("\n")
    return body + end + last.replace(REF, ref), clip.name


def _shaped(state: State, text: str, call: Call | None, ref: str) -> Shaped | None:
    return shaped(text, call.name if call else "", _arguments(call), state.terms.passes, ref)


def _arguments(call: Call | None) -> Mapping[str, Any]:
    try:
        return call.args if call else {}
    except BadArguments:
        return {}


def arrived(
    state: State,
    entry: Entry,
    calls: Mapping[str, Call],
    blob: Kept | None = None,
    failed: tuple[Failure, ...] = (),
) -> None:
    """Give the outputs of an entry their references, and let the passes shape them, once."""
    decisions: list[Decision] = []
    events: list[PassFailed] = []
    for number, part in enumerate(entry.message.parts):
        address = f"{entry.id}#{number}"
        if not isinstance(part, Result) or address in state.log.addresses or entry.erased is not None:
            continue
        ref = state.log.next_ref("o")
        record = (
            msgspec.structs.replace(blob, ref=ref, address=address) if blob else kept(state.log, ref, address)
        )
        call = calls.get(part.call)
        shape = Shaped(failed=failed) if blob else _passed(state, part, call, ref)
        broke = tuple(map(str, shape.failed))
        state.write(msgspec.structs.replace(record, failed=broke) if broke else record)
        if shape.text is not None:
            id = state.log.next_edit(len(decisions))
            edit = Elide(address, shape.text, ref, beside=not _is_plain(part))
            decisions.append(Decision(id, entry.id, edit, "pass", shape.why))
        tool = (call.name if call else part.name) or ""
        events += (PassFailed(ref, tool, one.name, f"{one.kind}: {one.error}") for one in shape.failed)
    if decisions:
        state.write(Edited(tuple(decisions), state.terms.clock()))
    state.tell(*events)


def arrived_beside(state: State, entry: Entry, blobs: Mapping[str, Kept]) -> None:
    """The same for an entry that became a branch. Its references may have been given out by others meanwhile."""
    calls = {
        result.call: call for result in entry.message.results if (call := _asked(state, entry, result.call))
    }
    blob = next((kept for address, kept in blobs.items() if address.rpartition("#")[0] == entry.id), None)
    arrived(state, entry, calls, blob)
    now = state.log.addresses[blob.address] if blob else None
    if blob is not None and now is not None and now != blob.ref:
        body, end, last = entry.message.parts[0].text.rpartition("\n")  # type: ignore[union-attr]
        text = body + end + re.sub(rf"\b{blob.ref}\b", now, last)
        decision = Decision(state.log.next_edit(), entry.id, Elide(blob.address, text, now), "pass", "branch")
        state.write(Edited((decision,), state.terms.clock()))


def _asked(state: State, entry: Entry, id: str) -> Call | None:
    """The call that a result answers: the last one with this id before it."""
    at = entry.parent
    while at is not None:
        found = next((call for call in state.log.message(at).calls if call.id == id), None)
        if found is not None:
            return found
        at = state.log.tree[at].parent
    return None


def _passed(state: State, part: Result, call: Call | None, ref: str) -> Shaped:
    """What the passes make of the text of a result; what the model looked up stays as it is."""
    name = call.name if call else part.name
    text = _words(part.parts)
    if name in RECALL or not (text or _is_plain(part)):
        return Shaped()
    found = _shaped(state, text, call, ref) or Shaped()
    if found.text is not None and not _lighter(state, text, found.text):
        return Shaped(failed=found.failed)
    return found


def _is_plain(part: Result) -> bool:
    """Whether there is nothing but text in a result."""
    return all(isinstance(one, Text) for one in part.parts)


def _lighter(state: State, whole: str, text: str) -> bool:
    """Whether a shaped text costs no more than the whole one, of which no more is counted than it takes to tell."""
    count = state.terms.meter.text
    most = count(text)
    counts = (count(whole[at : at + _COUNTED]) for at in range(0, len(whole), _COUNTED))
    return any(total >= most for total in accumulate(counts))


def output(state: State, ref: str) -> Output:
    """What stands behind a reference: a tool's output, or what an edit hides (an edit's id does too)."""
    if not isinstance(ref, str):
        raise NotFound(_unknown(state, ref))
    if ref not in state.log.kept:
        state.read_whole()
    record = state.log.kept.get(ref)
    if record is None and ref in state.log.decisions:
        record = Kept(ref, ref)
    if record is None:
        raise NotFound(_unknown(state, ref))
    if record.gone is not None:
        raise Gone(f"The output {ref} was deleted on purpose ({record.gone}).")
    if record.blob is not None:
        return _stored(state, record)
    if not record.is_part or (record.entry in state.log.redressed and ref not in state.log.kept_at):
        state.read_whole()
    data, media = behind(state.log, record.address, state.log.kept_at.get(ref))
    return Output(ref, len(data), line_count(data), media, Held(data))


def _unknown(state: State, ref: object) -> str:
    known = [ref for ref, record in state.log.kept.items() if record.gone is None]
    there = f"{', '.join(known[-12:])} are the newest" if known else "there are none yet"
    return f"There is no output {str(ref)[:40]!r} in this conversation; {there}."


def _stored(state: State, record: Kept) -> Output:
    tenant = state.terms.tenant
    id = str(record.blob)

    def fetch(start: int, stop: int) -> Iterator[bytes]:
        return _blob(tenant, record.ref, id, start, stop)

    source = Stored(record.size, fetch)
    return Output(record.ref, record.size, record.lines, record.media, source, lambda: _index(state, record))


def _blob(tenant: Tenant, ref: str, id: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """A blob that a record refers to; where there is none, it was lost."""
    try:
        return tenant.store.get_blob(tenant.name, id, start, stop)
    except NotFound:
        raise Corrupt(f"The content of output {ref} is missing. `fanfold.doctor` says more.") from None


def _index(state: State, record: Kept) -> LineIndex | None:
    """Where the lines of a blob begin; the last few of these are kept at hand."""
    if record.index is None:
        return None
    known = state.indexes.get(record.index)
    if known is None:
        tenant = state.terms.tenant
        known = LineIndex.unpacked(b"".join(_blob(tenant, record.ref, record.index)))
        while len(state.indexes) >= _INDEXES:
            state.indexes.pop(next(iter(state.indexes)))
        state.indexes[record.index] = known
    return known


def outputs(state: State) -> list[Output]:
    """Everything that has a reference and is still there, newest first."""
    return list(_every(state))


def _every(state: State) -> Iterator[Output]:
    state.read_whole()
    refs = [ref for ref, record in state.log.kept.items() if record.gone is None]
    return (output(state, ref) for ref in reversed(refs))


def definitions(state: State) -> tuple[dict[str, Any], ...]:
    """The tools with which the model looks things up again, in this session's dialect."""
    return tools.definitions(state.codec.dialect)


def recall(state: State, call: Call) -> str:
    """What a recall tool answers to a call."""
    if not isinstance(call, Call) or not isinstance(call.raw, str):
        raise BadInput(f"Give the model's call, as `reply.calls` has it, not {type(call).__name__}.")
    try:
        arguments = call.args
    except BadArguments as error:
        return str(error)
    find: Callable[[str], Output] = lambda ref: output(state, ref)  # noqa: E731  one line says it
    return tools.answered(call.name, arguments, find, lambda: _searchable(state))


def _searchable(state: State) -> Iterator[Output]:
    """The outputs a search goes through: all but what the model looked up itself."""
    return (found for found in _every(state) if not _looked_up(state, state.log.kept[found.ref]))


def _looked_up(state: State, record: Kept) -> bool:
    """Whether it is what a recall tool answered. Calls are told apart by their place, for their ids may come again."""
    if not record.is_part or record.entry not in state.log.tree:
        return False
    number, parts = int(record.address.rpartition("#")[2]), state.log.message(record.entry).parts
    part = parts[number] if number < len(parts) else None
    if not isinstance(part, Result):
        return False
    call = _asked(state, state.log.tree[record.entry], part.call)
    return (call.name if call else part.name) in RECALL
