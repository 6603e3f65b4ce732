"""The adapter: everything that integrations do alike. A framework adds only its own messages and hooks.

A framework is about to send its history to a model. An integration says so in an `Outgoing`; the adapter returns an
`Adapted`, whose messages are sent instead. A message of which nothing changed is the framework's own object, with all
that it carries. Only what changed is built anew. The framework's own history stays as it is.

    adapter = Adapter(store="sqlite:agent.db")
    adapted = adapter.fit(Outgoing(session="thread-1/agent", messages=history, converter=Converted()))
    reply = model(adapted.messages)
    adapter.receive(adapted, Heard(messages=[reply], usage=bill))

`fit` called twice with the same history returns the same, and writes nothing the second time. `call` does all three,
and tries again with less where the provider says that it is too long. Every verb has an awaited twin: `afit`.
A new framework is a `Converter` and a hook; `fanfold.testing.check_integration` proves it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from logging import getLogger
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from fanfold.core.errors import BadInput, BadMessage
from fanfold.core.ids import digest
from fanfold.core.message import Call, Message, Thinking
from fanfold.core.record import TokenUsage
from fanfold.dialects.dialect import Reply
from fanfold.dialects.refusals import refusal
from fanfold.dialects.registry import dialect_named
from fanfold.dialects.tools import Function, function_names
from fanfold.integrations.laying import Build, lay_back
from fanfold.outputs.recall import FUNCTIONS
from fanfold.session.merge import Merged
from fanfold.session.pool import Lease, Pool
from fanfold.session.request import SentRequest
from fanfold.session.steps import Steps, aplay, play
from fanfold.stores.store import Store
from fanfold.text.json_text import to_json
from fanfold.tokens.models import kin

M = TypeVar("M")
R = TypeVar("R")
K = TypeVar("K")
V = TypeVar("V")
RECALL_TOOLS: tuple[Function, ...] = FUNCTIONS
"""The tools with which a model looks up what it no longer sees. An integration offers them as its framework does."""
_KEPT_NAMES = 10_000
"""For this many sessions the adapter remembers what they were opened with. A forgotten one is opened with the user's
options alone until its next request."""
_TRIES = 8
"""A history is adopted at most this many times when somebody else uses the session at the same moment."""
_LOG = getLogger("fanfold.integrations")


class Converter(Protocol[M]):
    """How a framework's messages are written in a dialect, and built from it.

    One with `one_result = True` is for a framework whose messages hold one result of a tool each: where the provider
    wants several of them joined, they are built one by one.
    """

    @property
    def dialect(self) -> str:
        """The dialect in which `body` tells a message."""

    def body(self, message: M) -> dict[str, Any]:
        """A message as one wire message of the dialect; the same message always becomes the same."""

    def build(self, shown: Message, wire: Any, was: M | None) -> M:
        """A framework's message for what is shown: given as parts, and as the dialect writes it.

        `was` is the framework's own message that stands there, of which the new one keeps what it can; it must not be
        changed. None where there is no such message: a summary, a note.
        """


class Outgoing(msgspec.Struct, Generic[M], frozen=True, kw_only=True):
    """What a framework is about to send."""

    session: str
    """The name of the session: the same for every request of a conversation, such as thread and agent."""
    messages: Sequence[M]
    """The history, without the system prompt."""
    converter: Converter[M]
    system: Any = None
    """The system prompt: a text, or what the dialect takes."""
    tools: Sequence[Mapping[str, Any]] = ()
    """Tool definitions in the form of any dialect."""
    params: Mapping[str, Any] = {}
    """What else goes into the request and counts: the schema of a structured reply, settings of thinking."""
    max_tokens: int | None = None
    """The most that the reply may be, if the framework says so."""
    options: Mapping[str, Any] = {}
    """What the framework knows that `fanfold.open` takes: `model`, and `window` for a model that fanfold does not know.
    What the user gave wins."""


class Adapted(msgspec.Struct, Generic[M], frozen=True, kw_only=True):
    """What is to be sent instead."""

    outgoing: Outgoing[M]
    messages: list[M]
    request: SentRequest | None
    """The same in the dialect, with its parameters; None where there was nothing to send."""

    @property
    def changed(self) -> bool:
        """Whether any message differs from the framework's own."""
        own = self.outgoing.messages
        return len(self.messages) != len(own) or any(
            a is not b for a, b in zip(self.messages, own, strict=True)
        )

    @property
    def pauses_thinking(self) -> bool:
        """Whether the model must be asked without thinking, this once.

        Claude refuses to think in the middle of a loop of tools that began without it.
        """
        thinking = self.request.get("thinking") if self.request is not None else None
        asked = self.outgoing.params.get("thinking")
        return bool(asked) and thinking != asked and (thinking or {}).get("type") == "disabled"


