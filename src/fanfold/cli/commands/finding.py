"""Commands that find again what the model no longer sees: cat, grep, search."""

from __future__ import annotations

import sys
from itertools import islice
from shlex import quote
from typing import NoReturn

import click
import msgspec

import fanfold
from fanfold.cli.completing import output_refs, references
from fanfold.cli.saying import many, say
from fanfold.cli.sessions import Sessions, on_session, on_store
from fanfold.core.errors import NotFound
from fanfold.outputs.grep import Patience, Pattern
from fanfold.outputs.output import Output
from fanfold.session.stored import undone_refs
from fanfold.stores.search import Passage
from fanfold.stores.search import search as search_store
from fanfold.stores.store import Store


@click.command
@on_session
@click.argument("ref", shell_complete=references)
@click.option(
    "--offset", type=click.IntRange(1), default=1, show_default=True, help="The first line to show."
)
@click.option("--limit", type=click.IntRange(1), help="At most this many lines; by default all.")
def cat(chat: fanfold.Session, ref: str, offset: int, limit: int | None, as_json: bool) -> None:
    """Print a tool's output, or what an edit hides, by its reference.

    The id of a message, or its beginning, prints its only output, or else its words.

    \b
    Example: fanfold cat run-42 o12 | less
    """
    found = chat.output(ref)
    if offset > max(1, found.line_count):
        raise NotFound(f"{found.ref} has {many(found.line_count, 'line')}; there is no line {offset:,}.")
    if as_json:
        lines = found.lines(offset, limit or found.line_count or 1)
        say({"ref": found.ref, "media": found.media, "size": found.size, "lines": lines}, "", True)
    elif offset == 1 and limit is None:
        _pour(found)
    else:
        click.echo("\n".join(found.lines(offset, limit or found.line_count)))


def _pour(output: Output) -> None:
    """All its bytes, as they came."""
    for chunk in output.chunks():
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()


@click.command
@on_session
@click.argument("pattern")
@click.argument("ref", required=False, shell_complete=output_refs)
@click.option("-i", "--ignore-case", is_flag=True, help="Ignore upper and lower case.")
@click.option(
    "-B", "--before", type=click.IntRange(0), default=0, help="Show this many lines before each hit."
)
@click.option("-A", "--after", type=click.IntRange(0), default=0, help="Show this many lines after each hit.")
@click.option("-m", "--limit", type=click.IntRange(1), help="At most this many hits in each output.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="Stop with an error after this many seconds.",
)
def grep(
    chat: fanfold.Session,
    pattern: str,
    ref: str | None,
    ignore_case: bool,
    before: int,
    after: int,
    limit: int | None,
    timeout: float,
    as_json: bool,
) -> None:
    """Search one output, or all outputs of a session, for a pattern (RE2).

    The newest come first, and what undone edits hid comes last. For messages: `fanfold search`. Exit code 1 if nothing
    matches.

    \b
    Example: fanfold grep run-42 'Traceback|Error'
    """
    Pattern(pattern, ignore_case=ignore_case)  # a wrong one is told even if there is nothing to search
    texts = [place for place in chat.outputs() if place.is_text]
    patience = Patience(timeout)
    found = [
        (place.ref, hit)
        for place in ([chat.output(ref)] if ref else texts)
        for hit in place.grep(pattern, before, after, limit, ignore_case=ignore_case, timeout=patience)
    ]
    lines = [":-"[not hit.match].join((ref, str(hit.line), hit.text)) for ref, hit in found]
    undone = undone_refs(chat)
    told = [{"ref": ref, **hit._asdict(), "undone": undone.get(ref)} for ref, hit in found]
    say(told, "\n".join(lines), as_json)
    for name in dict.fromkeys(name for name, _ in found if name in undone and not as_json):
        click.echo(
            f"{name} is what {undone[name]} hid; that is undone, so it stands in the messages.", err=True
        )
    if not found:
        end_without("No output matches. `fanfold search` looks through messages too.", as_json)


@click.command
@on_store
@click.argument("words", metavar="WORDS", nargs=-1, required=True)
@click.option("--session", help="Search this session only.")
@click.option(
    "-m", "--limit", type=click.IntRange(1), default=50, show_default=True, help="At most this many hits."
)
def search(
    sessions: Sessions, words: tuple[str, ...], session: str | None, limit: int, as_json: bool
) -> None:
    """Search all sessions of a store for words, also in what is hidden.

    Messages, whole outputs, summaries, notes, system prompts, labels and names of sessions: everything that was not
    erased. Upper and lower case are the same. Exit code 1 if nothing is found.

    \b
    Example: fanfold search 'connection refused'
    """
    if session is not None:
        session = sessions.name_of(session)
    if len(words) > 1:
        quoted = quote(" ".join(words))
        raise click.UsageError(f"To search for several words, quote them: fanfold search {quoted}.")
    hits = search_store(sessions.store, sessions.tenant, words[0], session=session)
    found = list(islice(hits, limit))
    say([msgspec.structs.asdict(one) for one in found], "\n".join(map(passage_line, found)), as_json)
    if next(hits, None) is not None and not as_json:
        click.echo(f"There are more than {limit:,}: give a larger -m.", err=True)
    if not found:
        end_without(f"No session here has these words.{remains_of(sessions.store)}", as_json)


def end_without(text: str, as_json: bool) -> NoReturn:
    """Say that nothing was found, to people only, and end with 1."""
    if not as_json:
        click.echo(text, err=True)
    click.get_current_context().exit(1)


def passage_line(passage: Passage) -> str:
    """A passage in a line: where it is, and what it says."""
    return f"{passage.session}:{place_of(passage, 8)}: {passage.text}"


def place_of(passage: Passage, most: int | None = None) -> str:
    """What `erase` takes for a passage; of the id of a message, the first characters are enough for people."""
    return passage.ref or passage.edit or passage.entry[:most] or passage.kind


def remains_of(store: Store) -> str:
    """Where this kind of store keeps for a while what was erased, as a sentence; nothing where it is gone at once."""
    told = str(getattr(store, "remains", ""))
    return f" {told}" if told else ""
