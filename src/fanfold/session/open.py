"""Opening a session."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from inspect import Signature, signature
from math import isfinite
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from fanfold.asking.careful import asker, async_asker, is_one_model, window_of
from fanfold.asking.model import Summarizer, model_to_ask
from fanfold.config.choice import (
    REMEMBERED,
    Choice,
    check_summarizer,
    choose,
    strategies_without_model,
    to_remember,
)
from fanfold.config.events import Hooks
from fanfold.config.options import OnMoved, Options, check_name, check_names, options_of
from fanfold.config.settings import with_settings
from fanfold.core.budget import Budget
from fanfold.core.edit import RECALL
from fanfold.core.errors import BadBudget, BadInput, BadSetting, Corrupt, StoreFailed
from fanfold.core.message import user
from fanfold.core.plan import Outcome, Strategy, name_of
from fanfold.core.record import Opened
from fanfold.deferral.catalog import FIND
from fanfold.dialects.registry import DIALECTS, dialect_for, dialect_named
from fanfold.dialects.tools import function_names
from fanfold.outputs.filters import Filter, binary, clip_within
from fanfold.outputs.recall import definitions
from fanfold.session.fork import leave
from fanfold.session.keep import LoadedSession, said_of_damage
from fanfold.session.merge import offer_recall, reframe
from fanfold.session.session import Session
from fanfold.session.state import State
from fanfold.session.terms import Terms
from fanfold.stores.opening import is_awaited, is_remote, is_there, open_store
from fanfold.stores.store import Store, Tenant
from fanfold.strategies.auto import Auto, auto
from fanfold.strategies.fallbacks import FALLBACKS
from fanfold.tokens.meter import Meter

if TYPE_CHECKING:
    from fanfold.session.async_session import AsyncSession
    from fanfold.systems.presets import Preset

P = ParamSpec("P")
T = TypeVar("T")
_SMALL = 64
"""In a window above this there is room for a word, however it is counted."""


def _called_like(described: Callable[P, object]) -> Callable[[Callable[[str, Options], T]], Callable[P, T]]:
    """Let a function of a name and `Options` be called with the arguments of another one, which are checked.

    So `open` and `aopen` are described once, and an option that nobody knows is a `BadSetting` that names the nearest.
    """
    taken = signature(described)
    named = [
        one.replace(default=_Names(one.default)) if one.name == "fallback" else one
        for one in taken.parameters.values()
    ]
    shown = taken.replace(parameters=named, return_annotation=Signature.empty)
    known = [name for name in shown.parameters if name != "name"]

    def taking(function: Callable[[str, Options], T]) -> Callable[P, T]:
        @wraps(function)
        def call(name: str = "session", **given: Any) -> T:
            check_names(given, known)
            return function(name, options_of(with_settings(given)))

        call.__signature__ = shown  # type: ignore[attr-defined]
        call.__doc__ = (function.__doc__ or "") + (described.__doc__ or "").partition("\n")[2]
        return call  # type: ignore[return-value]

    return taking


class _Names(tuple[Strategy, ...]):
    """Functions that print as their names: their addresses say nothing to whoever reads a signature."""

    def __repr__(self) -> str:
        return f"({', '.join(map(name_of, self))})"


def _arguments(
    name: str = "session",
    *,
    model: str | None = None,
    dialect: str | None = None,
    window: int | str | None = None,
    budget: Budget | None = None,
    system: str | Iterable[Any] | None = None,
    tools: Iterable[Any] | None = (),
    volatile: bool | str | Iterable[str] | None = None,
    store: Store | str | None = None,
    tenant: str = "default",
    labels: Mapping[str, str] | None = None,
    preset: Preset | str | None = None,
    profile: str | None = None,
    strategy: Strategy | str | Sequence[Strategy | str] | None = None,
    fallback: Sequence[Strategy] = FALLBACKS,
    filters: Filter | str | Sequence[Filter | str] | None = None,
    recall: bool | None = None,
    defer: bool | float | None = None,
    meter: Meter | str | None = None,
    summarizer: Summarizer | None = None,
    summarizer_window: int | str | None = None,
    hooks: Hooks | None = None,
    on_edit: Callable[[Outcome], object] | None = None,
    on_moved: OnMoved = "raise",
    clock: Callable[[], float] = time.time,
) -> None:
    """What `open` and `aopen` take.

    Opened under the name of an earlier session on the same store, a session goes on where that one ended. Given options
    win over those it remembers (model, dialect, window, named strategy), these over environment and settings file.

    - `model`: the model's name, in any usual spelling; its limits, prices and tokenizer are known.
    - `dialect`: `openai.chat`, `openai.responses`, `anthropic` or `gemini`; by default that of the model's provider.
    - `window`, `budget`: tokens of the context window, such as `"16k"`, or all limits; either of them, or a `model`.
    - `system`, `tools`: the system prompt and the tools. `volatile`: words by which its changing lines are known.
    - `store`, `tenant`: `sqlite:agent.db`, `postgresql://…`, or a store (default: `memory`); tenants share nothing.
    - `labels`: what you want to know of it in a list of sessions, such as its client; remembered, never sent.
    - `preset`: a documented system; what is given beside it wins. `profile`: whose threshold of the settings holds.
    - `strategy`: a function or a name, or a list of them; by default `auto`, which tells a story with a summarizer.
    - `fallback`: what is tried when the strategy failed or was not enough.
    - `filters`: what shapes an output when it arrives; by default binary data becomes a note, long output is clipped.
    - `recall`: whether the model gets tools to look up what it no longer sees; by default where there are `tools`.
    - `defer`: True lets tools wait until the model needs them; 0.1 does if they take more of the window than that.
    - `meter`: how tokens are counted, by name or as a `Meter`; by default as the model's provider counts.
    - `summarizer`, `summarizer_window`: what strategies ask, a model's name, an SDK's client, a `Model` or a function.
    - `hooks`: functions that are told what happens; `on_edit` is short for `Hooks(after_edit=…)`.
    - `on_moved`: what to do when somebody else wrote first: `raise`, `reapply` or `branch`. `clock`: returns seconds.
    """


OPTIONS = frozenset(signature(_arguments).parameters) - {"name"}
"""The names of all options."""


@_called_like(_arguments)
def open(name: str, options: Options) -> Session:
    """A session: a conversation that always fits its model's window and loses nothing."""
    return _session(name, options)


