"""Presets: the documented figures, and what is corrected, in real sessions."""

from __future__ import annotations

import json
from typing import Any

import pytest

import fanfold
from fanfold import BadSetting, UnknownModel, presets, strategies
from fanfold.passes.prune import TOOLS
from fanfold.plan import name_of
from fanfold.systems import roo_code, should_compact, will_manage_context
from fanfold.testing import FakeModel, called, replied, returned
from fanfold.usage import TokenUsage

DIALECTS = ("openai.chat", "openai.responses", "anthropic", "gemini")


def texts(chat: fanfold.Session) -> list[str]:
    return [message.text for message in chat.view().messages]


def talk(chat: fanfold.Session, turns: int, words: int = 40) -> None:
    for i in range(turns):
        chat.say(f"question {i}: " + "word " * words)
        chat.add(replied(f"answer {i}: " + "word " * words))


def test_there_are_seven() -> None:
    assert list(presets.PRESETS) == [
        "codelia", "openstarry_window", "openstarry_summary", "openstarry_state", "miki", "gemini_cli", "roo_code",
    ]  # fmt: skip
    assert [make().name for make in presets.PRESETS.values()] == list(presets.PRESETS)


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_preset_keeps_a_long_run_within_its_window(name: str, dialect: str) -> None:
    with fanfold.open("run", preset=name, window=12_000, dialect=dialect, ask=FakeModel()) as chat:
        chat.say("Mend the parser. Never touch lexer.py.")
        for i in range(40):
            chat.add(fanfold.Message("assistant", (fanfold.Call(f"c{i}", "read", "{}"),)))
            chat.answer(f"c{i}", f"output {i} " + "word " * 300)
            chat.request(max_tokens=200)
        assert chat.pressure().tokens <= 11_800
        assert chat.stats()["entries"] >= 80


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
def test_every_preset_survives_a_model_that_is_down(name: str) -> None:
    with fanfold.open("run", preset=name, window=12_000, ask=FakeModel(ConnectionError("down"))) as chat:
        talk(chat, 60)
        chat.say("And now?")
        chat.request(max_tokens=200)
        assert chat.pressure().tokens <= 11_800


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
@pytest.mark.parametrize("messages", [0, 1])
def test_where_there_is_next_to_nothing_a_preset_does_nothing(name: str, messages: int) -> None:
    with fanfold.open("run", preset=name, window=12_000, ask=FakeModel("{}")) as chat:
        for i in range(messages):
            chat.say(f"message {i}")
        assert chat.compact(force=True).status == "noop"
        assert len(chat.view().rows) == messages


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
def test_what_is_pinned_stays_whatever_the_preset(name: str) -> None:
    with fanfold.open("run", preset=name, window=100_000, ask=FakeModel("{}")) as chat:
        talk(chat, 30)
        for row in chat.view().rows:
            chat.pin(row.id)
        before = texts(chat)
        chat.compact(force=True)
        chat.request()
        assert [text for text in texts(chat) if text in before] == before


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
def test_only_results_are_sent_in_a_form_that_a_provider_takes(name: str) -> None:
    with fanfold.open("run", preset=name, window=12_000, ask=FakeModel("{}")) as chat:
        chat.merge([returned(f"c{i}", f"output {i} " + "word " * 400) for i in range(40)])
        chat.add(replied("seen"))
        request = chat.request(max_tokens=100)
        assert not any(message["role"] == "tool" for message in request["messages"])
        assert chat.pressure().tokens <= 11_900


# A: codelia


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
    with fanfold.open("run", preset=preset, window=20_000, ask=model) as chat:
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
    with fanfold.open("run", preset=preset, window=20_000, ask=model) as chat:
        talk(chat, 4)
        chat.compact(force=True)
    assert model.asked[0].prompt.startswith("Name every port.\n\n- and its host\n\n")


@pytest.mark.requirement("A9", "A12")
@pytest.mark.parametrize("switch", ["enabled", "auto"])
def test_codelia_switched_off_waits_until_the_window_is_full(switch: str) -> None:
    preset = presets.codelia(**{switch: False})
    assert not due(preset, 10_000, 8_999)
    assert due(preset, 10_000, 9_000)


@pytest.mark.requirement("A9")
@pytest.mark.parametrize(("switch", "asked"), [("auto", 1), ("enabled", 0)])
def test_by_hand_codelia_compacts_also_where_it_is_not_automatic(switch: str, asked: int) -> None:
    model = FakeModel("<summary>s</summary>")
    with fanfold.open("run", preset=presets.codelia(**{switch: False}), window=20_000, ask=model) as chat:
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
    with fanfold.open("run", preset="codelia", window=20_000, ask=model) as chat:
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
        ask=FakeModel(),
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
    with fanfold.open("run", preset="codelia", window=20_000, dialect=dialect, ask=model) as chat:
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
    with fanfold.open("run", preset=presets.codelia(model=model), model="gpt-4o", ask=asked) as chat:
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
    usage = TokenUsage.of(bill)
    assert usage.total == total
    assert usage.cache_read == 80


