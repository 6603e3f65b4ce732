"""Sessions in a store, opened for a command as their agent left them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import click

from fanfold.cli.completing import model_names, session_names
from fanfold.cli.saying import as_json
from fanfold.cli.sizes import size
from fanfold.config.naming import ASKING, STRATEGIES, strategies_named
from fanfold.config.settings import with_settings
from fanfold.core.errors import NotFound
from fanfold.core.plan import Strategy
from fanfold.core.record import Move, Record
from fanfold.session.pool import Pool
from fanfold.session.session import Session
from fanfold.session.stored import StoredSessions, asks_or_is_unknown, last_opening, list_names, no_session
from fanfold.stores.opening import open_store, parse_name
from fanfold.stores.store import Store
from fanfold.strategies.auto import auto

DEFAULT, DEFAULT_TENANT = "sqlite:agent.db", "default"


def default_store() -> str:
    """The store of fanfold.toml, else the usual one."""
    return str(with_settings({}).get("store", DEFAULT))


def default_tenant() -> str:
    """The tenant of the environment or fanfold.toml, else the usual one."""
    return str(with_settings({}).get("tenant", DEFAULT_TENANT))


class Sessions(StoredSessions):
    """The sessions of one tenant in a store, as a command was told."""

    def __init__(
        self,
        store: str,
        tenant: str,
        model: str | None = None,
        window: int | None = None,
        strategy: tuple[str, ...] = (),
    ) -> None:
        super().__init__(open_store(existing_store(store)), tenant, model, window)
        self.strategy = strategy

    def name_of(self, begun: str) -> str:
        """The session of this name, or the only one whose name begins so."""
        return meant(begun, self.names())

    @contextmanager
    def use(self, name: str) -> Iterator[Session]:
        """The session as its agent left it. If the agent writes meanwhile, what the command does is done after that.

        It reduces as it is told, else as its agent would; where the agent asks a model, or has a function of its own,
        as the default does.
        """
        name = self.name_of(name)
        records = self.records(name)
        options = self.options(records)
        strategy: Sequence[Strategy] | None = strategies_named(self.strategy)
        if not strategy:
            strategy = [auto()] if asks_or_is_unknown(last_opening(records)) else None
        pool = Pool(options.pop("store"), remember=False, strategy=strategy)
        with pool, pool.session(name, **options) as chat:
            yield chat


def meant(begun: str, names: Sequence[str]) -> str:
    """The session of this name, or the only one whose name begins so; else which there are."""
    found = [name for name in names if name.startswith(begun)] if begun else []
    if begun in names:
        return begun
    if len(found) > 1:
        raise NotFound(f"More than one session here begins with {begun!r}: {list_names(found)}.")
    if not found:
        raise no_session(begun, names)
    return found[0]


def message_count(store: Store, tenant: str, records: Iterable[Record]) -> int:
    """How many messages a session has, those that it was forked with too."""
    moves = [record for record in records if isinstance(record, Move) and record.head is not None]
    said = {move.head for move in moves if move.how == "append"}
    start = next((move.head for move in moves if move.how == "fork"), None)
    inherited = [entry.id for entry in store.path(tenant, start)] if start is not None else []
    return len(said.union(inherited))


def existing_store(store: str, how: str = "with --store") -> str:
    """The store, if it is there: a command that looks makes no new file, and no store of an empty one."""
    file = parse_name(store).file
    if file is not None and not file.is_file():
        raise NotFound(f"There is no store {store}; name one {how}, or in FANFOLD_STORE.")
    if file is not None and not file.stat().st_size:
        raise NotFound(f"{file} is an empty file: no session was ever stored in it. Name another one {how}.")
    return store


store_option = click.option(
    "-s",
    "--store",
    envvar="FANFOLD_STORE",
    default=default_store,
    show_default=DEFAULT,
    is_eager=True,  # known when the shell completes a session's name
    help="sqlite:FILE or postgresql://…; also from FANFOLD_STORE or fanfold.toml.",
)
tenant_option = click.option(
    "--tenant",
    default=default_tenant,
    show_default=DEFAULT_TENANT,
    is_eager=True,
    help="Whose sessions; also from FANFOLD_TENANT or fanfold.toml.",
)
session_argument = click.argument("session", shell_complete=session_names)
model_option = click.option(
    "--model", help="The model to count for, if not the recorded one.", shell_complete=model_names
)
window_option = click.option("--window", type=size, help="The window, such as 128k, if not the model's.")
OFFLINE = tuple(name for name in STRATEGIES if name not in ASKING)
"""Strategies that ask no model."""
strategy_option = click.option(
    "--strategy",
    type=click.Choice(OFFLINE),
    multiple=True,
    help="How to reduce; several are tried in order.",
)


def on_store(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command on a store: it is given a `Sessions` and `as_json`."""

    @as_json
    @tenant_option
    @store_option
    @wraps(command)
    def call(store: str, tenant: str, **options: Any) -> Any:
        model, window, strategy = (options.pop(name, None) for name in ("model", "window", "strategy"))
        return command(Sessions(store, tenant, model, window, strategy=strategy or ()), **options)

    return call


def on_session(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command on one session of a store: it is given the session, opened, and `as_json`."""

    @on_store
    @session_argument
    @model_option
    @window_option
    @wraps(command)
    def call(sessions: Sessions, session: str, **options: Any) -> Any:
        with sessions.use(session) as chat:
            return command(chat, **options)

    return call
