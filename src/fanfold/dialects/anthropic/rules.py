"""What Anthropic's Messages demands of messages in their order: each rule with its check and its repair.

The rules are those of the API reference (Messages), of the page on tool use, and of the 400s that the API answers. A
repair is made on wire messages (`WirePiece`), where they stand, and what changed is read again. The rules on one
message alone are in `message_rules.py`, those on thinking in `thinking.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from fanfold.core.message import Image, Message, Part, Result, user
from fanfold.core.view import Row, Violation, call_ids
from fanfold.dialects import rules as shared
from fanfold.dialects.anthropic.join import Seam, wire_messages
from fanfold.dialects.anthropic.message_rules import IN_PLACE, as_stray_words, legal
from fanfold.dialects.anthropic.read import (
    ASKS,
    THOUGHTS,
    blocks,
    kind,
    parts,
    read,
    server_use,
    waits,
)
from fanfold.dialects.anthropic.thinking import THINKING, ending, is_prefilled
from fanfold.dialects.anthropic.write import plain_id, text_block, wire, wire_id
from fanfold.dialects.rules import NO_RESULT, Body, Breaches, OrderRule, Params, Patch, Rows
from fanfold.tokens import models

Step = tuple[Body, bool, tuple[str, ...], tuple[str, ...]]
"""A wire message before it is joined to others: its body, whether it is loose, what it calls and answers."""


def steps(rows: Rows) -> Iterator[Step]:
    """The wire messages of these rows."""
    for row in rows:
        alone = len(row.messages) == 1
        for message, body, loose in wire_messages(row):
            yield body, loose, *((row.calls, row.results) if alone else call_ids((message,)))


def check(rows: Rows, params: Params, settled: int = 0) -> list[Violation]:
    """All that is wrong with a request of these rows."""
    found = [(at, fault) for at, row in enumerate(rows) if row.weight.wire for fault in row.weight.faults]
    alone = [fault for _, fault in found if fault.rule not in IN_PLACE]
    suspects = [(at, fault) for at, fault in found if fault.rule in IN_PLACE]
    return [*alone, *_confirm(suspects, rows, params), *shared.breaches(ORDER, rows, params)]


def _confirm(suspects: Sequence[tuple[int, Violation]], rows: Rows, params: Params) -> Iterator[Violation]:
    """The suspicions about one message that hold where it stands."""
    bodies = [step[0] for step in steps(rows)] if suspects else []
    for at, fault in suspects:
        after = next(steps(rows[at + 1 :]), None)
        if fault.rule == "says_something":
            if after is not None or not prefills(params) or not _is_empty_reply(bodies[-1]):
                yield fault
        elif fault.rule == "thinking_goes_on" and (after is None or after[0]["role"] != "assistant"):
            yield fault
    if any(fault.rule == "server_pairs" for _, fault in suspects):
        for at, _, text in _lone_blocks(bodies):
            yield Violation("server_pairs", f"messages[{at}]", text)


def _is_empty_reply(body: Body) -> bool:
    return body["role"] == "assistant" and body.get("content") == []


class WirePiece:
    """One wire message of a row, and what becomes of it."""

    def __init__(self, row: Row, message: Message, body: Body, loose: bool) -> None:
        self.row, self.loose = row, loose
        self.noted = False
        """A note stands right before it."""
        self._was = body
        self._message = message
        self.body: Body | None = body
        self.reread = False
        """Read the body again even if it did not change: the ids on the wire are others than the recorded ones."""
        self.home: WirePiece | None = None
        """The one that shows its results, if it does not itself."""
        self.before: list[Message] = []
        self.after: list[Message] = []

    @property
    def is_changed(self) -> bool:
        """Whether something has to be shown in its place."""
        return self.reread or bool(self.before or self.after) or self.body != self._was

    @property
    def role(self) -> str:
        """Who speaks."""
        return str(self.body["role"]) if self.body else ""

    @property
    def content(self) -> list[Any]:
        """The blocks as they are now."""
        return blocks(self.body) if self.body else []

    def put(self, content: list[Any]) -> None:
        """Other blocks in its place; without any it is not shown."""
        if content != self.content:
            self.body = {"role": self.role, "content": content} if content else None

    @property
    def is_odd(self) -> bool:
        """Whether its ids are others on the wire than as recorded."""
        ids = [call.id for call in self._message.calls] + [result.call for result in self._message.results]
        return not all(map(plain_id, ids))

    def tell(self) -> None:
        """A system message that has no place: its words, by the user."""
        self._message = Message("system", parts(self.content))
        self.body = self._was = wire(self._message)[0]
        self.loose = True
        self.reread = True

    def show(self) -> Iterator[Message]:
        """What is shown."""
        yield from self.before
        if self._message.role == "system" and self.body == self._was:
            yield self._message
        elif self.body is not None:
            same = self.body == self._was and not self.reread and self.row.was is None
            yield self._message if same else read(self.body)
        yield from self.after


def repair(rows: Rows, params: Params) -> list[Patch]:
    """The smallest repairs that make these rows legal."""
    pieces = list(_pieces(rows))
    _repair_alone(pieces, params)
    _repair_system(pieces, params)
    _repair_turns(pieces)
    _repair_ends(pieces, params)
    _repair_served(pieces)
    _repair_images(pieces)
    if not _remaining(pieces) and not any(row.kind == "note" for row in rows):
        # Nothing that was said can be sent: the last row says so.
        silent: list[Patch] = [((row.id,), ()) for row in rows[:-1] if row.weight.wire]
        return [*silent, *(((row.id,), (user(shared.NOTHING),)) for row in rows[-1:])]
    changed = (group for group in _together(pieces) if any(piece.is_changed for piece in group))
    return [(_row_ids(group), tuple(shown for piece in group for shown in piece.show())) for group in changed]


def _row_ids(pieces: Sequence[WirePiece]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(piece.row.id for piece in pieces))


def _pieces(rows: Rows) -> Iterator[WirePiece]:
    """The messages of all rows but notes, which are legal wherever they stand."""
    noted = False
    for row in rows:
        for each in wire_messages(row):
            if row.kind == "note":
                noted = True
                continue
            piece = WirePiece(row, *each)
            piece.noted, noted = noted, False
            yield piece


def _remaining(pieces: Sequence[WirePiece]) -> list[WirePiece]:
    return [piece for piece in pieces if piece.body]


def _together(pieces: Sequence[WirePiece]) -> list[list[WirePiece]]:
    """The messages of each row, and of rows whose results are shown in it.

    What is shown anew covers everything that it shows: what is erased, or brought back, is looked for by that.
    """
    rows = [list(group) for _, group in groupby(pieces, key=lambda piece: piece.row.id)]
    at = {row[0].row.id: number for number, row in enumerate(rows)}
    leads = list(range(len(rows)))
    for number, row in enumerate(rows):
        for home in {at[piece.home.row.id] for piece in row if piece.home is not None}:
            # What a message has left to say stays behind all that was said between.
            between = range(home, number) if any(list(piece.show()) for piece in row) else (home,)
            joined = {leads[one] for one in (*between, number)}
            leads = [min(joined) if lead in joined else lead for lead in leads]
    return [
        [piece for lead, row in zip(leads, rows, strict=True) if lead == first for piece in row]
        for first in dict.fromkeys(leads)
    ]


def bare_messages(rows: Rows, params: Params) -> Breaches:
    """A message has a role and content, and nothing else."""
    for row in rows:
        for body in row.weight.wire:
            if len(body) > 2:
                extra = ", ".join(key for key in body if key not in ("role", "content"))
                yield row.id, f"a message with more than role and content: {extra}"


def plain_ids(rows: Rows, params: Params) -> Breaches:
    """A call's id is made of letters, digits, underscores and dashes."""
    for row in rows:
        if row.calls and not all(map(plain_id, row.calls)):
            sent_so = (calls for _, loose, calls, _ in steps((row,)) if not loose)
            odd = [id for calls in sent_so for id in calls if not plain_id(id)]
            if odd:
                yield row.id, f"the ids of calls have other signs in them: {odd}"


