"""Rooms: how many tokens the parts of a digest may take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from fanfold.core.budget import Budget
from fanfold.core.message import text_of
from fanfold.core.view import Row, Span, View
from fanfold.strategies.handover.gist import Measure, Sizes, taken
from fanfold.strategies.handover.gleaning import of_user
from fanfold.text.cutting import bytes_of

NAMES = 0.15
"""The most that the ledger of names takes of the target."""
HOLDINGS = 0.05
"""The most that lines about outputs take, where a model can look them up."""
REST = 0.2
"""The most that outcomes, errors, files, decisions and open items take together."""
PLAIN = 0.8
"""Bytes a token of lists has, where one of the conversation has one."""
_USERS = 0.75
"""What the user's words may take of a digest at most, where room is short."""
_MOST = 0.4
"""The share of the room that the target counts as at most: a digest of more says little more, the tail does."""
_LINE = 2
"""Tokens of what stands around a line in a list."""
_MARK = 64
"""Tokens kept free for the mark of a digest."""


class Rooms(msgspec.Struct, frozen=True):
    """The most tokens that each part may take; a part that needs less leaves more to the tail."""

    user: int
    """What the user asked and ruled."""
    names: int
    rest: int
    holdings: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.user + self.own

    @property
    def own(self) -> int:
        """All but the user's words."""
        return self.names + self.rest + self.holdings

    def within(self, most: int, first: int = 0) -> Rooms:
        """The same in less room: the user's words keep theirs as long as they can, `first` of them before all else."""
        most = max(0, most)
        user = min(self.user, max(int(_USERS * most), min(first, most)))
        share = min(1.0, (most - user) / max(1, self.own))
        return msgspec.structs.replace(self.with_own(share), user=user)

    def with_own(self, share: float) -> Rooms:
        """The same with less of all but the user's words."""
        return Rooms(self.user, *(int(part * share) for part in (self.names, self.rest, self.holdings)))

    def sizes(self, rate: float, view: View) -> Sizes:
        """The same in bytes, where a token of the conversation has so many; the user's words are counted."""
        plain = rate * PLAIN
        rest, holdings = int(self.rest * plain), int(self.holdings * plain)
        return Sizes(user=self.user, names=self.names, rest=rest, holdings=holdings, measure=counting(view))


def rooms(view: View, budget: Budget, rows: Iterable[Row]) -> Rooms:
    """What a digest of these rows may take of the target: less, where what must stay leaves little of the room."""
    shares = (NAMES, REST, HOLDINGS if view.refs else 0)
    words = users(rows, view, budget)
    target = min(budget.goal, int(budget.room * _MOST))
    wanted = Rooms(words.all, *(int(target * share) for share in shares))
    return wanted.within(spare(view, budget), words.first)


class WordRoom(NamedTuple):
    """Tokens that the user's words may take."""

    all: int
    first: int
    """Of these, what comes before all else: the rules that fit a tenth, and how the first request begins."""


def users(rows: Iterable[Row], view: View, budget: Budget) -> WordRoom:
    """What the user's words in these rows and behind them may take: a tenth of what the frame leaves, if they are many.

    In any case it is what rules take that fit a tenth of the window, and the first request, if that does, else its
    beginning.
    """
    words, tenth, measure = of_user(rows, view), budget.window // 10, counting(view)
    fair = max(0, budget.room - view.frame.tokens) // 10
    most = tenth + (_LINE + 1) * len(words.rules)  # a line by itself takes a token more than among others
    rules, asked = taken(words.rules, most, measure), taken(words.asked, tenth, measure)
    first = taken(words.asked[:1], tenth, measure)
    opening = first if first <= tenth else words.opening(first, measure)
    few = rules <= most
    promised = rules + (words.opening(first, measure) if words.begins else 0)
    return WordRoom(max(min(fair, rules + asked), (rules if few else fair) + opening), promised if few else 0)


def counting(view: View) -> Measure:
    """What a line in a list takes in tokens, by the session's own meter."""
    return lambda text: view.count(text) + _LINE


def spare(view: View, budget: Budget) -> int:
    """What is left of the room when everything on offer is gone. Where that alone does not fit, it is clipped in any
    case, and there is room for what must not be lost."""
    stays = view.held
    return (budget.room - stays if stays <= budget.room else budget.room // 3) - _MARK


def rate(old: Span) -> float:
    """Bytes a token of these rows has, by whatever meter counted them."""
    size = sum(bytes_of(text_of(message)) for message in old.messages)
    return min(4.0, max(0.5, size / max(1, old.tokens)))
