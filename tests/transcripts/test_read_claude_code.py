from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transcript_builders import (
    NOON_SECONDS,
    asked,
    boundary,
    called,
    lines,
    only,
    read,
    result,
    said,
    texts,
)

from fanfold.transcripts import Conversation, Parent


def test_a_session_gives_messages_in_anthropic_form_without_bookkeeping() -> None:
    found = only(lines([asked("u1", None, "hi"), said("a1", "u1", "hello")]))
    assert (found.id, found.format, found.dialect, found.model) == (
        "s1",
        "claude-code",
        "anthropic",
        "claude-sonnet-4-5",
    )
    assert found.messages == (
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "hello"}]},
    )


def test_times_are_unix_seconds() -> None:
    assert only(lines([asked("u1", None, "hi")])).times == (NOON_SECONDS,)


def test_chunks_with_one_message_id_are_one_message_with_the_last_bill() -> None:
    first = said("a1", "u1", "one", message={"id": "msg", "usage": {"output_tokens": 1}})
    second = said("a2", "a1", "two", message={"id": "msg", "usage": {"output_tokens": 9}})
    found = only(lines([asked("u1", None, "hi"), first, second]))
    assert texts(found) == ["hi", "one two"]
    assert found.usage == (None, {"output_tokens": 9})


def test_results_of_parallel_calls_are_all_kept_although_only_one_is_an_ancestor() -> None:
    found = only(
        lines(
            [
                asked("u1", None, "go"),
                called("a1", "u1", "c1", "msg"),
                result("r1", "a1", "c1", "first"),
                called("a2", "a1", "c2", "msg"),
                result("r2", "a2", "c2", "second"),
                said("a3", "r2", "done"),
            ]
        )
    )
    assert [block["id"] for block in found.messages[1]["content"]] == ["c1", "c2"]
    assert [block["content"] for block in found.messages[2]["content"]] == ["first", "second"]
    assert len(found.messages) == 4


def test_a_branch_that_was_rewound_is_left_out_and_counted() -> None:
    rewound = [said("a1", "u1", "wrong"), asked("u2", "a1", "no"), said("a2", "u1", "right")]
    found = only(lines([asked("u1", None, "hi"), *rewound]))
    assert texts(found) == ["hi", "right"]
    assert (found.meta["left_out"], found.meta["branches"]) == (2, 1)


def test_a_compaction_is_marked_with_what_it_covered() -> None:
    summary = asked("k1", "b1", "summary", isCompactSummary=True)
    before = [asked("u1", None, "hi"), said("a1", "u1", "hello")]
    found = only(lines([*before, boundary("b1", "a1", preTokens=99), summary, said("a2", "k1", "on")]))
    (mark,) = found.compactions
    assert texts(found) == ["hi", "hello", "summary", "on"]
    assert (mark.at, mark.count, mark.covers, mark.meta) == (2, 1, (0, 2), {"preTokens": 99})


def test_a_second_compaction_covers_what_stood_since_the_first() -> None:
    first = [asked("u1", None, "a"), asked("k1", None, "sum 1", isCompactSummary=True)]
    second = [asked("u2", "k1", "b"), asked("k2", None, "sum 2", isCompactSummary=True)]
    found = only(lines([*first, *second]))
    assert [mark.covers for mark in found.compactions] == [(0, 1), (1, 3)]


def test_a_compaction_that_kept_a_tail_is_seen_though_the_chain_goes_past_it() -> None:
    kept = {"anchorUuid": "k1", "uuids": ["a1"]}
    found = only(
        lines(
            [
                asked("u1", None, "old"),
                said("a1", "u1", "kept"),
                boundary("b1", "a1", preservedMessages=kept),
                asked("k1", "b1", "summary", isCompactSummary=True),
                asked("u2", "a1", "next"),
            ]
        )
    )
    assert texts(found) == ["old", "kept", "summary", "next"]
    assert found.compactions[0].kept == (1,)


