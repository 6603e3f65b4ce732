"""What a replay found, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from math import ceil

from fanfold.replay.played import Played
from fanfold.replay.player import TRIGGER
from fanfold.replay.reading import Failure
from fanfold.replay.score import Score
from fanfold.replay.trail import KINDS
from fanfold.text.lines import many

HEAD = (
    "policy", "calls", "M tokens", "tokens/call", "cached", "cost M", "$", "re-sent", "peak", "over", "400", "asked",
    "trail", "false", "names in view", "needed names in view", "one call away", "code words in view",
    "first request kept", "rules", "shown whole", "last five whole", "ms/call",
)  # fmt: skip


class Comparison(list[Played]):
    """What a replay found: a list of what was played, one line in a terminal, and the whole page in a notebook."""

    def __init__(self, played: Iterable[Played], window: int) -> None:
        super().__init__(played)
        self.window = window

    def __repr__(self) -> str:
        from fanfold.replay.page import headline  # late: the page is made of reports

        policies = len({one.policy for one in self})
        said = f": {headline(totals(self))}" if self else ""
        return f"<Comparison of {policies} policies, {len(self)} replays{said}>"

    def _repr_html_(self) -> str:
        from fanfold.replay.page import page  # late: the page is made of reports

        whole = page(self, totals(self), self.window)
        # In a frame of its own: a notebook drops style sheets, and the page's would change the notebook.
        style = "width:100%;height:720px;border:1px solid #8884;border-radius:6px"
        return f'<iframe sandbox style="{style}" srcdoc="{escape(whole)}"></iframe>'


def totals(played: Iterable[Played], *, tight: bool = False) -> dict[str, Score]:
    """The scores of each policy, summed over conversations."""
    found: dict[str, Score] = {}
    for one in played:
        score = one.tight if tight else one.score
        found[one.policy] = found.get(one.policy, Score()) + score
    return found


def rows(scores: dict[str, Score]) -> list[tuple[str, ...]]:
    """The table, one row a policy."""
    costs = digits([score.cost / 1e6 for score in scores.values()])
    prices = digits([score.dollars for score in scores.values()])
    return [HEAD, *(_row(name, score, costs, prices) for name, score in scores.items())]


def digits(figures: Sequence[float]) -> int:
    """Two digits behind the point, or up to four where two figures that differ by a hundredth would look alike."""
    ordered = sorted(figures)
    apart = [(low, high) for low, high in pairwise(ordered) if high > 1.01 * low]
    return next((n for n in (2, 3) if all(f"{low:.{n}f}" != f"{high:.{n}f}" for low, high in apart)), 4)


def trail_rows(scores: Mapping[str, Score]) -> list[tuple[str, ...]]:
    """What was kept of the trail, one row a policy and one column a kind; nothing if no call had to be reduced."""
    if all(score.trail.mean is None for score in scores.values()):
        return []
    head = ("policy", *KINDS, "mean")
    return [
        head,
        *((name, *map(_percent, (*map(s.trail.share, KINDS), s.trail.mean))) for name, s in scores.items()),
    ]


def dollars(score: Score, digits: int = 2) -> str:
    """What was spent; a dash where no price is known, and at least so much where some are not."""
    if score.unpriced == score.calls:
        return "–"
    return f"{'≥' if score.unpriced else ''}{score.dollars:.{digits}f}"


def _percent(share: float | None) -> str:
    """A share of the trail; where there was nothing to keep, a dash."""
    return "–" if share is None else f"{share:.0%}"


def remarks(
    played: Sequence[Played],
    *,
    tight: bool = False,
    cache_ttl: float | None = None,
    failures: Sequence[Failure] = (),
) -> list[str]:
    """What the table does not show: which calls count, whether cached prompts expired, and what is missing."""
    score = next(
        iter(totals(played, tight=tight).values()), Score()
    )  # calls and times are the same for every policy
    told = [_say_count(score, played)] if tight else []
    told += _say_over(played)
    if cache_ttl is not None:
        told += _expiry(score, cache_ttl)
    if failures:
        told.append(_missing(len(failures)))
    return told


def hopeless(played: Sequence[Played], window: int) -> str:
    """That no request fits, with any policy that reduces; nothing where one does."""
    reduced = {name: score for name, score in totals(played).items() if name != "none"}
    if not reduced or any(score.over < score.calls for score in reduced.values()):
        return ""
    sent = [tokens for one in played for tokens in one.windows if one.policy != "none"]
    calls = max(score.calls for score in reduced.values())
    names = " and ".join(filter(None, (", ".join([*reduced][:-1]), [*reduced][-1])))
    return (
        f"Nothing fits a window of {window:,} tokens: all {calls:,} requests of {names} are over it, the shortest with "
        f"{min(sent):,} tokens. A window of {ceil(max(sent) / TRIGGER):,} would hold the longest."
    )


def _say_over(played: Sequence[Played]) -> list[str]:
    """Which policies leave some requests over the window, though not all."""
    return [
        f"Even reduced, {score.over:,} of {many(score.calls, 'request')} of {name} would not fit the window."
        for name, score in totals(played).items()
        if name != "none" and 0 < score.over < score.calls
    ]


def _say_count(tight: Score, played: Sequence[Played]) -> str:
    calls = next(iter(totals(played).values()), Score()).calls
    return (
        f"Only calls whose unreduced request exceeds {TRIGGER:.0%} of the window are counted: "
        f"{tight.calls:,} of {calls:,}."
    )


def _expiry(score: Score, cache_ttl: float) -> list[str]:
    told = [
        f"Cached prompts expire after {_spell(cache_ttl)}: {score.expired:,} of {score.calls:,} calls came too late."
    ]
    if score.untimed:
        told.append(
            f"No time was recorded around {score.untimed:,} of {score.calls:,} calls: nothing expires before these."
        )
    return told


def _missing(number: int) -> str:
    one = number == 1
    return (
        f"{number:,} file{'' if one else 's'} or conversation{'' if one else 's'} could not be replayed, "
        f"and {'is' if one else 'are'} not counted."
    )


def _spell(seconds: float) -> str:
    """Seconds as people write them: `5m`, `1h`."""
    for size, unit in ((3_600, "h"), (60, "m")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:g}s"


def _row(name: str, score: Score, costs: int, prices: int) -> tuple[str, ...]:
    return (
        name,
        f"{score.calls:,}",
        f"{score.prompt / 1e6:.2f}",
        f"{score.per_call:,.0f}",
        f"{score.share:.1%}",
        f"{score.cost / 1e6:.{costs}f}",
        dollars(score, prices),
        f"{_part(score.resent, score.prompt):.1%}",
        f"{score.peak:,}",
        f"{score.over:,}",
        f"{score.faults:,}",
        f"{score.asked:,}",
        _percent(score.trail.mean),
        f"{score.false:,}",
        _share(score.all.visible, score.all.needed),
        _share(score.fresh.visible, score.fresh.needed),
        _share(score.fresh.visible + score.fresh.near, score.fresh.needed),
        _share(score.loose.visible, score.loose.needed),
        _share(score.begun_kept, score.begun),
        _share(score.rules_kept, score.rules_stated),
        _share(score.whole, score.outputs),
        _share(score.newest_whole, score.newest),
        f"{1000 * _part(score.seconds, score.calls):.1f}",
    )


def _part(some: float, all: float) -> float:
    return some / all if all else 0.0


def _share(some: int, all: int) -> str:
    """How much of something was kept; where there was nothing, a dash."""
    return f"{some / all:.1%}" if all else "–"
