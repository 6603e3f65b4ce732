"""Commands that change what is shown: fold, undo, redo, release, pin, unpin, note. All can be taken back."""

from __future__ import annotations

from typing import Any

import click

import fanfold
from fanfold.cli.saying import say
from fanfold.cli.sessions import on_session
from fanfold.edit import Decision
from fanfold.errors import NotFound
from fanfold.log import summary_of
from fanfold.view import View


@click.command
@on_session
@click.argument("first")
@click.argument("last")
@click.argument("text")
@click.option("--dry-run", is_flag=True, help="Say what it would save, and change nothing.")
def fold(chat: fanfold.Session, first: str, last: str, text: str, dry_run: bool, as_json: bool) -> None:
    """Fold the rows FIRST to LAST into a text of your own; rows are named by their ids (`show --ids`).

    \b
    Example: fanfold fold run-42 7be1c0 91ab02 "Looked for the bug in vain." --dry-run
    """
    covers = _between(chat.view(), first, last)
    if dry_run:
        before, after = _tried(chat, covers, text)
        said = {"covers": covers, "before": before, "after": after, "dry_run": True}
        say(
            said,
            f"{len(covers)} rows would be folded: {before:,} → {after:,} tokens. Nothing was changed.",
            as_json,
        )
        return
    before = chat.view().tokens
    decision = chat.fold(covers, text)
    _say_change(chat, (decision,), before, as_json)


def _tried(chat: fanfold.Session, covers: tuple[str, ...], text: str) -> tuple[int, int]:
    """Tokens before and after a fold that is taken back at once, on a store of its own."""
    from fanfold.draft import Draft
    from fanfold.edit import Fold
    from fanfold.errors import PartlyCovered

    state = chat._state
    view = chat.view()
    draft = Draft(view, state.log, state.gauge, state.terms.budget)
    after = draft.offer(Fold(covers, text), why="person", by="person", forced=True)
    if after.refused:
        raise PartlyCovered(f"This fold cannot be made: {after.refused}.")
    return view.tokens, after.tokens


def _between(view: View, first: str, last: str) -> tuple[str, ...]:
    start, end = _place(view, first), _place(view, last)
    if end < start:
        raise NotFound(f"The row {last!r} stands before {first!r}; name the older one first.")
    return tuple(row.id for row in view.rows[start : end + 1] if row.kind != "note")


def _place(view: View, name: str) -> int:
    found = [i for i, row in enumerate(view.rows) if row.id.startswith(name)]
    if len(found) != 1:
        many = "No row" if not found else "More than one row"
        raise NotFound(f"{many} in view begins with {name!r}; `fanfold show --ids` lists them.")
    return found[0]


@click.command
@on_session
@click.argument("edit", required=False)
@click.option("--through", is_flag=True, help="Also the edits that stand on top of it.")
def undo(chat: fanfold.Session, edit: str | None, through: bool, as_json: bool) -> None:
    """Take an edit back; without a name, the last one. What comes back is left alone until `release`.

    \b
    Example: fanfold undo run-42 e7
    """
    before = chat.view().tokens
    _say_change(chat, chat.undo(edit, through=through), before, as_json)


@click.command
@on_session
@click.argument("edit", required=False)
def redo(chat: fanfold.Session, edit: str | None, as_json: bool) -> None:
    """Give an undone edit back; without a name, the last one.

    \b
    Example: fanfold redo run-42
    """
    before = chat.view().tokens
    _say_change(chat, chat.redo(edit), before, as_json)


@click.command
@on_session
@click.argument("edit")
def release(chat: fanfold.Session, edit: str, as_json: bool) -> None:
    """Let automatic edits touch again what undoing EDIT brought back.

    \b
    Example: fanfold release run-42 e7
    """
    chat.release(edit)
    say({"released": edit}, f"{edit} is released: what it hid may be reduced again.", as_json)


@click.command
@on_session
@click.argument("what")
def pin(chat: fanfold.Session, what: str, as_json: bool) -> None:
    """Keep an entry, by its id, or lines of text verbatim in view.

    \b
    Example: fanfold pin run-42 "Never touch vendor/."
    """
    _say_change(chat, (chat.pin(what),), None, as_json)


@click.command
@on_session
@click.argument("what")
def unpin(chat: fanfold.Session, what: str, as_json: bool) -> None:
    """Let go of a pin.

    \b
    Example: fanfold unpin run-42 "Never touch vendor/."
    """
    _say_change(chat, (chat.unpin(what),), None, as_json)


@click.command
@on_session
@click.argument("name")
@click.argument("text")
def note(chat: fanfold.Session, name: str, text: str, as_json: bool) -> None:
    """Show a piece of state beside the talk; a later note of the same name replaces it.

    \b
    Example: fanfold note run-42 plan "1. reproduce 2. mend"
    """
    _say_change(chat, (chat.note(name, text),), None, as_json)


def _say_change(
    chat: fanfold.Session, decisions: tuple[Decision, ...], before: int | None, as_json: bool
) -> None:
    after = chat.view().tokens
    names = "; ".join(f"{decision.id} {summary_of(decision.edit)}" for decision in decisions)
    said: dict[str, Any] = {"decisions": decisions, "before": before, "after": after}
    tokens = f"{before:,} → {after:,}" if before is not None else f"{after:,}"
    say(said, f"{names}   {tokens} tokens", as_json)
