"""Two at one session: nobody's message is lost, and each is told what happened."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest

import fanfold
from builders import asks, calls, gives, reply, says, tell
from fanfold import Fold, Moved, Session, SQLite, StoreFailed, Undo, ask
from fanfold.core.message import user
from fanfold.session.record import append
from fanfold.stores.prefix import prefixes


def both(tmp_path: Path, *bodies: dict[str, Any], **terms: Any) -> tuple[Session, Session]:
    """One session, opened by two that do not know of each other."""
    terms = {"window": 9_000, **terms}
    first = fanfold.open("run", store=SQLite(tmp_path / "a.db"), **terms)
    tell(first, *bodies)
    return first, fanfold.open("run", store=SQLite(tmp_path / "a.db"), **terms)


def store_of(chat: Session) -> SQLite:
    store = chat._state.terms.tenant.store
    assert isinstance(store, SQLite)
    return store


def overtake(quick: Session, slow: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one of two say something right before the other writes, whenever it can."""
    store, number = store_of(slow), itertools.count()
    write = store.append

    def overtaken(*args: Any, **rest: Any) -> Any:
        if not store.database.in_transaction:  # nobody else can write while one is under way
            quick.say(f"quicker {next(number)}")
        return write(*args, **rest)

    monkeypatch.setattr(store, "append", overtaken)


def words(chat: Session) -> list[str]:
    return [message.text for message in chat.view().messages]


def test_whoever_comes_second_is_told_and_has_caught_up(tmp_path: Path) -> None:
    one, two = both(tmp_path, asks("Hello."))
    one.say("first")
    with pytest.raises(Moved, match="somebody wrote first"):
        two.say("second")
    assert words(two) == ["Hello.", "first"]
    two.say("second")
    assert words(two) == ["Hello.", "first", "second"]


@pytest.mark.parametrize(
    ("there", "look"), [((), "tenant"), (("other",), "session"), (("run",), "last_line")]
)
def test_a_session_that_somebody_else_writes_between_two_looks_is_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...], look: str
) -> None:
    """(19.5) Right after one looked, another process writes what was not there."""

    def write(name: str, word: str) -> None:
        with fanfold.open(name, window=9_000, store=SQLite(tmp_path / "a.db")) as chat:
            chat.say(word)

    for name in there:
        write(name, "Hello.")
    store = SQLite(tmp_path / "a.db")
    rows, others = store.database.rows, iter(["first"])

    def looked(name: str, *values: Any, **named: Any) -> list[tuple[Any, ...]]:
        found = rows(name, *values, **named)
        for word in others if name == look else ():
            write("run", word)
        return found

    monkeypatch.setattr(store.database, "rows", looked)
    with fanfold.open("run", window=9_000, store=store, on_moved="reapply") as chat:
        chat.say("second")
        assert words(chat)[-2:] == ["first", "second"]


def test_reapply_says_it_after_what_came_first(tmp_path: Path) -> None:
    one, two = both(tmp_path, asks("Hello."), on_moved="reapply")
    for n in range(3):
        one.say(f"one {n}")
        two.say(f"two {n}")
    assert words(two) == ["Hello.", "one 0", "two 0", "one 1", "two 1", "one 2", "two 2"]
    one.say("end")
    assert words(one) == [*words(two), "end"]


def test_what_others_said_is_taken_in_without_a_write(tmp_path: Path) -> None:
    """To find a message by its id, the register has to be filled, which waits for all other writers."""
    store = SQLite(tmp_path / "a.db")
    one, two = both(tmp_path, asks("Hello."))[0], fanfold.open("run", window=9_000, store=store)
    for n in range(3):
        one.say(f"one {n}")
    changes = store.database.connection().total_changes
    two.refresh()
    assert words(two) == ["Hello.", "one 0", "one 1", "one 2"]
    assert store.database.connection().total_changes == changes


def test_whoever_lost_to_another_writer_tries_again_without_making_others_wait(tmp_path: Path) -> None:
    one, two = both(tmp_path, asks("Hello."), on_moved="reapply")
    one.say("one")
    two.say("two")
    run = list[str]()
    store_of(two).database.connection().set_trace_callback(run.append)
    for n in range(5):
        one.say(f"one {n}")
        two.say(f"two {n}")
    assert not [sql for sql in run if sql.startswith(("BEGIN", "ROLLBACK"))]
    assert words(two)[-4:] == ["one 3", "two 3", "one 4", "two 4"]


