"""codelia's plain functions: the cases are written from its document."""

from __future__ import annotations

from typing import Any

import pytest

from fanfold import UnknownModel
from fanfold.systems import (
    codelia,
    estimate_tokens,
    should_compact,
    tool_output_cache,
    tool_output_cache_grep,
)
from fanfold.systems.codelia import compact, in_context_view, prepare_for_summary, trim_tool_outputs

Message = dict[str, Any]


def said(role: str, text: str) -> Message:
    return {"role": role, "content": text}


@pytest.mark.requirement("A1")
@pytest.mark.parametrize(
    ("window", "budget"),
    [
        (1_000, 20_000),
        (80_000, 20_000),
        (80_004, 20_001),
        (200_000, 50_000),
        (240_000, 60_000),
        (1_000_000, 60_000),
    ],
)
def test_the_budget_of_outputs_is_a_quarter_within_bounds(window: int, budget: int) -> None:
    assert codelia.context_budget(window) == budget


@pytest.mark.requirement("A1")
def test_without_a_tokenizer_a_token_is_four_bytes() -> None:
    assert [estimate_tokens(text, "codelia") for text in ("", "abcd", "abcde", "東京")] == [0, 1, 2, 2]


@pytest.mark.requirement("A2")
@pytest.mark.parametrize(("text", "size", "lines"), [("", 0, 0), ("a", 1, 1), ("a\n", 2, 1), ("a\n東", 5, 2)])
def test_a_reference_says_how_much_there_is(text: str, size: int, lines: int) -> None:
    assert codelia.output_ref("o1", text) == {"id": "o1", "byte_size": size, "line_count": lines}


@pytest.mark.requirement("A4")
def test_what_is_within_the_limits_is_shown_whole() -> None:
    for text in ("", "a\nb\n", "a\ud800b", "x" * 2_000, "\n".join(["y" * 1_023] * 50)):
        assert in_context_view(text, "o1") == text


@pytest.mark.requirement("A4")
def test_long_lines_and_long_outputs_are_cut_and_the_end_says_so() -> None:
    long = in_context_view("x" * 2_001 + "\nshort", "o1")
    assert long.split("\n")[:2] == ["x" * 2_000, "short"]
    assert 'tool_output_cache(ref_id="o1")' in long.split("\n")[-1]
    many = in_context_view("\n".join(["y" * 1_023] * 51), "o2")
    assert len(many.rsplit("\n", 1)[0]) == 50 * 1_024
    assert "o2" in many.rsplit("\n", 1)[1]
    assert in_context_view("東京都", "o3", max_message_bytes=7).startswith("東京\n"), (
        "no character is cut in two"
    )


def output(number: int, size: int = 40) -> Message:
    return {"role": "tool", "content": "x" * size, "output_ref": {"id": f"o{number}"}}


@pytest.mark.requirement("A5")
@pytest.mark.parametrize(("budget", "kept"), [(40, 4), (39, 3), (30, 3), (10, 1), (9, 0)])
def test_the_newest_outputs_win(budget: int, kept: int) -> None:
    messages = [said("user", "go"), *map(output, range(4)), said("assistant", "done")]
    trimmed = trim_tool_outputs(messages, budget)
    shown = [message["content"] for message in trimmed[1:5]]
    assert shown == [f"[tool output trimmed; ref=o{i}]" for i in range(4 - kept)] + ["x" * 40] * kept
    assert [message["output_ref"]["id"] for message in trimmed[1:5]] == ["o0", "o1", "o2", "o3"]
    assert (trimmed[0], trimmed[-1]) == (messages[0], messages[-1])


@pytest.mark.requirement("A5")
def test_an_output_without_a_reference_is_trimmed_too() -> None:
    """(19.23) Outputs exceed their budget together, whether or not they can be expanded."""
    bare = {"role": "tool", "content": "x" * 400}
    trimmed = {"role": "tool", "content": "[tool output trimmed]"}
    assert trim_tool_outputs([bare], 1) == [trimmed]
    assert trim_tool_outputs([bare, {**bare, "output_ref": None}, output(1), bare], 110) == [
        trimmed,
        {**trimmed, "output_ref": None},
        output(1),
        bare,
    ]
    assert trim_tool_outputs([], 1) == []