def test_a_session_that_begins_with_a_summary_covers_nothing_recorded() -> None:
    found = only(lines([asked("k1", None, "summary", isCompactSummary=True), said("a1", "k1", "on")]))
    assert found.compactions[0].covers is None


def test_a_side_chain_is_its_own_conversation_linked_to_its_call_by_prompt() -> None:
    main = [asked("u1", None, "go"), called("a1", "u1", "c1", "msg", prompt="look around")]
    side = [asked("x1", None, "look around", isSidechain=True), said("x2", "x1", "seen", isSidechain=True)]
    outer, inner = read(lines([*main, *side, result("r1", "a1", "c1", "done")]))
    assert len(outer.messages) == 3
    assert texts(inner) == ["look around", "seen"]
    assert (inner.id, inner.parent) == ("s1/x1", Parent("s1", "c1"))


def test_a_side_chain_with_an_agent_id_is_linked_by_the_result_that_names_it() -> None:
    main = [asked("u1", None, "go"), called("a1", "u1", "c1", "msg")]
    side = [asked("x1", None, "task", isSidechain=True, agentId="ag")]
    done = result("r1", "a1", "c1", "done", toolUseResult={"agentId": "ag"})
    _, inner = read(lines([*main, *side, done]))
    assert inner.parent == Parent("s1", "c1")


def test_an_agents_own_file_names_its_session_as_parent() -> None:
    found = only(lines([asked("x1", None, "task", isSidechain=True, agentId="ag")]))
    assert (found.id, found.parent) == ("s1/ag", Parent("s1", None))


def test_lines_that_are_no_messages_are_counted_not_read() -> None:
    extra = [{"type": "summary", "summary": "A title", "leafUuid": "u1"}, {"type": "file-history-snapshot"}]
    found = only(lines([*extra, asked("u1", None, "hi")]))
    assert texts(found) == ["hi"]
    assert found.meta["titles"] == ["A title"]
    assert found.meta["other_lines"] == {"summary": 1, "file-history-snapshot": 1}


def test_an_error_that_the_tool_made_up_is_no_message() -> None:
    failed = said("a1", "u1", "API Error", isApiErrorMessage=True)
    assert texts(only(lines([asked("u1", None, "hi"), failed, said("a2", "a1", "hello")]))) == ["hi", "hello"]


def test_a_cycle_of_parents_ends() -> None:
    assert len(only(lines([asked("u1", "u2", "a"), asked("u2", "u1", "b")])).messages) == 2


def test_a_duplicate_uuid_is_read_once() -> None:
    found = only(lines([asked("u1", None, "a"), asked("u1", None, "a"), said("a1", "u1", "b")]))
    assert texts(found) == ["a", "b"]


def test_a_missing_parent_falls_back_to_the_line_before() -> None:
    assert texts(only(lines([asked("u1", None, "a"), said("a1", "gone", "b")]))) == ["a", "b"]


def test_the_sdk_stream_without_parents_is_read_in_order_with_its_sub_agents() -> None:
    def streamed(kind: str, text: str, call: str | None = None) -> dict[str, object]:
        message = {"role": kind, "content": text}
        return {"type": kind, "message": message, "session_id": "s9", "parent_tool_use_id": call}

    start = {"type": "system", "subtype": "init", "session_id": "s9", "tools": ["Bash"]}
    talk = [streamed("user", "go"), streamed("user", "inner", "c1"), streamed("assistant", "done")]
    outer, inner = read(lines([start, *talk]))
    assert (texts(outer), texts(inner)) == (["go", "done"], ["inner"])
    assert inner.parent == Parent("s9", "c1")


def streamed(kind: str, uuid: str, content: Any, answer: str | None = None) -> dict[str, Any]:
    """A line as the Agent SDK streams it: it follows the line before."""
    message = {"role": kind, "content": content} | ({"id": answer} if answer else {})
    return {"type": kind, "uuid": uuid, "session_id": "s1", "parent_tool_use_id": None, "message": message}


