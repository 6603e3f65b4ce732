"""prefix and again: between two edits a request only grows at its end; asked twice, it is the same."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import Budget
from fanfold.testing import called, replied, returned, said, talk
from fanfold.testing.generators import conversations, steps, texts
from laws.world import World


@given(conversations(), st.lists(texts(), min_size=1, max_size=3), steps(90))
def test_a_request_begins_with_the_one_before(bodies: list[Any], words: list[str], step: list[Any]) -> None:
    with fanfold.open("run", window=10**6, system="Be brief.") as chat:
        chat.merge(bodies)
        before = chat.request()["messages"]
        for text in words:
            chat.say(text)
            chat.note("state", text)
            for body in step:
                chat.add(body)
            after = chat.request()["messages"]
            assert after[: len(before)] == before
            before = after
            step = []


def test_a_context_is_not_part_of_the_prefix() -> None:
    with fanfold.open("run", window=1_000) as chat:
        chat.merge([said("Go."), replied(None, called("c1")), returned("c1", "out")])
        assert chat.request(context="It rains.")["messages"][-1]["content"] == "out\n\nIt rains."
        assert chat.request()["messages"][-1]["content"] == "out"


def test_after_a_reduction_many_requests_only_grow() -> None:
    changes = 0
    with fanfold.open("run", window=2_000) as chat:
        before: list[Any] = []
        for body in talk(30, 1):
            chat.add(body)
            if body["role"] == "assistant":
                continue
            if chat._state.open_calls:
                continue
            after = chat.request()["messages"]
            changes += after[: len(before)] != before
            before = after
    assert 1 < changes <= 9


@given(conversations(most=600), st.integers(150, 2_000), st.none() | texts(most=40))
def test_asked_twice_a_request_is_the_same_and_nothing_is_written(
    bodies: list[Any], window: int, context: str | None
) -> None:
    world = World(budget=Budget(window=window))
    world.merge(bodies)
    world.request(context=context)
