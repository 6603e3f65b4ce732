"""SWE-agent trajectories and Inspect logs."""

from __future__ import annotations

import io
import zipfile

import pytest
from transcript_builders import (
    NOON_SECONDS,
    document,
    eval_archive,
    inspect_log,
    only,
    read,
    sample,
    texts,
    trajectory,
)

from fanfold.core.errors import BadInput


def test_a_trajectory_gives_its_history_in_openai_chat_form() -> None:
    found = only(document(trajectory()))
    assert (found.id, found.format, found.dialect, found.model) == (
        "bug-1",
        "swe-agent",
        "openai.chat",
        "gpt-5.2",
    )
    assert found.messages[0] == {"role": "system", "content": "You fix bugs."}
    assert found.messages[2] == {"role": "tool", "content": "a.py", "tool_call_id": "c1"}


def test_a_trajectory_without_history_is_told_from_its_steps() -> None:
    steps = trajectory() | {"history": []}
    assert texts(only(document(steps))) == ["Look.", "a.py"]


def test_a_mini_trajectory_gives_usage_and_model() -> None:
    extra = {"response": {"usage": {"prompt_tokens": 3}}, "timestamp": NOON_SECONDS}
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes", "extra": extra}]
    info = {"config": {"model": {"model_name": "m"}}}
    found = only(document({"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1"}))
    assert (found.model, found.usage[1], found.times[1]) == ("m", {"prompt_tokens": 3}, NOON_SECONDS)
    assert found.messages[1] == {"role": "assistant", "content": "yes"}


def test_an_inspect_log_gives_a_conversation_per_sample_in_openai_chat_form() -> None:
    first, second = read(document(inspect_log(sample(), sample(id=2))))
    assert (first.id, second.id, first.dialect, first.model) == (
        "t1#1.1",
        "t1#2.1",
        "openai.chat",
        "openai/gpt-5.2",
    )
    assert first.messages[1]["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}
    ]


def test_attachments_of_a_sample_are_put_back() -> None:
    assert texts(only(document(inspect_log(sample()))))[0] == "a long question"


def test_usage_times_and_tools_of_a_sample_come_from_its_model_events() -> None:
    found = only(document(inspect_log(sample())))
    assert [bill and bill["prompt_tokens"] for bill in found.usage] == [None, 7, None]
    assert found.times == (None, NOON_SECONDS, None)
    assert found.frame["tools"][0]["function"]["name"] == "bash"


def test_reasoning_in_a_sample_is_kept_beside_the_text() -> None:
    content = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "yes", "internal": 1}]
    found = only(document(inspect_log(sample(messages=[{"role": "assistant", "content": content}]))))
    assert found.messages[0]["reasoning_content"] == "hm"
    assert found.messages[0]["content"] == [{"type": "text", "text": "yes"}]


def test_an_eval_archive_gives_the_same_as_the_json_log() -> None:
    assert only(eval_archive(sample())).messages == only(document(inspect_log(sample()))).messages


def test_a_zip_without_samples_is_refused() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("readme.txt", "hi")
    with pytest.raises(BadInput, match="not an Inspect log"):
        read(packed.getvalue())


def test_a_cut_archive_is_refused() -> None:
    with pytest.raises(BadInput, match="damaged or cut off"):
        read(eval_archive(sample())[:-20])
