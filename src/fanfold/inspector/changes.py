"""What the API changes. With `dry_run`, each of them tells what it would do, and does nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from fanfold.core.edit import Decision, Drop, Fold, Note
from fanfold.core.errors import BadInput, Covered, Moved
from fanfold.core.record import TokenUsage
from fanfold.inspector.desk import Seat
from fanfold.inspector.inquiry import Inquiry
from fanfold.inspector.reads import count_hidden, shortened_under
from fanfold.session.preview import Preview
from fanfold.session.stored import (
    ANY_WINDOW,
    bring_back,
    count_left,
    head_ahead,
    opening_of,
    summary_of,
    tenant_of,
)
from fanfold.tokens.models import lookup
from fanfold.tokens.usage import cost

_TRIES = 50
"""So often a change is made again in a session that others write to."""
_QUOTED = 80
"""Characters of a note that are quoted."""
SENTENCE = "erase {name}"
"""What a person types before something is destroyed."""


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


Call = tuple[tuple[Any, ...], dict[str, Any]]
ARGUMENTS: Mapping[str, Callable[[Inquiry], Call]] = {
    "undo": lambda asked: ((_some(asked, "edit"),), {"through": bool(asked.body.get("through"))}),
    "redo": lambda asked: ((_some(asked, "edit"),), {}),
    "release": lambda asked: ((_text(asked, "edit"),), {}),
    "pin": lambda asked: ((_text(asked, "what"),), {}),
    "unpin": lambda asked: ((_text(asked, "what"),), {}),
    "note": lambda asked: ((_text(asked, "name"), _text(asked, "text")), {}),
    "fold": lambda asked: ((_covers(asked), _text(asked, "text")), {}),
    "rewind": lambda asked: ((_text(asked, "to"),), {}),
    "forward": lambda asked: ((_some(asked, "to"),), {}),
}
"""What each change takes, and what it is called with."""


def change(seat: Seat, asked: Inquiry) -> dict[str, Any]:
    """Make a change, or tell what it would do; either way in the same words."""
    verb = asked.verb
    if verb in ("rewind", "forward") and (owner := summary_of(seat.chat).client):
        raise BadInput(
            f"{owner} owns this history and would send it all again. Go back in {owner} itself, or fork the session."
        )
    args, kwargs = ARGUMENTS[verb](asked)
    if verb == "undo" and (entry := _some(asked, "entry")):
        verb, args, kwargs = "bring_back", (entry,), {}
    _check_meanwhile(seat, verb, args, kwargs)
    says, before = _say_beside(seat, verb, args), seat.chat.head
    told = seat.preview(verb, *args, **kwargs)
    found = describe_preview(told, live=seat.live)
    found["stops"] = bool(told.problem) and not seat.chat.preview().problem
    if verb == "release":
        found["says"] = _say_release(told)
    found["says"] += [*says, *_say_others(seat, verb, args, told), *_say_note(seat, verb, args, told)]
    found["says"] += _say_path(seat, verb, args, told)
    if not asked.body.get("dry_run"):
        if found["stops"] and not asked.body.get("anyway"):
            raise BadInput(f"{told.problem} Say 'anyway' to make the change all the same.")
        done = _write(seat, verb, args, kwargs)
        made = done if isinstance(done, tuple) else (done,)
        found["decisions"] = [one for one in made if isinstance(one, Decision)]
        found["back"] = _way_from(seat, before) if verb == "forward" and before else None
    return {"dry_run": bool(asked.body.get("dry_run")), **found}


def _check_meanwhile(seat: Seat, verb: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Say in words for the page what another tab, or the agent, made impossible since a button was drawn."""
    past = next((one for one in seat.chat.edits() if one.decision.id == args[0]), None) if args else None
    if verb == "undo" and past is not None and past.fate == "undone":
        raise BadInput(f"{args[0]} was undone meanwhile: the model sees again what it hid.")
    if verb == "undo" and past is not None and past.fate == "covered" and not kwargs["through"]:
        raise Covered(
            f"{past.under} covers {args[0]} by now. Close this, and choose “Bring it back” again: it undoes both."
        )
    if verb == "redo" and past is not None and past.fate != "undone":
        raise BadInput(f"{args[0]} was brought into effect again meanwhile: it hides the same as before.")


def _say_beside(seat: Seat, verb: str, args: tuple[Any, ...]) -> list[str]:
    """What an undo leaves as it is, and what of a message is pinned."""
    pinned = seat.chat.view().row(str(args[0])) if verb == "pin" else None
    if pinned is not None and pinned.was is not None:
        by = ", ".join(pinned.why)
        return [
            f"It is shortened by {by}, and pinned as the model sees it. To pin it whole, bring it back first."
        ]
    short = _count_shortened(seat, args[0]) if verb == "undo" else 0
    if not short:
        return []
    these = "1 of these messages was" if short == 1 else f"{short:,} of these messages were"
    stays = "stays so. You can bring it back" if short == 1 else "stay so. You can bring each of them back"
    return [f"{these} shortened earlier, and {stays} afterwards."]