class Heard(msgspec.Struct, Generic[M], frozen=True, kw_only=True):
    """What the model answered."""

    messages: Sequence[M]
    usage: TokenUsage | None = None
    stop: str | None = None
    id: str | None = None


class Newest(OrderedDict[K, V]):
    """A table that keeps only its newest entries: an integration remembers what is under way, and must not grow."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def keep(self, key: K, value: V) -> None:
        """Keep an entry; if there are too many, the oldest is removed."""
        self[key] = value
        self.move_to_end(key)
        while len(self) > self._most:
            self.popitem(last=False)


class FrameworkHook:
    """What every hook offers to users: its sessions, and closing them."""

    _adapter: Adapter

    def session(self, name: str) -> Lease:
        """A session by its name, to look, pin or undo in it by `with` or `async with`."""
        return self._adapter.session(name)

    def close(self) -> None:
        """Close all sessions. Where the store keeps them, they can be opened again by their names."""
        self._adapter.close()


class Adapter:
    """The sessions of one integration, in one pool. `options` are those of `fanfold.open` and `fanfold.Pool`.

    `recall=False` offers no recall tools. `too_long` are errors of the framework that say "too long" by their kind.
    """

    def __init__(
        self,
        store: Store | str | None = None,
        *,
        recall: bool = True,
        too_long: tuple[type[Exception], ...] = (),
        **options: Any,
    ) -> None:
        # The framework runs the recall tools like its own, so that its history has their calls and answers.
        self.pool = Pool(store, **{**options, "recall": False})
        self._options, self._recall, self._too_long = options, recall, too_long
        self._given = Newest[str, dict[str, Any]](_KEPT_NAMES)
        """What each session was last opened with."""
        self._warned = set[str]()

    @property
    def recall_tools(self) -> tuple[Function, ...]:
        """The recall tools that the model is to be offered."""
        return RECALL_TOOLS if self._recall else ()

    def session(self, name: str) -> Lease:
        """A session, to look, pin or undo in it by `with` or `async with`."""
        return self.pool.session(name, **self._given.get(name, {}))

    def fit(self, outgoing: Outgoing[M]) -> Adapted[M]:
        """Adopt the history, and make it fit."""
        with self._lease(outgoing) as chat:
            return play(self._fit(chat, outgoing))

    async def afit(self, outgoing: Outgoing[M]) -> Adapted[M]:
        """The same, awaited."""
        async with self._lease(outgoing) as chat:
            return await aplay(self._fit(chat, outgoing))

    def receive(self, adapted: Adapted[M], heard: Heard[M]) -> None:
        """Record a reply, and learn from its bill. A reply that comes again is recorded once."""
        if adapted.request is not None:
            with self._lease(adapted.outgoing) as chat:
                chat.receive(_reply(adapted, heard), to=adapted.request)

    async def areceive(self, adapted: Adapted[M], heard: Heard[M]) -> None:
        """The same, awaited."""
        if adapted.request is not None:
            async with self._lease(adapted.outgoing) as chat:
                await chat.receive(_reply(adapted, heard), to=adapted.request)

    def refused(self, adapted: Adapted[M], error: Exception) -> Adapted[M] | None:
        """Something smaller to send, if the provider said "too long"; None if it said something else."""
        with self._lease(adapted.outgoing) as chat:
            return play(self._smaller(chat, adapted.outgoing, error))

    async def arefused(self, adapted: Adapted[M], error: Exception) -> Adapted[M] | None:
        """The same, awaited."""
        async with self._lease(adapted.outgoing) as chat:
            return await aplay(self._smaller(chat, adapted.outgoing, error))

    def call(
        self, outgoing: Outgoing[M], send: Callable[[Adapted[M]], R], heard: Callable[[R], Heard[M] | None]
    ) -> R:
        """Send a history that fits, with less of it where the provider says "too long", and record the reply."""
        adapted, response = self.ask(self.fit(outgoing), send)
        said = heard(response)
        if said is not None:
            self.receive(adapted, said)
        return response

    async def acall(
        self,
        outgoing: Outgoing[M],
        send: Callable[[Adapted[M]], Awaitable[R]],
        heard: Callable[[R], Heard[M] | None],
    ) -> R:
        """The same, awaited."""
        adapted, response = await self.aask(await self.afit(outgoing), send)
        said = heard(response)
        if said is not None:
            await self.areceive(adapted, said)
        return response

    def ask(self, adapted: Adapted[M], send: Callable[[Adapted[M]], R]) -> tuple[Adapted[M], R]:
        """Send it, with less each time the provider says "too long". Returns what was sent at last, and the response.

        For a hook that cannot use `call`, because it fits, sends and hears in places of their own.
        """
        while True:
            try:
                return adapted, send(adapted)
            except Exception as error:
                smaller = self.refused(adapted, error)
                if smaller is None:
                    raise
                adapted = smaller

    async def aask(
        self, adapted: Adapted[M], send: Callable[[Adapted[M]], Awaitable[R]]
    ) -> tuple[Adapted[M], R]:
        """The same, awaited."""
        while True:
            try:
                return adapted, await send(adapted)
            except Exception as error:
                smaller = await self.arefused(adapted, error)
                if smaller is None:
                    raise
                adapted = smaller

    def recall(self, session: str, tool: str, arguments: object) -> str:
        """What a recall tool answers; whatever a model asks for, it gets a text that it can act on.

        `arguments` are what the model wrote: a text, or what the framework read from it, be it an object or not.
        """
        with self.session(session) as chat:
            return chat.recall(Call("recall", tool, _as_text(arguments)))

    async def arecall(self, session: str, tool: str, arguments: object) -> str:
        """The same, awaited; a search does not hold the event loop."""
        async with self.session(session) as chat:
            return await chat.recall(Call("recall", tool, _as_text(arguments)))

    def warn(self, sentence: str) -> None:
        """Tell the user something in the log, once."""
        if sentence not in self._warned:
            self._warned.add(sentence)
            _LOG.warning(sentence)

    def close(self) -> None:
        """Close all sessions. Where the store keeps them, they can be opened again by their names."""
        self.pool.close()

    async def aclose(self) -> None:
        """The same, awaited."""
        await self.pool.__aexit__()

    def _lease(self, outgoing: Outgoing[Any]) -> Lease:
        fixed = {"window", "budget"} if {"window", "budget"} & self._options.keys() else set[str]()
        known = {
            key: value
            for key, value in _framework_options(outgoing).items()
            if key not in self._options.keys() | fixed
        }
        given = {**known, "dialect": outgoing.converter.dialect}
        self._given.keep(outgoing.session, given)
        return self.pool.session(outgoing.session, **given)

    def _fit(self, chat: Any, outgoing: Outgoing[M]) -> Steps[Adapted[M]]:
        """Adopt the history and write the request, as one: where somebody else came between, do it again."""
        converter = outgoing.converter
        as_it_is = Adapted(outgoing=outgoing, messages=list(outgoing.messages), request=None)
        if not outgoing.messages:
            return as_it_is
        most = self._reply_room(outgoing)
        bodies = [converter.body(message) for message in outgoing.messages]
        transcript = _write_transcript(converter.dialect, outgoing.system, outgoing.tools, bodies)
        for _ in range(_TRIES):
            try:
                merged: Merged = yield partial(chat.merge, transcript)
            except BadMessage as error:  # perhaps the provider takes it
                self.warn(
                    f"A message cannot be read, so the history is sent as it is, and not shortened: {error}"
                )
                return as_it_is
            request: SentRequest = yield partial(chat.request, max_tokens=most, **outgoing.params)
            if _ends_alike(request, merged):
                return Adapted(
                    outgoing=outgoing, messages=_laid_back(request, merged, outgoing), request=request
                )
        raise BadInput(
            f"The session {outgoing.session!r} is used by several conversations at once. Give each a name of its own."
        )

    def _reply_room(self, outgoing: Outgoing[Any]) -> int | None:
        """What a reply may take of the window: frameworks ask for as much as a model can say, whatever the window.

        At most a quarter, so that a history has room beside it in a window that the user made small.
        """
        window = self._options.get("window") or _framework_options(outgoing).get("window")
        try:  # some frameworks pass on whatever their user gave
            most = int(outgoing.max_tokens) if outgoing.max_tokens is not None else None
        except (TypeError, ValueError):
            return None
        return most if most is None or window is None else min(most, int(window) // 4)

    def _smaller(self, chat: Any, outgoing: Outgoing[M], error: Exception) -> Steps[Adapted[M] | None]:
        vague = isinstance(error, self._too_long) and refusal(error) is None
        if not (yield partial(chat.refused, "prompt is too long" if vague else error)):
            return None
        return (yield from self._fit(chat, outgoing))


def _write_transcript(dialect: str, system: Any, tools: Sequence[Any], bodies: list[Any]) -> dict[str, Any]:
    """A request of a dialect with these messages, system prompt and tools in it."""
    spoken = {"tools": [dict(tool) for tool in tools]} if tools else {}
    if dialect == "openai.chat":
        leading = [{"role": "system", "content": system}] if system else []
        return {"messages": [*leading, *bodies], **spoken}
    if dialect == "anthropic":
        return {"messages": bodies, **({"system": system} if system else {}), **spoken}
    if dialect == "openai.responses":
        return {"input": bodies, **({"instructions": system} if system else {}), **spoken}
    if dialect == "gemini":
        said = {"parts": [{"text": system}]} if isinstance(system, str) else system
        return {"contents": bodies, **({"systemInstruction": said} if said else {}), **spoken}
    raise BadInput(f"The adapter writes no transcript in the dialect {dialect!r}.")


def split_leading(messages: Sequence[M], is_system: Callable[[M], bool]) -> tuple[list[M], list[M]]:
    """The system messages before the conversation, which are its prompt, and all others."""
    leading = list(takewhile(is_system, messages))
    return leading, list(messages[len(leading) :])


def _framework_options(outgoing: Outgoing[Any]) -> dict[str, Any]:
    """What the framework knows; of a model that fanfold knows, fanfold knows the window better."""
    known = {key: value for key, value in outgoing.options.items() if value is not None}
    if kin(known.get("model")) is not None:
        known.pop("window", None)
    return known


def session_name(*parts: object) -> str:
    """The name of a session, made of what identifies its conversation: thread, agent."""
    return "/".join(str(part) for part in parts if part not in (None, ""))


def name_by_content(converter: Converter[M], messages: Sequence[M]) -> str:
    """A short name for a conversation that has none: a hash of its first message."""
    return (
        digest(to_json(converter.body(messages[0])).encode("utf-8", "surrogatepass")) if messages else "empty"
    )


def reply_schema(schema: Any) -> dict[str, Any]:
    """The schema of a structured reply as a parameter of a request, in the form of Chat Completions."""
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}}


def bill_of(prompt: int, output: int, *, read: int = 0, written: int = 0, reasoning: int = 0) -> TokenUsage:
    """A bill whose prompt includes what was read from the cache and written to it, as frameworks have it."""
    fresh = max(0, prompt - read - written)
    reasoning = min(reasoning, output)
    return TokenUsage(input=fresh, cache_read=read, cache_write=written, output=output, reasoning=reasoning)


async def begun(pieces: AsyncIterator[R]) -> AsyncIterator[R]:
    """The same pieces, after the first has arrived: only then is it known whether the request was too long."""
    first = [piece async for piece in _first(pieces)]

    async def whole() -> AsyncIterator[R]:
        for piece in first:
            yield piece
        async for piece in pieces:
            yield piece

    return whole()


async def _first(pieces: AsyncIterator[R]) -> AsyncIterator[R]:
    async for piece in pieces:
        yield piece
        return


def as_function(tool: Function) -> dict[str, Any]:
    """A tool in the form of Chat Completions, which every dialect's session reads."""
    function = {"name": tool.name, "description": tool.description or "", "parameters": tool.schema}
    return {"type": "function", "function": function}


