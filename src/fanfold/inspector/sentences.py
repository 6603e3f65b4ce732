"""What a change does to tokens, cache and cost: as a value, and in words for the page."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from fanfold.session.preview import Preview
from fanfold.session.summarize import ANY_WINDOW


def describe_preview(told: Preview, *, live: bool = True) -> dict[str, Any]:
    """A preview as a value, without the body: that is asked for with `next`."""
    figures = asdict(told)
    del figures["body"]
    return {**figures, "says": sentences(told, live=live)}


def sentences(told: Preview, *, live: bool = True) -> list[str]:
    """What a change does to tokens, cache and cost, in words; which strategy is assumed where its own is not here."""
    said = [_say_tokens(told)]
    if told.due and not told.problem:
        by = "" if live else " (by the default strategy)"
        about = "" if told.reduced is None else f" to about {told.reduced:,} tokens{by}"
        said.append(
            f"It will be reduced{about} first, because {told.reason}. "
            "Other messages are shortened or summarized then, but never what you brought back or pinned."
        )
    lost = max(0, told.cached - told.cached_after)
    if told.expired:
        said.append("The provider has forgotten the last prompt by now, so no cache is lost.")
    elif lost:
        said.append(f"{lost:,} tokens that the provider has in its cache must be read again, once.")
    else:
        said.append("The provider's cache still holds the same beginning.")
    if told.cost is not None and told.cost_after is not None and told.later is not None:
        so = ", reduced so" if told.due and not told.problem else ""
        said.append(_say_price(told.cost_after - told.cost, told.later, so))
    if told.problem:
        said.append(f"The next request could not be sent then. {told.problem}")
    return said


def say_release(told: Preview) -> list[str]:
    """What a release does: nothing at once."""
    said = [
        f"{_say_tokens(told)} Nothing changes at once, and it costs nothing.",
        "From now on it may be shortened or summarized again like everything else. Pin it to keep it as it is.",
    ]
    if told.due:
        said.append(f"That may happen before the next request, because {told.reason}.")
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


def _say_price(once: float, later: float, so: str) -> str:
    next_one, each = _say_more(once), _say_more(later)
    if next_one == each:
        return f"At list prices{so}, each request costs {each}."
    return f"At list prices{so}, the next request costs {next_one}, and each later one {each}."


def _say_more(amount: float) -> str:
    if round(abs(amount), 4) == 0:
        return "the same as before"
    return f"${abs(amount):,.4f} {'more' if amount > 0 else 'less'}"