def test_whoever_writes_alone_and_fails_at_the_end_has_said_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = both(tmp_path, asks("Hello."), on_moved="reapply")
    overtake(one, two, monkeypatch)
    store = store_of(two)
    plain, broken = store.database.plain, iter(["disk"])

    def fail(sql: str) -> list[tuple[Any, ...]]:
        if sql == "COMMIT" and next(broken, None):
            raise StoreFailed("The disk is gone.")
        return plain(sql)

    monkeypatch.setattr(store.database, "plain", fail)
    with pytest.raises(StoreFailed):
        two.say("mine")
    assert words(two) == ["Hello.", "quicker 0", "quicker 1", "quicker 2"]
    two.say("mine")
    one.refresh()
    assert words(one) == words(two) == ["Hello.", *(f"quicker {n}" for n in range(6)), "mine"]


def test_branch_keeps_the_message_beside_the_path(tmp_path: Path) -> None:
    one, two = both(tmp_path, asks("Hello."), on_moved="branch")
    one.say("first")
    entry = two.say("second")
    assert two.branches == (entry.id,)
    assert words(two) == ["Hello.", "first"]
    two.forward(entry.id)
    assert words(two) == ["Hello.", "second"]


@pytest.mark.parametrize("size", [100_000, 1_500_000])
def test_an_output_on_a_branch_is_found_by_a_reference_of_its_own(tmp_path: Path, size: int) -> None:
    one, two = both(tmp_path, asks("Hello."), calls("c1"), on_moved="branch")
    one.answer("c1", "first\n" * (size // 6))
    entry = two.answer("c1", "second\n" * (size // 7))
    assert two.output("o1").text().startswith("first")
    assert two.output("o2").text() == "second\n" * (size // 7)
    two.forward(entry.id)
    shown = two.view().messages[-1].results[0].text
    assert "o2" in shown
    assert "o1" not in shown
    assert len(shown) < 60_000


def test_a_branch_is_there_when_the_session_is_opened_again(tmp_path: Path) -> None:
    one, two = both(tmp_path, asks("Hello."), on_moved="branch")
    one.say("first")
    entry = two.say("second")
    again = fanfold.open("run", window=9_000, store=SQLite(tmp_path / "a.db"))
    assert again.branches == (entry.id,)
    assert again._state.log.tree[entry.id].message == entry.message


def test_a_decision_that_came_second_has_no_branch_to_stand_on(tmp_path: Path) -> None:
    one, two = both(tmp_path, asks("Hello."), on_moved="branch")
    one.say("first")
    with pytest.raises(Moved):
        two.note("state", "red")


@pytest.mark.parametrize("verb", ["note", "pin", "request", "merge", "receive", "answer"])
def test_every_verb_can_be_reapplied(tmp_path: Path, verb: str) -> None:
    one, two = both(tmp_path, asks("Hello there."), calls("c1", "c2"), on_moved="reapply")
    one.answer("c1", "done")
    match verb:
        case "note":
            two.note("state", "red")
        case "pin":
            two.pin("Hello there.")
        case "request":
            assert "done" in str(two.request(max_tokens=100))
        case "merge":
            two.merge(
                [asks("Hello there."), calls("c1", "c2"), gives("c1", "done"), gives("c2", "x"), says("Ok.")]
            )
        case "receive":
            two.receive(reply(says("Ok.")))
        case "answer":
            two.answer("c2", "done too")
    path = two._state.log.tree.path(two.head)
    assert path[:3] == one._state.log.tree.path(one.head)
    again = fanfold.open("run", window=9_000, store=SQLite(tmp_path / "a.db"))
    assert again.view().messages == two.view().messages


def test_an_answer_that_somebody_else_gave_is_not_given_twice(tmp_path: Path) -> None:
    one, two = both(tmp_path, asks("Hello."), calls("c1"), on_moved="reapply")
    one.answer("c1", "done")
    with pytest.raises(fanfold.NotFound, match="waits for an answer"):
        two.answer("c1", "done as well")
    assert len(two.view().messages) == 3


def test_what_is_written_beside_the_view_does_not_get_in_the_way(tmp_path: Path) -> None:
    one, two = both(tmp_path, asks("Hello."))
    one.request(max_tokens=100)
    two.say("second")
    one.request(max_tokens=200)
    assert words(one) == ["Hello.", "second"], "a gap in the records was noticed"
    one.receive(reply(says("Hi."), prompt=20))
    assert words(one) == ["Hello.", "second", "Hi."]


def summing(view: Any, budget: Any) -> Any:
    old = view.oldest(leaving=budget.room // 10)
    text = yield from ask(old.messages, "Sum up.")
    yield Fold(old.covers, text)


def long(tmp_path: Path, asker: Any, on_moved: str) -> Session:
    return fanfold.open(
        "run",
        window=2_000,
        store=SQLite(tmp_path / "a.db"),
        strategy=summing,
        summarizer=asker,
        on_moved=on_moved,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("on_moved", ["raise", "reapply"])
def test_a_plan_that_lost_is_made_again_without_asking_again(tmp_path: Path, on_moved: str) -> None:
    asked: list[Any] = []

    def answer(question: Any) -> str:
        if not asked:
            other.say("in between")
        asked.append(question)
        return "They talked."

    chat = long(tmp_path, answer, on_moved)
    for n in range(12):
        tell(chat, asks(f"{n} " + "word " * 100), says("Ok."))
    other = long(tmp_path, None, "raise")
    if on_moved == "raise":
        with pytest.raises(Moved):
            chat.compact(force=True)
        assert not [row for row in chat.view().rows if row.kind == "fold"], "no half plan"
    assert chat.compact(force=True).status == "reduced"
    assert words(chat)[-1] == "in between"
    assert len(asked) == 1
    again = long(tmp_path, None, "raise")
    assert again.view().messages == chat.view().messages


def test_async_sessions_do_the_same(tmp_path: Path) -> None:
    async def run() -> list[str]:
        async with (
            fanfold.aopen("run", window=9_000, store=SQLite(tmp_path / "a.db"), on_moved="reapply") as one,
            fanfold.aopen("run", window=9_000, store=SQLite(tmp_path / "a.db"), on_moved="reapply") as two,
        ):
            await one.say("first")
            await two.say("second")
            await one.say("third")
            return [message.text for message in (await one.view()).messages]

    assert asyncio.run(run()) == ["first", "second", "third"]


def test_a_mode_that_nobody_knows_is_refused() -> None:
    with pytest.raises(fanfold.BadSetting, match="on_moved"):
        fanfold.open("run", window=9_000, on_moved="ignore")  # type: ignore[arg-type]


def test_a_fork_does_not_bring_back_what_was_erased_elsewhere(tmp_path: Path) -> None:
    """The session that is forked has not looked since."""
    chat = fanfold.open("run", window=90_000, store=SQLite(tmp_path / "a.db"))
    chat.say("Look.")
    chat.add(calls("c1"))
    output = chat.answer("c1", "my secret name\n" * 100_000)
    chat.say("Go on.")
    chat.fold(tuple(row.id for row in chat.view().rows[1:3]), "It told a secret.")
    with fanfold.open("run", window=90_000, store=SQLite(tmp_path / "a.db")) as other:
        other.erase(output.id, "asked for")
    with chat.fork("copy") as copy:
        assert "It told a secret." not in [message.text for message in copy.view().messages]
        with pytest.raises(fanfold.Gone, match="asked for"):
            copy.output("o1")
    assert fanfold.doctor(tmp_path / "a.db").findings == ()


def test_a_fork_during_an_erasure_does_not_bring_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SQLite(tmp_path / "a.db")
    chat = fanfold.open("run", window=90_000, store=store)
    entry = chat.say("my secret name " * 20)
    chat.say("Go on.")
    chat.fold((entry.id,), "It told a secret.")
    append = store.append

    def appended(tenant: str, session: str, batch: Any, *, expect: int | None) -> Any:
        if session == "copy":
            monkeypatch.undo()
            with fanfold.open("run", window=90_000, store=SQLite(tmp_path / "a.db")) as other:
                other.erase(entry.id, "asked for")
        return append(tenant, session, batch, expect=expect)

    monkeypatch.setattr(store, "append", appended)
    with chat.fork("copy") as copy:
        assert "It told a secret." not in [message.text for message in copy.view().messages]


def test_whoever_comes_second_to_a_session_opened_from_a_checkpoint_is_told_too(tmp_path: Path) -> None:
    """(19.3) What came first is met when everything is read, in the middle of a unit of work."""
    with both(tmp_path, asks("Hello."), says("Yes."))[0] as first:
        pin = first.pin("Hello.")
    one, two = both(tmp_path)
    one.say("first")

    def work(state: Any) -> None:
        append(state, user("second"))
        state.decide(Undo(pin.id), why="unpin")

    with pytest.raises(Moved, match="somebody wrote first"):
        two._do(work)
    assert words(two) == ["Hello.", "Yes.", "first"]
    two._do(work)
    assert words(two) == ["Hello.", "Yes.", "first", "second"]
    assert two.view().pinned_texts == ()


def test_a_writer_who_lost_three_times_writes_while_all_others_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = both(tmp_path, asks("Hello."), on_moved="reapply")
    overtake(one, two, monkeypatch)
    two.say("mine")
    assert words(two) == ["Hello.", "quicker 0", "quicker 1", "quicker 2", "mine"]


def test_what_is_said_after_others_were_quicker_is_found_by_the_words_of_all(tmp_path: Path) -> None:
    one, two = both(tmp_path, asks("Hello."), on_moved="reapply")
    for n in range(3):
        one.say(f"first {n}")
        two.say(f"second {n}")
    head = two._state.tree[str(two.head)]
    assert head.prefix == list(prefixes(two.view().messages))[-1]