def _repair_alone(pieces: Sequence[WirePiece], params: Params) -> None:
    """Each message by itself; an empty final one may stay where the model goes on from it."""
    for at, piece in enumerate(pieces):
        assert piece.body is not None
        final = at == len(pieces) - 1 and prefills(params)
        if not (final and _is_empty_reply(piece.body)):
            piece.body = legal(piece.body)
        if piece.noted and not piece.body and at + 1 < len(pieces):
            pieces[at + 1].noted = True


def system_in_place(rows: Rows, params: Params) -> Breaches:
    """A system message stands behind the user or a server tool's use, before the assistant or last, if at all."""
    if any(body["role"] == "system" for row in rows for body in row.weight.wire):
        for at in _misplaced([step[0] for step in steps(rows)], params):
            yield f"messages[{at}]", "a system message that has no place here"


def _misplaced(bodies: Sequence[Body], params: Params) -> Iterator[int]:
    """Where a system message stands that has no place there."""
    model = params.get("model")
    known = not model or models.has(model, "system_messages")
    for at, body in enumerate(bodies):
        if body["role"] == "system":
            before, after = bodies[at - 1] if at else None, bodies[at + 1] if at + 1 < len(bodies) else None
            asks = [kind(block) in ASKS for block in blocks(before)[-1:]] if before else []
            spoken = before and (before["role"] == "user" or (before["role"] == "assistant" and any(asks)))
            if not known or not spoken or (after and after["role"] != "assistant"):
                yield at


