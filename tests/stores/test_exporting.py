"""A session as one file, and back: nothing is lost, nobody's word is taken for an id."""

from __future__ import annotations

import io
import json
import re
import tracemalloc
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

import fanfold
from builders import asks, calls, says, tell
from fanfold import BadInput, Memory, Session, SQLite
from fanfold.core.record import Spawned
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
    before, after = exported(chat._state.terms.tenant.store), exported(other)
    assert without_prefixes(after) == without_prefixes(before)


def without_prefixes(export: bytes) -> bytes:
    """An export without what sessions are found by: nothing proves it of a stub, so it is not taken over."""
    return re.sub(rb',"prefix":"[0-9a-f]+"', b"", export)


def test_every_branch_comes_along(tmp_path: Path) -> None:
    store = Memory()
    chat = worked(store)
    other = SQLite(tmp_path / "b.db")
    imported(exported(store), other)
    for id in chat._state.log.tree.entries:
        came, there = other.entry("default", id), store.entry("default", id)
        assert came is not None
        assert there is not None
        assert came.imported == (there.erased is not None)
        assert msgspec.structs.replace(came, imported=False, prefix=there.prefix) == there


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


def test_blobs_of_outputs_come_along_and_others_do_not_whatever_is_said_of_them(tmp_path: Path) -> None:
    store, other = SQLite(tmp_path / "a.db"), SQLite(tmp_path / "b.db")
    secret = store.put_blob("default", [b"another session's"])
    with fanfold.open("run", window=9_000, store=store) as chat:
        tell(chat, asks(f"What is in {secret.id}?"), calls("c1"))
        chat.answer("c1", b"\x00" * 3_000_000)
        chat._do(lambda state: state.write(Spawned("c1", secret.id)))
    imported(exported(store), other, tenant="theirs")
    assert secret.id not in [blob.id for blob in other.blobs("theirs")]
    output = fanfold.open("run", window=9_000, store=other, tenant="theirs").output("o1")
    assert output.bytes() == b"\x00" * 3_000_000


def test_a_message_that_only_looks_like_an_id_brings_nobody_elses_message_along() -> None:
    store, other = Memory(), Memory()
    with fanfold.open("secret", window=9_000, store=store) as secret:
        entry = secret.say("my secret name")
    with fanfold.open("run", window=9_000, store=store) as chat:
        chat.say(f"See {entry.id}.")
        chat.note("state", entry.id)
    imported(exported(store), other)
    assert other.entry("default", entry.id) is None


def test_a_message_that_is_missing_is_not_left_out_in_silence() -> None:
    store = Memory()
    with fanfold.open("run", window=9_000, store=store) as chat:
        chat.say("first")
    store._entries.clear()
    with pytest.raises(fanfold.Corrupt, match="is missing"):
        exported(store)


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


@pytest.mark.parametrize(
    "record",
    [
        {"type": "moved", "head": "f" * 32},
        {"type": "moved", "head": None, "how": "rewind", "was": "f" * 32},
        {"type": "branched", "head": "f" * 32},
        {"type": "kept", "ref": "o9", "address": f"{'f' * 32}#0"},
        {
            "type": "edited",
            "decisions": [{"id": "e9", "at": "f" * 32, "edit": {"type": "drop", "covers": ["x"]}}],
        },
    ],
)
def test_a_record_that_names_an_unknown_entry_is_refused_by_its_line(record: dict[str, Any]) -> None:
    store, other = Memory(), Memory()
    worked(store)
    lines = exported(store).splitlines(keepends=True)
    lines.insert(6, json.dumps({"kind": "record", "record": record}).encode() + b"\n")
    with pytest.raises(
        BadInput, match=r"Line 7 of this export: the entry 'ffffffffffff' that this record names"
    ):
        imported(b"".join(lines), other)
    assert other.sessions("default") == []


def test_a_record_whose_blob_is_not_in_the_file_is_refused_by_its_line() -> None:
    store = Memory()
    with fanfold.open("run", window=9_000, store=store) as chat:
        tell(chat, asks("Mend it."), calls("c1"))
        chat.answer("c1", "a line of the log\n" * 100_000)
    lines = [line for line in exported(store).splitlines(keepends=True) if b'"kind":"blob"' not in line]
    number = next(number for number, line in enumerate(lines, 1) if b'"kept"' in line)
    with pytest.raises(BadInput, match=rf"Line {number} of this export: the blob"):
        imported(b"".join(lines), Memory())


