"""Bringing sessions into a store: what fanfold exported, and what other tools recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

import msgspec

import fanfold
from fanfold import transcripts
from fanfold.cli.saying import show_count
from fanfold.cli.sessions import message_count
from fanfold.cli.sources import bytes_of, request_of
from fanfold.core.errors import BadInput, FanfoldError
from fanfold.session.open import open_aside
from fanfold.session.stored import StoredSessions
from fanfold.session.summarize import ANY_WINDOW
from fanfold.stores.opening import open_store
from fanfold.stores.store import Store, records_of
from fanfold.tokens.models import lookup
from fanfold.transcripts import Conversation

_EXPORT = b'{"kind":"session"'


class Imported(msgspec.Struct, frozen=True):
    """A session that was brought in."""

    name: str
    messages: int
    format: str


def import_file(file: Path, store: str, tenant: str, name: str | None) -> list[Imported]:
    """Bring a file in: one session for each conversation that is in it."""
    if file.is_dir():
        return _import_all(transcripts.read(file), store, tenant, name)
    with bytes_of(file) as stream:
        if not stream.peek(len(_EXPORT)).startswith(_EXPORT):
            return _import_all(transcripts.read(stream), store, tenant, name or file.stem)
        place = _open_lasting(store)
        made = fanfold.import_session(place, stream, tenant=tenant, name=name)
        with suppress(FanfoldError), StoredSessions(place, tenant).open(made):
            pass  # when it is closed, the figures that `ls` shows are kept
        return [Imported(made, message_count(place, tenant, records_of(place, tenant, made)), "fanfold")]


def _open_lasting(store: str) -> Store:
    if store == "memory":
        raise BadInput(
            "What is in memory is gone when the command ends; name a file, such as sqlite:agent.db."
        )
    return open_store(store)


def _import_all(
    conversations: Iterator[Conversation], store: str, tenant: str, name: str | None
) -> list[Imported]:
    first = next(conversations, None)  # before a store is made for nothing
    if first is None:
        raise BadInput("There is no conversation in it.")
    place, made = _open_lasting(store), list[Imported]()
    taken = set(place.sessions(tenant))
    for conversation in show_count(chain((first,), conversations), "conversations"):
        called = _free_name(name or conversation.id, taken)
        taken.add(called)
        _take_in(conversation, place, tenant, called)
        said = message_count(place, tenant, records_of(place, tenant, called))
        made.append(Imported(called, said, conversation.format))
    return made


def _free_name(name: str, taken: set[str]) -> str:
    number, called = 1, name
    while called in taken:
        number += 1
        called = f"{name}-{number}"
    return called


def _take_in(conversation: Conversation, store: Store, tenant: str, name: str) -> None:
    known = conversation.model if conversation.model and lookup(conversation.model) else None
    last = next((time for time in reversed(conversation.times) if time is not None), 0.0)
    with open_aside(
        name,
        ("model", "dialect"),
        store=store,
        tenant=tenant,
        model=known,
        window=ANY_WINDOW,
        dialect=conversation.dialect,
        clock=lambda: last,
    ) as chat:
        chat.merge(request_of(conversation))
