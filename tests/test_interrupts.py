"""Work that is broken off: by a meter that fails, by Ctrl-C in the middle of a verb. What follows lacks nothing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from builders import asks, calls, opened, says, tell, texts
from fanfold import Memory, Pool, Session, SQLite, Store, meter
from fanfold.core.message import Message
from fanfold.core.record import Frame

WORDS = ["one", "two", "three", "four", "five"]


class Tripping:
    """A meter that is interrupted once, at a message that says this."""

    def __init__(self, error: BaseException) -> None:
        self._meter = meter.named("characters/4")
        self.name, self.overhead = self._meter.name, self._meter.overhead
        self._error = error
        self.at: str | None = None

    def text(self, text: str) -> int:
        return self._meter.text(text)

    def frame(self, frame: Frame) -> int:
        return self._meter.frame(frame)

    def message(self, message: Message) -> int:
        if message.text == self.at:
            self.at = None
            raise self._error
        return self._meter.message(message)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("once"), RecursionError()])
def test_a_message_that_could_not_be_counted_once_is_sent_the_next_time(error: BaseException) -> None:
    trips = Tripping(error)
    chat = opened(meter=trips)
    tell(chat, *map(asks, WORDS))
    trips.at = "three"
    with pytest.raises(type(error)):
        chat.request()
    assert [body["content"] for body in chat.request()["messages"]] == WORDS


def test_a_rewind_that_could_not_be_shown_once_is_shown_the_next_time() -> None:
    trips = Tripping(ValueError("once"))
    chat = opened(meter=trips)
    tell(chat, *map(asks, WORDS))
    chat.view()
    chat.rewind(2)
    chat._state.projection.weights.clear()
    trips.at = "two"
    with pytest.raises(ValueError, match="once"):
        chat.view()
    assert texts(chat) == WORDS[:3]


def test_a_session_that_went_on_from_a_checkpoint_shows_all_after_such_a_failure(tmp_path: Path) -> None:
    trips = Tripping(ValueError("once"))
    with opened(store=SQLite(tmp_path / "s.db")) as chat:
        tell(chat, *map(asks, WORDS[:3]))
    chat = opened(meter=trips, store=SQLite(tmp_path / "s.db"))
    assert chat._state.log.resumed_at, "it began with its checkpoint"
    tell(chat, *map(asks, WORDS[3:]))
    trips.at = "four"
    with pytest.raises(ValueError, match="once"):
        chat.view()
    assert texts(chat) == WORDS


SWALLOWED = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""Python swallows Ctrl-C while a generator is thrown away, and only says so."""
VERBS: dict[str, Callable[[Session], object]] = {
    "say": lambda chat: chat.say("hello"),
    "answer": lambda chat: chat.answer("c1", "out " * 40),
    "merge": lambda chat: chat.merge([asks("one"), says("another")]),
    "rewind": lambda chat: chat.rewind(1),
    "note": lambda chat: chat.note("todo", "sleep"),
    "request": lambda chat: chat.request(),
    "erase": lambda chat: chat.erase(chat._state.path[1], "secret"),
}


def interrupted(work: Callable[[], object], at: int) -> bool:
    """Work with Ctrl-C at the so many-th place where Python heeds a signal: a function begins, or a C function ended.

    False if it ended before.
    """
    seen = 0

    def watch(frame: FrameType, event: str, arg: object) -> None:
        nonlocal seen
        if event in ("call", "c_return") and "/fanfold/" in frame.f_code.co_filename:
            seen += 1
            if seen == at:
                raise KeyboardInterrupt

    sys.setprofile(watch)
    try:
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    return seen >= at


def talking(store: Store) -> Session:
    chat = opened(window=400, store=store)
    tell(chat, asks("one"), says("two"), *map(asks, WORDS), says("then " * 200), calls("c1"))
    chat.view()
    return chat


def goes_on(chat: Session, store: Store) -> None:
    """Whether another thread can go on, and what it sees is what the store has."""
    other = threading.Thread(target=lambda: chat.say("go on"), daemon=True)
    other.start()
    other.join(10)
    assert not other.is_alive(), "it waits for a lock that nobody holds"
    shown, open_calls = texts(chat), dict(chat._state.open_calls)
    assert shown[-1] == "go on"
    chat._state.find_open_calls()
    assert chat._state.open_calls == open_calls
    chat.close()
    assert texts(opened(window=400, store=store)) == shown


@SWALLOWED
@pytest.mark.parametrize("verb", VERBS)
def test_ctrl_c_anywhere_in_a_verb_leaves_a_session_that_goes_on(verb: str) -> None:
    at, points = 1, 0
    while True:
        store = Memory()
        chat = talking(store)
        if not interrupted(lambda chat=chat: VERBS[verb](chat), at):  # type: ignore[misc]
            break
        goes_on(chat, store)
        points += 1
        at += 1 + at // 40
    assert points > 20


class Awaiting(Memory):
    """A store whose sessions have locks for fibers, too, as those of PostgreSQL."""

    awaits = True


@SWALLOWED
@pytest.mark.parametrize("verb", ["say", "request"])
def test_ctrl_c_anywhere_leaves_a_session_of_fibers_that_goes_on(verb: str) -> None:
    at = 1
    while True:
        store = Awaiting()
        chat = talking(store)
        if not interrupted(lambda chat=chat: VERBS[verb](chat), at):  # type: ignore[misc]
            break
        goes_on(chat, store)
        at += 1 + at // 40
    assert at > 20


@SWALLOWED
def test_ctrl_c_anywhere_leaves_a_pool_that_others_can_use() -> None:
    def use(pool: Pool) -> None:
        with pool.session("run") as chat:
            chat.say("hello")

    at = 1
    while True:
        pool = Pool(Memory(), window=400, dialect="openai.chat")
        use(pool)
        if not interrupted(lambda pool=pool: use(pool), at):  # type: ignore[misc]
            break
        other = threading.Thread(target=use, args=[pool], daemon=True)
        other.start()
        other.join(10)
        assert not other.is_alive(), "it waits for a lock that nobody holds"
        at += 1 + at // 40
    assert at > 20


@SWALLOWED
def test_ctrl_c_anywhere_leaves_a_file_that_goes_on(tmp_path: Path) -> None:
    at = 1
    while True:
        store = SQLite(tmp_path / f"{at}.db")
        chat = talking(store)
        if not interrupted(lambda chat=chat: chat.say("hello"), at):  # type: ignore[misc]
            break
        goes_on(chat, store)
        at += 1 + at // 20
    assert at > 20