def names_of(tools: Sequence[Mapping[str, Any]], dialect: str = "openai.chat") -> frozenset[str]:
    """The names of the functions among some tool definitions."""
    return frozenset(function_names(dialect_named(dialect).frame((), tools), dialect))


def _as_text(arguments: object) -> str:
    """The arguments of a call as a model writes them; the session answers those that are no object."""
    if isinstance(arguments, str):
        return arguments
    try:
        return to_json(arguments)
    except (TypeError, ValueError, RecursionError):  # no model wrote that, but something between did
        return f"not JSON: {type(arguments).__name__}"


def _laid_back(request: SentRequest, merged: Merged, outgoing: Outgoing[M]) -> list[M]:
    build: Build[M] = outgoing.converter.build
    dialect = dialect_named(outgoing.converter.dialect)
    one_result: bool = getattr(outgoing.converter, "one_result", False)
    return lay_back(request, merged.entries, outgoing.messages, build, dialect, one_result=one_result)


def _ends_alike(request: SentRequest, merged: Merged) -> bool:
    """Whether a request ends where the history does; thoughts that the framework does not repeat may follow."""
    tip = request.sent.tip
    if tip is None or not merged.ids or tip == merged.ids[-1]:
        return True
    last = request.view.said(tip)
    return last is not None and {type(part) for part in last.parts} == {Thinking}


def _reply(adapted: Adapted[M], heard: Heard[M]) -> Reply:
    converter = adapted.outgoing.converter
    dialect = dialect_named(converter.dialect)
    messages = tuple(dialect.message(converter.body(message)) for message in heard.messages)
    return Reply(messages, heard.usage, heard.stop, heard.id)
