"""Where the tokens are."""

from __future__ import annotations

from html import escape
from pathlib import Path

import click

from fanfold.cli.places import FILE, written
from fanfold.cli.reading import sources
from fanfold.cli.saying import as_json, columns, say, told
from fanfold.cli.tally import KINDS, Tally

_WIDTH = 30
_TOOLS = 8
_COLOURS = {
    "system and tools": "#6c757d",
    "user": "#2f6fde",
    "assistant": "#3aa17e",
    "calls": "#7fc8a9",
    "outputs": "#e0902f",
    "thinking": "#9b6fd0",
    "media": "#d6578a",
    "other": "#b5b5b5",
}


@click.command
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--meter", help="How to count, such as characters/4; by default as each model does.")
@click.option("--plot", type=FILE, help="Also draw it, as SVG.")
@as_json
def stats(files: tuple[Path, ...], meter: str | None, plot: Path | None, as_json: bool) -> None:
    """Show where the tokens of conversations are: kinds, tools, biggest messages, repeats.

    \b
    Example: fanfold stats ~/.claude/projects --plot tokens.svg
    """
    tally = Tally()
    for file in files:
        for source in sources(file):
            tally.take(source, meter)
            if tally.conversations % 20 == 0:
                told(f"{tally.conversations} conversations so far")
    if plot is not None:
        with written(plot) as target:
            target.write(drawn(tally).encode())
    say({"tokens": tally.tokens, **_plain(tally)}, printed(tally), as_json)


def _plain(tally: Tally) -> dict[str, object]:
    return {name: getattr(tally, name) for name in Tally.__struct_fields__}


def printed(tally: Tally) -> str:
    """The figures as text, with bars."""
    many = "conversation" if tally.conversations == 1 else "conversations"
    blocks = [f"{tally.conversations:,} {many}, {tally.messages:,} messages, {tally.tokens:,} tokens"]
    kinds = {kind: tally.kinds[kind] for kind in KINDS if tally.kinds[kind]}
    blocks.append(_bars(kinds, tally.tokens))
    if tally.tools:
        shown = dict(tally.tools.most_common(_TOOLS))
        named = {f"{name} ({tally.calls[name]:,} calls)": tokens for name, tokens in shown.items()}
        blocks.append("outputs by tool\n" + _bars(named, tally.tokens))
    if tally.largest:
        rows = [
            (f"{one.conversation[:24]} #{one.number}", one.role, one.tokens, one.begins)
            for one in tally.largest
        ]
        blocks.append("biggest messages\n" + columns(rows, right=(2,)))
    blocks.append(
        f"{tally.repeats:,} outputs were there before word for word: {tally.repeated:,} tokens"
        if tally.repeats
        else "no output is there twice"
    )
    return "\n\n".join(blocks)


def _bars(figures: dict[str, int], total: int) -> str:
    rows = []
    for name, tokens in figures.items():
        share = tokens / total if total else 0.0
        rows.append((name, tokens, f"{share:.1%}", "█" * round(share * _WIDTH)))
    return columns(rows, right=(1, 2))


def drawn(tally: Tally) -> str:
    """The figures as a picture: one bar of all tokens, and a legend."""
    at, total = 0.0, max(1, tally.tokens)
    bars, legend = [], []
    for number, kind in enumerate(kind for kind in KINDS if tally.kinds[kind]):
        share = tally.kinds[kind] / total
        colour = _COLOURS[kind]
        bars.append(
            f'<rect x="{20 + at * 760:.1f}" y="50" width="{share * 760:.1f}" height="40" fill="{colour}"/>'
        )
        y = 120 + 24 * number
        legend.append(f'<rect x="20" y="{y - 12}" width="14" height="14" fill="{colour}"/>')
        legend.append(
            f'<text x="42" y="{y}">{escape(kind)}: {tally.kinds[kind]:,} tokens, {share:.1%}</text>'
        )
        at += share
    head = f'<text x="20" y="34" font-size="18">{tally.tokens:,} tokens in {tally.messages:,} messages</text>'
    height = 130 + 12 * len(legend)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="800" height="{height}" viewBox="0 0 800 {height}" '
        f'font-family="sans-serif" font-size="14">\n<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join([head, *bars, *legend])
        + "\n</svg>\n"
    )
