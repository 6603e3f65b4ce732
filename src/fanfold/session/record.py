"""What happened: say, add, receive, answer."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self

from msgspec.structs import replace

from fanfold.config.telemetry import current_call
from fanfold.core.edit import RECALL
from fanfold.core.errors import BadInput, BadMessage, Gone, NotFound
from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text
from fanfold.core.record import Kept, Move, Replaced, Replied, Sent
from fanfold.core.tree import Entry
from fanfold.core.view import call_ids
from fanfold.dialects.detect import reply_dialect
from fanfold.dialects.dialect import Reply, plain
from fanfold.dialects.registry import DIALECTS
from fanfold.outputs.filters.filter import Shaped
from fanfold.session import find, outputs
from fanfold.session.bill import learn_from_bill, record_bill
from fanfold.session.branch import keep_aside
from fanfold.session.cache import tell_break
from fanfold.session.gc import entries_ever
from fanfold.session.outputs import own_value
from fanfold.session.sharing import share_room
from fanfold.session.state import State


def say(state: State, *parts: str | Part, again: bool = False) -> Entry:
    """A person speaks."""
    if not parts:
        raise BadMessage("Say something: a text, an image, a document.")
    return append(state, Message("user", tuple(_as_part(part) for part in parts)), again=again)


def _as_part(part: object) -> Part:
    if isinstance(part, str):
        return Text(part)
    if isinstance(part, Text | Image | Document | Opaque):
        return own_value(part, type(part), f"This {type(part).__name__}")
    raise BadMessage(
        f"A person says texts, images and documents, not {type(part).__name__}; `add` takes whole messages."
    )


def add(state: State, message: Any, *, again: bool = False) -> Entry:
    """A message of any role, as a dict, an SDK object or a `Message`."""
    if isinstance(message, Message):
        if not isinstance(message.parts, tuple):
            raise BadMessage("A message's parts are a tuple.")
        given = own_value(message, Message, "This message")
        _check_faithful(state, given)
    else:  # one that only refers to another message is refused by its dialect
        given = state.dialect.message(state.dialect.whole([message], lambda: ((), {}))[0])
    _admit(state, given)
    return append(state, given, again=again)


def _check_faithful(state: State, message: Message) -> None:
    """Refuse a message whose wire form says something else than its parts: people would see what is not sent."""
    reason = state.gauge.misread(message)
    if reason is not None:
        raise BadMessage(
            f"This message cannot be sent as it says: {reason}. Build it with wire=None, and its parts are sent; "
            "or add its wire.body alone, and that is."
        )


def _admit(state: State, message: Message) -> None:
    """Refuse what contradicts the conversation: a result nobody asked for, an id that is taken."""
    called, answered = call_ids((message,))
    for id in answered:
        if id not in state.open_calls or answered.count(id) > 1:
            raise BadMessage(_not_waiting(state, id))
    for id in called:
        if id in state.open_calls or called.count(id) > 1:
            raise BadMessage(f"The call id {id!r} is taken; every call needs its own.")


def _not_waiting(state: State, id: str) -> str:
    waiting = ", ".join(map(repr, state.open_calls)) or "none"
    return f"No call {id!r} waits for an answer here (waiting: {waiting}). Record the call first, and answer it once."


def receive(state: State, response: Any, to: object = None) -> Reply:
    """The model's reply; what was billed for it teaches the meter."""
    if not isinstance(response, Reply):
        if call := current_call():
            call.hear_origin(response)
        return _take_reply(state, read_reply(state, response), to)
    reply = own_value(response, Reply, "This reply")
    for message in reply.messages:
        _check_faithful(state, message)
    return _take_reply(state, reply, to)


def read_reply(state: State, response: Any) -> Reply:
    """The reply as this session's dialect reads it; of one in another dialect it is said which one that is."""
    try:
        return state.dialect.reply(response)
    except BadMessage as error:
        raise _another_dialect(state, reply_dialect(response)) or _refusal(response) or error from error


def _refusal(response: Any) -> BadMessage | None:
    """That an error came in the place of a reply, in the provider's words."""
    from fanfold.dialects.http.errors import words_of  # late: only wanted when something is wrong

    try:
        words = words_of(response if isinstance(response, dict | list) else plain(response))
    except BadMessage:
        return None
    if not words:
        return None
    return BadMessage(
        f"This is no reply but the provider's error: {words!r}. If the request was too long, give it to `refused`."
    )


def _another_dialect(state: State, came: str | None) -> BadMessage | None:
    """That a reply came in another dialect than this session speaks, and what to do."""
    spoken = state.dialect.name
    if came is None or came == spoken:
        return None
    return BadMessage(
        f"This is a reply in the dialect {came}, and the session {state.terms.name!r} speaks {spoken}. Open it with "
        f"dialect={came!r}; or send its requests with a client that speaks {spoken}."
    )


