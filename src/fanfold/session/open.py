"""Opening a session."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast, get_args

from msgspec.structs import replace

from fanfold.asking.careful import asker, async_asker, is_one_model, window_of
from fanfold.asking.drive import Asker, AsyncAsker
from fanfold.asking.model import Model
from fanfold.config.choice import Choice, chosen, given
from fanfold.config.hooks import Hooks
from fanfold.config.options import check_options, check_taking
from fanfold.config.remembered import REMEMBERED, resumed, to_remember, unasked
from fanfold.core.budget import Budget
from fanfold.core.edit import RECALL
from fanfold.core.errors import BadInput, BadSetting, Corrupt, StoreFailed
from fanfold.core.plan import Outcome, Strategy, name_of
from fanfold.core.record import Opened
from fanfold.dialects.registry import DIALECTS, dialect_named
from fanfold.dialects.tools import called, localize
from fanfold.outputs.filters import Filter, binary, clip_within
from fanfold.outputs.recall import definitions
from fanfold.session.fork import leave
from fanfold.session.keep import Read
from fanfold.session.merge import reframe
from fanfold.session.session import Session
from fanfold.session.state import State, tool_names
from fanfold.session.terms import OnMoved, Terms
from fanfold.stores.opening import is_remote, is_there, open_store
from fanfold.stores.store import Store, Tenant
from fanfold.strategies.auto import Auto, auto
from fanfold.strategies.fallbacks import FALLBACKS
from fanfold.strategies.handover.digest import digest
from fanfold.strategies.summarize import summarize
from fanfold.text.plain import plain_text
from fanfold.tokens.meter import Meter

if TYPE_CHECKING:
    from fanfold.session.async_session import AsyncSession
    from fanfold.systems.presets import Preset


class Options(TypedDict, total=False):
    """What a session can be opened with. Either `model`, `window` or `budget` says how much fits."""

    model: str | None
    """The model's name, in any usual spelling: its limits, prices and tokenizer are known."""
    dialect: str | None
    """`openai.chat`, `openai.responses`, `anthropic` or `gemini`; by default the one of the model's provider."""
    window: int | None
    """The context window in tokens, where the model is unknown or less is wanted."""
    budget: Budget | None
    """All limits and thresholds at once."""
    system: str | Iterable[Any] | None
    tools: Iterable[Any]
    store: Store | str | None
    """`memory`, `sqlite:agent.db`, or a store."""
    tenant: str
    """Sessions of one tenant share entries; nothing is shared between tenants."""
    preset: Preset | str | None
    """A documented system: its budget, meter, filters and strategy. What is given beside it wins over it."""
    profile: str | None
    """The profile of the settings file whose threshold holds."""
    strategy: Strategy | str | Sequence[Strategy | str] | None
    """How to reduce: one strategy, or several that are tried in order; each a function or a name.

    By default `summarize` where there is a model to ask, else `auto`."""
    fallback: Sequence[Strategy]
    """What is tried when the strategy failed or was not enough."""
    filters: Sequence[Filter | str] | None
    """What shapes an output when it arrives; by default binary data becomes a note and long outputs are clipped."""
    recall: bool | None
    """Whether the model gets tools to look up what it no longer sees; `receive` answers them.

    By default where the session is opened with `tools`, from the first request on; not in one without."""
    meter: Meter | str | None
    summarizer_window: int | None
    """The window of the model that strategies ask, if it is not the session's own."""
    hooks: Hooks | None
    on_edit: Callable[[Outcome], object] | None
    """Told how every reduction ended; short for `Hooks(after_edit=…)`."""
    on_moved: OnMoved
    """What happens when somebody else wrote to the session first."""
    clock: Callable[[], float]
    """What time it is, as seconds in a number; by default `time.time`."""


def open(
    name: str = "session", *, summarizer: Asker | Model | None = None, **options: Unpack[Options]
) -> Session:
    """A session: a conversation that always fits its model's window and loses nothing.

    `summarizer` is the model that strategies ask for summaries: a `Model`, or a function of the question. Opened under
    the name of an earlier session on the same store, it goes on where that one ended, with the model, dialect, window
    and named strategy of that one where they are not given. `fanfold.session.open.Options` describes all options.
    """
    return Session(opened_state(name, options, summarizer), asker(summarizer))


