"""What the API reads. Each function is given a session and what was asked, and returns a value that becomes JSON."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from msgspec.structs import asdict

from fanfold.core.edit import Decision, Drop, Elide, Fold, Note, Pin
from fanfold.core.errors import BadInput, NotFound
from fanfold.core.message import Message
from fanfold.core.view import Row, View
from fanfold.inspector.desk import Desk, Seat
from fanfold.inspector.inquiry import Inquiry
from fanfold.inspector.values import (
    LONG,
    MOST_PICTURE,
    PICTURES,
    because,
    because_covered,
    begin,
    describe_brief,
    describe_message,
    describe_picture,
    list_answered,
    shown_by,
)
from fanfold.session.look import Why
from fanfold.session.past import PastEdit
from fanfold.session.stored import (
    describe,
    has_context,
    head_ahead,
    places_of,
    pressure_next,
    request_with,
    summary_of,
    tip_beyond,
    tools_of,
    without_any_room,
)
from fanfold.stores.export import ID, export_lines
from fanfold.text.json_text import print_json, to_json

_PAGE = 200
_MOST_PAGE = 2_000
_LINES = 500
_WIDEST, _WIDEST_WHOLE = 4_000, 4 << 20
"""Characters of a line; a longer one is cut. So many come where one line is asked for."""
_MOST_LINES = 200
"""Lines of a ledger."""
_QUOTE = 400
"""Characters of what stands in the place of a message."""
_INSTEAD = "In its place the model reads:"
_MOST_PICTURES = 20
_EXPORTED = 1 << 18
"""Bytes of an export that are sent at a time; a longer line goes alone."""


def list_sessions(desk: Desk, asked: Inquiry) -> list[dict[str, Any]]:
    """The sessions of a tenant as `fanfold ls --json` has them, with shares; the one that was seen last first."""
    found = sorted(desk.beside.summaries(asked.tenant), key=lambda one: -one.seen)
    return [
        {**asdict(one), "fill": one.fill, "cached_share": one.cached_share, "client": one.client}
        for one in found
    ]


def overview(seat: Seat, asked: Inquiry) -> dict[str, Any]:
    """How a session stands: figures, what fills the window, frame, pins and notes."""
    chat = seat.chat
    view, edits, pressed = without_any_room(chat.view()), chat.edits(), pressure_next(chat)
    stand = [one for one in edits if one.fate == "stands"]
    requests, figures = chat.requests(), summary_of(chat)
    prices = [one.cost for one in requests]
    return {
        "name": chat.name,
        "head": chat.head,
        "version": view.version,
        "live": seat.live,
        "client": figures.client,
        "unmanaged": figures.unmanaged,
        "over": figures.over,
        "stats": chat.stats(),
        "room": view.room,
        "pressure": {**asdict(pressed), "share": pressed.share if view.room else None},
        "picture": describe_picture(view),
        "rows": len(view.rows),
        "largest": max((row.tokens for row in view.rows), default=0),
        "frame": _describe_frame(seat, view),
        "pins": [_pin(one, view) for one in stand if isinstance(one.decision.edit, Pin)],
        "notes": [
            _note(one) for one in stand if isinstance(one.decision.edit, Note) and view.row(one.decision.id)
        ],
        "hidden": sum(one.kind in ("fold", "drop", "elide") for one in stand),
        "hidden_tokens": count_hidden(seat),
        "ahead": head_ahead(chat),
        "cost": sum(price for price in prices if price is not None) if any(prices) else None,
        "model": requests[-1].model if requests else "",
    }


def count_hidden(seat: Seat) -> int:
    """By how many tokens the view is smaller than with everything shown that was said."""
    return sum(_hidden_by_row(seat).values())


def _hidden_by_row(seat: Seat) -> dict[str, int]:
    """The same for each row that hides something, by its id: of a summary, that is the edit."""
    view = seat.chat.view()
    kept = (view.version, view.tokens)
    if seat.hidden[0] != kept:
        rows = [(row, _recorded(seat, row, view)) for row in view.rows]
        seat.hidden = kept, {row.id: sum(map(view.weigh, said)) - row.tokens for row, said in rows if said}
    return seat.hidden[1]


def _recorded(seat: Seat, row: Row, view: View) -> list[Message]:
    """The messages that stand behind a row which hides something."""
    if row.was is not None:
        return [row.was]
    ids = seat.chat.why(row.id).hides if row.kind in ("fold", "drop") else ()
    return [message for id in ids if (message := view.said(id)) is not None]


def _describe_frame(seat: Seat, view: View) -> dict[str, Any]:
    return {
        "tokens": view.frame.tokens,
        "messages": [describe_message(one) for one in view.frame.messages],
        "tools": [{"name": name, "text": to_json(body)[:LONG]} for name, body in tools_of(seat.chat)],
    }


def _pin(one: PastEdit, view: View) -> dict[str, Any]:
    edit = one.decision.edit
    assert isinstance(edit, Pin)
    said = view.said(edit.entry) if edit.entry is not None else None
    return {
        "id": one.decision.id,
        "entry": edit.entry,
        "text": edit.text,
        "says": begin((said,)) if said is not None else "",
        "time": one.time,
    }


def _note(one: PastEdit) -> dict[str, Any]:
    edit = one.decision.edit
    assert isinstance(edit, Note)
    return {"id": one.decision.id, "name": edit.name, "text": edit.text, "time": one.time}


def view_rows(seat: Seat, asked: Inquiry) -> dict[str, Any]:
    """The view, or what a past request showed, a page at a time; with `full=1` as `fanfold show --json` prints it."""
    view = _view(seat, asked)
    if asked.flag("full"):
        return describe(view)
    start, most = asked.number("offset", 0), asked.number("limit", _PAGE, _MOST_PAGE)
    made = seat.read_decisions()
    rows = [describe_brief(row, view, made, seat.calls, seat) for row in view.rows[start : start + most]]
    return {
        "tip": view.tip,
        "version": view.version,
        "tokens": view.tokens,
        "room": view.room,
        "total": len(view.rows),
        "offset": start,
        "largest": max((row.tokens for row in view.rows), default=0),
        "picture": describe_picture(view),
        "rows": rows,
    }


def _view(seat: Seat, asked: Inquiry) -> View:
    if "request" in asked.query:
        return seat.chat.sent(asked.number("request", -1, least=-1))[1]
    return without_any_room(seat.chat.view())


def view_row(seat: Seat, asked: Inquiry) -> dict[str, Any]:
    """One row with all its words, what was recorded in its place, and why it is as it is."""
    view, chat = _view(seat, asked), seat.chat
    row = view.row(asked.id)
    if row is None:
        return {"id": chat.why(asked.id).entry, "gone": True}
    most = asked.number("most", LONG)
    was = row.was
    return {
        **describe_brief(row, view, seat.read_decisions(), seat.calls, seat),
        "at": next(at for at, one in enumerate(view.rows) if one.id == row.id),
        "last": row.id == chat.head,
        "messages": [_message(seat, view, row, one, most) for one in row.messages],
        "was": describe_message(was, row.id, view.kept, most, seat.calls) if was is not None else None,
        "why": chat.why(row.id) if row.kind != "note" else None,
        "back": _way_back(seat, chat.why(row.id)) if was is not None else None,
        "brought_back_from": _undone(seat, row.id) if row.kind == "entry" else [],
    }


def _message(seat: Seat, view: View, row: Row, message: Any, most: int) -> dict[str, Any]:
    return describe_message(message, row.id if row.kind == "entry" else "", view.kept, most, seat.calls)


def entry(seat: Seat, asked: Inquiry) -> dict[str, Any]:
    """A message as it was recorded, shown or not, and what happened to it (as `fanfold why --json`)."""
    why, view = seat.chat.why(asked.id), seat.chat.view()
    message = view.said(why.entry)
    if message is None:
        raise NotFound(f"{asked.id[:40]!r} is no message, or it was erased.")
    row = view.row(why.entry)
    hidden = why.shown_by or (row.why[-1] if row is not None and row.was is not None else None)
    cover = view.row(why.shown_by) if why.shown_by is not None else None
    here = row is not None or why.shown_by is not None
    return {
        "id": why.entry,
        "back": _way_back(seat, why) if hidden else None,
        "hidden_by": hidden,
        "hidden_with": cover.count if cover is not None else 1,
        "on_path": here,
        "forward": None if here or summary_of(seat.chat).client else tip_beyond(seat.chat, why.entry),
        "says": _say_why(row, view, seat, hidden),
        "earlier": [
            describe_message(one, most=asked.number("most", LONG)) for one in seat.earlier(why.entry)
        ],
        "instead": _instead(seat, why, row, cover),
        "brought_back_from": _undone(seat, why.entry),
        "tokens": view.weigh(message),
        "message": describe_message(message, why.entry, view.kept, asked.number("most", LONG), seat.calls),
        "why": why,
    }


def _way_back(seat: Seat, why: Why) -> dict[str, Any]:
    """What an undo needs to show a message whole again: the message; or the edit, where a caller's filter hides it."""
    decisions = seat.read_decisions()
    made = [(edit, through, decisions[edit].edit) for edit, through in why.way_back]
    if all(isinstance(one, Elide) and one.instead for _, _, one in made) and made:
        return {"edit": made[0][0], "through": made[0][1]}
    return {"edit": why.entry}


