"""What the API changes. With `dry_run`, each of them tells what it would do, and does nothing.

`ACTIONS` is the one place for a verb: what it takes, what makes it impossible, what is said of it beside its figures,
and the way back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from fanfold.core.edit import Decision, Drop, Fold, Note, Undo
from fanfold.core.errors import BadInput, Covered, Moved
from fanfold.core.record import TokenUsage
from fanfold.inspector.desk import Seat
from fanfold.inspector.inquiry import Inquiry
from fanfold.inspector.reads import count_hidden, shortened_under
from fanfold.inspector.sentences import describe_preview, say_release, sentences
from fanfold.session.preview import Preview
from fanfold.session.stored import count_left, edit_meant, head_ahead, opening_of, summary_of, tenant_of
from fanfold.tokens.models import lookup
from fanfold.tokens.usage import cost

_TRIES = 50
"""So often a change is made again in a session that others write to."""
_QUOTED = 80
"""Characters of a note that are quoted."""
_ID = re.compile(r"[0-9a-f]{9,}")
"""So much of an id that not all of it has to be typed."""

Arguments = Mapping[str, Any]
Step = tuple[str, dict[str, str]]
"""A verb and its fields, as they are posted."""


class Made(msgspec.Struct, frozen=True):
    """A change that was made."""

    given: Arguments
    decisions: Sequence[Decision]
    head: str | None
    """Where the session stood before."""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """A change that a person can make in the page."""

    takes: Callable[[Inquiry], Arguments]
    """What the session's verb is called with, by name."""
    check: Callable[[Seat, Arguments], None] = lambda seat, given: None
    """Refuses what cannot be done any more, in words for the page."""
    says: Callable[[Seat, Arguments, Preview], Iterable[str]] = lambda seat, given, told: ()
    """What it does besides its figures. It is asked before the change is made."""
    effect: Callable[[Preview, bool], list[str]] = lambda told, live: sentences(told, live=live)
    """What it does to tokens, cache and cost."""
    back: Callable[[Seat, Made], list[Step]] | None
    """The way back; None where there is none."""


def change(seat: Seat, asked: Inquiry) -> dict[str, Any]:
    """Make a change, or tell what it would do; either way in the same words."""
    action, dry = ACTIONS[asked.verb], bool(asked.body.get("dry_run"))
    given, head = action.takes(asked), seat.chat.head
    if (since := asked.body.get("since")) and since != head:
        raise BadInput(
            "The conversation went on since, so this cannot simply be taken back. Go forward again under "
            "“Now”, or back to a message: either says first what is left out then."
        )
    action.check(seat, given)
    told = seat.preview(asked.verb, **given)
    stops = bool(told.problem) and not seat.chat.preview().problem
    says = [*action.effect(told, seat.live), *action.says(seat, given, told)]
    found = {**describe_preview(told), "dry_run": dry, "stops": stops, "says": says, "back": None}
    if dry:
        return found
    if stops and not asked.body.get("anyway"):
        raise BadInput(f"{told.problem} Say 'anyway' to make the change all the same.")
    made = Made(given, _write(seat, asked.verb, given), head)
    back = action.back(seat, made) if action.back is not None else []
    return {**found, "decisions": made.decisions, "back": back or None}


def _write(seat: Seat, verb: str, given: Arguments) -> list[Decision]:
    """Make a change; again where somebody else wrote first.

    A preview takes much longer than the change, and a busy session has moved on by then. So that one is not made again.
    """
    make = getattr(seat.chat, verb)
    for _ in range(_TRIES):
        with suppress(Moved):
            done = make(**given)
            break
    else:
        done = make(**given)
    return [one for one in (done if isinstance(done, tuple) else (done,)) if isinstance(one, Decision)]


def _text(asked: Inquiry, field: str) -> str:
    value = asked.body.get(field)
    if not isinstance(value, str) or not value:
        raise BadInput(f"Say {field!r}, a text.")
    return value


def _some(asked: Inquiry, field: str) -> str | None:
    return _text(asked, field) if asked.body.get(field) is not None else None


def _covers(asked: Inquiry) -> tuple[str, ...]:
    given = asked.body.get("covers")
    if not isinstance(given, list) or not given:
        raise BadInput("Say which rows to fold: 'covers' is a list of their ids.")
    return tuple(map(str, given))


