"""Roo Code's preset: the documented figures, and what is corrected, in real sessions."""

from __future__ import annotations

from typing import Any

import pytest
from talking import DIALECTS, due, talk

import fanfold
from builders import texts
from fanfold import BadSetting, presets
from fanfold.strategies.telling import REASONING
from fanfold.systems import roo_code, will_manage_context
from fanfold.testing import FakeModel, replied
from fanfold.testing.provider import Provider


@pytest.mark.requirement("E1", "E3", "E12")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("layout", "role"), [("documented", "assistant"), ("later", "user")])
def test_roo_code_keeps_the_first_message_the_summary_and_the_last_three(
    dialect: str, layout: Any, role: str
) -> None:
    model = FakeModel("so far so good")
    with fanfold.open(
        "run", preset=presets.roo_code(layout=layout), window=100_000, dialect=dialect, summarizer=model
    ) as chat:
        chat.say("begin")
        for i in range(10):
            chat.add(fanfold.Message("assistant", (fanfold.Text(f"answer {i}" + " word" * 50),)))
            chat.say(f"question {i}" + " word" * 50)
        outcome = chat.compact(force=True)
        assert outcome.status == "reduced"
        rows = chat.view().rows
        assert (rows[0].messages[0].text, len(rows)) == ("begin", 5)
        assert (rows[1].role, "so far so good" in rows[1].messages[0].text) == (role, True)
        chat.request()
    with pytest.raises(BadSetting, match=r"There is no layout 'latter'\. Did you mean 'later'"):
        presets.roo_code(layout="latter")  # type: ignore[arg-type]


def condensed(**options: Any) -> tuple[dict[str, Any], fanfold.Session]:
    """The request after Roo Code condensed a conversation, and the session."""
    chat = fanfold.open(
        "run", preset="roo_code", window=100_000, summarizer=FakeModel("so far so good"), **options
    )
    chat.say("begin")
    for i in range(10):
        chat.add(fanfold.Message("assistant", (fanfold.Text(f"answer {i}" + " word" * 50),)))
        chat.say(f"question {i}" + " word" * 50)
    assert chat.compact(force=True).status == "reduced"
    return chat.request(), chat


@pytest.mark.requirement("E12")
@pytest.mark.parametrize("model", ["deepseek-v4-pro", "kimi-k2.6"])
def test_the_reasoning_of_the_documented_layout_is_sent_where_the_provider_takes_it(model: str) -> None:
    """(19.25) DeepSeek and Kimi take reasoning as plain words, and refuse a message without any."""
    request, chat = condensed(model=model)
    with chat:
        told = request["messages"][1]
        assert (told["role"], told["reasoning_content"]) == ("assistant", REASONING)
        assert "so far so good" in told["content"]
        assert Provider().check("chat", request) is None
        assert chat.view().rows[1].weight.lost == ()
        (blank,) = chat.sent()[0].left_out
        assert blank.startswith("reasoning: a blank one is sent where there is none (1)"), (
            "for the last answer"
        )
        with fanfold.open("bare", model=model, summarizer=FakeModel("x")) as bare:
            bare.add(fanfold.Message("assistant", (fanfold.Text(told["content"]),)))
            assert chat.view().rows[1].tokens > bare.view().rows[0].tokens, "and it is counted"


@pytest.mark.requirement("E12")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_elsewhere_the_summary_goes_without_reasoning_and_that_is_told(dialect: str) -> None:
    """(19.25) Anthropic, Gemini and Responses take only reasoning that they signed; Chat has no field for it."""
    request, chat = condensed(dialect=dialect)
    with chat:
        assert REASONING not in str(request)
        row = chat.view().rows[1]
        assert f"{row.id}#0" in chat.sent()[0].left_out


@pytest.mark.requirement("E3", "E4")
@pytest.mark.parametrize("custom", [None, "Be short."])
def test_roo_code_asks_for_six_sections_unless_it_is_told_otherwise(custom: str | None) -> None:
    model = FakeModel("so far")
    with fanfold.open(
        "run", preset=presets.roo_code(custom=custom), window=100_000, summarizer=model
    ) as chat:
        talk(chat, 5)
        chat.compact(force=True)
    (question,) = model.asked
    assert (question.prompt == "Be short.") is (custom is not None)
    assert all(f"\n{number}. " in question.prompt for number in range(1, 7)) is (custom is None)


@pytest.mark.requirement("E12")
def test_a_summary_of_roo_code_is_carried_into_the_next() -> None:
    model = FakeModel("the secret is 4711", "more")
    with fanfold.open("run", preset="roo_code", window=100_000, summarizer=model) as chat:
        chat.say("begin")
        talk(chat, 5)
        chat.compact(force=True)
        talk(chat, 5)
        chat.compact(force=True)
        assert any("the secret is 4711" in message.text for message in model.asked[1].messages)
        assert len(chat.view().rows) == 5


@pytest.mark.requirement("E1", "E6")
def test_roo_code_hides_an_even_half_where_condensing_fails_and_the_window_is_full() -> None:
    with fanfold.open(
        "run", preset=presets.roo_code(max_tokens=1_000), window=10_000, meter="characters/4",
        summarizer=FakeModel(ConnectionError("down")), fallback=(),
    ) as chat:  # fmt: skip
        chat.say("begin")
        for i in range(20):
            chat.add(replied(f"answer {i}" + "x" * 800))
            chat.say(f"question {i}" + "x" * 800)
        chat.add(replied("seen"))
        chat.say("now")
        outcome = chat.compact()
        assert outcome.error is not None
        assert "down" in outcome.error
        assert texts(chat)[0] == "begin"
        assert texts(chat)[1] == "[Sliding window truncation: 20 messages hidden to reduce context]"
        assert chat.stats()["entries"] == 43, "hidden, not gone"


