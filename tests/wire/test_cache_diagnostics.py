"""What providers themselves say about a cache that missed is read, recorded and told."""

from typing import Any

import anthropic
import openai.types.responses
import pytest

import fanfold

CLAUDE, GPT = "claude-opus-4-5", "gpt-5.6"


def message(**more: Any) -> dict[str, Any]:
    """A reply of Anthropic's, which read nothing from the cache."""
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": CLAUDE, "stop_reason": "end_turn"}
    usage = {
        "input_tokens": 9_000,
        "output_tokens": 5,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }
    return {**head, "content": [{"type": "text", "text": "In the parser."}], "usage": usage, **more}


def response(**more: Any) -> dict[str, Any]:
    """A reply of OpenAI's, which read nothing from the cache."""
    text = {"type": "output_text", "text": "In the parser.", "annotations": []}
    item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [text]}
    usage = {
        "input_tokens": 4_000,
        "output_tokens": 5,
        "input_tokens_details": {"cached_tokens": 0},
        "total_tokens": 4_005,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "output": [item],
        "usage": usage,
        **more,
    }


def missed(type: str, **more: Any) -> dict[str, Any]:
    return {"diagnostics": {"cache_miss_reason": {"type": type, **more}}}


def compared(**found: Any) -> dict[str, Any]:
    return {"prompt_cache_diagnostics": found}


def use_after(model: str, dialect: str, first: Any, second: Any, **params: Any) -> fanfold.CacheUse:
    """What is known of the second of two requests."""
    with fanfold.open("run", model=model, dialect=dialect, window=200_000, recall=False) as chat:
        for reply in (first, second):
            chat.say("Where is the bug? " * 900)
            chat.request(max_tokens=300, **params)
            chat.receive(reply)
        return chat.cache()


CASES = [
    (CLAUDE, "anthropic", message(), message(**missed("tools_changed", cache_missed_input_tokens=321)),
     "tools_changed, 321 tokens"),
    (CLAUDE, "anthropic", message(), message(**missed("previous_message_not_found")), "previous_message_not_found"),
    (GPT, "openai.responses", response(),
     response(**compared(type="cache_miss", reason="prompt_cache_key_changed", cache_missed_tokens=3_900)),
     "prompt_cache_key_changed, 3,900 tokens"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "dialect", "first", "second", "told"), CASES, ids=lambda one: str(one)[:24]
)
def test_what_the_provider_says_is_told_where_nothing_else_explains_the_miss(
    model: str, dialect: str, first: Any, second: Any, told: str
) -> None:
    use = use_after(model, dialect, first, second)
    assert use.told == told
    assert use.broken is not None
    assert (use.broken.cause, use.broken.by) == ("provider", "provider")
    assert use.broken.what == f"the prompt was the same, and in time; the provider says: {told}"


@pytest.mark.parametrize(
    "second",
    [
        message(),
        message(diagnostics=None),
        message(diagnostics={"cache_miss_reason": None}),
        message(diagnostics="?"),
    ],
)
def test_a_provider_that_says_nothing_is_not_quoted(second: Any) -> None:
    use = use_after(CLAUDE, "anthropic", message(), second)
    assert use.told == ""
    assert "says" not in str(use.broken)


def test_a_hit_is_no_miss() -> None:
    use = use_after(GPT, "openai.responses", response(), response(**compared(type="cache_hit")))
    assert use.told == ""


def test_it_is_read_from_sdk_objects_and_from_streams() -> None:
    body = message(**missed("system_changed", cache_missed_input_tokens=9))
    objects = anthropic.types.Message.model_validate(body)
    assert use_after(CLAUDE, "anthropic", message(), objects).told == "system_changed, 9 tokens"
    found = response(**compared(type="cache_miss", reason="tools_changed", cache_missed_tokens=9), model=GPT)
    rest = {"created_at": 0, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    read = openai.types.responses.Response.model_construct(**found, **rest)
    assert use_after(GPT, "openai.responses", response(), read).told == "tools_changed, 9 tokens"


def test_it_is_read_from_the_events_of_a_stream() -> None:
    text = {"type": "text", "text": "In the parser."}
    opened = message(**missed("messages_changed", cache_missed_input_tokens=77), content=[], stop_reason=None)
    events = [
        {"type": "message_start", "message": opened},
        {"type": "content_block_start", "index": 0, "content_block": text},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    with fanfold.open("run", model=CLAUDE, window=200_000, recall=False) as chat:
        chat.say("Where is the bug? " * 900)
        chat.request(max_tokens=300)
        chat.receive(message())
        chat.say("And now?")
        chat.request(max_tokens=300)
        with chat.listen(events) as stream:
            list(stream)
        assert chat.cache().told == "messages_changed, 77 tokens"


def test_asking_for_a_diagnosis_is_no_change_of_the_prompt() -> None:
    with fanfold.open("run", model=CLAUDE, window=200_000, recall=False) as chat:
        for id in (None, "msg_1"):
            chat.say("Where is the bug? " * 900)
            chat.request(max_tokens=300, diagnostics={"previous_message_id": id})
        assert chat.cache().broken is None
    with fanfold.open("run", model=GPT, dialect="openai.responses", window=200_000, recall=False) as chat:
        for id in ("resp_0", "resp_1"):
            chat.say("Where is the bug? " * 900)
            chat.request(max_tokens=300, prompt_cache_options={"comparison_response_id": id})
        assert chat.cache().broken is None


def test_it_is_kept_in_the_store() -> None:
    store = fanfold.Memory()
    told = {"model": CLAUDE, "window": 200_000, "recall": False, "store": store}
    with fanfold.open("run", **told) as chat:
        for reply in (message(), message(**missed("model_changed", cache_missed_input_tokens=12))):
            chat.say("Where is the bug? " * 900)
            chat.request(max_tokens=300)
            chat.receive(reply)
    with fanfold.open("run", **told) as chat:
        assert chat.cache().told == "model_changed, 12 tokens"
