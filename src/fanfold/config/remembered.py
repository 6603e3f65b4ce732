"""What a session was opened with is remembered: what is given wins over it, and it wins over what can be inferred."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from fanfold.core.record import Opened
from fanfold.text.plain import copied
from fanfold.tokens import models

REMEMBERED = ("model", "dialect", "window", "strategy")
"""The options that are remembered."""


def resumed(given: Mapping[str, Any], last: Opened | None, ask: object = None) -> dict[str, Any]:
    """The options with what was given the last time in the place of what is not given."""
    told = {key: value for key, value in given.items() if value is not None or key not in REMEMBERED}
    if last is None:
        return told
    before = {
        "model": last.model,
        "dialect": None if last.inferred and _is_new(given, last) else last.dialect,
        "window": None if given.get("budget") is not None else _window(given, last),
        "strategy": None if given.get("preset") is not None else _strategy(last, ask),
    }
    return {**{key: value for key, value in before.items() if value is not None}, **told}


def to_remember(
    given: Mapping[str, Any], last: Opened | None, dialect: str, which: Collection[str] = REMEMBERED
) -> Opened:
    """What to remember of a session that was opened with these options, and speaks this dialect."""
    last = last or Opened()
    said = {key: given[key] for key in which if given.get(key) is not None}
    inferred = "dialect" not in said and (last.inferred or last.dialect is None)
    budget = given.get("budget") if "window" in which else None
    return Opened(
        model=said.get("model", last.model),
        dialect=dialect if "dialect" in which else last.dialect,
        inferred=inferred if "dialect" in which else last.inferred,
        window=said.get("window", last.window) if budget is None else budget.window,
        strategy=_named(said["strategy"]) if "strategy" in said else last.strategy,
    )


def _is_new(given: Mapping[str, Any], last: Opened) -> bool:
    """Whether the model may be another one than the last time; where none was given then, a setting names it."""
    return last.model is None or given.get("model") not in (None, last.model)


def _window(given: Mapping[str, Any], last: Opened) -> int | None:
    """The window of the last time, as far as a new model has so much."""
    model = given.get("model")
    known = models.lookup(model) if model is not None and model != last.model else None
    most = (known.max_input or known.window) if known else None
    return last.window if last.window is None or most is None else min(last.window, most)


def _strategy(last: Opened, ask: object) -> list[Any] | None:
    """The strategies of the last time; those that ask a model only where there is one to ask."""
    named = [one for one in last.strategy if is_named(one)]
    return None if not named or (ask is None and _asking(named)) else named


def unasked(given: Mapping[str, Any], last: Opened | None, ask: object) -> list[str]:
    """The remembered strategies that would be used if there were a model to ask."""
    if last is None or ask is not None or any(given.get(key) is not None for key in ("strategy", "preset")):
        return []
    return _asking(filter(is_named, last.strategy))


def is_named(strategy: object) -> bool:
    """Whether a strategy is given as it is remembered: by its name, or in a table with its name."""
    if isinstance(strategy, Mapping):
        return all(isinstance(one, str) for one in (strategy.get("name"), *strategy))
    return isinstance(strategy, str)


def _asking(strategies: Iterable[Any]) -> list[str]:
    """The names of those that ask a model."""
    names = [one if isinstance(one, str) else one["name"] for one in strategies]
    if not names:
        return []
    from fanfold.config.naming import ASKING  # late: most programs give functions

    return [name for name in names if name in ASKING]


def _named(strategy: Any) -> tuple[Any, ...]:
    """Strategies by their names, to be recorded; nothing where one of them is a function, or is made with one."""
    listed = (strategy,) if isinstance(strategy, str | Mapping) or callable(strategy) else tuple(strategy)
    if any(callable(one) for one in listed):
        return ()
    try:
        return tuple(one if isinstance(one, str) else copied(dict(one)) for one in listed)
    except (TypeError, ValueError, OverflowError):
        return ()