# What cannot be done any more: another tab, or the agent, was faster than whoever pressed the button.


def _check_undo(seat: Seat, given: Arguments) -> None:
    edit = given["edit"]
    past = next((one for one in seat.chat.edits() if one.decision.id == edit), None)
    if past is not None and past.fate == "undone":
        raise BadInput(f"{edit} was undone meanwhile: the model sees again what it hid.")
    if past is not None and past.fate == "covered" and not given["through"]:
        raise Covered(
            f"{past.under} covers {edit} by now. Close this, and choose “Bring it back” again: it undoes both."
        )


def _check_redo(seat: Seat, given: Arguments) -> None:
    past = next((one for one in seat.chat.edits() if one.decision.id == given["edit"]), None)
    if past is not None and past.fate != "undone":
        raise BadInput(
            f"{given['edit']} was brought into effect again meanwhile: it hides the same as before."
        )


def _check_pin(seat: Seat, given: Arguments) -> None:
    """What another tab erased is not pinned: its stub would stay for good."""
    row = seat.chat.view().row(given["what"])
    if row is not None and row.kind == "entry" and seat.is_erased(row.id):
        raise BadInput("This message was erased: there is nothing left to pin.")


def _check_owner(seat: Seat, given: Arguments) -> None:
    if owner := summary_of(seat.chat).client:
        raise BadInput(
            f"{owner} owns this history and would send it all again. Go back in {owner} itself, or fork the session."
        )


# What a change does besides its figures.


def _say_undo(seat: Seat, given: Arguments, told: Preview) -> list[str]:
    edit = given["edit"]
    return [*_say_shortened(seat, edit), *_say_others(seat, edit, told), *_say_older(seat, told)]


def _say_shortened(seat: Seat, edit: str | None) -> list[str]:
    """What an undo leaves as it is."""
    short = _count_shortened(seat, edit)
    if not short:
        return []
    these = "1 of these messages was" if short == 1 else f"{short:,} of these messages were"
    stays = "stays so. You can bring it back" if short == 1 else "stay so. You can bring each of them back"
    return [f"{these} shortened earlier, and {stays} afterwards."]


def _count_shortened(seat: Seat, edit: str | None) -> int:
    """How many parts of what an edit hides are shortened by earlier edits, too."""
    past = seat.chat.edits()
    found = next((one for one in past if one.decision.id == edit), None)
    if found is None or found.kind not in ("fold", "drop"):
        return 0
    return len(shortened_under(past, seat.chat.why(found.decision.id).hides))


def _say_others(seat: Seat, edit: str | None, told: Preview) -> list[str]:
    """What becomes of the messages that are hidden together with one that is brought back."""
    why = seat.chat.why(edit) if edit is not None else None
    if why is None or why.shown_by is None or why.entry in seat.read_decisions():
        return []
    made = {one.id: one.edit for one in told.decisions}
    belongs = " With it comes what belongs to it: a call and its results stay together."
    if any(isinstance(edit, Fold | Drop) for edit in made.values()):
        more = belongs if len(set(told.came).difference(made)) > 1 else ""
        return [f"The other messages that {why.shown_by} hides stay hidden, behind the same words.{more}"]
    return [
        f"The other messages that {why.shown_by} hides come back, too: to hide them alone would save nothing."
    ]


def _say_older(seat: Seat, told: Preview) -> list[str]:
    """Which note comes back in the place of one that is removed."""
    made = seat.read_decisions()
    back = [made[id].edit for id in told.came if id in made]
    return [
        f"The older note {_quote(one)} comes back then. If it has to go too, remove it afterwards."
        for one in back
        if isinstance(one, Note)
    ]


def _say_replaced(seat: Seat, given: Arguments, told: Preview) -> list[str]:
    """What becomes of the other notes with the name of one that is added."""
    made = seat.read_decisions()
    rows = (row for row in seat.chat.view().rows if row.kind == "note" and row.name == given["name"])
    older = [note for row in rows if isinstance(note := made[row.id].edit, Note)]
    return [
        f"It takes the place of {_quote(one)}, which leaves the window when it is next reduced."
        for one in older
    ]


