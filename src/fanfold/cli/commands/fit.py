"""Fitting a file: a conversation or request in, a shorter one in the same dialect out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from fanfold.cli.looks import explained, report_of
from fanfold.cli.places import FILE, written
from fanfold.cli.reading import Source, sources
from fanfold.cli.saying import as_json, told
from fanfold.cli.sessions import models
from fanfold.cli.sizes import share, size
from fanfold.errors import BadInput, BadSetting
from fanfold.fitting import Fitted, fitted
from fanfold.plan import Strategy
from fanfold.registry import CODECS, budget_for


@click.command
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--window", type=size, help="The context window, such as 128k.")
@click.option("--model", help="The model whose limits and tokenizer count.", shell_complete=models)
@click.option(
    "--reserve", type=share, help="Kept free for the reply: tokens, such as 8k, or a share, such as 10%."
)
@click.option("--strategy", help="How to reduce: window, elide, truncate, digest …")
@click.option("--to", type=click.Choice(tuple(CODECS)), help="Another dialect to write it in.")
@click.option("--meter", help="How to count, such as characters/4; by default as the model does.")
@click.option("-o", "--out", type=FILE, help="The file to write; without it, standard output.")
@click.option("--explain", is_flag=True, help="Say row by row what became of it, on standard error.")
@as_json
def fit(file: Path, out: Path | None, explain: bool, as_json: bool, **options: Any) -> None:
    """Shorten a request, a list of messages or a transcript so that it fits; `-` reads standard input.

    What comes out is in the dialect that went in, or in the one that --to names; a file of several conversations
    gives a line for each. The report goes to standard error: as JSON with --json.

    \b
    Example: fanfold fit request.json --window 128k --reserve 8k -o short.json
    """
    name = options.pop("strategy")
    options["strategy"] = _strategy(name) if name else None
    done: list[tuple[str, Fitted]] = []
    with written(out) as target:
        for source in _told(sources(file)):
            result = fitted(source.request, **_given(source, options))
            target.write(_encoded(result.shape) + b"\n")
            done.append((source.name, result))
    if as_json:
        told(msgspec.json.format(msgspec.json.encode([report_of(*one) for one in done])).decode())
    else:
        for name, result in done:
            told(explained(name, result, rows=explain))


def _given(source: Source, options: dict[str, Any]) -> dict[str, Any]:
    """The options for one conversation: its own model, unless another was named; a share of the window in tokens."""
    given = {"model": source.model, **{key: value for key, value in options.items() if value is not None}}
    reserve = given.get("reserve")
    if reserve is not None:
        whole = budget_for(given["model"], given.get("window")).window if reserve <= 1 else 1
        given["reserve"] = round(reserve * whole)
    return given


def _encoded(shape: Any) -> bytes:
    from fanfold.talk.weighing import encoded, sendable

    return encoded((sendable(shape),))[1][1:-1]


def _told(found: Iterator[Source]) -> Iterator[Source]:
    """The same, with a word on standard error for every ten that are done."""
    for number, source in enumerate(found):
        if number and number % 10 == 0:
            told(f"{number} conversations so far")
        yield source


def _strategy(name: str) -> Strategy:
    from fanfold import strategies

    made = getattr(strategies, name.replace("-", "_"), None)
    if not callable(made):
        known = sorted(one for one in vars(strategies) if callable(getattr(strategies, one)))
        raise BadSetting(f"There is no strategy {name!r}. Known are: {', '.join(known)}.")
    try:
        strategy: Strategy = made()
    except TypeError as error:
        raise BadInput(f"The strategy {name!r} needs more than its name; use it from Python.") from error
    return strategy
