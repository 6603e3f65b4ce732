"""codelia's preset: the documented figures, and what is corrected, in real sessions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from talking import DIALECTS, due, talk

import fanfold
from builders import texts
from fanfold import UnknownModel, presets
from fanfold.systems import should_compact
from fanfold.testing import FakeModel, called, replied
from fanfold.tokens.usage import usage_of


@pytest.mark.requirement("A11")
@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro"])
def test_codelia_compacts_at_80_percent_of_the_input_limit(model: str) -> None:
    known = fanfold.models.find(model)
    with fanfold.open("run", preset="codelia", model=model) as chat:
        budget = chat._state.terms.budget
        assert budget.ceiling == (known.max_input or known.window or 0) * 8 // 10
        assert budget.reply > 0, "the reply has its room, whatever the document says"
    with pytest.raises(UnknownModel):
        fanfold.open("run", preset="codelia", model="nobody-knows-this-1")


@pytest.mark.requirement("A3", "A4", "A5")
def test_codelia_keeps_outputs_whole_and_shows_them_by_reference() -> None:
    with fanfold.open("run", preset="codelia", window=90_000) as chat:
        chat.say("go")
        for i in range(6):
            chat.add(replied(None, called(f"c{i}", "cat")))
            chat.answer(f"c{i}", f"{i}\n" + "x" * 3_000 + "\n" + "word\n" * 12_000)
        chat.add(replied("I have seen it."))
        chat.request()
        results = [result.text for message in chat.view().messages for result in message.results]
        assert results[0].startswith("[tool output trimmed; ref=o")
        assert results[-1].startswith("5\n" + "x" * 100), "the newest win"
        assert "ref=" in results[-1]
        assert all(len(line) <= 2_000 for line in results[-1].split("\n"))
        assert len(results[-1].encode()) <= 50 * 1024
        ref = results[0].split("ref=")[1].split(";")[0].rstrip("]")
        assert chat.output(ref).text().startswith("0\n" + "x" * 3_000), "the whole is there"


@pytest.mark.requirement("A6")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_codelia_offers_its_tools_in_every_dialect(dialect: str) -> None:
    with fanfold.open("run", preset="codelia", window=90_000, dialect=dialect) as chat:
        chat.say("go")
        sent = str(chat.request())
        assert "tool_output_cache" in sent
        assert "tool_output_cache_grep" in sent


@pytest.mark.requirement("A9", "A13", "A15", "A16")
def test_codelia_leaves_retain_summary_and_the_last_turn() -> None:
    model = FakeModel("<retain>the port is 8123</retain><summary>half is done</summary>")
    preset = presets.codelia(
        model="small", summary_directives=["name files"], retain_directives=["keep ports"]
    )
    with fanfold.open("run", preset=preset, window=20_000, summarizer=model) as chat:
        talk(chat, 4)
        chat.compact(force=True)
        shown = texts(chat)
        assert "the port is 8123" in shown[0]
        assert "half is done" in shown[1]
        assert [text[:10] for text in shown[2:]] == ["question 3", "answer 3: "]
    (question,) = model.asked
    assert question.model == "small"
    assert "- name files" in question.prompt
    assert "- keep ports" in question.prompt
    assert "<summary>" in question.prompt


@pytest.mark.requirement("A9", "A13")
def test_codelia_asks_for_what_to_retain_in_the_words_it_is_given() -> None:
    model = FakeModel("<retain>o1</retain><summary>half is done</summary>")
    preset = presets.codelia(retain_prompt="Name every port.", retain_directives=["and its host"])
    with fanfold.open("run", preset=preset, window=20_000, summarizer=model) as chat:
        talk(chat, 4)
        chat.compact(force=True)
    assert model.asked[0].prompt.startswith("Name every port.\n\n- and its host\n\n")


@pytest.mark.requirement("A9", "A12")
@pytest.mark.parametrize("switch", ["enabled", "auto"])
def test_codelia_switched_off_waits_until_it_does_not_fit(switch: str) -> None:
    preset = presets.codelia(**{switch: False})
    assert not due(preset, 10_000, 9_000)
    assert due(preset, 10_000, 9_001)


@pytest.mark.requirement("A9")
@pytest.mark.parametrize(("switch", "asked"), [("auto", 1), ("enabled", 0)])
def test_by_hand_codelia_compacts_also_where_it_is_not_automatic(switch: str, asked: int) -> None:
    model = FakeModel("<summary>s</summary>")
    with fanfold.open(
        "run", preset=presets.codelia(**{switch: False}), window=20_000, summarizer=model
    ) as chat:
        talk(chat, 4)
        chat.compact(force=True)
    assert len(model.asked) == asked


@pytest.mark.requirement("A1")
def test_without_its_cache_codelia_shows_outputs_whole() -> None:
    with fanfold.open("run", preset=presets.codelia(cache=False), window=900_000) as chat:
        chat.say("go")
        for i in range(6):
            chat.add(replied(None, called(f"c{i}", "cat")))
            chat.answer(f"c{i}", "word\n" * 12_000)
        chat.add(replied("I have seen it."))
        assert "tool_output_cache" not in str(chat.request())
        results = [result.text for message in chat.view().messages for result in message.results]
        assert results == ["word\n" * 12_000] * 6


@pytest.mark.requirement("A16")
def test_codelia_carries_the_first_summary_into_the_second() -> None:
    model = FakeModel("<summary>the secret is 4711</summary>", "<summary>and then more</summary>")
    with fanfold.open("run", preset="codelia", window=20_000, summarizer=model) as chat:
        talk(chat, 3)
        chat.compact(force=True)
        talk(chat, 3)
        chat.compact(force=True)
    assert any("the secret is 4711" in message.text for message in model.asked[1].messages)


@pytest.mark.requirement("A12")
def test_codelia_compacts_at_its_threshold_and_not_before() -> None:
    told: list[Any] = []
    with fanfold.open(
        "run",
        preset="codelia",
        window=10_000,
        meter="characters/4",
        summarizer=FakeModel(),
        recall=False,
        on_edit=told.append,
    ) as chat:
        chat.say("x" * 4 * 4_000)
        chat.add(replied("y" * 4 * 3_998))
        chat.say("zzzz")
        assert chat.pressure().tokens == 7_999
        chat.request(max_tokens=100)
        assert told == []
        chat.add(replied("aaaa"))
        chat.request(max_tokens=100)
        assert [outcome.before for outcome in told] == [8_000]


@pytest.mark.requirement("A17")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_sent_is_always_made_from_the_compacted_view(dialect: str) -> None:
    model = FakeModel("<summary>half is done</summary>")
    with fanfold.open("run", preset="codelia", window=20_000, dialect=dialect, summarizer=model) as chat:
        for i in range(4):
            chat.say(f"question {i}: " + "word " * 40)
            chat.add(fanfold.Message("assistant", (fanfold.Text(f"answer {i}: " + "word " * 40),)))
        before = json.dumps(chat.request())
        chat.compact(force=True)
        after = json.dumps(chat.request())
        assert len(after) < len(before)
        assert "answer 0" in before
        assert "answer 0" not in after
        assert "half is done" in after
        assert "answer 3" in after, "the last turn"


@pytest.mark.requirement("A15")
@pytest.mark.parametrize("model", [None, "small"])
def test_codelia_asks_its_own_model_or_that_of_the_caller(model: str | None) -> None:
    asked = FakeModel("<summary>s</summary>")
    with fanfold.open("run", preset=presets.codelia(model=model), model="gpt-4o", summarizer=asked) as chat:
        talk(chat, 4)
        chat.compact(force=True)
    assert [question.model for question in asked.asked] == [model], "None: whatever the caller's model is"


@pytest.mark.requirement("A2", "A3")
@pytest.mark.parametrize(("output", "size", "lines"), [("a\n東", 5, 2), ("word\n" * 40_000, 200_000, 40_000)])
def test_every_output_has_a_reference_with_its_size_and_its_lines(output: str, size: int, lines: int) -> None:
    with fanfold.open("run", preset="codelia", window=90_000) as chat:
        chat.say("go")
        chat.add(replied(None, called("c1", "cat")))
        chat.answer("c1", output)
        (kept,) = chat.outputs()
        assert (kept.ref, kept.size, kept.line_count, kept.text()) == ("o1", size, lines, output)


@pytest.mark.requirement("A10")
@pytest.mark.parametrize(
    ("bill", "total"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 80}}, 120),
        ({"input_tokens": 100, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 80}}, 120),
        ({"input_tokens": 15, "output_tokens": 20, "cache_creation_input_tokens": 5,
          "cache_read_input_tokens": 80}, 120),
        ({"promptTokenCount": 100, "candidatesTokenCount": 20, "cachedContentTokenCount": 80}, 120),
    ],
)  # fmt: skip
def test_no_token_of_a_bill_is_counted_twice(bill: dict[str, Any], total: int) -> None:
    usage = usage_of(bill)
    assert usage.total == total
    assert usage.cache_read == 80


@pytest.mark.requirement("A11", "A12")
@pytest.mark.parametrize("window", [10_000, 10_001, 10_007])
def test_codelia_is_due_exactly_where_its_plain_function_says(window: int) -> None:
    for tokens in range(window * 8 // 10 - 2, window * 8 // 10 + 3):
        assert due("codelia", window, tokens) is should_compact({"total_tokens": tokens}, window)
