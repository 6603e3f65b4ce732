"""What suits a model when nothing else was said: its budget and its meter."""

from __future__ import annotations

from msgspec.structs import replace

from fanfold.config.settings_file import find_model
from fanfold.core.budget import Budget
from fanfold.core.errors import BadInput, BadSetting
from fanfold.dialects.registry import most_bytes
from fanfold.systems.meters import Estimate, RooCode
from fanfold.tokens import models
from fanfold.tokens.meter import Bpe, Meter, Whole, for_model, named


def budget_for(model: str | None, window: int | None, dialect: str | None = None) -> Budget:
    """The limits of a model, or of a bare window, in a dialect."""
    most = most_bytes(dialect)
    if window is not None:
        known = models.lookup(model) if model else None
        return cached_like(
            Budget(window=window, max_output=known.max_output if known else None, max_bytes=most), model
        )
    if model is None:
        raise BadInput("Say how much fits: give `model=` or `window=`.")
    found = find_model(model)
    budget = Budget(
        window=found.window or found.max_input or 0,
        max_input=found.max_input,
        max_output=found.max_output,
        shared=found.shared,
        max_bytes=most,
    )
    return cached_like(budget, model)


def cached_like(budget: Budget, model: str | None) -> Budget:
    """The budget with what is known of the prompt cache of a model's provider."""
    known = models.kin(model)
    return replace(budget, cached_from=known.min_cacheable) if known and known.min_cacheable else budget


def meter_for(meter: Meter | str | None, model: str | None) -> Meter:
    """The meter asked for, or the one that suits the model."""
    if isinstance(meter, str):
        return named(meter)
    if meter is not None and not callable(getattr(meter, "message", None)):
        raise BadSetting(f"A meter is one, or the name of one, not {meter!r}.")
    if meter is not None:
        return meter if isinstance(meter, Bpe | Estimate | RooCode | Whole) else Whole(meter)
    known = models.kin(model)
    return for_model(known.tokenizer, known.provider, known.name) if known else for_model()
