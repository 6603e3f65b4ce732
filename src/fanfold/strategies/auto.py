"""Auto: what a session does when it is told nothing: outputs give way first, then long arguments, thinking and
repetitions, then the oldest stretch, which becomes a hand-over."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from fanfold.core.budget import Budget
from fanfold.core.errors import BadSetting
from fanfold.core.plan import Plan, Strategy, run
from fanfold.core.view import View
from fanfold.strategies.framing import framing, is_crowded
from fanfold.strategies.handover.layers import LEAST, digest, next_stretch
from fanfold.strategies.handover.tools import Tools, tools_with
from fanfold.strategies.moment import boundary
from fanfold.strategies.old_reads import shorten_reads
from fanfold.strategies.repeats import shorten_repeats
from fanfold.strategies.shortening import is_enough, shorten_arguments, shorten_outputs
from fanfold.strategies.thinking import drop_thinking

THRIFT = 0.1
SMALLEST = 4_096
"""Tokens below which there is nothing to earn: providers cache no prefix of less than a thousand or two."""
_START = (0.85, 0.35)
_END = (0.44, 0.12)
"""Shares of what the frame leaves: where a reduction starts, and where it ends; with no thrift, and with all of it."""
_THRIFTY, _BRIEF = 0.5, 0.2
"""With more thrift than this, hand-overs take less too; with all of it, their target is at least this share of what the
frame leaves."""
_LARGE, _LEAN = 36_000, 0.3
"""In a room larger than this the shares shrink, by this power: there, reading all again costs more than it brings."""
_MIDDLE, _STILL = 15_000, 0.8
"""From this room on they shrink already, by the same power, but to no less than this part: to read that much more in
each request brings no names, and next to nothing of the trail of work."""
_SMALL, _MORE = 18_000, 1.6
"""In a room smaller than this a reduction starts as late as it may; and where the frame takes most of the room, it
stops so much earlier: there, what is told in brief is all that there is."""
_FREED = 0.175
"""So much of what the frame leaves a reduction in such a room frees at least. A large frame moves its end close to its
start, and then one reduction would follow the other."""
_PAYS = 1.0
"""Before the window forces it, a reduction waits until so much of what lies between start and end could go."""
_SOFT, _HARD = (0.1, 0.35, 0.7), (0.2, 0.12, 0.12)
"""So much of the way to its end earlier a reduction may start where a piece of work has just ended, in rooms up to
`_SMALL`, up to `_LARGE` and in larger ones; and so much later it starts in any case."""
_COLD = 1.2
"""So much above its target a view is reduced when the provider has forgotten the last prompt."""
_AHEAD = 0.85
"""A model is asked in the background where the view has so much of what makes a reduction due."""


def auto(
    *,
    thrift: float = THRIFT,
    refs: bool | None = None,
    tools: Mapping[str, str] | None = None,
    story: bool | str = False,
    model: str | None = None,
) -> Auto:
    """Reduce near the trigger, in the order in which things are missed least; `thrift` says how early, and how far.

    With 0 the window is used as far as the budget allows, with 1 requests are as cheap as can be. `tools` are names of
    tools of your own, each with its kind. With a `story`, a model tells the story in each hand-over, asked with our
    prompt or with yours; it is asked in `settle`, before a reduction is due, so that no request waits for it. `model`
    is the name of another model than the session's own for this.
    """
    if not 0 <= thrift <= 1:
        raise BadSetting("thrift is a number from 0 (use the window) to 1 (as cheap as can be).")
    steps = (
        shorten_outputs(tools=tools),
        shorten_arguments(),
        drop_thinking(),
        shorten_reads(tools=tools),
        shorten_repeats(),
        digest(refs=refs, tools=tools, story=story, model=model, least=_least(thrift)),
    )
    return Auto(thrift, steps, refs=refs, asks=bool(story), table=tools_with(tools))


class Auto(msgspec.Struct, frozen=True):
    """The strategy that `auto` makes: its steps, in order, until the target is reached."""

    thrift: float
    steps: tuple[Strategy, ...]
    early: bool = False
    """Whether it goes as far as thrift says, or to the budget's target."""
    refs: bool | None = None
    """Whether hand-overs name references; None: where the model can look them up."""
    asks: bool = False
    """Whether a model tells the story in hand-overs."""
    table: Tools = Tools()
    """Tools of the user's own."""

    @property
    def name(self) -> str:
        """How it is called in reasons: by who writes its hand-overs."""
        return "story" if self.asks else "auto"

    def __call__(self, view: View, budget: Budget) -> Plan:
        """Let each step reduce until the target is reached."""
        goal = self._goal(view, budget)
        *shortening, last = self.steps
        # What a hand-over will take needs no shortening before: it is written from the log.
        taken = () if is_enough(view, goal) else next_stretch(view, goal, least=_least(self.thrift)).rows
        for step in shortening:
            spared = view.sparing(taken) if taken else view
            after = yield from run(step, spared, goal)
            view = view if after is spared else after
        yield from run(last, view, goal)

    def due(self, view: View, budget: Budget) -> bool:
        """Whether thrift says that it is time, before the budget does."""
        if view.tokens < SMALLEST or not (self.thrift or budget.cold):
            return False
        if not budget.cold and view.tokens < _at(_END, self.thrift, 0, budget):
            return False  # the larger the frame, the later: so whatever frame it has, it is too early
        frame = framing(view)
        start, end = (_at(shares, self.thrift, frame, budget) for shares in (_START, _END))
        if budget.cold:  # all is written anew in any case, so that an edit breaks nothing
            return view.tokens >= min(start, int(_COLD * end))
        free = budget.room - frame
        size = (free >= _SMALL) + (free > _LARGE)
        if view.tokens < start - _SOFT[size] * (start - end):
            return False
        hard = min(budget.ceiling, int(start + _HARD[size] * (start - end)))
        if view.tokens < hard and not boundary(view, self.table):
            return False
        return _may_go(view) >= _PAYS * (min(view.tokens, start) - end)

    @property
    def trim(self) -> Auto:
        """The same, as far as thrift says."""
        return msgspec.structs.replace(self, early=True)

    @property
    def once(self) -> Strategy:
        """For one request that nothing follows: the hand-over alone, which fills the room."""
        return self.steps[-1]

    def settles(self, view: View, budget: Budget) -> bool:
        """Whether a reduction will soon be due, and a model has time to tell its story until then."""
        start = min(_at(_START, self.thrift, framing(view), budget), budget.ceiling)
        return self.asks and view.tokens >= _AHEAD * start

    @property
    def settling(self) -> Auto:
        """The same, as far as thrift says."""
        return self.trim

    def _goal(self, view: View, budget: Budget) -> Budget:
        """The budget with the target that is aimed at: thrift's, also where the frame puts the other out of reach."""
        target = _at(_END, self.thrift, framing(view), budget)
        free = budget.room - framing(view)
        if is_crowded(budget, framing(view)) and self.thrift < 0.5:
            most = max(target, budget.ceiling - int(_FREED * free))
            target = min(most, int(framing(view) + _MORE * (target - framing(view))))
        if not self.early:
            if budget.goal >= target:
                return budget
            share = budget.goal / budget.room
            target = min(target, int(max(budget.goal, framing(view) + share * free)))
        return msgspec.structs.replace(budget, target=max(2, budget.billed(min(target, budget.ceiling))))


def _least(thrift: float) -> float:
    """The share of what the frame leaves that is the least target of hand-overs."""
    return LEAST - _beyond(thrift) * (LEAST - _BRIEF)


def _beyond(thrift: float) -> float:
    """How far thrift goes beyond the point from which more than the beginning and the end of reductions counts."""
    return max(0.0, thrift / _THRIFTY - 1)


def _may_go(view: View) -> int:
    """What could go: where most of a view is new, or told in brief already, an edit breaks more of the cache than it
    saves."""
    return sum(block.tokens for block in view.offered if block.rows[0].kind != "fold")


def _at(shares: tuple[float, float], thrift: float, frame: int, budget: Budget) -> int:
    """Tokens of a view that takes a share of what the frame leaves."""
    free = max(0, budget.room - frame)
    share = shares[0] + (shares[1] - shares[0]) * thrift
    return int(frame + share * _lean(free, thrift) * free)


def _lean(free: int, thrift: float) -> float:
    """What is left of the shares where the frame leaves so much room."""
    if not thrift or free <= _MIDDLE:
        return 1.0
    middle: float = max(_STILL, (_MIDDLE / free) ** _LEAN)
    large: float = (_LARGE / free) ** _LEAN if free > _LARGE else 1.0
    return min(middle, large)
