"""Outputs in a session: taken in whole, shaped once, shown by reference, found again."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sized
from itertools import accumulate
from os import PathLike
from queue import Full, Queue
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from fanfold.config.events import FilterFailed
from fanfold.core.edit import RECALL, REF, Decision, Elide
from fanfold.core.errors import BadArguments, BadInput, BadMessage, Closed
from fanfold.core.message import Call, Document, Image, Opaque, Result, Text, is_readable, text_of
from fanfold.core.record import Edited, Kept, Told
from fanfold.core.tree import Entry
from fanfold.outputs.filters.binary import note
from fanfold.outputs.filters.clip import Clip
from fanfold.outputs.filters.filter import Shaped, apply_filters, is_shortening
from fanfold.outputs.intake import INLINE, OutputIntake, file_chunks
from fanfold.outputs.references import keep, of_part
from fanfold.outputs.source import as_text, decode, encode
from fanfold.session.state import State
from fanfold.session.threads import STORE, STREAMS
from fanfold.stores.store import Blob, Tenant, holder_name
from fanfold.text.cutting import bytes_of
from fanfold.text.data import is_binary, is_text
from fanfold.text.json_text import to_json
from fanfold.text.plain import copy_plain, own, plain_text

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
Content = Text | Image | Document | Opaque
SHAPED_WHOLE = 16 << 20
"""Filters see the whole of a text up to this size; of a longer one, its beginning and its end are shown."""
_COUNTED = 32 * 1024
"""Characters that are counted at once."""


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


def take_in(state: State, output: Any) -> Taken:
    """Take in whatever a tool gave back; what is large goes to the store while it comes in."""
    if isinstance(output, Text):
        output = own_value(output, Text, "This output").text
    if isinstance(output, str):
        return _take_text(state, plain_text(output))
    if isinstance(output, bytes | bytearray | memoryview):
        return _take_stream(state, (bytes(output),))
    if isinstance(output, PathLike):
        with open(output, "rb") as file:
            return _take_stream(state, file_chunks(file))
    if callable(getattr(output, "read", None)):
        return _take_stream(state, file_chunks(output))
    if isinstance(output, Iterator):
        return _take_stream(state, output)
    return _take_parts(state, output)


def _take_text(state: State, text: str) -> Taken:
    if len(text) <= INLINE and (len(text) * 4 <= INLINE or len(encode(text)) <= INLINE):
        return Taken((Text(text),) if text else ())
    return _take_blob(state, OutputIntake((text,)), text)


def _take_stream(state: State, chunks: Iterable[Any]) -> Taken:
    intake = OutputIntake(chunks)
    if intake.short and not is_binary(intake.head):
        try:
            text = intake.head.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            pass  # neither binary nor UTF-8: kept byte by byte as a blob
        else:
            return Taken((Text(text),) if text else ())
    return _take_blob(state, intake)


def _take_blob(
    state: State, intake: OutputIntake, text: str | None = None, others: tuple[Content, ...] = ()
) -> Taken:
    """Keep an output as a blob, with another one that says where its lines begin; `text` is all of it, if at hand."""
    tenant, holder = state.terms.tenant, holder_name()
    try:
        blob = put_beside(tenant, intake.chunks(), holder)
        index = tenant.store.put_blob(tenant.name, (intake.index().packed(),), holder=holder)
        record = Kept(
            ref="",
            address="",
            blob=blob.id,
            size=intake.size,
            lines=intake.lines,
            media=intake.media,
            index=index.id,
        )
        if not is_text(record.media, record.size) or record.size > SHAPED_WHOLE:
            head = decode(intake.head)
            return Taken(parts=others, blob=record, head=head, tail=intake.tail, holder=holder)
        text = as_text(b"".join(tenant.store.get_blob(tenant.name, blob.id))) if text is None else text
    except BaseException:
        state.let_go(holder)
        raise
    return Taken(parts=others, blob=record, head=text, tail=text, whole=True, holder=holder)


def _take_parts(state: State, output: Any) -> Taken:
    if isinstance(output, Image | Document | Opaque):
        output = (output,)
    if isinstance(output, list | tuple) and any(isinstance(part, Content) for part in output):
        return _take_mixed(state, tuple(_part(one) for one in output))
    taken = _take_text(state, _as_json(output))
    if not isinstance(output, Mapping) or output.get("approve") is not True:
        return taken
    from fanfold.dialects.responses.write import approval  # late: few sessions speak this dialect

    return msgspec.structs.replace(taken, approval=approval(output))


def _part(one: Any) -> Content:
    """What stands in a list of parts: a part, a text, or something that JSON can write."""
    if isinstance(one, Content):
        return own_value(one, type(one), "This output")
    return Text(plain_text(one) if isinstance(one, str) else _as_json(one))


def _take_mixed(state: State, parts: tuple[Content, ...]) -> Taken:
    """Pictures beside text: a large text is kept as a blob, and shown beside the pictures.

    Not where a document has some of it: a blob would keep its words, and not its name.
    """
    text = _words(parts)
    if len(parts) == 1 and isinstance(parts[0], Text):
        return _take_text(state, text)
    if len(encode(text)) <= INLINE or any(isinstance(part, Document) and is_readable(part) for part in parts):
        return Taken(parts)
    others = tuple(part for part in parts if not isinstance(part, Text))
    return _take_blob(state, OutputIntake((text,)), text, others)


def _words(parts: Iterable[Content]) -> str:
    """The texts among some parts, joined, those of documents too."""
    return "\n".join([text_of(part) for part in parts if is_readable(part)])


def _as_json(output: Any) -> str:
    """As JSON; lone surrogates, NaN and Infinity stay what they are."""
    try:
        return to_json(copy_plain(output))
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise BadInput(
            "An output is text, bytes, a file, an iterator of chunks, parts or something JSON can write, "
            f"not {type(output).__name__}: {problem}."
        ) from problem


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """An output that is ready to be recorded: taken in, and shaped by the filters."""

    call: Call
    taken: Taken
    ref: str
    """The reference that it was shaped for."""
    parts: tuple[Content, ...]
    """What its entry holds of it: all, or a view of a blob that names the reference."""
    shape: Shaped
    """What the filters made of the parts."""
    blob: Kept | None = None


def shape(state: State, call: Call, taken: Taken) -> Arrival:
    """Let the filters see an output, once; what models read of a blob is put beside it."""
    ref, blob = state.log.next_ref("o"), taken.blob
    if blob is None:
        seen = _run_filters(state, Result(call.id, taken.parts, name=call.name), call, ref)
        return Arrival(call=call, taken=taken, ref=ref, parts=taken.parts, shape=seen)
    if not is_text(blob.media, blob.size):
        text, found = note(blob.media, blob.size).replace(REF, ref), Shaped(by="binary")
    elif taken.whole:
        text, found = _whole_view(state, taken, blob, call, ref)
    else:
        text, found = _end_view(state, taken, blob, call, ref)
    told = None if found.told is None else _put_told(state, taken, found.told, text)
    return Arrival(
        call=call,
        taken=taken,
        ref=ref,
        parts=(Text(text), *taken.parts),
        shape=Shaped(failed=found.failed),
        blob=replace(blob, by=found.by, told=told),
    )


def _whole_view(state: State, taken: Taken, blob: Kept, call: Call, ref: str) -> tuple[str, Shaped]:
    """What is shown of a text that filters see whole."""
    found = _shape_text(state, taken.head, call, ref)
    text = taken.head if found.text is None else found.text
    if len(encode(text)) <= INLINE:
        return text, found
    size, lines = blob.size, blob.lines
    if text is not taken.head:
        size, lines = bytes_of(text), text.count("\n") + (not text.endswith("\n"))
    text, by = _ends(state, text, text, lines, size, ref)
    return text, replace(found, by=", ".join(filter(None, (found.by, by))))


def _end_view(state: State, taken: Taken, blob: Kept, call: Call, ref: str) -> tuple[str, Shaped]:
    """What is shown of a text that is too large for filters: its ends, as the caller's filters leave them.

    They have not seen the rest, so no model gets it.
    """
    own = [one for one in state.terms.filters if not is_shortening(one)]
    text, by = _ends(state, taken.head, taken.tail, blob.lines, blob.size, ref, refers=not own)
    found = apply_filters(text, call.name, _arguments(call), own, ref) or Shaped()
    text = text if found.text is None else found.text
    by = ", ".join(filter(None, (by, found.by)))
    return text, replace(found, by=by, told=text if own else None)


def _ends(
    state: State, head: str, tail: str, lines: int, size: int, ref: str, *, refers: bool = True
) -> tuple[str, str]:
    """The beginning and the end of a text, and the filter that chose them."""
    clip = next((one for one in state.terms.filters if isinstance(one, Clip)), Clip())
    clip = replace(clip, refers=refers and state.has_recall_tools())
    ends = clip.ends(head, tail, lines, size)
    if ends == head:
        return ends, ""
    body, end, last = ends.rpartition("\n")
    return body + end + last.replace(REF, ref), clip.name


def _put_told(state: State, taken: Taken, text: str, shown: str) -> Told:
    """What models read in the place of a blob; a blob of its own where the entry shows only some of it."""
    if text == shown:
        return Told()
    tenant, intake = state.terms.tenant, OutputIntake((text,))
    blob = put_beside(tenant, intake.chunks(), taken.holder)
    index = tenant.store.put_blob(tenant.name, (intake.index().packed(),), holder=taken.holder)
    return Told(blob.id, intake.size, intake.lines, index.id)


def _shape_text(state: State, text: str, call: Call | None, ref: str) -> Shaped:
    """What the session's filters make of a text."""
    return apply_filters(text, call.name if call else "", _arguments(call), state.filters, ref) or Shaped()


