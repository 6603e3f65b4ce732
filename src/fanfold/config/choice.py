"""Which options apply: given in code, remembered by the session, environment, settings file, inferred from the model.

The first of these that says something wins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from fanfold.config.defaults import budget_for, cached_like, meter_for
from fanfold.config.options import Options, value_of
from fanfold.config.settings import layers
from fanfold.core.budget import Budget
from fanfold.core.errors import BadBudget, BadSetting, unknown
from fanfold.core.plan import Strategy, name_of, needs_model
from fanfold.core.record import Opened
from fanfold.dialects.registry import dialect_for
from fanfold.outputs.filters import Filter
from fanfold.systems.budgets import at_percent
from fanfold.tokens import models
from fanfold.tokens.meter import Meter

T = TypeVar("T")
REMEMBERED = ("model", "dialect", "window", "strategy", "defer", "labels")
"""The options that a session remembers."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The options that apply to a session; None where nobody set one."""

    model: str | None
    dialect: str
    budget: Budget
    sized: Callable[[str | None, int | None, str], Budget]
    """From a model, a window and a dialect to a budget with the thresholds that were chosen."""
    metered: Callable[[str | None], Meter]
    """From a model to the meter that was chosen, or else to the one that suits it."""
    strategies: tuple[Strategy, ...] | None
    filters: tuple[Filter, ...] | None
    recall: bool | None
    defer: float | None
    """The share of the window that schemas may take before tools wait; None: no tool waits."""


def choose(given: Options, last: Opened | None = None) -> Choice:
    """What holds for a session that is opened with these options, and was opened like this the last time."""
    check_summarizer(given)
    before = remembered_options(given, last)
    check_summarizer(given, before.strategy)
    said = (given, before, *layers())
    model = _first(layer.model for layer in said)
    dialect = _first(layer.dialect for layer in said) or dialect_for(model)
    sized = partial(_budget, said)
    window = given.window if given.window is not None else before.window
    return Choice(
        model=model,
        dialect=dialect,
        budget=sized(model, window, dialect) if given.budget is None else cached_like(given.budget, model),
        sized=sized,
        metered=partial(meter_for, _first(_either(layer, "meter") for layer in said)),
        strategies=_first(_either(layer, "strategy") for layer in said),
        filters=_first(_either(layer, "filters") for layer in said),
        recall=_first(_either(layer, "recall") for layer in said),
        defer=share if (share := _first(layer.defer for layer in said)) is not None and share >= 0 else None,
    )


def check_summarizer(given: Options, remembered: Sequence[Strategy] | None = None) -> None:
    """Raise `BadSetting` for a strategy, given or remembered, that asks a model where there is none."""
    asking = [name_of(one) for one in given.strategy or remembered or () if needs_model(one)]
    if asking and given.summarizer is None:
        raise BadSetting(
            f"{asking[0]} asks a model, and there is none: open the session with `summarizer=`, a model or a function "
            "of a question; or choose a strategy that asks nobody, such as `auto` or `digest`."
        )


def remembered_options(given: Options, last: Opened | None) -> Options:
    """What the session was opened with the last time, as far as that goes with what is given now."""
    if last is None:
        return Options()
    # Where no model was given the last time either, a setting named it, and may name another one now.
    is_new = last.model is None or given.model not in (None, last.model)
    known = models.lookup(given.model) if is_new and given.model is not None else None
    most = (known.max_input or known.window) if known else None
    window = last.window if last.window is None or most is None else min(last.window, most)
    names = [one for one in last.strategy if is_named(one)]
    wanted = given.strategy is None and given.preset is None and not strategies_without_model(given, last)
    return Options(
        model=last.model,
        dialect=None if last.inferred and is_new else last.dialect,
        window=window if given.budget is None else None,
        strategy=value_of("strategy", names) if names and wanted else None,
        defer=last.defer,
    )


def strategies_without_model(given: Options, last: Opened | None) -> list[str]:
    """The remembered strategies that are not used because there is no model to ask."""
    said = given.summarizer is not None or given.strategy is not None or given.preset is not None
    if last is None or said or not last.strategy:
        return []
    from fanfold.config.naming import ASKING  # late: most programs give functions

    names = [one if isinstance(one, str) else one["name"] for one in last.strategy if is_named(one)]
    return [name for name in names if name in ASKING]


