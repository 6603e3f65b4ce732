"""What a session is opened with: from code, else from the environment, else from the settings file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from fanfold.config.defaults import budget_for, cached_like, meter_for
from fanfold.config.options import check_taking
from fanfold.config.settings import Layer, layers
from fanfold.core.budget import Budget
from fanfold.core.errors import BadBudget, BadSetting, unknown
from fanfold.core.plan import Strategy, name_of, needs_model
from fanfold.dialects.registry import dialect_for
from fanfold.outputs.filters import Filter
from fanfold.tokens import models
from fanfold.tokens.meter import Meter

if TYPE_CHECKING:
    from fanfold.systems.presets import Preset

T = TypeVar("T")
Sized = Callable[[str | None, int | None, str], Budget]
"""From a model, a window and a dialect to a budget with the thresholds that were chosen."""
Metered = Callable[[str | None], Meter]
"""From a model to the meter that was chosen, or else to the one that suits it."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """All that was chosen; None where nobody chose."""

    model: str | None
    dialect: str
    budget: Budget
    sized: Sized
    metered: Metered
    strategies: tuple[Strategy, ...] | None
    filters: tuple[Filter, ...] | None
    recall: bool | None


def chosen(options: Mapping[str, Any]) -> Choice:
    """What holds for a session with these options."""
    said = (given(options), *layers())
    model = _first(layer.model for layer in said)
    dialect = options.get("dialect") or dialect_for(model)
    recall = options.get("recall")
    own = _own_budget(options)
    sized = partial(_sized, own, said)
    return Choice(
        model=model,
        dialect=dialect,
        budget=sized(model, options.get("window"), dialect) if own is None else cached_like(own, model),
        sized=sized,
        metered=partial(meter_for, _first(_either(layer, "meter") for layer in said)),
        strategies=_first(_either(layer, "strategy") for layer in said),
        filters=_first(_either(layer, "filters") for layer in said),
        recall=_first(_either(layer, "recall") for layer in said) if recall is None else recall,
    )


def given(options: Mapping[str, Any]) -> Layer:
    """What code says; what is wrong with it is said at once."""
    meter = options.get("meter")
    return Layer(
        preset=_preset(options.get("preset")),
        strategy=_answered(_strategies(options.get("strategy")), options.get("summarizer")),
        filters=_filters(options.get("filters")),
        meter=None if meter is None else meter_for(meter, None),
        model=options.get("model"),
        profile=options.get("profile"),
    )


def _preset(preset: Any) -> Preset | None:
    if preset is None:
        return None
    from fanfold.config.naming import preset_named  # late: most programs choose the parts themselves

    return preset_named(preset)


def _strategies(strategy: Any) -> tuple[Strategy, ...] | None:
    """One strategy or several, as a list to be tried in order."""
    if strategy is None:
        return None
    found = _listed(strategy, "A strategy is a function `(view, budget) -> edits`, or a list of them.")
    for one in filter(callable, found):
        check_taking(one, "view", "budget", what="A strategy")
    if all(map(callable, found)):
        return found
    from fanfold.config.naming import strategies_named  # late: most programs give functions

    return strategies_named(found)


def _answered(strategies: tuple[Strategy, ...] | None, ask: object) -> tuple[Strategy, ...] | None:
    """The strategies, if those that ask a model have one to ask."""
    asking = [name_of(one) for one in strategies or () if needs_model(one)]
    if asking and ask is None:
        raise BadSetting(
            f"{asking[0]} asks a model, and there is none: open the session with `summarizer=`, a model or a function "
            "of a question; or choose a strategy that asks nobody, such as `auto` or `digest`."
        )
    return strategies


def _filters(filters: Any) -> tuple[Filter, ...] | None:
    if filters is None:
        return None
    found = _listed(filters, "filters are a list of functions `(text, tool, arguments) -> text | None`.")
    for one in filter(callable, found):
        check_taking(one, "text", "tool", "arguments", what="A filter")
    if all(map(callable, found)):
        return found
    from fanfold.config.naming import filters_named  # late: most programs give functions

    return filters_named(found)


def _listed(things: Any, wrong: str) -> tuple[Any, ...]:
    """One thing or several, each a function, a name, or a table with a name."""
    single = callable(things) or isinstance(things, str | dict) or not isinstance(things, Iterable)
    found = (things,) if single else tuple(things)
    if not all(callable(one) or isinstance(one, str | dict) for one in found):
        raise BadSetting(wrong)
    return found


def _first(said: Iterable[T | None]) -> T | None:
    return next((one for one in said if one is not None), None)


def _either(layer: Layer, what: str) -> Any:
    """What a layer says itself, or what its preset says."""
    own = getattr(layer, what, None)
    if own is not None or layer.preset is None:
        return own
    return getattr(layer.preset, what)


def _own_budget(options: Mapping[str, Any]) -> Budget | None:
    budget = options.get("budget")
    if budget is None:
        return None
    if options.get("window") is not None:
        raise BadSetting("Give `window=` or `budget=`, not both: a budget has a window of its own.")
    if not isinstance(budget, Budget):
        raise BadSetting(f"A budget is a fanfold.Budget, not {type(budget).__name__}.")
    return budget


def _sized(
    own: Budget | None, said: Sequence[Layer], model: str | None, window: int | None, dialect: str
) -> Budget:
    """The budget of some size: with the thresholds of the caller's own one, else with all that layers say."""
    budget = budget_for(model, window if window is not None else _window(said, model), dialect)
    if own is not None:
        return own.limited_like(budget)
    for layer in reversed(said):
        budget = _narrowed(budget, layer)
    return _profiled(budget, said)


def _window(said: Sequence[Layer], model: str | None) -> int | None:
    """The window that settings name; where the model is unknown, the one in the preset's own table."""
    named = _first(layer.budget.get("window") for layer in said)
    limit = _first(_either(layer, "limit") for layer in said)
    if named is None and limit is not None and (model is None or models.lookup(model) is None):
        return int(limit(model))
    return named


def _narrowed(budget: Budget, layer: Layer) -> Budget:
    """The budget with what a layer says about when and how far to reduce."""
    budget = budget if layer.preset is None else _preset_on(budget, layer.preset, layer)
    figures = {name: value for name, value in layer.budget.items() if name != "window"}
    try:
        return replace(budget, **figures)
    except BadBudget as error:
        blamed = [name for name in figures if str(error).startswith(name)] or list(figures)
        raise layer.wrong(str(error), "budget", blamed[0]) from error


def _preset_on(budget: Budget, preset: Preset, layer: Layer) -> Budget:
    try:
        return preset.budget(budget)
    except (BadBudget, TypeError) as error:  # a figure of the wrong type is first reckoned with here
        message = f"{preset.name} cannot be used with these settings: {error}"
        raise layer.wrong(message, "preset") from error


def _profiled(budget: Budget, said: Sequence[Layer]) -> Budget:
    """The budget with the threshold of the chosen profile, in percent of the window; -1 inherits (E2)."""
    chooser = _first(layer for layer in said if layer.profile is not None)
    if chooser is None or chooser.profile is None:
        return budget
    profiles = {name: value for layer in reversed(said) for name, value in layer.profiles.items()}
    if chooser.profile not in profiles:
        raise chooser.wrong(str(unknown("profile", chooser.profile, profiles)), "profile")
    from fanfold.systems.roo_code import effective_threshold  # late: seldom used

    usual = round(100 * budget.ceiling / budget.window, 1)
    percent = effective_threshold(usual, profiles, chooser.profile)
    return budget if percent == usual else budget.at_percent(percent)
