"""How a view is shown: as lines for people, as values for programs."""

from __future__ import annotations

from typing import Any

import msgspec

from fanfold.cli.sessions import ANY_WINDOW
from fanfold.core.view import Row, View


def limited(view: View) -> View:
    """The view without a room, where no window is known."""
    unlimited = view.room is not None and view.room >= ANY_WINDOW // 2
    return msgspec.structs.replace(view, room=None) if unlimited else view


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


def described(view: View) -> dict[str, Any]:
    """A view for programs."""
    return {
        "tip": view.tip,
        "tokens": view.tokens,
        "room": view.room,
        "rows": [_described(row) for row in (view.frame, *view.rows) if row.messages],
    }


def _described(row: Row) -> dict[str, Any]:
    return {
        "id": row.id,
        "kind": row.kind,
        "role": row.role,
        "tokens": row.tokens,
        "covers": row.covers,
        "count": row.count,
        "edits": row.why,
        "reason": row.reason,
        "pinned": row.pinned,
        "messages": row.messages,
    }
