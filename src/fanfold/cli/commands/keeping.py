"""Commands that keep a store: import, export, gc, erase, doctor, rekey."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import click

import fanfold
from fanfold.cli.commands.finding import end_without, passage_line, place_of, remains_of
from fanfold.cli.completing import all_ids
from fanfold.cli.files import FILE, atomic_file
from fanfold.cli.saying import as_json, many, say
from fanfold.cli.sessions import (
    Sessions,
    existing_store,
    on_session,
    on_store,
    session_argument,
    store_option,
    tenant_option,
)
from fanfold.cli.views import command_on, within_terminal
from fanfold.core.errors import BadInput, BadSetting, Corrupt, NotFound
from fanfold.outputs.output import bytes_in_words
from fanfold.session.keep import said_of_damage
from fanfold.session.salvage import Salvaged, export_readable
from fanfold.session.stored import edits_along, tenant_of
from fanfold.stores.opening import open_alone
from fanfold.stores.search import Passage, search

_NAMED = 5
"""So many names, or sessions, are printed."""
_SHOWN = 50
"""So many places are listed before they are erased."""
_BESIDE = re.compile(r"e[0-9]+|system|labels|context|request [0-9]+")
"""How `erase` names a note, a fold or a pin, system prompts, labels, and the contexts of requests."""


@click.command
@on_store
@session_argument
@click.option("-o", "--out", type=FILE, help="The file to write; without it, standard output.")
@click.option("--readable", is_flag=True, help="Of a damaged session, write the messages that can be read.")
def export(sessions: Sessions, session: str, out: Path | None, readable: bool, as_json: bool) -> None:
    """Write a session as one file of JSON lines, with its outputs.

    The file is readable by you alone: it holds everything that was said. With --readable, a damaged session is
    written as a new one: its messages, with a line in the place of each that is lost. What is lost is said, and the
    exit code is 1.

    \b
    Example: fanfold export run-42 -o run-42.jsonl
    """
    session = sessions.name_of(session)
    with atomic_file(out, private=True) as file:
        write = export_readable if readable else _export
        found = write(sessions.store, session, file, tenant=sessions.tenant)
    for sentence in found.lost:
        click.echo(f"fanfold: {sentence}", err=True)
    if found.lost:
        saved = f"{many(found.messages, 'message')} could be read and saved; edits, notes and requests are left out."
        click.echo(f"fanfold: {saved}", err=True)
    if out is not None:
        told = {"lost": found.lost, "messages": found.messages} if found.lost else {}
        say({"lines": found.lines, "file": str(out)} | told, f"{found.lines:,} lines in {out}", as_json)
    if found.lost:
        click.get_current_context().exit(1)


def _export(store: fanfold.Store | str, session: str, file: BinaryIO, *, tenant: str) -> Salvaged:
    try:
        return Salvaged(fanfold.export_session(store, session, file, tenant=tenant))
    except Corrupt as error:
        raise Corrupt(said_of_damage(session, str(error))) from error


@click.command
@on_session
@click.option("-n", "--now", "delete", is_flag=True, help="Delete; without it, they are only listed.")
@click.option(
    "--hidden",
    is_flag=True,
    help="Also hidden outputs that only this session has; undo cannot show them any more.",
)
def gc(chat: fanfold.Session, delete: bool, hidden: bool, as_json: bool) -> None:
    """List blobs that nothing refers to, and hidden outputs.

    --now deletes the blobs, and nothing that undo needs; with --hidden also the hidden outputs that it lists.

    \b
    Example: fanfold gc run-42 --now
    """
    found = chat.gc(delete=delete, hidden=hidden)
    say(found, "\n".join(_lines_of(found, delete, hidden)), as_json)


def _lines_of(found: fanfold.Garbage, deleted: bool, hidden: bool) -> Iterator[str]:
    """What could be deleted, or was, in a few lines."""
    if not found:
        yield "Nothing was deleted." if deleted else "Everything is still referred to."
    if found.blobs:
        size = bytes_in_words(sum(blob.size for blob in found.blobs))
        end = "deleted" if deleted else "could be deleted with --now"
        yield f"{many(len(found.blobs), 'blob')} that nothing refers to, {size}, {end}"
    if found.hidden:
        size = bytes_in_words(sum(output.size for output in found.hidden))
        end = (
            "could be deleted with --hidden --now"
            if hidden
            else "kept for undo; --hidden says which could go"
        )
        yield f"{many(len(found.hidden), 'hidden output')}, {size}, {'deleted' if deleted else end}"
    if hidden and found.undos:
        yield f"Undoing {', '.join(found.undos)} {'shows a stub now' if deleted else 'would then show a stub'}."


@click.command
@on_session
@click.argument("entries", metavar="ENTRY...", nargs=-1, shell_complete=all_ids)
@click.option(
    "--found", multiple=True, metavar="WORDS", help="Everything in the session that has these words."
)
@click.option("--reason", required=True, help="The reason; it is shown in place of the content.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would be destroyed, and change nothing.")
def erase(
    chat: fanfold.Session,
    entries: tuple[str, ...],
    found: tuple[str, ...],
    reason: str,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Destroy messages, outputs, prompts, labels, contexts, notes everywhere.

    ENTRY is what `fanfold search` prints: the id of a message, of a system prompt, of labels or of the context of a
    request, `o12` for an output, `e7` for a note, a fold or a pin that a person wrote. `system` is every system prompt
    that the session ever had, `labels` all its labels, `context` the contexts of all its requests, "request 3" that of
    one. It cannot be undone. A summary that was made from a message goes with it as a whole. An automatic edit among
    the names is left out if its words go along with the rest.

    --found stands for all that `search` finds in this session: it is listed first. Give it for each form of a name.

    \b
    Example: fanfold erase run-42 o12 --reason "holds a password"
    Example: fanfold erase run-42 --found jana --found "0171 555" --reason "asked to forget"
    """
    passages = _find_passages(chat, found)
    for line in _list_passages(passages) if dry_run or not yes else ():
        click.echo(line, err=not dry_run or as_json)
    entries, left_out = _without_automatic(chat, _all_names(chat, entries, found, passages, as_json))
    summaries, gone = _summaries_of(chat, entries, reason), _erased_before(chat, entries)
    shared = _sessions_with(chat, [name for name in entries if name not in gone])
    if dry_run:
        left = [name for name in entries if name not in gone]
        lists = {"entries": left, "left_out": left_out, "summaries": summaries, "sessions": shared}
        told = [*_say_gone(gone), *_say_left(left), *_say_left_out(left_out, "would go")]
        told += [*_say_lost(chat, summaries, "would go"), *_say_shared(shared, "would show")]
        say({"erased": None, **lists, "dry_run": True}, " ".join([*told, "Nothing was erased."]), as_json)
        return
    for line in (*_say_left_out(left_out, "goes"), *_say_lost(chat, summaries, "goes")) if not yes else ():
        click.echo(line, err=True)
    if not yes and not _confirmed(f"Destroy {_listed(entries)} in {chat.name} for good?"):
        say({"erased": None}, "Nothing was erased.", as_json)
        click.get_current_context().exit(1)
    done, along = _erase_each(chat, entries, reason)
    told = [*_say_erased(done, along, reason), *_say_left_out(left_out, "went")]
    for id, line in zip(summaries, _say_lost(chat, summaries, "went"), strict=True):
        told.append(f"{line} {_say_others(chat, id)}")
    told += [*_say_shared(shared, "shows"), *filter(None, [remains_of(tenant_of(chat).store).strip()])]
    all_of_it = [*done, *along]
    erased = all_of_it if len(all_of_it) > 1 else all_of_it[0]
    result = {"erased": erased, "reason": reason, "left_out": left_out}
    say({**result, "summaries": summaries, "sessions": shared}, "\n".join(told), as_json)


