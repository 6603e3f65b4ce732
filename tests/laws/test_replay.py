"""replay: written and read back, a log shows the same messages."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import Budget
from fanfold.core.ids import canonical, unpack
from fanfold.testing.generators import broken_conversations, conversations, odd_bodies
from laws import holds
from laws.hostile import HOSTILE, summarizes
from laws.world import World


@given(conversations() | broken_conversations(), st.sampled_from((None, summarizes, *HOSTILE)))
def test_a_log_read_back_from_bytes_shows_the_same(bodies: list[Any], strategy: Any) -> None:
    world = World(strategy, budget=Budget(window=900))
    world.merge(bodies)
    world.request()
    world.compact(force=True)
    world.finish()


@given(conversations(), conversations())
def test_a_session_opened_again_goes_on_where_it_ended(first: list[Any], then: list[Any]) -> None:
    store = fanfold.Memory()
    with fanfold.open("run", window=2_600, store=store) as chat:
        chat.merge(first)
        chat.note("state", "tests are red")
        chat.request()
        before = holds.fingerprint(chat._state.view())
    with fanfold.open("run", window=2_600, store=store) as chat:
        assert holds.fingerprint(chat._state.view()) == before
        for body in then[:1]:
            chat.add(body)
        holds.the_view_is_that_of_a_log_read_anew(chat)


@given(odd_bodies())
def test_every_value_comes_back_from_its_canonical_bytes(body: Any) -> None:
    assert unpack(canonical(body)) == body


def test_every_request_can_be_seen_again_as_it_was() -> None:
    with fanfold.open("run", window=700) as chat:
        seen = []
        for number in range(30):
            chat.say(f"Question {number}: " + "words " * 30)
            seen.append(chat.request()["messages"])
            chat.add({"role": "assistant", "content": f"Answer {number}."})
        assert [holds.wires(chat, chat.sent(n)[1]) for n in range(30)] == seen
