"""Tables of the page: what of the trail was kept, and the worst losses, to click into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from fanfold.replay.played import Loss, Played
from fanfold.replay.score import Score
from fanfold.replay.spending import Expense
from fanfold.replay.trail import KINDS, Missed

TRAIL = {
    "person's words": "The beginning of every message by a person.",
    "plan": "The items of the newest plan or to-do list.",
    "files edited": "The files that were created or changed.",
    "newest change": "The first lines of the newest change of each file.",
    "commands run": "The commands that were run.",
    "outcome of checks": "The count of the newest test, build, lint and type check.",
    "failures": "The error line of each call that failed.",
    "said": "The first sentence of each thing that the agent said.",
    "files read": "The files that were read.",
    "mean": "The mean of the kinds.",
}
"""What the columns of the trail mean."""
SPENT = {
    "cost": "Token equivalents that it cost in all requests: an uncached token counts 1.25, a cached one 0.1.",
    "tokens": "Its tokens in one request.",
    "requests": "The requests in which it was sent.",
    "eliding it saves": "What it would have saved to leave it out after its first request.",
    "what": "A message, an output, or the system prompt with its tools.",
}
"""What the columns of the dearest things mean."""
LOST = {
    "call": "The number of the call of the model.",
    "needed": "A name that the call used, and that the request did not have any more.",
    "by": "Which tool was called with it.",
    "had stood in": "Where it had stood before it was left out.",
}
"""What the columns of the losses mean."""
MISSED = {
    "requests": "How many of the requests that had to be reduced did not have it.",
    "kind": "Which kind of the trail it is of.",
    "missing": "The beginning of what was missing; of each kind, what was missing most often.",
}
"""What the columns of what was missing of the trail mean."""


def _head(meanings: Mapping[str, str], *before: str) -> str:
    """The head of a table: every column says what it means to whoever points at it."""
    named = "".join(
        f'<th scope=col title="{escape(says)}">{escape(name)}</th>' for name, says in meanings.items()
    )
    return (
        f"<thead><tr>{''.join(f'<th scope=col>{escape(name)}</th>' for name in before)}{named}</tr></thead>"
    )


def trail_table(scores: Mapping[str, Score], hues: Mapping[str, str]) -> str:
    """One row a policy, one column a kind; nothing if no call had to be reduced."""
    if all(score.trail.mean is None for score in scores.values()):
        return "<p>No request had to be reduced.</p>"
    rows = "".join(_trail_row(name, score, hues[name]) for name, score in scores.items())
    return f"<div class=wide><table class=trail>{_head(TRAIL, '')}<tbody>{rows}</tbody></table></div>"


def _trail_row(name: str, score: Score, hue: str) -> str:
    trail = score.trail
    shares = zip((*KINDS, "mean"), (*map(trail.share, KINDS), trail.mean), strict=True)
    cells = "".join(_bar(kind, share) for kind, share in shares)
    return f'<tr class="{hue}"><th scope=row><i></i>{escape(name)}</th>{cells}</tr>'


def _bar(kind: str, share: float | None) -> str:
    name = f'data-name="{escape(kind)}"'  # a phone shows it beside the share, instead of a head
    if share is None:
        return f"<td {name}>–</td>"
    return f'<td {name}>{share:.0%}<span class=bar><b style="width:{share:.1%}"></b></span></td>'


MOST = 40
"""So many conversations are listed."""
MOST_ROWS = 100
TEN = 10


def dearest(played: Sequence[Played], hues: Mapping[str, str]) -> str:
    """Of each policy the ten things that cost most, over all conversations, and what eliding them would have saved."""
    return "".join(
        _dearest([one for one in played if one.policy == policy], policy, hue) for policy, hue in hues.items()
    )


def _dearest(played: Sequence[Played], policy: str, hue: str) -> str:
    things = sorted((spent for one in played for spent in one.dearest), key=lambda spent: -spent.cost)[:TEN]
    total = sum(one.spent for one in played) or 1.0
    share = f"{sum(spent.cost for spent in things) / total:.0%} of all that was spent"
    rows = "".join(_spent_row(spent) for spent in things)
    return (
        f'<details class="{hue}"><summary><i></i>{escape(policy)} <small>{share}</small></summary><div class=wide>'
        f"<table class=lost>{_head(SPENT)}<tbody>{rows}</tbody></table></div></details>"
    )


def _spent_row(spent: Expense) -> str:
    what = f"<code>{escape(spent.label)}</code>" if spent.label else "tools and system prompt"
    cells = (f"{spent.cost:,.0f}", f"{spent.tokens:,}", f"{spent.requests:,}", f"{spent.spare:,.0f}", what)
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def losses(played: Sequence[Played], hues: Mapping[str, str]) -> str:
    """Of each conversation and policy what was gone when it was needed, and of the trail, the worst first."""
    some = (one for one in played if one.lost or one.missed)
    worst = sorted(some, key=lambda one: (-len(one.lost), -sum(missed.calls for missed in one.missed)))[:MOST]
    if not worst:
        return "<p>Nothing that a call needed was out of reach, and nothing of the trail was missing.</p>"
    return "".join(_list(one, hues[one.policy]) for one in worst)


def _list(one: Played, hue: str) -> str:
    rows = "".join(_loss_row(loss) for loss in one.lost[:MOST_ROWS])
    more = len(one.lost) - MOST_ROWS
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    missed = sorted(one.missed, key=lambda missed: -missed.calls)
    told = [f"{len(one.lost):,} of {one.score.all.needed:,} references gone"] if one.score.all.needed else []
    gone = escape("; ".join([*told, *_kinds_missed(one)]))
    head = f"<i></i>{escape(one.policy)} <b>{escape(one.conversation)}</b> <small>{gone}</small>"
    return (
        f'<details class="{hue}"><summary>{head}</summary>'
        f"{_rows(LOST, rows)}{rest}{_rows(MISSED, ''.join(_missed_row(each, one) for each in missed))}</details>"
    )


def _rows(meanings: Mapping[str, str], rows: str) -> str:
    table = f"<table class=lost>{_head(meanings)}<tbody>{rows}</tbody></table>"
    return f"<div class=wide>{table}</div>" if rows else ""


def _kinds_missed(one: Played) -> list[str]:
    """How much was kept of the kinds of the trail of which something was missing."""
    kinds = dict.fromkeys(missed.kind for missed in one.missed)
    shares = ((kind, one.score.trail.share(kind)) for kind in kinds)
    said = [f"{kind} {share:.0%}" for kind, share in shares if share is not None]
    return [f"kept of the trail: {', '.join(said)}"] if said else []


def _missed_row(missed: Missed, one: Played) -> str:
    cells = (f"{missed.calls:,} of {one.tight.calls:,}", escape(missed.kind), escape(missed.text))
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _loss_row(loss: Loss) -> str:
    text = escape(loss.text)
    stood = escape(loss.stood).replace(text, f"<mark>{text}</mark>")
    cells = (f"{loss.call + 1:,}", f"<code>{text}</code>", escape(loss.user), stood)
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
