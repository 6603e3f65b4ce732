"""Usage is billed as each provider's prompt cache would."""

import json

import pytest

from fanfold.testing.provider import Provider, Turn
from fanfold.testing.provider.tokens import quarter

from .test_server import post

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
TURN = Turn("hi")


class Clock:
    """A clock that is moved by hand."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def billing(**more):
    """A provider whose tokens are easy to reckon with: four bytes each."""
    return Provider(TURN, count=quarter, **more)


def words(n, seed="w"):
    """A text of exactly `n` tokens by the server's count, a block's overhead included."""
    return (seed * 4 * n)[: 4 * (n - 4)]


def text(n, seed="w", **more):
    return {"type": "text", "text": words(n, seed), **more}


def anthropic(provider, *blocks, **more):
    body = {"model": "claude-sonnet-4-5", "max_tokens": 99, **more}
    body["messages"] = [{"role": "user", "content": list(blocks)}]
    usage = json.loads(post(provider, "/v1/messages", body)[2])["usage"]
    return usage["input_tokens"], usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]


def chat(provider, *sizes, **more):
    messages = [{"role": "user", "content": words(size, "abc"[at])} for at, size in enumerate(sizes)]
    body = {"model": "gpt-4o", "messages": messages, **more}
    usage = json.loads(post(provider, "/v1/chat/completions", body)[2])["usage"]
    return usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]


def test_anthropic_writes_at_a_mark_and_reads_there():
    with billing() as provider:
        assert anthropic(provider, text(2000, cache_control=MARK), text(10)) == (10, 0, 2000)
        assert anthropic(provider, text(2000, cache_control=MARK), text(20)) == (20, 2000, 0)
        assert provider.requests[1].cached == 2000


def test_anthropic_remembers_nothing_without_marks():
    with billing() as provider:
        assert anthropic(provider, text(2000)) == anthropic(provider, text(2000)) == (2000, 0, 0)


def test_anthropic_remembers_no_short_prompts():
    with billing() as provider:
        assert anthropic(provider, text(1023, cache_control=MARK)) == (1023, 0, 0)
        assert anthropic(provider, text(1024, cache_control=MARK)) == (0, 0, 1024)


def test_anthropic_finds_an_older_mark_within_twenty_blocks():
    old, steps = text(2000, cache_control=MARK), [text(10, "s") for _ in range(30)]
    plain = text(2000)
    with billing() as provider:
        anthropic(provider, old)
        assert anthropic(provider, plain, *steps[:18], text(10, cache_control=MARK)) == (0, 2000, 190)
    with billing() as provider:
        anthropic(provider, old)
        assert anthropic(provider, plain, *steps[:19], text(10, cache_control=MARK)) == (0, 0, 2200)


def test_anthropic_forgets_after_five_minutes_or_an_hour():
    clock = Clock()
    with billing(clock=clock) as provider:
        assert anthropic(provider, text(2000, cache_control=MARK)) == (0, 0, 2000)
        clock.now = 299
        assert anthropic(provider, text(2000, cache_control=MARK)) == (0, 2000, 0)
        clock.now = 299 + 301
        assert anthropic(provider, text(2000, cache_control=HOUR)) == (0, 0, 2000)
        clock.now += 3599
        assert anthropic(provider, text(2000, cache_control=HOUR)) == (0, 2000, 0)


def test_anthropic_bills_short_and_long_writes_apart():
    with billing() as provider:
        anthropic(provider, text(2000, cache_control=HOUR), text(1500, cache_control=MARK), text(7))
        usage = provider.requests[0].usage
    assert usage["cache_creation"] == {"ephemeral_5m_input_tokens": 1500, "ephemeral_1h_input_tokens": 2000}
    assert usage["input_tokens"] == 7


def test_anthropic_takes_a_mark_on_the_request_for_its_last_block():
    with billing() as provider:
        assert anthropic(provider, text(2000), cache_control=MARK) == (0, 0, 2000)
        assert anthropic(provider, text(2000), text(10), cache_control=MARK) == (0, 2000, 10)


@pytest.mark.parametrize(
    ("change", "read"),
    [({}, 2510), ({"thinking": {"type": "adaptive"}}, 1500), ({"system": [text(1500, "z")]}, 0)],
)
def test_anthropic_forgets_messages_with_thinking_and_everything_with_the_system(change, read):
    marked = {"system": [text(1500, cache_control=MARK)]}
    with billing() as provider:
        anthropic(provider, text(1010, cache_control=MARK), **marked)
        assert anthropic(provider, text(1010, cache_control=MARK), **{**marked, **change})[1] == read


def test_openai_reads_the_common_prefix_in_steps_of_128():
    with billing() as provider:
        assert chat(provider, 1200, 100) == (1300, 0)
        assert chat(provider, 1200, 100) == (1300, 1280)
        assert chat(provider, 1200, 90) == (1290, 1152)


def test_openai_remembers_from_1024_tokens():
    with billing() as provider:
        chat(provider, 1023)
        assert chat(provider, 1023, 50) == (1073, 0)
        chat(provider, 1024)
        assert chat(provider, 1024, 50) == (1074, 1024)


def test_openai_keeps_keys_apart():
    with billing() as provider:
        chat(provider, 2048, prompt_cache_key="a")
        assert chat(provider, 2048, prompt_cache_key="b")[1] == 0
        assert chat(provider, 2048, prompt_cache_key="a")[1] == 2048


def test_responses_bill_the_same_way():
    body = {"model": "gpt-5", "instructions": words(2048), "input": "hi"}
    with billing() as provider:
        for _ in range(2):
            post(provider, "/v1/responses", body)
        assert [each.usage["input_tokens_details"]["cached_tokens"] for each in provider.requests] == [
            0,
            1920 + 128,
        ]


def test_gemini_caches_implicitly():
    body = {"contents": [{"role": "user", "parts": [{"text": words(2000)}]}]}
    longer = {"contents": [*body["contents"], {"role": "user", "parts": [{"text": "more"}]}]}
    with billing() as provider:
        for each in (body, longer):
            post(provider, "/v1beta/models/gemini-2.5-pro:generateContent", each)
        first, second = (each.usage for each in provider.requests)
    assert "cachedContentTokenCount" not in first
    assert second["cachedContentTokenCount"] == 2000


def test_moved_keys_of_a_tool_are_another_prompt():
    def tools(*keys):
        function = {"name": "grep", "description": words(2048)}
        return [{"type": "function", "function": {key: function[key] for key in keys}}]

    with billing() as provider:
        chat(provider, 9, tools=tools("name", "description"))
        assert chat(provider, 9, tools=tools("description", "name"))[1] == 0
        assert chat(provider, 9, tools=tools("name", "description"))[1] > 0


def test_media_cost_a_flat_rate():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 40_000}}
    with billing() as provider:
        assert anthropic(provider, image) == (1604, 0, 0)
