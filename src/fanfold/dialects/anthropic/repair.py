"""Repairs for Anthropic's Messages: broken rows as wire messages, repaired where they stand, and read again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from fanfold.core.message import Message, user
from fanfold.core.view import Row
from fanfold.dialects.anthropic.block_repair import legal, unasked, without_image
from fanfold.dialects.anthropic.join import spoken
from fanfold.dialects.anthropic.read import THOUGHTS, Body, blocks, kind, parts, read, waits
from fanfold.dialects.anthropic.rules import (
    MOST_IMAGES,
    images,
    may_begin,
    prefills,
    system_fits,
    trailing,
    unpaired,
)
from fanfold.dialects.anthropic.write import plain_id, text_block, wire
from fanfold.dialects.rules import BEGINNING, GO_ON, NO_RESULT, NOTHING, Patch


class Piece:
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
        self.home: Piece | None = None
        """The one that shows its results, if it does not itself."""
        self.before: list[Message] = []
        self.after: list[Message] = []

    @property
    def changed(self) -> bool:
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

    def bodies(self) -> Iterator[Body]:
        """What is sent: itself, then what was added behind it."""
        if self.body:
            yield self.body
        yield from (body for message in self.after for body in wire(message))

    def put(self, content: list[Any]) -> None:
        """Other blocks in its place; without any it is not shown."""
        if content != self.content:
            self.body = {"role": self.role, "content": content} if content else None

    def odd(self) -> bool:
        """Whether its ids are others on the wire than as recorded."""
        ids = [call.id for call in self._message.calls] + [result.call for result in self._message.results]
        return not all(map(plain_id, ids))

    def told(self) -> None:
        """A system message that has no place: its words, by the user."""
        self._message = Message("system", parts(self.content))
        self.body = self._was = wire(self._message)[0]
        self.loose = True
        self.reread = True

    def shown(self) -> Iterator[Message]:
        """What is shown."""
        yield from self.before
        if self._message.role == "system" and self.body == self._was:
            yield self._message
        elif self.body is not None:
            same = self.body == self._was and not self.reread and self.row.was is None
            yield self._message if same else read(self.body)
        yield from self.after


def repair(rows: Sequence[Row], params: Mapping[str, Any]) -> list[Patch]:
    """The smallest repairs that make these rows legal."""
    pieces = list(_pieces(rows))
    _repair_alone(pieces, params)
    _repair_system(pieces, params)
    _repair_turns(pieces)
    _repair_ends(pieces, params)
    _repair_served(pieces)
    _repair_images(pieces)
    return (
        list(_repairs(pieces))
        if _kept(pieces) or any(row.kind == "note" for row in rows)
        else _something(rows)
    )


def _pieces(rows: Sequence[Row]) -> Iterator[Piece]:
    """The messages of all rows but notes, which are legal wherever they stand."""
    noted = False
    for row in rows:
        for each in spoken(row):
            if row.kind == "note":
                noted = True
                continue
            piece = Piece(row, *each)
            piece.noted, noted = noted, False
            yield piece


def _something(rows: Sequence[Row]) -> list[Patch]:
    """Nothing that was said can be sent: the last row says so."""
    silent = [((row.id,), ()) for row in rows[:-1] if row.weight.wire]
    return [*silent, *(((row.id,), (user(NOTHING),)) for row in rows[-1:])]


def _repairs(pieces: Sequence[Piece]) -> Iterator[Patch]:
    """What is shown anew covers everything that it shows: what is erased, or brought back, is looked for by that."""
    for group in _together(pieces):
        if any(piece.changed for piece in group):
            rows = dict.fromkeys(piece.row.id for piece in group)
            yield tuple(rows), tuple(message for piece in group for message in piece.shown())


def _together(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The messages of each row, and of rows whose results are shown in it."""
    rows = [list(group) for _, group in groupby(pieces, key=lambda piece: piece.row.id)]
    at = {row[0].row.id: number for number, row in enumerate(rows)}
    leads = list(range(len(rows)))
    for number, row in enumerate(rows):
        for home in {at[piece.home.row.id] for piece in row if piece.home is not None}:
            # What a message has left to say stays behind all that was said between.
            between = range(home, number) if any(list(piece.shown()) for piece in row) else (home,)
            joined = {leads[one] for one in (*between, number)}
            leads = [min(joined) if lead in joined else lead for lead in leads]
    return [
        [piece for lead, row in zip(leads, rows, strict=True) if lead == first for piece in row]
        for first in dict.fromkeys(leads)
    ]


def _kept(pieces: Sequence[Piece]) -> list[Piece]:
    return [piece for piece in pieces if piece.body]