def _quote(note: Note) -> str:
    words = " ".join(note.text.split())
    return f"“{words[:_QUOTED]}{'…' * (len(words) > _QUOTED)}”"


def _say_pin(seat: Seat, given: Arguments, told: Preview) -> list[str]:
    """What of a message is pinned."""
    row = seat.chat.view().row(given["what"])
    if row is None or row.was is None:
        return []
    by = ", ".join(row.why)
    return [
        f"It is shortened by {by}, and pinned as the model sees it. To pin it whole, bring it back first."
    ]


def _say_rewind(seat: Seat, given: Arguments, told: Preview) -> list[str]:
    count = count_left(seat.chat, given["to"])
    after = "The message after it is" if count == 1 else f"The {count:,} messages after it are"
    gone = f"{after} no longer shown to the model. Nothing is lost: you can go forward again."
    return [*([gone] if count else []), *_say_opened(seat, told)]


def _say_forward(seat: Seat, given: Arguments, told: Preview) -> list[str]:
    to = given["to"] or head_ahead(seat.chat)
    count = count_left(seat.chat, to) if to is not None else 0
    since = (
        "1 message that was said since is" if count == 1 else f"{count:,} messages that were said since are"
    )
    out = f"{since} left out then. Nothing is lost: you can go back the same way."
    return [*([out] if count else []), *_say_opened(seat, told)] if to is not None else []


def _say_opened(seat: Seat, told: Preview) -> list[str]:
    """Which summaries do not stand where the conversation goes, although it keeps messages that they hide."""
    came, made = set(told.came), {row.id for row in seat.chat.view().rows if row.kind in ("fold", "drop")}
    count = sum(not came.isdisjoint(seat.chat.why(id).hides) for id in made.intersection(told.gone))
    if not count:
        return []
    if count == 1:
        return ["A summary was made only later: what it hides is shown again there."]
    return [f"{count:,} summaries were made only later: what they hide is shown again there."]


# The ways back.


def _undo_made(seat: Seat, made: Made) -> list[Step]:
    return [("undo", {"edit": one.id}) for one in made.decisions]


def _redo_undone(seat: Seat, made: Made) -> list[Step]:
    undone = [one.edit.edit for one in made.decisions if isinstance(one.edit, Undo)]
    return [("redo", {"edit": id}) for id in reversed(undone)]


def _undo_redone(seat: Seat, made: Made) -> list[Step]:
    """What was made again is undone again; what gave way to it is made again."""
    edits = [(edit_meant(seat.chat, one.id), one.edit) for one in reversed(made.decisions)]
    again = [id for id, edit in edits if isinstance(edit, Undo) and edit.edit != id]  # an undo was undone
    away = [id for id, edit in edits if id not in again]
    return [*(("undo", {"edit": edit}) for edit in again), *(("redo", {"edit": edit}) for edit in away)]


def _unpin_made(seat: Seat, made: Made) -> list[Step]:
    return [("unpin", {"what": one.id}) for one in made.decisions]


def _go_back(seat: Seat, made: Made) -> list[Step]:
    """To where the session stood: that is behind it now, or on another path.

    `since` says from where: it is refused where somebody went on meanwhile, who would lose that.
    """
    if made.head is None or made.head == seat.chat.head:
        return []
    why = seat.chat.why(made.head)
    verb = "rewind" if why.visible or why.shown_by is not None else "forward"
    return [(verb, {"to": made.head, "since": str(seat.chat.head)})]


