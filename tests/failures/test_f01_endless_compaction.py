"""F1: system prompt and kept tail exceed the window, so every step compacts again."""

from __future__ import annotations

import pytest

import fanfold
from fanfold import DoesNotFit
from fanfold.testing import FakeModel

from .naive import compacted, loop, tokens

SYSTEM = "You never forget a rule. " * 200
WINDOW = 1_300


def test_the_naive_manager_compacts_for_ever() -> None:
    history = [{"role": "system", "content": SYSTEM}, *loop(20)]
    asked = 0
    for _ in range(50):
        if tokens(history) > WINDOW:
            asked += 1
            history = compacted(history, lambda _: "They looked.")
    assert asked == 50


def test_fanfold_stops_says_what_holds_the_room_and_asks_no_more() -> None:
    model = FakeModel("They looked.")
    with fanfold.open("run", window=WINDOW, system=SYSTEM, summarizer=model, filters=()) as chat:
        chat.merge(loop(20))
        with pytest.raises(DoesNotFit, match="system prompt and tools"):
            chat.request(max_tokens=400)
        asked = model.calls
        for _ in range(50):
            with pytest.raises(DoesNotFit):
                chat.request(max_tokens=400)
        assert model.calls == asked <= 4, "one question, in four pieces"


def test_a_tail_that_fills_the_window_is_reduced_once_and_then_left_alone() -> None:
    model = FakeModel("They looked.")
    with fanfold.open("run", window=2_600, system=SYSTEM, summarizer=model, filters=()) as chat:
        chat.merge(loop(20))
        for _ in range(50):
            chat.request()
        assert model.calls <= 2
