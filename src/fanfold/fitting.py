"""Fitting a list of messages, or a request, without a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fanfold.asking.model import Model
from fanfold.codecs.codec import Codec, Split
from fanfold.codecs.detect import dialect_of
from fanfold.codecs.limits import NAMES, reply_limit
from fanfold.drive import Asker
from fanfold.meter import Meter
from fanfold.opening import open
from fanfold.plan import Strategy
from fanfold.registry import budget_for, codec_named
from fanfold.stores.store import Store
from fanfold.talk.state import State

_FRAME = (
    "messages",
    "tools",
    "system",
    "instructions",
    "input",
    "contents",
    "systemInstruction",
    "system_instruction",
)


def fit(
    messages: Any,
    *,
    window: int | None = None,
    model: str | None = None,
    dialect: str | None = None,
    system: str | Iterable[Any] | None = None,
    tools: Iterable[Any] = (),
    reserve: int | None = None,
    strategy: Strategy | Sequence[Strategy] | None = None,
    meter: Meter | str | None = None,
    ask: Asker | Model | None = None,
    store: Store | str | None = None,
    name: str = "fit",
) -> Any:
    """A list of messages or a request that fits, in the shape it came in. Fitting the result again changes nothing.

    Any of the four dialects; a text or bytes are read as JSON. `system` and `tools` are counted where the request
    has none of its own. With a store everything is kept in its session `name`, long outputs are shown by reference,
    and whoever opens that session finds them again.
    """
    given = _parsed(messages) if isinstance(messages, str | bytes) else messages
    whole = given if isinstance(given, Mapping) else {}
    model = model or whole.get("model")
    codec = codec_named(dialect or dialect_of(given), model)
    split = codec.split(codec.whole(given, lambda: ((), {})))
    if not split.messages:
        return given
    budget = budget_for(model, window, codec.dialect)
    spoken = split.system or ((system,) if isinstance(system, str) else tuple(system or ()))
    with open(
        name,
        store=store,
        model=model,
        budget=budget.reserving(reserve if reserve is not None else reply_limit(whole)),
        dialect=codec.dialect,
        system=spoken,
        tools=split.tools or tuple(tools),
        strategy=strategy,
        passes=() if store is None else None,
        meter=meter,
        ask=ask,
    ) as chat:
        chat.merge(split.messages)
        chat.request(**_params(split))
        return chat._do(_fitted, codec, split, given)


def _parsed(text: str | bytes) -> Any:
    from fanfold.codecs.reading import parse  # late: most callers have parsed it already

    return parse(text)


def _fitted(state: State, codec: Codec, split: Split, given: Any) -> Any:
    """The view in the shape the messages came in, without cache marks."""
    allowed = codec.allow(state.view().rows, split.params)
    request = codec.encode(codec.frame(split.system, split.tools), allowed.rows, allowed.params)
    if isinstance(given, Mapping):
        return {key: request[key] for key in (*given, *request) if key in request}
    return next(request[key] for key in ("messages", "input", "contents") if key in request)


def _params(split: Split) -> dict[str, Any]:
    """What decides about the grammar of a request, and nothing that the session sends by itself."""
    return {
        key: value for key, value in split.params.items() if key not in (*_FRAME, *NAMES, "model", "context")
    }
