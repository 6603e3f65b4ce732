"""What the tab key offers: models, sessions, and in a session its entries, edits and outputs.

A broken settings file or a store that is not there is told by the command, not by the tab key: then nothing is offered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from fanfold.core.errors import FanfoldError
from fanfold.text.cutting import short

if TYPE_CHECKING:
    from fanfold.cli.sessions import Sessions
    from fanfold.session.session import Session

Offers = Sequence[tuple[str, str]]
"""What may be typed, each with a few words about it."""
_SHOWN = 8
"""Characters of an entry's id: enough to name it, and as many as `fanfold show --ids` prints."""
_WORDS = 48
"""Characters of what a hidden message says."""


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
    return _offer(ctx, incomplete, _rows)


def edit_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The edits of the session that begin so."""
    return _offer(ctx, incomplete, _edits)


def all_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Rows and edits; after the first character also what is hidden, and outputs."""
    return _offer(ctx, incomplete, _rows, _edits, *_unseen(incomplete))


def returnable_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Edits; after the first character also messages and outputs that may be brought back."""
    return _offer(ctx, incomplete, _edits, *_unseen(incomplete))


def references(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What `fanfold cat` prints: outputs, the newest first, and edits."""
    return _offer(ctx, incomplete, _outputs, _edits)


def output_refs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The outputs of the session, the newest first."""
    return _offer(ctx, incomplete, _outputs)


def _offer(
    ctx: click.Context, incomplete: str, *kinds: Callable[[Sessions, Session], Offers]
) -> list[CompletionItem]:
    from fanfold.cli.sessions import Sessions

    try:
        sessions = Sessions(ctx.params["store"], ctx.params["tenant"])
        with sessions.use(ctx.params["session"]) as chat:
            named = dict(offer for kind in kinds for offer in kind(sessions, chat))
    except (FanfoldError, KeyError):
        return []
    return [CompletionItem(name, help=words) for name, words in named.items() if name.startswith(incomplete)]


def _unseen(incomplete: str) -> tuple[Callable[[Sessions, Session], Offers], ...]:
    """A long session has many hidden messages: they are offered once something is typed."""
    return (_entries, _outputs) if incomplete else ()


def _rows(sessions: Sessions, chat: Session) -> Offers:
    return [(row.id[:_SHOWN], row.line.excerpt) for row in chat.view().rows]


def _edits(sessions: Sessions, chat: Session) -> Offers:
    return [(edit.decision.id, edit.says) for edit in chat.edits()]


def _outputs(sessions: Sessions, chat: Session) -> Offers:
    return [(output.ref, f"{output.line_count:,} lines") for output in chat.outputs()]


def _entries(sessions: Sessions, chat: Session) -> Offers:
    path = sessions.store.path(sessions.tenant, chat.head) if chat.head else ()
    return [(entry.id[:_SHOWN], short(entry.message.text, _WORDS)) for entry in path]
