"""The digest: a summary that no model wrote. Deterministic, structured, bounded; it takes an earlier one in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fanfold.core.budget import Budget
from fanfold.core.edit import ASKED, Edit, Fold
from fanfold.core.message import Call
from fanfold.core.plan import Plan, Strategy
from fanfold.core.view import Row, Span, View
from fanfold.strategies.handover.first import first_request
from fanfold.strategies.handover.gist import Gist, Sizes, missing, named, quoted, shortened
from fanfold.strategies.handover.gleaning import gleaned
from fanfold.strategies.handover.ledger import Names
from fanfold.strategies.handover.rooms import PLAIN, Rooms, rate, rooms
from fanfold.strategies.handover.seal import sealed, with_pins
from fanfold.strategies.pieces import pieces
from fanfold.strategies.pieces import shortened as shortened_piece
from fanfold.text.cutting import bytes_of

_MIXED = 0.6
"""Bytes a token of a whole digest has, where one of the conversation has one."""
WORDS, RETAINED = 0.35, 0.1
"""The most that a model's summary takes of the target, and the list of what it was asked to retain."""
_WORTH = 8
"""A digest that leaves free more than this part of the goal leaves it to the tail."""
_FILLED, _TRIES = 32, 6
"""Where most of the room is to be filled: free is no more than this part, unless after so many tries."""
_GAP = 10
"""Where more than this part is free after all, the next row is too long, and is clipped."""
_AROUND = 32
"""Tokens that a digest may take beside its text: for its mark, and as a message."""


def digest(*, keep_first: bool = True, refs: bool | None = None) -> Strategy:
    """Fold the oldest blocks into lists: what was asked, ruled, done, broken, touched, decided and left open.

    It needs no model. With `refs`, and by default where there are recall tools, each digest names a reference by which
    they find what it hides.
    """

    def digest(view: View, budget: Budget) -> Plan:
        first = first_request(view, budget) if keep_first else None
        spare = [first] if first else []
        rows = [row for block in view.offered for row in block.rows if row is not first]
        room = rooms(view, budget, rows)
        yield from digested(view, budget.goal, room, but=spare, refs=refs, fills=fills(budget))

    return digest


def fills(budget: Budget) -> bool:
    """Whether most of the room is to be filled: then as much stays as there is room for."""
    return budget.goal > budget.room / 2


def digested(
    view: View, goal: int, room: Rooms, *, but: Sequence[Row], refs: bool | None, fills: bool = False
) -> Plan:
    """Fold the oldest rows, but for some, so that `goal` tokens are left with the digest of what went.

    `fills`: as many rows stay as the goal has room for, and the next one clipped, where it is long.
    """
    old, text = _chosen(view, goal, room, but, fills)
    clipped = _clipped(old, text, view, goal, refs) if text and fills else None
    if clipped is not None:
        view = yield clipped
        old, text = _chosen(view, goal, room, but, fills)
    if text:
        yield Fold(old.covers, sealed(text, old, view, ref=refs))


def _chosen(view: View, goal: int, room: Rooms, but: Sequence[Row], fills: bool) -> tuple[Span, str]:
    """The rows that go, and what their digest says; it says nothing if they are too few."""
    read: Names = {}
    old = view.oldest(leaving=goal - room.total, but=but)
    many = rate(old)
    sizes = room.sizes(many, view)
    text = _text(old, view, sizes, read)
    if text and fills:
        return _filling(old, text, view, goal, but, lambda fewer: _text(fewer, view, sizes, read))
    spared = room.total - int(bytes_of(text) / many / _MIXED) if text else 0
    if spared > goal // _WORTH:
        old = view.oldest(leaving=goal - room.total + spared, but=but)
        text = _text(old, view, sizes, read)
    return old, text


def _clipped(old: Span, text: str, view: View, goal: int, refs: bool | None) -> Edit | None:
    """What shortens the newest of these rows so that it may stay, where much is free and it is too long for that."""
    free = goal - _left(old, text, view)
    block = next(block for block in reversed(view.offered) if block.rows[-1] is old.rows[-1])
    if free <= goal // _GAP or len(old.rows) < len(block.rows) + 2:
        return None
    own = [piece for piece in pieces(view) if piece.row in block.rows and piece.row.kind == "entry"]
    longest = max(own, key=lambda piece: piece.tokens, default=None)
    excess = block.tokens - free
    if longest is None or isinstance(longest.part, Call) or longest.tokens < excess + goal // _FILLED:
        return None
    named = view.refs is not None if refs is None else refs
    return shortened_piece(longest, excess, f"; {ASKED}" if named else "")


def _filling(
    old: Span, text: str, view: View, goal: int, but: Sequence[Row], digest_of: Callable[[Span], str]
) -> tuple[Span, str]:
    """The fewest of these rows that have to go so that the goal is left, and their digest."""
    for _ in range(_TRIES):
        fewer = fewest(old, text, view, goal, but)
        if len(fewer.rows) == len(old.rows):
            break
        shorter = digest_of(fewer)
        if not shorter or _left(fewer, shorter, view) > goal:
            break
        old, text = fewer, shorter
    return old, text


def fewest(old: Span, text: str, view: View, goal: int, but: Sequence[Row]) -> Span:
    """The fewest of these rows that have to go where this text stands in their place, so that the goal is left."""
    free = goal - _left(old, text, view)
    if free <= goal // _FILLED:
        return old
    return view.oldest(leaving=view.tokens - old.tokens + free, but=but)


def _left(old: Span, text: str, view: View) -> int:
    """About what is left with this text in the place of these rows."""
    return view.tokens - old.tokens + view.count(text) + _AROUND


def _text(old: Span, view: View, sizes: Sizes, read: Names) -> str:
    """What the rows say, unless they are too few to fold."""
    if len(old.rows) < 2:
        return ""
    return with_pins(gleaned(old, view, sizes, read).text(sizes, _told(old, view)), old, view)


def _told(old: Span, view: View) -> list[str]:
    """What other summaries in view say already."""
    taken = set(old.covers)
    others = (row for row in view.rows if row.kind == "fold" and row.id not in taken)
    return [message.text for row in others for message in row.messages]


def bounded(text: str, old: Span, budget: Budget, most: float) -> str:
    """What a model wrote, in at most this share of the target; no line of it passes for a heading of ours."""
    return shortened(quoted(text), int(budget.goal * most * rate(old) * PLAIN))


def audited(text: str, old: Span, view: View, budget: Budget, *, whole: bool = False) -> str:
    """A model's summary, bounded unless it is to stay `whole`, with everything added that it must not lose: the user's
    rules, the first request and, within their bound, the names that rank highest. Its seal adds the pinned lines."""
    sizes = rooms(view, budget, old.rows).sizes(rate(old), view)
    gist = gleaned(old, view, sizes)
    words = quoted(text) if whole else bounded(text, old, budget, WORDS)
    asked = tuple(one for one in gist.asked[:1] if one not in words)
    user = Gist(rules=gist.rules, asked=asked, begins=gist.begins)
    said = "\n".join([words, *user.user_blocks(sizes.user, sizes.measure)])
    lost = missing(gist.names, [said], sizes.names)
    return f"{said}\n{named(lost)}" if lost else said