@pytest.mark.parametrize(
    ("field", "value"), [("parent", "f" * 32), ("depth", 7), ("id", "../../etc"), ("id", "\ud800" * 16)]
)
def test_a_stub_that_does_not_follow_what_it_names_is_refused(field: str, value: Any) -> None:
    """Nothing can be said of an erased entry's content; its place must be right all the same."""
    with fanfold.open("run", window=9_000, store=(store := Memory())) as chat:
        chat.say("first")
        chat.erase(chat.say("my secret name").id, "asked for")
    lines = [json.loads(line) for line in exported(store).splitlines()]
    stub = next(line["entry"] for line in lines if line.get("entry", {}).get("erased"))
    stub[field] = value
    with pytest.raises(BadInput, match="Line 5 of this export"):
        imported("".join(json.dumps(line) + "\n" for line in lines).encode(), Memory())


def test_a_deeply_nested_first_line_is_refused_by_its_number() -> None:
    """(19.21) It is read before all others, to know the session's name."""
    head = b'{"kind":"session","format":1,"name":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    with pytest.raises(BadInput, match="Line 1 of this export: it is nested too deeply"):
        imported(head, Memory())


def test_an_import_that_fails_leaves_no_session_behind(tmp_path: Path) -> None:
    store, other = Memory(), SQLite(tmp_path / "b.db")
    worked(store)
    with pytest.raises(BadInput, match="cannot be read"):
        imported(exported(store)[:-20], other)
    assert other.sessions("default") == []
    imported(exported(store), other)
    assert other.sessions("default") == ["run"]


def test_an_output_whose_content_is_gone_is_not_left_out_in_silence() -> None:
    store = Memory()
    with fanfold.open("run", window=9_000, store=store) as chat:
        tell(chat, asks("Mend it."), calls("c1"))
        chat.answer("c1", "a line of the log\n" * 100_000)
    store._blobs.clear()
    with pytest.raises(fanfold.Corrupt, match="output o1 is gone"):
        exported(store)


def long_session(store: Store, count: int) -> None:
    """Much in every place: outputs, messages and records; and a fork, which names all of them at once."""
    with fanfold.open("long", window=10**9, store=store, meter="characters/4") as chat:
        for n in range(count):
            tell(chat, asks(f"{n} " + "word " * 8_000), calls(f"c{n}"))
            chat.note("state", f"{n} " + "note " * 8_000)
            chat.answer(f"c{n}", (f"{n:09} output\n" * 10_000 for _ in range(5)))
        with chat.fork("run"):
            pass


def peak_of(work: Any) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_however_long_a_session_is_little_of_it_is_in_memory(tmp_path: Path) -> None:
    """Outputs come in chunks of up to 1 MiB, which base64 and JSON hold several times over."""
    store, other, path = SQLite(tmp_path / "a.db"), SQLite(tmp_path / "b.db"), tmp_path / "run.jsonl"
    long_session(store, 16)
    with path.open("wb") as file:
        out = peak_of(lambda: fanfold.export_session(store, "run", file))
    with path.open("rb") as file:
        back = peak_of(lambda: fanfold.import_session(other, file))
    assert max(out, back) < 8 << 20 < path.stat().st_size / 2
    assert exported(other) == path.read_bytes()


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


def test_what_was_made_from_it_stays_erased_too(tmp_path: Path) -> None:
    """An old export holds what was erased since: the output's blob, and a summary that tells of it."""
    store = SQLite(tmp_path / "a.db")
    with fanfold.open("run", window=90_000, store=store) as chat:
        tell(chat, asks("Look."), calls("c1"))
        output = chat.answer("c1", "my secret name\n" * 100_000)
        tell(chat, says("I see."), asks("Go on."))
        chat.fold(tuple(row.id for row in chat.view().rows[1:3]), "It told a secret.")
        old = exported(store)
        chat.erase(output.id, "asked for")
    imported(old, store, name="copy")
    with fanfold.open("copy", window=90_000, store=store) as copy:
        assert "It told a secret." not in [message.text for message in copy.view().messages]
        with pytest.raises(fanfold.Gone, match="asked for"):
            copy.output("o1")
    assert store.blobs("default") == []
    assert fanfold.doctor(store).findings == ()


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
