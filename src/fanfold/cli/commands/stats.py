"""Where the tokens are."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import click
import msgspec

from fanfold.cli.files import FILE, atomic_file
from fanfold.cli.saying import as_json, say, show_count
from fanfold.cli.sources import sources
from fanfold.cli.tally import Tally, as_svg, as_text


@click.command
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--meter", help="How to count, such as characters/4; by default as each model does.")
@click.option("--plot", type=FILE, help="Also draw it, as SVG.")
@as_json
def stats(files: tuple[Path, ...], meter: str | None, plot: Path | None, as_json: bool) -> None:
    """Show where the tokens are: kinds, tools, biggest messages, repeats.

    \b
    Example: fanfold stats ~/.claude/projects --plot tokens.svg
    """
    tally = Tally()
    for source in show_count(chain.from_iterable(map(sources, files)), "conversations"):
        tally.take(source, meter)
    if plot is not None:
        with atomic_file(plot) as target:
            target.write(as_svg(tally).encode())
    say({"tokens": tally.tokens, **msgspec.structs.asdict(tally)}, as_text(tally), as_json)
