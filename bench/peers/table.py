"""Policies side by side, the cheapest peer that keeps the window as the yardstick."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fanfold.replay import KINDS, Played, Score, totals

Group = Mapping[str, Sequence[Played]]
"""Of each policy what it did on each conversation, in the same order."""
MOST_OVER = 0.01
"""A yardstick may leave this share of the requests over the window."""
DRAWS, SEED = 2_000, 9
HEAD = (
    "policy", "cost M", "/ yardstick", "(95 %)", "tokens/call", *(f"{kind} %" for kind in ("trail", *KINDS)),
    "needed names in view %", "difference", "(95 %)", "one call away %", "code words in view %", "last five whole %",
    "over %", "broken", "false", "re-sent %", "first request kept %", "rules %", "shown whole %",
    "files in view %", "files one call away %",    "files named %", "running things %", "asked", "ms/call",
)  # fmt: skip


def yardstick(scores: Mapping[str, Score], own: str) -> str | None:
    """The cheapest peer that keeps the window, else the one with the fewest requests over it; None without peers."""
    peers = {name: score for name, score in scores.items() if not name.startswith(own)}
    if not peers:
        return None
    fitting = [name for name, score in peers.items() if score.over <= MOST_OVER * score.calls]
    if fitting:
        return min(fitting, key=lambda name: peers[name].cost)
    return min(peers, key=lambda name: (peers[name].over, peers[name].cost))


def table(played: Sequence[Played], own: str) -> list[tuple[str, ...]]:
    """One row a policy, the cheapest first."""
    scores = totals(played, tight=True)
    group = {name: [one for one in played if one.policy == name] for name in scores}
    best = yardstick(scores, own)
    order = sorted(scores, key=lambda name: scores[name].cost)
    return [HEAD, *(_row(name, best, scores, group) for name in order)]


def _row(name: str, best: str | None, scores: Mapping[str, Score], group: Group) -> tuple[str, ...]:
    score = scores[name]
    cost, recall = _beside(name, best, scores, group) if best else (("–",) * 2, ("–",) * 2)
    return (
        name + (" (yardstick)" if name == best else ""),
        f"{score.cost / 1e6:.2f}",
        *cost,
        f"{score.per_call:,.0f}",
        *(_per_cent(kept) for kept in (score.trail.mean, *map(score.trail.share, KINDS))),
        f"{100 * score.fresh.in_view:.1f}",
        *recall,
        f"{100 * score.fresh.in_reach:.1f}",
        f"{100 * score.loose.in_view:.1f}",
        f"{share(score.newest_whole, score.newest):.1f}",
        f"{100 * score.over / (score.calls or 1):.1f}",
        f"{score.faults:,}",
        f"{score.false:,}",
        f"{100 * score.resent / (score.prompt or 1):.1f}",
        f"{share(score.begun_kept, score.begun):.1f}",
        f"{share(score.rules_kept, score.rules_stated):.1f}",
        f"{share(score.whole, score.outputs):.1f}",
        f"{100 * score.files.in_view:.1f}",
        f"{100 * score.files.in_reach:.1f}",
        f"{100 * score.named.in_view:.1f}",
        f"{100 * score.handles.in_view:.1f}",
        f"{score.asked:,}",
        f"{1000 * score.seconds / (score.calls or 1):.1f}",
    )


def _beside(
    name: str, best: str, scores: Mapping[str, Score], group: Group
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Cost and recall beside the yardstick's, each with its interval."""
    mine, its = Sums.of(scores[name]), Sums.of(scores[best])
    low, high = interval(group[name], group[best], dearer)
    less, more = interval(group[name], group[best], points)
    return (
        (f"{dearer(mine, its):.2f}", f"{low:.2f}–{high:.2f}"),
        (f"{points(mine, its):+.1f}", f"{less:+.1f} – {more:+.1f}"),
    )


def _per_cent(kept: float | None) -> str:
    return "–" if kept is None else f"{100 * kept:.1f}"


def share(some: float, all: float) -> float:
    """Per cent of all; of nothing, nothing was lost."""
    return 100 * some / all if all else 100.0


class Sums(NamedTuple):
    """What is compared, in numbers that add up over conversations."""

    cost: float
    visible: float
    needed: float

    @classmethod
    def of(cls, score: Score) -> Sums:
        """Those of a score."""
        return cls(score.cost, score.fresh.visible, score.fresh.needed)


def dearer(one: Sums, other: Sums) -> float:
    """How many times the other's cost."""
    return one.cost / (other.cost or 1.0)


def points(one: Sums, other: Sums) -> float:
    """How many points of recall more."""
    return 100 * (one.visible / (one.needed or 1.0) - other.visible / (other.needed or 1.0))


def interval(
    some: Sequence[Played], others: Sequence[Played], compare: Callable[[Sums, Sums], float]
) -> tuple[float, float]:
    """Between what values 95 % of the comparisons lie if the conversations had been drawn anew."""
    drawing = random.Random(SEED)
    pairs = [Sums.of(one.tight) + Sums.of(other.tight) for one, other in zip(some, others, strict=True)]
    found = []
    for _ in range(DRAWS):
        drawn = [sum(column) for column in zip(*drawing.choices(pairs, k=len(pairs)), strict=True)]
        found.append(compare(Sums(*drawn[:3]), Sums(*drawn[3:])))
    found.sort()
    return found[int(0.025 * DRAWS)], found[int(0.975 * DRAWS)]
