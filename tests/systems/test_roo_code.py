"""Roo Code's plain functions: the cases are written from its document."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

import pytest

from fanfold import NotFound
from fanfold.strategies.telling import REASONING
from fanfold.systems import (
    cleanup_after_truncation,
    effective_history,
    estimate_tokens,
    keep_with_tool_blocks,
    manage_context,
    rewind_to_index,
    rewind_to_timestamp,
    summarize_conversation,
    truncate_conversation,
    will_manage_context,
)
from fanfold.systems.roo_code import condensing, effective_threshold, messages_since_last_summary
from fanfold.tokens.vocabulary import counter

Message = dict[str, Any]


class Api:
    """A scripted model: ten tokens for a block, and one summary for all."""

    def __init__(self, text: str = "the summary", *, output_tokens: int = 0, cost: float = 0) -> None:
        self.text, self.output_tokens, self.cost = text, output_tokens, cost
        self.asked: list[tuple[str, list[Message]]] = []
        self.counted: list[list[dict[str, Any]]] = []

    def create_message(self, system_prompt: str, messages: list[Message]) -> Iterator[dict[str, Any]]:
        self.asked.append((system_prompt, messages))
        for piece in self.text.split(" "):
            yield {"type": "text", "text": piece + " "}
        yield {"type": "usage", "totalCost": self.cost, "outputTokens": self.output_tokens}

    def count_tokens(self, content: list[dict[str, Any]]) -> int:
        self.counted.append(content)
        return 10 * len(content)


class Down(Api):
    """A model that cannot be reached."""

    def create_message(self, system_prompt: str, messages: list[Message]) -> Iterator[dict[str, Any]]:
        raise ConnectionError("API error")


def talk(number: int) -> list[Message]:
    return [
        {"role": "user" if i % 2 == 0 else "assistant", "content": f"message {i}", "ts": 1_000 + 100 * i}
        for i in range(number)
    ]


def condensed(messages: list[Message], api: Api | None = None, **options: Any) -> dict[str, Any]:
    return summarize_conversation(messages, api or Api(), "system", "task", 1_000, **options)


def managed(messages: list[Message], total: int, api: Api | None = None, **options: Any) -> dict[str, Any]:
    given = {"context_window": 100_000, "max_tokens": 10_000, **options}
    return manage_context(messages=messages, total_tokens=total, api_handler=api or Api(), **given)


# E1: two stages


@pytest.mark.requirement("E1")
def test_below_threshold_and_limit_nothing_changes() -> None:
    api = Api()
    messages = talk(10)
    result = managed(messages, 74_989, api)
    assert result == {"messages": messages, "summary": "", "cost": 0, "prevContextTokens": 74_999}
    assert api.asked == []


@pytest.mark.requirement("E1")
def test_exactly_at_the_threshold_it_condenses() -> None:
    result = managed(talk(10), 74_990)
    assert result["prevContextTokens"] == 75_000
    assert result["summary"] == "the summary"
    assert result["newContextTokens"] == 10 + 20 + 30, "system, summary of two blocks, three messages"
    assert result["condenseId"]
    assert "error" not in result


@pytest.mark.requirement("E1")
@pytest.mark.parametrize(("total", "truncated"), [(79_990, False), (79_991, True)])
def test_without_auto_condense_it_truncates_only_above_the_allowed(total: int, truncated: bool) -> None:
    api = Api()
    result = managed(talk(11), total, api, auto_condense_context=False)
    assert ("truncationId" in result) is truncated
    assert api.asked == []
    if truncated:
        assert result["messagesRemoved"] == 4
        assert result["newContextTokensAfterTruncation"] == 10 + 7 * 10, "system prompt and seven messages"


@pytest.mark.requirement("E1")
@pytest.mark.parametrize("max_tokens", [None, 0])
def test_without_max_tokens_8192_are_reserved(max_tokens: int | None) -> None:
    options = {"max_tokens": max_tokens, "auto_condense_context": False}
    assert "truncationId" not in managed(talk(11), 90_000 - 8_192 - 10, **options)
    assert "truncationId" in managed(talk(11), 90_000 - 8_192 - 9, **options)


@pytest.mark.requirement("E1")
def test_above_the_allowed_it_condenses_whatever_the_threshold() -> None:
    assert managed(talk(10), 80_000, auto_condense_context_percent=100)["condenseId"]


@pytest.mark.requirement("E1")
def test_where_condensing_fails_a_full_window_is_truncated() -> None:
    result = managed(talk(11), 85_000, Down())
    assert "API error" in result["error"]
    assert (result["messagesRemoved"], result["summary"], result["cost"]) == (4, "", 0)
    assert result["truncationId"]


@pytest.mark.requirement("E1")
def test_where_condensing_fails_below_the_allowed_all_stays_and_the_error_is_told() -> None:
    messages = talk(11)
    result = managed(messages, 76_000, Api("", cost=0.5))
    assert (result["messages"], result["cost"]) == (messages, 0.5)
    assert result["error"] == condensing.FAILED
    assert "truncationId" not in result


@pytest.mark.requirement("E1")
def test_the_last_message_is_estimated_with_all_its_blocks() -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "image", "source": {}}]
    assert managed([*talk(2), {"role": "user", "content": blocks}], 500)["prevContextTokens"] == 520
    assert managed([*talk(2), {"role": "user", "content": []}], 500)["prevContextTokens"] == 500
    assert managed([], 500) == {"messages": [], "summary": "", "cost": 0, "prevContextTokens": 500}


# E2: thresholds of profiles


@pytest.mark.requirement("E2")
@pytest.mark.parametrize(
    ("own", "threshold"), [(None, 75), (-1, 75), (80, 80), (60, 60), (70, 70), (5, 5), (100, 100)]
)
def test_a_profile_has_its_own_threshold_or_inherits(own: float | None, threshold: float) -> None:
    profiles = {} if own is None else {"fast": own}
    assert effective_threshold(75, profiles, "fast") == threshold


@pytest.mark.requirement("E2")
@pytest.mark.parametrize("own", [4, 101, 0, -2])
def test_a_threshold_out_of_range_warns_and_inherits(own: float) -> None:
    with pytest.warns(
        UserWarning, match=f'Invalid profile threshold {own} for profile "fast".*default of 75%'
    ):
        assert effective_threshold(75, {"fast": own}, "fast") == 75


@pytest.mark.requirement("E2")
def test_the_profile_decides_when_to_condense() -> None:
    profiles = {"fast": 60, "default": -1}
    assert "condenseId" in managed(talk(10), 60_000, profile_thresholds=profiles, current_profile_id="fast")
    for other in ("default", "unheard-of"):
        result = managed(talk(10), 60_000, profile_thresholds=profiles, current_profile_id=other)
        assert "condenseId" not in result


# E3, E4, E5: condensing


@pytest.mark.requirement("E3", "E5")
def test_the_first_and_the_last_three_stay_and_the_rest_is_tagged() -> None:
    messages = talk(12)
    result = condensed(messages)
    id = result["condenseId"]
    assert result["messages"][0] == messages[0]
    assert result["messages"][1:9] == [{**message, "condenseParent": id} for message in messages[1:9]]
    assert result["messages"][9] == {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": REASONING},
            {"type": "text", "text": "the summary"},
        ],
        "ts": messages[9]["ts"] - 1,
        "isSummary": True,
        "condenseId": id,
    }
    assert result["messages"][10:] == messages[9:]
    assert effective_history(result["messages"]) == [messages[0], result["messages"][9], *messages[9:]]
    assert messages == talk(12), "the caller's own list is untouched"


@pytest.mark.requirement("E3")
@pytest.mark.parametrize("number", [0, 1, 3, 4])
def test_there_must_be_two_messages_to_summarise(number: int) -> None:
    api = Api()
    messages = talk(number)
    assert condensed(messages, api) == {
        "messages": messages,
        "summary": "",
        "cost": 0,
        "error": condensing.NOT_ENOUGH,
    }
    assert api.asked == []
    assert "error" not in condensed(talk(5))


@pytest.mark.requirement("E3")
def test_a_tail_with_a_summary_was_condensed_recently() -> None:
    messages = talk(8)
    messages[6]["isSummary"] = True
    assert condensed(messages)["error"] == condensing.RECENTLY
    messages = talk(8)
    messages[4] |= {"role": "assistant", "isSummary": True}
    assert "error" not in condensed(messages), "a summary and what was first are two"
    messages[4] |= {"role": "user"}
    assert condensed(messages)["error"] == condensing.RECENTLY


@pytest.mark.requirement("E3")
def test_only_what_is_newer_than_the_last_summary_is_summarised_again() -> None:
    messages = talk(12)
    messages[5] |= {"isSummary": True, "condenseId": "x"}
    for message in messages[1:5]:
        message["condenseParent"] = "x"
    api = Api()
    result = condensed(messages, api)
    asked = api.asked[0][1]
    assert [one["content"] for one in asked[:-1]] == ["message 0", *(f"message {i}" for i in range(5, 9))]
    assert [one.get("condenseParent") for one in result["messages"][1:5]] == ["x"] * 4
    assert len(effective_history(result["messages"])) == 5


@pytest.mark.requirement("E3")
def test_messages_since_the_last_summary_begin_with_the_user() -> None:
    summary = {"role": "assistant", "content": "s", "isSummary": True}
    assert messages_since_last_summary([]) == []
    assert messages_since_last_summary(talk(3)) == talk(3)
    made_up, *rest = messages_since_last_summary([{"role": "assistant", "content": "a", "ts": 5}, summary])
    assert (made_up["role"], made_up["ts"], rest) == ("user", 4, [summary])
    later = {**summary, "role": "user"}
    assert messages_since_last_summary([*talk(2), summary, later, *talk(1)]) == [later, *talk(1)]


CALL = {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}
THOUGHT = {"type": "reasoning", "text": "let me look"}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}


def with_tools() -> list[Message]:
    """The tail of three begins with a tool's result."""
    messages = talk(9)
    messages[5] |= {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "I look."}, CALL]}
    messages[6] |= {"role": "user", "content": [RESULT]}
    return messages


