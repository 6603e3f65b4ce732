"""smaller: a strategy's fold, elide or drop lowers the tokens, by the least gain unless the window forces it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import Budget, Decision, Drop, Fold
from fanfold.core.layout import show
from fanfold.session.session import attempt
from fanfold.testing import replied, response, said
from fanfold.testing.generators import conversations
from laws import holds
from laws.hostile import HOSTILE, drops_everything, summarizes
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


def drops_folds(view: Any, budget: Any) -> Any:
    return [Drop((row.id,)) for row in view.rows if row.kind == "fold"]


def test_an_edit_is_judged_by_what_it_hid_when_it_was_made() -> None:
    """What an erasure leaves of a summary is shorter than the marker that stood in its place already."""
    world = World(drops_folds, budget=Budget(window=2_000))
    world.go_on()
    world.chat.fold(tuple(holds.path_of(world.chat)), "They counted to two. " * 10)
    world.go_on()
    world.compact(force=True)
    (dropped,) = [d for d in world.log.decisions.values() if d.by == "auto"]
    world.erase(0)
    made = world.log.born[dropped.id]
    before, after = (show(world.log, dropped.at, at, world.chat._state.gauge) for at in (made - 1, made))
    assert dropped.before - dropped.after > 16
    assert before.tokens < after.tokens
    world.check()


def _makes_it_larger(world: World) -> None:
    """Record an automatic fold of the last two rows that is said to save 100 tokens, and takes more."""
    view = world.chat.view()
    before, fold = view.tokens, Fold(tuple(row.id for row in view.rows[-2:]), "more words " * 200)
    made = Decision(world.log.next_edit(), world.log.head, fold, before=before, after=before - 100)
    attempt(world.chat._state, lambda state: state.commit((made,)))


def test_an_edit_that_made_the_view_larger_is_found_though_what_it_shows_is_erased_at_once() -> None:
    world = World()
    world.go_on()
    _makes_it_larger(world)
    with pytest.raises(AssertionError, match="e1 left 700 tokens of 425"):
        world.erase(-1)


def test_an_edit_that_made_the_view_larger_is_found_though_answers_were_erased_before_it() -> None:
    """They are taken out of the records: what comes after them moves up, also where nobody looked since."""
    world = World(summarizes, budget=Budget(window=900))
    for _ in range(4):
        world.go_on()
        world.compact(force=True)
        world.check()
    assert len(world.log.answers) == 2
    world.fork(edits=True)
    world.switch(1)
    world.erase(0)
    world.switch(0)
    assert not world.log.answers
    _makes_it_larger(world)
    with pytest.raises(AssertionError, match="e5 left 581 tokens of 306"):
        world.check()


def _billed(world: World, share: float) -> None:
    """A request was sent, answered, and billed at this share of what was counted."""
    world.request()
    prompt = round(share * world.log.sent[-1].tokens)
    world.do("receive", response(replied("Never touch the vendor folder."), prompt=prompt))


def test_the_least_gain_does_not_count_where_a_bill_says_that_the_window_is_full() -> None:
    world = World(drops_everything, budget=Budget(window=300, reserve=50))
    for text in (
        "Mend the build. Never touch the vendor folder.",
        "And then?",
        "Never touch the vendor folder.",
    ):
        world.do("say", text)
    _billed(world, 1.33)
    world.compact()
    assert [d.before - d.after for d in world.log.decisions.values()] == [4]
    world.check()


def test_the_least_gain_counts_after_a_bill_too() -> None:
    """A token that costs less than it was counted for is no excuse: there is room."""
    world = World(budget=Budget(window=2_000))
    world.go_on()
    _billed(world, 0.6)
    assert world.chat._state.learned.scale < 1
    view = world.chat.view()
    fold = Fold((view.rows[0].id,), "word " * 55)
    made = Decision(world.log.next_edit(), world.log.head, fold, before=view.tokens, after=view.tokens - 5)
    attempt(world.chat._state, lambda state: state.commit((made,)))
    with pytest.raises(AssertionError, match="e1 saves 5 only"):
        world.check()
