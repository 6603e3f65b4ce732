"""Ways out: what holds the room of a request that does not fit, and what would bring some."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fanfold.core.budget import Budget
from fanfold.core.edit import covers_of
from fanfold.core.message import Image, Result
from fanfold.core.view import View, Weight
from fanfold.session.state import State
from fanfold.tokens.pressure import Shares, shares_of


class Beside(NamedTuple):
    """What a request sends beside rows and frame."""

    context: Weight
    params: Weight
    schemas: bool
    """Whether there are schemas among the parameters, which the model reads."""


def why_not(state: State, view: View, budget: Budget, whole: Weight, beside: Beside) -> str:
    """What holds the room of a request of this view that weighs so much, and the ways out that bring some."""
    if budget.max_bytes is not None and whole.size > budget.max_bytes:
        return _too_large(state, view, whole.size, budget.max_bytes, beside)
    tokens, factor = budget.billed(whole.tokens), budget.factor(whole.tokens)
    shares = shares_of(view, lambda weight: weight.tokens * factor)
    held = _list_shares(
        shares, round(beside.context.tokens * factor), round(beside.params.tokens * factor), tokens
    )
    ways = [
        *_ways_to_let_go(state, view, shares, " tokens"),
        *_ways_to_shorten(shares, beside.context.tokens),
    ]
    if beside.params.tokens:
        ways.append("shorten the schema among the parameters")
    if budget.taken:
        ways.append("ask for a shorter reply")
    room = f"{budget.limit:,} fit" + (f" beside a reply of {budget.reply:,}" if budget.taken else "")
    return f"{tokens:,} tokens, {room}: {held}. {_sentence([*ways, _wider(state, budget)])}"


def _too_large(state: State, view: View, size: int, most: int, beside: Beside) -> str:
    """The same for a request of too many bytes."""
    shares = shares_of(view, lambda weight: weight.size)
    held = _list_shares(shares, beside.context.size, beside.params.size, size)
    ways = [*_ways_to_let_go(state, view, shares, " bytes"), *_ways_to_shorten(shares, beside.context.size)]
    if beside.schemas or beside.params.size >= size - most:
        ways.append("shorten the schema among the parameters" if beside.schemas else "shorten the parameters")
    if _shows_images(view):
        ways.append("send smaller images")
    wider = "use a provider that takes more" if most == state.most[1] else "raise max_bytes"
    return f"The request has {size:,} bytes, {most:,} fit: {held}. {_sentence([*ways, wider])}"


def _list_shares(shares: Shares, context: int, params: int, whole: int) -> str:
    """Who holds how much, those who hold nothing left out."""
    held = {
        "system prompt and tools": shares.frame,
        "the context": context,
        "the parameters": params,
        "pinned messages": shares.pinned,
        "messages brought back by undo": shares.brought_back,
        "notes": shares.notes,
        "new messages": shares.fresh,
    }
    held["everything else"] = max(0, whole - sum(held.values()))
    return ", ".join(f"{amount:,} for {name}" for name, amount in held.items() if amount)


def _ways_to_let_go(state: State, view: View, shares: Shares, unit: str) -> Iterator[str]:
    """What a person can let go of, as far as it holds room."""
    if shares.brought_back:
        yield f"release {', '.join(_undos_in_view(state, view))} ({shares.brought_back:,}{unit})"
    if shares.notes:
        notes = sorted(
            (row for row in view.rows if row.kind == "note"), key=lambda row: row.tokens, reverse=True
        )
        yield f"undo {', '.join(row.id for row in notes[:3])} ({shares.notes:,}{unit} of notes)"
    if shares.pinned or view.pinned_texts:
        yield "unpin something"


def _ways_to_shorten(shares: Shares, context: int) -> Iterator[str]:
    if shares.frame:
        yield "shorten system prompt or tools"
    if context:
        yield "shorten the context"


def _wider(state: State, budget: Budget) -> str:
    """Which limit would have to be higher; one that a refusal told is the provider's."""
    if budget.limit != budget.max_input:
        return "raise the window"
    return "use a model that takes more" if budget.max_input == state.most[0] else "raise max_input"


def _shows_images(view: View) -> bool:
    parts = [part for message in view.messages for part in message.parts]
    inner = [one for part in parts if isinstance(part, Result) for one in part.parts]
    return any(isinstance(part, Image) for part in (*parts, *inner))


def _undos_in_view(state: State, view: View) -> list[str]:
    """The undos whose rows are in view, and that nobody released."""
    log = state.log
    back = {
        id
        for row in view.rows
        if row.id in view.exempt and not row.pinned
        for id in log.rows_repaired_by(row.id)
    }
    return [
        undo
        for edit, undo in log.undone().items()
        if edit not in log.released and not back.isdisjoint(covers_of(log.decisions[edit].edit))
    ]


def _sentence(ways: Sequence[str]) -> str:
    told = ", ".join(ways[:-1]) + (", or " if ways[1:] else "") + ways[-1]
    return f"{told[0].upper()}{told[1:]}."