# B: OpenStarry


@pytest.mark.requirement("B1", "B3")
def test_the_window_gives_all_that_remains_to_the_newest_history() -> None:
    with fanfold.open(
        "run", preset="openstarry_window", window=2_000, meter="characters/4", system="s" * 400
    ) as chat:
        talk(chat, 30, words=20)
        chat.say("last")
        chat.request(max_tokens=200)
        assert 1_600 < chat.pressure().tokens <= 1_800
        assert texts(chat)[-1] == "last"
        assert "question 0" not in "".join(texts(chat)[1:])


@pytest.mark.requirement("B2")
def test_system_prompt_tools_and_context_stay_whole_whatever_gives_way() -> None:
    tool = {"type": "function", "function": {"name": "ls", "description": "d" * 300, "parameters": {}}}
    with fanfold.open(
        "run", preset="openstarry_window", window=2_000, system="the rules", tools=[tool]
    ) as chat:
        talk(chat, 40)
        chat.say("last")
        request = chat.request(max_tokens=200, context="what was found")
        assert request["tools"] == [tool]
        assert request["messages"][0] == {"role": "system", "content": "the rules"}
        assert "what was found" in str(request["messages"][-1])


@pytest.mark.requirement("B4")
def test_after_eleven_turns_the_oldest_five_are_in_the_running_summary() -> None:
    model = FakeModel("buffer one", "buffer two")
    preset = presets.openstarry_summary(model="flash")
    with fanfold.open("run", preset=preset, window=100_000, ask=model) as chat:
        talk(chat, 10)
        assert chat.settle() is None
        talk(chat, 1)
        outcome = chat.settle()
        assert outcome is not None
        assert outcome.status == "reduced"
        assert model.asked[0].model == "flash"
        assert "buffer one" in texts(chat)[0]
        assert texts(chat)[1].startswith("question 5")
        talk(chat, 5)
        chat.settle()
        assert any("buffer one" in message.text for message in model.asked[1].messages)


@pytest.mark.requirement("B5")
def test_the_state_is_brought_up_to_date_after_each_input_and_carried_instead_of_the_dialogue() -> None:
    model = FakeModel('{"destination": "Kyoto"}', '{"date": "May 3", "mood": "good"}')
    schema = {"destination": "string", "date": "string"}
    preset = presets.openstarry_state(schema, model="small")
    with fanfold.open("run", preset=preset, window=4_000, ask=model) as chat:
        chat.say("I want to go to Kyoto.")
        chat.settle()
        chat.add(replied("When? " + "word " * 900))
        chat.say("On May 3.")
        chat.settle()
        assert strategies.noted(chat.view(), "state") == {"destination": "Kyoto", "date": "May 3"}
        chat.request(max_tokens=100)
        shown = "".join(texts(chat))
        assert '"destination":"Kyoto"' in shown
        assert "word word" not in shown, "the dialogue is gone"
        assert "On May 3." in shown
    assert [question.model for question in model.asked] == ["small", "small"]


# C: Miki


@pytest.mark.requirement("C2", "C3")
@pytest.mark.parametrize(
    ("options", "most"),
    [({}, 24), ({"profile": "short"}, 16), ({"profile": "complex"}, 40), ({"max_messages": 30}, 30)],
)
def test_miki_never_sends_more_than_its_messages(options: dict[str, Any], most: int) -> None:
    preset = presets.miki(**options)
    sent: list[int] = []
    with fanfold.open("run", preset=preset, window=100_000) as chat:
        for i in range(60):
            chat.say(f"step {i} {'error: it broke' if i == 3 else 'and so on'} " + "x" * 200)
            chat.add(replied(f"ok {i}"))
            sent.append(len(chat.request()["messages"]))
        assert most - 1 <= max(sent) <= most
        newest = [" ".join(text.split()[:2]) for text in texts(chat)[-6:]]
        assert newest == [text for i in range(57, 60) for text in (f"step {i}", f"ok {i}")]
        assert any(text.startswith("step 3 error") for text in texts(chat))
    with pytest.raises(BadSetting, match="There is no profile 'tiny'"):
        presets.miki(profile="tiny")


