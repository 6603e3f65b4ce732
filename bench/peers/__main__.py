"""fanfold and its peers on the same conversations: what each costs, keeps and loses.

python -m bench.peers FOLDER… [--window 32k] [--peers langchain,haystack] [--sample 10] [--workers 2]
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from bench.peers.bars import told
from bench.peers.driver import in_chat
from bench.peers.environments import make, peers, policies
from bench.peers.measuring import OWN, Job, Measured, Named, measured
from bench.peers.table import HEAD, table
from fanfold.cli.saying import columns
from fanfold.cli.sizes import size
from fanfold.core.errors import unknown
from fanfold.replay import Trace, traces
from fanfold.replay.player import TRIGGER
from fanfold.replay.trace import unreduced

SEED = 9


@click.command
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--window", type=size, default="32k", show_default=True, help="The window, such as 32k.")
@click.option(
    "--peers",
    "chosen",
    default="",
    help="Peers (`langchain`) or policies (`langchain:trim_messages`); all by default.",
)
@click.option(
    "--policy", default="default", show_default=True, help="fanfold's policies, with commas between."
)
@click.option("--sample", type=click.IntRange(1), help="Only so many conversations of each folder or file.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True)
@click.option("--json", "plain", type=click.Path(path_type=Path), help="Also write all scores to this file.")
def main(
    folders: tuple[Path, ...],
    window: int,
    chosen: str,
    policy: str,
    sample: int | None,
    workers: int,
    plain: Path | None,
) -> None:
    """Print one table."""
    wanted = _chosen(chosen.split(",") if chosen else list(peers()))
    everything = [trace for folder in folders for trace in sampled(folder, sample)]
    found = tuple(trace for trace in everything if tight(trace, window))
    if not found:
        raise click.ClickException(f"No conversation comes near a window of {window:,} tokens.")
    others = list(_ready(wanted))
    if not others:
        raise click.ClickException("There is no peer to measure against.")
    names = [*(Named(OWN, one) for one in policy.split(",")), *others]
    done = list(measured((Job(named, window, found) for named in names), workers))
    played = [one.played for one in done]
    print(f"{len(found):,} of {len(everything):,} conversations come near a window of {window:,} tokens")
    print(columns(table(played, OWN), right=range(1, len(HEAD))))
    for line in (*told(played, OWN, window), *_given_up(done)):
        print(line)
    if plain is not None:
        plain.write_bytes(msgspec.json.encode(played))


def _given_up(done: list[Measured]) -> Iterator[str]:
    """How often each policy raised an error instead of a request, with the first one."""
    reasons: dict[str, list[str]] = {}
    for one in done:
        reasons.setdefault(one.played.policy, []).extend(one.failed)
    for name, failed in reasons.items():
        if failed:
            yield f"{name} gave up at {len(failed):,} calls: {failed[0]}"


def _chosen(names: list[str]) -> dict[str, list[str]]:
    """The policies that are meant, by their peer; what nobody has is refused."""
    found: dict[str, list[str]] = {}
    for one in names:
        peer, _, policy = one.strip().partition(":")
        if peer not in peers():
            raise click.UsageError(str(unknown("peer", peer, peers())))
        every = policies(peers()[peer].read_text())
        if policy and policy not in every:
            raise click.UsageError(str(unknown(f"policy of {peer}", policy, every)))
        found.setdefault(peer, []).extend([policy] if policy else every)
    return found


def _ready(chosen: dict[str, list[str]]) -> Iterator[Named]:
    """The policies of peers whose environment could be made."""
    for peer, names in chosen.items():
        try:
            make(peer)
        except (subprocess.CalledProcessError, LookupError) as error:
            print(f"{peer} cannot be installed here: {error}", file=sys.stderr)
            continue
        yield from (Named(peer, name) for name in dict.fromkeys(names))


def sampled(folder: Path, sample: int | None) -> list[Trace]:
    """The conversations of a folder or file; a sample is always the same one."""
    found = [in_chat(trace) for trace in traces([folder])]
    if sample is None or sample >= len(found):
        return found
    kept = sorted(random.Random(SEED).sample(range(len(found)), sample))
    return [found[i] for i in kept]


def tight(trace: Trace, window: int) -> bool:
    """Whether a policy matters: the last request, unreduced, exceeds the trigger."""
    return unreduced(trace)[trace.calls[-1].before] > TRIGGER * window


if __name__ == "__main__":
    main()
