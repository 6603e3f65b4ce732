"""What is known about models: limits, prices, tokenizer family, quirks."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from fanfold.core.errors import BadInput, BadSetting, UnknownModel
from fanfold.tokens import model_names

_SLIP = 0.8
"""Names that are alike to this degree, and have the same numbers, are one name and a slip."""


class Prices(Struct, frozen=True, forbid_unknown_fields=True):
    """List prices in dollars per million tokens; None means no price of its own."""

    input: float
    output: float
    cache_read: float | None = None
    """None: a read costs as much as input."""
    cache_write_5m: float | None = None
    """None: a write costs as much as input."""
    cache_write_1h: float | None = None
    """None: as much as a write for five minutes."""
    tiers: tuple[Tier, ...] = ()
    """Dearer prices for long prompts, by rising size."""

    def at(self, prompt: int) -> Prices:
        """The prices for a prompt of this many tokens."""
        reached = [tier.prices for tier in self.tiers if prompt > tier.above]
        return reached[-1] if reached else self


class Tier(Struct, frozen=True, forbid_unknown_fields=True):
    """The prices of a whole request whose prompt is longer than `above` tokens."""

    above: int
    prices: Prices


class Model(Struct, frozen=True, forbid_unknown_fields=True):
    """A model's limits and prices; `window` or `max_input` must be given."""

    name: str
    provider: str = ""
    """Who bills it; a host of open weights may bill otherwise."""
    window: int | None = None
    """The context size as its maker states it."""
    max_input: int | None = None
    """The longest prompt; None: as long as the window."""
    max_output: int | None = None
    shared: bool = True
    """Whether input and output share the window."""
    prices: Prices | None = None
    min_cacheable: int | None = None
    """Shorter prompts are not cached; None: unknown, or no prompt cache."""
    tokenizer: str = ""
    """The tokenizer's family, such as o200k, gemma or claude; empty: unknown."""
    quirks: frozenset[str] = frozenset()
    """What its provider's rules ask of it alone, by name; `scripts/refresh_models.py` says what each one means."""

    def __post_init__(self) -> None:
        for limit in (self.window, self.max_input, self.max_output):
            if limit is not None and limit <= 0:
                raise BadSetting(f"Model {self.name!r}: a limit must be above zero, not {limit}.")
        if self.window is None and self.max_input is None:
            raise BadSetting(f"Model {self.name!r} needs a size: give window= or max_input=.")


_registered: dict[str, Model] = {}


def find(name: str) -> Model:
    """The model of this name in any usual spelling, or UnknownModel."""
    if not isinstance(name, str):
        raise BadInput(f"A model's name is a text, not {type(name).__name__}.")
    model = _find(name)
    if model is None:
        raise UnknownModel(_advice(name))
    return model


def register(model: Model) -> None:
    """Make a model known to this process; it goes before a model of the table of that name."""
    _registered[model_names.key(model.name)] = model
    _keys.cache_clear()
    _find.cache_clear()
    _kin.cache_clear()


def lookup(name: str) -> Model | None:
    """The model of this name, or None."""
    return _find(name) if isinstance(name, str) else None


def kin(name: object) -> Model | None:
    """The model of this name; of one that is not known, its nearest relative: the same provider, tokenizer and rules.

    A registered model that says only its limits has the rest from its relative. Limits and prices of a relative are
    not those of the model; nobody may count on them.
    """
    return _kin(name) if isinstance(name, str) else None


def has(name: object, quirk: str) -> bool:
    """Whether the model of this name, or else its nearest relative, has a quirk."""
    model = kin(name)
    return model is not None and quirk in model.quirks


def known() -> tuple[str, ...]:
    """The names of all known models, sorted."""
    return tuple(sorted(set(_keys().values())))


@lru_cache(maxsize=4096)
def _find(name: str) -> Model | None:
    if len(name) > model_names.LONGEST:
        return None
    found = model_names.match(name, _keys())
    if found is None:
        return None
    model = _registered.get(found) or _from_table(_keys()[found])
    return _widen(model) if model_names.wide(name) else model