def _find_passages(chat: fanfold.Session, words: Sequence[str]) -> list[Passage]:
    """What a search finds in a session, each place once."""
    tenant = tenant_of(chat)
    found = (one for text in words for one in search(tenant.store, tenant.name, text, session=chat.name))
    return list({place_of(one): one for one in found}.values())


def _all_names(
    chat: fanfold.Session,
    entries: Sequence[str],
    words: Sequence[str],
    passages: Sequence[Passage],
    as_json: bool,
) -> Sequence[str]:
    """What was named and what was found; where that is nothing, the command ends."""
    if not entries and not words:
        raise click.UsageError("Name what to erase, or give --found WORDS.")
    names = [*entries, *map(place_of, passages)]
    if not names:
        end_without(f"Nothing in {chat.name} has these words.{remains_of(tenant_of(chat).store)}", as_json)
    return names


def _list_passages(passages: Sequence[Passage]) -> Iterator[str]:
    """Where the words stand, as far as a person reads that."""
    yield from within_terminal(map(passage_line, passages[:_SHOWN]))
    if len(passages) > _SHOWN:
        yield f"… and {len(passages) - _SHOWN:,} more; `fanfold search` lists them."


_NAME = "name"
"""How a search calls the name of a session."""


def _without_automatic(
    chat: fanfold.Session, names: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Some names without automatic edits that go along with the rest, and without that of the session; and these."""
    given = list(dict.fromkeys(names))
    rest = [name for name in given if name != _NAME]
    along = edits_along(chat, rest)
    left_out = tuple(name for name in given if name in along or (name == _NAME and rest))
    return tuple(name for name in given if name not in left_out), left_out


def _say_left_out(names: Sequence[str], goes: str) -> list[str]:
    """Which names need no erasure of their own, and which cannot be erased."""
    edits = [name for name in names if name != _NAME]
    verb = goes.replace("goes", "go") if len(edits) > 1 else goes
    what = "are automatic edits" if len(edits) > 1 else "is an automatic edit"
    told = [f"{_listed(edits)} {what}: what is erased there {verb} along."] if edits else []
    kept = "The name of the session stays: no name can be erased."
    return told + [kept] * (_NAME in names)


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are; --json has them all."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _say_gone(gone: Mapping[str, str]) -> Iterator[str]:
    """What was erased before, and why."""
    for why in dict.fromkeys(gone.values()):
        names = [name for name, other in gone.items() if other == why]
        yield f"{_listed(names)} {'is' if len(names) == 1 else 'are'} erased already ({why})."


def _say_left(names: Sequence[str]) -> list[str]:
    return [f"{_listed(names)} would be destroyed for good."] if names else []


def _say_erased(done: Sequence[str], along: Sequence[str], reason: str) -> Iterator[str]:
    """What was erased, a line for each of a few and one for many, and what was gone with it."""
    ids = [name if name.startswith("request ") else name[:8] for name in done]
    if len(ids) > _NAMED:
        yield f"{_listed(ids)} are erased: {reason}"
    else:
        yield from (f"{id} is erased: {reason}" for id in ids)
    if along:
        yield f"{_listed([name[:8] for name in along])} went with it."


def _erased_before(chat: fanfold.Session, names: Sequence[str]) -> dict[str, str]:
    """Those of some names that stand for a message that is erased, each with the reason."""
    messages = [name for name in names if not _is_beside(chat, name)]
    return {name: why for name in messages if (why := chat.why(name).erased)}


def _sessions_with(chat: fanfold.Session, names: Sequence[str]) -> list[str]:
    """The other sessions that have some of these messages, such as forks."""
    tenant = tenant_of(chat)
    ids = [chat.why(name).entry for name in names if not _is_beside(chat, name)]
    forks = tenant.store.referring(tenant.name, ids) if ids else []
    return [name for name in forks if name != chat.name]


def _say_shared(sessions: Sequence[str], shows: str) -> list[str]:
    """That others have it, too."""
    if not sessions:
        return []
    named = ", ".join(sessions[:_NAMED])
    more = f" and {len(sessions) - _NAMED:,} more" if len(sessions) > _NAMED else ""
    whose = "The session" if len(sessions) == 1 else "The sessions"
    verb = shows.removesuffix("s") if len(sessions) > 1 else shows
    return [f"{whose} {named}{more} {verb} it as erased, too."]


def _erase_each(chat: fanfold.Session, names: Sequence[str], reason: str) -> tuple[list[str], list[str]]:
    """Erase what these stand for; returns what was erased, and what was gone with it when its turn came.

    The names were all found a moment ago. A message takes along what quotes it, so that what stands beside the
    messages comes first: it is known again by its own words, should a client or an export bring them once more.
    """
    done, along = list[str](), list[str]()
    for name in sorted(dict.fromkeys(names), key=lambda name: not _is_beside(chat, name)):
        try:
            done.append(chat.erase(name, reason))
        except (NotFound, BadInput):
            if not done:
                raise
            along.append(name)
    return done, along


def _is_beside(chat: fanfold.Session, name: str) -> bool:
    """Whether a name stands for words beside the messages, such as a note or the context of a request."""
    if _BESIDE.fullmatch(name):
        return True
    try:
        chat.why(name)
    except NotFound:
        return True
    return False


def _summaries_of(chat: fanfold.Session, entries: Sequence[str], reason: str) -> list[str]:
    """The summaries in view that go with what is erased."""
    told = [chat.preview("erase", entry, reason).summaries for entry in entries]
    return list(dict.fromkeys(id for summaries in told for id in summaries))


def _say_lost(chat: fanfold.Session, summaries: Sequence[str], goes: str) -> list[str]:
    """That these go as a whole."""
    return [
        f"The summary {id} of {many(len(chat.why(id).hides), 'message')} {goes} with it, as a whole, "
        "because it was written from all of them together."
        for id in summaries
    ]


def _say_others(chat: fanfold.Session, id: str) -> str:
    """How the other messages under a summary come back."""
    undo, release = (command_on(chat, id, verb) for verb in ("undo", "release"))
    others = sum(not chat.why(entry).erased for entry in chat.why(id).hides)
    return f"`{undo}` shows the other {others:,} again, `{release}` lets them be summarized anew."


def _confirmed(question: str) -> bool:
    """Ask a person, if there is one."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():  # Ctrl-C
            raise
        raise BadInput("Nothing was erased: give --yes.") from None


@click.command
@store_option
@click.option("--look-only", is_flag=True, help="Repair nothing.")
@click.option(
    "--clear", is_flag=True, help="Delete files that belong to no blob; without it, they are only listed."
)
@as_json
def doctor(store: str, look_only: bool, clear: bool, as_json: bool) -> None:
    """Check a store, and repair what can be repaired.

    What cannot is said; exit code 1 if it is damaged. After a loss, files that belong to no blob may be
    all that is left of it, so they are kept unless --clear is given.

    \b
    Example: fanfold doctor --store sqlite:agent.db
    """
    report = fanfold.doctor(store, repair=not look_only, clear=clear)
    say(report, str(report), as_json)
    if not report.healthy:
        click.get_current_context().exit(1)


@click.command
@store_option
@as_json
def rekey(store: str, as_json: bool) -> None:
    """Seal a store with another key.

    The key that it has is read from FANFOLD_KEY, the new one from FANFOLD_NEW_KEY: 64 hexadecimal digits each.
    Keep the new key somewhere first: without it nobody can read the store again. Programs that have the store open
    meanwhile have to open it again with the new key.

    \b
    Example: fanfold rekey --store sqlite:agent.db
    """
    key = os.environ.get("FANFOLD_NEW_KEY")
    if not key:
        raise BadSetting(
            "Make a new key, for example with `openssl rand -hex 32 > new.key`, keep it in a safe place, "
            "and put it into FANFOLD_NEW_KEY."
        )
    place = open_alone(existing_store(store))
    try:
        place.rekey(key)
    finally:
        place.close()
    say({"store": store, "rekeyed": True}, f"{store} is sealed with the new key.", as_json)


@click.command(name="import")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--name", help="The session's name, if not the recorded one.")
@store_option
@tenant_option
@as_json
def bring(file: Path, name: str | None, store: str, tenant: str, as_json: bool) -> None:
    """Import an exported session, or a transcript of another tool.

    \b
    Example: fanfold import ~/.codex/sessions/rollout.jsonl --name yesterday
    """
    from fanfold.cli.importing import import_file  # late: it knows every transcript format

    made = import_file(file, store, tenant, name)
    lines = [f"{one.name}: {many(one.messages, 'message')} ({one.format})" for one in made]
    say(made, "\n".join(lines), as_json)
