"""Summarise: a model writes down what the old part says, and that stands in its place (A9-A17, D5, E3, E4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from fanfold.budget import Budget
from fanfold.edit import Fold
from fanfold.errors import AskFailed
from fanfold.message import Message, assistant, user
from fanfold.plan import Plan, Strategy, ask
from fanfold.strategies.prompting import prompt, tagged, with_directives, without
from fanfold.strategies.seal import sealed
from fanfold.strategies.window import first_request
from fanfold.view import Row, Span, View

Style = Literal["summary", "snapshot", "sections"]
Layout = Callable[[str], tuple[Message, ...]]
ACKNOWLEDGED = "Got it. Thanks for the additional context!"


def summarize(
    *,
    style: Style = "summary",
    keep: float | None = None,
    keep_turns: int | None = None,
    keep_messages: int | None = None,
    keep_first: bool = True,
    model: str | None = None,
    custom: str | None = None,
    directives: Sequence[str] = (),
    retain: bool = False,
    retain_directives: Sequence[str] = (),
    acknowledge: bool = False,
    least: int = 2,
) -> Strategy:
    """Fold everything but the newest into a model's summary.

    The tail is given as a share of the room, in turns or in messages; by default the target decides. A summary that
    stands already is taken into the new one. `acknowledge` adds a short reply of the assistant behind it.
    """
    wanted = _prompt(style, custom, directives, retain, retain_directives)

    def summarize(view: View, budget: Budget) -> Plan:
        first = first_request(view, budget.room // 10) if keep_first else None
        old = spared(_old(view, budget, keep, keep_turns, keep_messages), first)
        if len(old.rows) < least:
            return
        answer = yield from ask(old.messages, wanted, model=model)
        text = sealed(_read(answer, style), old.count)
        yield Fold(old.covers, (user(text), assistant(ACKNOWLEDGED)) if acknowledge else text)

    return summarize


def _prompt(
    style: Style,
    custom: str | None,
    directives: Sequence[str],
    retain: bool,
    retain_directives: Sequence[str],
) -> str:
    summary = with_directives(custom or prompt(style), directives)
    if not retain and not retain_directives:
        return summary
    return with_directives(prompt("retain"), retain_directives) + "\n\n" + summary


def _read(answer: str, style: Style) -> str:
    """The part of an answer that is kept: no scratchpad, no tags."""
    kept = tagged(answer, "retain")
    if style == "snapshot":
        body = tagged(without(answer, "scratchpad"), "state_snapshot")
        text = f"<state_snapshot>\n{body}\n</state_snapshot>" if body else without(answer, "scratchpad")
    else:
        text = tagged(answer, "summary") or without(answer, "retain")
    if not text.strip():
        raise AskFailed("the summary was empty")
    return f"{kept}\n\n{text}" if kept else text


def _old(
    view: View, budget: Budget, keep: float | None, keep_turns: int | None, keep_messages: int | None
) -> Span:
    """The blocks on offer that stand before the kept tail."""
    if keep_turns is not None:
        return before(view, _start_of_turns(view, keep_turns))
    if keep_messages is not None:
        return before(view, len(view.rows) - keep_messages)
    return view.oldest(leaving=int(budget.room * keep) if keep is not None else budget.goal)


def _start_of_turns(view: View, turns: int) -> int:
    kept = view.turns[-turns:] if turns else ()
    return len(view.rows) - sum(len(turn.rows) for turn in kept)


def before(view: View, index: int) -> Span:
    """The blocks on offer that end before a row's index."""
    place = {row.id: i for i, row in enumerate(view.rows)}
    rows = [row for block in view.offered if place[block.rows[-1].id] < index for row in block.rows]
    return Span(tuple(rows))


def spared(span: Span, row: Row | None) -> Span:
    """The span without the block of one row."""
    return Span(tuple(one for one in span.rows if row is None or one.id != row.id))
