"""How a view, or a fitted conversation, is shown: as lines for people, as values for programs."""

from __future__ import annotations

from shlex import quote
from typing import Any

import click
from click.core import ParameterSource

from fanfold.core.view import View
from fanfold.session.fit import Fitted
from fanfold.session.look import Why
from fanfold.session.session import Session
from fanfold.session.stored import describe


def with_ids(view: View) -> str:
    """The printed view with as much of every row's id in front as people need."""
    lines = str(view).splitlines()
    ids = [row.id[:8] for row in view.rows]
    head, above = lines[0], [""] * (len(lines) - 1 - len(ids))
    return "\n".join([head, *(f"{id:<8}{line}" for id, line in zip(above + ids, lines[1:], strict=True))])


def lines_of(view: View) -> list[str]:
    """The printed line of every row."""
    lines = str(view).splitlines()
    return lines[len(lines) - len(view.rows) :]


def how_to_bring_back(chat: Session, found: Why) -> str:
    """The commands that show an entry whole again, if anything hides or shortens it."""
    commands = [undo_command(chat, name) for name in found.undos]
    return f"To bring it back: {'; '.join(commands)}" if commands else ""


def undo_command(chat: Session, name: str) -> str:
    """The command that undoes an edit, or brings a message back, in the same store."""
    ctx = click.get_current_context(silent=True)
    given = [
        f" --{option} {quote(str(ctx.params[option]))}"
        for option in ("store", "tenant")
        if ctx is not None and ctx.get_parameter_source(option) == ParameterSource.COMMANDLINE
    ]
    return f"fanfold undo {quote(chat.name)} {name}{''.join(given)}"


def report_of(name: str, result: Fitted, *, rows: bool) -> dict[str, Any]:
    """What was done to a conversation, for programs; row by row if asked."""
    view = result.view
    return {
        "name": name,
        "dialect": result.dialect,
        "before": result.before,
        "after": view.tokens if view else 0,
        **(counts(view) if view else {}),
        **({"rows": describe(view)["rows"]} if view and rows else {}),
    }


def counts(view: View) -> dict[str, int]:
    """How many messages were folded, dropped, elided and repaired."""
    found = {
        kind: sum(row.count for row in view.rows if row.kind == kind) for kind in ("fold", "drop", "mend")
    }
    elided = sum(row.was is not None for row in view.rows)
    return {"folded": found["fold"], "dropped": found["drop"], "elided": elided, "repaired": found["mend"]}


def explanation(name: str, result: Fitted, *, rows: bool) -> str:
    """The same for people; row by row if asked."""
    view = result.view
    if view is None:
        return f"{name}: nothing to fit"
    done = ", ".join(f"{number:,} {what}" for what, number in counts(view).items() if number)
    room = f" of {view.room:,}" if view.room is not None else ""
    line = f"{name}: {result.before:,} → {view.tokens:,}{room} tokens ({result.dialect}); {done or 'nothing changed'}"
    return f"{line}\n{view!s}" if rows else line