def _arguments(call: Call | None) -> Mapping[str, Any]:
    try:
        return call.args if call else {}
    except BadArguments:
        return {}


def register(
    state: State,
    entry: Entry,
    calls: Mapping[str, Call] | None = None,
    blob: Kept | None = None,
    shape: Shaped | None = None,
) -> None:
    """Give the outputs of an entry their references, and let the filters shape them, unless that is done already.

    `calls` are those that waited for an answer; without any, the calls are looked for before the entry.
    """
    decisions: list[Decision] = []
    events: list[FilterFailed] = []
    for number, part in enumerate(state.log.message(entry.id).parts):
        address = f"{entry.id}#{number}"
        if not isinstance(part, Result) or address in state.log.addresses or entry.erased is not None:
            continue
        ref = state.log.next_ref("o")
        record = replace(blob, ref=ref, address=address) if blob else keep(ref, address, of_part(part))
        call = call_answered(state, entry, part.call) if calls is None else calls.get(part.call)
        found = shape or (Shaped() if blob else _run_filters(state, part, call, ref))
        if found.failed or (found.told is not None and not blob):
            told = record.told if blob or found.told is None else Told()
            record = replace(record, failed=tuple(map(str, found.failed)), told=told)
        state.write(record)
        for edit, why in _edits(found, part, address, ref):
            id = state.log.next_edit(len(decisions))
            decisions.append(Decision(id=id, at=entry.id, edit=edit, by="pass", why=why))
        tool = (call.name if call else part.name) or ""
        _tell_unread(state, part, tool)
        events += (FilterFailed(ref, tool, one.name, f"{one.kind}: {one.error}") for one in found.failed)
    if decisions:
        state.write(Edited(tuple(decisions), state.terms.clock()))
    state.tell(events)
    for event in events:
        state.warn(
            "the filter %s failed at output %s of %s (%s); it is shown without that filter.",
            event.name,
            event.ref,
            event.tool or "a tool",
            event.error.partition(":")[0],
        )