@pytest.mark.requirement("E3")
def test_a_result_at_the_start_of_the_tail_keeps_its_call_and_reasoning() -> None:
    messages = with_tools()
    assert keep_with_tool_blocks(messages, 3) == {
        "keepMessages": messages[6:],
        "toolUseBlocksToPreserve": [CALL],
        "reasoningBlocksToPreserve": [THOUGHT],
    }
    api = Api()
    result = condensed(messages, api, use_native_tools=True)
    summary = result["messages"][6]
    assert [block["type"] for block in summary["content"]] == ["reasoning", "reasoning", "text", "tool_use"]
    assert api.asked[0][1][-2]["content"] == [RESULT], "the summary request has the answer to its last call"


@pytest.mark.requirement("E3")
@pytest.mark.parametrize(
    ("at", "change"),
    [
        (6, {"content": "plain words"}),
        (6, {"role": "assistant"}),
        (5, {"content": "no call"}),
        (5, {"role": "user"}),
    ],
)
def test_only_a_result_after_its_call_keeps_anything(at: int, change: dict[str, Any]) -> None:
    messages = with_tools()
    messages[at] |= change
    kept = keep_with_tool_blocks(messages, 3)
    assert (kept["toolUseBlocksToPreserve"], kept["reasoningBlocksToPreserve"]) == ([], [])
    assert kept["keepMessages"] == messages[6:]