@pytest.mark.requirement("A5", "A8")
def test_an_output_of_several_parts_is_counted_by_its_json() -> None:
    parts = {**output(1), "content": [{"type": "text", "text": "x" * 73}]}  # 100 characters
    assert trim_tool_outputs([parts], 25) == [parts]
    assert trim_tool_outputs([parts], 24)[0]["content"] == "[tool output trimmed; ref=o1]"


OUTPUTS = {"o1": "".join(f"line {i}\n" for i in range(1, 301)), "empty": ""}


@pytest.mark.requirement("A6")
def test_lines_of_an_output_are_read_with_their_numbers() -> None:
    shown = tool_output_cache(OUTPUTS, "o1", 299, 5).split("\n")
    assert [line.split("\t") for line in shown[:2]] == [["   299", "line 299"], ["   300", "line 300"]]
    first = tool_output_cache(OUTPUTS, "o1").split("\n")
    assert (len(first), first[0].strip()) == (201, "1\tline 1")
    assert len(tool_output_cache(OUTPUTS, "o1", limit=1).split("\n")) == 2


@pytest.mark.requirement("A6")
def test_asking_for_what_is_not_there_is_answered_in_words() -> None:
    assert "no output 'o9'" in tool_output_cache(OUTPUTS, "o9")
    assert "300 lines" in tool_output_cache(OUTPUTS, "o1", 301)
    assert "0 lines" in tool_output_cache(OUTPUTS, "empty")
    assert "at least 1" in tool_output_cache(OUTPUTS, "o1", 0)


@pytest.mark.requirement("A6")
def test_an_output_is_searched() -> None:
    assert tool_output_cache_grep(OUTPUTS, "o1", "line 29$").split("\n")[0] == "29:line 29"
    around = tool_output_cache_grep(OUTPUTS, "o1", "LINE 29$", before=1, after=1, ignore_case=True)
    assert around.split("\n")[:3] == ["28-line 28", "29:line 29", "30-line 30"]
    assert len(tool_output_cache_grep(OUTPUTS, "o1", "line", limit=3).split("\n")) == 4
    assert "matches" in tool_output_cache_grep(OUTPUTS, "o1", "nowhere")


@pytest.mark.requirement("A11")
def test_the_limit_of_a_model_is_its_input_limit_or_an_error() -> None:
    assert codelia.context_limit("any", {"max_input_tokens": 5, "max_tokens": 9}) == 5
    assert codelia.context_limit("any", {"max_input_tokens": None, "max_tokens": 9}) == 9
    assert codelia.context_limit("gpt-5.2") > 100_000
    with pytest.raises(UnknownModel):
        codelia.context_limit("nobody-knows-this-1")
    assert (codelia.threshold(1_001), codelia.threshold(9, 0.5)) == (800, 4)


def usage(total: int) -> dict[str, int]:
    return {"total_tokens": total}


@pytest.mark.requirement("A12")
def test_when_to_compact() -> None:
    assert not should_compact(usage(799), 1_000)
    assert should_compact(usage(800), 1_000)
    assert not should_compact(usage(9_999), 1_000, enabled=False)
    assert not should_compact(usage(9_999), 1_000, auto=False)
    assert should_compact(usage(500), 1_000, threshold_ratio=0.5)


@pytest.mark.requirement("A10", "A12")
def test_usage_is_the_sum_of_four() -> None:
    four = {"input_tokens": 100, "output_tokens": 200, "cache_creation_tokens": 300, "cache_read_tokens": 200}
    assert should_compact(four, 1_000)
    assert not should_compact({**four, "cache_read_tokens": 199}, 1_000)


CALLING = {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "c1"}]}


@pytest.mark.requirement("A14")
def test_an_unanswered_call_at_the_end_is_left_out_of_the_summary() -> None:
    asked = said("user", "go")
    assert prepare_for_summary([]) == []
    assert prepare_for_summary([asked, CALLING]) == [asked, said("assistant", "I look.")]
    assert prepare_for_summary([asked, {**CALLING, "content": ""}]) == [asked]
    assert prepare_for_summary([CALLING, asked]) == [CALLING, asked], "only at the end"
    answered = [asked, CALLING, {"role": "tool", "tool_call_id": "c1", "content": "ok"}]
    assert prepare_for_summary(answered) == answered