def _tell_unread(state: State, part: Result, tool: str) -> None:
    """Say what of an output the caller's own filters cannot be given."""
    kinds = [type(one).__name__.lower() for one in part.parts if not is_readable(one)]
    if kinds and tool not in RECALL and not all(map(is_shortening, state.terms.filters)):
        state.warn(
            "filters see text only, and outputs of %s have other parts (%s), which are sent as they are. If that must "
            "not be, turn them into text before they are answered.",
            tool or "a tool",
            ", ".join(sorted(set(kinds))),
            once=f"parts of the tool {tool}",
        )


def _edits(shape: Shaped, part: Result, address: str, ref: str) -> Iterator[tuple[Elide, str]]:
    """What is recorded of the filters: what the caller's own left, then what is shown of that."""
    if shape.text is None and shape.told is None:
        return
    edit = Elide(address, "", ref, beside=not _is_plain(part))
    if shape.told is not None:
        why = shape.why if shape.told == shape.text else shape.told_by
        yield replace(edit, text=shape.told, instead=True), why
    if shape.text is not None and shape.text != shape.told:
        yield replace(edit, text=shape.text), shape.why


def register_branch(state: State, entry: Entry, blobs: Mapping[str, Kept]) -> None:
    """The same for an entry that became a branch. Its references may have been given out by others meanwhile."""
    blob = next((kept for address, kept in blobs.items() if address.rpartition("#")[0] == entry.id), None)
    register(state, entry, blob=blob)
    now = state.log.addresses[blob.address] if blob else None
    if blob is not None and now is not None and now != blob.ref:
        body, end, last = entry.message.parts[0].text.rpartition("\n")  # type: ignore[union-attr]
        text = body + end + re.sub(rf"\b{blob.ref}\b", now, last)
        edit = Elide(blob.address, text, now)
        decision = Decision(id=state.log.next_edit(), at=entry.id, edit=edit, by="pass", why="branch")
        state.write(Edited((decision,), state.terms.clock()))