def _instead(seat: Seat, why: Why, row: Row | None, cover: Row | None) -> dict[str, Any] | None:
    """What the model reads in the place of a message that it does not see, or not whole."""
    if cover is not None:
        told = [line.text[:_QUOTE] for line in why.lines if line.edit == cover.id]
        if told:
            return {"says": "The summary says of it:", "texts": told}
        if cover.kind == "fold" and seat.chat.why(cover.id).lines:
            return {"says": "No line of the summary was made from it.", "texts": []}
        return {"says": _INSTEAD, "texts": [begin(cover.messages, _QUOTE)]}
    if row is not None and row.was is not None:
        return {"says": _INSTEAD, "texts": [begin(row.messages, _QUOTE)]}
    return None


def _undone(seat: Seat, entry: str) -> list[dict[str, Any]]:
    """The edits that hid a message until somebody brought it back, the newest first."""
    touched = {one.id for one in seat.chat.why(entry).edits}
    past = [one for one in reversed(seat.chat.edits()) if one.decision.id in touched]
    return [_edit(one) for one in past if one.fate == "undone" and one.kind in ("fold", "drop", "elide")]


def shortened_under(past: Sequence[PastEdit], entries: Collection[str]) -> list[str]:
    """The edits that shortened a part of these messages before a later edit hid them whole."""
    return [
        one.decision.id
        for one in past
        if isinstance(one.decision.edit, Elide)
        and one.decision.edit.entry in entries
        and one.decision.by in ("auto", "pass")
        and one.fate in ("covered", "stands")
    ]


