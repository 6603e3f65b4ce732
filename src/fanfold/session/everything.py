"""Everything: how long a request would be with all in it that was said. There is no other definition.

It is what a client would send without fanfold: without any edit or filter, and without tools to look things up. What it
would cost is `bill_everything` in `tokens/usage.py`.
"""

from __future__ import annotations

from msgspec.structs import replace

from fanfold.core.edit import RECALL
from fanfold.core.record import Frame
from fanfold.core.view import View
from fanfold.session.state import State, tool_names


def count_everything(state: State, view: View) -> int:
    """The tokens of a request with everything in it, by the meter itself.

    A checkpoint of 0.1 does not tell; then it is what edits saved.
    """
    if (said := state.projection.said) is None:
        return view.tokens + max(0, state.log.totals.spared if state.log.totals else 0)
    return view.overhead + _count_frame(state, view) + said


def _count_frame(state: State, view: View) -> int:
    frame = state.log.frame()
    if RECALL.isdisjoint(state.frame_tools()):
        return state.gauge.frame(frame, view.rows).tokens if state.recall else view.frame.tokens
    return state.gauge.frame(without_recall(frame, state.dialect.name), view.rows).tokens


def without_recall(frame: Frame, dialect: str) -> Frame:
    """A frame without the tools to look things up again."""
    named = [(tool_names(replace(frame, tools=(tool,)), dialect), tool) for tool in frame.tools]
    return replace(frame, tools=tuple(tool for names, tool in named if not names or not names <= RECALL))
