"""After an erasure the bytes are nowhere: not in the file, its journal, its blobs, nor in what was made from them."""

from __future__ import annotations

import sqlite3
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import fanfold
from builders import asks, calls, gives, says, tell
from fanfold import Fold, Gone, SQLite, ask
from fanfold.core.message import assistant
from fanfold.testing import FakeModel

MARK = "zebra-7f3a-crossing"


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_nothing_is_left_of_an_erased_message(tmp_path: Path) -> None:
    chat = fanfold.open("run", window=9_000, store=SQLite(tmp_path / "a.db"))
    tell(chat, asks("Mend it."), calls("c1", arguments=f'{{"key": "{MARK}"}}'))
    result = tell(chat, gives("c1", f"the password is {MARK} " * 200))[0]
    call = tell(chat, says("Done."))[0] and chat.view().rows[1].id
    assert MARK.encode() in all_bytes(tmp_path)
    chat.erase(result, "a person asked")
    chat.erase(call, "a person asked")
    assert MARK.encode() not in all_bytes(tmp_path)
    chat.close()
    chat._state.terms.tenant.store.close()
    assert MARK.encode() not in all_bytes(tmp_path)


def echoing(view: Any, budget: Any) -> Any:
    old = view.oldest(leaving=20)
    text = yield from ask(old.messages, "Repeat everything.")
    yield Fold(old.covers, text)


def test_nothing_is_left_of_what_was_made_from_it(tmp_path: Path) -> None:
    model = FakeModel(f"They said {MARK}.")
    store = SQLite(tmp_path / "a.db")
    chat = fanfold.open("run", window=3_000, store=store, strategy=echoing, summarizer=model)
    secret = tell(chat, asks(f"{MARK} " + "word " * 300))[0]
    tell(chat, says("Ok. " * 50), asks("Go on."), says("Yes. " * 20))
    assert chat.compact(force=True).status == "reduced"
    chat.request(
        max_tokens=100, context=f"hint: {MARK} word word", metadata={"note": f"{MARK} " + "word " * 300}
    )
    chat.fork("other")
    chat.erase(secret, "a person asked")
    assert MARK.encode() not in all_bytes(tmp_path)


def test_nothing_is_left_of_a_replaced_body(tmp_path: Path) -> None:
    chat = fanfold.open("run", window=9_000, store=SQLite(tmp_path / "a.db"))
    chat.merge([asks("one"), says("two"), asks("three")])
    chat.merge([asks(f"one {MARK}"), says("two"), asks("three")])
    assert MARK.encode() in all_bytes(tmp_path)
    chat.erase(chat.view().rows[0].id, "a person asked")
    assert MARK.encode() not in all_bytes(tmp_path)


