"""rewind: only edits made on the path, or carried to it, stand (a person's undo and pin excepted)."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import Budget
from fanfold.testing import replied, said, talk
from fanfold.testing.generators import conversations
from laws import holds
from laws.hostile import folds_in_pieces, summarizes
from laws.world import World


@given(conversations(), st.sampled_from((None, summarizes, folds_in_pieces)), st.integers(0, 60))
def test_going_back_and_forward_again_changes_nothing(bodies: list[Any], strategy: Any, pick: int) -> None:
    world = World(strategy, budget=Budget(window=900))
    world.merge(bodies)
    world.compact(force=True)
    world.rewind_and_forward(pick)


@given(conversations(), st.integers(0, 60))
def test_before_an_edit_was_made_it_does_not_stand(bodies: list[Any], pick: int) -> None:
    world = World(budget=Budget(window=900))
    world.merge(bodies)
    world.compact(force=True)
    path = holds.path_of(world.chat)
    at = pick % len(path)
    world.chat.rewind(at)
    if at < len(path) - 1:
        assert [row.id for row in world.chat.view().rows] == path[: at + 1]


def test_a_pin_and_an_undo_hold_on_every_path() -> None:
    with fanfold.open("run", window=1_000) as chat:
        first = chat.say("Never touch vendor.")
        chat.merge([said("Never touch vendor."), *talk(6)])
        chat.pin(first.id)
        chat.request()
        chat.rewind(1)
        assert [row.pinned for row in chat.view().rows] == [True, False]


def test_a_fork_by_merge_takes_the_edits_along_that_it_can() -> None:
    bodies = talk(8)
    with fanfold.open("run", window=1_500) as chat:
        chat.merge(bodies)
        chat.request()
        folded = [row.kind for row in chat.view().rows].count("fold")
        assert chat.merge([*bodies[:-1], replied("Something else.")]).forked
        assert [row.kind for row in chat.view().rows].count("fold") == folded == 1


def test_a_rewind_takes_its_edits_back_even_if_a_fork_follows() -> None:
    with fanfold.open("run", window=9_000) as chat:
        chat.say("One.")
        chat.add(replied("Two."))
        chat.note("state", "of the branch that was left")
        chat.rewind(0)
        chat.add(replied("Another two."))
        chat.merge([said("One."), replied("A third two."), said("Go on.")])
        assert [row.kind for row in chat.view().rows] == ["entry"] * 3


def test_an_edit_stands_again_where_a_client_comes_back_to_its_messages() -> None:
    bodies = talk(8)
    with fanfold.open("run", window=1_500) as chat:
        chat.merge([*bodies, said("One.")])
        chat.request()
        assert "fold" in [row.kind for row in chat.view().rows]
        chat.merge([*bodies[:2], said("Wait.")])
        chat.merge([*bodies, said("Two.")])
        assert "fold" in [row.kind for row in chat.view().rows]