@pytest.mark.requirement("E3")
def test_a_history_no_longer_than_the_tail_is_kept_whole() -> None:
    for number in (0, 1, 3):
        kept = keep_with_tool_blocks(talk(number), 3)
        assert (kept["keepMessages"], kept["toolUseBlocksToPreserve"]) == (talk(number), [])


@pytest.mark.requirement("E3")
def test_without_native_tools_the_plain_last_three_stay() -> None:
    result = condensed(with_tools())
    assert [block["type"] for block in result["messages"][6]["content"]] == ["reasoning", "text"]


@pytest.mark.requirement("E3")
def test_the_request_has_no_pictures_no_tags_and_its_own_model() -> None:
    messages = talk(8)
    picture = {"type": "image", "source": {"data": "AAAA"}}
    messages[1]["content"] = [{"type": "text", "text": "look"}, picture]
    messages[2]["content"] = [{**RESULT, "content": [{"type": "text", "text": "seen"}, picture]}]
    main, own = Api(), Api("by another")
    result = condensed(messages, main, condensing_api_handler=own)
    (_, asked) = own.asked[0]
    assert (result["summary"], main.asked) == ("by another", [])
    assert all(set(one) == {"role", "content"} for one in asked)
    assert [block["type"] for block in asked[1]["content"]] == ["text", "text"]
    assert [block["type"] for block in asked[2]["content"][0]["content"]] == ["text", "text"]
    assert "AAAA" in str(messages), "what was given is untouched"
    assert asked[-1]["content"].startswith("Summarize the conversation so far")


