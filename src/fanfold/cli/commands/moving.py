"""Commands that move in time: rewind, forward, fork."""

from __future__ import annotations

from datetime import datetime

import click

import fanfold
from fanfold.cli.completing import row_ids
from fanfold.cli.saying import many, say
from fanfold.cli.sessions import on_session
from fanfold.core.errors import BadInput


@click.command
@on_session
@click.argument("to", required=False, shell_complete=row_ids)
@click.option("--turns", type=click.IntRange(1), help="Go back this many turns.")
@click.option("--time", "moment", type=click.DateTime(), help="Go back to a moment, in local time.")
@click.option("--before", is_flag=True, help="Stop just before that place.")
def rewind(
    chat: fanfold.Session,
    to: str | None,
    turns: int | None,
    moment: datetime | None,
    before: bool,
    as_json: bool,
) -> None:
    """Go back: to an entry, some turns, or a moment.

    What came later stays recorded.

    \b
    Example: fanfold rewind run-42 --turns 2
    """
    if [to, turns, moment].count(None) != 2:
        raise BadInput("Say where to go back to: ENTRY, --turns or --time, one of them.")
    head = chat.rewind(to, turns=turns, time=moment.timestamp() if moment else None, inclusive=not before)
    _say_head(chat, head, as_json)


@click.command
@on_session
@click.argument("to", required=False, shell_complete=row_ids)
def forward(chat: fanfold.Session, to: str | None, as_json: bool) -> None:
    """Go forward again, to where it stood before, or to an entry.

    \b
    Example: fanfold forward run-42
    """
    _say_head(chat, chat.forward(to), as_json)


def _say_head(chat: fanfold.Session, head: str | None, as_json: bool) -> None:
    view = chat.view()
    where = head[:8] if head else "the start"
    said = {"head": head, "tokens": view.tokens, "rows": len(view.rows)}
    say(
        said, f"{chat.name} stands at {where}: {many(len(view.rows), 'row')}, {view.tokens:,} tokens", as_json
    )


@click.command
@on_session
@click.argument("name")
@click.option("--fresh", is_flag=True, help="Start without the edits of the old session.")
def fork(chat: fanfold.Session, name: str, fresh: bool, as_json: bool) -> None:
    """Make a session of its own on the same entries.

    \b
    Example: fanfold fork run-42 run-42-retry
    """
    with chat.fork(name, edits=not fresh) as made:
        tokens = made.view().tokens
    say(
        {"session": name, "tokens": tokens},
        f"{name} begins where {chat.name} stands: {tokens:,} tokens",
        as_json,
    )
