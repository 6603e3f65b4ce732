"""How a view, or a fitted conversation, is shown: as lines for people, as values for programs."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from typing import Any

import click
from click.core import ParameterSource

from fanfold.cli.saying import terminal_width
from fanfold.core.view import Row, View
from fanfold.session.fit import Fitted
from fanfold.session.look import Why
from fanfold.session.session import Session
from fanfold.session.stored import describe
from fanfold.text.lines import RowLine, cut_to, lines_within, many, one_line

_DATE = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d)")
_ID = 8
"""So many characters of an id people need."""
_WORDS = 48
"""Characters of the names of tools."""


def printed(view: View, *, ids: bool = False, tools: Sequence[str] = ()) -> str:
    """The view as it is printed, no wider than the terminal; with as much of every row's id in front as people need.

    A row for the system prompt and the `tools` comes first, so that the rows come to the total above them.
    """
    head, width = str(view).split("\n", 1)[0], terminal_width()
    newest = {row.name: row.id for row in view.rows if row.kind == "note"}
    marked = [
        _with_newer(row.line.marked(view.pinned_share(row) > 0 and not row.pinned), row, newest)
        for row in view.rows
    ]
    frame = [_frame_line(view, tools)] if view.frame.tokens or view.overhead else []
    heads, rows = [head], [str(line) for line in (*frame, *marked)]
    if width is not None:
        heads, rows = textwrap.wrap(head, width), lines_within([*frame, *marked], width - _ID * ids)
    fronts = [
        f"{id[:_ID]:<{_ID}}" if ids else "" for id in ([""] * len(frame) + [row.id for row in view.rows])
    ]
    return "\n".join([*heads, *(f"{front}{row}" for front, row in zip(fronts, rows, strict=True))])


def _with_newer(line: RowLine, row: Row, newest: Mapping[str, str]) -> RowLine:
    """The line of an older note names the one that replaced it: it leaves with the next reduction."""
    newer = newest.get(row.name) if row.kind == "note" else None
    return line if newer in (None, row.id) else line._replace(reason=f"{line.reason}, replaced by {newer}")


def _frame_line(view: View, tools: Sequence[str]) -> RowLine:
    """System prompt, tools, and what the provider charges for any request, in one row."""
    tokens, number = view.frame.tokens + view.overhead, many(len(tools), "tool")
    if view.frame.messages:
        return view.frame.line._replace(tokens=tokens, reason=f"with {number}" if tools else "")
    if tools:
        names = one_line(f"{number}: {', '.join(tools)}", _WORDS)
        return RowLine(sign="·", role="tools", tokens=tokens, excerpt=names, reason="")
    beside = "what a request costs beside its messages"
    return RowLine(sign="·", role="frame", tokens=tokens, excerpt=beside, reason="")


def within_terminal(lines: Iterable[str]) -> list[str]:
    """Lines no wider than the terminal."""
    width = terminal_width()
    return list(lines) if width is None else [cut_to(line, width) for line in lines]


def wrapped(lines: Iterable[str]) -> list[str]:
    """Lines broken between words where the terminal ends; what follows stands further in than the line began."""
    width = terminal_width()
    return list(lines) if width is None else [part for line in lines for part in _broken(line, width)]


def _broken(line: str, width: int) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + 3)
    cut = textwrap.TextWrapper(
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    whole = _DATE.sub("\\1\N{NO-BREAK SPACE}\\2", line)
    return [part.replace("\N{NO-BREAK SPACE}", " ") for part in cut.wrap(whole)] or [line]


def how_to_bring_back(chat: Session, found: Why) -> str:
    """The commands that show an entry whole again, if anything hides or shortens it."""
    commands = [command_on(chat, name, "undo") for name in found.undos]
    return f"To bring it back: {'; '.join(commands)}" if commands else ""


def command_on(chat: Session, name: str, verb: str) -> str:
    """The command that undoes an edit or brings a message back, makes it again or releases it, in the same store.

    Without a name, it is about the last one.
    """
    ctx = click.get_current_context(silent=True)
    given = [
        f" --{option} {quote(str(ctx.params[option]))}"
        for option in ("store", "tenant")
        if ctx is not None and ctx.get_parameter_source(option) == ParameterSource.COMMANDLINE
    ]
    return f"fanfold {verb} {quote(chat.name)}{f' {quote(name)}' if name else ''}{''.join(given)}"


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
    return f"{line}\n{printed(view)}" if rows else line