def call_answered(state: State, entry: Entry, id: str) -> Call | None:
    """The call that a result answers: the last one with this id before it."""
    at = entry.parent
    while at is not None:
        found = next((call for call in state.log.message(at).calls if call.id == id), None)
        if found is not None:
            return found
        at = state.log.tree[at].parent
    return None


def _run_filters(state: State, part: Result, call: Call | None, ref: str) -> Shaped:
    """What the filters make of the text of a result; what the model looked up stays as it is."""
    name = call.name if call else part.name
    text = _words(part.parts)
    if name in RECALL or not (text or _is_plain(part)):
        return Shaped()
    found = _shape_text(state, text, call, ref)
    if found.text is None or found.text == found.told:
        return found
    # A shaped text may not cost more than the whole, of which no more is counted than it takes to tell.
    count, whole = state.terms.meter.text, text if found.told is None else found.told
    most, pieces = count(found.text), (whole[at : at + _COUNTED] for at in range(0, len(whole), _COUNTED))
    lighter = any(total >= most for total in accumulate(map(count, pieces)))
    return found if lighter else replace(found, text=found.told, by=found.told_by)


def _is_plain(part: Result) -> bool:
    """Whether there is nothing but text in a result."""
    return all(map(is_readable, part.parts))


_AHEAD = 4
"""Chunks that may wait to be written."""
_END = object()


