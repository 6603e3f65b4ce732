from __future__ import annotations

from transcript_builders import HEADER, TURN, bill, item, item_payload, lines, only, rollout, texts

from fanfold.transcripts import Parent


def test_a_rollout_gives_responses_items_with_model_and_instructions() -> None:
    found = only(rollout(HEADER, TURN, item("user", "hi"), item("assistant", "hello")))
    assert (found.id, found.format, found.dialect, found.model) == (
        "r1",
        "codex",
        "openai.responses",
        "gpt-5.2",
    )
    assert found.frame == {"instructions": "Be brief."}
    assert found.messages == (item_payload("user", "hi"), item_payload("assistant", "hello"))


def test_base_instructions_of_newer_files_are_the_instructions() -> None:
    header = ("session_meta", {"id": "r1", "base_instructions": {"text": "Be kind."}})
    assert only(rollout(header, item("user", "hi"))).frame == {"instructions": "Be kind."}


def test_a_bill_belongs_to_the_last_item_that_the_model_made() -> None:
    call = ("response_item", {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"})
    output = ("response_item", {"type": "function_call_output", "call_id": "c", "output": "x"})
    found = only(rollout(HEADER, item("user", "hi"), call, output, bill(5, 5)))
    assert found.usage == (None, {"input_tokens": 5}, None)


def test_a_bill_that_comes_again_is_counted_once() -> None:
    answers = [item("user", "hi"), item("assistant", "a"), bill(5, 5), item("assistant", "b"), bill(5, 5)]
    assert only(rollout(HEADER, *answers)).usage == (None, {"input_tokens": 5}, None)


def test_a_bill_with_totals_only_is_the_difference() -> None:
    def total(tokens: int) -> tuple[str, dict[str, object]]:
        return "event_msg", {"type": "token_count", "info": {"total_token_usage": {"input_tokens": tokens}}}

    found = only(rollout(HEADER, item("assistant", "a"), total(5), item("assistant", "b"), total(12)))
    assert found.usage == ({"input_tokens": 5}, {"input_tokens": 7})


def test_a_compaction_puts_its_replacement_into_the_messages() -> None:
    history = [item_payload("user", "hi"), item_payload("user", "summary")]
    compacted = ("compacted", {"message": "", "replacement_history": history})
    found = only(rollout(HEADER, item("user", "hi"), item("assistant", "a"), compacted, item("user", "on")))
    assert texts(found) == ["hi", "a", "hi", "summary", "on"]
    assert (found.compactions[0].at, found.compactions[0].count) == (2, 2)


def test_an_older_compaction_shows_its_text() -> None:
    found = only(rollout(HEADER, item("user", "hi"), ("compacted", {"message": "summary"})))
    assert texts(found) == ["hi", "summary"]


def test_turns_that_were_rolled_back_are_left_out() -> None:
    back = ("event_msg", {"type": "thread_rolled_back", "num_turns": 1})
    talk = [item("user", "keep"), item("assistant", "a"), item("user", "drop"), item("assistant", "b")]
    found = only(rollout(HEADER, *talk, back, item("user", "again")))
    assert texts(found) == ["keep", "a", "again"]
    assert found.meta["rolled_back"] == 2


def test_a_sub_agent_names_its_parent() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "r0"}}}
    assert only(
        rollout(("session_meta", {"id": "r1", "source": source}), item("user", "x"))
    ).parent == Parent("r0")


def test_the_first_header_counts_in_a_forked_file() -> None:
    assert only(rollout(HEADER, ("session_meta", {"id": "parent"}), item("user", "x"))).id == "r1"


def test_the_older_form_with_bare_items_is_read() -> None:
    header = {"id": "old", "timestamp": "2025-08-01T00:00:00Z", "instructions": None}
    found = only(lines([header, {"record_type": "state"}, item_payload("user", "hi")]))
    assert (found.id, found.messages) == ("old", (item_payload("user", "hi"),))


def test_items_that_are_never_sent_are_left_out() -> None:
    ghost = ("response_item", {"type": "ghost_snapshot", "ghost_commit": {}})
    assert texts(only(rollout(HEADER, item("user", "hi"), ghost))) == ["hi"]
