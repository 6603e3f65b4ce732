"""A PostgreSQL server for all tests of a run, and a schema in it for each."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator

import pytest

from fanfold import Postgres
from postgres_server import GIVEN, PostgresServer, running


@pytest.fixture(scope="session")
def own_server() -> Iterator[PostgresServer]:
    """A server that a test may stop and whose files it may read; nothing of it outlives a power cut."""
    with running("fsync=off", "shared_buffers=16MB") as server:
        yield server


@pytest.fixture(scope="session")
def url(request: pytest.FixtureRequest) -> str:
    """The address of a server."""
    return GIVEN or request.getfixturevalue("own_server").url


Connect = Callable[..., Postgres]


@pytest.fixture
def schema() -> str:
    return f"test_{secrets.token_hex(6)}"


@pytest.fixture
def connect(url: str, schema: str) -> Iterator[Connect]:
    """Stores on one schema, closed and removed at the end."""
    made: list[Postgres] = []

    def connect(**options: object) -> Postgres:
        made.append(Postgres(url, schema=schema, **options))  # type: ignore[arg-type]
        return made[-1]

    yield connect
    for store in made:
        store.close()
    drop(url, schema)


def hurry(store: Postgres) -> None:
    """Let its only connection wait a fifth of a second for what somebody holds.

    With `timeout` that short, a busy machine would not even get a connection in time.
    """
    store._timeout = 0.2
    with store.server.connected() as connection:
        connection.execute("SET lock_timeout = 200")


def drop(url: str, schema: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"SET client_min_messages = error; DROP SCHEMA IF EXISTS {schema} CASCADE")
