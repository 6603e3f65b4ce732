"""Fitting a list of messages, or a request, without a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

import msgspec

from fanfold.asking.drive import Asker
from fanfold.asking.model import Model
from fanfold.config.defaults import budget_for
from fanfold.config.options import check_options
from fanfold.core.budget import Budget
from fanfold.core.errors import DoesNotFit
from fanfold.core.plan import Strategy
from fanfold.core.view import View
from fanfold.dialects.detect import dialect_of
from fanfold.dialects.dialect import LIMITS, Dialect, Split, reply_limit
from fanfold.dialects.registry import dialect_named, request_fields
from fanfold.dialects.weigh import framed
from fanfold.session.open import open_once
from fanfold.session.session import Session
from fanfold.session.state import State
from fanfold.stores.store import Store
from fanfold.strategies.fallbacks import FALLBACKS, WITHOUT_REFS
from fanfold.tokens.meter import Meter

_MARKER, _SPARE = 32, 50
"""What a reduction leaves free: tokens of a marker, and a part of the room."""


class Fitted(msgspec.Struct, frozen=True):
    """What became of messages that were fitted."""

    shape: Any
    """The messages or the request, in the shape they came in."""
    dialect: str
    before: int = 0
    """Tokens before."""
    view: View | None = None
    """What is left, row by row, and why; None where there was nothing to fit."""


class Options(TypedDict, total=False):
    """How messages are fitted; most is as `open` takes it."""

    window: int | None
    model: str | None
    dialect: str | None
    """The dialect they are written in; told by their content if it is not given."""
    to: str | None
    """The dialect that is wanted, if it is another one."""
    system: str | Iterable[Any] | None
    tools: Iterable[Any]
    """System prompt and tools are counted where the request has none of its own."""
    reserve: int | None
    """Tokens for the reply; without it, what the request asks for."""
    strategy: Strategy | Sequence[Strategy] | None
    meter: Meter | str | None
    summarizer: Asker | Model | None
    store: Store | str | None
    name: str
    """The session of the store that keeps everything."""


def fit(messages: Any, **options: Unpack[Options]) -> Any:
    """A list of messages or a request that fits, in the shape it came in. Fitting the result again changes nothing.

    What fits comes back as it is; else as much of the newest stays as there is room for, the last exchange whole.
    Any of the four dialects; a text or bytes are read as JSON. With a store everything is kept in its session `name`,
    long outputs are shown by reference, and whoever opens that session finds them again.
    """
    return fitted(messages, **options).shape


def fitted(messages: Any, **options: Unpack[Options]) -> Fitted:
    """The same, with the view that says what became of every message."""
    check_options(
        {key: value for key, value in options.items() if value is not None}, Options.__annotations__
    )
    given = _parsed(messages) if isinstance(messages, str | bytes) else messages
    dialect = dialect_named(options.get("dialect") or dialect_of(given), _model(given, options))
    split = dialect.split(dialect.whole(given, lambda: ((), {})))
    if not split.messages and not (split.system or split.tools):
        return Fitted(given, dialect.name)
    to = options.get("to") or dialect.name
    with _session(given, dialect, split, options) as chat:
        if not split.messages:
            return _frame_alone(chat, given)
        chat.merge(split.messages)
        if to != dialect.name:
            return _translated(chat, to, given)
        before = chat.view().tokens
        chat.request(**_params(split))
        return Fitted(chat._do(_shaped, dialect, split, given), dialect.name, before, chat.view())


def _frame_alone(chat: Session, given: Any) -> Fitted:
    """Nothing but system prompt and tools: they fit as they are, or not at all."""
    pressure = chat.pressure()
    if pressure.tokens > pressure.room:
        raise DoesNotFit(
            f"System prompt and tools take {pressure.tokens:,} tokens, {pressure.room:,} fit. Shorten them."
        )
    return Fitted(given, chat._state.dialect.name, pressure.tokens)


def _translated(chat: Session, dialect: str, given: Any) -> Fitted:
    """The same conversation as another provider takes it; parameters of the old one are left behind."""
    with chat.fork(f"{chat.name} ({dialect})", dialect=dialect) as other:
        before = other.view().tokens
        other.request()
        return Fitted(other._do(_requested, given), dialect, before, other.view())


def _requested(state: State, given: Any) -> Any:
    params = {**state.log.sent[-1].params}
    allowed = state.dialect.allow(state.view().rows, params)
    request = state.dialect.encode(state.frame()[0], allowed.rows, allowed.params)
    return request if isinstance(given, Mapping) else request[state.dialect.field]


def _model(given: Any, options: Options) -> str | None:
    return options.get("model") or (given.get("model") if isinstance(given, Mapping) else None)


def _session(given: Any, dialect: Dialect, split: Split, options: Options) -> Session:
    """A session for this one request: what fits stays as it is, so that fitting again changes nothing."""
    model, system, store = _model(given, options), options.get("system"), options.get("store")
    reserve = options.get("reserve")
    reply = reply_limit(given if isinstance(given, Mapping) else {}) if reserve is None else reserve
    budget = budget_for(model, options.get("window"), dialect.name)
    return open_once(
        options.get("name", "fit"),
        store=store,
        model=model,
        budget=_filling(budget.reserving(reply)),
        dialect=dialect.name,
        system=split.system or ((system,) if isinstance(system, str) else tuple(system or ())),
        tools=split.tools or tuple(options.get("tools") or ()),
        strategy=options.get("strategy"),
        filters=() if store is None else None,
        recall=False,  # whoever sends the result answers its calls, and has no session to ask
        fallback=WITHOUT_REFS if store is None else FALLBACKS,
        meter=options.get("meter"),
        summarizer=options.get("summarizer"),
    )


def _filling(budget: Budget) -> Budget:
    """The budget of a request that nothing follows: all of the room is for it, but for a marker."""
    free = max(_MARKER, budget.limit // _SPARE)
    return msgspec.structs.replace(budget, trigger=1.0, target=max(budget.target, 1 - free / budget.limit))


def _parsed(text: str | bytes) -> Any:
    from fanfold.dialects.reading import parse  # late: most callers have parsed it already

    return parse(text)


def _shaped(state: State, dialect: Dialect, split: Split, given: Any) -> Any:
    """The view in the shape the messages came in, without cache marks."""
    allowed = dialect.allow(state.view().rows, split.params)
    frame, _ = framed(dialect.frame(split.system, split.tools), dialect)
    request = dialect.encode(frame, allowed.rows, allowed.params)
    if isinstance(given, Mapping):
        return {key: request[key] for key in (*given, *request) if key in request}
    return request[dialect.field]


def _params(split: Split) -> dict[str, Any]:
    """What decides about the grammar of a request, and nothing that the session sends by itself."""
    sent = {*request_fields(), *LIMITS, "model", "context"}
    return {key: value for key, value in split.params.items() if key not in sent}