ACTIONS: Mapping[str, Action] = {
    "undo": Action(
        takes=lambda asked: {"edit": _some(asked, "edit"), "through": bool(asked.body.get("through"))},
        check=_check_undo,
        says=_say_undo,
        back=_redo_undone,
    ),
    "redo": Action(
        takes=lambda asked: {"edit": _some(asked, "edit")},
        check=_check_redo,
        back=_undo_redone,
    ),
    "release": Action(
        takes=lambda asked: {"edit": _text(asked, "edit")},
        effect=lambda told, live: say_release(told),
        back=None,
    ),
    "pin": Action(
        takes=lambda asked: {"what": _text(asked, "what")},
        check=_check_pin,
        says=_say_pin,
        back=_unpin_made,
    ),
    "unpin": Action(
        takes=lambda asked: {"what": _text(asked, "what")},
        back=_redo_undone,
    ),
    "note": Action(
        takes=lambda asked: {"name": _text(asked, "name"), "text": _text(asked, "text")},
        says=_say_replaced,
        back=_undo_made,
    ),
    "fold": Action(
        takes=lambda asked: {"covers": _covers(asked), "shows": _text(asked, "text")},
        back=_undo_made,
    ),
    "rewind": Action(
        takes=lambda asked: {"to": _text(asked, "to")},
        check=_check_owner,
        says=_say_rewind,
        back=_go_back,
    ),
    "forward": Action(
        takes=lambda asked: {"to": _some(asked, "to")},
        check=_check_owner,
        says=_say_forward,
        back=_go_back,
    ),
}
"""What a person can do to a session, by the verb that the session has for it. Fork and erase stand alone, below."""


def fork(seat: Seat, asked: Inquiry) -> dict[str, Any]:
    """A session of its own on the same messages; this one is not touched."""
    name, fresh = _text(asked, "name"), bool(asked.body.get("fresh"))
    if asked.body.get("dry_run"):
        if seat.chat.name == name or name in tenant_of(seat.chat).store.sessions(asked.tenant):
            raise BadInput(f"There is a session named {name!r} already; choose another name.")
        return {"dry_run": True, "session": name, "says": _say_fork(seat, name, fresh=fresh)}
    with seat.chat.fork(name, edits=not fresh) as made:
        return {"dry_run": False, "back": None, "session": name, "tokens": made.view().tokens, "says": []}


def _say_fork(seat: Seat, name: str, *, fresh: bool) -> list[str]:
    """What a new session begins with, and what its first prompt costs."""
    told, own = seat.chat.preview(), seat.chat.name
    tokens = _count_fresh(seat) if fresh else told.before
    said = [
        f"{name} begins where {own} stands, with {'all' if fresh else 'the same'} {tokens:,} tokens in its window.",
        f"{own} itself is not changed: its tokens, its cost and its cache stay as they are.",
    ]
    model = lookup(opening_of(seat.chat).model or "")
    if model is not None and model.prices is not None and told.cost is not None:
        price = cost(TokenUsage(input=tokens), model) if fresh else told.cost
        said.append(f"Its first prompt costs about ${price:,.4f}, at list prices.")
    if tokens > told.trigger:
        said.append(
            f"Above {told.trigger:,} tokens a request is reduced, so that happens before its first one."
        )
    return said


def _count_fresh(seat: Seat) -> int:
    """The tokens of everything that was said, with nothing hidden and no notes."""
    view = seat.chat.view()
    return view.tokens + count_hidden(seat) - sum(row.tokens for row in view.rows if row.kind == "note")


def _say_summary(seat: Seat, id: str) -> str:
    """What an erasure takes from a summary, and how the others under it come back."""
    count = len(seat.chat.why(id).hides)
    return (
        f"The summary {id} of {count:,} messages goes as a whole, because it was written from all of them together. "
        f"The others stay recorded; undo {id} afterwards to show them, and release it to have them summarized anew."
    )


def erase(seat: Seat, asked: Inquiry) -> dict[str, Any]:
    """Destroy a message, output, note, context or system prompts, in the whole tenant; a sentence has to be typed."""
    entry, reason = _text(asked, "entry"), _text(asked, "reason")
    sentence = f"erase {entry[:8] if _ID.fullmatch(entry) else entry}"  # what a person types before it
    if asked.body.get("dry_run"):
        says = [
            "Its content is destroyed in every session of this tenant, with summaries that were made from it.",
            "It cannot be undone, and nobody can bring it back.",
        ]
        told = seat.preview("erase", entry, reason)
        says += [_say_summary(seat, id) for id in told.summaries]
        found = describe_preview(told, live=seat.live)
        return {"dry_run": True, "sentence": sentence, **found, "says": [*says, *found["says"]]}
    if asked.body.get("sentence") != sentence:
        raise BadInput(f"Type {sentence!r} to destroy it for good.")
    return {"dry_run": False, "back": None, "erased": seat.chat.erase(entry, reason), "reason": reason}
