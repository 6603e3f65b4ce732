"""What would each policy have cost, kept and lost?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from fanfold.cli.files import FILE, written
from fanfold.cli.progress import progress
from fanfold.cli.saying import as_json, columns, many, say
from fanfold.cli.sizes import duration, size
from fanfold.errors import BadInput


def _found(context: click.Context, argument: click.Parameter, given: tuple[str, ...]) -> list[Path]:
    """Files and folders, those that a pattern stands for included."""
    from fanfold.replay.trace import places  # late: few commands need it

    found = click.Path(path_type=Path, exists=True)
    return [found.convert(place, argument, context) for one in given for place in places(one)]


@click.command
@click.argument("traces", nargs=-1, required=True, callback=_found)
@click.option(
    "--policy", default="none,window,default", show_default=True, help="Policies, with commas between."
)
@click.option("--window", type=size, default="100k", show_default=True, help="The window, such as 32k.")
@click.option("--workers", type=click.IntRange(1), help="Processes; by default one for each core.")
@click.option(
    "--engine",
    default="cores",
    show_default=True,
    help="Where it runs: `cores` of this machine, or `ray`, a cluster.",
)
@click.option("--tight", is_flag=True, help="Score only the calls that would not fit unreduced.")
@click.option(
    "--cache-ttl", type=duration, help="Forget cached prompts after so long, such as 5m; by default never."
)
@click.option("--html", type=FILE, help="Also write a page with pictures.")
@as_json
def replay(
    traces: list[Path],
    policy: str,
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
    Example: fanfold replay ~/.claude/projects --policy window,default --window 32k --html report.html
    """
    from fanfold import replay as replaying  # late: few commands need it

    names = [name.strip() for name in policy.split(",") if name.strip()]
    for name in names:
        replaying.policy(name)
    with progress("replaying …") as told:
        found = replaying.replay(
            traces,
            names,
            window=window,
            engine=engine,
            workers=workers,
            cache_ttl=cache_ttl,
            done=lambda played: told(_words(played)),
        )
    if not found:
        raise BadInput("There is no model call in these files.")
    scores = replaying.totals(found, tight=tight)
    remarks = replaying.remarks(scores, cache_ttl)
    if html is not None:
        from fanfold.replay.page import page

        with written(html) as target:
            target.write(page(found, scores, window, remarks).encode())
    rows = replaying.rows(scores)
    table = columns(rows, right=range(1, len(rows[0])))
    say(_plain(found, scores, remarks), "\n".join([table, *remarks]), as_json)


def _words(played: Any) -> str:
    return f"{played.conversation}: {played.policy}, {many(played.score.calls, 'call')}"


def _plain(found: Any, scores: Any, remarks: list[str]) -> dict[str, Any]:
    return {
        "remarks": remarks,
        "policies": {
            name: {**msgspec.to_builtins(score), "cost": score.cost} for name, score in scores.items()
        },
        "conversations": found,
    }
