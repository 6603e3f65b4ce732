"""The provider compacts: its item is recorded as a fold of what it stands for, and passed back untouched."""

from __future__ import annotations

from typing import Any

import pytest

import fanfold
from fanfold import BadSetting, Session
from fanfold.strategies import digest, native
from fanfold.testing.provider import Provider

ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "b3BhcXVl"}
BLOCK = {"type": "compaction", "content": "They looked for the bug.", "encrypted_content": "b3BhcXVl"}
LONG = "value token queue " * 30


def responses(steps: int = 6) -> Session:
    chat = fanfold.open(
        "run", window=50_000, dialect="openai.responses", strategy=[native(), digest()], filters=()
    )
    chat.add({"role": "user", "content": "Find the bug."})
    for number in range(steps):
        call = {"type": "function_call", "call_id": f"c{number}", "name": "read", "arguments": "{}"}
        chat.add(call)
        chat.add({"type": "function_call_output", "call_id": f"c{number}", "output": LONG})
    return chat


def anthropic(steps: int = 6) -> Session:
    chat = fanfold.open("run", window=50_000, dialect="anthropic", strategy=[native(), digest()], filters=())
    chat.add({"role": "user", "content": "Find the bug."})
    for number in range(steps):
        chat.add(
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": f"c{number}", "name": "read", "input": {}}],
            }
        )
        chat.add(
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": f"c{number}", "content": LONG}],
            }
        )
    return chat


def checked(api: str, request: dict[str, Any]) -> dict[str, Any]:
    rejection = Provider(foreign_signatures=True).check(api, request)
    assert rejection is None, rejection
    return request


def test_an_item_of_responses_takes_the_place_of_what_it_stands_for() -> None:
    chat = responses()
    chat.add(ITEM)
    chat.add(
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Going on."}]}
    )
    chat.add({"role": "user", "content": "And?"})
    before = chat.view().tokens
    request = chat.request()
    assert ITEM in request["input"]
    assert chat.view().tokens < before / 2
    fold = next(row for row in chat.view().rows if row.kind == "fold")
    assert (fold.reason, fold.messages[0].parts[0].body) == ("native", ITEM)
    checked("responses", {"model": "gpt-5.2", **request})


def test_a_block_of_anthropic_is_passed_back_with_all_that_was_said_beside_it() -> None:
    chat = anthropic()
    said = {"role": "assistant", "content": [BLOCK, {"type": "text", "text": "Going on."}]}
    chat.add(said)
    chat.add({"role": "user", "content": "And?"})
    request = checked("anthropic", {**chat.request(max_tokens=500), "model": "claude-opus-4-6"})
    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "user"]
    assert request["messages"][0]["content"] == "Find the bug."
    assert request["messages"][1]["content"][0] == BLOCK
    assert next(row for row in chat.view().rows if row.kind == "fold").reason == "native"


def test_in_the_middle_of_a_loop_the_request_stays_before_it() -> None:
    chat = anthropic()
    call = {"type": "tool_use", "id": "last", "name": "read", "input": {}}
    chat.add({"role": "assistant", "content": [BLOCK, call]})
    chat.add(
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "last", "content": "found"}]}
    )
    waiting = chat.request(max_tokens=500)
    assert len(waiting["messages"]) == 15, "the result was not seen yet, so its call stays in place"
    chat.add(
        {"role": "assistant", "content": [{"type": "tool_use", "id": "more", "name": "read", "input": {}}]}
    )
    chat.add(
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "more", "content": "found"}]}
    )
    request = checked("anthropic", {**chat.request(max_tokens=500), "model": "claude-opus-4-6"})
    assert request["messages"][0]["content"] == "Find the bug."
    assert request["messages"][1]["content"][0] == BLOCK
    assert len(request["messages"]) == 5


def test_a_compaction_that_failed_stands_for_nothing() -> None:
    chat = anthropic()
    chat.add(
        {
            "role": "assistant",
            "content": [{"type": "compaction", "content": None}, {"type": "text", "text": "On."}],
        }
    )
    chat.add({"role": "user", "content": "And?"})
    chat.request(max_tokens=500)
    assert not any(row.kind == "fold" for row in chat.view().rows)


def test_undoing_it_brings_everything_back() -> None:
    chat = anthropic()
    chat.add({"role": "assistant", "content": [BLOCK, {"type": "text", "text": "Going on."}]})
    chat.add({"role": "user", "content": "And?"})
    before = chat.view().messages
    chat.request(max_tokens=500)
    assert chat.view().messages != before
    chat.undo()
    assert chat.view().messages == before


def test_how_it_is_asked_for() -> None:
    assert native(100_000).params("openai.responses") == {
        "context_management": [{"type": "compaction", "compact_threshold": 100_000}]
    }
    assert native(100_000).params("anthropic") == {
        "context_management": {
            "edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 100_000}}]
        },
        "betas": ["compact-2026-01-12"],
    }
    assert native().params("openai.responses") == {"context_management": [{"type": "compaction"}]}


@pytest.mark.parametrize("dialect", ["openai.chat", "gemini"])
def test_providers_that_do_not_compact_are_named(dialect: str) -> None:
    with pytest.raises(BadSetting, match=r"anthropic and openai\.responses"):
        native().params(dialect)


def test_without_an_item_the_next_strategy_works() -> None:
    chat = responses(200)
    assert chat.compact(force=True).strategy == "digest"