@pytest.mark.requirement("E3", "E4")
def test_the_prompt_has_six_sections_unless_one_is_given() -> None:
    api = Api()
    condensed(talk(8), api)
    for section in (
        "Previous conversation", "Current work", "Key technical concepts", "Relevant files and code",
        "Problem solving", "Pending tasks and next steps", "word for word",
    ):  # fmt: skip
        assert section in api.asked[0][0]
    condensed(talk(8), api, custom_condensing_prompt="  Be short.  ")
    assert api.asked[1][0] == "Be short."
    condensed(talk(8), api, custom_condensing_prompt="   ")
    assert api.asked[2][0] == api.asked[0][0]


@pytest.mark.requirement("E3")
@pytest.mark.parametrize(("before", "grew"), [(61, False), (60, True), (59, True)])
def test_a_result_that_is_not_smaller_is_an_error(before: int, grew: bool) -> None:
    result = summarize_conversation(talk(8), Api(), "system", "task", before)
    assert (result.get("error") == condensing.GREW) is grew
    assert ("condenseId" in result) is not grew


@pytest.mark.requirement("E3")
def test_a_billed_summary_is_not_counted_again() -> None:
    api = Api(output_tokens=7, cost=0.25)
    result = condensed(talk(8), api)
    assert (result["newContextTokens"], result["cost"]) == (7 + 10 + 30, 0.25)
    assert len(api.counted[-1]) == 4


@pytest.mark.requirement("E3")
def test_a_model_that_cannot_be_asked_is_passed_over() -> None:
    assert condensed(talk(8), condensing_api_handler=object())["summary"] == "the summary"
    assert "AttributeError" in condensed(talk(8), object())["error"]  # type: ignore[arg-type]


@pytest.mark.requirement("E3", "E6")
def test_what_changes_nothing_gives_back_what_it_got() -> None:
    messages = talk(3)
    assert condensed(messages)["messages"] is messages
    assert truncate_conversation(messages, 0.5, "task")["messages"] is messages
    assert managed(messages, 0)["messages"] is messages


@pytest.mark.requirement("E3")
def test_white_space_is_no_summary() -> None:
    assert condensed(talk(8), Api("   "))["error"] == condensing.FAILED


# E6: truncating


@pytest.mark.requirement("E6")
@pytest.mark.parametrize(
    ("number", "fraction", "removed"),
    [
        (0, 0.5, 0),
        (1, 0.5, 0),
        (2, 0.5, 0),
        (4, 0.5, 0),
        (5, 0.5, 2),
        (11, 0.5, 4),
        (12, 0.5, 4),
        (13, 0.5, 6),
        (11, 0, 0),
        (11, 1, 10),
        (12, 1, 10),
        (3, 1, 2),
        (2, 1, 0),
    ],
)
def test_how_many_messages_are_hidden(number: int, fraction: float, removed: int) -> None:
    messages = talk(number)
    result = truncate_conversation(messages, fraction, "task")
    tagged = [one for one in result["messages"] if one.get("truncationParent")]
    assert (result["messagesRemoved"], len(tagged)) == (removed, removed)
    assert {one["truncationParent"] for one in tagged} <= {result["truncationId"]}
    if removed == 0:
        assert result["messages"] == messages
    else:
        assert result["messages"][0] == messages[0]
        assert len(effective_history(result["messages"])) == number - removed + 1


@pytest.mark.requirement("E6")
def test_the_marker_stands_before_the_first_kept_message() -> None:
    result = truncate_conversation(talk(11), 0.5, "task")
    assert result["messages"][5] == {
        "role": "user",
        "content": "[Sliding window truncation: 4 messages hidden to reduce context]",
        "ts": 1_499,
        "isTruncationMarker": True,
        "truncationId": result["truncationId"],
    }
    everything = truncate_conversation(talk(11), 1, "task")["messages"]
    assert everything[-1]["isTruncationMarker"], "at the end, where nothing is kept"
    assert everything[-1]["ts"] > 1_600_000_000_000


@pytest.mark.requirement("E6")
def test_what_is_truncated_already_is_not_counted_twice() -> None:
    once = truncate_conversation(talk(11), 0.5, "task")
    twice = truncate_conversation(once["messages"], 0.5, "task")
    assert twice["messagesRemoved"] == 2, "floor((7 - 1) / 2), made even"
    assert twice["truncationId"] != once["truncationId"]
    assert len(effective_history(twice["messages"])) == 11 - 6 + 2


