"""After an erasure the bytes are nowhere in the server's tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

import fanfold
from builders import asks, calls, gives, says, tell
from conftest import drop
from fanfold import Fold, Postgres, ask
from fanfold.cli import main
from fanfold.testing import FakeModel
from postgres_server import PostgresServer, running

Connect = Callable[..., Postgres]


@pytest.fixture
def store(own_server: PostgresServer, schema: str) -> Any:
    store = Postgres(own_server.url, schema=schema)
    yield store
    store.close()


def is_there(server: PostgresServer, mark: str) -> bool:
    """Whether any file of the tables holds these bytes."""
    with psycopg.connect(server.url, autocommit=True) as plain:
        plain.execute("CHECKPOINT")
    files = [path for path in (server.data / "base").rglob("*") if path.is_file()]
    return any(mark.encode() in _bytes_of(path) for path in files)


def _bytes_of(path: Path) -> bytes:
    """What a file holds; the server removes some of its own at any time."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def test_nothing_is_left_of_an_erased_message(own_server: PostgresServer, store: Postgres) -> None:
    mark = "zebra-7f3a-crossing"
    chat = fanfold.open("run", window=9_000, store=store)
    tell(chat, asks("Mend it."), calls("c1", arguments=f'{{"key": "{mark}"}}'))
    result = tell(chat, gives("c1", f"the password is {mark} " * 20))[0]
    tell(chat, says("Done."))
    call = chat.view().rows[1].id
    assert is_there(own_server, mark)
    chat.erase(result, "a person asked")
    chat.erase(call, "a person asked")
    assert not is_there(own_server, mark)
    chat.close()
    assert not is_there(own_server, mark)


def wal_has(server: PostgresServer, mark: str) -> bool:
    """Whether any file of the write-ahead log holds these bytes, whether it is in use or kept to be used again."""
    files = [path for path in (server.data / "pg_wal").rglob("*") if path.is_file()]
    return any(mark.encode() in _bytes_of(path) for path in files)


def test_the_commands_of_the_docs_clear_the_write_ahead_log(schema: str) -> None:
    """(43.6) A file that the server had put by to use again still had the bytes, and no switch reached it."""
    mark = "zebra-7f3a-crossing"
    page = (Path(__file__).parents[2] / "docs" / "store.md").read_text()
    commands = page.partition("```sql\n")[2].partition("```")[0].strip().splitlines()
    with running("fsync=off") as server, psycopg.connect(server.url, autocommit=True) as plain:
        store = Postgres(server.url, schema=schema)
        chat = fanfold.open("run", window=9_000, store=store)
        entry = chat.say(f"It is {mark}.")
        plain.execute("CREATE TABLE junk AS SELECT md5(n::text) FROM generate_series(1, 800000) n")
        plain.execute("SELECT pg_switch_wal()")
        plain.execute("CHECKPOINT")  # now the file with the mark waits to be used again
        chat.erase(entry.id, "a person asked")
        plain.execute("SELECT pg_switch_wal()")
        plain.execute("CHECKPOINT")
        assert wal_has(server, mark)
        for command in commands:
            plain.execute(command.encode())
        assert not wal_has(server, mark)
        assert chat.view().messages[0].text == "[erased: a person asked]"
        chat.close()
        store.close()


def test_nothing_is_left_of_a_system_prompt_a_note_or_labels(
    own_server: PostgresServer, store: Postgres
) -> None:
    mark = "tapir-90ab-night"
    chat = fanfold.open("run", window=9_000, store=store, system=f"Serve {mark}.", labels={"for": mark})
    chat.say("Hello.")
    note = chat.note("who", f"It is {mark}, again.")
    chat.request(max_tokens=100)
    with fanfold.open("other", window=9_000, store=store, system=f"Serve {mark}.") as other:
        other.say("Hello.")
    assert is_there(own_server, mark)
    chat.erase("system", "a person asked")
    chat.erase(note.id, "a person asked")
    chat.erase("labels", "a person asked")
    assert not is_there(own_server, mark)
    assert fanfold.doctor(store).healthy
    chat.close()
    with fanfold.open("run", window=9_000, store=store, system=f"Serve {mark}.") as again:
        assert again.view().frame.messages[0].text == "[erased: a person asked]"
    assert not is_there(own_server, mark)


def echoing(view: Any, budget: Any) -> Any:
    old = view.oldest(leaving=20)
    text = yield from ask(old.messages, "Repeat everything.")
    yield Fold(old.covers, text)


def test_nothing_is_left_of_what_was_made_from_it(own_server: PostgresServer, store: Postgres) -> None:
    mark = "quagga-51c2-herd"
    chat = fanfold.open(
        "run", window=3_000, store=store, strategy=echoing, summarizer=FakeModel(f"They said {mark}.")
    )
    secret = tell(chat, asks(f"{mark} " + "word " * 300))[0]
    tell(chat, says("Ok. " * 50), asks("Go on."), says("Yes. " * 20))
    assert chat.compact(force=True).status == "reduced"
    fork = chat.fork("other")
    fork.close()
    assert is_there(own_server, mark)
    chat.erase(secret, "a person asked")
    assert not is_there(own_server, mark)


def test_statistics_keep_no_sample_of_what_was_said(
    own_server: PostgresServer, store: Postgres, schema: str
) -> None:
    mark = "okapi-9d04-stripes"
    chat = fanfold.open("run", window=9_000, store=store)
    entry = chat.say(mark)
    with psycopg.connect(own_server.url, autocommit=True) as plain:
        plain.execute(f"ANALYZE {schema}.entry, {schema}.record")
    chat.erase(entry.id, "a person asked")
    assert not is_there(own_server, mark)


@pytest.mark.parametrize("size", [1_000, 3_000_000])
def test_nothing_is_left_of_a_dropped_blob(own_server: PostgresServer, store: Postgres, size: int) -> None:
    mark = f"tapir-{size}-trunk"
    blob = store.put_blob("t", [mark.encode() * (size // 20)])
    assert is_there(own_server, mark)
    store.drop_blobs("t", [blob.id])
    assert not is_there(own_server, mark)


def test_nothing_of_a_sealed_store_can_be_read(own_server: PostgresServer, schema: str) -> None:
    mark = "giraffe-77aa-neck"
    sealed = Postgres(own_server.url, schema=schema, key="0f" * 32)
    with fanfold.open("run", window=9_000, store=sealed, system=mark) as chat:
        chat.say(mark)
        chat.note("state", mark)
        sealed.put_blob("t", [mark.encode() * 90_000])
    sealed.close()
    assert not is_there(own_server, mark)


def test_the_command_line_reminds_of_the_servers_log(
    own_server: PostgresServer, capfd: pytest.CaptureFixture[str]
) -> None:
    with fanfold.open("run", window=9_000, store=own_server.url) as chat:
        chat.say("I am Jane Roe.")
    capfd.readouterr()
    where = ("--store", own_server.url)
    assert main(["erase", "run", "--found", "jane", "--reason", "asked", "--yes", *where]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == Postgres.remains
    assert main(["search", "jane", *where]) == 1
    assert Postgres.remains in capfd.readouterr().err
    drop(own_server.url, "fanfold")
