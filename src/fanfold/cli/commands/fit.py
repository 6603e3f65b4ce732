"""Fitting a file: a conversation or request in, a shorter one in the same dialect out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from fanfold.cli.completing import model_names
from fanfold.cli.files import FILE, atomic_file
from fanfold.cli.saying import as_json, say, show_count
from fanfold.cli.sessions import strategy_option
from fanfold.cli.sizes import share, size
from fanfold.cli.sources import Source, sources
from fanfold.cli.views import explanation, report_of
from fanfold.config.defaults import budget_for
from fanfold.config.naming import strategies_named
from fanfold.dialects.registry import DIALECTS
from fanfold.session.fit import fitted


@click.command
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--window", type=size, help="The context window, such as 128k.")
@click.option("--model", help="The model whose limits and tokenizer count.", shell_complete=model_names)
@click.option(
    "--reserve", type=share, help="Kept free for the reply: tokens, such as 8k, or a share, such as 10%."
)
@strategy_option
@click.option("--to", type=click.Choice(tuple(DIALECTS)), help="Another dialect to write it in.")
@click.option("--meter", help="How to count, such as characters/4; by default as the model does.")
@click.option("-o", "--out", type=FILE, help="The file to write; without it, standard output.")
@click.option("--explain", is_flag=True, help="Say row by row what became of it, on standard error.")
@as_json
def fit(file: Path, out: Path | None, explain: bool, as_json: bool, **options: Any) -> None:
    """Shorten a conversation so that it fits its window.

    A request, a list of messages or a transcript; `-` reads standard input.

    What comes out is in the dialect that went in, or in the one that --to names; a file of several conversations
    gives a line for each. The report goes to standard error: as JSON with --json.

    \b
    Example: fanfold fit request.json --window 128k --reserve 8k -o short.json
    """
    options["strategy"] = strategies_named(options["strategy"]) or None
    reports, lines = [], []
    with atomic_file(out) as target:
        for source in _watch(sources(file), out):
            result = fitted(source.request, **_options_for(source, options))
            target.write(_encode(result.shape) + b"\n")
            reports.append(report_of(source.name, result, rows=explain))
            lines.append(explanation(source.name, result, rows=explain))
    say(reports, "\n".join(lines), as_json, beside=True)


def _watch(found: Iterator[Source], out: Path | None) -> Iterator[Source]:
    """The same, counted for whoever waits; unless the result itself is what they watch."""
    return found if out is None and sys.stdout.isatty() else show_count(found, "conversations")


def _options_for(source: Source, options: dict[str, Any]) -> dict[str, Any]:
    """The options for one conversation: its own dialect, its own model unless another was named, a share in tokens."""
    given = {
        "model": source.model,
        "dialect": source.dialect,
        **{key: value for key, value in options.items() if value is not None},
    }
    reserve = given.get("reserve")
    if isinstance(reserve, float):
        given["reserve"] = round(reserve * budget_for(given["model"], given.get("window")).window)
    return given


def _encode(shape: Any) -> bytes:
    from fanfold.dialects.weigh import encoded
    from fanfold.text.json_text import sendable

    return encoded((sendable(shape),))[1][1:-1]