@_called_like(_arguments)
def aopen(name: str, options: Options) -> AsyncSession:
    """The same for asyncio: `async with fanfold.aopen(…) as chat`.

    Where the store is across a network, it is opened by `async with` or the first verb, beside the event loop.
    """
    from fanfold.session.async_session import AsyncSession  # late: a synchronous program does not pay for it

    if not is_remote(options.store):
        return async_session(open_state(name, options), options)
    check_summarizer(options)  # at once: the store is opened later
    dialect = options.dialect or dialect_for(options.model)
    asked = model_to_ask(options.summarizer, options.model, dialect, awaited=True)
    awaited = is_awaited(options.store)
    return AsyncSession(lambda: open_state(name, options), async_asker(asked), remote=True, awaited=awaited)


def open_once(name: str, options: Options) -> Session:
    """A session for one request: no later one is to become cheaper, so it is reduced only if it does not fit."""
    return _session(name, options, once=True)


def open_aside(name: str, remember: Collection[str] = (), **given: Any) -> Session:
    """A session for a tool that looks at it or brings it in: opened as the last time, and only these are remembered.

    It is never reduced, so its strategy is not asked for: that may be one of a plug-in that is not here.
    """
    options = options_of({"strategy": (), **given})
    return Session(open_state(name, options, remember=remember), None)


def _session(name: str, options: Options, *, once: bool = False) -> Session:
    return sync_session(open_state(name, options, once=once), options)


def async_session(state: State, options: Options) -> AsyncSession:
    """A session at work, for asyncio."""
    from fanfold.session.async_session import AsyncSession

    asked = model_to_ask(options.summarizer, state.terms.model, state.terms.dialect.name, awaited=True)
    store = state.terms.tenant.store
    return AsyncSession(state, async_asker(asked), remote=store.remote, awaited=is_awaited(store))


def sync_session(state: State, options: Options) -> Session:
    """A session at work, for threads."""
    asked = model_to_ask(options.summarizer, state.terms.model, state.terms.dialect.name, awaited=False)
    return Session(state, asker(asked))


def open_state(
    name: str, options: Options, *, once: bool = False, remember: Collection[str] = REMEMBERED
) -> State:
    """A session at work, entered among its tenant's open ones; opened as the last time where nothing else is given."""
    name, early = check_name(name), None
    if not is_there(options.store):  # what is wrong is said before a file is made
        early = choose(options)
        if not once:
            _check_window(early, options)
        _check_tools(early, options.tools)
    tenant = open_store(options.store).tenant(options.tenant)
    if name in tenant.states:
        raise BadInput(f"The session {name!r} is open already; close it, or fork it under another name.")
    try:
        read = LoadedSession.from_store(tenant, name)
        last = read.keeping.opened
        choice = early if early and last is None else _choose(name, options, last, read.damage)
        if not once:
            _check_window(choice, options)
        _check_tools(choice, options.tools)
        told = to_remember(options, last, choice.dialect, remember)
        state = State(_terms(name, tenant, options, once, choice, told), read=read)
    except BaseException:
        leave(tenant)
        raise
    if state.terms.opened != (read.keeping.opened or Opened()):
        state.introduce()
    if not state.damage:
        offer_recall(state, options.tools)
        state.unit(lambda: reframe(state, options.system, options.tools))
        if read.keeping.begun:
            with suppress(StoreFailed):  # a file that cannot be written can be looked at
                state.unit(state.record_opening)
    tenant.states[name] = state
    silent = strategies_without_model(options, last)
    if silent:
        state.warn(
            "it was opened with the strategy %s, which asks a model, and now there is none to ask: %s is used instead. "
            "Open it with summarizer=…, or with another strategy=….",
            ", ".join(silent),
            ", ".join(map(name_of, state.terms.strategies)),
        )
    return state


