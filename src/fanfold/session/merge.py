"""Merging: a client re-sends its whole history; what is known stays, what is new is recorded."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from fanfold.core.edit import RECALL, Pin, Undo, covers_of
from fanfold.core.log import Log
from fanfold.core.message import Message
from fanfold.core.record import Framed, Inherited, Replaced
from fanfold.dialects.dialect import Memory, plain
from fanfold.dialects.tools import localize
from fanfold.session.align import Alignment, Pairing
from fanfold.session.beside import without_erased
from fanfold.session.find import definitions
from fanfold.session.outputs import register
from fanfold.session.record import append
from fanfold.session.state import State, tool_names
from fanfold.session.still import stand, take_out
from fanfold.text.plain import exacting


class Merged(msgspec.Struct, frozen=True):
    """What a merge did."""

    known: int
    """Messages that were there already."""
    new: int
    replaced: int = 0
    forked: bool = False
    entries: tuple[tuple[str, ...], ...] = ()
    """The entries that each message is, in the order of the messages; a system prompt that leads them is none.

    A client may have sent several entries as one message, or one in pieces. What it only thought may be no entry.
    """
    params: dict[str, Any] = {}
    """What else the request held, as it came: nothing of it is recorded."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The entries of the conversation, up to its last message."""
        return tuple(dict.fromkeys(id for ids in self.entries for id in ids))

    def __repr__(self) -> str:
        told = (self.known, self.new, self.replaced, self.forked)
        return "Merged(known={}, new={}, replaced={}, forked={})".format(*told)


def merge(state: State, transcript: Any) -> Merged:
    """Adopt a re-sent transcript. The same one twice in a row writes nothing the second time."""
    state.read_whole()
    split = state.dialect.split(state.dialect.whole(transcript, lambda: memory_of(state)))
    merged = merge_messages(state, split.messages, (split.system, split.tools))
    return msgspec.structs.replace(merged, entries=tuple(state.resent.entries), params=split.params)


def merge_messages(
    state: State,
    incoming: Sequence[Any],
    frame: tuple[Sequence[Any], Sequence[Any]] | None,
    *,
    owned: bool = False,
) -> Merged:
    """Adopt messages that a client sent again, and new ones behind them; `frame` is None where it is as it was.

    `owned`: the messages are plain values that nobody else has, so that they can be kept without a copy. Which entries
    each message is, `state.resent` says then.
    """
    repeated = _find_repeated(state, incoming)
    alignment = Alignment(state, incoming, dict(_recorded(state, repeated)))
    known = _count_known_groups(state, repeated)
    alignment.start(state.resent.groups[:known])
    last_known = alignment.groups[-1] if known else None
    alignment.go(past_changes=False)
    for at in range(alignment.at, len(incoming)):  # what cannot be read is said before anything is written
        alignment.message(at)
    if frame is not None:
        reframe(state, *frame)
    groups, merged = _adopt(state, alignment)
    _remember(state, alignment, repeated, groups, owned=owned)
    stands = known <= len(groups) and known and groups[known - 1] is last_known
    _note_entries(state, groups, known if stands else 0)
    return merged


def memory_of(state: State) -> Memory:
    """What is recorded here, for a client that left it to the provider's memory."""
    depth = state.depth
    replies = {id: depth[head] + 1 for id, head in state.log.replies.items() if head in depth}
    return [state.log.message(id) for id in state.path], replies


def reframe(state: State, system: Sequence[Any], tools: Sequence[Any]) -> None:
    """Record system prompt and tools, if they changed; a request without any leaves them as they are."""
    if not system and not tools and (state.log.frames or not state.recall):
        return
    if state.recall:
        tools = (*tools, *(tool for tool in definitions(state) if tool not in tools))
    if (tuple(system), tuple(tools)) == state.resent.frame:
        return
    stable, lines = take_out(state, system)
    given = state.dialect.frame(stable, tools)
    frame = without_erased(state, given)
    frame = stand(state, frame, lines if frame == given else ())  # what was erased may stand in them, too
    state.resent.frame = (tuple(plain(body) for body in system), tuple(plain(tool) for tool in tools))
    if frame != state.log.frame():
        state.write(Framed(frame))
        state.void_bill()


