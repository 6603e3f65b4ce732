"""Sessions in a store, opened for a command as their agent left them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import click

import fanfold
from fanfold.cli.saying import as_json
from fanfold.cli.sizes import model_names, session_names, size
from fanfold.config.choice import remembered_options
from fanfold.config.options import Options
from fanfold.core.errors import NotFound
from fanfold.core.message import Message
from fanfold.core.record import Move, Opened, Record, Sent
from fanfold.session.open import open_aside
from fanfold.stores.opening import open_store, parse_name
from fanfold.stores.store import Store
from fanfold.tokens.models import lookup

DEFAULT = "sqlite:agent.db"
ANY_WINDOW = 1 << 40
"""Where no limit is known, nothing is reduced."""


class Sessions:
    """The sessions of one tenant in a store, as a command was told."""

    def __init__(self, store: str, tenant: str, model: str | None = None, window: int | None = None) -> None:
        self.store: Store = open_store(existing_store(store))
        self.tenant = tenant
        self.model = model
        self.window = window

    def names(self) -> list[str]:
        """The sessions kept here."""
        return self.store.sessions(self.tenant)

    def find(self, name: str) -> None:
        """Make sure that a session is here."""
        if not self.store.load(self.tenant, name, most=1).records:
            raise NotFound(f"There is no session {name!r} here; {_list_names(self.names())}.")

    def records(self, name: str) -> list[Record]:
        """All that was recorded in a session."""
        self.find(name)
        return list(self.store.load(self.tenant, name).records)

    def open(self, name: str) -> fanfold.Session:
        """The session as its agent left it: what it was opened with is remembered, else told by what was recorded.

        What the command is told is not remembered: the agent goes on as before.
        """
        return open_aside(name, **self._options(self.records(name)))

    def _options(self, records: list[Record]) -> dict[str, Any]:
        """What the command is told, and what records tell where nothing is remembered: earlier releases wrote less."""
        last = last_opening(records)
        options = {"store": self.store, "tenant": self.tenant, "model": self.model, "window": self.window}
        before = remembered_options(Options(model=self.model, window=self.window, strategy=()), last)
        known = self.model or before.model
        model = known or model_of(records)
        listed = model is not None and lookup(model) is not None
        if known is None and listed:
            options["model"] = model
        if self.window is None and before.window is None and not listed:
            options["window"] = ANY_WINDOW
        if last is None or last.dialect is None:
            options["dialect"] = self._dialect(records)
        return options

    def _dialect(self, records: list[Record]) -> str:
        heads = [record.head for record in records if isinstance(record, Move) and record.head]
        for head in reversed(heads[-20:]):
            entry = self.store.entry(self.tenant, head)
            if entry is not None and entry.message.wire is not None:
                return entry.message.wire.dialect
        return "openai.chat"

    def message(self, id: str) -> Message | None:
        """The message of an entry."""
        entry = self.store.entry(self.tenant, id)
        return entry.message if entry else None


def last_opening(records: list[Record]) -> Opened | None:
    """What a session remembers of how it was opened."""
    return next((record for record in reversed(records) if isinstance(record, Opened)), None)


def model_of(records: list[Record]) -> str | None:
    """The model that the last request was made for."""
    for record in reversed(records):
        if isinstance(record, Sent):
            model = record.params.get("model")
            return model if isinstance(model, str) else None
    return None


def message_count(store: Store, tenant: str, records: Iterable[Record]) -> int:
    """How many messages a session has, those that it was forked with too."""
    moves = [record for record in records if isinstance(record, Move) and record.head is not None]
    said = {move.head for move in moves if move.how == "append"}
    start = next((move.head for move in moves if move.how == "fork"), None)
    inherited = [entry.id for entry in store.path(tenant, start)] if start is not None else []
    return len(said.union(inherited))


def existing_store(store: str) -> str:
    """The store, if it is there: a command that looks makes no new file."""
    file = parse_name(store).file
    if file is not None and not file.is_file():
        raise NotFound(f"There is no store {store}; name one with --store, or in FANFOLD_STORE.")
    return store


def _list_names(names: list[str]) -> str:
    if not names:
        return "there are none yet"
    return f"there are {', '.join(names[:8])}" + (" …" if len(names) > 8 else "")


store_option = click.option(
    "-s",
    "--store",
    envvar="FANFOLD_STORE",
    default=DEFAULT,
    show_default=True,
    is_eager=True,  # known when the shell completes a session's name
    help="sqlite:FILE or postgresql://…; also from FANFOLD_STORE.",
)
tenant_option = click.option(
    "--tenant", default="default", show_default=True, is_eager=True, help="Whose sessions."
)
session_argument = click.argument("session", shell_complete=session_names)
model_option = click.option(
    "--model", help="The model to count for, if not the recorded one.", shell_complete=model_names
)
window_option = click.option("--window", type=size, help="The window, such as 128k, if not the model's.")


def on_store(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command on a store: it is given a `Sessions` and `as_json`."""

    @as_json
    @tenant_option
    @store_option
    @wraps(command)
    def call(store: str, tenant: str, **options: Any) -> Any:
        model, window = options.pop("model", None), options.pop("window", None)
        return command(Sessions(store, tenant, model, window), **options)

    return call


def on_session(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command on one session of a store: it is given the session, opened, and `as_json`."""

    @on_store
    @session_argument
    @model_option
    @window_option
    @wraps(command)
    def call(sessions: Sessions, session: str, **options: Any) -> Any:
        with sessions.open(session) as chat:
            return command(chat, **options)

    return call
