from __future__ import annotations

from pathlib import Path

from transcript_builders import document, gemini, gemini_session, lines, only, texts

from fanfold import transcripts
from fanfold.transcripts import Parent

HEAD = {"sessionId": "g1", "projectHash": "h", "startTime": "2026-01-02T12:00:00Z"}


def test_a_chat_gives_gemini_contents_with_model_and_tokens() -> None:
    answer = gemini("2", "gemini", "hello", model="gemini-2.5-pro", tokens={"input": 5, "total": 6})
    found = only(document(gemini_session(gemini("1", "user", "hi"), answer)))
    assert (found.id, found.format, found.dialect, found.model) == (
        "g1",
        "gemini-cli",
        "gemini",
        "gemini-2.5-pro",
    )
    assert found.messages == (
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"text": "hello"}]},
    )
    assert found.usage == (None, {"promptTokenCount": 5, "totalTokenCount": 6})


def test_calls_and_their_results_become_two_contents() -> None:
    response = {"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a"}}}
    call = {"id": "c1", "name": "ls", "args": {"p": 1}, "result": [response]}
    found = only(document(gemini_session(gemini("1", "gemini", "", toolCalls=[call]))))
    assert found.messages == (
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "ls", "args": {"p": 1}}}]},
        {"role": "user", "parts": [response]},
    )


def test_a_call_that_stands_in_the_content_already_is_not_repeated() -> None:
    part = {"functionCall": {"id": "c1", "name": "ls", "args": {}}, "thoughtSignature": "s"}
    call = {"id": "c1", "name": "ls", "args": {}, "result": "a"}
    found = only(document(gemini_session(gemini("1", "gemini", [part], toolCalls=[call]))))
    assert found.messages[0]["parts"] == [part]


def test_notices_to_the_user_are_no_messages() -> None:
    found = only(document(gemini_session(gemini("1", "user", "hi"), gemini("2", "info", "logged in"))))
    assert texts(found) == ["hi"]
    assert found.meta["other_lines"] == {"info": 1}


def test_in_the_log_a_record_replaces_the_one_with_its_id() -> None:
    found = only(
        lines([HEAD, gemini("1", "user", "hi"), gemini("2", "gemini", "he"), gemini("2", "gemini", "hello")])
    )
    assert texts(found) == ["hi", "hello"]


def test_in_the_log_a_rewind_takes_back_its_target_and_all_after_it() -> None:
    talk = [gemini("1", "user", "keep"), gemini("2", "user", "drop"), gemini("3", "gemini", "drop")]
    assert texts(only(lines([HEAD, *talk, {"$rewindTo": "2"}]))) == ["keep"]


def test_in_the_log_a_rewind_to_an_unknown_message_loses_nothing() -> None:
    assert texts(only(lines([HEAD, gemini("1", "user", "keep"), {"$rewindTo": "9"}]))) == ["keep"]


def test_in_the_log_messages_set_anew_are_a_compaction() -> None:
    talk = [gemini("1", "user", "old"), gemini("2", "gemini", "old too")]
    fresh = {"$set": {"messages": [gemini("9", "user", "summary")]}}
    found = only(lines([HEAD, *talk, fresh, gemini("10", "user", "on")]))
    (mark,) = found.compactions
    assert texts(found) == ["old", "old too", "summary", "on"]
    assert (mark.at, mark.count, mark.covers) == (2, 1, (0, 2))


def test_a_checkpoint_with_a_history_is_read() -> None:
    contents = [{"role": "user", "parts": [{"text": "hi"}]}]
    assert only(document({"history": contents, "authType": "x"})).messages == tuple(contents)


def test_a_sub_agents_file_names_the_session_whose_folder_it_lies_in(tmp_path: Path) -> None:
    path = tmp_path / "outer" / "inner.jsonl"
    path.parent.mkdir()
    path.write_bytes(lines([{**HEAD, "kind": "subagent"}, gemini("1", "user", "hi")]))
    (found,) = transcripts.read(path)
    assert found.parent == Parent("outer")
