"""A session as one file, and back: nothing is lost, nobody's word is taken for an id."""

from __future__ import annotations

import io
import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import fanfold
from builders import asks, calls, says, tell
from fanfold import BadInput, Memory, Session, SQLite
from fanfold.record import Spawned
from fanfold.stores.store import Store
from fanfold.testing import talk
from fanfold.testing.generators import conversations


def exported(store: Store, name: str = "run") -> bytes:
    file = io.BytesIO()
    fanfold.export_session(store, name, file)
    return file.getvalue()


def imported(data: bytes, store: Store, **rest: Any) -> str:
    return fanfold.import_session(store, io.BytesIO(data), **rest)


def worked(store: Store) -> Session:
    """A session in which much happened."""
    chat = fanfold.open("run", window=3_000, store=store, system="Be brief.", meter="characters/4")
    chat.merge(talk(4))
    chat.request(max_tokens=100)
    chat.compact(force=True)
    chat.note("state", "red")
    chat.rewind(turns=1)
    tell(chat, asks("Another way."), says("Yes."))
    chat.forward(chat._state.log.behind[-1])
    chat.erase(chat.view().rows[-2].id, "asked for")
    return chat


def test_an_imported_session_shows_the_same(tmp_path: Path) -> None:
    chat = worked(SQLite(tmp_path / "a.db"))
    other = SQLite(tmp_path / "b.db")
    imported(exported(chat._state.terms.tenant.store), other)
    again = fanfold.open("run", window=3_000, store=other, meter="characters/4")
    assert again._state.log.records == chat._state.log.records
    assert again.view().messages == chat.view().messages
    assert exported(other) == exported(chat._state.terms.tenant.store)


def test_every_branch_comes_along(tmp_path: Path) -> None:
    store = Memory()
    chat = worked(store)
    other = SQLite(tmp_path / "b.db")
    imported(exported(store), other)
    for id in chat._state.log.tree.entries:
        assert other.entry("default", id) == store.entry("default", id)


@settings(max_examples=25)
@given(conversations())
def test_odd_messages_come_back_as_they_were(bodies: list[Any]) -> None:
    store, other = Memory(), Memory()
    with fanfold.open("run", window=10**6, store=store) as chat:
        chat.merge(bodies)
        before = chat.view().messages
    imported(exported(store), other)
    assert repr(fanfold.open("run", window=10**6, store=other).view().messages) == repr(before)


def test_every_line_is_json(tmp_path: Path) -> None:
    store = Memory()
    with fanfold.open("run", window=9_000, store=store) as chat:
        tell(chat, asks("half \ud83d a pair"), {**says("Ok."), "x": [float("nan"), 2**80]})
    for line in exported(store).decode("ascii").splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_blobs_that_are_named_come_along_and_others_do_not(tmp_path: Path) -> None:
    store, other = SQLite(tmp_path / "a.db"), SQLite(tmp_path / "b.db")
    blob = store.put_blob("default", [b"x" * 3_000_000])
    store.put_blob("default", [b"nobody's"])
    with fanfold.open("run", window=9_000, store=store) as chat:
        chat.say("Hello.")
        chat._do(lambda state: state.write(Spawned("c1", blob.id)))
    imported(exported(store), other, tenant="theirs")
    assert other.blobs("theirs") == [blob]
    assert b"".join(other.get_blob("theirs", blob.id)) == b"x" * 3_000_000


def test_an_export_of_an_earlier_release_calls_its_blobs_by_other_names() -> None:
    """Blobs were named after BLAKE2b once."""
    store, other = Memory(), Memory()
    text = "a line of the log\n" * 100_000
    with fanfold.open("run", window=9_000, store=store) as chat:
        tell(chat, asks("Mend it."), calls("c1"))
        chat.answer("c1", text)
    data = exported(store)
    for blob in store.blobs("default"):
        content = b"".join(store.get_blob("default", blob.id))
        data = data.replace(blob.id.encode(), blake2b(content, digest_size=16).hexdigest().encode())
    imported(data, other)
    output = fanfold.open("run", window=9_000, store=other).output("o1")
    assert b"".join(output.chunks()) == text.encode()
    assert output.lines(50_000, 1)
    assert other.blobs("default") == store.blobs("default")


def test_it_can_be_imported_under_another_name_for_another_tenant() -> None:
    store = Memory()
    worked(store)
    assert imported(exported(store), store, name="copy", tenant="theirs") == "copy"
    assert store.sessions("theirs") == ["copy"]


def test_a_session_that_is_there_is_not_overwritten() -> None:
    store = Memory()
    worked(store)
    with pytest.raises(BadInput, match="already"):
        imported(exported(store), store)


def test_an_export_that_is_cut_off_is_not_imported() -> None:
    store, other = Memory(), Memory()
    worked(store)
    lines = exported(store).splitlines(keepends=True)
    for end in (1, 5, len(lines) - 1):
        with pytest.raises(BadInput, match="cut off"):
            imported(b"".join(lines[:end]), other)
        assert other.load("default", "run").records in ((), [])
    imported(b"".join(lines), other)


def test_an_entry_that_is_not_what_its_id_says_is_refused() -> None:
    store = Memory()
    worked(store)
    forged = exported(store).replace(b"Another way.", b"A forged way")
    with pytest.raises(BadInput, match="not what its id says"):
        imported(forged, Memory())


@pytest.mark.parametrize(
    "data", [b"", b"{}\n", b"hello\n", b'{"kind": "session", "format": 99, "name": "x"}\n', b"[1]\n"]
)
def test_a_file_that_is_no_export_is_refused(data: bytes) -> None:
    with pytest.raises(BadInput):
        imported(data, Memory())


def test_a_session_that_is_not_there_cannot_be_exported() -> None:
    with pytest.raises(fanfold.NotFound):
        exported(Memory(), "nobody")


def test_what_was_erased_here_stays_erased() -> None:
    store, other = Memory(), Memory()
    with fanfold.open("run", window=9_000, store=store) as chat:
        chat.say("my secret name")
    with fanfold.open("old", window=9_000, store=other) as chat:
        chat.erase(chat.say("my secret name").id, "asked for")
    imported(exported(store), other)
    assert fanfold.open("run", window=9_000, store=other).view().messages[0].text == "[erased: asked for]"


@pytest.mark.parametrize(
    "line",
    [
        b'{"kind": "entry"}',
        b'{"kind": "record"}',
        b'{"kind": "end"}',
        b'{"kind": "blob", "id": "b"}',
        b'{"kind": "blob", "id": "b", "data": 5}',
    ],
)
def test_a_line_that_says_too_little_is_refused(line: bytes) -> None:
    with pytest.raises(BadInput, match="Export the session again"):
        fanfold.import_session(Memory(), [b'{"kind": "session", "format": 1, "name": "run"}', line])
