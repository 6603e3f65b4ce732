"""Budget: all threshold arithmetic, with the documented systems' own (systems.md)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold import BadBudget, Budget
from fanfold.core.budget import Learned
from fanfold.strategies.framing import beside
from fanfold.systems import budgets


def test_the_defaults_leave_a_tenth_for_the_reply_and_reduce_from_85_to_40_percent() -> None:
    budget = Budget(window=100_000)
    assert (budget.reply, budget.room, budget.ceiling, budget.goal) == (10_000, 90_000, 76_500, 36_000)


@pytest.mark.parametrize(
    ("window", "max_output", "reply"),
    [
        (100_000, 4_096, 4_096),
        (100_000, 16_384, 10_000),
        (320_000, None, 32_000),
        (320_010, None, 32_000),
        (319_990, None, 31_999),
        (1_000_000, 64_000, 32_000),
    ],
)
def test_the_reserve_is_the_least_of_max_output_a_tenth_and_32k(
    window: int, max_output: int | None, reply: int
) -> None:
    assert Budget(window=window, max_output=max_output).reply == reply


def test_a_request_s_own_max_tokens_is_the_reserve() -> None:
    budget = Budget(window=100_000)
    assert budget.reserving(8_000).room == 92_000
    assert budget.reserving(None) is budget


def test_where_input_and_output_do_not_share_the_window_nothing_is_taken_off() -> None:
    assert Budget(window=100_000, reserve=60_000, shared=False).room == 100_000


def test_the_room_is_never_more_than_the_longest_prompt() -> None:
    assert Budget(window=400_000, max_input=272_000, reserve=8_000).room == 272_000
    assert Budget(window=400_000, max_input=272_000, reserve=200_000).room == 200_000


def test_shares_are_at_most_1_and_tokens_above() -> None:
    assert Budget(window=1_000, reserve=0, trigger=1, target=0.5).ceiling == 1_000
    assert Budget(window=1_000, reserve=0, trigger=2, target=2).ceiling == 2


@pytest.mark.parametrize("trigger", [1e308, 10**400])
def test_a_trigger_far_above_the_room_is_the_room(trigger: float) -> None:
    assert Budget(window=1_000, trigger=trigger).ceiling == 900


def test_a_trigger_above_the_room_is_the_room() -> None:
    assert Budget(window=1_000, reserve=100, trigger=5_000).ceiling == 900


def test_limits_are_told_in_the_meter_s_own_tokens() -> None:
    budget = Budget(window=10_000, reserve=1_000, measured=(2.0, 500))
    assert budget.limit == 9_000
    assert budget.room == 4_250
    assert budget.billed(4_250) == 9_000


@given(
    st.floats(0.01, 100),
    st.floats(-(10**6), 10**6),
    st.integers(0, 3_000),
    st.integers(1, 10**6),
)
def test_whatever_was_learned_a_count_is_corrected_within_bounds(
    scale: float, offset: float, beside: int, counted: int
) -> None:
    """(19.8) To half of it at least, to two and a half times as much at most; and back again."""
    budget = Budget(window=2**40, beside=beside, measured=(scale, offset))
    whole, billed = counted + beside, budget.billed(counted)
    assert whole / 2 <= billed <= 2.5 * whole + 1
    assert abs(budget.counted(billed) - counted) <= 3 + 1 / scale
    assert budget.factor(counted) * counted <= billed * (1 + 1e-9)


@pytest.mark.parametrize("scale", [0.3, 0.7, 1.0, 1.35, 3.9])
@pytest.mark.parametrize("offset", [0.0, 0.1, 999.9])
def test_what_fits_as_counted_fits_as_billed(scale: float, offset: float) -> None:
    budget = Budget(window=9_999, reserve=777, measured=(scale, offset))
    assert budget.billed(budget.room) <= budget.limit
    assert budget.billed(budget.room + 2) > budget.limit - scale


@pytest.mark.parametrize(
    "wrong",
    [
        {"window": 0},
        {"window": -1},
        {"window": float("nan")},
        {"window": 10**400},
        {"window": 1_000, "max_bytes": 10**5_000},
        {"window": 1_000, "reserve": 10**400},
        {"window": 1_000.0},
        {"window": "1000x"},
        {"window": True},
        {"window": 1_000, "max_input": 0},
        {"window": 1_000, "reserve": -1},
        {"window": 1_000, "reserve": 1_000},
        {"window": 1_000, "reserve": 2_000},
        {"window": 1_000, "trigger": float("nan")},
        {"window": 1_000, "trigger": float("inf")},
        {"window": 1_000, "trigger": 0},
        {"window": 1_000, "target": -0.1},
        {"window": 1_000, "target": 0.9, "trigger": 0.8},
        {"window": 1_000, "gain": -1},
        {"window": 1_000, "max_bytes": 0},
    ],
)
def test_limits_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadBudget):
        Budget(**wrong)


def test_a_refused_budget_says_what_to_do() -> None:
    with pytest.raises(BadBudget, match="Ask for fewer output tokens, or raise the window"):
        Budget(window=1_000).reserving(1_000)


def test_a_reserve_one_below_the_window_leaves_room_for_one() -> None:
    assert Budget(window=1_000, reserve=999).room == 1


def test_a_target_may_equal_the_trigger() -> None:
    assert Budget(window=1_000, reserve=0, trigger=0.5, target=0.5).goal == 500


@pytest.mark.parametrize(
    ("window", "share"),
    [
        (1, 20_000),
        (79_999, 20_000),
        (80_000, 20_000),
        (80_004, 20_001),
        (128_000, 32_000),
        (239_996, 59_999),
        (240_000, 60_000),
        (240_004, 60_000),
        (1_000_000, 60_000),
    ],
)
def test_a1_tool_outputs_may_take_a_quarter_of_the_window_within_bounds(window: int, share: int) -> None:
    assert Budget(window=window, reserve=0).tool_share == share


@pytest.mark.parametrize(
    ("limit", "ratio", "threshold"),
    [
        (200_000, 0.8, 160_000),
        (100_001, 0.8, 80_000),
        (100_003, 0.8, 80_002),
        (128_000, 0.5, 64_000),
        (10, 0.8, 8),
    ],
)
def test_a11_codelia_compacts_at_the_floor_of_limit_times_ratio(
    limit: int, ratio: float, threshold: int
) -> None:
    assert budgets.codelia(limit, ratio).ceiling == threshold


def test_b3_openstarry_gives_all_that_remains_to_history() -> None:
    budget = budgets.openstarry(8_000)
    assert (budget.room, budget.ceiling, budget.goal) == (8_000, 8_000, 8_000)


@pytest.mark.parametrize(("limit", "threshold"), [(1_048_576, 524_288), (2_097_152, 1_048_576), (1_001, 501)])
def test_d1_gemini_cli_compresses_at_half_of_the_limit(limit: int, threshold: int) -> None:
    assert budgets.gemini_cli(limit).ceiling == threshold


def test_d1_gemini_cli_knows_its_usual_limit_and_keeps_30_percent() -> None:
    budget = budgets.gemini_cli()
    assert budget.window == 1_048_576
    assert budget.goal == 157_286


@pytest.mark.parametrize("remaining", [1, 19, 20, 21, 1_000, 1_048_576])
def test_d3_a_request_may_take_95_percent_of_what_remains(remaining: int) -> None:
    due = [taken for taken in range(remaining + 1) if taken > remaining * 0.95]
    assert budgets.nearly_full(remaining).ceiling == due[0]


@pytest.mark.parametrize(("percent", "threshold"), [(75, 750), (33.3, 333), (0.1, 2), (100, 900)])
def test_e2_a_budget_reduces_at_a_percentage_of_the_window(percent: float, threshold: int) -> None:
    budget = budgets.at_percent(Budget(window=1_000, reserve=100), percent)
    assert (budget.ceiling, budget.goal) == (threshold, min(360, max(2, budget.trigger // 2)))


@pytest.mark.parametrize(
    ("window", "max_tokens", "percent", "allowed", "threshold"),
    [
        (200_000, None, 75.0, 171_808, 150_000),
        (200_000, 64_000, 75.0, 116_000, 116_000),
        (200_000, 30_000, 75.0, 150_000, 150_000),
        (200_000, 30_001, 75.0, 149_999, 149_999),
        (200_000, None, 100.0, 171_808, 171_808),
        (128_000, 4_096, 60.0, 111_104, 76_800),
        (100_001, 0, 75.0, 81_808, 75_001),
    ],
)
def test_e1_roo_code_condenses_at_a_percentage_never_above_what_is_allowed(
    window: int, max_tokens: int | None, percent: float, allowed: int, threshold: int
) -> None:
    budget = budgets.roo_code(window, max_tokens, percent)
    assert (budget.room, budget.ceiling) == (allowed, threshold)


def test_a_buffer_stays_free_beside_whatever_reply_is_asked_for() -> None:
    budget = Budget(window=100_001, buffer=0.1)
    assert [budget.reserving(tokens).room for tokens in (0, 1_000, 90_000 - 1)] == [90_000, 89_000, 1]
    with pytest.raises(BadBudget, match="leaves nothing"):
        budget.reserving(90_000)
    for buffer in (-0.1, 1, "tenth", float("nan")):
        with pytest.raises(BadBudget, match="buffer is"):
            Budget(window=1_000, buffer=buffer)  # type: ignore[arg-type]


def test_e1_a_window_that_the_reply_fills_is_refused() -> None:
    with pytest.raises(BadBudget, match="leave nothing"):
        budgets.roo_code(9_000)
    assert budgets.roo_code(9_104).room == 1


@pytest.mark.parametrize(("trigger", "presses"), [(1.0, [False, False, True]), (0.5, [True, True, True])])
def test_where_all_of_the_room_may_be_taken_only_what_does_not_fit_is_too_much(
    trigger: float, presses: list[bool]
) -> None:
    budget = Budget(window=100, reserve=0, trigger=trigger)
    assert [budget.presses(tokens) for tokens in (99, 100, 101)] == presses
    assert not Budget(window=100, reserve=0, trigger=0.5).presses(49)


def test_a_target_in_tokens_is_lowered_with_the_limit_that_a_refusal_taught() -> None:
    """The trigger is a share, so it shrinks with the limit; a target above it would stop every request."""
    budget = Budget(window=1_000, target=500).measured_by(Learned(), most=400)
    assert (budget.limit, budget.ceiling, budget.goal) == (400, 340, 340)


def test_a_target_in_tokens_is_lowered_where_a_request_wants_a_long_reply() -> None:
    budget = Budget(window=1_000, target=500).measured_by(Learned(), reply=600)
    assert (budget.limit, budget.ceiling, budget.goal) == (400, 340, 340)
    assert Budget(window=1_000, target=500).measured_by(Learned(), reply=100).goal == 500


@given(st.integers(2, 2_000), st.integers(1, 2_000), st.sampled_from((0.3, 0.85, 1.0)))
def test_a_limit_that_was_learned_never_makes_a_budget_refuse_itself(
    target: int, most: int, trigger: float
) -> None:
    try:
        budget = Budget(window=2_000, reserve=100, trigger=trigger, target=target)
    except BadBudget:  # the caller's own mistake
        return
    seen = budget.measured_by(Learned(), most=most)
    assert seen.goal <= seen.ceiling <= seen.room


@pytest.mark.parametrize(
    ("frame", "ceiling", "goal"), [(5_000, 8_500, 4_000), (7_000, 9_550, 8_200), (8_000, 8_500, 4_000)]
)
def test_where_the_frame_takes_most_of_the_room_thresholds_are_shares_of_what_it_leaves(
    frame: int, ceiling: int, goal: int
) -> None:
    """Beyond three quarters nothing can be won by waiting."""
    budget = beside(Budget(window=10_000, reserve=0), frame)
    assert (budget.ceiling, budget.goal) == (ceiling, goal)


def test_thresholds_in_tokens_stay_what_they_are_beside_a_large_frame() -> None:
    budget = Budget(window=10_000, reserve=0, trigger=8_000, target=3_000)
    assert beside(budget, 7_000) is budget


@given(st.integers(0, 12_000), st.floats(0.5, 2.0), st.floats(0, 500))
def test_beside_any_frame_a_target_stays_below_its_trigger(frame: int, scale: float, offset: float) -> None:
    budget = beside(Budget(window=10_000, measured=(scale, offset)), frame)
    assert budget.goal <= budget.ceiling <= budget.room
