"""The digest: a summary that no model wrote. Deterministic, structured, bounded; it takes an earlier one in."""

from __future__ import annotations

from collections.abc import Sequence

from fanfold.budget import Budget
from fanfold.cutting import bytes_of
from fanfold.edit import Fold
from fanfold.plan import Plan, Strategy
from fanfold.strategies.first import first_request
from fanfold.strategies.gist import Gist, Sizes, missing, named, quoted, shortened
from fanfold.strategies.gleaning import gleaned
from fanfold.strategies.ledger import Names
from fanfold.strategies.rooms import PLAIN, Rooms, rate, rooms
from fanfold.strategies.seal import sealed, with_pins
from fanfold.view import Row, Span, View

_MIXED = 0.6
"""Bytes a token of a whole digest has, where one of the conversation has one."""
WORDS, RETAINED = 0.35, 0.1
"""The most that a model's summary takes of the target, and the list of what it was asked to retain."""
_WORTH = 8
"""A digest that leaves free more than this part of the goal leaves it to the tail."""


def digest(*, keep_first: bool = True, refs: bool | None = None) -> Strategy:
    """Fold the oldest blocks into lists: what was asked, ruled, done, broken, touched, decided and left open.

    It needs no model. With `refs`, and by default where there are recall tools, each digest names a reference by which
    they find what it hides.
    """

    def digest(view: View, budget: Budget) -> Plan:
        first = first_request(view, budget) if keep_first else None
        spare = [first] if first else []
        rows = [row for block in view.offered for row in block.rows if row is not first]
        yield from digested(view, budget.goal, rooms(view, budget, rows), but=spare, refs=refs)

    return digest


def digested(view: View, goal: int, room: Rooms, *, but: Sequence[Row], refs: bool | None) -> Plan:
    """Fold the oldest rows, but for some, so that `goal` tokens are left with the digest of what went."""
    read: Names = {}
    old = view.oldest(leaving=goal - room.total, but=but)
    many = rate(old)
    sizes = room.sizes(many, view)
    text = _text(old, view, sizes, read)
    spared = room.total - int(bytes_of(text) / many / _MIXED) if text else 0
    if spared > goal // _WORTH:
        old = view.oldest(leaving=goal - room.total + spared, but=but)
        text = _text(old, view, sizes, read)
    if text:
        yield Fold(old.covers, sealed(text, old, view, ref=refs))


def _text(old: Span, view: View, sizes: Sizes, read: Names) -> str:
    """What the rows say, unless they are too few to fold."""
    if len(old.rows) < 2:
        return ""
    return with_pins(gleaned(old, view, sizes, read).text(sizes, _told(old, view)), old, view)


def _told(old: Span, view: View) -> list[str]:
    """What other summaries in view say already."""
    taken = set(old.covers)
    others = (row for row in view.rows if row.kind == "fold" and row.id not in taken)
    return [message.text for row in others for message in row.messages]


def bounded(text: str, old: Span, budget: Budget, most: float) -> str:
    """What a model wrote, in at most this share of the target; no line of it passes for a heading of ours."""
    return shortened(quoted(text), int(budget.goal * most * rate(old) * PLAIN))


def audited(text: str, old: Span, view: View, budget: Budget, *, whole: bool = False) -> str:
    """A model's summary, bounded unless it is to stay `whole`, with everything added that it must not lose: the user's
    rules, the first request and, within their bound, the names that rank highest. Its seal adds the pinned lines."""
    sizes = rooms(view, budget, old.rows).sizes(rate(old), view)
    gist = gleaned(old, view, sizes)
    words = quoted(text) if whole else bounded(text, old, budget, WORDS)
    asked = tuple(one for one in gist.asked[:1] if one not in words)
    user = Gist(rules=gist.rules, asked=asked, begins=gist.begins)
    said = "\n".join([words, *user.user_blocks(sizes.user, sizes.measure)])
    lost = missing(gist.names, [said], sizes.names)
    return f"{said}\n{named(lost)}" if lost else said