def _runs(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """What one side says without a break; a note is a break in what the assistant says."""
    run: list[Piece] = []
    for piece in _kept(pieces):
        if run and (piece.role != run[0].role or (piece.noted and piece.role != "user")):
            yield run
            run = []
        run.append(piece)
    if run:
        yield run


def _repair_alone(pieces: Sequence[Piece], params: Mapping[str, Any]) -> None:
    """Each message by itself; an empty final one may stay where the model goes on from it."""
    for at, piece in enumerate(pieces):
        assert piece.body is not None
        final = at == len(pieces) - 1 and piece.role == "assistant" and prefills(params)
        if not (final and piece.body.get("content") == []):
            piece.body = legal(piece.body)
        if piece.noted and not piece.body and at + 1 < len(pieces):
            pieces[at + 1].noted = True


def _repair_system(pieces: Sequence[Piece], params: Mapping[str, Any]) -> None:
    kept = _kept(pieces)
    for at, piece in enumerate(kept):
        if piece.role == "system":
            before = kept[at - 1].body if at else None
            after = kept[at + 1].role if at + 1 < len(kept) else None
            if not system_fits(before, after, params):
                piece.told()


def _repair_served(pieces: Sequence[Piece]) -> None:
    """A server tool's use without a result, or the other way round, becomes a note."""
    told = [(piece, body) for piece in _kept(pieces) for body in piece.bodies()]
    for at, nth, _ in unpaired([body for _, body in told]):
        piece = told[at][0]
        content = list(piece.content)
        content[nth] = text_block(f"[{content[nth].get('name') or kind(content[nth])}: no pair]")
        piece.put(content)


def _repair_turns(pieces: Sequence[Piece]) -> None:
    """The assistant's turns and what the user's side answers to each."""
    seen: set[str] = set()
    turn: list[Piece] = []
    open: list[tuple[str, str]] = []
    for run in _runs(pieces):
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


def _without_last_thoughts(run: Sequence[Piece]) -> None:
    """A turn does not end with thinking; one of nothing else is not shown."""
    for piece in reversed(run):
        content = list(piece.content)
        while content and kind(content[-1]) in THOUGHTS:
            content.pop()
        piece.put(content)
        if content:
            return


def _distinct(piece: Piece, seen: set[str]) -> Iterator[tuple[str, str]]:
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


def _answer(turn: Sequence[Piece], run: Sequence[Piece], open: Sequence[tuple[str, str]]) -> None:
    """The results of a turn's calls in the one message behind it, each once; the rest becomes plain words."""
    chosen = _chosen(run, open)
    told = [_sorted(piece, chosen) for piece in run]
    answered = {new for _, new in chosen.values()}
    missing = [_no_result(new) for _, new in open if new not in answered]
    stays = _staying(run, told, bool(missing))
    if _renames(turn, run, told, stays, bool(missing)):
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


def _staying(run: Sequence[Piece], told: Sequence[Sorted], missing: bool) -> list[bool]:
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


def _renames(
    turn: Sequence[Piece], run: Sequence[Piece], told: Sequence[Sorted], stays: Sequence[bool], missing: bool
) -> bool:
    """Whether ids as recorded give way to ids as sent: then everywhere in the turn and its answers."""
    moves = any(own and not stay for (own, _), stay in zip(told, stays, strict=True))
    changes = any([*own, *others] != piece.content for piece, (own, others) in zip(run, told, strict=True))
    touched = missing or moves or changes or any(piece.changed for piece in (*turn, *run))
    return touched and any(piece.odd() for piece in (*turn, *run))


def _complete(turn: Sequence[Piece], run: Sequence[Piece], results: list[Body]) -> Piece:
    """Put results where they belong: beside those in the message behind the turn, or into a message of their own.

    A message without results stays as it was said: so it can be clipped, pinned and looked up like any other.
    """
    there = [block for block in run[0].content if kind(block) == "tool_result"] if run else []
    if not there or run[0].noted:
        last = (_kept(turn) or turn)[-1]
        last.after.append(read({"role": "user", "content": results}))
        return last
    rest = [block for block in run[0].content if kind(block) != "tool_result"]
    run[0].body = {"role": "user", "content": [*there, *results, *rest]}
    return run[0]


def _chosen(run: Sequence[Piece], open: Sequence[tuple[str, str]]) -> dict[int, tuple[Body, str]]:
    """For each call the result it gets, by identity; a real one goes before one that fanfold made."""
    results = [block for piece in run for block in piece.content if kind(block) == "tool_result"]
    chosen: dict[int, tuple[Body, str]] = {}
    for old, new in open:
        found = [block for block in results if block["tool_use_id"] in (old, new) and id(block) not in chosen]
        best = next((block for block in found if block.get("content") != NO_RESULT), None) or next(
            iter(found), None
        )
        if best is not None:
            chosen[id(best)] = (best, new)
    return chosen


def _sorted(piece: Piece, chosen: Mapping[int, tuple[Body, str]]) -> Sorted:
    """The results of a message that count, under the ids of their calls; and all else in it."""
    own: list[Body] = []
    others: list[Body] = []
    for block in piece.content:
        if kind(block) != "tool_result":
            others.append(block)
        elif id(block) in chosen:
            new = chosen[id(block)][1]
            own.append(block if block["tool_use_id"] == new else {**block, "tool_use_id": new})
        elif block.get("content") != NO_RESULT:
            others += unasked(block)
    return own, others


def _no_result(id: str) -> Body:
    return {"type": "tool_result", "tool_use_id": id, "content": NO_RESULT, "is_error": True}


def _repair_ends(pieces: Sequence[Piece], params: Mapping[str, Any]) -> None:
    """The user begins; the assistant ends only where the model goes on from there."""
    kept = _kept(pieces)
    if kept and kept[0].body and not kept[0].noted and not may_begin(kept[0].body):
        kept[0].before.append(user(BEGINNING))
    if kept and kept[-1].after and not kept[-1].content:
        kept[-1].body = None
    if not kept or kept[-1].role != "assistant" or kept[-1].after:
        return
    content = list(kept[-1].content)
    if content and kind(content[-1]) == "text" and trailing(content[-1]):
        content[-1] = {**content[-1], "text": content[-1]["text"].rstrip()}
        kept[-1].put(content)
    if not prefills(params) and not waits(kept[-1].body or {}):
        kept[-1].after.append(user(GO_ON))


def _repair_images(pieces: Sequence[Piece]) -> None:
    """Too many pictures: the oldest give way."""
    kept = _kept(pieces)
    count = sum(images(part) for piece in kept for part in parts(piece.content))
    for piece in kept:
        content = list(piece.content)
        for nth, part in enumerate(parts(content)):
            if count > MOST_IMAGES and images(part):
                count -= images(part)
                content[nth] = without_image(content[nth])
        piece.put(content)
