"""Fallbacks: what is tried when the chosen strategy failed or was not enough, and the window is full."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, wraps

from fanfold.core.budget import Budget
from fanfold.core.edit import ASKED, Drop, Elide
from fanfold.core.message import Document, Image, Part, Result
from fanfold.core.plan import Plan, Strategy, run
from fanfold.core.view import Block, Row, View
from fanfold.strategies.handover.first import asking_row, dropping, first_request, without
from fanfold.strategies.handover.layers import digest
from fanfold.strategies.pieces import MARGIN, Piece, left_out, pieces, shortened
from fanfold.text.cutting import even_level

_DIGEST = digest(layered=False)
_MARKER, _LEAST_QUOTE = 64, 16
"""Tokens of a marker with its headings, and of a quote that still says something."""
_WHERE = f"; {ASKED}"


def digest_oldest(view: View, budget: Budget) -> Plan:
    """Fold the oldest blocks into a digest: no model is asked."""
    if not view.fits(budget):
        yield from run(_DIGEST, view, budget)


def drop_seen(view: View, budget: Budget) -> Plan:
    """Drop the oldest blocks that the model has seen, the first request last; none if all would not be enough."""
    if view.fits(budget) or view.held > budget.room:
        return
    first = first_request(view, budget)
    view = yield from dropping(view, budget, but=[first] if first else [])
    if not view.fits(budget) and first is not None:
        yield from _drop_first(view, budget)


def _drop_first(view: View, budget: Budget) -> Plan:
    """Drop the first request too, but quote it as far as there is room."""
    rest = view.oldest(leaving=budget.goal)
    left = budget.room - view.tokens + rest.tokens - _MARKER
    if rest.rows:
        yield without(rest, view, left) if left >= _LEAST_QUOTE else Drop(rest.covers)


def elide_media(view: View, budget: Budget, *, where: str = _WHERE) -> Plan:
    """Pictures and files are few tokens and many bytes: they give way first when bytes are short."""
    for row, number, part in list(parts_of(view)):
        if view.fits_bytes(budget):
            return
        if isinstance(part, Image | Document):
            view = yield Elide(f"{row.id}#{number}", left_out(part, where))


def clip_largest(view: View, budget: Budget, *, where: str = _WHERE) -> Plan:
    """Clip the largest parts until the view fits: outputs first, the person's last words last; pictures one by one.

    Several are cut to the same size: what is short stays, and of none is nothing left where the others are whole. What
    alone is too much is clipped before all else, to half of the room at most.
    """
    while (vast := _vast(view, budget)) is not None:
        view = yield shortened(vast, min(_excess(view, budget), vast.tokens - budget.room / 2), where)
        if view.refused:
            break
    for rank in (0, 1, 2):
        level = _level(view, budget, rank)
        while not view.fits(budget):
            found = _largest(view, rank)
            if found is None:
                break
            more, excess = found.tokens - level, _excess(view, budget)
            view = yield shortened(found, min(more, excess) if more > MARGIN else excess, where)
            if view.refused:
                break


def _level(view: View, budget: Budget, rank: int) -> float:
    """The tokens to which the largest parts of a rank are cut so that the view fits."""
    sizes = [piece.tokens for piece in pieces(view) if _rank(view, piece.row, piece.part) == rank]
    return even_level(sizes, max(0.0, sum(sizes) - _excess(view, budget)))


def _vast(view: View, budget: Budget) -> Piece | None:
    """The largest part of a row that does not fit beside the frame alone."""
    alone = budget.room - view.overhead - view.frame.tokens
    if view.fits(budget) or all(row.tokens <= alone for row in view.rows):
        return None
    vast = (piece for piece in pieces(view) if piece.row.tokens > alone and piece.tokens > budget.room / 2)
    return max(vast, key=lambda piece: piece.tokens, default=None)


def drop_unseen(view: View, budget: Budget) -> Plan:
    """Drop the oldest blocks that the model has not seen, all but the last: better than no request at all.

    What was asked first goes last; and nothing goes where all of it would not be enough.
    """
    asked = asking_row(view)
    tokens, size = view.tokens + MARGIN, view.size + 4 * MARGIN
    taken: list[Block] = []
    for block in sorted(view.blocks, key=lambda block: asked in block.rows):
        if _within(tokens, size, budget):
            break
        if not block.open and all(_may_go(view, row) for row in block.rows):
            taken.append(block)
            tokens -= block.tokens
            size -= sum(row.weight.size + 1 for row in block.rows)
    if taken and _within(tokens - MARGIN, size - 4 * MARGIN, budget):
        yield Drop(tuple(id for block in taken for id in block.covers))


def _within(tokens: int, size: int, budget: Budget) -> bool:
    return tokens <= budget.room and (budget.max_bytes is None or size <= budget.max_bytes)


def _may_go(view: View, row: Row) -> bool:
    """Whether a row may leave when nothing else is left."""
    last = row is view.rows[-1] or row is view.request
    return not (last or row.stays or row.id in view.exempt)


FALLBACKS = (digest_oldest, drop_seen, elide_media, clip_largest, drop_unseen)


def _without_refs(fallback: Callable[..., Plan]) -> Strategy:
    return wraps(fallback)(partial(fallback, where=""))


WITHOUT_REFS = (
    digest_oldest,
    drop_seen,
    _without_refs(elide_media),
    _without_refs(clip_largest),
    drop_unseen,
)
"""The same where nobody can look anything up again."""


def parts_of(view: View) -> Iterator[tuple[Row, int, Part]]:
    """Every part that could be elided, with its row and number."""
    for row in view.rows:
        if row.kind == "entry" and not row.pinned and row.id not in view.exempt:
            for number, part in enumerate(row.messages[0].parts):
                yield row, number, part


def _largest(view: View, rank: int) -> Piece | None:
    """The largest part of a rank: 0 outputs, 1 other seen or spoken parts, 2 the last request."""
    ranked = (piece for piece in pieces(view) if _rank(view, piece.row, piece.part) == rank)
    worth = (piece for piece in ranked if piece.is_worth_clipping)
    return max(worth, key=lambda piece: piece.tokens, default=None)


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
