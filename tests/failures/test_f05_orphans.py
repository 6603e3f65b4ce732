"""F5: an orphaned result or an unanswered call is refused for ever."""

from __future__ import annotations

import pytest

import fanfold
from fanfold import Repair
from fanfold.testing import called, replied, returned, said

from .naive import loop, verdict


def test_a_naive_cut_leaves_a_result_without_its_call() -> None:
    assert verdict(loop(10)) is None
    assert verdict([said("…"), *loop(10)[-3:]]) is not None


@pytest.mark.parametrize("window", range(600, 1_400, 90))
def test_fanfold_cuts_between_blocks_wherever_the_window_ends(window: int) -> None:
    with fanfold.open("run", window=window, filters=()) as chat:
        chat.merge(loop(30))
        assert verdict(chat.request()["messages"]) is None


@pytest.mark.parametrize(
    "broken",
    [
        [said("Go."), returned("nobody", "42")],
        [said("Go."), replied("", called("c1")), said("Never mind.")],
        [said("Go."), replied("", called("c1"), called("c2")), returned("c1", "1"), said("Well?")],
    ],
)
def test_a_transcript_that_comes_in_broken_is_repaired_and_the_repairing_is_recorded(
    broken: list[object],
) -> None:
    assert verdict(broken) is not None  # type: ignore[arg-type]
    with fanfold.open("run", window=9_000, filters=()) as chat:
        chat.merge(broken)
        assert verdict(chat.request()["messages"]) is None
        assert any(isinstance(d.edit, Repair) for d in chat._state.log.decisions.values())
