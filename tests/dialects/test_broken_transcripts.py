"""Transcripts that hardly are some: whatever is left of them is sent legally, in every dialect."""

from __future__ import annotations

from typing import Any

import pytest

import fanfold
from fanfold import Memory
from fanfold.testing.provider import Provider

JUDGE = Provider([], foreign_signatures=True)
APIS = {"openai.chat": "chat", "openai.responses": "responses", "anthropic": "anthropic", "gemini": "gemini"}
MODELS = {
    "openai.chat": "gpt-5.2",
    "openai.responses": "gpt-5.2",
    "anthropic": "claude-opus-4-6",
    "gemini": "gemini-2.5-pro",
}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}


def sent(dialect: str, transcript: list[Any], *, store: Memory | None = None) -> dict[str, Any]:
    """The request for a transcript; a legal one."""
    with fanfold.open("run", model=MODELS[dialect], dialect=dialect, window=9_000, store=store) as chat:
        if transcript:
            chat.merge(transcript)
        request = chat.request()
    assert JUDGE.check(APIS[dialect], request, model=MODELS[dialect]) is None
    return request


@pytest.mark.parametrize("dialect", APIS)
def test_reasoning_and_nothing_else_is_sent_as_words_that_nothing_was_said(dialect: str) -> None:
    store = Memory()
    assert "[nothing was said]" in repr(sent("openai.responses", [REASONING], store=store))
    sent(dialect, [], store=store)


def test_reasoning_of_another_dialect_and_nothing_else_can_be_sent_in_chat() -> None:
    store = Memory()
    with fanfold.open("run", model="gpt-5.2", dialect="openai.responses", store=store) as chat:
        chat.merge([REASONING])
    assert sent("openai.chat", [], store=store)["messages"] == [
        {"role": "user", "content": "[nothing was said]"}
    ]


ASKED = fanfold.Call("c1", "read", "{}")
ASKING = {
    "openai.chat": {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
    },
    "openai.responses": {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
    "anthropic": {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {}}],
    },
    "gemini": {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "read", "args": {}}}]},
}


@pytest.mark.parametrize("dialect", APIS)
def test_an_answer_that_comes_late_takes_the_place_of_the_made_up_one(dialect: str) -> None:
    with fanfold.open("late", model=MODELS[dialect], dialect=dialect, window=9_000) as chat:
        chat.say("Read it.")
        chat.add(ASKING[dialect])
        assert "[no result" in repr(chat.request())
        chat.answer(ASKED, "the contents")
        request = chat.request()
    assert JUDGE.check(APIS[dialect], request, model=MODELS[dialect]) is None
    assert "the contents" in repr(request)
    assert "[no result" not in repr(request)
    assert "not here" not in repr(request)


def test_a_call_before_thoughts_that_lead_nowhere_is_answered_right_behind_it() -> None:
    request = sent(
        "anthropic",
        [
            {"role": "user", "content": "Go"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "run", "input": {}}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]},
        ],
    )
    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "user"]
    assert request["messages"][-1]["content"][0]["tool_use_id"] == "c1"


def test_what_is_no_plain_text_is_joined_with_text_when_a_broken_reply_is_sent() -> None:
    refusal = [{"type": "refusal", "refusal": "No."}]
    ids = ("c1", "c1")
    calls = [{"id": id, "type": "function", "function": {"name": "run", "arguments": "{}"}} for id in ids]
    request = sent(
        "openai.chat",
        [
            {"role": "user", "content": "Go"},
            {"role": "assistant", "content": refusal, "tool_calls": calls},
            {"role": "assistant", "content": "So.", "tool_calls": calls},
        ],
    )
    assert "No." in repr(request)
    assert "So." in repr(request)


@pytest.mark.parametrize("dialect", APIS)
def test_a_blank_system_message_of_another_dialect_does_not_get_in_the_way(dialect: str) -> None:
    store = Memory()
    blank = [{"role": "user", "content": "Go"}, {"role": "system", "content": " "}]
    with fanfold.open("run", model="gpt-5.2", store=store) as chat:
        chat.merge(blank)
    assert "Go" in repr(sent(dialect, [], store=store))


