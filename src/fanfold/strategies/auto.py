"""Auto: what a session does when it is told nothing. It reduces when that is cheaper than going on."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fanfold.core.budget import Budget
from fanfold.core.errors import BadSetting
from fanfold.core.plan import Plan, run
from fanfold.core.view import Row, View
from fanfold.strategies.handover.digest import digest, digested
from fanfold.strategies.handover.first import first_request
from fanfold.strategies.handover.gist import taken
from fanfold.strategies.handover.gleaning import of_user
from fanfold.strategies.handover.rooms import Rooms, counting, spare, users
from fanfold.strategies.handover.seal import unsealed
from fanfold.strategies.price import REWRITE, pays

NAMES, REST, HOLDINGS = 0.056, 0.008, 0.045
"""Shares of the room that the memory takes: for names, for all else but the user's words, for outputs to look up."""
LEAST_HOLDINGS, MOST_HOLDINGS = 1_440, 0.09
"""Tokens of lines about outputs that a small room has as well, and the share of it that they take at most."""
TAIL, LARGE, LARGE_TAIL = 0.01, 40_000, 0.04
"""What stays as it was said behind the memory: a share of the room, and another one of what a large room has more."""
MOST_NAMES = 6_000
"""Tokens of names that are enough for a window of any size."""
SMALLEST = 4_096
"""Tokens below which there is nothing to earn: providers cache no prefix of less than a thousand or two."""
LAYERS = 4
"""A layer takes the fourth part of the memory at most; where less than half of that is left, or twice as many layers
stand, all are made into one."""

_CACHED, _FILLED = 1.25, 0.25
"""What frame and memory take where a provider caches nothing shorter: so much of its least, yet no more of the room."""
_WORTH = 2
"""A reduction that cannot reach the target is worth it where it could take this part of what the frame leaves."""
_RECOGNISED = 200
"""Characters of a request by which it is recognised."""


def auto(
    *, rewrite: float = REWRITE, least: float = 0.3, most: float = 0.85, refs: bool | None = None
) -> Auto:
    """Fold the oldest blocks into layers of digests when reading them again and again has cost as much as it would
    to write anew what stays; not before `least` of the room is taken, and at `most` of it in any case.

    `rewrite` is what writing a token to the provider's cache costs, in tokens read from it.
    """
    if not (rewrite >= 0 and 0 < least <= most <= 1):
        raise BadSetting(
            "auto wants a price of zero or more, and shares of the room with 0 < least ≤ most ≤ 1."
        )
    return Auto(rewrite, least, most, refs)


class Auto(msgspec.Struct, frozen=True):
    """The strategy that `auto` makes. Called as it is, it brings the view to the budget's target."""

    rewrite: float
    least: float
    most: float
    refs: bool | None
    """Whether a digest names a reference to what it hides; None: where there are recall tools."""
    priced: bool = False
    """Whether it reduces as far as it pays, or to the budget's target."""

    @property
    def name(self) -> str:
        """How it is called in reasons."""
        return "auto"

    def __call__(self, view: View, budget: Budget) -> Plan:
        """Fold down to the target, for whoever asks for that; as far as it pays, where that is out of reach."""
        if self.priced or (view.held > budget.goal and _brings_much(view, budget)):
            view = yield from run(self._remember, view, budget)
        if not self.priced and not (view.held > budget.goal and view.fits(budget)):
            yield from run(digest(refs=self.refs), view, budget)

    def due(self, view: View, budget: Budget) -> bool:
        """Whether it pays to reduce now: rent and price of the ski, in tokens.

        Since the last reduction every call has read again what came since. When that has cost as much as to write anew
        what would stay, it is time; so it is when all has to be written anew in any case.
        """
        free, taken = budget.room - view.frame.tokens, view.tokens - view.frame.tokens
        if view.tokens < SMALLEST or taken < self.least * free:
            return False
        tail = _tail(budget)
        anew = _wanted(view, budget, 0).own // LAYERS + tail  # one more layer, and the tail
        if _offered(view, budget) < 2 * anew:
            return False
        forced = taken >= self.most * free or budget.cold
        return forced or pays(_rent(view, tail), anew, self.rewrite)

    @property
    def trim(self) -> Auto:
        """The same, reducing as far as it pays."""
        return msgspec.structs.replace(self, priced=True)

    def _remember(self, view: View, budget: Budget) -> Plan:
        """Fold all but the newest into another layer of the memory, or the layers into one."""
        keep, written = _kept(view, budget), _written(view)
        room = _rooms(view, budget, keep)
        stays = view.frame.tokens + sum(row.tokens for row in keep) + _tail(budget)
        memory = sum(row.tokens for row in written)
        wanted = _layer(view, budget, room, [*keep, *written])
        layer = wanted.within(room.total - memory)
        enough = layer.user == wanted.user and layer.own >= room.own // (2 * LAYERS)
        if 0 < len(written) < 2 * LAYERS and enough and not _forgets(written, view, room):
            goal, but = stays + memory + layer.total, [*keep, *written]
            yield from digested(view, goal, layer, but=but, refs=self.refs)
        else:
            whole = room.with_own((LAYERS - 1) / LAYERS)
            yield from digested(view, stays + whole.total, whole, but=keep, refs=self.refs)