def _say_others(seat: Seat, verb: str, args: tuple[Any, ...], told: Preview) -> list[str]:
    """What becomes of the messages that are hidden together with one that is brought back."""
    cover = seat.chat.why(args[0]).shown_by if verb == "bring_back" else None
    if cover is None:
        return []
    made = {one.id: one.edit for one in told.decisions}
    belongs = " With it comes what belongs to it: a call and its results stay together."
    if any(isinstance(edit, Fold | Drop) for edit in made.values()):
        more = belongs if len(set(told.came).difference(made)) > 1 else ""
        return [f"The other messages that {cover} hides stay hidden, behind the same words.{more}"]
    return [f"The other messages that {cover} hides come back, too: to hide them alone would save nothing."]


def _say_note(seat: Seat, verb: str, args: tuple[Any, ...], told: Preview) -> list[str]:
    """What becomes of the other notes with the name of one that is added or removed."""
    if verb not in ("note", "undo"):
        return []
    made = seat.read_decisions()
    if verb == "note":
        rows = (row for row in seat.chat.view().rows if row.kind == "note" and row.name == args[0])
        older = [note for row in rows if isinstance(note := made[row.id].edit, Note)]
        return [
            f"It takes the place of {_quote(one)}, which leaves the window when it is next reduced."
            for one in older
        ]
    back = [made[id].edit for id in told.came if id in made]
    return [
        f"The older note {_quote(one)} comes back then. If it has to go too, remove it afterwards."
        for one in back
        if isinstance(one, Note)
    ]


def _quote(note: Note) -> str:
    words = " ".join(note.text.split())
    return f"“{words[:_QUOTED]}{'…' * (len(words) > _QUOTED)}”"


def _say_path(seat: Seat, verb: str, args: tuple[Any, ...], told: Preview) -> list[str]:
    """What the model no longer sees, or sees again, when the conversation goes back or forward."""
    to = (args[0] or head_ahead(seat.chat)) if verb in ("rewind", "forward") else None
    count = count_left(seat.chat, to) if to is not None else 0
    said = []
    if count and verb == "forward":
        since = (
            "1 message that was said since is"
            if count == 1
            else f"{count:,} messages that were said since are"
        )
        said.append(f"{since} left out then. Nothing is lost: you can go back the same way.")
    elif count:
        after = "The message after it is" if count == 1 else f"The {count:,} messages after it are"
        said.append(f"{after} no longer shown to the model. Nothing is lost: you can go forward again.")
    return [*said, *_say_opened(seat, told)] if to is not None else []


def _say_opened(seat: Seat, told: Preview) -> list[str]:
    """Which summaries do not stand where the conversation goes, although it keeps messages that they hide."""
    came, made = set(told.came), {row.id for row in seat.chat.view().rows if row.kind in ("fold", "drop")}
    count = sum(not came.isdisjoint(seat.chat.why(id).hides) for id in made.intersection(told.gone))
    if not count:
        return []
    if count == 1:
        return ["A summary was made only later: what it hides is shown again there."]
    return [f"{count:,} summaries were made only later: what they hide is shown again there."]


def _way_from(seat: Seat, before: str) -> tuple[str, dict[str, str]]:
    """The change that leads back to where the session stood: that is behind it now, or on another path."""
    why = seat.chat.why(before)
    return ("rewind" if why.visible or why.shown_by is not None else "forward"), {"to": before}


def _say_release(told: Preview) -> list[str]:
    """What a release does: nothing at once."""
    said = [
        f"{_say_tokens(told)} Nothing changes at once, and it costs nothing.",
        "From now on it may be shortened or summarized again like everything else. Pin it to keep it as it is.",
    ]
    if told.due:
        said.append(
            f"Above {told.trigger:,} tokens a request is reduced, so that may happen before the next one."
        )
    return said