def offer_recall(state: State, tools: Sequence[Any]) -> None:
    """Where nothing was said about recall, offer its tools if the model has others, from the first request on.

    Later they would change the beginning of every request; and whoever offers them itself answers them itself.
    """
    if state.terms.recall is not None:
        return
    dialect, known = state.dialect, state.frame_tools()
    given = tool_names(dialect.frame((), tools), dialect.name)
    offered = bool(given or known)
    if state.log.requests:
        offered = not RECALL.isdisjoint(known)
    elif offered:  # some providers take so many tools and no more
        more = dialect.frame((), (*tools, *definitions(state)))
        offer = state.deferral.offer(more, ())
        sent = localize(more, dialect.name)[0] if offer is None else offer.sent
        offered = not any(fault.rule == "few" for fault in dialect.check_frame(sent, {}))
    state.offer_recall(offered and RECALL.isdisjoint(given))


class Repeated(NamedTuple):
    """Which messages the client sent just so the last time."""

    first: int = 0
    """How many from the start."""
    later: tuple[int, ...] = ()
    """Those behind the first one that is another."""


def _find_repeated(state: State, incoming: Sequence[Any]) -> Repeated:
    """Compare a history with the last one. Usually a client only added some messages: then one `==` tells."""
    resent, path = state.resent, state.path
    if not resent.bodies or (resent.count and path[resent.count - 1 : resent.count] != [resent.tip]):
        return Repeated()
    before = incoming[: len(resent.bodies)]
    if (before if type(before) is list else list(before)) == resent.bodies:
        return Repeated(len(resent.bodies))
    same = [at for at, (new, old) in enumerate(zip(incoming, resent.bodies, strict=False)) if new == old]
    first = next((at for at, number in enumerate(same) if at != number), len(same))
    return Repeated(first, tuple(same[first:]))


def _recorded(state: State, repeated: Repeated) -> Iterator[tuple[int, Message]]:
    """Messages that need not be read again: they came like this the last time, and each is one entry."""
    later = set(repeated.later)
    for group in state.resent.groups if later else ():
        if group.is_pair and group.same and group.messages[0] in later:
            id = state.path[group.entries[0]]
            if id not in state.log.tree.erased:
                yield group.messages[0], state.log.message(id)


def _count_known_groups(state: State, repeated: Repeated) -> int:
    """How many groups of the last time still are, because the client sent the same from the start."""
    groups = state.resent.groups
    count = len(groups)
    while count and groups[count - 1].messages[1] > repeated.first:
        count -= 1
    return count


def count_known(state: State, incoming: Sequence[Any]) -> tuple[int, int]:
    """How many messages from the start are recorded already, and how many entries they are."""
    alignment = Alignment(state, incoming, {})
    alignment.go(past_changes=False)
    return alignment.at, alignment.entry


def _adopt(state: State, alignment: Alignment) -> tuple[list[Pairing], Merged]:
    """Record what came after the messages that are known: at the end, in place of old bodies, or as a fork."""
    state.log.tree.fetch(state.log.erasures)  # to know what was erased, also beside this path
    path, known, many = state.path, len(alignment.groups), alignment.many
    end = len(path)
    if alignment.entry < end:  # else all that is left is new
        alignment.go(past_changes=True)
    groups, changed = alignment.groups, alignment.changed
    rest = range(alignment.entry, end)
    whole = all(map(alignment.is_thought, rest)) and (not rest or alignment.at == many)
    if not whole or (changed and not _goes_on(groups, changed[-1])):
        return _fork(state, list(path), _settled(groups[:known]), alignment)
    for group in changed:
        entry = path[group.entries[0]]
        if entry not in state.log.tree.erased:
            state.write(Replaced(entry, alignment.message(group.messages[0])))
            register(state, state.log.tree[entry])  # its outputs are others now
    if changed:
        state.void_bill()
    new = range(alignment.at, many)
    for at in new:
        append(state, alignment.message(at), resent=True)
    merged = Merged(alignment.at - len(changed), len(new), len(changed))
    if changed:
        groups = [group._replace(same=True) for group in groups]
    groups += _new_groups(end, new)
    return groups, merged


