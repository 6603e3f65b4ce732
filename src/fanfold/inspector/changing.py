"""What the API changes. With `dry_run`, each of them tells what it would do, and does nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from fanfold.core.edit import Decision
from fanfold.core.errors import BadInput, Moved
from fanfold.core.record import TokenUsage
from fanfold.inspector.desk import Seat
from fanfold.inspector.looking import Inquiry, shortened_under
from fanfold.session.preview import Preview
from fanfold.session.stored import ANY_WINDOW, opening_of, summary_of, tenant_of
from fanfold.tokens.models import lookup
from fanfold.tokens.usage import cost

_TRIES = 50
"""So often a change is made again in a session that others write to."""
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
    verb = asked.rest[0]
    if verb in ("rewind", "forward") and (owner := summary_of(seat.chat).client):
        raise BadInput(
            f"{owner} owns this history and would send it all again. Go back in {owner} itself, or fork the session."
        )
    args, kwargs = ARGUMENTS[verb](asked)
    short = _count_shortened(seat, args[0]) if verb == "undo" else 0
    told = seat.chat.preview(verb, *args, **kwargs)
    found = describe_preview(told)
    if not asked.body.get("dry_run"):
        done = _write(seat, verb, args, kwargs)
        made = done if isinstance(done, tuple) else (done,)
        found["decisions"] = [one for one in made if isinstance(one, Decision)]
    if verb == "release":
        found["says"].append("From now on it may be shortened again by itself. Pin it to keep it as it is.")
    if short:
        found["says"].append(
            f"{short:,} of these messages had been shortened before, and stay so: bring those back one by one."
        )
    return {"dry_run": bool(asked.body.get("dry_run")), **found}


def _write(seat: Seat, verb: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make a change; again where somebody else wrote first.

    A preview takes much longer than the change, and a busy session has moved on by then. So that one is not made again.
    """
    for _ in range(_TRIES):
        with suppress(Moved):
            return getattr(seat.chat, verb)(*args, **kwargs)
    return getattr(seat.chat, verb)(*args, **kwargs)


def _count_shortened(seat: Seat, edit: str | None) -> int:
    """How many parts of what an edit hides are shortened by earlier edits, too."""
    past = seat.chat.edits()
    found = next((one for one in past if one.decision.id == edit), None)
    if found is None or found.kind not in ("fold", "drop"):
        return 0
    return len(shortened_under(past, seat.chat.why(found.decision.id).hides))


def describe_preview(told: Preview) -> dict[str, Any]:
    """A preview as a value, without the body: that is asked for with `next`."""
    return {
        "decisions": told.decisions,
        "before": told.before,
        "after": told.after,
        "room": told.room,
        "trigger": told.trigger,
        "due": told.due,
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
        "says": sentences(told),
    }


def sentences(told: Preview) -> list[str]:
    """What a change does to tokens, cache and cost, in words."""
    more = told.after - told.before
    room = f" of {told.room:,}" if told.room is not None and told.room < ANY_WINDOW // 2 else ""
    tokens = f"{abs(more):,} token{'s' * (abs(more) != 1)}"
    step = "as many tokens as before" if not more else f"{tokens} {'more' if more > 0 else 'less'}"
    said = [f"The next request has {step}: {told.before:,} → {told.after:,}{room}."]
    lost = max(0, told.cached - told.cached_after)
    if told.expired:
        said.append("The provider has forgotten the last prompt by now, so no cache is lost.")
    elif lost:
        said.append(f"{lost:,} tokens that were in the provider's cache are read afresh, once.")
    else:
        said.append("The provider's cache still holds the same beginning.")
    if told.cost is not None and told.cost_after is not None and told.later is not None:
        once = told.cost_after - told.cost
        said.append(_say_price(_dollars(once), _dollars(told.later)))
    if told.due:
        said.append(
            f"That is above {told.trigger:,} tokens, so the next request is reduced first: "
            "something else may give way, never what you brought back or pinned."
        )
    if told.problem:
        said.append(told.problem)
    return said


def _say_price(once: str, later: str) -> str:
    if once == later == "nothing":
        return "At list prices it costs nothing more."
    return f"At list prices: {once} for the next prompt, {later} for each later one."


def _dollars(amount: float) -> str:
    if round(abs(amount), 4) == 0:
        return "nothing"
    return f"{'+' if amount >= 0 else '−'}${abs(amount):,.4f}"


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
    tokens = _count_all(seat) if fresh else told.before
    said = [
        f"{name} begins where {own} stands, with {'all' if fresh else 'the same'} {tokens:,} tokens in its window.",
        f"{own} itself is not changed: its tokens, its cost and its cache stay as they are.",
    ]
    model = lookup(opening_of(seat.chat).model or "")
    if model is not None and model.prices is not None and told.cost is not None:
        price = cost(TokenUsage(input=tokens), model) if fresh else told.cost
        said.append(f"Its first prompt costs about ${price:,.4f}, at list prices.")
    if tokens > told.trigger:
        said.append(f"That is above {told.trigger:,} tokens, so its first request is reduced first.")
    return said


def _count_all(seat: Seat) -> int:
    """The tokens of everything that was said, with nothing hidden."""
    view = seat.chat.view()
    ids = [
        id
        for row in view.rows
        if row.kind != "note"
        for id in ((row.id,) if row.kind == "entry" else seat.chat.why(row.id).hides)
    ]
    said = [message for id in ids if (message := view.said(id)) is not None]
    return view.overhead + view.frame.tokens + sum(map(view.weigh, said))


def erase(seat: Seat, asked: Inquiry) -> dict[str, Any]:
    """Destroy a message, an output, a note or the system prompts, in the whole tenant; a sentence has to be typed."""
    entry, reason = _text(asked, "entry"), _text(asked, "reason")
    sentence = SENTENCE.format(name=entry[:8])
    if asked.body.get("dry_run"):
        says = [
            "Its content is destroyed in every session of this tenant, with summaries that were made from it.",
            "It cannot be undone, and nobody can bring it back.",
        ]
        found = describe_preview(seat.chat.preview("erase", entry, reason))
        return {"dry_run": True, "sentence": sentence, **found, "says": [*says, *found["says"]]}
    if asked.body.get("sentence") != sentence:
        raise BadInput(f"Type {sentence!r} to destroy it for good.")
    return {"dry_run": False, "erased": seat.chat.erase(entry, reason), "reason": reason}
