"""The right moment: how many reductions come where a piece of work has just ended, and what that costs.

python -m bench.moment FOLDER… --window 32k
python -m bench.moment FOLDER… --window 32k --spread
python -m bench.moment FOLDER… --window 32k --bound

Each conversation is replayed with the default, and with the default that takes no notice of boundaries. A reduction
is at a boundary if it is made for a request before which something ended (`strategies/moment.py` says what), or after
a silence in which the provider forgot the prompt.

With `--spread`, nothing is reduced: it says how often a boundary lies within so many tokens behind any place. That is
the most that a reduction can reach which may wait for so long.

With `--bound`, neither: it says what the best choice of moments could reach that knows the whole conversation before,
with so many reductions at most. A reduction ends where the default ends it, and is due where the default's is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import click

from bench.peers.__main__ import sampled, tight
from fanfold.cli.sizes import size
from fanfold.core.budget import Budget
from fanfold.core.plan import Outcome
from fanfold.core.view import View
from fanfold.replay import Shown, Trace, play
from fanfold.replay.player import TARGET, TRIGGER, SessionPlayer
from fanfold.strategies import auto
from fanfold.strategies.auto import _END, _HARD, _LARGE, _PAYS, _SMALL, _START, Auto, _at, _may_go
from fanfold.strategies.framing import framing
from fanfold.strategies.handover.tools import tools_with
from fanfold.strategies.moment import boundary

TABLE = tools_with(None)
"""The tools by which what ended is recognised."""


class Careless(Auto, frozen=True):
    """The default as it would be without moments: it starts at its start, whatever has just happened."""

    def due(self, view: View, budget: Budget) -> bool:
        """Whether the view has grown so far, and enough of it could go."""
        start, end = (_at(shares, self.thrift, view, budget) for shares in (_START, _END))
        return view.tokens >= start and _may_go(view) >= _PAYS * (start - end)


class Watcher(SessionPlayer):
    """A session that notes before which requests it reduces, and what had just ended there."""

    def __init__(self, trace: Trace, window: int, chosen: Auto) -> None:
        super().__init__(trace, window, (chosen,), on_edit=self.note)
        self.ends: list[str] = []
        self.reduced = False

    def note(self, outcome: Outcome) -> None:
        """A reduction was made."""
        self.tally.count_edits(outcome)
        self.reduced = True

    def show(self, count: int) -> Shown:
        """The request after so many messages."""
        before, self.reduced = self._now, False
        told = self.trace.request(count)
        self.chat.merge(told)
        view = self.chat.view()
        shown = super().show(count)
        if self.reduced:
            silent = before and self._now - before >= 300
            self.ends.append(boundary(view, TABLE) or ("silence" if silent else "nothing"))
        return shown


class Measured(NamedTuple):
    """What one conversation came to."""

    ends: tuple[str, ...]
    cost: float
    over: int
    requests: int


def measure(trace: Trace, window: int, chosen: Auto) -> Measured:
    """Replay a conversation."""
    players: list[Watcher] = []

    def made(trace: Trace, window: int) -> Watcher:
        players.append(Watcher(trace, window, chosen))
        return players[-1]

    played = play(trace, "moment", window, made)
    return Measured(tuple(players[0].ends), played.score.cost, played.score.over, played.score.calls)


BANDS = (2_000, 4_000, 8_000, 11_000, 13_000, 20_000, 30_000, 45_000)
"""Tokens for which a reduction may wait."""


def stretches(trace: Trace, window: int) -> tuple[list[int], Counter[str]]:
    """The tokens from one boundary to the next, and what the boundaries are."""
    player = SessionPlayer(trace, window, ())
    places, ends = [0], Counter[str]()
    tokens = 0
    for call in trace.calls:
        player.chat.merge(trace.request(call.before))  # which only a request would reduce
        view = player.chat.view()
        end, tokens = boundary(view, TABLE), view.tokens
        ends[end or "nothing"] += 1
        places += [tokens] if end else []
    player.close()
    return [after - before for before, after in pairwise((*places, tokens)) if after > before], ends


def tell_spread(found: Sequence[Trace], window: int) -> None:
    """Print how often a boundary lies within a band."""
    told = [stretches(trace, window) for trace in found]
    gaps, ends = [gap for some, _ in told for gap in some], sum((one for _, one in told), Counter[str]())
    total = sum(gaps)
    print(
        f"{sum(ends.values()):,} requests: {', '.join(f'{kind} {many}' for kind, many in ends.most_common())}"
    )
    for band in BANDS:
        print(f"within {band:6,} tokens: {sum(min(gap, band) for gap in gaps) / total:6.1%}")


def tell(name: str, found: Sequence[Measured]) -> None:
    """Print what all conversations came to."""
    ends = Counter(end for one in found for end in one.ends)
    count = sum(ends.values())
    share = 1 - ends["nothing"] / count if count else 1.0
    cost, over = sum(one.cost for one in found), sum(one.over for one in found)
    kinds = ", ".join(f"{kind} {many}" for kind, many in ends.most_common())
    print(
        f"{name:10} {count:5,} reductions, {share:6.1%} at a boundary; cost {cost / 1e6:.3f} M; {over} over ({kinds})"
    )


class Course(NamedTuple):
    """What the choice of moments in one conversation is about."""

    tokens: tuple[int, ...]
    """What all requests up to each have brought."""
    ends: tuple[bool, ...]
    """Whether something has just ended before it."""
    first: int
    """So many tokens fit before the first reduction, and after each so many before the next."""
    band: int


def course(trace: Trace, window: int) -> Course:
    """Play a conversation without reductions."""
    player, usual = SessionPlayer(trace, window, ()), auto()
    tokens, ends, grown, before = [], [], 0, 0
    for call in trace.calls:
        player.chat.merge(trace.request(call.before))
        view = player.chat.view()
        grown, before = grown + max(0, view.tokens - before), view.tokens
        tokens.append(grown)
        ends.append(bool(boundary(view, TABLE)))
    budget = Budget(window=window, reserve=0, trigger=TRIGGER, target=TARGET)
    start, end = (_at(shares, usual.thrift, view, budget) for shares in (_START, _END))
    free = budget.room - framing(view)
    size = (free >= _SMALL) + (free > _LARGE)
    last = min(budget.ceiling, int(start + _HARD[size] * (start - end)))
    player.close()
    return Course(tuple(tokens), tuple(ends), last, max(1, last - end))


def most_at_ends(found: Course) -> dict[int, int]:
    """By the number of reductions, how many of them can come where something ended."""
    tokens, count = found.tokens, len(found.tokens)
    best: dict[int, dict[int, int]] = {0: {-1: 0}}
    told: dict[int, int] = {}
    for many in range(count):
        for at, score in best[many].items():
            if tokens[-1] - (tokens[at] if at >= 0 else 0) <= (found.band if at >= 0 else found.first):
                told[many] = max(told.get(many, 0), score)
        later: dict[int, int] = {}
        for at, score in best[many].items():
            limit = tokens[at] + found.band if at >= 0 else found.first
            for next_at in range(at + 1, count):
                if tokens[next_at] > limit and next_at > at + 1:
                    break
                later[next_at] = max(later.get(next_at, 0), score + found.ends[next_at])
        if not later or many > _PATIENCE + min(told, default=many):
            break
        best[many + 1] = later
    return told


_PATIENCE = 20
"""Reductions more than the fewest that are tried in a conversation."""


WIDER = (1.0, 1.25, 1.5, 2.0)
"""A reduction may end lower than it aims at, so that the next one can wait longer: so many times as long."""


def tell_bound(found: Sequence[Trace], window: int) -> None:
    """Print the best share of all conversations together, by the number of reductions."""
    courses = [course(trace, window) for trace in found]
    for wider in WIDER:
        total = {0: 0}
        for one in courses:
            each = most_at_ends(one._replace(band=int(wider * one.band)))
            sums = ((many + more, a + b) for many, a in total.items() for more, b in each.items())
            merged: dict[int, int] = {}
            for many, score in sums:
                merged[many] = max(merged.get(many, 0), score)
            total = merged or total
        fewest = max(1, min(total))
        for more in (0, 0.1, 0.2, 0.5, 1.0):
            share, many = max((total[n] / n, n) for n in total if 0 < n <= fewest * (1 + more))
            print(f"{wider:4} {many:5,} reductions: at best {share:6.1%} at a boundary")


@click.command
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--window", type=size, default="32k", show_default=True)
@click.option("--sample", type=click.IntRange(1))
@click.option("--spread", is_flag=True, help="How far apart boundaries are.")
@click.option("--bound", is_flag=True, help="What the best choice of moments could reach.")
def main(folders: tuple[Path, ...], window: int, sample: int | None, *, spread: bool, bound: bool) -> None:
    """Print the share of reductions at a boundary, and the cost with and without."""
    found = [one for folder in folders for one in sampled(folder, sample) if tight(one, window)]
    usual = auto()
    careless = Careless(usual.thrift, usual.steps, refs=usual.refs, table=usual.table)
    print(f"{len(found)} conversations come near a window of {window:,} tokens")
    if spread:
        tell_spread(found, window)
        return
    if bound:
        tell_bound(found, window)
        return
    for name, chosen in (("moment", usual), ("careless", careless)):
        tell(name, [measure(trace, window, chosen) for trace in found])


if __name__ == "__main__":
    main()
