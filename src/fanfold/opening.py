"""Opening a session, and fitting a list of messages without one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, get_args

from fanfold import models
from fanfold.budget import Budget
from fanfold.codecs.anthropic.codec import Anthropic
from fanfold.codecs.codec import Codec
from fanfold.codecs.gemini.codec import Gemini
from fanfold.codecs.openai_chat import OpenAIChat
from fanfold.codecs.openai_responses import OpenAIResponses
from fanfold.drive import Asker, AsyncAsker
from fanfold.errors import BadInput, BadSetting
from fanfold.hooks import Hooks
from fanfold.meter import Meter, for_model, named
from fanfold.plan import Strategy
from fanfold.session import AsyncSession, Session
from fanfold.stores.opening import opened
from fanfold.stores.store import Store
from fanfold.strategies.ladder import LADDER
from fanfold.strategies.window import window as sliding_window
from fanfold.talk.merging import reframe
from fanfold.talk.state import OnMoved, State, Terms

CODECS: dict[str, Callable[[models.Model | None], Codec]] = {
    "openai.chat": OpenAIChat,
    "openai.responses": OpenAIResponses,
    "anthropic": Anthropic,
    "gemini": Gemini,
}


def open(
    name: str = "session",
    *,
    model: str | None = None,
    dialect: str = "openai.chat",
    window: int | None = None,
    system: str | Iterable[Any] | None = None,
    tools: Iterable[Any] = (),
    store: Store | str | None = None,
    strategy: Strategy | Sequence[Strategy] | None = None,
    fallback: Sequence[Strategy] = LADDER,
    budget: Budget | None = None,
    meter: Meter | str | None = None,
    ask: Asker | None = None,
    ask_window: int | None = None,
    tenant: str = "default",
    hooks: Hooks | None = None,
    on_moved: OnMoved = "raise",
    clock: Callable[[], float] = time.time,
) -> Session:
    """A session: a conversation that always fits its model's window and loses nothing.

    Opened under the name of an earlier session on the same store, it goes on where that one ended.
    """
    state = _state(
        name,
        model,
        dialect,
        window,
        store,
        strategy,
        fallback,
        budget,
        meter,
        ask_window,
        tenant,
        hooks,
        on_moved,
        clock,
    )
    _enter(state, system, tools)
    return Session(state, ask)


def aopen(
    name: str = "session",
    *,
    model: str | None = None,
    dialect: str = "openai.chat",
    window: int | None = None,
    system: str | Iterable[Any] | None = None,
    tools: Iterable[Any] = (),
    store: Store | str | None = None,
    strategy: Strategy | Sequence[Strategy] | None = None,
    fallback: Sequence[Strategy] = LADDER,
    budget: Budget | None = None,
    meter: Meter | str | None = None,
    ask: AsyncAsker | None = None,
    ask_window: int | None = None,
    tenant: str = "default",
    hooks: Hooks | None = None,
    on_moved: OnMoved = "raise",
    clock: Callable[[], float] = time.time,
) -> AsyncSession:
    """The same for asyncio: `async with fanfold.aopen(…) as chat`."""
    state = _state(
        name,
        model,
        dialect,
        window,
        store,
        strategy,
        fallback,
        budget,
        meter,
        ask_window,
        tenant,
        hooks,
        on_moved,
        clock,
    )
    _enter(state, system, tools)
    return AsyncSession(state, ask)


def _state(
    name: str,
    model: str | None,
    dialect: str,
    window: int | None,
    store: Store | str | None,
    strategy: Strategy | Sequence[Strategy] | None,
    fallback: Sequence[Strategy],
    budget: Budget | None,
    meter: Meter | str | None,
    ask_window: int | None,
    tenant: str,
    hooks: Hooks | None,
    on_moved: OnMoved,
    clock: Callable[[], float],
) -> State:
    if not isinstance(name, str) or not name:
        raise BadInput("A session needs a name.")
    place = opened(store).tenant(tenant)
    if on_moved not in get_args(OnMoved):
        raise BadSetting(f"on_moved is one of {', '.join(get_args(OnMoved))}, not {on_moved!r}.")
    if name in place.states:
        raise BadInput(f"The session {name!r} is open already; close it, or fork it under another name.")
    return State(
        Terms(
            name,
            place,
            codec_named(dialect, model),
            meter_for(meter, model),
            budget or budget_for(model, window),
            strategies_of(strategy),
            tuple(fallback),
            model,
            hooks or Hooks(),
            clock,
            ask_window,
            on_moved,
        )
    )


def _enter(state: State, system: str | Iterable[Any] | None, tools: Iterable[Any]) -> None:
    spoken = (system,) if isinstance(system, str) else tuple(system or ())
    with state:
        reframe(state, spoken, tuple(tools))
    state.terms.tenant.states[state.terms.name] = state


def codec_named(dialect: str, model: str | None = None) -> Codec:
    """The codec for a dialect, told what is known about the model."""
    if dialect not in CODECS:
        raise BadSetting(f"There is no dialect {dialect!r}. Known are: {', '.join(CODECS)}.")
    return CODECS[dialect](models.lookup(model) if model else None)


def budget_for(model: str | None, window: int | None) -> Budget:
    """The limits of a model, or of a bare window."""
    if model is None and window is None:
        raise BadInput("Say how much fits: give `model=` or `window=`.")
    if window is not None:
        known = models.lookup(model) if model else None
        return Budget(window=window, max_output=known.max_output if known else None)
    found = models.find(str(model))
    return Budget(
        window=found.window or found.max_input or 0,
        max_input=found.max_input,
        max_output=found.max_output,
        shared=found.shared,
    )


def meter_for(meter: Meter | str | None, model: str | None) -> Meter:
    """The meter asked for, or the one that suits the model."""
    if isinstance(meter, str):
        return named(meter)
    if meter is not None:
        return meter
    known = models.lookup(model) if model else None
    return for_model(known.tokenizer, known.provider, known.name) if known else for_model()


def strategies_of(strategy: Strategy | Sequence[Strategy] | None) -> tuple[Strategy, ...]:
    """One strategy or several, as a list to be tried in order."""
    if strategy is None:
        return (sliding_window(),)
    if callable(strategy):
        return (strategy,)
    if isinstance(strategy, str) or not all(callable(one) for one in strategy):
        raise BadSetting("A strategy is a function `(view, budget) -> edits`, or a list of them.")
    return tuple(strategy)


def fit(
    messages: Any,
    *,
    window: int | None = None,
    model: str | None = None,
    system: str | Iterable[Any] | None = None,
    tools: Iterable[Any] = (),
    reserve: int | None = None,
    strategy: Strategy | Sequence[Strategy] | None = None,
    meter: Meter | str | None = None,
    ask: Asker | None = None,
) -> Any:
    """A list of messages or a request that fits, in the shape it came in. Fitting the result again changes nothing."""
    whole = messages if isinstance(messages, Mapping) else {}
    model = model or whole.get("model")
    reserve = (
        reserve if reserve is not None else whole.get("max_completion_tokens") or whole.get("max_tokens")
    )
    codec = codec_named("openai.chat")
    split = codec.split(messages)
    spoken = split.system or ((system,) if isinstance(system, str) else tuple(system or ()))
    with open(
        "fit", model=model, window=window, system=spoken, tools=split.tools or tuple(tools), strategy=strategy,
        meter=meter, ask=ask,
    ) as chat:  # fmt: skip
        chat.merge(split.messages)
        if not split.messages:
            return messages
        request = chat.request(max_tokens=reserve)
    history = request["messages"][len(spoken) :]
    shown = [*split.system, *history]
    return {**whole, "messages": shown} if whole else shown
