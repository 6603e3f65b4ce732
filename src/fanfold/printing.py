"""How a view looks on paper: the golden-file format, and the inspector's first screen."""

from __future__ import annotations

from fanfold.message import Call, Image, Result, Text, Thinking, words
from fanfold.view import Row, View

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
    says = _excerpt(row)
    reason = "pinned" if row.pinned else " ".join(row.why)
    return f"  {sign}  {row.role:<9} {row.tokens:>6,}  {says:<{_WIDTH}}  {reason}".rstrip()


def _excerpt(row: Row) -> str:
    """The first words of a row on one line, and what it calls."""
    texts: list[str] = []
    for message in row.messages:
        for part in message.parts:
            match part:
                case Call(name=name, id=id):
                    texts.append(f"→ {name}({id[:12]})")
                case Image():
                    texts.append("[image]")
                case Text() | Result() | Thinking():
                    texts.append(_short(words(part)))
                case _:
                    texts.append(f"[{type(part).__name__.lower()}]")
    return _short("  ".join(filter(None, texts)) or "(empty)")


def _short(text: str) -> str:
    flat = " ".join(text[:400].split()).encode("utf-8", "replace").decode()
    return flat if len(flat) <= _WIDTH else flat[: _WIDTH - 2] + " …"
