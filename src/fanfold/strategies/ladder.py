"""The fallback ladder: what is left when the chosen strategy failed or was not enough and the window is full."""

from __future__ import annotations

from collections.abc import Iterator

from fanfold.budget import Budget
from fanfold.clipping import clipped
from fanfold.edit import Drop, Elide
from fanfold.message import Call, Document, Image, Part, Result, Text, words
from fanfold.plan import Plan
from fanfold.strategies.window import first_request
from fanfold.view import Row, View

_LEAST_WORTH_CLIPPING = 64
_MARGIN = 48


def drop_oldest(view: View, budget: Budget) -> Plan:
    """Drop the oldest blocks on offer, the first request last."""
    if not over(view, budget):
        return
    first = first_request(view, budget.room // 10)
    old = view.oldest(leaving=budget.goal, but=[first] if first else [])
    if old.rows:
        view = yield Drop(old.covers)
    if over(view, budget) and first is not None:
        rest = view.oldest(leaving=budget.goal)
        if rest.rows:
            yield Drop(rest.covers)


def elide_media(view: View, budget: Budget) -> Plan:
    """Pictures and files are few tokens and many bytes: they give way first when bytes are short."""
    for row, number, part in list(parts_of(view)):
        if not over_bytes(view, budget):
            return
        if isinstance(part, Image | Document):
            view = yield Elide(
                f"{row.id}#{number}", f"[{type(part).__name__.lower()} left out to fit the request]"
            )


def clip_largest(view: View, budget: Budget) -> Plan:
    """Clip the largest part until the view fits: outputs first, the person's last words last."""
    for rank in (0, 1, 2):
        while over(view, budget):
            found = _largest(view, rank)
            if found is None:
                break
            row, number, part, tokens = found
            view = yield Elide(f"{row.id}#{number}", _clip(part, tokens, _excess(view, budget)))
            if view.refused:
                break


def drop_unseen(view: View, budget: Budget) -> Plan:
    """Drop the oldest blocks that the model has not seen, all but the last: better than no request at all."""
    taken: list[str] = []
    tokens, size = view.tokens + _MARGIN, view.size + 4 * _MARGIN
    for block in view.blocks:
        if tokens <= budget.room and (budget.max_bytes is None or size <= budget.max_bytes):
            break
        if not block.open and all(_may_go(view, row) for row in block.rows):
            taken += block.covers
            tokens -= block.tokens
            size -= sum(row.weight.size + 1 for row in block.rows)
    if taken:
        yield Drop(tuple(taken))


def _may_go(view: View, row: Row) -> bool:
    """Whether a row may leave when nothing else is left."""
    last = row is view.rows[-1] or row is view.request
    return not (last or row.pinned or row.id in view.exempt or row.kind == "note")


LADDER = (drop_oldest, elide_media, clip_largest, drop_unseen)


def over(view: View, budget: Budget) -> bool:
    """Whether the view does not fit."""
    return view.tokens > budget.room or over_bytes(view, budget)


def over_bytes(view: View, budget: Budget) -> bool:
    """Whether the view has too many bytes for one request."""
    return budget.max_bytes is not None and view.size > budget.max_bytes


def parts_of(view: View) -> Iterator[tuple[Row, int, Part]]:
    """Every part that could be elided, with its row and number."""
    for row in view.rows:
        if row.kind == "entry" and not row.pinned and row.id not in view.exempt:
            for number, part in enumerate(row.messages[0].parts):
                yield row, number, part


def _largest(view: View, rank: int) -> tuple[Row, int, Part, int] | None:
    """The largest part of a rank: 0 outputs, 1 other seen or spoken parts, 2 the last request."""
    best: tuple[Row, int, Part, int] | None = None
    for row, number, part in parts_of(view):
        size = len(words(part))
        if _rank(view, row, part) != rank or not isinstance(part, Text | Result | Call):
            continue
        tokens = row.tokens * size // max(1, sum(len(words(other)) for other in row.messages[0].parts))
        if tokens > _LEAST_WORTH_CLIPPING + _MARGIN and (best is None or tokens > best[3]):
            best = row, number, part, tokens
    return best


def _rank(view: View, row: Row, part: Part) -> int:
    if row is view.request:
        return 2
    return 0 if isinstance(part, Result) else 1


def _excess(view: View, budget: Budget) -> float:
    """The share of the view that is too much, in tokens, bytes counted as the tokens they cost."""
    tokens = float(view.tokens - budget.room)
    if budget.max_bytes is not None and view.size > budget.max_bytes:
        tokens = max(tokens, (view.size - budget.max_bytes) / max(1, view.size) * view.tokens)
    return tokens


def _clip(part: Part, tokens: int, excess: float) -> str:
    text = words(part)
    share = max(0.0, (tokens - excess - _MARGIN) / tokens)
    keep = min(int(len(text) * share * 0.9), int(len(text) * 0.75))
    return clipped(text, max(keep, 0))