def test_a_stream_of_calls_without_numbers_is_put_together_and_what_is_no_chunk_is_refused() -> None:
    chat = fanfold.open("run", window=9_000)
    chat.say("Go")
    call = {"index": None, "id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    with chat.listen(
        [{"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}]
    ) as events:
        list(events)
    assert events.reply is not None
    assert [call.id for call in events.reply.calls] == ["c1"]
    with pytest.raises(fanfold.BadMessage, match="A chunk is an object"), chat.listen([5]) as events:
        list(events)


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("openai.responses", {"type": None, "role": "user", "content": "x"}),
        ("openai.responses", {"role": "user", "content": [{"type": "input_text", "text": "x"}, None]}),
        ("openai.responses", {"type": "reasoning", "summary": []}),
        ("gemini", {"role": "user", "parts": [{"inlineData": {}}, {"text": "x"}]}),
        ("anthropic", {"role": "user", "content": [None, {"type": "text", "text": "x"}]}),
    ],
)
def test_what_lacks_something_is_sent_without_it(dialect: str, body: dict[str, Any]) -> None:
    sent(dialect, [body])


def test_a_blank_text_beside_words_is_sent_as_it_came() -> None:
    said = {"role": "user", "content": [{"type": "text", "text": "\n"}, {"type": "text", "text": "Hi."}]}
    assert sent("anthropic", [said])["messages"][0]["content"][0] == {"type": "text", "text": "\n"}


def test_a_result_the_assistant_gave_itself_carries_over_to_gemini() -> None:
    answered = {"type": "tool_result", "tool_use_id": "c4", "content": "out"}
    store = Memory()
    with fanfold.open("run", model="claude-opus-4-6", dialect="anthropic", store=store) as chat:
        chat.merge([{"role": "assistant", "content": [{"type": "server_tool_use"}, "odd", answered]}])
    sent("gemini", [], store=store)


def test_thinking_that_is_left_out_takes_its_faults_along() -> None:
    """Nothing is repaired where leaving out the thinking, as the parameters demand, is enough."""
    words, thought = {"type": "text", "text": "So"}, {"type": "redacted_thinking", "data": "zzz"}
    with fanfold.open("run", model="claude-3-haiku-20240307", dialect="anthropic", window=9_000) as chat:
        chat.merge([{"role": "user", "content": "Hi."}, {"role": "assistant", "content": [words, thought]}])
        chat.request()
        assert [row.kind for row in chat.view().rows] == ["entry", "entry"]


def test_an_item_that_refers_to_another_is_not_added() -> None:
    with (
        fanfold.open("run", model="gpt-5.2", dialect="openai.responses") as chat,
        pytest.raises(fanfold.BadInput, match=r"refers to 'rs_1', which is not recorded here"),
    ):
        chat.add({"type": "item_reference", "id": "rs_1"})


@pytest.mark.parametrize(
    ("dialect", "body", "place"),
    [
        (
            "openai.chat",
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}]},
            r"messages\[0\]\.content\[0\] is a tool_result block of Anthropic",
        ),
        ("anthropic", ASKING["openai.chat"], r"messages\[0\]\.tool_calls: this is a message of Chat"),
    ],
)
def test_a_message_of_another_dialect_is_named_with_its_place(dialect: str, body: Any, place: str) -> None:
    with pytest.raises(fanfold.BadInput, match=place):
        fanfold.fit([body], dialect=dialect, window=9_000)