def _say_why(row: Row | None, view: View, seat: Seat, hidden: str | None) -> str:
    if row is not None:
        return because(row, view, seat.read_decisions(), seat)
    cover = view.row(hidden) if hidden is not None else None
    if cover is not None:
        return because_covered(cover, seat.read_decisions())
    return "The conversation went on from an earlier message, so this one is not sent any more."


def list_edits(seat: Seat, asked: Inquiry) -> list[dict[str, Any]]:
    """Every edit, newest first: what it hides, how large that is, by whom, when, why, and what became of it."""
    before = {id: one.number for one in seat.chat.requests() for id in one.edits}
    return [
        {**_edit(one), **_hidden(one, seat), "request": before.get(one.decision.id)}
        for one in reversed(seat.chat.edits())
    ]


def _hidden(one: PastEdit, seat: Seat) -> dict[str, Any]:
    """What an edit hides, in a few words: which output, or how the first of its messages begins."""
    edit, view = one.decision.edit, seat.chat.view()
    if not isinstance(edit, Elide | Fold | Drop):
        return {"hides": "", "answers": [], "hides_tokens": None}
    ids = (edit.entry,) if isinstance(edit, Elide) else seat.chat.why(one.decision.id).hides[:3]
    said = [message for id in ids if (message := view.said(id)) is not None]
    return {
        "hides": begin(said),
        "answers": list_answered(said, seat.calls) if isinstance(edit, Elide) else [],
        "hides_tokens": _hidden_now(one, seat),
    }


def _hidden_now(one: PastEdit, seat: Seat) -> int | None:
    """How much an edit hides now; of several that shorten one message, the last one has it all."""
    edit = one.decision.edit
    if one.fate != "stands":
        return None
    if not isinstance(edit, Elide):
        return _hidden_by_row(seat).get(one.decision.id)
    row = seat.chat.view().row(edit.entry)
    if row is None:
        return None
    return _hidden_by_row(seat).get(row.id) if row.why[-1:] == (one.decision.id,) else 0


