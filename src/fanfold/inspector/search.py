"""What is searched: every session, one conversation with what is hidden in it and what a rewind took away, outputs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from fanfold.core.errors import BadInput, TooSlow
from fanfold.core.message import Message
from fanfold.core.view import Row, View
from fanfold.inspector.desk import Desk, Seat
from fanfold.inspector.inquiry import Inquiry
from fanfold.inspector.values import begin, brief_call, describe_message, find_words, kind_of
from fanfold.outputs.grep import Patience, Pattern
from fanfold.session.stored import left_behind, undone_refs
from fanfold.stores.search import Passage
from fanfold.stores.search import search as search_tenant

_HITS = 200
_SECONDS = 10.0
"""A search over everything takes no longer; it says then where it stopped."""
_BEFORE, _AFTER = 80, 160
"""Characters of a hit."""


def search_all(desk: Desk, asked: Inquiry) -> dict[str, Any]:
    """Everything that the sessions of a tenant hold, searched for some words, hidden or not (`fanfold search`)."""
    words, found, stopped = asked.query.get("words", ""), list[Passage](), None
    hits = search_tenant(desk.beside, asked.tenant, words, sign=desk.write, seconds=_SECONDS)
    try:
        for hit in islice(hits, _HITS + 1):
            found.append(hit)  # what was found before the time is up stays
    except TooSlow as error:
        stopped = str(error)
    return {"hits": found[:_HITS], "more": len(found) > _HITS, "stopped": stopped}


def grep(seat: Seat, asked: Inquiry) -> list[dict[str, Any]]:
    """Search one output, or all, as `fanfold grep --json`; at most 200 lines are returned."""
    pattern, ref = asked.query.get("pattern", ""), asked.query.get("ref")
    ignore = asked.flag("ignore_case")
    Pattern(pattern, ignore_case=ignore)
    chat, patience = seat.chat, Patience(10.0)
    places = [chat.output(ref)] if ref else [one for one in chat.outputs() if one.is_text]
    found: list[dict[str, Any]] = []
    undone = undone_refs(chat)
    for place in places:
        hits = place.grep(pattern, limit=_HITS, ignore_case=ignore, width=400, timeout=patience)
        found += [{"ref": place.ref, **hit._asdict(), "undone": undone.get(place.ref)} for hit in hits]
        if len(found) >= _HITS:
            break
    return found[:_HITS]


def search(seat: Seat, asked: Inquiry) -> list[dict[str, Any]]:
    """The messages of the conversation that have some words in them: shown, hidden, or on another path."""
    words = asked.query.get("words", "").casefold()
    if not words:
        raise BadInput("Say what to search for.")
    found = (hit for one in _said(seat, seat.chat.view()) if (hit := _look_in(one, seat, words)) is not None)
    return list(islice(found, _HITS))


class _Candidate(NamedTuple):
    """A message, and what became of it."""

    id: str
    message: Message
    kind: str
    hidden_by: str | None = None
    elsewhere: bool = False


def _said(seat: Seat, view: View) -> Iterator[_Candidate]:
    """Everything that was said: row by row, with what is behind each; then what is on other paths."""
    for row in view.rows:
        if row.kind == "note":
            yield _Candidate(row.id, row.messages[0], kind_of(row))
            continue
        for id in (row.id,) if row.kind == "entry" else seat.chat.why(row.id).hides:
            if (message := view.said(id)) is not None:
                kind = kind_of(row) if row.id == id else message.role
                yield _Candidate(id, message, kind, _hider(row, id))
    for id in left_behind(seat.chat):
        if (message := view.said(id)) is not None:
            yield _Candidate(id, message, message.role, elsewhere=True)


def _hider(row: Row, id: str) -> str | None:
    if row.id != id:
        return row.id
    return row.why[-1] if row.was is not None else None


def _look_in(one: _Candidate, seat: Seat, words: str) -> dict[str, Any] | None:
    """Where the words stand in a message, or in what it said before its client changed it."""
    now = _text(one.message)
    before = [] if find_words(words, now) >= 0 or one.kind == "note" else map(_text, seat.earlier(one.id))
    text = next((text for text in (now, *before) if find_words(words, text) >= 0), None)
    if text is None:
        return None
    at = find_words(words, text)
    return {
        "entry": one.id,
        "role": one.message.role,
        "hidden_by": one.hidden_by,
        "elsewhere": one.elsewhere,
        "earlier": text is not now,
        "text": text[max(0, at - _BEFORE) : at + _AFTER],
        "kind": one.kind,
    }


def elsewhere(seat: Seat, asked: Inquiry) -> dict[str, Any]:
    """The messages that the session left when it went back to an earlier one, the newest first."""
    view = seat.chat.view()
    said = [(id, one) for id in reversed(left_behind(seat.chat)) if (one := view.said(id)) is not None]
    told = [
        {"id": id, "role": one.role, "text": begin((one,)), "calls": [*map(brief_call, one.calls)]}
        for id, one in said[:_HITS]
    ]
    return {"total": len(said), "messages": told}


def _text(message: Message) -> str:
    texts = []
    for part in describe_message(message, most=1 << 20)["parts"]:
        texts += [one.get("text", "") for one in part.get("parts", [part])]
    return "\n".join(texts)
