"""Work that is broken off: by a meter that fails, by Ctrl-C in the middle of a verb. What follows lacks nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import asks, opened, tell, texts
from fanfold import SQLite, meter
from fanfold.message import Message
from fanfold.record import Frame

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
    assert chat._state.log.base, "it began with its checkpoint"
    tell(chat, *map(asks, WORDS[3:]))
    trips.at = "four"
    with pytest.raises(ValueError, match="once"):
        chat.view()
    assert texts(chat) == WORDS
