"""What the gateway noted of the requests that it served: requests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from fanfold.cli.saying import as_json, columns, many, say
from fanfold.cli.sessions import meant
from fanfold.cli.views import wrapped
from fanfold.core.errors import BadInput, NotFound
from fanfold.session.stored import list_names

if TYPE_CHECKING:
    from fanfold.gateway.journal import Exchanged

_TITLES = (
    "when",
    "client",
    "session",
    "status",
    "tokens",
    "whole",
    "cached",
    "cost",
    "whole cost",
    "seconds",
    "what",
)
_RIGHT = (3, 4, 5, 6, 7, 8, 9)


@click.command
@click.argument("session", required=False)
@click.option(
    "-s", "--store", help="The gateway's store, beside which its journal is; by default that of `serve`."
)
@click.option("--journal", help="The journal itself.")
@click.option(
    "--last",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="How many requests, the newest last.",
)
@as_json
def requests(session: str | None, store: str | None, journal: str | None, last: int, as_json: bool) -> None:
    """List the requests that the gateway served: of all sessions, or of one.

    "whole" estimates the tokens of the client's own request, "whole cost" what that request would have cost
    without fanfold: all that was sent before comes from the provider's cache, if it has one and the client sets the
    marks that it asks for. The last line has the sums of all these requests, those that --last leaves out too, and says
    in how many the client's own request would not have fitted its window.

    \b
    Example: fanfold requests --last 50
    """
    from fanfold.gateway.journal import journal_path, read_journal  # late: few serve
    from fanfold.gateway.settings import read_settings

    settings = read_settings({"store": store, "journal": journal})
    path = journal_path(settings.store, settings.journal)
    if path is None or not path.exists():
        raise BadInput(f"There is no journal{f' at {path}' if path else ''}: no request was served with it.")
    every = read_journal(path)
    if session is not None:
        session = _session_meant(session, list(dict.fromkeys(one.session for one in every if one.session)))
        every = [one for one in every if one.session == session]
    found = every[-last:]
    table = columns([_TITLES, *(_row(one) for one in found)], _RIGHT, wanted=(1, 3, 4, 6))
    older = [f"{len(every) - len(found):,} older: --last {len(every)}"] if len(found) < len(every) else []
    say(found, "\n".join([table, *older, *(wrapped([_total(every)]) if every else ())]), as_json)


def _total(every: Sequence[Exchanged]) -> str:
    """What all these requests sent and cost together, and what it would have been without fanfold."""
    prompt, cached = sum(one.prompt for one in every), sum(one.cached for one in every)
    told = [f"{sum(one.tokens for one in every):,} tokens sent ({sum(one.whole for one in every):,} whole)"]
    told += [f"{cached / prompt:.0%} of what was billed from the cache"] if prompt else []
    priced = [one for one in every if one.cost is not None]
    if priced:
        whole = sum(one.whole_cost or 0.0 for one in priced)
        some = f", {len(every) - len(priced):,} without a price" if len(priced) < len(every) else ""
        told.append(f"${sum(one.cost or 0.0 for one in priced):,.4f} (${whole:,.4f} whole{some})")
    over = sum(one.over for one in every)
    failed = f" Without fanfold, {over:,} of them would not have fitted the window." if over else ""
    return f"In all {many(len(every), 'request')}: {', '.join(told)}.{failed}"


def _session_meant(begun: str, names: list[str]) -> str:
    """The session of this name that made requests, or the only one whose name begins so."""
    if not any(name.startswith(begun) for name in names):
        made = f"those of {list_names(names[::-1])}" if names else "none of any session"
        raise NotFound(f"The journal has no request of a session {begun!r}; it has {made}.")
    return meant(begun, names)


def _row(one: Exchanged) -> list[str]:
    told = {
        one.bypassed: f"passed on: {one.bypassed}",
        str(one.edits or ""): many(one.edits, "edit"),
        str(one.refused or ""): f"{one.refused} too long",
        str(one.hidden or ""): f"{one.hidden} hidden",
        one.lost: f"lost: {one.lost}",
    }
    return [
        datetime.fromtimestamp(one.time).strftime("%m-%d %H:%M:%S"),
        one.client,
        one.session,
        str(one.status),
        f"{one.tokens:,}",
        f"{one.whole:,}",
        f"{one.cached / one.prompt:.0%}" if one.prompt else "",
        "–" if one.cost is None else f"${one.cost:.4f}",
        "–" if one.whole_cost is None else f"${one.whole_cost:.4f}",
        f"{one.total:.2f}",
        ", ".join(text for value, text in told.items() if value),
    ]
