"""How a view looks on paper: the golden-file format, and the inspector's first screen."""

from __future__ import annotations

from collections.abc import Sequence

from fanfold.core.message import Call, Part, Result, Text, Thinking, text_of
from fanfold.core.view import Row, View

_SIGNS = {"fold": "≡", "drop": "≡", "mend": "+", "note": "*", "frame": "·", "entry": "·"}
_WIDTH = 48


def printed(view: View) -> str:
    """The view as text: a headline, then one line a row."""
    standing = len({why for row in view.rows for why in row.why})
    room = f" of {view.room:,}" if view.room is not None else ""
    tip = f"@ {view.tip[:6]}" if view.tip else "@ start"
    head = " ".join(filter(None, (view.title, tip)))
    lines = [
        f"{head}   {view.tokens:,}{room} tokens   {standing} edit{'s' * (standing != 1)} stand{'s' * (standing == 1)}"
    ]
    lines += [_line(row) for row in (view.frame, *view.rows) if row.messages or row.kind != "frame"]
    return "\n".join(lines)


def _line(row: Row) -> str:
    sign = "▸" if row.pinned else "⋯" if row.was is not None else _SIGNS[row.kind]
    reason = " ".join(filter(None, ("pinned" * row.pinned, *row.why, row.reason)))
    return f"  {sign}  {row.role:<9} {row.tokens:>6,}  {_excerpt(row):<{_WIDTH}}  {reason}".rstrip()


def _excerpt(row: Row) -> str:
    """The first words of a row on one line, and what it calls."""
    parts = [part for message in row.messages for part in message.parts]
    calls = [f"{part.name}({part.id[:12]})" for part in parts if isinstance(part, Call)]
    called = _called(calls)
    said = "  ".join(filter(None, (_said(part) for part in parts)))
    if not called:
        return _short(said or "(empty)", _WIDTH)
    room = _WIDTH - len(called) - 2
    return f"{_short(said, room)}  {called}" if said and room > 8 else called


def _called(calls: Sequence[str]) -> str:
    more = f" +{len(calls) - 1}" if len(calls) > 1 else ""
    return f"→ {_short(calls[0], _WIDTH - 2 - len(more))}{more}" if calls else ""


def _said(part: Part) -> str:
    match part:
        case Call():
            return ""
        case Text() | Result() | Thinking():
            return _short(text_of(part), _WIDTH)
        case _:
            return f"[{type(part).__name__.lower()}]"


def _short(text: str, room: int) -> str:
    flat = " ".join(text[:400].split()).encode("utf-8", "replace").decode()
    return flat if len(flat) <= room else flat[: room - 2] + " …"