@lru_cache(maxsize=4096)
def _kin(name: str) -> Model | None:
    found = _find(name)
    if found is not None and found not in _registered.values():
        return found
    relative = _relative(name)
    if found is None or relative is None:
        return found or relative
    return replace(
        found,
        provider=found.provider or relative.provider,
        tokenizer=found.tokenizer or relative.tokenizer,
        quirks=found.quirks or relative.quirks,
        min_cacheable=found.min_cacheable or relative.min_cacheable,
    )


def _relative(name: str) -> Model | None:
    """The model of the table that a name means, or that is most like it."""
    if len(name) > model_names.LONGEST:
        return None
    table = _table()
    found = model_names.match(name, table) or model_names.relative(model_names.key(name), table)
    return None if found is None else _from_table(table[found])


@lru_cache(maxsize=1)
def _table() -> dict[str, str]:
    from fanfold.tokens.model_table import MODELS  # 400 rows that most imports of fanfold never need

    return {model_names.key(name): name for name in MODELS}


@lru_cache(maxsize=1)
def _keys() -> dict[str, str]:
    return _table() | {key: model.name for key, model in _registered.items()}


def _from_table(name: str) -> Model:
    from fanfold.tokens.model_table import MODELS

    provider, window, max_input, max_output, shared, least, tokenizer, quirks, prices = MODELS[name]
    return Model(
        name=name,
        provider=provider,
        window=window,
        max_input=max_input,
        max_output=max_output,
        shared=shared,
        prices=_prices(prices),
        min_cacheable=least,
        tokenizer=tokenizer,
        quirks=frozenset(quirks.split()),
    )


def _prices(rows: tuple[tuple[float | None, ...], ...]) -> Prices | None:
    """Prices from rows of (above, input, output, read, write, write for an hour)."""
    if not rows:
        return None
    tiers = tuple(Tier(int(row[0] or 0), _plain(row)) for row in rows[1:])
    return replace(_plain(rows[0]), tiers=tiers)


def _plain(row: tuple[float | None, ...]) -> Prices:
    _, input, output, read, write, hour = row
    return Prices(
        input=input or 0.0, output=output or 0.0, cache_read=read, cache_write_5m=write, cache_write_1h=hour
    )


def _widen(model: Model) -> Model:
    if (model.window or 0) >= 1_000_000:
        return model
    return replace(model, window=1_000_000, max_input=1_000_000)


def unknown(name: str) -> str:
    """That no limits are known for a model, and which models are most like it."""
    shown, keys = _short_name(name), _keys()
    from difflib import get_close_matches  # only wanted when something is wrong

    relative = _relative(name)
    close = [keys[key] for key in get_close_matches(model_names.key(name), keys, n=3, cutoff=0.6)]
    near = list(dict.fromkeys([*([relative.name] if relative else []), *close]))[:3]
    said = f" Known are, for example, {', '.join(near)}." if near else ""
    if close and _is_slip(shown, close[0]):
        said = f" Did you mean {close[0]}?"
    return f"No limits are known for the model {shown!r}.{said}"


def _is_slip(typed: str, known: str) -> bool:
    """Whether one name is the other, mistyped: another number is another model."""
    from difflib import SequenceMatcher  # only wanted when something is wrong

    one, other = typed.casefold(), known.casefold()
    alike = SequenceMatcher(None, one, other).ratio() >= _SLIP
    return alike and re.findall(r"\d+", one) == re.findall(r"\d+", other)


def setting(name: str) -> str:
    """What makes a model known in the settings file."""
    return f'[models."{_short_name(name)}"] with window = … and max_output = ….'


def _advice(name: str) -> str:
    return (
        f"{unknown(name)} Give window=…; or register it in code, "
        f"fanfold.models.register(Model({_short_name(name)!r}, window=…, max_output=…)); "
        f"or in fanfold.toml, {setting(name)}"
    )


def _short_name(name: str) -> str:
    return name if len(name) <= 80 else name[:79] + "…"
