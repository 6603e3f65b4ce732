"""What the tab key offers: models, sessions, and in a session its entries, edits and outputs.

A broken settings file or a store that is not there is told by the command, not by the tab key: then nothing is offered.
"""

from __future__ import annotations

from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from fanfold.core.errors import FanfoldError

_SHOWN = 12
"""Characters of an entry's id: enough to name it, as `fanfold show --ids` prints it."""


def model_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Models that begin so, those of fanfold.toml too."""
    from fanfold.config.settings_file import register_models
    from fanfold.tokens.models import known

    with suppress(FanfoldError):
        register_models()
    return [name for name in known() if name.startswith(incomplete)]


def session_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Sessions that begin so, of the store that the command line or the environment names."""
    from fanfold.cli.sessions import Sessions

    try:
        names = Sessions(ctx.params["store"], ctx.params["tenant"]).names()
    except (FanfoldError, KeyError):
        return []
    return [name for name in names if name.startswith(incomplete)]


def row_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The rows of the session that begin so, each with its first words."""
    return _offer(ctx, incomplete, rows=True)


def edit_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The edits of the session that begin so."""
    return _offer(ctx, incomplete, edits=True)


def row_or_edit_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Both of them."""
    return _offer(ctx, incomplete, rows=True, edits=True)


def _offer(
    ctx: click.Context, incomplete: str, *, rows: bool = False, edits: bool = False
) -> list[CompletionItem]:
    from fanfold.cli.sessions import Sessions

    try:
        sessions = Sessions(ctx.params["store"], ctx.params["tenant"])
        with sessions.use(ctx.params["session"]) as chat:
            shown = [(row.id[:_SHOWN], row.line.excerpt) for row in chat.view().rows] if rows else []
            made = [(edit.decision.id, edit.says) for edit in chat.edits()] if edits else []
    except (FanfoldError, KeyError):
        return []
    named = dict([*shown, *made])  # a row that an edit shows has the edit's name
    return [CompletionItem(name, help=words) for name, words in named.items() if name.startswith(incomplete)]