def _repair_system(pieces: Sequence[WirePiece], params: Params) -> None:
    kept = _remaining(pieces)
    bodies = [piece.body or {} for piece in kept]
    for at in _misplaced(bodies, params):
        kept[at].tell()
        bodies[at] = kept[at].body or {}


def answered(rows: Rows, params: Params) -> Breaches:
    """Every call is answered, once, in the user message right behind it; nothing else is."""
    open: dict[str, None] = {}
    seam, answers = Seam(), False
    missing = "calls without a result right behind them"
    for i, (body, loose, calls, results) in enumerate(steps(rows)):
        before, role = seam.role, body["role"]
        if not seam.step(role, loose, bool(results)):
            answers = role == "user" and before == "assistant"
            if open and not answers and not role == before == "assistant":
                yield f"messages[{i}]", f"{missing}: {', '.join(open)}"
                open = {}
        for id in results:
            if not answers or id not in open:
                yield f"messages[{i}]", f"a result for {id!r}, which no call right before asked for"
            open.pop(id, None)
        if calls and role == "assistant":
            open.update(dict.fromkeys(calls))
    if open:
        yield "the end", f"{missing}: {', '.join(open)}"


def own_ids(rows: Rows, params: Params) -> Breaches:
    """No two calls of a request have the same id, as ids are sent."""
    seen: set[str] = set()
    for row in rows:
        for id in map(wire_id, row.calls):
            if id in seen:
                yield row.id, f"a second call with the id {id!r}"
            seen.add(id)


def _repair_turns(pieces: Sequence[WirePiece]) -> None:
    """The assistant's turns and what the user's side answers to each."""
    seen: set[str] = set()
    turn: list[WirePiece] = []
    open: list[tuple[str, str]] = []
    for run in shared.runs(_remaining(pieces), _breaks):
        if run[0].role == "user":
            _answer(turn, run, open)
            open = []
            continue
        if open:
            _answer(turn, [], open)
        turn, open = run, []
        if run[0].role == "assistant":
            _without_last_thoughts(run)
            open = [pair for piece in run for pair in _distinct(piece, seen)]
    if open:
        _answer(turn, [], open)


def _breaks(run: list[WirePiece], piece: WirePiece) -> bool:
    """Whether somebody else speaks now; a note is a break in what the assistant says."""
    return piece.role != run[0].role or (piece.noted and piece.role != "user")


def _without_last_thoughts(run: Sequence[WirePiece]) -> None:
    """A turn does not end with thinking; one of nothing else is not shown."""
    for piece in reversed(run):
        content = list(piece.content)
        while content and kind(content[-1]) in THOUGHTS:
            content.pop()
        piece.put(content)
        if content:
            return


def _distinct(piece: WirePiece, seen: set[str]) -> Iterator[tuple[str, str]]:
    """Each call's id as it was and as it is now: no two of a request are the same."""
    content = list(piece.content)
    for nth, block in enumerate(content):
        if kind(block) == "tool_use":
            id, number = block["id"], 1
            while id in seen:
                number += 1
                id = f"{block['id']}_{number}"
            seen.add(id)
            content[nth] = block if id == block["id"] else {**block, "id": id}
            yield block["id"], id
    piece.put(content)


Sorted = tuple[list[Body], list[Body]]
"""The results of a message that count, and all else in it."""


