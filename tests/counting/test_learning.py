"""What bills teach: a constant provider is learned within few bills, an edit voids only the baseline."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import fanfold
from fanfold import Memory, SQLite
from fanfold.core.budget import BOUNDS, Learned
from fanfold.testing import talk
from fanfold.tokens.learning import KEPT, MOST, believable, learn, sound

sizes = st.lists(st.integers(200, 5_000), min_size=6, max_size=25)


def expected(learned: Learned, counted: int) -> float:
    return learned.scale * counted + learned.offset


def played(
    grows: list[int], scale: float, overhead: int, learned: Learned | None = None
) -> tuple[Learned, int]:
    learned, counted = learned or Learned(), 100
    for more in grows:
        counted += more
        learned = learn(learned, counted, round(scale * counted + overhead))
    return learned, counted


def test_before_the_first_bill_the_count_is_taken_for_the_truth() -> None:
    assert expected(Learned(), 1_234) == 1_234


def test_the_last_bill_is_the_baseline() -> None:
    learned = learn(Learned(), 1_000, 1_300)
    assert expected(learned, 1_000) == 1_300
    assert expected(learned, 1_500) == 1_800


@given(sizes, st.floats(0.5, 2.5), st.integers(0, 40_000))
def test_a_constant_provider_is_learned_within_few_bills(
    grows: list[int], scale: float, overhead: int
) -> None:
    learned, counted = played(grows, scale, overhead)
    assert learned.slope == pytest.approx(scale, rel=0.03)
    assert learned.overhead == pytest.approx(overhead, abs=0.05 * scale * counted + 10)
    for newer in (counted + 500, counted + 20_000):
        assert expected(learned, newer) == pytest.approx(scale * newer + overhead, rel=0.04)


@given(sizes, st.floats(0.5, 2.5), st.integers(0, 40_000), st.floats(0.2, 1))
def test_an_edit_voids_only_the_baseline(grows: list[int], scale: float, overhead: int, left: float) -> None:
    learned, counted = played(grows, scale, overhead)
    voided = learned.voided()
    assert voided.last is None
    assert (voided.slope, voided.overhead, voided.growths) == (
        learned.slope,
        learned.overhead,
        learned.growths,
    )
    shorter = int(counted * left)
    assert expected(voided, shorter) == pytest.approx(scale * shorter + overhead, rel=0.06, abs=60)


def the_spoilt_weigh_less(grows: list[int], at: int) -> bool:
    """Whether the two growths that a wild bill spoils, with the first guess, weigh less than all the others."""
    weights = [min(more, MOST) for more in grows[1:][-KEPT:]]
    return sum(weights) > 2 * sum(grows[at : at + 2]) + max(weights)


@given(sizes, st.integers(0, 5), st.integers(1, 500_000))
def test_a_wild_bill_does_not_wreck_it(grows: list[int], at: int, wild: int) -> None:
    assume(the_spoilt_weigh_less(grows * 2, at))
    learned, counted = Learned(), 100
    for number, more in enumerate(grows * 2):
        counted += more
        learned = learn(learned, counted, wild if number == at else round(1.2 * counted + 900))
    assert learned.slope == pytest.approx(1.2, rel=0.03)
    assert expected(learned, counted + 1_000) == pytest.approx(1.2 * (counted + 1_000) + 900, rel=0.02)


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(1, 10**9), st.booleans()), max_size=20))
def test_whatever_is_billed_the_scale_stays_a_scale(bills: list[tuple[int, int, bool]]) -> None:
    learned = Learned()
    for counted, billed, edited in bills:
        learned = learn(learned, counted, billed, reply=(counted // 7, billed // 9))
        learned = learned.voided() if edited else learned
        assert BOUNDS[0] <= learned.scale <= BOUNDS[1]
        assert learned.overhead >= 0


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(1, 10**9), st.booleans()), max_size=20))
def test_an_exact_count_is_never_lowered_and_never_rescaled(bills: list[tuple[int, int, bool]]) -> None:
    """(19.8) A bill only tells what comes on top of it."""
    learned = Learned(exact=True)
    for counted, billed, edited in bills:
        learned = learn(learned, counted, billed, reply=(counted // 7, billed // 9))
        learned = learned.voided() if edited else learned
        assert learned.scale == 1
        assert learned.offset >= 0
        assert learned.inherited().exact


@given(st.integers(0, 10**7), st.floats(0, 1))
def test_what_can_be_billed_is_about_what_was_counted(counted: int, share: float) -> None:
    """(19.8) A few per cent beside what is guessed; where all is guessed, half to two and a half times as much."""
    guessed = int(counted * share)
    least, most = believable(counted, guessed)
    assert least <= counted <= most or counted == 0
    assert most <= 1.05 * (counted - guessed) + 2.5 * guessed
    assert least >= 0.95 * (counted - guessed) if guessed < counted else least >= 0.5 * counted


@pytest.mark.parametrize(
    "believed",
    [
        Learned(slope=0.2),
        Learned(slope=6.0),
        Learned(slope=1.0, whole=(22_000, 199_000), least=(22_000, 199_000), overhead=177_000.0),
        Learned(slope=0.7, whole=(1_000, 100), least=(1_000, 100)),
    ],
)
def test_what_an_earlier_release_believed_is_taken_over_only_if_it_can_be_true(believed: Learned) -> None:
    """(19.8) A session that was spoilt by an absurd bill is not spoilt for ever."""
    assert sound(believed, exact=False) == Learned()
    assert sound(believed, exact=True) == Learned(exact=True)
    fine = Learned(slope=1.2, whole=(1_000, 1_300), least=(500, 600))
    assert sound(fine, exact=False) == fine


NAN, ENDLESS = float("nan"), float("inf")


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    "said",
    [
        {"slope": 0.01},
        {"slope": -1.0},
        {"slope": NAN},
        {"slope": ENDLESS},
        {"overhead": -5_000.0},
        {"overhead": NAN},
        {"overhead": ENDLESS},
        {"overhead": -ENDLESS},
        {"whole": (-1_000, 10)},
        {"whole": (1_000, -1_000)},
        {"least": (1, 10**400)},
        {"reply": (-1_000, 0)},
        {"growths": ((0, 1),)},
    ],
)
def test_what_no_bill_can_have_taught_is_dropped_also_of_an_exact_meter(
    said: dict[str, Any], exact: bool
) -> None:
    """(19.1, 19.8) An export may say anything."""
    assert sound(Learned(exact=exact, **said), exact=exact) == Learned(exact=exact)


@pytest.mark.parametrize("slope", [0.6, 0.999, 1.001, 2.0])
def test_an_exact_meter_has_no_scale_but_1(slope: float) -> None:
    """(19.1, 19.8)"""
    assert sound(Learned(slope=slope, exact=True), exact=True) == Learned(exact=True)


@pytest.mark.parametrize("growth", [(1_000, 10), (10, 1_000)])
def test_a_growth_that_cannot_be_is_not_taken_over(growth: tuple[int, int]) -> None:
    """(19.1, 19.8)"""
    assert sound(Learned(growths=(growth,)), exact=False) == Learned()


def test_what_an_exact_meter_learned_is_taken_over() -> None:
    """(19.8) Also a request that cost much more, or less, than was counted."""
    for billed in (700, 1_000, 9_000):
        learned = learn(Learned(exact=True), 1_000, billed, reply=(100, 700))
        assert sound(learned, exact=True) == learned


@pytest.mark.parametrize("said", [{"slope": 0.01}, {"overhead": -50_000.0}, {"slope": 0.5, "overhead": 9.0}])
@pytest.mark.parametrize("again", [False, True])
def test_an_imported_lesson_makes_no_session_exceed_its_window(
    said: dict[str, Any], again: bool, tmp_path: Path
) -> None:
    """(19.1, 19.8) Neither the one that was imported nor, in this process or in another, its siblings."""
    options: dict[str, Any] = {"model": "gpt-4o", "window": 4_000, "recall": False}
    with fanfold.open("run", store=(source := Memory()), **options) as chat:
        chat.say("Hello.")
        meter, file = chat._state.terms.meter.name, io.BytesIO()
        assert chat._state.gauge.exact
    taught = {"type": "taught", "model": "gpt-4o", "meter": meter, "learned": {**said, "exact": True}}
    fanfold.export_session(source, "run", file)
    *lines, end = file.getvalue().splitlines()
    counts = json.loads(end)
    lines.append(json.dumps({"kind": "record", "record": taught}).encode())
    lines.append(json.dumps({**counts, "records": counts["records"] + 1}).encode())
    store = SQLite(tmp_path / "a.db")
    fanfold.import_session(store, lines)
    for name in ("run", "another"):
        with fanfold.open(name, store=store, **options) as chat:
            assert chat._state.learned == Learned(exact=True)
            chat.merge(talk(60))
            chat.request()
            assert chat.view().tokens <= 4_000
        store = SQLite(tmp_path / "a.db") if again else store


def test_a_bill_of_next_to_nothing_says_nothing_about_the_scale() -> None:
    learned = learn(Learned(), 40, 21).voided()
    assert expected(learned, 8_000) == 8_000


def test_text_that_was_not_counted_is_put_down_to_the_overhead_until_it_is_known_better() -> None:
    learned = learn(learn(Learned(), 1_000, 1_000), 2_000, 42_000)
    assert learned.slope == 1
    assert expected(learned.voided(), 2_000) == 42_000


def test_the_reply_counts_as_it_was_billed_when_written() -> None:
    learned = learn(Learned(), 1_000, 1_000, reply=(100, 700))  # 600 of hidden reasoning
    assert expected(learned, 1_100 + 50) == 1_000 + 700 + 50


def test_a_reply_billed_next_to_nothing_is_not_believed() -> None:
    learned = learn(Learned(), 1_000, 1_000, reply=(100, 1))  # a stream's first event
    assert expected(learned, 1_150) == 1_150


def test_a_bill_below_the_count_is_a_smaller_scale_not_a_negative_overhead() -> None:
    learned = learn(Learned(), 1_000, 600).voided()
    assert expected(learned, 500) == pytest.approx(300)


def test_the_next_session_starts_from_scale_and_overhead() -> None:
    learned, _ = played([1_000] * 6, 1.3, 5_000)
    assert expected(learned.inherited(), 2_000) == pytest.approx(1.3 * 2_000 + 5_000, rel=0.03)


@given(st.floats(0.5, 2.5), st.integers(0, 5_000))
def test_two_requests_of_different_size_teach_the_scale_although_an_edit_lies_between(
    scale: float, overhead: int
) -> None:
    learned = Learned()
    for counted in (20_000, 8_000, 16_000, 9_000):
        learned = learn(learned, counted, round(scale * counted + overhead)).voided()
    assert expected(learned, 3_000) == pytest.approx(scale * 3_000 + overhead, rel=0.05)


def test_it_can_be_stored() -> None:
    learned, _ = played([1_000] * 6, 1.3, 5_000)
    assert msgspec.json.decode(msgspec.json.encode(learned), type=Learned) == learned


@pytest.mark.parametrize("again", [1, 40])
def test_what_was_learned_is_taken_over_by_another_process(again: int, tmp_path: Path) -> None:
    def opened(name: str, model: str = "some-model") -> fanfold.Session:
        store = SQLite(tmp_path / "a.db")  # as a process has it that was just started
        return fanfold.open(name, window=100_000, model=model, meter="characters/4", store=store)

    with opened("first") as chat:
        for n in range(again):
            chat.say(f"question {n} " * 40)
            chat.request()
            usage = {"prompt_tokens": 2 * chat.view().tokens + 300, "completion_tokens": 5}
            message = {"role": "assistant", "content": "an answer"}
            chat.receive({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
        taught = chat._state.learned.inherited()
    assert opened("second")._state.learned == taught
    assert opened("third", model="another")._state.learned == Learned()


@pytest.mark.parametrize("billed", [(0.7, 1.0, 1.6), (0.7, 1.6, 1.0), (1.0, 0.7, 1.6)])
def test_a_reduction_fits_also_by_the_count_that_its_own_edit_brings_back(billed: tuple[float, ...]) -> None:
    budget = fanfold.Budget(window=20_000, trigger=1.0, target=1.0)
    with fanfold.open("bills that vary", budget=budget, strategy="drop_oldest") as chat:
        for share in billed:
            chat.say("word " * 190)
            chat.request(max_tokens=1_000)
            chat.receive(bill(round(share * chat.view().tokens)))
        while not chat.edits():
            chat.say("word " * 190)
            chat.request(max_tokens=1_000)  # never DoesNotFit: there is much to hide
        assert chat.request(max_tokens=1_000)


def bill(tokens: int) -> dict[str, Any]:
    """A short reply, for which so many tokens of prompt are billed."""
    said = {"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
    usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
    return {
        "id": "r",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [said],
        "usage": usage,
    }