def test_words_beside_results_wait_for_the_missing_ones() -> None:
    """Chat Completions has results and words in messages of their own, and all results first."""
    asked = [{"type": "tool_use", "id": id, "name": "read", "input": {}} for id in ("c1", "c2")]
    told = [{"type": "tool_result", "tool_use_id": "c1", "content": "out"}, {"type": "text", "text": "And?"}]
    store = Memory()
    with fanfold.open("run", model="claude-opus-4-6", dialect="anthropic", store=store) as chat:
        chat.say("Go.")
        chat.merge(
            [
                *chat.request()["messages"],
                {"role": "assistant", "content": asked},
                {"role": "user", "content": told},
            ]
        )
    messages = sent("openai.chat", [], store=store)["messages"]
    assert [body["role"] for body in messages] == ["user", "assistant", "tool", "tool", "user"]


def test_a_repair_that_needs_another_gets_it() -> None:
    answered = {"type": "tool_result", "tool_use_id": "c1", "content": "out"}
    store = Memory()
    with fanfold.open("run", model="claude-opus-4-6", dialect="anthropic", store=store) as chat:
        chat.merge(
            [
                {"role": "assistant", "content": "Hm."},
                {"role": "assistant", "content": [answered]},
                {"role": "assistant", "content": ASKING["anthropic"]["content"]},
            ]
        )
    sent("gemini", [], store=store)


@pytest.mark.parametrize(
    ("one", "other", "transcript"),
    [
        (
            "anthropic",
            "gemini",
            [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "x"}, {"type": "tool_result", "tool_use_id": ""}],
                }
            ],
        ),
        (
            "gemini",
            "anthropic",
            [
                {"role": "user", "parts": [{"text": "Go."}]},
                {"role": "model", "parts": [{"functionCall": {"name": "run", "args": {}}}]},
                {
                    "role": "user",
                    "parts": [
                        {"text": "", "thoughtSignature": "c2ln"},
                        {"functionResponse": {"name": "run", "response": {"output": "x"}}},
                    ],
                },
            ],
        ),
    ],
)
def test_results_in_odd_places_carry_over(one: str, other: str, transcript: list[Any]) -> None:
    store = Memory()
    with fanfold.open("run", model=MODELS[one], dialect=one, store=store) as chat:
        chat.merge(transcript)
    sent(other, [], store=store)


def test_ids_that_look_like_renamed_ones_keep_their_results() -> None:
    def asked(id: str) -> dict[str, Any]:
        return {"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}}

    def told(id: str) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": id, "content": f"of {id}"}

    request = sent(
        "openai.chat",
        [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": None, "tool_calls": [asked("a"), asked("a~")]},
            told("a~"),
            told("a"),
            {"role": "user", "content": "On."},
            told("nobody"),
        ],
    )
    results = {
        body["tool_call_id"]: body["content"] for body in request["messages"] if body["role"] == "tool"
    }
    assert results == {"a": "of a", "a~": "of a~"}


def test_calls_of_one_id_get_different_ids_and_their_results_follow() -> None:
    made = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    request = sent(
        "openai.chat",
        [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": None, "tool_calls": [made] * 4},
            *({"role": "tool", "tool_call_id": "a", "content": text} for text in "1234"),
        ],
    )
    _, called, *results = request["messages"]
    assert [call["id"] for call in called["tool_calls"]] == ["a", "a~", "a~~", "a~~~"]
    assert [(body["tool_call_id"], body["content"]) for body in results] == [
        ("a", "1"),
        ("a~", "2"),
        ("a~~", "3"),
        ("a~~~", "4"),
    ]


def test_calls_of_one_id_in_pieces_that_are_sent_as_one_get_different_ids_too() -> None:
    store = Memory()
    piece = {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"}
    results = [{"type": "function_call_output", "call_id": "a", "output": text} for text in ("one", "two")]
    with fanfold.open("run", dialect="openai.responses", window=9_000, store=store) as chat:
        chat.merge([{"role": "user", "content": "Go."}, piece, piece, *results])
    _, called, *answers = sent("openai.chat", [], store=store)["messages"]
    assert [call["id"] for call in called["tool_calls"]] == ["a", "a~"]
    assert [(body["tool_call_id"], body["content"]) for body in answers] == [("a", "one"), ("a~", "two")]