@pytest.mark.requirement("E6")
def test_the_plain_function_counts_condensed_messages_as_its_document_does() -> None:
    result = truncate_conversation(condensed(talk(12))["messages"], 0.5, "task")
    assert result["messagesRemoved"] == 6
    assert len(effective_history(result["messages"])) == 6, "the marker comes, and nothing seen goes"


# E5, E7: effective history, clean-up and rewind


@pytest.mark.requirement("E5")
def test_messages_whose_summary_or_marker_is_gone_are_seen() -> None:
    messages = [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b", "condenseParent": "gone"},
        {"role": "user", "content": "c", "truncationParent": "gone"},
        {"role": "user", "content": "d", "condenseParent": "here"},
        {"role": "assistant", "content": "s", "isSummary": True, "condenseId": "here"},
        {"role": "user", "content": "not a summary", "condenseId": "gone"},
    ]
    assert [one["content"] for one in effective_history(messages)] == ["a", "b", "c", "s", "not a summary"]
    assert effective_history([]) == []


@pytest.mark.requirement("E7")
def test_clean_up_takes_dangling_tags_only() -> None:
    standing = {"role": "user", "content": "m", "isTruncationMarker": True, "truncationId": "here"}
    both = {"role": "user", "content": "x", "condenseParent": "gone", "truncationParent": "here"}
    plain = {"role": "user", "content": "y"}
    cleaned = cleanup_after_truncation([both, plain, standing])
    assert cleaned == [{"role": "user", "content": "x", "truncationParent": "here"}, plain, standing]
    assert cleaned[1] is plain
    assert cleanup_after_truncation([]) == []


def task(history: list[Message], *events: Message) -> dict[str, Any]:
    seen = [{"ts": message["ts"], "say": "text"} for message in talk(8)]
    return {
        "clineMessages": sorted([*seen, *events], key=lambda one: one["ts"]),
        "apiConversationHistory": history,
    }


@pytest.mark.requirement("E7")
def test_rewind_goes_back_to_before_a_message() -> None:
    after = rewind_to_timestamp(task(talk(8)), 1_400)
    assert [one["ts"] for one in after["clineMessages"]] == [1_000, 1_100, 1_200, 1_300]
    assert after["apiConversationHistory"] == talk(4)


@pytest.mark.requirement("E7")
def test_the_target_can_stay_with_the_user() -> None:
    after = rewind_to_timestamp(task(talk(8)), 1_400, include_target=True)
    assert (len(after["clineMessages"]), len(after["apiConversationHistory"])) == (5, 4)
    assert rewind_to_index(task(talk(8)), 4, include_target=True) == after


@pytest.mark.requirement("E7")
def test_an_unknown_time_is_an_error() -> None:
    with pytest.raises(NotFound, match="Message with timestamp 1450 not found in clineMessages"):
        rewind_to_timestamp(task(talk(8)), 1_450)


@pytest.mark.requirement("E7")
def test_rewind_to_an_index_is_rewind_to_its_time() -> None:
    assert rewind_to_index(task(talk(8)), 4) == rewind_to_timestamp(task(talk(8)), 1_400)
    assert rewind_to_index(task(talk(8)), 0)["apiConversationHistory"] == []
    assert rewind_to_index(task(talk(8)), 99) == task(talk(8))
    with pytest.raises(NotFound):
        rewind_to_index(task(talk(8)), -1)


@pytest.mark.requirement("E7")
def test_summaries_and_markers_whose_event_is_gone_disappear_and_their_messages_come_back() -> None:
    summary = condensed(talk(8))
    event = {"ts": 1_650, "say": "condense_context", "contextCondense": {"condenseId": summary["condenseId"]}}
    after = rewind_to_timestamp(task(summary["messages"], event), 1_600)
    assert after["apiConversationHistory"] == talk(6)
    hidden = truncate_conversation(talk(8), 0.5, "task")
    event = {
        "ts": 1_650,
        "say": "sliding_window_truncation",
        "contextTruncation": {"truncationId": hidden["truncationId"]},
    }
    after = rewind_to_timestamp(task(hidden["messages"], event), 1_600)
    assert after["apiConversationHistory"] == talk(6)
    skipped = rewind_to_timestamp(task(hidden["messages"], event), 1_600, skip_cleanup=True)
    assert [bool(one.get("truncationParent")) for one in skipped["apiConversationHistory"]] == [
        False, True, True, False, False, False,
    ]  # fmt: skip