def hear(state: State, reply: Reply, to: object = None) -> Reply:
    """The model's reply, as this session's dialect read it from a stream."""
    return _take_reply(state, own_value(reply, Reply, "This reply"), to)


def _take_reply(state: State, reply: Reply, to: object) -> Reply:
    """Put a reply behind the request that it answers: at the head, or beside the path if the head moved on since."""
    if call := current_call():
        call.hear(reply)
    sent = _answered_request(state, to)
    if to is not None and sent is not None and sent.tip != state.log.head:
        return _take_aside(state, reply, sent)
    before, loaded = state.log.version, state.offer().loaded if state.has_waiting_tools else ()
    state.aftermath.refusals = 0
    entries = [append(state, message) for message in reply.messages]
    if reply.id is not None:
        state.write(Replied(reply.id, state.log.head))
    if reply.usage is not None and sent is not None:
        learn_from_bill(state, reply, sent, [entry.id for entry in entries], before)
        tell_break(state)
    return _answer_own(state, reply, loaded)


def _answered_request(state: State, to: object) -> Sent | None:
    """The request that a reply answers: the one that is named, else the last one."""
    if to is None:
        return state.log.sent[-1] if state.log.sent else None
    sent = to if isinstance(to, Sent) else getattr(to, "sent", None)
    if not isinstance(sent, Sent):
        raise BadInput(
            f"to= is what `request()` returned, not {type(to).__name__}: a copy of it has no `.sent`."
        )
    return sent


def _take_aside(state: State, reply: Reply, sent: Sent) -> Reply:
    """Keep a reply as a branch behind what was sent: the conversation went on without it, and its head stays."""
    head = keep_aside(state, sent.tip, reply.messages)
    if reply.id is not None:
        state.write(Replied(reply.id, head))
    state.aftermath.refusals = 0
    record_bill(state, reply, sent)
    return reply


def _answer_own(state: State, reply: Reply, loaded: Sequence[str]) -> Reply:
    """Answer at once what the session answers itself: recall, and the search for tools. The rest is the caller's."""
    answered: list[str] = []
    for call in reply.calls:
        if call.id in state.open_calls and _answers(state, call, loaded):
            answered.append(call.id)
    return replace(reply, recalled=tuple(answered)) if answered else reply


def _answers(state: State, call: Call, loaded: Sequence[str]) -> bool:
    """Answer a call, if that is the session's task; `loaded` are the waiting tools that the model had before it."""
    if state.recall and call.name in RECALL:
        taken = outputs.take_in(state, find.recall(state, call))
        state.hold(taken.holder)
        answer(state, outputs.shape(state, call, taken))
        return True
    if call.name in state.still.missing:
        text = f"{call.name} is not available at present. Do without it, or try again later."
        append(state, Message("tool", (Result(call.id, (Text(text),), True, call.name),)))
        return True
    message = find.tool_answer(state, call, loaded)
    if message is not None:
        append(state, message)
    return message is not None


def answer(state: State, arrival: outputs.Arrival, *, error: bool = False, again: bool = False) -> Entry:
    """What a tool gave back for a call, taken in and shaped before."""
    call, taken = open_call(state, arrival.call), arrival.taken
    if not isinstance(error, bool):
        raise BadInput(
            f"error says whether the tool failed, True or False, not {error!r}; what it said is the output."
        )
    if taken.approval and not error and _asks_for_approval(state, call):
        arrival = outputs.shape(state, call, replace(taken, parts=taken.approval, blob=None))
    elif arrival.ref != state.log.next_ref("o") or arrival.call != call:
        # Somebody else was quicker: the reference is taken, or the id is another call's by now.
        arrival = outputs.shape(state, call, taken)
    result = Result(call.id, arrival.parts, error, call.name)
    return append(state, Message("tool", (result,)), again=again, blob=arrival.blob, shape=arrival.shape)


def _asks_for_approval(state: State, call: Call) -> bool:
    """Whether a call is a provider's question whether it may call a tool of an MCP server."""
    for id in reversed(state.log.tree.path(state.log.head)):
        message = state.log.message(id)
        if any(asked.id == call.id for asked in message.calls):
            body = message.wire.body if message.wire else None
            return isinstance(body, dict) and body.get("type") == "mcp_approval_request"
    return False


def open_call(state: State, call: Call | str) -> Call:
    """The call that waits for this answer."""
    id = call.id if isinstance(call, Call) else call
    if not isinstance(id, str) or id not in state.open_calls:
        raise NotFound(_not_waiting(state, str(id)))
    return state.open_calls[id]


