"""rewind: only edits made on the path, or carried to it, stand (a person's undo and pin excepted)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import Budget, NotFound
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
    with fanfold.open("run", window=9_000) as chat:
        ids = [chat.say(f"{number} " + "word " * 30).id for number in range(4)]
        folded = chat.fold(tuple(ids[1:3]), "One to two.")
        chat.rewind(ids[2])
        chat.forward()
        assert [row.id for row in chat.view().rows] == [ids[0], folded.id, ids[3]]
        chat.say("Elsewhere.")
        chat.pin(ids[0])
        chat.undo(folded.id)
        chat.rewind(ids[3])
        assert [(row.id, row.pinned) for row in chat.view().rows] == [(id, id == ids[0]) for id in ids]
        assert chat.view().exempt == {ids[1], ids[2]}
        chat.rewind(ids[1])
        chat.say("On a path where the fold was never made.")
        assert [row.pinned for row in chat.view().rows] == [True, False, False]
        assert ids[1] in chat.view().exempt


def numbered(chat: fanfold.Session) -> list[str]:
    return [chat.say(f"Message {number}.").id for number in range(16)]


def test_forward_does_not_go_back_to_what_was_passed_since() -> None:
    with fanfold.open("run", window=9_000) as chat:
        ids = numbered(chat)
        chat.rewind(8)
        chat.rewind(3)
        assert chat.forward(ids[15]) == ids[15]
        with pytest.raises(NotFound, match="no rewind to go forward from"):
            chat.forward()
        assert chat.head == ids[15]


def test_forward_goes_one_rewind_at_a_time() -> None:
    with fanfold.open("run", window=9_000) as chat:
        ids = numbered(chat)
        chat.rewind(8)
        chat.rewind(3)
        assert [chat.forward(), chat.forward()] == [ids[8], ids[15]]


def test_what_was_said_again_is_not_gone_forward_to() -> None:
    with fanfold.open("run", window=9_000) as chat:
        ids = numbered(chat)
        chat.rewind(13)
        assert [chat.say(f"Message {number}.").id for number in (14, 15)] == ids[14:]
        with pytest.raises(NotFound, match="no rewind to go forward from"):
            chat.forward()
        chat.rewind(0)
        assert chat.forward() == ids[15]
        with pytest.raises(NotFound, match="no rewind to go forward from"):
            chat.forward()


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
