"""The server wrote, but its answer was lost on the way: what was said is there once, whoever wrote meanwhile."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import fanfold
from fanfold import Postgres, Session
from fanfold.core.record import Answered, Record
from fanfold.stores import Batch
from postgres_server import PostgresServer


class Way:
    """The way to a server, on which one answer can be lost."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.url = f"postgresql:///postgres?host={folder}&user=postgres"
        self._server = next(server.data.parent.glob(".s.PGSQL.*[0-9]"))
        self._meanwhile: list[Callable[[], object]] = []
        self._entrance = socket.socket(socket.AF_UNIX)
        self._entrance.bind(os.fspath(folder / self._server.name))
        self._entrance.listen()
        threading.Thread(target=self._let_in, daemon=True).start()

    def lose_an_answer(self, meanwhile: Callable[[], object]) -> None:
        """The answer to the next `append` does not arrive; first something else happens.

        Other answers do: a pool may still be opening another connection.
        """
        self._meanwhile.append(meanwhile)

    def _let_in(self) -> None:
        while True:
            client, _ = self._entrance.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(os.fspath(self._server))
            appending = threading.Event()
            for one, other, answers in ((client, server, False), (server, client, True)):
                passing = threading.Thread(
                    target=self._pass_on, args=(one, other, answers, appending), daemon=True
                )
                passing.start()

    def _pass_on(
        self, one: socket.socket, other: socket.socket, answers: bool, appending: threading.Event
    ) -> None:
        while data := one.recv(1 << 16):
            if not answers and self._meanwhile and b".append(" in data:
                appending.set()
            if answers and appending.is_set():
                self._meanwhile.pop()()
                break
            other.sendall(data)
        for end in (one, other):
            end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def way(own_server: PostgresServer) -> Iterator[Way]:
    with TemporaryDirectory(prefix="fanfold-way-") as folder:
        yield Way(own_server, Path(folder))


@pytest.fixture
def mine(way: Way, schema: str) -> Iterator[Postgres]:
    store = Postgres(way.url, schema=schema)
    yield store
    store.close()


@pytest.fixture
def theirs(own_server: PostgresServer, schema: str) -> Iterator[Postgres]:
    store = Postgres(own_server.url, schema=schema)
    yield store
    store.close()


def opened(store: Postgres, on_moved: str = "reapply") -> Session:
    return fanfold.open("run", window=9_000, store=store, on_moved=on_moved)  # type: ignore[arg-type]


def words(chat: Session) -> list[str]:
    return [message.text for message in chat.view().messages]


@pytest.mark.parametrize("on_moved", ["raise", "reapply", "branch"])
def test_what_was_said_is_there_once_though_others_wrote_since(
    way: Way, mine: Postgres, theirs: Postgres, on_moved: str
) -> None:
    chat = opened(mine, on_moved)
    chat.say("first")

    def meanwhile() -> None:
        with opened(theirs) as other:
            other.say("theirs")
            other.say("theirs again")

    way.lose_an_answer(meanwhile)
    chat.say("second")
    assert words(chat) == ["first", "second", "theirs", "theirs again"]
    assert chat.branches == ()
    chat.say("third")
    assert words(opened(theirs)) == ["first", "second", "theirs", "theirs again", "third"]


def test_the_first_message_is_there_once(way: Way, mine: Postgres, theirs: Postgres) -> None:
    chat = opened(mine)
    way.lose_an_answer(lambda: opened(theirs).say("theirs"))
    chat.say("mine")
    assert words(chat) == ["mine", "theirs"]


def test_what_is_written_beside_the_view_is_there_once(way: Way, mine: Postgres, theirs: Postgres) -> None:
    mine.append("t", "s", Batch((note("first"),)), expect=None)
    way.lose_an_answer(lambda: theirs.append("t", "s", Batch((note("theirs"),)), expect=None))
    mine.append("t", "s", Batch((note("second"), note("third"))), expect=None)
    found = theirs.load("t", "s").records
    assert list(found) == [note("first"), note("second"), note("third"), note("theirs")]


def note(text: str) -> Record:
    return Answered("key", text, ())
