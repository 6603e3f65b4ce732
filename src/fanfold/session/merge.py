"""Merging: a client re-sends its whole history; what is known stays, what is new is recorded."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any

import msgspec

from fanfold.core.edit import Pin, Undo, covers_of
from fanfold.core.ids import echo_bytes
from fanfold.core.log import Log
from fanfold.core.message import Message
from fanfold.core.record import Framed, Inherited, Replaced
from fanfold.dialects.dialect import Memory, plain
from fanfold.session.find import definitions
from fanfold.session.outputs import register
from fanfold.session.record import append
from fanfold.session.state import State
from fanfold.session.still import stand, take_out
from fanfold.text.plain import exacting, same_kinds


class Merged(msgspec.Struct, frozen=True):
    """What a merge did."""

    known: int
    """Messages that were there already."""
    new: int
    replaced: int = 0
    forked: bool = False
    ids: tuple[str, ...] = ()
    """The entries of the conversation, up to its last message."""
    params: dict[str, Any] = {}
    """What else the request held, as it came: nothing of it is recorded."""

    @property
    def entries(self) -> tuple[tuple[str, ...], ...]:
        """The entries that each message is, in the order of the messages; a system prompt that leads them is none."""
        return tuple([(id,) for id in self.ids])

    def __repr__(self) -> str:
        told = (self.known, self.new, self.replaced, self.forked)
        return "Merged(known={}, new={}, replaced={}, forked={})".format(*told)


def merge(state: State, transcript: Any) -> Merged:
    """Adopt a re-sent transcript. The same one twice in a row writes nothing the second time."""
    state.read_whole()
    split = state.dialect.split(state.dialect.whole(transcript, lambda: memory_of(state)))
    incoming = split.messages
    first, repeated = _find_repeated(state, incoming)
    known = count_known(state, incoming, first)
    read = [_read(state, body, i, repeated) for i, body in enumerate(incoming[known:], known)]
    reframe(state, split.system, split.tools)
    same = known == len(state.path) == len(incoming)
    merged = Merged(known, 0) if same else _adopt(state, known, read)
    _remember(state, incoming, first, repeated)
    return msgspec.structs.replace(merged, ids=tuple(state.path[: len(incoming)]), params=split.params)


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
    frame = stand(state, state.dialect.frame(stable, tools), lines)
    state.resent.frame = (tuple(plain(body) for body in system), tuple(plain(tool) for tool in tools))
    if frame != state.log.frame():
        state.write(Framed(frame))
        state.void_bill()


def _find_repeated(state: State, incoming: Sequence[Any]) -> tuple[int, Sequence[bool]]:
    """How many messages the client sent just so the last time, from the start, and which of all."""
    bodies = state.resent.bodies
    if not bodies or state.resent.ids != state.path[: len(bodies)]:
        return 0, ()
    # Usually a client only added some: then one `==` tells.
    if list(incoming[: len(bodies)]) == bodies:
        return len(bodies), (True,) * len(bodies)
    same = [new == old for new, old in zip(incoming, bodies, strict=False)]
    return same.index(False) if False in same else len(same), same


def _read(state: State, body: Any, at: int, repeated: Sequence[bool]) -> Message:
    """A message that the client sent; if it is the same as the last time, the recorded one."""
    if at < len(repeated) and repeated[at] and state.path[at] not in state.log.tree.erased:
        return state.log.message(state.path[at])
    return state.dialect.message(body, f"messages[{at}]")


def count_known(state: State, incoming: Sequence[Any], known: int = 0) -> int:
    """How many messages from the start are recorded already; so many are known to be."""
    path = state.path
    while (
        known < len(path) and known < len(incoming) and _matches(state, path[known], incoming[known], known)
    ):
        known += 1
    return known


def _matches(state: State, id: str, body: Any, at: int) -> bool:
    wire = state.log.message(id).wire
    if wire is not None and wire.body == body and same_kinds(wire.body, body):
        return True
    return _same(state, id, state.dialect.message(body, f"messages[{at}]"))


def _same(state: State, id: str, message: Message) -> bool:
    """Whether a message is the recorded one, as far as clients repeat it; an erased one is known by its hashes."""
    if message is state.log.message(id) or state.log.tree.is_destroyed(id, message):
        return True
    return id not in state.log.tree.erased and echo_bytes(state.log.message(id)) == echo_bytes(message)


def _adopt(state: State, known: int, read: list[Message]) -> Merged:
    """Record what came after the messages that are known: at the end, in place of old bodies, or as a fork."""
    state.log.tree.fetch(state.log.erasures)  # to know what was erased, also beside this path
    path = list(state.path)
    rest = path[known:]
    differing = [i for i, (id, new) in enumerate(zip(rest, read, strict=False)) if not _same(state, id, new)]
    if len(read) < len(rest) or (differing and not _only_bodies_changed(state, rest, read, differing)):
        return _fork(state, path, known, read)
    for i in differing:
        if rest[i] not in state.log.tree.erased:
            state.write(Replaced(rest[i], read[i]))
            register(state, state.log.tree[rest[i]])  # its outputs are others now
    if differing:
        state.void_bill()
    new = read[len(rest) :]
    for message in new:
        append(state, message, resent=True)
    return Merged(len(path) - len(differing), len(new), len(differing))


def _only_bodies_changed(state: State, rest: list[str], read: list[Message], differing: list[int]) -> bool:
    """Whether messages differ one for one: something was recorded after the last change, and it matches.

    Each has the role of the one in its place, and is about the same calls.
    """

    def place(message: Message) -> tuple[object, ...]:
        calls, results = [call.id for call in message.calls], [result.call for result in message.results]
        return message.role, calls + results

    if differing[-1] >= len(rest) - 1:
        return False
    return all(place(state.log.message(rest[i])) == place(read[i]) for i in differing)


def _fork(state: State, path: list[str], known: int, read: list[Message]) -> Merged:
    """Go on from the last message that is known; edits come along as far as what they cover does."""
    parent = path[known - 1] if known else None
    state.move(parent, "merge")
    heads = [append(state, message, resent=True).id for message in read]
    _carry(state, path, heads[0] if heads else parent)
    return Merged(known, len(read), forked=True)


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
    """The edits that do not stand on the new path, but for those that a rewind took back."""
    taken = {id for tip in log.behind for id in log.tree.path(tip)} - old if log.behind else set()
    dead = log.undone()
    for id, decision in log.decisions.items():
        if id in dead or isinstance(decision.edit, Pin | Undo):
            continue
        places = [place for _, place in log.places[id]]
        if any(place is None or place in new for place in places):
            continue
        if any(place in old for place in places) or not any(place in taken for place in places):
            yield id


def _remember(state: State, incoming: Sequence[Any], first: int, repeated: Sequence[bool]) -> None:
    """Keep a copy of what the client sent, to compare the next transcript with; the client may change its own."""
    resent = state.resent
    again = [*repeated[first:], *(False for _ in incoming[len(repeated) :])]
    resent.bodies[first:] = [
        resent.bodies[at] if same else exacting(plain(incoming[at])) for at, same in enumerate(again, first)
    ]
    resent.ids = state.path[: len(resent.bodies)]
