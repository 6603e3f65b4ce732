"""Auditing: what a model wrote, with everything beside it that must not be lost."""

from __future__ import annotations

import msgspec

from fanfold.core.budget import Budget
from fanfold.core.view import Span, View
from fanfold.strategies.handover.layers import names_of, page_of, spare_of, story_of
from fanfold.strategies.handover.past import past_of
from fanfold.strategies.handover.tongue import quoted
from fanfold.strategies.handover.tools import tools_with
from fanfold.strategies.handover.writing import Room, audit, clip_words

WORDS, RETAINED = 0.35, 0.1
"""The most that a model's summary takes of the target, and the list of what it was asked to retain."""
_LEAST, _MOST = 0.2, 0.45
"""What a hand-over with a model's summary in it takes of the target at least and at most, the user's words aside."""
_NAMES, _OUTPUTS = 0.2, 0.1
"""And of that its names, and lines about outputs."""
_FREE = 4
"""Where the target is out of reach, a hand-over takes this part of what is free."""
_LEDGER = 0.15
"""The most that names take of the target behind a summary that stands alone."""
_SMALLER = 0.85
"""What stands in the place of rows takes no more of their tokens than this."""
_TOOLS = tools_with(None)


def told(words: str, old: Span, view: View, budget: Budget) -> str:
    """A model's words in the hand-over of these rows, with the facts from the log beside them."""
    left = budget.goal - (view.tokens - old.tokens)
    own = min(max(left, int(_LEAST * budget.goal)), int(_MOST * budget.goal))
    room = _room(old, view, budget)
    if budget.goal < view.held + own:  # or the next reduction is due at once
        own = min(own, max(0, spare_of(view, budget)) // _FREE)
        room = msgspec.structs.replace(room, user=min(room.user, own))
    names, outputs = int(_NAMES * own), int(_OUTPUTS * own) if view.refs else 0
    room = msgspec.structs.replace(room, story=own - names - outputs, names=names, outputs=outputs)
    return page_of(old, view, room, past_of(view, _TOOLS), told=words).text


def audited(words: str, old: Span, view: View, budget: Budget, *, whole: bool = False) -> str:
    """A model's summary, cut unless it is to stay `whole`, and behind it what it lost: the first request, rules, names.

    Its seal adds the pinned lines.
    """
    words = quoted(words) if whole else bounded(words, view, budget, WORDS)
    room = _room(old, view, budget)
    room = msgspec.structs.replace(room, total=max(0, room.total - view.count(words)))
    past = past_of(view, _TOOLS)
    return audit(words, story_of(old, view, past), room, view.count, names_of(old, view, past, room.names))


def bounded(words: str, view: View, budget: Budget, most: float) -> str:
    """What a model wrote, in at most this share of the target; no line of it passes for a heading of ours."""
    return clip_words(words, int(budget.goal * most), view.count)


def _room(old: Span, view: View, budget: Budget) -> Room:
    """The room for the user's words and for names."""
    total = max(0, min(spare_of(view, budget), int(_SMALLER * old.tokens)))
    return Room(total, min(total, budget.window // 10), 0, int(_LEDGER * budget.goal))