def put_beside(tenant: Tenant, chunks: Iterable[bytes], holder: str) -> Blob:
    """Keep and hold a blob; the chunks are made in this thread and written in another."""
    from concurrent.futures import ThreadPoolExecutor  # late: few outputs are that large

    waiting: Queue[Any] = Queue(_AHEAD)
    with ThreadPoolExecutor(1, "fanfold-blob") as pool:
        blob = pool.submit(tenant.store.put_blob, tenant.name, _drain(waiting), holder=holder)
        try:
            for chunk in chunks:
                _hand_over(waiting, chunk, blob)
                if blob.done():
                    break
        except BaseException as error:
            _hand_over(waiting, error, blob)
            raise
        _hand_over(waiting, _END, blob)
        return blob.result()


def _hand_over(waiting: Queue[Any], item: object, blob: Future[Blob]) -> None:
    """Put an item in the queue; stop waiting if nobody takes it any more."""
    while not blob.done():
        try:
            return waiting.put(item, timeout=0.2)
        except Full:
            continue
    return None


def _drain(waiting: Queue[Any]) -> Iterator[bytes]:
    while (item := waiting.get()) is not _END:
        if isinstance(item, BaseException):
            raise item
        yield item


AHEAD = 4 << 20
"""Bytes of an async iterator that are awaited in the event loop. Only for the rest of a longer one a thread waits."""
_EACH = 64
"""What a chunk takes beside its bytes."""
_LOOK = 1.0
"""After so many seconds without a chunk, the thread looks whether the event loop is still there."""


async def atake_in(state: State, output: Any, *, beside: bool = False) -> Taken:
    """Take in an output; streams and files are written in another thread, and so is everything with `beside`."""
    if isinstance(output, AsyncIterable):
        return await _pull(state, aiter(output))
    if isinstance(output, Iterator | PathLike) or hasattr(output, "read"):
        return await STREAMS.run(take_in, state, output)
    return await STORE.run(take_in, state, output) if beside else take_in(state, output)


async def _pull(state: State, chunks: AsyncIterator[Any]) -> Taken:
    """Take in an async iterator: no thread is held while the event loop waits for the first megabytes."""
    ahead: list[Any] = []
    room = AHEAD
    async for chunk in chunks:
        ahead.append(chunk)
        room -= _EACH + (len(chunk) if isinstance(chunk, Sized) else 0)
        if room < 0:
            break
    else:
        return await STORE.run(take_in, state, iter(ahead))
    source = Pulled(ahead, chunks)
    try:
        return await STREAMS.run(take_in, state, source)
    finally:
        source.stop()


class Pulled(Iterator[Any]):
    """The chunks of an async iterator, for a thread that waits for each of them."""

    def __init__(self, ahead: list[Any], chunks: AsyncIterator[Any]) -> None:
        import asyncio

        self._ahead = ahead[::-1]
        self._chunks = chunks
        self._loop = asyncio.get_running_loop()
        self._next: Future[Any] | None = None
        self._stopped = False

    def stop(self) -> None:
        """Nobody waits for the whole any more."""
        self._stopped = True
        if self._next is not None:
            self._next.cancel()

    def __next__(self) -> Any:
        import asyncio

        if self._ahead:
            return self._ahead.pop()
        done = object()
        self._next = asyncio.run_coroutine_threadsafe(_next(self._chunks, done), self._loop)
        chunk = self._wait_for(self._next)
        if chunk is done:
            raise StopIteration
        return chunk

    def _wait_for(self, coming: Future[Any]) -> Any:
        while not (self._stopped or self._loop.is_closed()):
            try:
                return coming.result(_LOOK)
            except TimeoutError:
                if coming.done():
                    raise  # the iterator's own
        coming.cancel()
        raise Closed("Nobody waits for this output any more.")


async def _next(chunks: AsyncIterator[Any], done: object) -> Any:
    return await anext(chunks, done)


def own_value(value: Any, kind: type[T], name: str) -> T:
    """The value as the session keeps it; `BadMessage` if something in it is not what it should be."""
    try:
        return own(value, kind)  # type: ignore[no-any-return]
    except ValueError as problem:
        raise BadMessage(f"{name} holds what it cannot hold: {problem}.") from problem