def _goes_on(groups: Sequence[Pairing], last: Pairing) -> bool:
    """Whether something that is recorded behind the last change is the same, be it a message without words."""
    behind = (group for group in groups if group.same and group.entries[0] >= last.entries[1])
    return any(group.spoken or group.is_pair for group in behind)


def _settled(groups: list[Pairing]) -> list[Pairing]:
    """The groups before a fork: thoughts at their end belong to what comes after them, and that is another now."""
    count = len(groups)
    while count and not groups[count - 1].spoken:
        count -= 1
    return groups[:count]


def _new_groups(entry: int, messages: range) -> list[Pairing]:
    return [Pairing((entry + n, entry + n + 1), (at, at + 1), True) for n, at in enumerate(messages)]


def _note_entries(state: State, groups: list[Pairing], start: int) -> None:
    """Note the entries of each message: all of its group. A result that came twice is where it came first.

    So many groups from the `start` have the entries that they had the last time.
    """
    path, found = state.path, state.resent.entries
    del found[groups[start - 1].messages[1] if start else 0 :]
    before = (path[slice(*groups[at].entries)] for at in range(start - 1, -1, -1))
    last = tuple(next(filter(None, before), ()))
    for group in groups[start:]:
        ids = tuple(path[slice(*group.entries)]) or (last if group.spoken else ())
        found += [ids] * (group.messages[1] - group.messages[0])
        last = ids or last


def _fork(
    state: State, path: list[str], known: list[Pairing], alignment: Alignment
) -> tuple[list[Pairing], Merged]:
    """Go on from the last message that is known; edits come along as far as what they cover does."""
    entry, at = known[-1].entries[1] if known else 0, known[-1].messages[1] if known else 0
    parent = path[entry - 1] if entry else None
    state.move(parent, "merge")
    new = range(at, alignment.many)
    heads = [append(state, alignment.message(number), resent=True).id for number in new]
    _carry(state, path, heads[0] if heads else parent)
    return [*known, *_new_groups(entry, new)], Merged(at, len(heads), forked=True)


def _carry(state: State, old: Sequence[str], first: str | None) -> None:
    """Edits whose covers are all on the new path stand there too, from the last entry they cover on."""
    log = state.log
    depth = {id: i for i, id in enumerate(log.tree.path(log.head))}
    places: dict[str | None, list[str]] = {}
    for id in _left_behind(log, set(old), depth):
        leaves = log.leaves(covers_of(log.decisions[id].edit))
        if leaves <= depth.keys():
            at = max((first, *leaves), key=lambda place: depth[place] if place else -1)
            places.setdefault(at, []).append(id)
    for at, edits in places.items():
        state.write(Inherited(tuple(edits), at))


def _left_behind(log: Log, old: set[str], new: Container[str]) -> Iterator[str]:
    """The edits that have no place on the new path, but for those that a rewind took back. `redo` needs theirs too."""
    taken = {id for tip in log.behind for id in log.tree.path(tip)} - old if log.behind else set()
    for id, decision in log.decisions.items():
        if isinstance(decision.edit, Pin | Undo):
            continue
        places = [place for _, place in log.places[id]]
        if any(place is None or place in new for place in places):
            continue
        if any(place in old for place in places) or not any(place in taken for place in places):
            yield id


def _remember(
    state: State, alignment: Alignment, repeated: Repeated, groups: list[Pairing], *, owned: bool
) -> None:
    """Keep a copy of what the client sent, to compare the next transcript with; the client may change its own."""
    resent, later = state.resent, set(repeated.later)
    resent.bodies[repeated.first :] = [
        resent.bodies[at] if at in later else exacting(alignment.body(at, owned=owned))
        for at in range(repeated.first, alignment.many)
    ]
    resent.groups, resent.mark = groups, object()
    resent.count = groups[-1].entries[1] if groups else 0
    resent.tip = state.path[resent.count - 1] if resent.count else None