def _edit(one: PastEdit) -> dict[str, Any]:
    decision = one.decision
    edit = decision.edit
    return {
        "id": decision.id,
        "kind": one.kind,
        "says": one.says,
        "by": decision.by,
        "why": decision.why,
        "time": one.time,
        "before": decision.before,
        "after": decision.after,
        "saved": max(0, decision.before - decision.after),
        "fate": one.fate,
        "under": one.under,
        "undone_by": one.undone_by,
        "free": one.free,
        "entries": one.entries,
        "again": one.again,
        "entry": edit.entry if isinstance(edit, Elide | Pin) else None,
        "text": _edit_text(decision),
    }


def _edit_text(decision: Decision) -> str:
    texts = [
        part["text"]
        for one in shown_by(decision)
        for part in describe_message(one)["parts"]
        if "text" in part
    ]
    return " ".join(" ".join(texts).split())[:240]


def edit(seat: Seat, asked: Inquiry) -> dict[str, Any]:
    """An edit: before and after side by side, the messages that it covers, and where its lines come from."""
    chat, view = seat.chat, seat.chat.view()
    found = next((one for one in chat.edits() if one.decision.id == asked.id), None)
    if found is None:
        raise NotFound(f"There is no edit {asked.id[:40]!r} here.")
    why, most = chat.why(found.decision.id), asked.number("most", LONG)
    start, size = asked.number("offset", 0), asked.number("limit", 100, _MOST_PAGE)
    covered = []
    for id in why.hides[start : start + size]:
        message = view.said(id)
        if message is not None:
            told = describe_message(message, id, view.kept, most, seat.calls)
            covered.append({"id": id, "tokens": view.weigh(message), "message": told})
    return {
        **_edit(found),
        "part": found.decision.edit.part if isinstance(found.decision.edit, Elide) else None,
        "covered": covered,
        "shortened": len(shortened_under(chat.edits(), why.hides)) if found.kind in ("fold", "drop") else 0,
        "total": len(why.hides),
        "offset": start,
        "shows": [describe_message(one, most=most) for one in shown_by(found.decision)],
        "lines": why.lines,
    }


def list_requests(seat: Seat, asked: Inquiry) -> list[dict[str, Any]]:
    """The time line: every request with its bill, the edits before it, and what broke the cache."""
    chat, first = seat.chat, asked.number("from", 0)
    found = []
    seat.forget_erased()
    for one in chat.requests()[first:]:
        use = seat.uses.get(one.number) or chat.cache(one.number)
        if one.usage is not None:
            seat.uses[one.number] = use
        found.append({**asdict(one), "cache": use})
    return found


def pictures(seat: Seat, asked: Inquiry) -> list[dict[str, Any]]:
    """What filled the window in some past requests, by kind of row; `requests` has their numbers."""
    found = []
    seat.forget_erased()
    for text in asked.query.get("requests", "").split(",")[:_MOST_PICTURES]:
        number = _number(text)
        if number < 0:
            raise BadInput("Say which requests by their numbers, from 0 on.")
        if number not in seat.pictures:
            view = seat.chat.sent(number)[1]
            told = {"number": number, "tokens": view.tokens, "picture": describe_picture(view)}
            seat.pictures[number] = told
        found.append(seat.pictures[number])
    return found


def request(seat: Seat, asked: Inquiry) -> dict[str, Any]:
    """A request: its body line by line, the difference to the one before, cache, bill and estimate."""
    chat, number = seat.chat, _request_number(seat, asked)
    every = chat.requests()
    if not every:
        raise NotFound("No request went out yet.")
    written = chat.body(number)
    one = every[written.number]
    lines = _lines(written.body)
    before = _lines(chat.body(written.number - 1).body) if written.number else []
    start, most = asked.number("offset", 0), asked.number("limit", 1_000, 5_000)
    return {
        **asdict(one),
        "tokens": chat.sent(written.number)[1].tokens,
        "version": chat.view().version,
        "exact": written.exact,
        "context": has_context(chat, written.number),
        "cache": chat.cache(written.number),
        "requests": len(every),
        "same": _alike(before, lines),
        "diff": _difference(seat, written.number) if written.number else None,
        "total": len(lines),
        "offset": start,
        **_cut_lines(lines[start : start + most], _widest(asked)),
        "edits_before": [_edit(each) for each in chat.edits() if each.decision.id in one.edits],
    }