def append(
    state: State,
    message: Message,
    *,
    again: bool = False,
    resent: bool = False,
    blob: Kept | None = None,
    shape: Shaped | None = None,
) -> Entry:
    """Put a message at the head. What was erased here stays erased when a client re-sends it."""
    stub = _find_stub(state, message) if resent else None
    entry = stub or state.keeping.add(state.log.head, message)
    if entry.id in state.log.ahead:
        state.read_whole()
    if entry.id in state.log.tree.erased and not resent:
        entry = _again(state, entry, message, again)
    state.write(Move(entry.id, "append", state.log.head, state.terms.clock()))
    results = message.results
    waiting = {id: state.open_calls[id] for result in results if (id := result.call) in state.open_calls}
    state.note_calls(entry.message)
    if results:
        outputs.register(state, entry, waiting, blob, shape)
        share_room(state)
    return entry


def _find_stub(state: State, message: Message) -> Entry | None:
    """The stub of these words at the head, if they were erased here, or in this session before it was exported."""
    stub = state.tree.stub(state.log.head, message)
    if stub is None or (stub.imported and stub.id not in set(entries_ever(state.log))):
        return None
    made = state.tree.make(state.log.head, message)
    if made.id != stub.id or stub.erased is None:
        return stub
    # The words are at hand, so what is left of them is made from them: what is stored may have been made up.
    kept = stub.to_stub(stub.erased)
    left = replace(made.to_stub(stub.erased, stub.echoes), imported=stub.imported)
    same = (kept.message, kept.depth) == (left.message, left.depth)
    return stub if same else state.keeping.exchange(stub, left)


def _again(state: State, entry: Entry, message: Message, again: bool) -> Entry:
    if not again:
        raise Gone(
            f"This was said here before and erased ({state.log.tree.erased[entry.id]}). Say it with `again=True`."
        )
    state.read_whole()  # a client may have changed its body on a branch that was left since
    if entry.id in state.log.replaced:
        state.write(Replaced(entry.id, message))
    return state.keeping.restore(entry, message)


class Ear:
    """What both kinds of listening share."""

    reply: Reply | None = None
    """What the model said; there once the stream was left."""

    def __init__(self, state: State, stream: object, needs: str, wanted: str, *, owned: bool = False) -> None:
        if not hasattr(stream, needs):
            raise BadInput(f"Listen to a provider's stream: {wanted}, not to {type(stream).__name__}.")
        self._state = state
        self._assembly = state.dialect.assembly()
        # Events in plain dicts that nobody else has need not be copied, where the dialect can do without.
        self._feed = getattr(self._assembly, "take", self._assembly.feed) if owned else self._assembly.feed
        self._heard = False
        # The first event that tells its dialect decides; a plug-in's events may look like anybody's.
        self._unsure = state.dialect.name in DIALECTS

    def _hear(self, event: Any) -> Any:
        if self._unsure:
            came = reply_dialect(event)
            error = _another_dialect(self._state, came)
            if error is not None:
                raise error
            self._unsure = came is None
        if call := current_call():
            call.hear_origin(event)
        self._feed(event)
        self._heard = True
        return event

    def hear_all(self, events: Iterable[Any]) -> None:
        """Take in events that are all there: once the dialect is known, and if nobody watches, by themselves."""
        rest = iter(events)
        for event in rest:
            self._hear(event)
            if not self._unsure and current_call() is None:
                break
        for event in rest:
            self._feed(event)

    def _reply_so_far(self) -> Reply | None:
        """What is to be recorded; a stream that broke off is recorded as cut, one that never began not at all."""
        if not self._heard or self.reply is not None:
            return None
        reply = self._assembly.reply()
        said = self._assembly.complete or any(message.parts for message in reply.messages)
        return reply if said else None


class Listening(Ear):
    """`with chat.listen(stream) as events: for event in events: …`; then `events.reply`."""

    def __init__(
        self, state: State, stream: Iterable[Any], receive: Callable[[Reply], Reply], *, owned: bool = False
    ) -> None:
        super().__init__(state, stream, "__iter__", "an iterator of its events", owned=owned)
        self._stream = stream
        self._receive = receive

    def __iter__(self) -> Iterator[Any]:
        return (self._hear(event) for event in self._stream)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if (came := self._reply_so_far()) is not None:
                self.reply = self._receive(came)
        finally:
            close = getattr(self._stream, "close", None)
            if callable(close):
                close()


class AsyncListening(Ear):
    """`async with chat.listen(stream) as events: async for event in events: …`; then `events.reply`."""

    def __init__(
        self, state: State, stream: AsyncIterable[Any], receive: Callable[[Reply], Awaitable[Reply]]
    ) -> None:
        wanted = "an async iterator of its events, awaited where the SDK says so"
        super().__init__(state, stream, "__aiter__", wanted)
        self._stream = stream
        self._receive = receive

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for event in self._stream:
            yield self._hear(event)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if (came := self._reply_so_far()) is not None:
                self.reply = await self._receive(came)
        finally:
            close = getattr(self._stream, "close", None) or getattr(self._stream, "aclose", None)
            closing = close() if callable(close) else None
            if closing is not None and hasattr(closing, "__await__"):
                await closing
