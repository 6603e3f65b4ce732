"""The digest: a summary that no model wrote. Deterministic, structured, bounded; it takes an earlier one in."""

from __future__ import annotations

from fanfold.budget import Budget
from fanfold.edit import Fold
from fanfold.message import reading
from fanfold.pins import lost_lines
from fanfold.plan import Plan, Strategy
from fanfold.strategies.first import first_request
from fanfold.strategies.gist import HEADINGS, Gist, Sizes, missing, named, quoted, shortened
from fanfold.strategies.gleaning import gleaned
from fanfold.strategies.ledger import Names
from fanfold.strategies.seal import sealed
from fanfold.view import Span, View

NAMES = 0.15
"""The most that the ledger of names takes of the target."""
REST = 0.2
"""The most that outcomes, errors, files, decisions and open items take together."""
_PLAIN, _MIXED, _DENSE = 0.8, 0.6, 0.45
"""Bytes a token of lists, of a whole digest and of names has, where one of the conversation has one."""


def digest(*, keep_first: bool = True, refs: bool = False) -> Strategy:
    """Fold the oldest blocks into lists: what was asked, ruled, done, broken, touched, decided and left open.

    It needs no model. With `refs`, each digest names a reference by which the recall tools find what it hides.
    """

    def digest(view: View, budget: Budget) -> Plan:
        first = first_request(view, budget.room // 10) if keep_first else None
        spare = [first] if first else []
        known: Names = {}
        old = view.oldest(leaving=budget.goal - _room(view, budget), but=spare)
        if len(old.rows) > 1:
            length = len(_text(old, view, budget, known).encode("utf-8", "replace"))
            old = view.oldest(leaving=budget.goal - int(length / rate(old) / _MIXED), but=spare)
        if len(old.rows) > 1:
            yield Fold(old.covers, sealed(_text(old, view, budget, known), old, ref=refs))

    return digest


def _text(old: Span, view: View, budget: Budget, known: Names) -> str:
    return with_pins(gleaned(old, view, known).text(sizes(old, budget)), old, view)


def _room(view: View, budget: Budget) -> int:
    """The most tokens that a digest may take; a short one leaves more to the tail."""
    asked = sum(row.tokens for row in view.rows if row.is_request or row.kind == "fold")
    return min(_user_room(budget), asked) + int(budget.goal * (NAMES + REST))


def _user_room(budget: Budget) -> int:
    return min(budget.window // 10, budget.goal // 2)


def sizes(old: Span, budget: Budget) -> Sizes:
    """How many bytes the parts of a summary of these rows may take."""
    plain, dense = (rate(old) * share for share in (_PLAIN, _DENSE))
    return Sizes(
        int(_user_room(budget) * plain), int(budget.goal * NAMES * dense), int(budget.goal * REST * plain)
    )


def rate(old: Span) -> float:
    """Bytes a token of these rows has, by whatever meter counted them."""
    size = sum(len(reading(message).encode("utf-8", "replace")) for message in old.messages)
    return min(4.0, max(0.5, size / max(1, old.tokens)))


def audited(text: str, old: Span, view: View, budget: Budget, *, most: float = 0.35) -> str:
    """A model's summary, bounded, with everything added that it must not lose: pinned lines, the user's rules,
    the first request and, within their bound, the names that rank highest."""
    gist, room = gleaned(old, view), sizes(old, budget)
    words = shortened(quoted(text), int(budget.goal * most * rate(old) * _PLAIN))
    user = Gist(rules=gist.rules, asked=tuple(one for one in gist.asked[:1] if one not in words))
    whole = "\n".join([words, *user.user_blocks(room.user)])
    lost = missing(gist.names, whole, room.names)
    return with_pins(f"{whole}\n{named(lost)}" if lost else whole, old, view)


def with_pins(text: str, old: Span, view: View) -> str:
    """A text with the pinned lines that these rows show and it does not."""
    lost = lost_lines(view, old.covers, text)
    return "\n".join([text, HEADINGS["pinned"], *lost]) if lost else text