def _write(seat: Seat, verb: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make a change; again where somebody else wrote first.

    A preview takes much longer than the change, and a busy session has moved on by then. So that one is not made again.
    """
    make = partial(bring_back, seat.chat) if verb == "bring_back" else getattr(seat.chat, verb)
    for _ in range(_TRIES):
        with suppress(Moved):
            return make(*args, **kwargs)
    return make(*args, **kwargs)


def _count_shortened(seat: Seat, edit: str | None) -> int:
    """How many parts of what an edit hides are shortened by earlier edits, too."""
    past = seat.chat.edits()
    found = next((one for one in past if one.decision.id == edit), None)
    if found is None or found.kind not in ("fold", "drop"):
        return 0
    return len(shortened_under(past, seat.chat.why(found.decision.id).hides))


def describe_preview(told: Preview, *, live: bool = True) -> dict[str, Any]:
    """A preview as a value, without the body: that is asked for with `next`."""
    return {
        "decisions": told.decisions,
        "before": told.before,
        "after": told.after,
        "room": told.room,
        "trigger": told.trigger,
        "due": told.due,
        "reduced": told.reduced,
        "gone": told.gone,
        "came": told.came,
        "changed": told.changed,
        "cached": told.cached,
        "cached_after": told.cached_after,
        "expired": told.expired,
        "cost": told.cost,
        "cost_after": told.cost_after,
        "later": told.later,
        "problem": told.problem,
        "says": sentences(told, live=live),
    }


def sentences(told: Preview, *, live: bool = True) -> list[str]:
    """What a change does to tokens, cache and cost, in words; which strategy is assumed where its own is not here."""
    said = [_say_tokens(told)]
    lost = max(0, told.cached - told.cached_after)
    if told.expired:
        said.append("The provider has forgotten the last prompt by now, so no cache is lost.")
    elif lost:
        said.append(f"{lost:,} tokens that the provider has in its cache must be read again, once.")
    else:
        said.append("The provider's cache still holds the same beginning.")
    if told.cost is not None and told.cost_after is not None and told.later is not None:
        said.append(_say_price(told.cost_after - told.cost, told.later))
    if told.problem:
        said.append(f"The next request could not be sent then. {told.problem}")
    elif told.due:
        by = "" if live else " (by the default strategy)"
        about = "" if told.reduced is None else f" to about {told.reduced:,} tokens{by}"
        said.append(
            f"Above {told.trigger:,} tokens a request is reduced, so it will be reduced{about} first. "
            "Other messages are shortened or summarized then, but never what you brought back or pinned."
        )
    return said


def _say_tokens(told: Preview) -> str:
    """How large the next request is, and whether that fits."""
    room = told.room if told.room is not None and told.room < ANY_WINDOW // 2 else None
    size = f"stays at {told.after:,}"
    if told.after != told.before:
        size = f"{'grows' if told.after > told.before else 'shrinks'} from {told.before:,} to {told.after:,}"
    if room is None or told.problem:  # the problem says what fits
        return f"The next request {size} tokens."
    if told.after > room:
        return f"The next request {size} tokens, {told.after - room:,} more than fit."
    return f"The next request {size} tokens; {room:,} fit."


def _say_price(once: float, later: float) -> str:
    next_one, each = _say_more(once), _say_more(later)
    if next_one == each:
        return f"At list prices, each request costs {each}."
    return f"At list prices, the next request costs {next_one}, and each later one {each}."


def _say_more(amount: float) -> str:
    if round(abs(amount), 4) == 0:
        return "the same as before"
    return f"${abs(amount):,.4f} {'more' if amount > 0 else 'less'}"


def fork(seat: Seat, asked: Inquiry) -> dict[str, Any]:
    """A session of its own on the same messages; this one is not touched."""
    name, fresh = _text(asked, "name"), bool(asked.body.get("fresh"))
    if asked.body.get("dry_run"):
        if seat.chat.name == name or name in tenant_of(seat.chat).store.sessions(asked.tenant):
            raise BadInput(f"There is a session named {name!r} already; choose another name.")
        return {"dry_run": True, "session": name, "says": _say_fork(seat, name, fresh=fresh)}
    with seat.chat.fork(name, edits=not fresh) as made:
        return {"dry_run": False, "session": name, "tokens": made.view().tokens, "says": []}


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


def erase(seat: Seat, asked: Inquiry) -> dict[str, Any]:
    """Destroy a message, an output, a note or the system prompts, in the whole tenant; a sentence has to be typed."""
    entry, reason = _text(asked, "entry"), _text(asked, "reason")
    sentence = SENTENCE.format(name=entry[:8])
    if asked.body.get("dry_run"):
        says = [
            "Its content is destroyed in every session of this tenant, with summaries that were made from it.",
            "It cannot be undone, and nobody can bring it back.",
        ]
        found = describe_preview(seat.preview("erase", entry, reason), live=seat.live)
        return {"dry_run": True, "sentence": sentence, **found, "says": [*says, *found["says"]]}
    if asked.body.get("sentence") != sentence:
        raise BadInput(f"Type {sentence!r} to destroy it for good.")
    return {"dry_run": False, "erased": seat.chat.erase(entry, reason), "reason": reason}
