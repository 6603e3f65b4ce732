"""smaller: a strategy's fold, elide or drop lowers the tokens, by the least gain unless the window forces it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import Budget, Drop, Fold
from fanfold.testing import replied, said
from fanfold.testing.generators import conversations
from laws.hostile import HOSTILE, summarizes
from laws.world import World


@given(conversations(), st.sampled_from((None, summarizes, *HOSTILE)), st.sampled_from((0, 16, 200)))
def test_every_reducing_edit_makes_the_view_smaller(bodies: list[Any], strategy: Any, gain: int) -> None:
    world = World(strategy, budget=Budget(window=900, gain=gain))
    world.merge(bodies)
    world.compact(force=True)
    world.check()


def test_a_fold_that_saves_too_little_is_refused() -> None:
    def greedy(view: Any, budget: Any) -> Any:
        yield Fold((view.rows[0].id,), "about as many words as there were in it")

    with fanfold.open("run", budget=Budget(window=9_000, gain=50), strategy=greedy, fallback=()) as chat:
        chat.merge([said("this is just about as long as what is shown"), replied("Yes."), said("And?")])
        outcome = chat.compact(force=True)
        assert (outcome.status, outcome.before - outcome.after) == ("refused-larger", 0)


def test_a_refusal_comes_back_to_the_strategy_with_its_reason() -> None:
    told: list[str | None] = []

    def curious(view: Any, budget: Any) -> Any:
        view = yield Drop((view.rows[-1].id,))
        told.append(view.refused)

    with fanfold.open("run", window=9_000, strategy=curious) as chat:
        chat.merge([said("One."), replied("Two."), said("Three.")])
        chat.compact(force=True)
    assert told[0] is not None
    assert "not seen it yet" in told[0]