def _tail(budget: Budget) -> int:
    """Tokens that stay as they were said: in a large room more, where reading them costs little beside the new."""
    return int(TAIL * budget.room + LARGE_TAIL * max(0, budget.room - LARGE))


def _rooms(view: View, budget: Budget, keep: list[Row]) -> Rooms:
    """What the whole memory may take."""
    words = users(_others(view, keep), view, budget)
    return _wanted(view, budget, words.all).within(spare(view, budget), words.first)


def _wanted(view: View, budget: Budget, user: int) -> Rooms:
    """What the memory takes if there is room enough: at least as much as makes the provider cache it."""
    names, rest = min(MOST_NAMES, int(NAMES * budget.room)), int(REST * budget.room)
    held = _held(budget) if view.refs else 0
    lack = (
        _CACHED * budget.cached_from
        - view.frame.tokens
        - user
        - (names + rest + held) * (LAYERS - 1) / LAYERS
    )
    more = int(max(0.0, min(lack, _FILLED * budget.room)))
    return Rooms(user, names + (more // 2 if held else more), rest, held + (more // 2 if held else 0))


def _held(budget: Budget) -> int:
    """Tokens of lines about outputs: in a small room a larger share."""
    return int(min(MOST_HOLDINGS * budget.room, max(LEAST_HOLDINGS, HOLDINGS * budget.room)))


def _layer(view: View, budget: Budget, room: Rooms, keep: list[Row]) -> Rooms:
    """What one more layer may take; the user's words only if there are new ones."""
    own = (part // LAYERS for part in (room.names, room.rest, room.holdings))
    return Rooms(users(_others(view, keep), view, budget).all, *own)


def _others(view: View, keep: list[Row]) -> list[Row]:
    """The rows on offer but for some."""
    spared = {id(row) for row in keep}
    return [row for block in view.offered for row in block.rows if id(row) not in spared]


def _forgets(written: list[Row], view: View, room: Rooms) -> bool:
    """Whether the memory lacks words of the user that there is room for again."""
    text = "\n".join(message.text for row in written for message in row.messages)
    words, measure = of_user(written, view), counting(view)
    rules = taken(words.rules, room.user, measure)
    opening = words.opening(room.user, measure) if words.begins else 0
    if rules + opening <= room.user and any(rule not in text for rule in words.rules):
        return True
    whole = rules + taken(words.first, room.user, measure) <= room.user
    return not _tells(text, [first if whole else first[:_RECOGNISED] for first in words.first])


def _tells(text: str, requests: Sequence[str]) -> bool:
    """Whether a text has some requests, however their lines are set."""
    return all(request in text or " ".join(request.split()) in " ".join(text.split()) for request in requests)


def _kept(view: View, budget: Budget) -> list[Row]:
    """What stays in its place: the first request, while it is short, and what came last."""
    first = first_request(view, budget)
    return [*([first] if first else ()), *(view.blocks[-1].rows if view.blocks else ())]


def _written(view: View) -> list[Row]:
    return [row for row in view.rows if row.kind == "fold" and unsealed(row) is not None]


def _rent(view: View, tail: int) -> int:
    """Tokens that calls read again since the memory ends, but for the tail, which stays in any case."""
    last = next((i for i in range(len(view.rows) - 1, -1, -1) if view.rows[i].kind == "fold"), -1)
    rent = talk = 0
    for row in view.rows[last + 1 :]:
        if row.role == "assistant":
            rent += max(0, talk - tail)
        talk += row.weight.tokens
    return rent


def _brings_much(view: View, budget: Budget) -> bool:
    """Whether a reduction could take a good part of what the frame leaves; where all is too much, anything is."""
    return not view.fits(budget) or _offered(view, budget) * _WORTH >= budget.room - view.frame.tokens


def _offered(view: View, budget: Budget) -> int:
    """Tokens that a reduction could take from the view."""
    return sum(row.tokens for row in _others(view, [*_kept(view, budget), *_written(view)]))