def _answer(turn: Sequence[WirePiece], run: Sequence[WirePiece], open: Sequence[tuple[str, str]]) -> None:
    """The results of a turn's calls in the one message behind it, each once; the rest becomes plain words."""
    chosen = _choose_results(run, open)
    told = [_sort_out(piece, chosen) for piece in run]
    answered = set(chosen.values())
    missing: list[Body] = [
        {"type": "tool_result", "tool_use_id": new, "content": NO_RESULT, "is_error": True}
        for _, new in open
        if new not in answered
    ]
    stays = _staying(run, told, bool(missing))
    moves = any(own and not stay for (own, _), stay in zip(told, stays, strict=True))
    changes = any([*own, *others] != piece.content for piece, (own, others) in zip(run, told, strict=True))
    touched = missing or moves or changes or any(piece.is_changed for piece in (*turn, *run))
    if touched and any(piece.is_odd for piece in (*turn, *run)):
        # Ids as recorded give way to ids as sent: then everywhere in the turn and its answers.
        stays = [at == 0 and not run[0].noted for at in range(len(run))]
        for piece in (*turn, *run):
            piece.reread = True
    for piece, (own, others), stay in zip(run, told, stays, strict=True):
        piece.put([*own, *others] if stay else others)
    moved = [block for (own, _), stay in zip(told, stays, strict=True) if not stay for block in own]
    if not missing and not moved:
        return
    home = _complete(turn, run, [*moved, *missing])
    for piece, (own, _), stay in zip(run, told, stays, strict=True):
        if own and not stay and piece is not home:
            piece.home = home


def _staying(run: Sequence[WirePiece], told: Sequence[Sorted], missing: bool) -> list[bool]:
    """Which messages are part of the first one behind the turn, so that their results count where they are."""
    same = [[*own, *others] == piece.content for piece, (own, others) in zip(run, told, strict=True)]
    stays: list[bool] = []
    for at, piece in enumerate(run):
        first = at == 0 and not piece.noted
        stays.append(first or ((at == 0 or stays[at - 1]) and piece.loose and same[at]))
    moved = any(own and not stay for (own, _), stay in zip(told, stays, strict=True))
    if not run or run[0].noted or missing or moved or told[0][0] or (run[0].loose and same[0]):
        return stays
    return [at == 0 for at in range(len(run))]


def _complete(turn: Sequence[WirePiece], run: Sequence[WirePiece], results: list[Body]) -> WirePiece:
    """Put results where they belong: beside those in the message behind the turn, or into a message of their own.

    A message without results stays as it was said: so it can be clipped, pinned and looked up like any other.
    """
    there = [block for block in run[0].content if kind(block) == "tool_result"] if run else []
    if not there or run[0].noted:
        last = (_remaining(turn) or turn)[-1]
        last.after.append(read({"role": "user", "content": results}))
        return last
    rest = [block for block in run[0].content if kind(block) != "tool_result"]
    run[0].body = {"role": "user", "content": [*there, *results, *rest]}
    return run[0]


def _choose_results(run: Sequence[WirePiece], open: Sequence[tuple[str, str]]) -> dict[int, str]:
    """For each call the result it gets, by identity, with the call's id; a real one goes before a made-up one."""
    results = [block for piece in run for block in piece.content if kind(block) == "tool_result"]
    results.sort(key=lambda block: block.get("content") == NO_RESULT)
    chosen: dict[int, str] = {}
    for old, new in open:
        found = (block for block in results if block["tool_use_id"] in (old, new) and id(block) not in chosen)
        best = next(found, None)
        if best is not None:
            chosen[id(best)] = new
    return chosen


def _sort_out(piece: WirePiece, chosen: Mapping[int, str]) -> Sorted:
    """The results of a message that count, under the ids of their calls; and all else in it."""
    own: list[Body] = []
    others: list[Body] = []
    for block in piece.content:
        if kind(block) != "tool_result":
            others.append(block)
        elif id(block) in chosen:
            new = chosen[id(block)]
            own.append(block if block["tool_use_id"] == new else {**block, "tool_use_id": new})
        elif block.get("content") != NO_RESULT:
            others += as_stray_words(block)
    return own, others


def user_first(rows: Rows, params: Params) -> Breaches:
    """The first message is the user's, or begins with a compaction."""
    first = next(steps(rows), None)
    if first is not None and not _may_begin(first[0]):
        yield "messages[0]", f"the first message is the {first[0]['role']}'s"


def _may_begin(body: Body) -> bool:
    return body["role"] == "user" or [kind(block) for block in blocks(body)[:1]] == ["compaction"]


def good_ending(rows: Rows, params: Params) -> Breaches:
    """The assistant comes last only where the model goes on from there, without trailing whitespace."""
    last = ending(rows)
    if last["role"] != "assistant":
        return
    if is_prefilled(rows) and not prefills(params):
        yield "the end", "this model does not continue an assistant message"
    if any(map(_trails, blocks(last)[-1:])):
        yield "the end", "a final assistant message ends with whitespace"