def _widest(asked: Inquiry) -> int:
    return asked.number("widest", _WIDEST, _WIDEST_WHOLE, least=1)


def _cut_lines(lines: Sequence[str], widest: int) -> dict[str, Any]:
    """Lines, none longer than that; `cut` says which of them go on."""
    cut = [at for at, line in enumerate(lines) if len(line) > widest]
    return {"lines": [line[:widest] for line in lines], "cut": cut}


def _request_number(seat: Seat, asked: Inquiry) -> int:
    """The number of a request; it is also found by the id of its context."""
    return request_with(seat.chat, asked.id) if ID.fullmatch(asked.id) else _number(asked.id)


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadInput(f"A request has a number, not {text[:40]!r}.") from None


def _lines(body: Any) -> list[str]:
    return print_json(body, indent=1).split("\n")


def _alike(one: list[str], two: list[str]) -> int:
    """How many lines two bodies have in common at their beginning."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(two)))


def _difference(seat: Seat, number: int) -> dict[str, Any]:
    """What the model saw in this request and not in the one before, as `fanfold diff --json`, with how rows begin."""
    chat = seat.chat
    found, made = chat.diff(number - 1, number), seat.read_decisions()
    texts: dict[str, Any] = {}
    for view in (chat.sent(number - 1)[1], chat.sent(number)[1]):
        for id in (*found.gone, *found.came, *found.changed):
            row = view.row(id)
            if row is not None:
                texts[id] = describe_brief(row, view, made, seat.calls, seat)
    return {**asdict(found), "rows": texts}


def request_body(seat: Seat, asked: Inquiry) -> Any:
    """The body of a request, alone."""
    return seat.chat.body(_request_number(seat, asked))


def list_outputs(seat: Seat, asked: Inquiry) -> list[dict[str, Any]]:
    """Everything that has a reference, newest first, with the call that it answers."""
    view, places = seat.chat.view(), places_of(seat.chat)

    def answers(ref: str) -> str:
        said = view.said(places[ref]) if ref in places else None
        return ", ".join(list_answered((said,), seat.calls)) if said is not None else ""

    return [
        {
            "answers": answers(one.ref),
            "ref": one.ref,
            "size": one.size,
            "lines": one.line_count,
            "media": one.media,
            "is_text": one.is_text,
        }
        for one in seat.chat.outputs()
    ]


def output(seat: Seat, asked: Inquiry) -> dict[str, Any]:
    """An output by lines, as `fanfold cat --json` prints it; long lines are cut."""
    found = seat.chat.output(asked.id)
    start, most = max(1, asked.number("offset", 1)), asked.number("limit", _LINES, _MOST_PAGE)
    told = {"ref": found.ref, "media": found.media, "size": found.size, "total": found.line_count}
    if found.media in PICTURES and found.size <= MOST_PICTURE:
        data = b64encode(found.bytes()).decode()
        return {**told, "offset": start, "lines": [], "cut": [], "src": f"data:{found.media};base64,{data}"}
    widest = _widest(asked)
    lines = found.lines(start, most, longest=widest + 1) if found.is_text else []
    return {**told, "offset": start, **_cut_lines(lines, widest), "src": None}


def ledger(seat: Seat, asked: Inquiry) -> Any:
    """What each thing has cost so far, the most expensive first."""
    found = seat.chat.ledger()
    lines = [{**asdict(one), "tokens": one.tokens} for one in found.lines[:_MOST_LINES]]
    return {"lines": lines, "cost": found.cost, "requests": found.requests, "unbilled": found.unbilled}


def next_request(seat: Seat, asked: Inquiry) -> Any:
    """What the next request would be, as things are."""
    return seat.preview()


def export(desk: Desk, asked: Inquiry) -> Iterator[bytes]:
    """The session as one file of JSON lines, as `fanfold export` writes it, some at a time."""
    held, size = list[bytes](), 0
    for line in export_lines(desk.beside, asked.name, tenant=asked.tenant):
        held.append(line)
        size += len(line)
        if size >= _EXPORTED:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)
