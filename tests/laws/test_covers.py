"""covers: every entry of the path is covered by exactly one row."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold import Budget
from fanfold.testing import talk
from fanfold.testing.generators import broken_conversations, conversations
from laws import holds
from laws.hostile import HOSTILE, summarizes
from laws.world import World


@given(conversations() | broken_conversations(), st.sampled_from((None, summarizes, *HOSTILE)))
def test_every_entry_stands_behind_exactly_one_row(bodies: list[Any], strategy: Any) -> None:
    world = World(strategy, budget=Budget(window=600))
    world.merge(bodies)
    world.request()
    world.compact(force=True)
    world.check()


@pytest.mark.parametrize("strategy", HOSTILE, ids=lambda strategy: strategy.__name__)
def test_no_stranger_s_strategy_can_hide_an_entry(strategy: Any) -> None:
    world = World(strategy, budget=Budget(window=1_500))
    world.merge(talk(6, 2))
    world.compact(force=True)
    world.check()
    assert sum(row.count for row in world.chat.view().rows) == len(holds.path_of(world.chat))
