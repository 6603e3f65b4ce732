"""The figures of a tally: as text with bars, and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from fanfold.cli.saying import columns, many
from fanfold.cli.tally import KINDS, Tally

_COLOURS = dict(
    zip(
        KINDS,
        ("#6c757d", "#2f6fde", "#3aa17e", "#7fc8a9", "#e0902f", "#9b6fd0", "#d6578a", "#b5b5b5"),
        strict=True,
    )
)
_BAR = 30
"""The longest bar, in characters."""
_TOOLS = 8
"""So many tools are named."""
_LEFT, _WIDTH, _LINE = 20, 760, 24
"""The picture's margin, the length of its bar and the height of a line of its legend."""


def as_text(tally: Tally) -> str:
    """The figures as text, with bars."""
    return "\n\n".join(_blocks(tally))


def _blocks(tally: Tally) -> Iterator[str]:
    said = (
        many(tally.conversations, "conversation"),
        many(tally.messages, "message"),
        f"{tally.tokens:,} tokens",
    )
    yield ", ".join(said)
    yield _bars(_kinds(tally), tally.tokens)
    if tally.tools:
        tools = tally.tools.most_common(_TOOLS)
        named = {f"{name} ({many(tally.calls[name], 'call')})": tokens for name, tokens in tools}
        yield "outputs by tool\n" + _bars(named, tally.tokens)
    if tally.largest:
        rows = [
            (f"{one.conversation[:24]} #{one.number}", one.role, one.tokens, one.begins)
            for one in tally.largest
        ]
        yield "biggest messages\n" + columns(rows, right=(2,))
    yield _repeats(tally)


def _repeats(tally: Tally) -> str:
    if not tally.repeats:
        return "no output is there twice"
    return f"{many(tally.repeats, 'output')} came before, word for word: {tally.repeated:,} tokens"


def _kinds(tally: Tally) -> dict[str, int]:
    return {kind: tally.kinds[kind] for kind in KINDS if tally.kinds[kind]}


def _bars(figures: dict[str, int], total: int) -> str:
    shares = {name: tokens / max(1, total) for name, tokens in figures.items()}
    rows = [
        (name, figures[name], f"{share:.1%}", "█" * round(share * _BAR)) for name, share in shares.items()
    ]
    return columns(rows, right=(1, 2))


def as_svg(tally: Tally) -> str:
    """The figures as a picture: one bar of all tokens, and a legend."""
    kinds = _kinds(tally)
    height = 130 + _LINE * len(kinds)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="800" height="{height}" viewBox="0 0 800 {height}" '
        'font-family="sans-serif" font-size="14">',
        '<rect width="100%" height="100%" fill="white"/>',
        _text(_LEFT, 34, f"{tally.tokens:,} tokens in {many(tally.messages, 'message')}", 18),
        *_segments(kinds),
        *_legend(kinds),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _segments(kinds: dict[str, int]) -> Iterator[str]:
    at, scale = float(_LEFT), _WIDTH / max(1, sum(kinds.values()))
    for kind, tokens in kinds.items():
        yield _box(at, 50, tokens * scale, 40, _COLOURS[kind])
        at += tokens * scale


def _legend(kinds: dict[str, int]) -> Iterator[str]:
    total = max(1, sum(kinds.values()))
    for y, (kind, tokens) in zip(count(120, _LINE), kinds.items(), strict=False):
        yield _box(_LEFT, y - 12, 14, 14, _COLOURS[kind])
        yield _text(_LEFT + 22, y, f"{kind}: {tokens:,} tokens, {tokens / total:.1%}", 14)


def _box(x: float, y: int, width: float, height: int, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" fill="{colour}"/>'


def _text(x: int, y: int, text: str, size: int) -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}">{text}</text>'