@pytest.mark.requirement("C2")
def test_miki_sends_whole_blocks() -> None:
    with fanfold.open("run", preset="miki", window=100_000) as chat:
        chat.say("go")
        for i in range(40):
            chat.add(replied(None, called(f"c{i}", "click")))
            chat.answer(f"c{i}", "ok" if i % 7 else "error: no such button")
            chat.request()
        shown = chat.view().messages
        assert [c.id for m in shown for c in m.calls] == [r.call for m in shown for r in m.results]


@pytest.mark.requirement("C1")
def test_a_scorer_that_fails_keeps_no_request_from_going_out() -> None:
    def failing(message: fanfold.Message) -> float:
        raise KeyError("score")

    told: list[fanfold.Outcome] = []
    with fanfold.open("run", preset=presets.miki(scorer=failing), window=3_000, on_edit=told.append) as chat:
        talk(chat, 40)
        chat.say("next")
        chat.request(max_tokens=100)
        assert chat.pressure().tokens <= 2_900
    assert told[0].error is not None
    assert "KeyError: 'score'" in told[0].error, "and it is told"


@pytest.mark.requirement("C4")
def test_miki_prunes_ui_trees_and_clips_other_data() -> None:
    tree = {
        "elements": [{"role": "AXButton", "title": str(i), "help": "h", "children": []} for i in range(300)]
    }
    with fanfold.open("run", preset="miki", window=1_000_000) as chat:
        chat.say("go")
        chat.add(replied(None, called("c1", TOOLS[0]), called("c2", "cat")))
        chat.answer("c1", json.dumps(tree))
        chat.answer("c2", "word\n" * 4_000)
        first, second = (result.text for message in chat.view().messages for result in message.results)
        assert first.count("AXButton") == 200
        assert '"help"' not in first
        assert len(second) <= 2_000


@pytest.mark.requirement("C5")
def test_a_snapshot_survives_every_reduction_and_can_be_read_back() -> None:
    with fanfold.open("run", preset="miki", window=20_000) as chat:
        chat.say("Open Safari and search.")
        chat.note("snapshot", strategies.updated(chat.view(), goal="search", completed_actions=[]))
        talk(chat, 20)
        chat.request()
        chat.note("snapshot", strategies.updated(chat.view(), completed_actions=["osa", "click"]))
        talk(chat, 20)
        chat.compact(force=True)
        assert strategies.noted(chat.view()) == {"goal": "search", "completed_actions": ["osa", "click"]}
        assert "osa" in "".join(texts(chat)), "and the model sees it"


@pytest.mark.requirement("C6")
def test_miki_counts_a_quarter_of_the_characters() -> None:
    with fanfold.open("run", preset="miki", window=100_000) as chat:
        chat.say("x" * 40)
        assert chat.pressure().tokens == 10
        assert chat.stats()["entries"] == 1


@pytest.mark.requirement("C8")
def test_a_reset_starts_a_new_task_cleanly() -> None:
    with fanfold.open("run", preset="miki", window=100_000) as chat:
        chat.pin(chat.say("Never touch lexer.py.").id)
        talk(chat, 20)
        chat.note("snapshot", '{"goal":"old"}')
        chat.add(replied(None, called("c1", "click")))
        chat.request()
        chat.reset()
        assert (texts(chat), chat.stats()["snapshot"], chat.pressure().pinned) == ([], False, 0)
        with pytest.raises(fanfold.NotFound, match="No call 'c1' waits"):
            chat.answer("c1", "too late")
        chat.say("a new task")
        assert texts(chat) == ["a new task"]
        assert chat.compact(force=True).status == "noop"


# D: Gemini CLI


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


@pytest.mark.requirement("D3", "D5", "D7")
def test_gemini_puts_a_snapshot_and_an_acknowledgement_before_the_newest_30_percent() -> None:
    model = FakeModel(
        "<scratchpad>hm</scratchpad><state_snapshot><overall_goal>g</overall_goal></state_snapshot>"
    )
    with fanfold.open("run", preset="gemini_cli", window=10_000, ask=model) as chat:
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
        "run", preset="gemini_cli", window=10_000, ask=FakeModel("<state_snapshot>s</state_snapshot>")
    ) as chat:
        chat.say("go")
        for i in range(60):
            chat.add(replied(None, called(f"c{i}", "ls")))
            chat.add(returned(f"c{i}", "word " * 100))
        outcome = chat.compact(force=True)
        assert (outcome.status, outcome.strategy) == ("reduced", "summarize")


# E: Roo Code