def aopen(
    name: str = "session", *, summarizer: AsyncAsker | Model | None = None, **options: Unpack[Options]
) -> AsyncSession:
    """The same for asyncio: `async with fanfold.aopen(…) as chat`.

    Where the store is across a network, it is opened by `async with` or the first verb, beside the event loop.
    """
    from fanfold.session.async_session import (
        AsyncSession,  # late: whoever stays synchronous does not pay for it
    )

    _check(options, summarizer)  # at once, also where the store is opened later
    opening = partial(opened_state, name, options, summarizer)
    remote = is_remote(options.get("store"))
    if remote:
        given({**options, "summarizer": summarizer})
    return AsyncSession(opening if remote else opening(), async_asker(summarizer), remote=remote)


def open_once(name: str, *, summarizer: Asker | Model | None = None, **options: Unpack[Options]) -> Session:
    """A session for one request: no later one is to become cheaper, so it is reduced only if it does not fit."""
    return Session(opened_state(name, options, summarizer, once=True), asker(summarizer))


def open_aside(name: str, remember: Collection[str] = (), **options: Unpack[Options]) -> Session:
    """A session for a tool that looks at it or brings it in: opened as the last time, and only these are remembered.

    It is never reduced, so its strategy is not asked for: that may be one of a plug-in that is not here.
    """
    return Session(opened_state(name, {"strategy": (), **options}, remember=remember), None)


def opened_state(
    name: str,
    options: Options,
    summarizer: object = None,
    *,
    once: bool = False,
    remember: Collection[str] = REMEMBERED,
) -> State:
    """A session at work, entered among its tenant's open ones; opened as the last time where nothing else is given."""
    _check(options, summarizer)
    name = plain_text(name)
    options = cast(Options, {key: plain_text(value) for key, value in options.items()})
    tools = tuple(options.get("tools") or ())
    owner, early = _owner(name, options), None
    if not is_there(options.get("store")):  # what is wrong is said before a file is made
        early = chosen({**resumed(options, None), "summarizer": summarizer})
        _check_tools(early, tools)
    tenant = open_store(options.get("store")).tenant(owner)
    if name in tenant.states:
        raise BadInput(f"The session {name!r} is open already; close it, or fork it under another name.")
    try:
        read = Read.from_store(tenant, name)
        last = read[0].opened
        choice = early if early and last is None else _again(options, last, summarizer, read)
        _check_tools(choice, tools)
        told = to_remember(options, last, choice.dialect, remember)
        state = State(_terms(name, tenant, options, summarizer, once, choice, told), read=read)
    except BaseException:
        leave(tenant)
        raise
    if state.terms.opened != (read.keeping.opened or Opened()):
        state.introduce()
    system = options.get("system")
    spoken = (system,) if isinstance(system, str) else tuple(system or ())
    if not state.damage:
        _offer_recall(state, tools)
        state.unit(lambda: reframe(state, spoken, tools))
        if read.keeping.begun:
            with suppress(StoreFailed):  # a file that cannot be written can be looked at
                state.unit(state.record_opening)
    tenant.states[name] = state
    silent = unasked(options, last, summarizer)
    if silent:
        state.warn(
            "it was opened with the strategy %s, which asks a model, and now there is none to ask: %s is used instead. "
            "Open it with summarizer=…, or with another strategy=….",
            ", ".join(silent),
            ", ".join(map(name_of, state.terms.strategies)),
        )
    return state


def _again(options: Options, last: Opened | None, summarizer: object, read: Read) -> Choice:
    """What a session is opened with; what it remembers may be what is damaged, and then that is said."""
    try:
        return chosen({**resumed(options, last, summarizer), "summarizer": summarizer})
    except BadInput as error:
        raise Corrupt(f"The session is damaged. {read.damage}") if read.damage else error from None


def _check(options: Options, summarizer: object) -> None:
    check_options({**options, "summarizer": summarizer}, (*Options.__annotations__, "summarizer"))
    for fallback in options.get("fallback", ()):
        check_taking(fallback, "view", "budget", what="A fallback")
    if summarizer is not None and not isinstance(summarizer, Model):
        check_taking(summarizer, "question", what="A function to ask")