def to_remember(
    given: Options, last: Opened | None, dialect: str, which: Collection[str] = REMEMBERED
) -> Opened:
    """What to remember of a session that was opened with these options, and speaks this dialect."""
    last = last or Opened()
    window = given.window if given.budget is None else given.budget.window
    opened = Opened(
        model=last.model if given.model is None else given.model,
        dialect=dialect,
        window=last.window if window is None else window,
        strategy=last.strategy if given.named is None else given.named,
        coded=last.coded if given.strategy is None else given.coded,
        defer=last.defer if given.defer is None else given.defer,
        labels={**last.labels, **(given.labels or {})},
        parent=last.parent,
    )
    kept = replace(opened, **{name: getattr(last, name) for name in REMEMBERED if name not in which})
    kept = kept if "strategy" in which else replace(kept, coded=last.coded)
    inferred = last.inferred or last.dialect is None
    return replace(kept, inferred=inferred and given.dialect is None if "dialect" in which else last.inferred)


def is_named(strategy: object) -> bool:
    """Whether a strategy is given as it is remembered: by its name, or in a table with its name."""
    if isinstance(strategy, Mapping):
        return all(isinstance(one, str) for one in (strategy.get("name"), *strategy))
    return isinstance(strategy, str)


def _first(said: Iterable[T | None]) -> T | None:
    return next((one for one in said if one is not None), None)


def _either(layer: Options, what: str) -> Any:
    """What a layer says itself, or what its preset says."""
    own = getattr(layer, what, None)
    return own if own is not None or layer.preset is None else getattr(layer.preset, what)


def _budget(said: Sequence[Options], model: str | None, window: int | None, dialect: str) -> Budget:
    """The budget of some size: with the thresholds of the caller's own one, else with all that layers say."""
    if window is None:
        window = _window(said, model)
    budget, own = budget_for(model, window, dialect), said[0].budget
    if own is not None:
        return own.limited_like(budget)
    for layer in reversed(said):
        budget = _narrow(budget, layer)
    return _apply_profile(budget, said)


def _window(said: Sequence[Options], model: str | None) -> int | None:
    """The window that settings name; where the model is unknown, the one in the preset's own table."""
    settings = said[2:]  # what is given or remembered is the window of one model, and was looked at before
    named = _first(layer.window for layer in settings)
    limit = _first(_either(layer, "limit") for layer in said)
    if named is None and limit is not None and (model is None or models.lookup(model) is None):
        return int(limit(model))
    return named


def _narrow(budget: Budget, layer: Options) -> Budget:
    """The budget with what a layer says about when and how far to reduce."""
    if layer.preset is not None:
        try:
            budget = layer.preset.budget(budget)
        except (BadBudget, TypeError) as error:  # a figure of the wrong type is first used here
            message = f"{layer.preset.name} cannot be used with these settings: {error}"
            raise layer.wrong(message, "preset") from error
    try:
        return replace(budget, **layer.figures)
    except BadBudget as error:
        blamed = [name for name in layer.figures if str(error).startswith(name)] or list(layer.figures)
        raise layer.wrong(str(error), "budget", blamed[0]) from error


def _apply_profile(budget: Budget, said: Sequence[Options]) -> Budget:
    """The budget with the threshold of the chosen profile, in percent of the window; -1 inherits (E2)."""
    chooser = _first(layer for layer in said if layer.profile is not None)
    if chooser is None or chooser.profile is None:
        return budget
    profiles = {name: value for layer in reversed(said) for name, value in layer.profiles.items()}
    if chooser.profile not in profiles:
        raise chooser.wrong(str(unknown("profile", chooser.profile, profiles)), "profile")
    from fanfold.systems.roo_code import effective_threshold  # late: few programs use profiles

    usual = round(100 * budget.ceiling / budget.window, 1)
    percent = effective_threshold(usual, profiles, chooser.profile)
    return budget if percent == usual else at_percent(budget, percent)
