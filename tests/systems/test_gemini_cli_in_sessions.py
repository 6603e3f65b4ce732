"""Gemini CLI's preset: the documented figures, and what is corrected, in real sessions."""

from __future__ import annotations

from typing import Any

import pytest
from talking import due, talk

import fanfold
from builders import texts
from fanfold import presets
from fanfold.systems import gemini_cli
from fanfold.testing import FakeModel, called, replied, returned


@pytest.mark.requirement("D1")
@pytest.mark.parametrize(
    ("model", "window"),
    [("gemini-2.5-pro", 1_048_576), ("gemini-2.5-flash", 1_048_576), ("gemini-2.5-flash-lite", 1_048_576),
     (None, 1_048_576), ("nobody-knows-this-1", 1_048_576), ("gemini-1.5-pro", 2_097_152)],
)  # fmt: skip
def test_gemini_compresses_at_half_of_its_window(model: str | None, window: int) -> None:
    with fanfold.open("run", preset="gemini_cli", model=model) as chat:
        budget = chat._state.terms.budget
        assert budget.ceiling == window // 2


@pytest.mark.requirement("D2")
@pytest.mark.parametrize(("preset", "tokens"), [("gemini_cli", 13), (presets.gemini_cli(other=1.5), 15)])
def test_gemini_counts_other_scripts_than_ascii_by_a_weight_of_their_own(preset: Any, tokens: int) -> None:
    with fanfold.open("run", preset=preset, window=10_000) as chat:
        chat.say("東京" * 5)
        assert chat.view().tokens == tokens


@pytest.mark.requirement("D6")
def test_gemini_asks_the_compression_model_that_it_is_given() -> None:
    model = FakeModel("<state_snapshot>s</state_snapshot>")
    preset = presets.gemini_cli(model=gemini_cli.compression_model("gemini-2.5-flash"))
    with fanfold.open("run", preset=preset, window=10_000, summarizer=model) as chat:
        talk(chat, 10)
        chat.compact(force=True)
    assert [question.model for question in model.asked] == ["chat-compression-2.5-flash"]


@pytest.mark.requirement("D3", "D5", "D7")
def test_gemini_puts_a_snapshot_and_an_acknowledgement_before_the_newest_30_percent() -> None:
    model = FakeModel(
        "<scratchpad>hm</scratchpad><state_snapshot><overall_goal>g</overall_goal></state_snapshot>"
    )
    with fanfold.open("run", preset="gemini_cli", window=10_000, summarizer=model) as chat:
        talk(chat, 50)
        chat.say("next")
        chat.request(max_tokens=100)
        shown = texts(chat)
        assert "<overall_goal>g</overall_goal>" in shown[0]
        assert "hm" not in shown[0].split("check")[0]
        assert shown[1] == "Got it. Thanks for the additional context!"
        assert shown[2].startswith("question")
        assert 0.2 <= len(shown[2:-1]) / 100 <= 0.32
    assert "scratchpad" in model.asked[0].prompt


@pytest.mark.requirement("D4")
def test_gemini_compresses_one_prompt_with_a_long_tool_loop_too() -> None:
    with fanfold.open(
        "run", preset="gemini_cli", window=10_000, summarizer=FakeModel("<state_snapshot>s</state_snapshot>")
    ) as chat:
        chat.say("go")
        for i in range(60):
            chat.add(replied(None, called(f"c{i}", "ls")))
            chat.add(returned(f"c{i}", "word " * 100))
        outcome = chat.compact(force=True)
        assert (outcome.status, outcome.strategy) == ("reduced", "summarize")


@pytest.mark.requirement("D1", "D3")
@pytest.mark.parametrize("window", [10_000, 10_001, 10_003])
def test_gemini_is_due_exactly_where_half_of_the_window_is_reached(window: int) -> None:
    for tokens in range(window // 2 - 2, window // 2 + 3):
        assert due("gemini_cli", window, tokens) is (tokens >= 0.5 * window)


@pytest.mark.requirement("D1")
def test_a_fork_knows_the_windows_that_the_preset_knows() -> None:
    with (
        fanfold.open("run", preset="gemini_cli", window=100_000) as chat,
        chat.fork("fork", model="nobody-knows-this-1") as other,
    ):
        assert other._state.terms.budget.ceiling == 524_288
