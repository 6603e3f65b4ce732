"""Commands that look: ls, show, why, diff, cache."""

from __future__ import annotations

from datetime import datetime

import click
import msgspec
from msgspec.structs import replace

import fanfold
from fanfold.cli.completing import all_ids
from fanfold.cli.saying import columns, many, say
from fanfold.cli.sessions import Sessions, on_session, on_store
from fanfold.cli.views import how_to_bring_back, printed, within_terminal, wrapped
from fanfold.session.stored import describe, tools_of, without_any_room
from fanfold.stores.summary import Summary

_SOURCES = 5
"""So many lines of a hand-over are printed."""


@click.command
@on_store
def ls(sessions: Sessions, as_json: bool) -> None:
    """List the sessions of a store.

    \b
    Example: fanfold ls --store sqlite:agent.db
    """
    found = sorted(sessions.store.summaries(sessions.tenant), key=lambda one: one.name)
    rows = [_HEADINGS, *map(_listed, found)]
    shown = [at for at in range(len(_HEADINGS)) if at < _ALWAYS or any(row[at] for row in rows[1:])]
    table = [tuple(row[at] for at in shown) for row in rows]
    right = tuple(place for place, at in enumerate(shown) if _HEADINGS[at] in _FIGURES)
    told = [{**msgspec.structs.asdict(one), "last": when(one.seen)} for one in found]
    say(told, columns(table, right=right) if found else "There are no sessions here yet.", as_json)


_HEADINGS = (
    "session", "messages", "requests", "edits made", "last", "client", "model", "full", "cached", "cost", "parent",
)  # fmt: skip
_FIGURES = frozenset(("messages", "requests", "edits made", "full", "cached", "cost"))
_ALWAYS = 5
"""So many columns are always shown, the others if something is in them."""


def _listed(one: Summary) -> tuple[str, ...]:
    """A session as a row of the list."""
    return (
        one.name,
        *map(str, (one.messages, one.requests, one.edits)),
        when(one.seen),
        one.client,
        one.model or "",
        f"{one.fill:.0%}" if one.tokens and one.room else "",
        f"{one.cached_share:.0%}" if one.prompt else "",
        _price(one),
        one.parent,
    )


def _price(one: Summary) -> str:
    """What it cost; "–" where no price is known, nothing where nothing was billed."""
    if one.cost is None:
        return "–" if one.prompt else ""
    return "<$0.01" if 0 < one.cost < 0.005 else f"${one.cost:.2f}" if one.prompt else ""


def when(time: float) -> str:
    """A moment as people write it, in local time."""
    return datetime.fromtimestamp(time).strftime("%Y-%m-%d %H:%M") if time else ""


@click.command
@on_session
@click.option("--request", "number", type=int, help="What request N showed; -1 is the last one.")
@click.option("--ids", is_flag=True, help="Put each row's id in front, for why, pin, fold and rewind.")
@click.option("--hand-over", is_flag=True, help="Print the whole text of hand-overs and summaries instead.")
def show(chat: fanfold.Session, number: int | None, ids: bool, hand_over: bool, as_json: bool) -> None:
    """Show what the model sees, row by row, and why.

    --hand-over prints what the model reads in place of the messages that were folded.

    \b
    Example: fanfold show run-42 --hand-over
    """
    view = without_any_room(chat.view()) if number is None else chat.sent(number)[1]
    if not hand_over:
        say(describe(view), printed(view, ids=ids, tools=[name for name, _ in tools_of(chat)]), as_json)
        return
    folds = [
        HandOver(row.id, row.tokens, "\n\n".join(message.text for message in row.messages))
        for row in view.rows
        if row.kind == "fold"
    ]
    none = "Nothing is folded here, so there is no hand-over. `fanfold compact --force` writes one."
    say(folds, "\n\n".join(one.text for one in folds) or none, as_json)


class HandOver(msgspec.Struct, frozen=True):
    """What the model reads in place of messages that were folded."""

    id: str
    """The edit that shows it."""
    tokens: int
    text: str


@click.command
@on_session
@click.argument("entry", shell_complete=all_ids)
def why(chat: fanfold.Session, entry: str, as_json: bool) -> None:
    """Tell what happened to an entry, an output or an edit, and when.

    If something hides or shortens an entry, the last line says how to bring it back.

    \b
    Example: fanfold why run-42 7be1c0
    """
    found = chat.why(entry)
    shown = replace(found, lines=found.read_instead[:_SOURCES])
    lines = [f"{line}   {when(time)}".rstrip() for line, time in shown.timed_lines()]
    left = len(found.read_instead) - _SOURCES
    more = f"  … and {many(left, 'more line')}; --json has all of them" if left > 0 else ""
    text = "\n".join(wrapped(filter(None, (*lines, more))))
    say(found, "\n".join(filter(None, (text, how_to_bring_back(chat, found)))), as_json)


@click.command(context_settings={"ignore_unknown_options": True})  # `-2` is a number, not an option
@on_session
@click.argument("first", type=int)
@click.argument("second", type=int)
def diff(chat: fanfold.Session, first: int, second: int, as_json: bool) -> None:
    """Tell what the model saw in one request and not in another.

    Requests count from 0; -1 is the last.

    \b
    Example: fanfold diff run-42 -2 -1
    """
    found = chat.diff(first, second)
    say(found, "\n".join(within_terminal(str(found).splitlines())), as_json)


@click.command
@on_session
@click.option("--all", "every", is_flag=True, help="Also show requests that missed nothing.")
def cache(chat: fanfold.Session, every: bool, as_json: bool) -> None:
    """Tell what requests read from the provider's cache, and what broke it.

    Of each prompt, "reusable" is what the request before began with too, "read" what came from the cache. "missed" was
    sent before and paid in full again.

    \b
    Example: fanfold cache run-42
    """
    uses = [chat.cache(number) for number in range(chat.stats()["requests"])]
    shown = [use for use in uses if every or use.broken]
    rows: list[tuple[object, ...]] = [
        ("request", "prompt", "reusable", "read", "missed", "cost", "what broke it")
    ]
    rows += [_cache_row(use) for use in shown]
    quiet = f"{len(uses) - len(shown):,} more missed nothing." if len(shown) < len(uses) else ""
    text = "\n".join(filter(None, (columns(rows, right=range(6)), quiet)))
    say(shown, text if uses else "No request went out yet.", as_json)


def _cache_row(use: fanfold.CacheUse) -> tuple[object, ...]:
    read, price = (
        "–" if use.read is None else use.read,
        "–" if use.cost is None else f"${use.cost:,.4f}" if use.cost else "",
    )
    return (use.request, use.prompt, use.could, read, use.again, price, str(use.broken or ""))
