"""The models fanfold knows: their limits and prices."""

from __future__ import annotations

import click
import msgspec

from fanfold.cli.completing import model_names
from fanfold.cli.saying import as_json, columns, say
from fanfold.config.settings_file import register_models
from fanfold.core.errors import UnknownModel
from fanfold.tokens import models as table


@click.command
@click.argument("names", nargs=-1, shell_complete=model_names)
@as_json
def models(names: tuple[str, ...], as_json: bool) -> None:
    """List models with their limits and prices per million tokens.

    A name in any usual spelling, or its beginning; without one, all of them.

    \b
    Example: fanfold models claude-sonnet
    """
    register_models()
    found = (
        [model for name in names for model in _find(name)] if names else list(map(table.find, table.known()))
    )
    rows: list[tuple[str, ...]] = [("model", "window", "input", "output", "$ in", "$ cached", "$ out")]
    rows += [_row(model) for model in found]
    values = [{**msgspec.structs.asdict(model), "quirks": sorted(model.quirks)} for model in found]
    say(values, columns(rows, right=range(1, 7)), as_json)


def _find(name: str) -> list[table.Model]:
    known = table.lookup(name)
    if known is not None:
        return [known]
    begun = [table.find(one) for one in table.known() if one.startswith(name)]
    if not begun:
        raise UnknownModel(f"{table.unknown(name)} Write in fanfold.toml: {table.setting(name)}")
    return begun


def _row(model: table.Model) -> tuple[str, ...]:
    prices = model.prices
    figures = (prices.input, prices.cache_read, prices.output) if prices else (None, None, None)
    limits = (model.window, model.max_input, model.max_output)
    return (
        model.name,
        *("–" if limit is None else f"{limit:,}" for limit in limits),
        *("–" if price is None else f"{price:g}" for price in figures),
    )
