"""Events for a user interface, and the progress indicator."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import pytest
from talking import DIALECTS

import fanfold
from fanfold import Hooks, presets
from fanfold.config.events import COMPRESSIONS, Condensed, Event, Reduced, Reducing, Truncated
from fanfold.core.plan import Answer, Ask, Status
from fanfold.core.record import TokenUsage
from fanfold.testing import FakeModel, replied


def opened(events: list[Event], **options: Any) -> fanfold.Session:
    return fanfold.open("run", hooks=Hooks(on_event=events.append), meter="characters/4", **options)


def talk(chat: fanfold.Session, turns: int) -> None:
    for i in range(turns):
        chat.say(f"question {i}: " + "word " * 40)
        chat.add(replied(f"answer {i}: " + "word " * 40))


@pytest.mark.requirement("E10")
def test_a_summary_is_told_with_cost_figures_and_id() -> None:
    def ask(question: Ask) -> Answer:
        return Answer("all is well", usage=TokenUsage(input=1_000, output=10), cost=0.25)

    events: list[Event] = []
    with opened(events, preset="roo_code", window=20_000, summarizer=ask) as chat:
        talk(chat, 10)
        before = chat.view().tokens
        chat.compact(force=True)
        after = chat.view().tokens
        begun, condensed, over = events
        assert begun == Reducing("manual", before)
        assert isinstance(condensed, Condensed)
        assert "all is well" in condensed.summary
        assert (condensed.before, condensed.after, condensed.cost) == (before, after, 0.25)
        assert over == Reduced("reduced", before, after)
        chat.undo(condensed.id)
        assert chat.view().tokens == before, "its id is the one to undo"


@pytest.mark.requirement("E10", "D7")
def test_the_acknowledgement_of_a_summary_is_no_part_of_it() -> None:
    events: list[Event] = []
    model = FakeModel("<state_snapshot>so far, so good</state_snapshot>")
    with opened(events, preset="gemini_cli", window=30_000, summarizer=model) as chat:
        talk(chat, 4)
        chat.compact(force=True)
        (told,) = [event.summary for event in events if isinstance(event, Condensed)]
        assert "so far, so good" in told
        assert "Got it" not in told
        assert "Got it" in chat.view().messages[1].text


@pytest.mark.requirement("E10")
def test_a_truncation_is_told_with_how_many_it_hides() -> None:
    events: list[Event] = []
    preset = presets.roo_code(max_tokens=1_000)
    with opened(
        events, preset=preset, window=10_000, summarizer=FakeModel(OSError("down")), fallback=()
    ) as chat:
        chat.say("begin")
        for i in range(20):
            chat.add(replied(f"answer {i}" + "x" * 800))
            chat.say(f"question {i}" + "x" * 800)
        chat.add(replied("seen"))
        chat.say("now")
        chat.compact()
        truncated = events[1]
        assert isinstance(truncated, Truncated)
        assert truncated.removed == 20
        assert truncated.before > truncated.after == chat.view().tokens
        assert [type(event) for event in events] == [Reducing, Truncated, Reduced]


@pytest.mark.requirement("D8")
@pytest.mark.parametrize(
    ("answer", "status", "compression"),
    [
        ("<state_snapshot>s</state_snapshot>", "reduced", "compressed"),
        (OSError("down"), "failed", "failed-count-error"),
    ],
)
def test_how_a_compression_ended_is_told(answer: Any, status: str, compression: str) -> None:
    events: list[Event] = []
    with opened(events, preset="gemini_cli", window=30_000, summarizer=FakeModel(answer)) as chat:
        talk(chat, 4)
        before = chat.view().tokens
        chat.compact(force=True)
        over = events[-1]
        assert isinstance(over, Reduced)
        assert (over.status, over.compression, over.before) == (status, compression, before)
        assert over.after == chat.view().tokens
        assert (over.after < before) is (status == "reduced"), "strictly smaller, or as it was"


@pytest.mark.requirement("D8")
def test_a_result_that_is_not_smaller_is_told_as_inflated() -> None:
    def inflate(view: fanfold.View, budget: fanfold.Budget) -> list[fanfold.Fold]:
        return [fanfold.Fold(view.oldest(leaving=200).covers, "long " * 400)]

    events: list[Event] = []
    with opened(events, preset="gemini_cli", window=30_000, strategy=inflate) as chat:
        talk(chat, 4)
        before = chat.view().tokens
        chat.compact(force=True)
        reason = "inflate: its edit was refused: it makes the view larger by 235 tokens"
        assert events[1:] == [Reduced("refused-larger", before, before, reason)]
        assert events[1].compression == "failed-inflated"  # type: ignore[union-attr]


@pytest.mark.requirement("D8")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_summary_that_is_too_long_is_not_cut_to_pass_but_told_as_inflated(dialect: str) -> None:
    """(19.25)"""
    events: list[Event] = []
    model = FakeModel("<state_snapshot>" + "on and on " * 900 + "</state_snapshot>")
    with opened(events, preset="gemini_cli", window=30_000, dialect=dialect, summarizer=model) as chat:
        for i in range(8):
            chat.say(f"question {i}: " + "word " * 40)
            chat.add(fanfold.Message("assistant", (fanfold.Text(f"answer {i}: " + "word " * 40),)))
        before = chat.view()
        outcome = chat.compact(force=True)
        assert (outcome.status, outcome.decisions) == ("refused-larger", ())
        assert events[-1].compression == "failed-inflated"  # type: ignore[union-attr]
        assert chat.view().messages == before.messages
    assert model.calls == 1


@pytest.mark.requirement("D8")
def test_a_long_summary_that_is_still_smaller_stands_whole() -> None:
    """(19.25)"""
    said = "on and on " * 300 + "to the end"
    with fanfold.open(
        "run",
        preset="gemini_cli",
        window=30_000,
        summarizer=FakeModel(f"<state_snapshot>{said}</state_snapshot>"),
    ) as chat:
        talk(chat, 60)
        assert chat.compact(force=True).status == "reduced"
        assert said in chat.view().messages[0].text


@pytest.mark.requirement("D8")
def test_every_outcome_has_its_status() -> None:
    assert set(COMPRESSIONS) == set(get_args(Status))
    assert COMPRESSIONS["noop"] == COMPRESSIONS["does-not-fit"] == "noop"
    events: list[Event] = []
    with opened(events, preset="gemini_cli", window=30_000, summarizer=FakeModel()) as chat:
        chat.say("hello")
        chat.compact(force=True)
        assert [event.compression for event in events if isinstance(event, Reduced)] == ["noop"]


@pytest.mark.requirement("D9")
def test_a_hook_is_told_before_and_may_back_up_or_refuse() -> None:
    told: list[tuple[str, int]] = []

    def before(decisions: Any, trigger: str) -> bool:
        told.append((trigger, len(chat.view().rows)))
        return trigger == "manual"

    model = FakeModel("<state_snapshot>s</state_snapshot>")
    with fanfold.open(
        "run", preset="gemini_cli", window=3_000, summarizer=model, hooks=Hooks(before_edit=before)
    ) as chat:
        talk(chat, 16)
        rows = len(chat.view().rows)
        chat.request(max_tokens=10)
        assert told == [("auto", rows)]
        assert len(chat.view().rows) == rows, "refused"
        chat.compact(force=True)
        assert told[1] == ("manual", rows)
        assert len(chat.view().rows) < rows


@pytest.mark.requirement("E9")
@pytest.mark.parametrize("preset", ["codelia", "gemini_cli", "roo_code", "miki", "openstarry_window"])
def test_pressure_tells_in_advance_whether_the_next_request_reduces(preset: str) -> None:
    events: list[Event] = []
    reduced = 0
    with opened(events, preset=preset, window=12_000, summarizer=FakeModel()) as chat:
        for i in range(60):
            chat.say(f"question {i}: " + "word " * 90)
            chat.add(replied(f"answer {i}: " + "word " * 90))
            chat.say("and?")
            told = chat.pressure(max_tokens=100).due
            assert events == [], "asking does nothing"
            chat.request(max_tokens=100)
            assert told is bool(events), i
            reduced += told
            events.clear()
            chat.add(replied("so"))
    assert 0 < reduced < 60


@pytest.mark.requirement("E9")
def test_a_reduction_that_is_broken_off_is_over_too() -> None:
    def ask(question: Ask) -> Answer:
        raise KeyboardInterrupt

    events: list[Event] = []
    with opened(events, preset="roo_code", window=20_000, summarizer=ask) as chat:
        talk(chat, 10)
        before = chat.view().tokens
        with pytest.raises(KeyboardInterrupt):
            chat.compact(force=True)
        assert events == [
            Reducing("manual", before),
            Reduced("failed", before, before, "it was broken off"),
        ]
        assert chat.view().tokens == before


@pytest.mark.requirement("E9")
def test_a_reduction_that_is_cancelled_is_over_too() -> None:
    async def ask(question: Ask) -> Answer:
        await asyncio.sleep(60)
        raise AssertionError("never answered")

    async def main() -> None:
        async with fanfold.aopen(
            "run", preset="roo_code", window=20_000, summarizer=ask, hooks=Hooks(on_event=events.append)
        ) as chat:
            for i in range(20):
                await chat.add(replied(f"answer {i}: " + "word " * 40))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(chat.compact(force=True), 0.1)

    events: list[Event] = []
    asyncio.run(main())
    assert [type(event) for event in events] == [Reducing, Reduced]
