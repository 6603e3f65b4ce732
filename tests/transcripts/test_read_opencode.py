from __future__ import annotations

from pathlib import Path

from transcript_builders import (
    NOON_SECONDS,
    document,
    only,
    opencode,
    opencode_session,
    store,
    text_part,
    texts,
    tool_part,
)

from fanfold import transcripts
from fanfold.transcripts import Parent

ASK = opencode("user", "m1", text_part("hi"))
DONE = tool_part("c1", status="completed", output="a.py")


def test_a_claude_session_is_told_in_anthropic_form() -> None:
    found = only(document(opencode_session(ASK, opencode("assistant", "m2", text_part("Look."), DONE))))
    assert (found.id, found.format, found.dialect, found.model) == (
        "ses_1",
        "opencode",
        "anthropic",
        "claude-sonnet-4-5",
    )
    assert found.times[0] == NOON_SECONDS
    assert found.messages[1:] == (
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Look."},
                {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a.py"}]},
    )


def test_any_other_session_is_told_in_openai_chat_form() -> None:
    answer = opencode("assistant", "m2", DONE, providerID="openai", modelID="gpt-5.2")
    found = only(document(opencode_session(ASK, answer)))
    assert found.dialect == "openai.chat"
    assert found.messages[1]["tool_calls"][0]["function"] == {"name": "bash", "arguments": '{"command":"ls"}'}
    assert found.messages[2] == {"role": "tool", "tool_call_id": "c1", "content": "a.py"}


def test_each_step_is_a_message_with_its_own_bill() -> None:
    start, first, second = {"type": "step-start"}, {"input": 1}, {"input": 2}
    parts = [start, text_part("a"), {"type": "step-finish", "tokens": first}]
    parts += [start, text_part("b"), {"type": "step-finish", "tokens": second}]
    found = only(document(opencode_session(ASK, opencode("assistant", "m2", *parts))))
    assert texts(found) == ["hi", "a", "b"]
    assert [bill and bill["input_tokens"] for bill in found.usage] == [None, 1, 2]


def test_a_call_still_running_has_no_result() -> None:
    running = opencode("assistant", "m2", tool_part("c1", status="running"))
    assert len(only(document(opencode_session(ASK, running))).messages) == 2


def test_a_signature_stays_with_its_thinking() -> None:
    thought = {"type": "reasoning", "text": "hm", "metadata": {"anthropic": {"signature": "sig"}}}
    found = only(document(opencode_session(ASK, opencode("assistant", "m2", thought))))
    assert found.messages[1]["content"] == [{"type": "thinking", "thinking": "hm", "signature": "sig"}]


def test_a_summary_is_a_compaction_that_may_keep_a_tail() -> None:
    tail = opencode("user", "m3", text_part("kept"))
    order = opencode("user", "m4", {"type": "compaction", "auto": True, "tail_start_id": "m3"})
    summary = opencode("assistant", "m5", text_part("summary"), summary=True)
    found = only(document(opencode_session(ASK, tail, order, summary)))
    (mark,) = found.compactions
    assert texts(found) == ["hi", "kept", "summary"]
    assert (mark.at, mark.covers, mark.kept) == (2, (0, 2), (1,))


def test_a_child_session_names_its_parent() -> None:
    assert only(document(opencode_session(ASK, parentID="ses_0"))).parent == Parent("ses_0")


def test_the_storage_folder_gives_the_same_conversation(tmp_path: Path) -> None:
    session = opencode_session(ASK, opencode("assistant", "m2", text_part("Look."), DONE))
    store(tmp_path / "storage", session)
    (found,) = transcripts.read(tmp_path)
    assert found.messages == only(document(session)).messages


def test_arguments_with_a_lone_surrogate_or_a_huge_number_become_text() -> None:
    odd = tool_part("c1", status="running", input={"text": "\ud800", "n": 10**30})
    answer = opencode("assistant", "m2", odd, providerID="openai", modelID="gpt-5.2")
    found = only(document(opencode_session(ASK, answer)))
    arguments = found.messages[1]["tool_calls"][0]["function"]["arguments"]
    assert arguments == '{"text":"\ud800","n":1000000000000000000000000000000}'