def test_nothing_is_left_of_a_system_prompt_or_a_note(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    chat = fanfold.open("run", window=9_000, store=store, system=f"Serve {MARK}.")
    chat.say("Hello.")
    note = chat.note("who", f"It is {MARK}, again.")
    chat.request(max_tokens=100)
    with fanfold.open("other", window=9_000, store=store, system=f"Serve {MARK}.") as other:
        other.say("Hello.")
    chat.close()  # with a checkpoint of its frame
    chat = fanfold.open("run", window=9_000, store=store)
    assert MARK.encode() in all_bytes(tmp_path)
    chat.erase("system", "a person asked")
    chat.erase(note.id, "a person asked")
    assert MARK.encode() not in all_bytes(tmp_path)
    assert fanfold.doctor(store).healthy
    chat.close()
    with fanfold.open("run", window=9_000, store=SQLite(tmp_path / "a.db"), system=f"Serve {MARK}.") as again:
        assert again.view().frame.messages[0].text == "[erased: a person asked]"
        again.request(max_tokens=100)
    assert MARK.encode() not in all_bytes(tmp_path)


@pytest.mark.parametrize("size", [1_000, 3_000_000])
def test_nothing_is_left_of_a_dropped_blob(tmp_path: Path, size: int) -> None:
    store = SQLite(tmp_path / "a.db")
    blob = store.put_blob("t", [MARK.encode() * (size // 20)])
    assert MARK.encode() in all_bytes(tmp_path)
    store.drop_blobs("t", [blob.id])
    assert MARK.encode() not in all_bytes(tmp_path)


def test_another_process_meets_the_stub(tmp_path: Path) -> None:
    here = fanfold.open("run", window=9_000, store=SQLite(tmp_path / "a.db"))
    entry = here.say(f"{MARK} is my name")
    here.erase(entry.id, "a person asked")
    there = fanfold.open("new", window=9_000, store=SQLite(tmp_path / "a.db"))
    with pytest.raises(Gone, match="again=True"):
        there.say(f"{MARK} is my name")
    assert there.head is None
    assert MARK.encode() not in all_bytes(tmp_path)
    there.say(f"{MARK} is my name", again=True)
    assert there.view().messages[0].text == f"{MARK} is my name"


def test_a_client_that_sends_it_again_meets_the_stub(tmp_path: Path) -> None:
    bodies = [asks(f"{MARK} is my name"), says("Hello.")]
    here = fanfold.open("run", window=9_000, store=SQLite(tmp_path / "a.db"))
    here.merge(bodies)
    here.erase(here.view().rows[0].id, "a person asked")
    there = fanfold.open("new", window=9_000, store=SQLite(tmp_path / "a.db"))
    there.merge(bodies)
    assert [message.text for message in there.view().messages] == ["[erased: a person asked]", "Hello."]


def test_a_session_open_elsewhere_sees_the_erasure_when_it_looks_again(tmp_path: Path) -> None:
    here = fanfold.open("run", window=9_000, store=SQLite(tmp_path / "a.db"))
    entry = here.say(f"{MARK} is my name")
    there = fanfold.open("run", window=9_000, store=SQLite(tmp_path / "a.db"), on_moved="reapply")
    here.erase(entry.id, "a person asked")
    there.say("Go on.")
    assert [message.text for message in there.view().messages] == ["[erased: a person asked]", "Go on."]


def test_a_failed_erasure_changes_nothing(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db", timeout=0.05)
    chat = fanfold.open("run", window=9_000, store=store)
    entry = chat.say("Keep me.")
    other = SQLite(tmp_path / "a.db")
    with other.database.writing(), pytest.raises(fanfold.Busy):
        chat.erase(entry.id, "no")
    assert chat.view().messages[0].text == "Keep me."


def test_an_answer_that_came_after_the_erasure_is_not_kept(tmp_path: Path) -> None:
    def answer(question: Any) -> str:
        here.erase(secret, "a person asked")
        return f"They said {MARK}."

    here = fanfold.open("run", window=3_000, store=SQLite(tmp_path / "a.db"))
    secret = tell(here, asks(f"{MARK} " + "word " * 300))[0]
    tell(here, says("Ok. " * 50), asks("Go on."), says("Yes. " * 20))
    there = fanfold.open(
        "run", window=3_000, store=SQLite(tmp_path / "a.db"), strategy=echoing, summarizer=answer
    )
    with pytest.raises(fanfold.Moved):
        there.compact(force=True)
    assert MARK.encode() not in all_bytes(tmp_path)


def test_nothing_is_left_of_a_call_in_the_placeholder_of_its_output(tmp_path: Path) -> None:
    chat = fanfold.open("run", window=30_000, store=SQLite(tmp_path / "a.db"), strategy="elide")
    tell(chat, asks("Go."))
    for number in range(12):
        name = MARK if number == 0 else "other"
        tell(chat, calls(f"c{number}", arguments=f'{{"file": "{name}"}}'))
        tell(chat, gives(f"c{number}", f"a line of {number}\n" * 900), says("Ok."))
    assert chat.compact(force=True).status == "reduced"
    assert f"read({MARK})" in chat.view().rows[2].messages[0].results[0].text
    chat.erase(chat.view().rows[1].id, "a person asked")
    assert MARK.encode() not in all_bytes(tmp_path)


@pytest.mark.parametrize(
    "asked",
    [
        ("tool_output_cache", '{"ref_id": " ref=o1"}'),
        ("tool_output_cache_grep", '{"ref_id": "o1", "pattern": "is"}'),
        ("tool_output_cache_search", '{"pattern": "is"}'),
    ],
)
def test_nothing_is_left_of_what_the_model_looked_up_again(tmp_path: Path, asked: tuple[str, str]) -> None:
    chat = fanfold.open("run", window=9_000, store=SQLite(tmp_path / "a.db"))
    tell(chat, asks("Go."), calls("c1"), gives("c1", f"{MARK} is it\n" * 9), says("Ok."))
    look_up(chat, "c2", *asked)
    look_up(chat, "c3", "tool_output_cache", '{"ref_id": "o2"}')
    look_up(chat, "c4", "tool_output_cache", '{"ref_id": "o9"}')
    chat.fork("other")
    chat.erase("o1", "a person asked")
    assert MARK.encode() not in all_bytes(tmp_path)
    assert "no output 'o9'" in chat.view().rows[-1].messages[0].results[0].text


def look_up(chat: fanfold.Session, id: str, tool: str, arguments: str) -> None:
    call = fanfold.Call(id, tool, arguments)
    chat.add(assistant("", call))
    chat.answer(call, chat.recall(call))


def test_an_erasure_that_could_not_empty_the_journal_is_completed_by_the_next(tmp_path: Path) -> None:
    chat = fanfold.open("run", window=9_000, store=SQLite(tmp_path / "a.db", timeout=0.1))
    tell(chat, asks("Go."), calls("c1"))
    chat.answer("c1", f"{MARK} is it\n" * 200_000)
    reader = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM line").fetchall()
    with pytest.raises(fanfold.Busy, match="once more"):
        chat.erase("o1", "a person asked")
    assert "erased" in chat.view().rows[-1].messages[0].results[0].text
    reader.close()
    chat.erase("o1", "a person asked")
    assert MARK.encode() not in all_bytes(tmp_path)


def test_an_export_leaves_out_the_blob_of_an_erased_output(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    for name in ("one", "two"):
        chat = fanfold.open(name, window=9_000, store=store)
        tell(chat, asks(f"Go {name}."), calls("c1"))
        chat.answer("c1", f"{MARK} is it\n" * 200_000)
    chat.erase("o1", "a person asked")
    exported, other = BytesIO(), BytesIO()
    fanfold.export_session(store, "two", exported)
    fanfold.export_session(store, "one", other)
    assert b'"blob","id"' in other.getvalue()
    assert b'"blob","id"' not in exported.getvalue()
