"""How a row of a view looks on paper: the golden-file format, and the inspector's first screen."""

from __future__ import annotations

from collections.abc import Sequence

_WIDTH = 48


def row_line(
    sign: str, role: str, tokens: int, *, words: Sequence[str], calls: Sequence[str], reason: str
) -> str:
    """One row on one line: who speaks, its tokens, its first words and what it calls, and why it looks so."""
    said = "  ".join(filter(None, (_short(text, _WIDTH) for text in words)))
    more = f" +{len(calls) - 1}" if len(calls) > 1 else ""
    called = f"→ {_short(calls[0], _WIDTH - 2 - len(more))}{more}" if calls else ""
    room = _WIDTH - len(called) - 2
    if not called:
        excerpt = _short(said or "(empty)", _WIDTH)
    else:
        excerpt = f"{_short(said, room)}  {called}" if said and room > 8 else called
    return f"  {sign}  {role:<9} {tokens:>6,}  {excerpt:<{_WIDTH}}  {reason}".rstrip()


def _short(text: str, room: int) -> str:
    flat = " ".join(text[:400].split()).encode("utf-8", "replace").decode()
    return flat if len(flat) <= room else flat[: room - 2] + " …"
