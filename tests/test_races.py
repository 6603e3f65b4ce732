"""Several at once: threads on sessions, and what happens while a model is asked."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold
from builders import asks, long, opened, says, tell, texts
from fanfold import (
    AsyncSession,
    BadInput,
    Budget,
    Decision,
    Elide,
    Fold,
    Hooks,
    Memory,
    NotFound,
    Session,
    SQLite,
    View,
    ask,
)
from fanfold.core.edit import covers_of
from fanfold.core.plan import Plan
from fanfold.core.record import Edited
from fanfold.session import record as recording
from fanfold.session.state import State


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


def at_once(*works: Callable[[], object]) -> None:
    """Do all of it at once; an error, or a work that does not end, is an error here."""
    problems: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads), "they wait for one another"
    assert not problems


def path(chat: Session) -> list[str]:
    log = chat._state.log
    return log.tree.path(log.head)


@pytest.mark.usefixtures("hasty")
def test_two_sessions_that_erase_at_once_do_not_wait_for_each_other() -> None:
    store = Memory()
    chats = [opened(9_000, name=name, store=store) for name in "ab"]
    ids = {chat.name: tell(chat, *(asks(f"{chat.name} {i}") for i in range(20))) for chat in chats}

    def erase(chat: Session) -> None:
        for id in ids[chat.name]:
            chat.erase(id, "asked for")

    at_once(*(lambda chat=chat: erase(chat) for chat in chats))
    assert all(set(texts(chat)) == {"[erased: asked for]"} for chat in chats)


@pytest.mark.usefixtures("hasty")
def test_an_erasure_loses_nothing_that_another_session_says_meanwhile() -> None:
    store = Memory()
    eraser = opened(9_000, name="eraser", store=store)
    talker = opened(90_000, name="talker", store=store, on_moved="reapply")
    said: list[str] = []

    def erase() -> None:
        for number in range(40):
            eraser.erase(eraser.say(f"secret {number}").id, "asked for")

    def talk() -> None:
        for number in range(100):
            said.append(talker.say(f"word {number}").id)
            talker.why(said[-1])

    def open_more() -> None:
        for number in range(40):
            opened(9_000, name=f"other-{number}", store=store).say("The same prompt.")

    at_once(erase, talk, open_more)
    talker.close()
    assert path(opened(90_000, name="talker", store=store)) == said


def summarising(view: View, budget: Budget) -> Plan:
    """Fold all but the newest third into what a model says about it."""
    old = view.oldest(leaving=budget.room // 3)
    if len(old.rows) > 1:
        yield Fold(old.covers, (yield from ask(old.messages, "Sum this up.")))


def asked_while(meanwhile: Callable[[Session], object], turns: int = 20) -> Session:
    """A session whose next request asks a model, during which something else happens."""
    chat: Session
    done: list[object] = []

    def model(question: Any) -> str:
        if not done:
            done.append(meanwhile(chat))
        return "They spoke of secret-0."

    chat = opened(600, strategy=summarising, summarizer=model)
    tell(
        chat, *(body for i in range(turns) for body in (asks(long(f"secret-{i}", 20)), says(long("yes", 20))))
    )
    chat.say("Go on.")
    return chat


def kept_texts(chat: Session) -> str:
    return repr(chat._state.log.records)


def test_a_summary_of_what_was_erased_while_it_was_written_is_not_kept() -> None:
    chat = asked_while(lambda chat: chat.erase(path(chat)[0], "asked for"))
    request = chat.request()
    assert "secret-0" not in repr(request)
    assert "spoke" not in repr(request)
    assert "spoke of secret-0" not in kept_texts(chat)


def replace(chat: Session) -> None:
    bodies = [chat._state.dialect.wire(chat._state.log.message(id))[0] for id in path(chat)]
    assert chat.merge([asks(long("Another thing entirely", 20)), *bodies[1:]]).replaced == 1


def elide(chat: Session) -> None:
    state = chat._state
    edit = Elide(f"{path(chat)[0]}#0", "[gone]")
    chat._do(lambda state: state.commit([Decision(state.log.next_edit(), state.log.head, edit, "person")]))
    assert state.view().rows[0].was is not None


@pytest.mark.parametrize("meanwhile", [replace, elide])
def test_a_plan_is_discarded_if_a_row_it_covers_reads_otherwise_by_now(
    meanwhile: Callable[[Session], object],
) -> None:
    chat = asked_while(meanwhile)
    chat.request()
    folds = [d.edit for d in chat._state.log.decisions.values() if isinstance(d.edit, Fold)]
    assert not any("spoke" in repr(edit.shows) for edit in folds)


@pytest.mark.parametrize(
    "meanwhile",
    [lambda chat: chat.pin(path(chat)[0]), lambda chat: chat.fold(tuple(path(chat)[:2]), "Mine.")],
)
def test_a_request_whose_plan_came_too_late_is_reduced_by_the_fallbacks(
    meanwhile: Callable[[Session], object],
) -> None:
    chat = asked_while(meanwhile)
    assert chat.request()["messages"][-1] == asks("Go on.")


def test_what_is_said_meanwhile_is_no_part_of_what_a_plan_saved() -> None:
    said = long("By the way", 2_000)
    chat = asked_while(lambda chat: chat.say(said))
    outcome = chat.compact(force=True)
    assert outcome.status == "reduced"
    assert outcome.before - outcome.after == sum(one.before - one.after for one in outcome.decisions) > 0
    assert said in texts(chat)


@pytest.mark.parametrize("when", ["before_edit", "after_edit", "on_pressure"])
def test_a_request_of_which_a_hook_took_everything_back_says_that_there_is_nothing(when: str) -> None:
    chat: Session
    hooks = Hooks(**{when: lambda *_: chat.reset()})
    chat = opened(300, hooks=hooks)
    tell(chat, *(says(long(f"line {i}", 20)) for i in range(20)), asks("Go on."))
    with pytest.raises(NotFound, match="nothing to send"):
        chat.request()


@pytest.mark.parametrize("meddle", [lambda chat: chat.pin("Go on."), lambda chat: chat.note("state", "new")])
def test_a_hook_that_decides_something_itself_does_not_get_in_the_way_of_a_plan(
    meddle: Callable[[Session], object],
) -> None:
    chat: Session
    done: list[object] = []

    def before(decisions: Any, trigger: str) -> None:
        if not done:
            done.append(meddle(chat))

    chat = opened(300, hooks=Hooks(before_edit=before))
    tell(chat, *(says(long(f"line {i}", 20)) for i in range(20)), asks("Go on."))
    chat.request()
    made = [d for record in chat._state.log.records if isinstance(record, Edited) for d in record.decisions]
    assert len({decision.id for decision in made}) == len(made) > 1
    assert any(covers_of(decision.edit) for decision in made)


@pytest.mark.parametrize("verb", ["request", "compact", "settle"])
@pytest.mark.parametrize("when", ["before_edit", "after_edit", "on_pressure"])
def test_a_hook_that_requests_or_reduces_is_told_that_it_is_a_part_of_that(when: str, verb: str) -> None:
    chat: Session
    hooks = Hooks(**{when: lambda *_: getattr(chat, verb)()})
    chat = opened(300, hooks=hooks)
    tell(chat, *(says(long(f"line {i}", 20)) for i in range(20)), asks("Go on."))

    def request() -> None:
        with pytest.raises(BadInput, match="is a part of it"):
            chat.request()

    at_once(request)
    assert chat.view().tokens > 0


def test_a_model_that_reduces_while_it_is_asked_gives_no_answer_and_the_fallback_goes_on() -> None:
    chat = asked_while(lambda chat: chat.compact())
    at_once(chat.request)
    assert any(covers_of(decision.edit) for decision in chat._state.log.decisions.values())


async def busy(ask: Callable[[AsyncSession], Awaitable[object]]) -> AsyncSession:
    """A session that must ask a model before its next request; the model does this first."""

    async def model(question: Any) -> str:
        await ask(chat)
        return "Summary."

    chat = fanfold.aopen("run", window=600, strategy=summarising, summarizer=model, meter="characters/4")
    for number in range(20):
        await chat.say(long(f"question {number}", 20))
        await chat.add(says(long("yes", 20)))
    await chat.say("Go on.")
    return chat


@pytest.mark.parametrize(
    "ask",
    [
        lambda chat: chat.compact(),
        lambda chat: asyncio.gather(chat.compact()),
        lambda chat: asyncio.create_task(chat.request()),
        lambda chat: asyncio.to_thread(lambda: asyncio.run(chat.request())),
    ],
    ids=["itself", "gather", "task", "thread"],
)
def test_a_task_that_reduces_while_it_is_asked_gives_no_answer_and_the_fallback_goes_on(
    ask: Callable[[AsyncSession], Awaitable[object]],
) -> None:
    async def main() -> Any:
        chat = await busy(ask)
        return await asyncio.wait_for(chat.request(), 20)

    assert asyncio.run(main())["messages"][-1] == asks("Go on.")


def test_a_request_after_the_one_that_it_was_planned_in_waits_for_its_turn() -> None:
    async def main() -> Any:
        planned: list[asyncio.Task[Any]] = []
        over = asyncio.Event()

        async def later(chat: AsyncSession) -> Any:
            await over.wait()
            return await chat.request()

        async def plan(chat: AsyncSession) -> None:
            planned.append(asyncio.create_task(later(chat)))

        chat = await busy(plan)
        first = await chat.request()
        over.set()
        return first, await planned[0]

    first, second = asyncio.run(main())
    assert first == second


def test_a_session_at_work_in_one_event_loop_is_not_shared_with_another() -> None:
    asked, over = threading.Event(), threading.Event()

    async def slow(chat: AsyncSession) -> None:
        asked.set()
        while not over.is_set():
            await asyncio.sleep(0.01)

    chat = asyncio.run(busy(slow))

    def second() -> None:
        assert asked.wait(20)
        try:
            with pytest.raises(BadInput, match="in another event loop"):
                asyncio.run(chat.request())
        finally:
            over.set()

    at_once(lambda: asyncio.run(chat.request()), second)
    assert asyncio.run(chat.request())["messages"][-1] == asks("Go on.")


def test_one_event_loop_after_another_may_have_tasks_that_wait_for_each_other() -> None:
    async def none(chat: AsyncSession) -> None:
        await asyncio.sleep(0)

    async def twice(text: str) -> list[Any]:
        for _ in range(20):
            await chat.say(long(text, 20))
            await chat.add(says("Yes."))
        await chat.say("Go on.")
        return await asyncio.gather(chat.request(), chat.request())

    chat = asyncio.run(busy(none))
    for text in ("more", "and more"):
        first, second = asyncio.run(twice(text))
        assert first == second


def test_what_two_sessions_say_alike_is_stored_though_one_of_them_fails(tmp_path: Path) -> None:
    """Both have the entry in the tree they share; whoever is stored must not rely on the other."""
    store = SQLite(tmp_path / "a.db")
    one = fanfold.open("one", window=9_000, store=store)
    two = fanfold.open("two", window=9_000, store=store)

    def say_and_fail(state: State) -> None:
        recording.say(state, "Hello.")
        two.say("Hello.")
        raise RuntimeError("one fails after two was stored")

    with pytest.raises(RuntimeError):
        one._do(say_and_fail)
    again = fanfold.open("two", window=9_000, store=SQLite(tmp_path / "a.db"))
    assert [message.text for message in again.view().messages] == ["Hello."]
    assert one.say("Hello.").message.text == "Hello."
    assert fanfold.doctor(tmp_path / "a.db").findings == ()


def test_a_reference_that_was_given_out_meanwhile_is_given_to_nothing_else() -> None:
    """Two edits with one reference: whoever looks it up would read the wrong output."""

    def plan(view: View, budget: Budget) -> Plan:
        yield Elide(f"{view.rows[0].id}#0", "[one; ref={ref}]")
        yield from ask((), "Anything else?")

    def elide_another(question: Any) -> str:
        edit = Elide(f"{path(chat)[1]}#0", "[two; ref=m1]", "m1")
        chat._do(
            lambda state: state.commit([Decision(state.log.next_edit(), state.log.head, edit, "person")])
        )
        return "No."

    chat = opened(9_000, strategy=plan, summarizer=elide_another)
    tell(chat, asks(long("first", 300)), says(long("second", 300)), asks("Go on."))
    assert chat.compact(force=True).status == "reduced"
    assert texts(chat)[:2] == ["[one; ref=m2]", "[two; ref=m1]"]
    assert chat.output("m1").lines(1, 1)[0].startswith("second")
    assert chat.output("m2").lines(1, 1)[0].startswith("first")


def test_whoever_came_second_looks_first_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = SQLite(tmp_path / "a.db"), SQLite(tmp_path / "a.db")
    chat = fanfold.open("shared", window=9_000, store=mine, on_moved="reapply")
    other = fanfold.open("shared", window=9_000, store=theirs, on_moved="reapply")
    tries, append = list[str](), mine.append
    monkeypatch.setattr(
        mine, "append", lambda *given, **expect: (tries.append("one"), append(*given, **expect))[1]
    )
    for n in range(10):
        other.say(f"other {n}")
        chat.say(f"mine {n}")
    assert len(tries) == 11, "only the first came second"
    assert texts(chat) == [f"{who} {n}" for n in range(10) for who in ("other", "mine")]