@pytest.mark.requirement("E1")
def test_without_auto_condense_roo_code_asks_nobody_and_truncates_where_the_window_is_full() -> None:
    model = FakeModel("a summary")
    preset = presets.roo_code(auto_condense=False, max_tokens=1_000)
    with fanfold.open("run", preset=preset, window=10_000, meter="characters/4", summarizer=model) as chat:
        chat.say("begin")
        for i in range(15):
            chat.add(replied(f"answer {i}" + "x" * 1_000))
            chat.say(f"question {i}" + "x" * 1_000)
        assert 7_500 < chat.pressure().tokens < 8_000
        assert not chat.pressure(max_tokens=1_000).due, "above 75 %, and not full"
        chat.add(replied("y" * 2_000))
        chat.say("now")
        chat.request(max_tokens=1_000)
        assert texts(chat)[1].startswith("[Sliding window truncation: ")
    assert model.asked == []


@pytest.mark.requirement("E1")
def test_below_what_is_allowed_a_failure_of_roo_code_changes_nothing() -> None:
    with fanfold.open(
        "run", preset="roo_code", window=100_000, summarizer=FakeModel(ConnectionError("down"))
    ) as chat:
        talk(chat, 10)
        before = texts(chat)
        outcome = chat.compact(force=True)
        assert (outcome.status, texts(chat)) == ("failed", before)


@pytest.mark.requirement("E2")
@pytest.mark.parametrize(("profile", "ceiling"), [("opus", 80_000), ("usual", 60_000), (None, 60_000)])
def test_a_profile_of_roo_code_has_its_own_threshold_or_inherits(profile: str | None, ceiling: int) -> None:
    preset = presets.roo_code(percent=60, profiles={"opus": 80, "usual": -1}, profile=profile)
    with fanfold.open("run", preset=preset, window=100_000) as chat:
        assert chat.pressure().trigger == ceiling


CALL = {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "東京"}}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 5_000}}


@pytest.mark.requirement("E8")
@pytest.mark.parametrize(
    "content",
    [
        "Mend the parser.",
        [{"type": "text", "text": "Look:"}, PICTURE],
        [{"type": "tool_result", "tool_use_id": "c1", "content": "a.py\nb.py"}],
        [{"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}],
        [
            {
                "type": "tool_result",
                "tool_use_id": "c1",
                "content": [{"type": "text", "text": "seen"}, PICTURE],
            }
        ],
    ],
    ids=["words", "picture", "result", "error", "result with a picture"],
)
def test_a_session_of_roo_code_counts_what_its_plain_function_counts(content: Any) -> None:
    with fanfold.open("run", preset="roo_code", window=100_000, dialect="anthropic") as chat:
        chat.add({"role": "assistant", "content": [CALL]})
        chat.add({"role": "user", "content": content})
        told = [roo_code.estimate_tokens([CALL]), roo_code.estimate_tokens(content)]
        assert [row.tokens for row in chat.view().rows] == told


@pytest.mark.requirement("E11")
def test_nothing_is_counted_twice() -> None:
    class Counting:
        """Counts, and remembers what it counted."""

        name, overhead = "counting", 0

        def __init__(self) -> None:
            self.seen: list[str] = []

        def text(self, text: str) -> int:
            return len(text) // 4

        def message(self, message: fanfold.Message) -> int:
            self.seen.append(message.text)
            return self.text(message.text)

        def frame(self, frame: fanfold.Frame) -> int:
            return 0

    meter = Counting()
    with fanfold.open("run", preset="roo_code", window=100_000, meter=meter) as chat:
        for i in range(20):
            chat.say(f"message {i}")
            chat.request()
            chat.pressure()
    assert len(meter.seen) == len(set(meter.seen)) == 20


@pytest.mark.requirement("E1", "E2")
@pytest.mark.parametrize("percent", [60, 75, 100])
@pytest.mark.parametrize("max_tokens", [None, 1_000, 30_000])
def test_roo_code_is_due_where_its_plain_function_says_whatever_the_reply_may_take(
    percent: float, max_tokens: int | None
) -> None:
    """Only where exactly as much stands in the window as is allowed, the preset reduces and the document waits."""
    allowed = int(roo_code.allowed_tokens(100_000, max_tokens))
    for tokens in {59_999, 60_000, 74_999, 75_000, allowed - 1, allowed + 1} - {allowed}:
        told = will_manage_context(
            total_tokens=tokens,
            context_window=100_000,
            last_message_tokens=0,
            max_tokens=max_tokens,
            auto_condense_context_percent=percent,
        )
        assert due(presets.roo_code(percent=percent), 100_000, tokens, max_tokens) is told, tokens


@pytest.mark.requirement("E1")
@pytest.mark.parametrize("model", ["gpt-4o", "gemini-2.5-pro", "claude-sonnet-4-5"])
def test_roo_code_takes_every_window_as_shared_with_the_reply(model: str) -> None:
    with fanfold.open("run", preset=presets.roo_code(percent=100), model=model) as chat:
        window = fanfold.models.find(model).window or 0
        assert chat.pressure(max_tokens=4_000).room == int(roo_code.allowed_tokens(window, 4_000))