def _choose(name: str, options: Options, last: Opened | None, damage: str) -> Choice:
    """What a session is opened with; what it remembers may be what is damaged, and then that is said."""
    try:
        return choose(options, last)
    except BadInput as error:
        raise Corrupt(said_of_damage(name, damage)) if damage else error from None


def _check_window(choice: Choice, options: Options) -> None:
    """A window that is given has room for one word; one that is remembered was accepted, and is looked at."""
    window, given = choice.budget.window, options.window is not None or options.budget is not None
    if not given or window > _SMALL:  # counting may load a vocabulary
        return
    meter = choice.metered(choice.model)
    least = meter.overhead + meter.message(user("Hi"))
    if choice.budget.limit < least:
        raise BadBudget(
            f"A window of {window:,} tokens holds no request: one word alone takes {least:,}. "
            f"Did you mean window='{window}k'?"
        )


def _check_tools(choice: Choice, tools: Sequence[Any]) -> None:
    """A session that answers the recall tools has them once: a tool of the caller's cannot be called like one."""
    dialect = dialect_named(choice.dialect, choice.model)
    if choice.dialect not in DIALECTS:
        return
    ours = definitions(choice.dialect)
    given = function_names(dialect.frame((), [tool for tool in tools if tool not in ours]), choice.dialect)
    if choice.defer is not None and FIND in given:
        raise BadInput(
            f"With `defer` the session has a tool {FIND!r} itself, and there is another among `tools`. "
            "Leave that one out or call it otherwise; or open without `defer`."
        )
    own = sorted(RECALL.intersection(given)) if choice.recall else []
    if own:
        raise BadInput(
            f"With recall=True the session has a tool {own[0]!r} itself, and there is another among `tools`. "
            "Leave that one out or call it otherwise; or open with recall=False, and answer it yourself."
        )


def _seconds(clock: Callable[[], float]) -> Callable[[], float]:
    """The clock, checked at each call: what it returns is recorded, and must be read again."""

    def seconds() -> float:
        now = clock()
        if isinstance(now, bool) or not isinstance(now, int | float) or not isfinite(now):
            raise BadSetting(f"The clock gives seconds as a number, as `time.time` does, not {now!r}.")
        return float(now)

    return clock if clock is time.time else seconds


def _filters(choice: Choice, strategies: Sequence[Strategy]) -> tuple[Filter, ...]:
    """What shapes outputs where nothing else was said: whoever wants requests to be cheap sees less of long ones."""
    thrift = max([one.thrift for one in strategies if isinstance(one, Auto)], default=0.0)
    return binary(), clip_within(choice.budget.limit, thrift=thrift)


def _terms(name: str, tenant: Tenant, options: Options, once: bool, choice: Choice, told: Opened) -> Terms:
    asked = model_to_ask(options.summarizer, choice.model, choice.dialect, awaited=True)
    strategies = choice.strategies
    if strategies is None:
        # Where the model gives no answer, the hand-over is written without its story.
        strategies = (auto(),) if asked is None else (auto(story=True), auto())
    if once:  # for one request there is no price of the next to look at, and the room is to be filled
        strategies = tuple(one.once if isinstance(one, Auto) else one for one in strategies)
    return Terms(
        name=name,
        tenant=tenant,
        dialect=dialect_named(choice.dialect, choice.model),
        meter=choice.metered(choice.model),
        budget=choice.budget,
        sized=choice.sized,
        metered=choice.metered,
        strategies=strategies,
        fallbacks=options.fallback,
        model=choice.model,
        hooks=options.hooks,
        clock=_seconds(options.clock),
        summarizer_window=options.summarizer_window or window_of(asked),
        one_model=is_one_model(asked),
        on_moved=options.on_moved,
        filters=_filters(choice, strategies) if choice.filters is None else choice.filters,
        recall=choice.recall,
        defer=choice.defer,
        volatile=options.volatile,
        opened=told,
    )