def prefills(params: Params) -> bool:
    """Whether the model goes on with an assistant message that comes last."""
    model = models.kin(params.get("model"))
    return model is None or model.provider != "anthropic" or "prefill" in model.quirks


def _trails(block: Any) -> bool:
    """Whether a block is a text that ends with whitespace."""
    text = str(block.get("text", "")) if kind(block) == "text" else ""
    return text != text.rstrip()


def _repair_ends(pieces: Sequence[WirePiece], params: Params) -> None:
    """The user begins; the assistant ends only where the model goes on from there."""
    kept = _remaining(pieces)
    if kept and kept[0].body and not kept[0].noted and not _may_begin(kept[0].body):
        kept[0].before.append(user(shared.BEGINNING))
    if kept and kept[-1].after and not kept[-1].content:
        kept[-1].body = None
    if not kept or kept[-1].role != "assistant" or kept[-1].after:
        return
    content = list(kept[-1].content)
    if content and _trails(content[-1]):
        content[-1] = {**content[-1], "text": content[-1]["text"].rstrip()}
        kept[-1].put(content)
    if not prefills(params) and not waits(kept[-1].body or {}):
        kept[-1].after.append(user(shared.GO_ON))


def _lone_blocks(bodies: Sequence[Body]) -> list[tuple[int, int, str]]:
    """The blocks of a server's tool that lack the other one of their pair; what runs still may wait for it."""
    asked: dict[str, tuple[int, int]] = {}
    alone: list[tuple[int, int, str]] = []
    last = -1  # where the user last said something: a server's tool may wait for the results of calls
    for at, body in enumerate(bodies):
        if body["role"] == "user" and any(kind(block) != "tool_result" for block in blocks(body)):
            last = at
        for nth, block in enumerate(blocks(body)):
            id, asks = server_use(block)
            if asks and id in asked:
                alone.append((*asked[id], f"a server tool's use {id!r}, asked for twice"))
            if asks:
                asked[id] = (at, nth)
            elif asks is False and asked.pop(id, None) is None:
                alone.append((at, nth, f"a server tool's result for {id!r}, which nobody asked for"))
    waiting = [(at, nth, f"a server tool's use {id!r} without a result") for id, (at, nth) in asked.items()]
    return [*alone, *(found for found in waiting if found[0] < last)]


def _repair_served(pieces: Sequence[WirePiece]) -> None:
    """A server tool's use without a result, or the other way round, becomes a note."""
    told = [
        (piece, body)
        for piece in _remaining(pieces)
        for body in (piece.body, *(body for message in piece.after for body in wire(message)))
        if body
    ]
    for at, nth, _ in _lone_blocks([body for _, body in told]):
        piece = told[at][0]
        content = list(piece.content)
        content[nth] = text_block(f"[{content[nth].get('name') or kind(content[nth])}: no pair]")
        piece.put(content)


MOST_IMAGES = 100


def few_images(rows: Rows, params: Params) -> Breaches:
    """A request has at most 100 images, those in results included."""
    held = (part for row in rows for message in row.messages for part in message.parts)
    count = sum(_images(part) for part in held if type(part) is Image or type(part) is Result)
    if count > MOST_IMAGES:
        yield "messages", f"{count} images, {MOST_IMAGES} are allowed"


def _images(part: Part) -> int:
    """How many pictures a part holds."""
    if isinstance(part, Result):
        return sum(isinstance(inner, Image) for inner in part.parts) if part.parts else 0
    return int(isinstance(part, Image))


def _repair_images(pieces: Sequence[WirePiece]) -> None:
    """Too many pictures: the oldest give way."""
    kept = _remaining(pieces)
    count = sum(_images(part) for piece in kept for part in parts(piece.content))
    for piece in kept:
        content = list(piece.content)
        for nth, part in enumerate(parts(content)):
            if count > MOST_IMAGES and _images(part):
                count -= _images(part)
                content[nth] = _without_image(content[nth])
        piece.put(content)


def _without_image(block: Any) -> Any:
    """The block with every picture in it replaced by a word."""
    if kind(block) == "image":
        return text_block("[image left out: too many in one request]")
    if kind(block) == "tool_result" and isinstance(block.get("content"), list):
        return {**block, "content": [_without_image(inner) for inner in block["content"]]}
    return block


ORDER: tuple[OrderRule, ...] = (
    shared.some_message, user_first, answered, own_ids, plain_ids, bare_messages, system_in_place, good_ending,
    *THINKING, few_images,
)  # fmt: skip