@pytest.mark.requirement("A13", "A16")
def test_a_compaction_leaves_retain_summary_and_the_last_turns() -> None:
    asked: list[list[Message]] = []

    def ask(messages: list[Message]) -> str:
        asked.append(messages)
        return "thinking… <retain>\nkeep o1\n</retain> <summary>all went well</summary> bye"

    history = [said(role, f"{role} {i}") for i in range(3) for role in ("user", "assistant")]
    new = compact(history, ask, retain_prompt="List refs.", summary_directives=["name files"])
    assert new == [said("user", "keep o1"), said("user", "all went well"), *history[4:]]
    interrupt = asked[0][-1]
    assert (asked[0][:-1], interrupt["role"]) == (history, "user")
    assert interrupt["content"].startswith("List refs.")
    assert interrupt["content"].endswith("- name files")
    assert "<summary>" in interrupt["content"], "directives never replace the prompt"


@pytest.mark.requirement("A13", "A16")
@pytest.mark.parametrize(
    "reply", ["", "  \n", "<summary> </summary>", "<retain></retain><summary></summary>"]
)
def test_a_reply_without_a_word_replaces_nothing(reply: str) -> None:
    history = [said(role, f"{role} {i}") for i in range(3) for role in ("user", "assistant")]
    assert compact(history, lambda _: reply) == history


@pytest.mark.requirement("A13")
def test_what_is_retained_does_not_stand_in_the_summary_again() -> None:
    new = compact([said("user", "go")], lambda _: "<retain>keep o1</retain> So far, so good.")
    assert new == [said("user", "keep o1"), said("user", "So far, so good."), said("user", "go")]
    assert compact([said("user", "go")], lambda _: "<retain>keep o1</retain>")[:-1] == [
        said("user", "keep o1")
    ]


@pytest.mark.requirement("A13", "A16")
def test_a_compaction_keeps_the_system_messages_before_all_else() -> None:
    """(19.23) The rules of the agent are no part of what is summarised."""
    rules, late = said("system", "You fix bugs."), said("developer", "Never touch main.")
    history = [
        rules,
        said("user", "a"),
        said("assistant", "b"),
        late,
        said("user", "c"),
        said("assistant", "d"),
    ]
    reply = "<retain>keep o1</retain><summary>so far</summary>"
    new = compact(history, lambda _: reply)
    assert new == [rules, late, said("user", "keep o1"), said("user", "so far"), *history[4:]]
    assert compact(history, lambda _: reply, retain_last_turns=9)[4:] == [*history[1:3], *history[4:]]
    assert compact(history, lambda _: "") == history


@pytest.mark.requirement("A13")
@pytest.mark.parametrize(
    ("reply", "texts"),
    [
        ("<RETAIN>keep o1</RETAIN><SUMMARY>so far</SUMMARY>", ["keep o1", "so far"]),
        ("<Retain>keep o1</retain>\n<Summary>so far</summary>", ["keep o1", "so far"]),
        ("<RETAIN>keep o1</RETAIN> so far", ["keep o1", "so far"]),
        ("so far</SUMMARY>", ["so far"]),
        ("<SUMMARY>so far", ["so far"]),
    ],
)
def test_no_tag_stands_in_the_new_history_in_whatever_case_it_came(reply: str, texts: list[str]) -> None:
    """(19.23)"""
    new = compact([said("user", "go")], lambda _: reply)
    assert [message["content"] for message in new[:-1]] == texts


@pytest.mark.requirement("A16")
@pytest.mark.parametrize(("turns", "kept"), [(-1, 0), (0, 0), (1, 2), (3, 6), (9, 6)])
def test_how_many_turns_stay(turns: int, kept: int) -> None:
    history = [said(role, f"{role} {i}") for i in range(3) for role in ("user", "assistant")]
    new = compact(history, lambda _: "only words", retain_last_turns=turns)
    assert new == [said("user", "only words"), *history[6 - kept :]]