def _check_tools(choice: Choice, tools: Sequence[Any]) -> None:
    """A session that answers the recall tools has them once: a tool of the caller's cannot be called like one."""
    dialect = dialect_named(choice.dialect, choice.model)
    if not choice.recall or choice.dialect not in DIALECTS:
        return
    ours = definitions(choice.dialect)
    given = dialect.frame((), [tool for tool in tools if tool not in ours])
    own = sorted(RECALL.intersection(called(given, choice.dialect)))
    if own:
        raise BadInput(
            f"With recall=True the session has a tool {own[0]!r} itself, and there is another among `tools`. "
            "Leave that one out or call it otherwise; or open with recall=False, and answer it yourself."
        )


def _offer_recall(state: State, tools: Sequence[Any]) -> None:
    """Where nothing was said about recall, offer its tools if the model has others, from the first request on.

    Later they would change the beginning of every request; and whoever offers them itself answers them itself.
    """
    if state.terms.recall is not None:
        return
    dialect, known = state.dialect, state.frame_tools()
    given = tool_names(dialect.frame((), tools), dialect.name)
    offered = bool(given or known)
    if state.log.requests:
        offered = not RECALL.isdisjoint(known)
    elif offered:  # some providers take so many tools and no more
        more, _ = localize(dialect.frame((), (*tools, *definitions(dialect.name))), dialect.name)
        offered = not any(fault.rule == "few" for fault in dialect.check_frame(more, {}))
    state.offer_recall(offered and RECALL.isdisjoint(given))


def _seconds(clock: Callable[[], float]) -> Callable[[], float]:
    """The clock, held to its word: what it gives is recorded, and must be read again."""

    def seconds() -> float:
        now = clock()
        if isinstance(now, bool) or not isinstance(now, int | float) or not isfinite(now):
            raise BadSetting(f"The clock gives seconds as a number, as `time.time` does, not {now!r}.")
        return float(now)

    return clock if clock is time.time else seconds


def _owner(name: str, options: Options) -> str:
    """The name of the tenant, if what a session is known by is in order."""
    if not isinstance(name, str) or not name:
        raise BadInput("A session needs a name.")
    owner = options.get("tenant", "default")
    if not isinstance(owner, str):
        raise BadInput(f"A tenant is known by a name, not by {type(owner).__name__}.")
    on_moved = options.get("on_moved", "raise")
    if on_moved not in get_args(OnMoved):
        raise BadSetting(f"on_moved is one of {', '.join(get_args(OnMoved))}, not {on_moved!r}.")
    return owner


def _terms(
    name: str, tenant: Tenant, options: Options, summarizer: object, once: bool, choice: Choice, told: Opened
) -> Terms:
    return Terms(
        name=name,
        tenant=tenant,
        dialect=dialect_named(choice.dialect, choice.model),
        meter=choice.metered(choice.model),
        budget=choice.budget,
        sized=choice.sized,
        metered=choice.metered,
        strategies=_strategies(choice.strategies, summarizer, once),
        fallbacks=tuple(options.get("fallback", FALLBACKS)),
        model=choice.model,
        hooks=_hooks(options),
        clock=_seconds(options.get("clock", time.time)),
        summarizer_window=options.get("summarizer_window") or window_of(summarizer),
        one_model=is_one_model(summarizer),
        on_moved=options.get("on_moved", "raise"),
        filters=(binary(), clip_within(choice.budget.limit)) if choice.filters is None else choice.filters,
        recall=choice.recall,
        opened=told,
    )


def _strategies(given: Sequence[Strategy] | None, summarizer: object, once: bool) -> tuple[Strategy, ...]:
    """The strategies as given, or the usual ones; for one request there is no price of the next to look at."""
    chosen = _usual(summarizer, once) if given is None else given
    return tuple(digest(refs=one.refs) if once and isinstance(one, Auto) else one for one in chosen)


def _usual(summarizer: object, once: bool) -> tuple[Strategy, ...]:
    """A summary where there is a model to ask, else digests: when they pay, or once."""
    if summarizer is not None:
        return (summarize(),)
    return (digest() if once else auto(),)


def _hooks(options: Options) -> Hooks:
    hooks = options.get("hooks") or Hooks()
    told = options.get("on_edit")
    return replace(hooks, after_edit=told) if told is not None else hooks
