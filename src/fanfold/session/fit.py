"""Fitting a list of messages, or a request, without a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from fanfold.asking.model import Summarizer
from fanfold.config.defaults import budget_for
from fanfold.config.options import Options, naming_unknown_options, options_of, value_of
from fanfold.core.budget import Budget
from fanfold.core.errors import DoesNotFit
from fanfold.core.plan import Strategy
from fanfold.core.view import View
from fanfold.dialects.detect import dialect_of
from fanfold.dialects.dialect import LIMITS, Dialect, SplitRequest, reply_limit
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


@naming_unknown_options
def fit(
    messages: Any,
    *,
    window: int | str | None = None,
    model: str | None = None,
    dialect: str | None = None,
    to: str | None = None,
    system: str | Iterable[Any] | None = None,
    tools: Iterable[Any] | None = (),
    reserve: int | str | None = None,
    strategy: Strategy | str | Sequence[Strategy | str] | None = None,
    meter: Meter | str | None = None,
    summarizer: Summarizer | None = None,
    store: Store | str | None = None,
    name: str = "fit",
) -> Any:
    """A list of messages or a request that fits, in the shape it came in. Fitting the result again changes nothing.

    What fits comes back as it is; else as much of the newest stays as there is room for, the last exchange whole.
    Any of the four dialects; a text or bytes are read as JSON. With a store everything is kept in its session `name`,
    long outputs are shown by reference, and whoever opens that session finds them again.

    - `window`, `model`, `strategy`, `meter`, `summarizer`, `store`: as `fanfold.open` takes them.
    - `dialect`: the dialect they are written in; told by their content if it is not given.
    - `to`: the dialect that is wanted, if it is another one.
    - `system`, `tools`: counted where the request has none of its own.
    - `reserve`: tokens for the reply; without it, what the request asks for.
    """
    return fitted(**locals()).shape  # all that is given, and nothing else


def fitted(messages: Any, **given: Any) -> Fitted:
    """The same, with the view that says what became of every message."""
    wanted = {name: value for name, value in given.items() if value is not None}
    to, reserve = value_of("to", wanted.pop("to", None)), wanted.pop("reserve", None)
    name, options = wanted.pop("name", "fit"), options_of(wanted)
    request = messages
    if isinstance(messages, str | bytes):
        from fanfold.dialects.reading import parse  # late: most callers have parsed it already

        request = parse(messages)
    model = options.model or (request.get("model") if isinstance(request, Mapping) else None)
    dialect = dialect_named(options.dialect or dialect_of(request), model)
    split = dialect.split(dialect.whole(request, lambda: ((), {})))
    if not split.messages and not (split.system or split.tools):
        return Fitted(request, dialect.name)
    if reserve is None:
        reserve = reply_limit(request if isinstance(request, Mapping) else {})
    budget = budget_for(model, options.window, dialect.name).reserving(reserve)
    options = replace(options, model=model, window=None, budget=_fill(budget), dialect=dialect.name)
    with open_once(name, _for_one_request(options, split)) as chat:
        if not split.messages:
            return _frame_alone(chat, request)
        chat.merge(split.messages)
        if to is not None and to != dialect.name:
            return _translate(chat, to, request)
        before = chat.view().tokens
        chat.request(**_params(split))
        return Fitted(chat._do(_write_like, dialect, split, request), dialect.name, before, chat.view())


def _for_one_request(options: Options, split: SplitRequest) -> Options:
    """The options of a session that nobody looks into later, unless it has a store."""
    return replace(
        options,
        system=split.system or options.system,
        tools=split.tools or options.tools,
        filters=() if options.store is None else None,
        recall=False,  # whoever sends the result answers its calls, and has no session to ask
        fallback=WITHOUT_REFS if options.store is None else FALLBACKS,
    )


def _frame_alone(chat: Session, given: Any) -> Fitted:
    """Nothing but system prompt and tools: they fit as they are, or not at all."""
    pressure = chat.pressure()
    if pressure.tokens > pressure.room:
        raise DoesNotFit(
            f"System prompt and tools take {pressure.tokens:,} tokens, {pressure.room:,} fit. Shorten them."
        )
    return Fitted(given, chat._state.dialect.name, pressure.tokens)


def _translate(chat: Session, dialect: str, given: Any) -> Fitted:
    """The same conversation as another provider takes it; parameters of the old one are left behind."""
    with chat.fork(f"{chat.name} ({dialect})", dialect=dialect) as other:
        before = other.view().tokens
        other.request()
        return Fitted(other._do(_write, given), dialect, before, other.view())


def _write(state: State, given: Any) -> Any:
    params = {**state.log.sent[-1].params}
    allowed = state.dialect.allow(state.view().rows, params)
    request = state.dialect.encode(state.offer().sent, allowed.rows, allowed.params)
    return request if isinstance(given, Mapping) else request[state.dialect.field]


def _fill(budget: Budget) -> Budget:
    """The budget of a request that nothing follows: all of the room is for it, but for a marker."""
    free = max(_MARKER, budget.limit // _SPARE)
    return replace(budget, trigger=1.0, target=max(budget.target, 1 - free / budget.limit))


def _write_like(state: State, dialect: Dialect, split: SplitRequest, given: Any) -> Any:
    """The view in the shape the messages came in, without cache marks."""
    allowed = dialect.allow(state.view().rows, split.params)
    frame, _ = framed(dialect.frame(split.system, split.tools), dialect)
    request = dialect.encode(frame, allowed.rows, allowed.params)
    if isinstance(given, Mapping):
        return {key: request[key] for key in (*given, *request) if key in request}
    return request[dialect.field]


def _params(split: SplitRequest) -> dict[str, Any]:
    """What decides about the grammar of a request, and nothing that the session sends by itself."""
    sent = {*request_fields(), *LIMITS, "model", "context"}
    return {key: value for key, value in split.params.items() if key not in sent}
