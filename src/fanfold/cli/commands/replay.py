"""What would each policy have cost, kept and lost?"""

from __future__ import annotations

import shlex
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from fanfold.cli.files import FILE, atomic_file
from fanfold.cli.saying import as_json, columns, many, progress, say
from fanfold.cli.sizes import duration, size
from fanfold.core.errors import BadInput

if TYPE_CHECKING:
    from fanfold.replay import Failure, Played, Score


def found_traces(context: click.Context, argument: click.Parameter, given: tuple[str, ...]) -> list[Path]:
    """Files and folders, those that a pattern stands for included."""
    from fanfold.replay.reading import matches  # late: few commands need it

    found = click.Path(path_type=Path, exists=True)
    return [found.convert(place, argument, context) for one in given for place in matches(one)]


@click.command
@click.argument("traces", nargs=-1, required=True, callback=found_traces)
@click.option(
    "--policy",
    multiple=True,
    default=("none,drop_oldest,default",),
    show_default=True,
    help="Policies, by commas or one for each --policy: `none`, strategies (`elide+digest` is both), presets.",
)
@click.option("--window", type=size, default="100k", show_default=True, help="The window, such as 32k.")
@click.option("--workers", type=click.IntRange(1), help="Processes; by default one for each core.")
@click.option(
    "--engine",
    default="cores",
    show_default=True,
    help="Where it runs: `cores` of this machine, or `ray`, a cluster.",
)
@click.option("--tight", is_flag=True, help="Score only the calls that do not fit without a reduction.")
@click.option(
    "--cache-ttl", type=duration, help="Cached prompts expire after this time, such as 5m; by default never."
)
@click.option("--html", type=FILE, help="Also write a page with pictures.")
@as_json
def replay(
    traces: list[Path],
    policy: tuple[str, ...],
    window: int,
    workers: int | None,
    engine: str,
    tight: bool,
    cache_ttl: float | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Compare what policies cost, keep and lose on recorded conversations.

    \b
    Example: fanfold replay ~/.claude/projects --policy drop_oldest,default --window 32k --html report.html
    """
    from fanfold import replay as replaying  # late: few commands need it
    from fanfold.replay.report import hopeless

    _spare(traces, html)
    failures: list[Failure] = []
    with progress("replaying …") as told:
        found = replaying.replay(
            traces,
            [name.strip() for name in ",".join(policy).split(",") if name.strip()],
            window=window,
            engine=engine,
            workers=workers,
            cache_ttl=cache_ttl,
            done=lambda played, part: told(_words(played), part),
            failed=failures.append,
        )
    for failure in failures:
        click.echo(f"fanfold: {failure}", err=True)
    if not found:
        raise BadInput(_nothing(failures))
    scores = replaying.totals(found, tight=tight)
    remarks = replaying.remarks(found, tight=tight, cache_ttl=cache_ttl, failures=failures)
    tables = [_table(rows) for rows in (replaying.rows(scores), replaying.trail_rows(scores)) if rows]
    warned = [said for said in [hopeless(found, window)] if said]
    text = "\n".join([*warned, "\n\n".join(tables), *remarks])
    remarks = [*warned, *remarks]
    say(_values(found, scores, remarks, failures), text, as_json)
    if html is not None:
        _write(html, found, scores, window, remarks)
    if failures or warned:
        click.get_current_context().exit(1)


WANTED = (
    "trail",
    "cost M",
    "needed names in view",
    "over",
    "cached",
    "$",
    "first request kept",
    "one call away",
)
"""What a narrow terminal shows first."""


def _table(rows: list[tuple[str, ...]]) -> str:
    wanted = [rows[0].index(name) for name in (*WANTED, "mean") if name in rows[0]]
    return columns(rows, right=range(1, len(rows[0])), wanted=wanted)


def _spare(traces: list[Path], html: Path | None) -> None:
    """Refuse, before any work is done, a page that cannot be written, or that would replace what is to be read.

    A page that lies in the folder since the last time may go.
    """
    from fanfold.replay import is_trace, places

    if html is None:
        return
    if not html.parent.is_dir():
        raise BadInput(f"There is no folder {html.parent} to write the page to.")
    if not html.exists():
        return
    if any(html.samefile(place.origin) and is_trace(place) for place in places(traces)):
        raise BadInput(f"{html} is one of the traces; write the page to another file.")


def _nothing(failures: list[Failure]) -> str:
    if failures:
        return "Nothing could be replayed."
    return "There is no model call in these files."


def _words(played: Played) -> str:
    return f"{played.conversation}: {played.policy}, {many(played.score.calls, 'call')}"


def _values(
    found: list[Played], scores: dict[str, Score], remarks: list[str], failures: list[Failure]
) -> dict[str, Any]:
    return {
        "remarks": remarks,
        "failed": failures,
        "policies": {
            name: {**msgspec.to_builtins(score), "cost": score.cost} for name, score in scores.items()
        },
        "conversations": found,
    }


def _write(
    html: Path, found: list[Played], scores: dict[str, Score], window: int, remarks: list[str]
) -> None:
    from fanfold.replay.page import About, page

    with atomic_file(html) as target:
        today = date.today()
        about = About(command=_command(), date=f"{today.day} {today:%B %Y}")
        target.write(page(found, scores, window, remarks, about=about).encode())


def _command() -> str:
    """The command as it was given, to be given again."""
    return shlex.join(["fanfold", *sys.argv[1:]])
