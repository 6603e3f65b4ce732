"""Where the tokens are."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import click
import msgspec

import fanfold
from fanfold.cli.files import FILE, atomic_file
from fanfold.cli.saying import as_json, columns, many, say, show_count
from fanfold.cli.sessions import Sessions, store_option, tenant_option
from fanfold.cli.sources import sources
from fanfold.cli.tally import Tally, as_svg, as_text
from fanfold.cli.views import command_on
from fanfold.core.errors import NotFound

MOST = 10
"""The things that are listed."""


@click.command
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--meter", help="How to count, such as characters/4; by default as each model does.")
@click.option("--plot", type=FILE, help="Also draw it, as SVG.")
@click.option(
    "--cost", metavar="SESSION", help="Show instead what each thing in a session of the store has cost."
)
@store_option
@tenant_option
@as_json
def stats(
    files: tuple[Path, ...],
    meter: str | None,
    plot: Path | None,
    cost: str | None,
    store: str,
    tenant: str,
    as_json: bool,
) -> None:
    """Show where the tokens are: kinds, tools, biggest messages, repeats.

    FILES are conversations, or one session of the store, by its name: then its figures are shown. With --cost, show
    what each thing in a session has cost, and what eliding it would have saved.

    \b
    Example: fanfold stats ~/.claude/projects --plot tokens.svg
    Example: fanfold stats --cost run-42 --store sqlite:agent.db
    """
    if cost is not None:
        with Sessions(store, tenant).use(cost) as chat:
            ledger = chat.ledger()
        say(ledger, cost_text(ledger), as_json)
        return
    if not files:
        raise click.UsageError(
            "Name files with conversations, or a session of a store; --cost SESSION tells what it cost."
        )
    if missing := next((file for file in files if str(file) != "-" and not file.exists()), None):
        if len(files) > 1 or not (name := _session_named(str(missing), store, tenant)):
            other = "" if missing.suffix else ", and no session of this name in the store"
            raise NotFound(f"There is no file {missing}{other}.")
        with Sessions(store, tenant).use(name) as chat:
            figures = chat.stats()
            say(figures, figures_text(chat, figures), as_json)
        return
    tally = Tally()
    for source in show_count(chain.from_iterable(map(sources, files)), "conversations"):
        tally.take(source, meter)
    if plot is not None:
        with atomic_file(plot) as target:
            target.write(as_svg(tally).encode())
    say({"tokens": tally.tokens, **msgspec.structs.asdict(tally)}, as_text(tally), as_json)


def _session_named(begun: str, store: str, tenant: str) -> str:
    """The session that somebody may have meant by something that is no file; empty if there is none."""
    try:
        return Sessions(store, tenant).name_of(begun)
    except NotFound:
        return ""


_NAMED = {
    "tokens": "tokens in view",
    "bytes": "bytes in view",
    "entries": "messages in view",
    "rows": "rows in view",
    "frame": "tokens of system prompt and tools",
    "pinned": "tokens of what is pinned",
    "results": "tokens of outputs",
    "fold": "tokens of folds",
    "drop": "tokens of markers of what was dropped",
    "note": "tokens of notes",
    "edits": "edits that stand",
    "snapshot": "has notes",
}
"""Figures of a session whose names say too little to people."""


def figures_text(chat: fanfold.Session, figures: Mapping[str, Any]) -> str:
    """The figures of a session, for people, and where to look for more."""
    rows = [(_NAMED.get(key, key.replace("_", " ")), _figure(value)) for key, value in figures.items()]
    more = f"What each thing in it has cost: {command_on(chat, '', 'stats --cost')}"
    return "\n".join((columns([(chat.name, ""), *rows], right=(1,)), more))


def _figure(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return dollars(value)
    return f"{value:,}"


def cost_text(ledger: fanfold.Ledger) -> str:
    """What a session has cost, for people: its ten most expensive things, and what eliding them would have spared."""
    if not ledger.requests and not ledger.unbilled:
        return "No request went out yet."
    if not ledger.requests:
        return f"No request of this session was billed ({many(ledger.unbilled, 'request')} without a bill)."
    rows: list[tuple[object, ...]] = [("tokens", "cost", "requests", "spare", "kind", "id", "what")]
    for line in ledger.lines[:MOST]:
        thing = line.thing
        what = " ".join(filter(None, (thing.tool, thing.label)))
        rows.append(
            (line.tokens, dollars(line.cost), line.requests, line.spare, thing.kind, thing.id[:8], what)
        )
    head = (
        f"{many(ledger.usage.total, 'token')} in {many(ledger.requests, 'request')}, {dollars(ledger.cost)}"
    )
    more = f"… {len(ledger.lines) - MOST:,} more" if len(ledger.lines) > MOST else ""
    return "\n".join(filter(None, (head, columns(rows, right=(0, 1, 2, 3)), more)))


def dollars(price: float | None) -> str:
    """A price; "–" where it is not known."""
    return "–" if price is None else f"${price:,.4f}"
