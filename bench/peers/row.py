"""One policy of fanfold's, in two minutes: every figure that it is held to, without asking a peer anything.

python -m bench.peers.row auto,default FOLDER… [--window 32k] [--beside scores.json] [--sample 10] [--missing 3]

`--beside` is what `python -m bench.peers … --json scores.json` wrote for the same window: the yardstick comes from
there, counted on the same conversations.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec

from bench.peers.__main__ import sampled, tight
from bench.peers.bars import told
from bench.peers.measuring import OWN, Job, Named, measured
from bench.peers.table import table
from fanfold.cli.saying import columns
from fanfold.cli.sizes import size
from fanfold.replay import KINDS, Played, Trace


@click.command
@click.argument("policies")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--window", type=size, default="32k", show_default=True, help="The window, such as 32k.")
@click.option(
    "--beside", type=click.Path(path_type=Path, exists=True), help="Scores of peers, to compare with."
)
@click.option("--sample", type=click.IntRange(1), help="Only so many conversations of each folder or file.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True)
@click.option(
    "--missing", type=int, default=0, help="So many pieces of each kind of the trail that were missing."
)
@click.option("--json", "plain", type=click.Path(path_type=Path), help="Also write all scores to this file.")
def main(
    policies: str,
    folders: tuple[Path, ...],
    window: int,
    beside: Path | None,
    sample: int | None,
    workers: int,
    missing: int,
    plain: Path | None,
) -> None:
    """Print each figure of these policies, and which bars hold."""
    started = time.perf_counter()
    found = tuple(trace for folder in folders for trace in sampled(folder, sample) if tight(trace, window))
    jobs = [Job(Named(OWN, name), window, found) for name in policies.split(",")]
    done = [one.played for one in measured(jobs, workers)]
    played = [*done, *_peers(beside, found)]
    turned = list(zip(*table(played, OWN), strict=True))
    print(columns(turned, right=range(1, len(turned[0]))))
    print("\n" + "\n".join(_lost(done, missing)))
    print("\n".join(told(played, OWN, window)))
    print(f"{len(found):,} conversations, {time.perf_counter() - started:,.0f} s")
    if plain is not None:
        plain.write_bytes(msgspec.json.encode(played))


def _lost(played: Sequence[Played], most: int) -> Iterator[str]:
    """The pieces of each kind that were missing in most requests, and the false statements."""
    missed = [(one, missed) for one in played for missed in one.missed]
    for kind in KINDS if most else ():
        worst = sorted((pair for pair in missed if pair[1].kind == kind), key=lambda pair: -pair[1].calls)
        yield from (
            f"  missing  {kind}, {lost.calls} calls: {lost.text!r} ({one.policy}, {one.conversation})"
            for one, lost in worst[:most]
        )
    false = [f"  false    {line} ({one.policy}, {one.conversation})" for one in played for line in one.false]
    yield from false[: 3 * most]


def _peers(beside: Path | None, found: Sequence[Trace]) -> list[Played]:
    """What peers did on the same conversations, in the same order."""
    if beside is None:
        return []
    kept = msgspec.json.decode(beside.read_bytes(), type=list[Played])
    by_name = {(one.policy, one.conversation): one for one in kept if not one.policy.startswith(OWN)}
    names = dict.fromkeys(policy for policy, _ in by_name)
    return [by_name[policy, trace.name] for policy in names for trace in found]


if __name__ == "__main__":
    main()
