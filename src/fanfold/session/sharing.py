"""Sharing: outputs that arrive together share the room, as glasses that are filled evenly.

Each of them alone may be shown in as much as `clip` lets it. Several at once would push out everything else, and each
other: what the model sees of a document would depend on how many others it asked for beside it. So the longest give way
to the level at which all of them together take their share of the room. What is shorter stays whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeGuard

from fanfold.core.edit import RECALL, Decision, Elide
from fanfold.core.errors import BadArguments
from fanfold.core.message import Call, Result, is_readable
from fanfold.core.record import Edited
from fanfold.core.view import View
from fanfold.outputs.filters.clip import Clip
from fanfold.outputs.filters.filter import Filter, apply_filters, is_shortening
from fanfold.session.state import State
from fanfold.strategies.elide import Seen, outputs_in
from fanfold.strategies.framing import framing, is_crowded
from fanfold.text.cutting import bytes_of, even_level

_FILLED = 0.75
"""So much of the room is filled before what arrived has to share it. What is left is for the next steps: a view that is
full is reduced after the next reply, and then most of what was read is gone."""
_LITTLE, _PART = 4_096, 8
"""Bytes that always fit, and the part of the room, in tokens, that so many bytes never exceed."""
_CROWDED, _LEAST = 0.4, 2_048
"""Where the frame takes most of the room, outputs share this part of what it leaves, and none is cut below so many
bytes: if they took more, a hand-over would have no room to tell what they push out."""


class EvenClip(Protocol):
    """A filter that clips, and says what outputs that arrive together may take."""

    @property
    def together(self) -> float:
        """The share of the room; 0: none is clipped for the sake of others."""

    def within(self, tokens: float, density: float, *, least: int = ...) -> Clip:
        """What clips an output to so many tokens, and to no fewer bytes than `least`."""


def share_room(state: State) -> None:
    """Clip the longest of the outputs that arrived last, if together they take more than their share of the room."""
    size = _size_of_arrived(state)
    if size <= _LITTLE:
        return
    room, clip = state.limits().room, next(filter(_shares, state.filters), None)
    if clip is None or not clip.together or size <= room // _PART:
        return
    view = state.view()
    found = _arrived(state, view)
    counts = [state.terms.meter.text(one.part.text) for one in found]
    crowded = is_crowded(state.limits(), framing(view))
    level = even_level(counts, _share(_CROWDED if crowded else clip.together, view, found, room))
    within = partial(clip.within, level, least=_LEAST) if crowded else partial(clip.within, level)
    longer = [(one, count) for one, count in zip(found, counts, strict=True) if count > level]
    edits = [edit for one, count in longer if (edit := _clipped(state, one, count, within)) is not None]
    if edits:
        state.write(Edited(tuple(_decisions(state, edits)), state.terms.clock()))


def _share(together: float, view: View, found: Sequence[Seen], room: int) -> float:
    """The tokens for what arrived: its share of what the frame leaves, and what else is free for it."""
    arrived = {one.row.id: one.row.tokens for one in found}
    beside = view.tokens - sum(arrived.values())
    return max(together * max(0, room - framing(view)), _FILLED * room - beside)


def _shares(one: Filter) -> TypeGuard[EvenClip]:
    return hasattr(one, "together")


def _size_of_arrived(state: State) -> int:
    """Bytes of the results behind the last reply."""
    size = 0
    for id in reversed(state.path):
        message = state.log.message(id)
        if message.role == "assistant":
            break
        for result in message.results:
            size += bytes_of(result.text)
    return size


def _arrived(state: State, view: View) -> list[Seen]:
    """The outputs behind the last reply and the last request; what the model looks up is told as it asked for it."""
    new: set[str] = set()
    for row in reversed(view.rows):
        if row.is_reply or row.id in state.log.tips:
            break
        new.add(row.id)
    return [one for one in outputs_in(view, new) if one.tool not in RECALL]


def _clipped(state: State, one: Seen, count: int, within: Callable[[float], Clip]) -> Elide | None:
    """What shows an output of so many tokens in fewer; None if that is no shorter."""
    address = f"{one.row.id}#{one.number}"
    whole, ref = one.row.whole.parts[one.number], state.log.addresses.get(address)
    if not isinstance(whole, Result) or ref is None:
        return None
    shorter = within(bytes_of(one.part.text) / count)
    filters = [shorter if _shares(other) else other for other in state.filters if is_shortening(other)]
    found = apply_filters(whole.text, one.tool, _arguments(one.call), filters, ref)
    if found is None or found.text is None or state.terms.meter.text(found.text) >= count:
        return None
    return Elide(address, found.text, ref, beside=not all(map(is_readable, whole.parts)))


def _arguments(call: Call | None) -> Mapping[str, Any]:
    try:
        return call.args if call else {}
    except BadArguments:
        return {}


def _decisions(state: State, edits: Iterable[Elide]) -> Iterator[Decision]:
    for number, edit in enumerate(edits):
        entry = edit.address.rpartition("#")[0]
        yield Decision(id=state.log.next_edit(number), at=entry, edit=edit, by="pass", why="clip")
