from __future__ import annotations

import json
from pathlib import Path

from transcript_builders import (
    action,
    document,
    lines,
    observation,
    older_events,
    only,
    openhands_events,
    read,
)

from fanfold import transcripts
from fanfold.transcripts import Conversation


def roles(found: Conversation) -> list[str]:
    return [message["role"] for message in found.messages]


def test_events_of_the_sdk_are_told_as_chat() -> None:
    """(19.20)"""
    found = only(lines(openhands_events()))
    assert (found.format, found.dialect) == ("openhands", "openai.chat")
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "terminal", "arguments": '{"command": "ls"}'},
    }
    assert found.messages == (
        {"role": "system", "content": "Fix."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    )
    assert found.meta["other_lines"] == {"PauseEvent": 1}


def test_calls_of_one_response_stand_in_one_message() -> None:
    """(19.20)"""
    events = [action("c1", "r1"), observation("c1", "one"), action("c2", "r1"), observation("c2", "two")]
    found = only(lines([*events, action("c3", "r2")]))
    assert roles(found) == ["assistant", "tool", "tool", "assistant"]
    assert [call["id"] for call in found.messages[0]["tool_calls"]] == ["c1", "c2"]


def test_errors_and_refusals_are_results() -> None:
    """(19.20)"""
    error = {"kind": "AgentErrorEvent", "id": "x", "tool_call_id": "c1", "error": "no such tool"}
    refused = {
        "kind": "UserRejectObservation",
        "id": "y",
        "tool_call_id": "c2",
        "rejection_reason": "not now",
    }
    found = only(lines([action("c1", "r1"), action("c2", "r1"), error, refused]))
    assert [message["content"] for message in found.messages[1:]] == ["no such tool", "not now"]


def test_a_condensation_keeps_what_it_did_not_forget() -> None:
    """(19.20)"""
    forgot = {
        "kind": "Condensation",
        "id": "z",
        "forgotten_event_ids": ["act-c1", "obs-c1"],
        "summary": "It looked.",
    }
    found = only(lines([*openhands_events(), forgot]))
    (mark,) = found.compactions
    assert (mark.at, mark.count, mark.kept) == (4, 1, (0, 1))
    assert found.messages[4] == {"role": "user", "content": "It looked."}


def test_a_folder_with_a_file_for_each_event_is_one_conversation(tmp_path: Path) -> None:
    """(19.20)"""
    folder = tmp_path / "conv-1" / "events"
    folder.mkdir(parents=True)
    (tmp_path / "conv-1" / "base_state.json").write_text("{}")
    for number, event in enumerate([*openhands_events(), *[action(f"d{n}", f"s{n}") for n in range(9)]]):
        (folder / f"event-{number:05}-{number}.json").write_text(json.dumps(event))
    (found,) = transcripts.read(tmp_path)
    assert (found.id, len(found.messages)) == ("conv-1", 13)


def test_files_of_older_events_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """(19.20)"""
    (tmp_path / "events").mkdir()
    said = [{"id": n, "source": "user", "action": "message", "args": {"content": f"{n}"}} for n in range(12)]
    for event in said:
        (tmp_path / "events" / f"{event['id']}.json").write_text(json.dumps(event))
    (found,) = transcripts.read(tmp_path)
    assert [message["content"] for message in found.messages] == [f"{n}" for n in range(12)]


def test_older_actions_are_told_by_the_models_response_or_by_their_arguments() -> None:
    """(19.20)"""
    found = only(document(older_events()))
    assert (found.model, found.usage[2]) == ("m1", {"prompt_tokens": 7})
    assert roles(found) == ["system", "user", "assistant", "tool", "assistant", "tool"]
    read_call = {
        "id": "action_5",
        "type": "function",
        "function": {"name": "read", "arguments": '{"path":"a.py"}'},
    }
    assert found.messages[4] == {"role": "assistant", "content": "Read it.", "tool_calls": [read_call]}
    assert found.messages[5] == {"role": "tool", "tool_call_id": "action_5", "content": "x = 1"}


def test_a_row_of_a_benchmark_is_a_conversation_of_its_name() -> None:
    """(19.20)"""
    pairs = [[older_events()[1], older_events()[4]]]
    rows = [{"instance_id": "i1", "history": older_events()}, {"instance_id": "i2", "history": pairs}]
    assert [(found.id, len(found.messages)) for found in read(lines(rows))] == [("i1", 6), ("i2", 2)]


def test_a_terminals_output_stands_between_what_openhands_wrote_around_it() -> None:
    """(19.20)"""
    seen = {
        "content": [{"type": "text", "text": ""}],
        "metadata": {"prefix": "", "suffix": "\n[exit code 0]"},
    }
    result = {"kind": "ObservationEvent", "id": "o", "tool_call_id": "c1", "observation": seen}
    assert only(lines([action("c1", "r1"), result])).messages[1]["content"] == "\n[exit code 0]"


def test_results_are_paired_by_the_action_that_they_name() -> None:
    """(19.20)"""
    acts = [{"kind": "ActionEvent", "id": f"a{n}", "tool_name": "t", "action": {"n": n}} for n in (1, 2)]
    seen = [
        {"kind": "ObservationEvent", "action_id": f"a{n}", "observation": {"content": f"{n}"}} for n in (2, 1)
    ]
    found = only(lines([*acts, *seen]))
    assert [(one["tool_call_id"], one["content"]) for one in found.messages[2:]] == [("a2", "2"), ("a1", "1")]