def used(call: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": call, "name": "Bash", "input": {}}]


def gave(call: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": call, "content": "ok"}]


def call_ids(found: Conversation) -> list[str]:
    blocks = [block for message in found.messages for block in message["content"] if isinstance(block, dict)]
    return [block["id"] for block in blocks if block["type"] == "tool_use"]


def test_lines_that_share_a_uuid_and_say_different_things_are_all_read() -> None:
    """(19.20)"""
    talk = [streamed("user", "u1", "hi"), streamed("assistant", "a1", used("c1"), "m1")]
    talk += [streamed("assistant", "a1", used("c2"), "m1"), streamed("user", "u2", gave("c1"))]
    talk += [streamed("user", "u2", gave("c2")), streamed("assistant", "a2", used("c3"), "m2")]
    found = only(lines(talk))
    assert call_ids(found) == ["c1", "c2", "c3"]
    assert [len(message["content"]) for message in found.messages[1:]] == [2, 2, 1]


def test_lines_of_a_tree_that_share_a_uuid_are_all_read() -> None:
    """(19.20)"""
    talk = [asked("u1", None, "hi"), called("a1", "u1", "c1", "m1"), called("a1", "u1", "c2", "m1")]
    talk += [result("r1", "a1", "c1", "one"), result("r2", "a1", "c2", "two"), said("a3", "r2", "done")]
    assert call_ids(only(lines(talk))) == ["c1", "c2"]


def test_a_line_that_was_copied_with_its_uuid_is_read_once() -> None:
    """(19.20)"""
    talk = [asked("u1", None, "hi"), said("a1", "u1", "hello")]
    again = [{**line, "sessionId": "s2"} for line in talk]
    assert texts(only(lines([*talk, *again, asked("u2", "a1", "on")]))) == ["hi", "hello", "on"]


@pytest.mark.parametrize("hidden", ["[REDACTED]", "00000000-0000-0000-0000-000000000000", "", None])
@pytest.mark.parametrize("fields", [("uuid",), ("uuid", "parentUuid"), ("uuid", "parentUuid", "sessionId")])
def test_lines_whose_uuids_were_hidden_follow_each_other(hidden: str | None, fields: tuple[str, ...]) -> None:
    """(19.20)"""
    talk = [asked("u1", None, "go on"), called("a1", "u1", "c1", "m1"), result("r1", "a1", "c1", "one")]
    talk += [asked("u2", "r1", "go on"), said("a2", "u2", "done"), asked("u3", "a2", "go on")]
    whole = only(lines(talk))
    found = only(lines([{**line, **dict.fromkeys(fields, hidden)} for line in talk]))
    assert found.messages == whole.messages
    assert len(found.messages) == 6


def test_a_side_chain_whose_uuids_were_hidden_stays_one() -> None:
    """(19.20)"""
    talk = [asked("u1", None, "hi"), called("a1", "u1", "c1", "m1", prompt="dig")]
    side = [asked("s1", None, "dig", isSidechain=True), said("s2", "s1", "found", isSidechain=True)]
    end = [result("r1", "a1", "c1", "found"), said("a2", "r1", "done")]
    hidden = [{**line, "uuid": "x", "parentUuid": "x"} for line in [*talk, *side, *end]]
    main, beside = read(lines(hidden))
    assert texts(main) == ["hi", "tool_use", "tool_result", "done"]
    assert texts(beside) == ["dig", "found"]
    assert beside.parent == Parent("s1", "c1")


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_no_call_is_lost_whatever_uuids_a_stream_has(steps: list[tuple[int, bool]]) -> None:
    """(19.20)"""
    talk = [streamed("user", "u", "hi")]
    for number, (uuid, is_same_answer) in enumerate(steps):
        answer = "m" if is_same_answer else f"m{number}"
        talk.append(streamed("assistant", f"a{uuid}", used(f"c{number}"), answer))
        talk.append(streamed("user", f"r{uuid}", gave(f"c{number}")))
    found = only(lines(talk))
    assert sorted(call_ids(found)) == sorted(f"c{number}" for number in range(len(steps)))