@pytest.mark.requirement("E1", "E3", "E12")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("layout", "role"), [("documented", "assistant"), ("later", "user")])
def test_roo_code_keeps_the_first_message_the_summary_and_the_last_three(
    dialect: str, layout: Any, role: str
) -> None:
    model = FakeModel("so far so good")
    with fanfold.open(
        "run", preset=presets.roo_code(layout=layout), window=100_000, dialect=dialect, ask=model
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
    with pytest.raises(BadSetting, match="layout is documented or later"):
        presets.roo_code(layout="newest")  # type: ignore[arg-type]


@pytest.mark.requirement("E3", "E4")
@pytest.mark.parametrize("custom", [None, "Be short."])
def test_roo_code_asks_for_six_sections_unless_it_is_told_otherwise(custom: str | None) -> None:
    model = FakeModel("so far")
    with fanfold.open("run", preset=presets.roo_code(custom=custom), window=100_000, ask=model) as chat:
        talk(chat, 5)
        chat.compact(force=True)
    (question,) = model.asked
    assert (question.prompt == "Be short.") is (custom is not None)
    assert all(f"\n{number}. " in question.prompt for number in range(1, 7)) is (custom is None)


@pytest.mark.requirement("E12")
def test_a_summary_of_roo_code_is_carried_into_the_next() -> None:
    model = FakeModel("the secret is 4711", "more")
    with fanfold.open("run", preset="roo_code", window=100_000, ask=model) as chat:
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
        ask=FakeModel(ConnectionError("down")), fallback=(),
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
    with fanfold.open("run", preset=preset, window=10_000, meter="characters/4", ask=model) as chat:
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
        "run", preset="roo_code", window=100_000, ask=FakeModel(ConnectionError("down"))
    ) as chat:
        talk(chat, 10)
        before = texts(chat)
        outcome = chat.compact(force=True)
        assert (outcome.status, texts(chat)) == ("failed", before)


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


@pytest.mark.parametrize("name", ["codelia", "miki", "gemini_cli", "roo_code"])
def test_what_is_given_beside_a_preset_wins(name: str) -> None:
    with fanfold.open(
        "run", preset=name, window=9_999, strategy=fanfold.window(), meter="bytes/4", passes=[]
    ) as chat:
        terms = chat._state.terms
        assert [name_of(one) for one in terms.strategies] == ["window"]
        assert (terms.meter.name, terms.passes, terms.budget.window) == ("bytes/4", (), 9_999)


OTHERS = [{"window": 20_000}, {"window": 1_000_000}, {"model": "gpt-4o"}, {"model": "gemini-2.5-pro"}]


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
@pytest.mark.parametrize("other", OTHERS, ids=lambda other: str(*other.values()))
def test_a_fork_for_another_model_keeps_the_thresholds_and_the_meter_of_a_preset(
    name: str, other: dict[str, Any]
) -> None:
    with fanfold.open("afresh", preset=name, **other) as afresh:
        wanted = afresh._state.terms
    with fanfold.open("run", preset=name, window=100_000) as chat:
        chat.add(replied(None, called("c1", "ask")))
        for made in (chat.fork("fork", **other), chat.spawn("c1", **other)):
            assert made._state.terms.budget == wanted.budget
            assert made._state.terms.meter.name == wanted.meter.name


@pytest.mark.requirement("D1")
def test_a_fork_knows_the_windows_that_the_preset_knows() -> None:
    with (
        fanfold.open("run", preset="gemini_cli", window=100_000) as chat,
        chat.fork("fork", model="nobody-knows-this-1") as other,
    ):
        assert other._state.terms.budget.ceiling == 524_288


def due(preset: Any, window: int, tokens: int, max_tokens: int | None = None) -> bool:
    """Whether the next request of a session with so many tokens reduces."""
    with fanfold.open("run", preset=preset, window=window, meter="characters/4", recall=False) as chat:
        chat.say("x" * 4 * tokens)
        assert chat.pressure().tokens == tokens
        return chat.pressure(max_tokens=max_tokens).due


@pytest.mark.requirement("A11", "A12")
@pytest.mark.parametrize("window", [10_000, 10_001, 10_007])
def test_codelia_is_due_exactly_where_its_plain_function_says(window: int) -> None:
    for tokens in range(window * 8 // 10 - 2, window * 8 // 10 + 3):
        assert due("codelia", window, tokens) is should_compact({"total_tokens": tokens}, window)


@pytest.mark.requirement("D1", "D3")
@pytest.mark.parametrize("window", [10_000, 10_001, 10_003])
def test_gemini_is_due_exactly_where_half_of_the_window_is_reached(window: int) -> None:
    for tokens in range(window // 2 - 2, window // 2 + 3):
        assert due("gemini_cli", window, tokens) is (tokens >= 0.5 * window)


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