@pytest.mark.requirement("E7")
def test_a_summary_whose_event_stays_stays() -> None:
    summary = condensed(talk(8))
    event = {"ts": 1_450, "say": "condense_context", "contextCondense": {"condenseId": summary["condenseId"]}}
    after = rewind_to_timestamp(task(summary["messages"], event), 1_600)
    assert any(one.get("isSummary") for one in after["apiConversationHistory"])


@pytest.mark.requirement("E7")
def test_without_an_exact_match_it_cuts_at_the_next_user_message() -> None:
    history = [
        {"role": "user", "content": "a", "ts": 1_000},
        {"role": "assistant", "content": "still streaming", "ts": 1_420},
        {"role": "user", "content": "result", "ts": 1_430},
        {"role": "user", "content": "no time"},
    ]
    after = rewind_to_timestamp(task(history), 1_400)
    assert [one["content"] for one in after["apiConversationHistory"]] == ["a", "still streaming", "no time"]
    nobody = [*history[:2], *history[3:]]
    assert rewind_to_timestamp(task(nobody), 1_400)["apiConversationHistory"] == [history[0], history[3]]
    assert rewind_to_timestamp(task(history[1:]), 1_000)["apiConversationHistory"] == [history[3]]


# E8: counting


def tokens(text: str) -> float:
    return counter("o200k")(text)


@pytest.mark.requirement("E8")
@pytest.mark.parametrize(
    ("blocks", "raw"),
    [
        ([], 0),
        ("", 0),
        (None, 0),
        ([{"type": "text", "text": ""}], 0),
        ([{"type": "text", "text": "hello world"}], tokens("hello world")),
        ([{"type": "text", "text": "a <|endoftext|> b"}], tokens("a <|endoftext|> b")),
        ([{"type": "image", "source": {"type": "base64", "data": "x" * 50}}], 8),
        ([{"type": "image", "source": {"type": "url", "url": "u"}}], 300),
        ([{"type": "image"}], 300),
        ([{"type": "image", "source": {"type": "base64", "data": None}}], 300),
        ([{"type": "text"}], 0),
        ([{"type": "text", "text": None}], 0),
        ([CALL], tokens("Tool: ls\nArguments: {}")),
        ([{"type": "tool_use", "name": "ls"}], tokens("Tool: ls")),
        ([{"type": "tool_use", "name": "ls", "input": {"a": "東京", "b": [1]}}],
         tokens('Tool: ls\nArguments: {"a":"東京","b":[1]}')),
        ([{"type": "tool_use", "name": "ls", "input": {1, 2}}],
         tokens("Tool: ls\nArguments: [serialization error]")),
        ([RESULT], tokens("Tool Result (t1)\na.py")),
        ([{**RESULT, "is_error": True}], tokens("Tool Result (t1)\n[Error]\na.py")),
        ([{"type": "tool_result", "tool_use_id": "t1"}], tokens("Tool Result (t1)")),
        ([{**RESULT, "content": [{"type": "text", "text": "x"}, {"type": "image"}, {"type": "audio"}]}],
         tokens("Tool Result (t1)\nx\n[Image content]\n[Unsupported content block: audio]")),
        ([{"type": "document"}], 0),
    ],
)  # fmt: skip
def test_tokens_of_blocks(blocks: Any, raw: float) -> None:
    assert estimate_tokens(blocks, "roo_code") == ceil(raw * 1.5)


@pytest.mark.requirement("E8")
def test_rounding_comes_after_the_factor() -> None:
    blocks = [{"type": "text", "text": "a"}] * 3
    assert estimate_tokens(blocks, "roo_code") == 5


# E9: telling in advance


@pytest.mark.requirement("E9")
@pytest.mark.parametrize("total", [0, 59_989, 59_990, 74_989, 74_990, 79_990, 79_991, 99_000])
@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("profile", ["default", "fast"])
def test_it_is_told_in_advance_whether_anything_will_be_done(total: int, auto: bool, profile: str) -> None:
    options = {
        "max_tokens": 10_000,
        "auto_condense_context": auto,
        "profile_thresholds": {"fast": 60, "default": -1},
        "current_profile_id": profile,
    }
    told = will_manage_context(total_tokens=total, context_window=100_000, last_message_tokens=10, **options)
    done = managed(talk(11), total, **options)
    assert told is ("condenseId" in done or "truncationId" in done)
