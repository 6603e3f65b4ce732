"""One usage for every provider's bill."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold.core.errors import BadInput
from fanfold.core.record import TokenUsage
from fanfold.tokens.models import Model, Prices, Tier, find
from fanfold.tokens.usage import billed_usage, cost, usage_of

COUNT = st.integers(0, 10**6)

BILLS: dict[str, tuple[dict[str, Any], TokenUsage]] = {
    "openai chat": (
        {
            "prompt_tokens": 1000,
            "completion_tokens": 50,
            "total_tokens": 1050,
            "prompt_tokens_details": {"cached_tokens": 900, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 30},
        },
        TokenUsage(input=100, cache_read=900, output=50, reasoning=30),
    ),
    "openai chat with a cache write": (
        {
            "prompt_tokens": 1000,
            "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300},
        },
        TokenUsage(input=100, cache_read=600, cache_write=300, output=5),
    ),
    "openai chat without details": (
        {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": None},
        TokenUsage(input=10, output=5),
    ),
    "openai responses": (
        {
            "input_tokens": 1000,
            "input_tokens_details": {"cached_tokens": 900},
            "output_tokens": 50,
            "output_tokens_details": {"reasoning_tokens": 30},
            "total_tokens": 1050,
        },
        TokenUsage(input=100, cache_read=900, output=50, reasoning=30),
    ),
    "codex rollout": (
        {
            "input_tokens": 1000,
            "cached_input_tokens": 900,
            "output_tokens": 50,
            "reasoning_output_tokens": 30,
        },
        TokenUsage(input=100, cache_read=900, output=50, reasoning=30),
    ),
    "anthropic": (
        {
            "input_tokens": 100,
            "cache_creation_input_tokens": 300,
            "cache_read_input_tokens": 900,
            "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 100},
            "output_tokens": 50,
            "service_tier": "standard",
            "server_tool_use": {"web_search_requests": 2},
        },
        TokenUsage(input=100, cache_write=300, cache_write_1h=100, cache_read=900, output=50),
    ),
    "anthropic with nulls": (
        {
            "input_tokens": 7,
            "cache_creation_input_tokens": None,
            "cache_read_input_tokens": None,
            "output_tokens": 1,
        },
        TokenUsage(input=7, output=1),
    ),
    "anthropic message delta": ({"output_tokens": 15}, TokenUsage(output=15)),
    "bedrock converse": (
        {
            "inputTokens": 100,
            "outputTokens": 50,
            "totalTokens": 1350,
            "cacheReadInputTokens": 900,
            "cacheWriteInputTokens": 300,
            "cacheDetails": [{"ttl": "1h", "inputTokens": 100}, {"ttl": "5m", "inputTokens": 200}],
        },
        TokenUsage(input=100, cache_read=900, cache_write=300, cache_write_1h=100, output=50),
    ),
    "gemini": (
        {
            "promptTokenCount": 1000,
            "cachedContentTokenCount": 900,
            "candidatesTokenCount": 20,
            "thoughtsTokenCount": 30,
            "toolUsePromptTokenCount": 40,
            "totalTokenCount": 1090,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1000}],
        },
        TokenUsage(input=140, cache_read=900, output=50, reasoning=30),
    ),
    "gemini in snake case, thoughts among the candidates": (
        {
            "prompt_token_count": 1000,
            "candidates_token_count": 50,
            "thoughts_token_count": 30,
            "total_token_count": 1050,
        },
        TokenUsage(input=1000, output=50, reasoning=30),
    ),
    "gemini interactions": (
        {
            "total_input_tokens": 100,
            "total_cached_tokens": 60,
            "total_output_tokens": 5,
            "total_thought_tokens": 2,
        },
        TokenUsage(input=40, cache_read=60, output=7, reasoning=2),
    ),
    "deepseek": (
        {
            "prompt_tokens": 1000,
            "completion_tokens": 50,
            "prompt_cache_hit_tokens": 900,
            "prompt_cache_miss_tokens": 100,
        },
        TokenUsage(input=100, cache_read=900, output=50),
    ),
    "xai counts reasoning apart": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 150,
            "completion_tokens_details": {"reasoning_tokens": 30},
        },
        TokenUsage(input=100, output=50, reasoning=30),
    ),
    "groq": (
        {
            "prompt_tokens": 20,
            "completion_tokens": 5,
            "queue_time": 0.02,
            "total_time": 0.1,
            "total_tokens": 25,
        },
        TokenUsage(input=20, output=5),
    ),
    "openrouter": (
        {
            "prompt_tokens": 20,
            "completion_tokens": 5,
            "cost": 0.0012,
            "cost_details": {"upstream_inference_cost": 0.001},
            "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 15},
        },
        TokenUsage(input=5, cache_write=15, output=5),
    ),
    "perplexity": (
        {"prompt_tokens": 8, "completion_tokens": 2, "cost": {"input_tokens_cost": 0.001}},
        TokenUsage(input=8, output=2),
    ),
    "kimi": (
        {"prompt_tokens": 20, "completion_tokens": 5, "cached_tokens": 12},
        TokenUsage(input=8, cache_read=12, output=5),
    ),
    "litellm for claude": (
        {
            "prompt_tokens": 1300,
            "completion_tokens": 5,
            "cache_creation_input_tokens": 300,
            "cache_read_input_tokens": 900,
            "prompt_tokens_details": {"cached_tokens": 900},
        },
        TokenUsage(input=100, cache_read=900, cache_write=300, output=5),
    ),
    "langchain": (
        {
            "input_tokens": 1300,
            "output_tokens": 5,
            "input_token_details": {"cache_read": 900, "cache_creation": 300},
        },
        TokenUsage(input=100, cache_read=900, cache_write=300, output=5),
    ),
    "codelia, as 19.23 has it": (
        {"input_tokens": 100, "output_tokens": 5, "cache_creation_tokens": 3, "cache_read_tokens": 40},
        TokenUsage(input=100, cache_read=40, cache_write=3, output=5),
    ),
    "codelia, with its total and nothing cached": (
        {
            "input_tokens": 100,
            "output_tokens": 5,
            "cache_creation_tokens": 0,
            "cache_read_tokens": 0,
            "total_tokens": 105,
        },
        TokenUsage(input=100, output=5),
    ),
    "ollama": (
        {"prompt_eval_count": 26, "eval_count": 290, "eval_duration": 4},
        TokenUsage(input=26, output=290),
    ),
    "cohere": (
        {"billed_units": {"input_tokens": 5}, "tokens": {"input_tokens": 66, "output_tokens": 9}},
        TokenUsage(input=66, output=9),
    ),
    "whole numbers as floats": (
        {"prompt_tokens": 8.0, "completion_tokens": 2.0},
        TokenUsage(input=8, output=2),
    ),
}


@pytest.mark.parametrize("provider", BILLS)
def test_a_providers_bill_is_understood(provider: str) -> None:
    bill, usage = BILLS[provider]
    assert usage_of(bill) == usage


@dataclass
class Bill:
    prompt_tokens: int
    completion_tokens: int


class Pydantic:
    def model_dump(self) -> dict[str, object]:
        return {"input_tokens": 3, "output_tokens": 4}


@pytest.mark.parametrize(
    ("given", "total"),
    [
        (
            SimpleNamespace(
                prompt_tokens=3, completion_tokens=4, prompt_tokens_details=SimpleNamespace(cached_tokens=2)
            ),
            7,
        ),
        (Bill(3, 4), 7),
        (Pydantic(), 7),
        (SimpleNamespace(id="r1", usage=Pydantic()), 7),
        ({"id": "r1", "usage": {"prompt_tokens": 3, "completion_tokens": 4}}, 7),
        ({"candidates": [], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}}, 7),
        ({"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 4}}}, 7),
        ({"type": "response.completed", "response": {"usage": {"input_tokens": 3, "output_tokens": 4}}}, 7),
        ({"metadata": {"usage": {"inputTokens": 3, "outputTokens": 4}}}, 7),
        ({"choices": [], "x_groq": {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}}, 7),
        (TokenUsage(input=3, output=4), 7),
    ],
)
def test_objects_and_whole_responses_are_understood(given: object, total: int) -> None:
    assert usage_of(given).total == total


def test_the_official_sdks_objects_are_understood() -> None:
    anthropic = pytest.importorskip("anthropic.types")
    openai = pytest.importorskip("openai.types")
    assert usage_of(
        anthropic.Usage(input_tokens=1, output_tokens=2, cache_read_input_tokens=4)
    ) == TokenUsage(input=1, output=2, cache_read=4)
    assert usage_of(
        openai.CompletionUsage.model_validate(
            {
                "prompt_tokens": 5,
                "completion_tokens": 2,
                "total_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 4},
            }
        )
    ) == TokenUsage(input=1, output=2, cache_read=4)


@pytest.mark.parametrize(
    "bill",
    [
        None,
        {},
        "prompt_tokens: 5",
        42,
        [],
        {"usage": None},
        {"tokens": 5},
        {"prompt_tokens": -1, "completion_tokens": 0},
        {"prompt_tokens": "12", "completion_tokens": 0},
        {"prompt_tokens": True, "completion_tokens": 0},
        {"prompt_tokens": 1.5, "completion_tokens": 0},
        {"prompt_tokens": float("nan"), "completion_tokens": 0},
        {"prompt_tokens": 10**18, "completion_tokens": 0},
        {"prompt_tokens": 10, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 11}},
    ],
)
def test_what_is_no_usage_is_bad_input(bill: object) -> None:
    with pytest.raises(BadInput):
        usage_of(bill)


@given(fresh=COUNT, read=COUNT, output=COUNT)
def test_no_cached_token_is_counted_twice(fresh: int, read: int, output: int) -> None:
    prompt = fresh + read
    bills: list[dict[str, Any]] = [
        {
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "prompt_tokens_details": {"cached_tokens": read},
        },
        {"input_tokens": prompt, "output_tokens": output, "input_tokens_details": {"cached_tokens": read}},
        {"input_tokens": fresh, "output_tokens": output, "cache_read_input_tokens": read},
        {"inputTokens": fresh, "outputTokens": output, "cacheReadInputTokens": read},
        {
            "input_tokens": fresh,
            "output_tokens": output,
            "cache_creation_tokens": 0,
            "cache_read_tokens": read,
        },
        {"promptTokenCount": prompt, "candidatesTokenCount": output, "cachedContentTokenCount": read},
        {"prompt_tokens": prompt, "completion_tokens": output, "prompt_cache_hit_tokens": read},
    ]
    for bill in bills:
        usage = usage_of(bill)
        assert (usage.input, usage.cache_read, usage.prompt, usage.total) == (
            fresh,
            read,
            prompt,
            prompt + output,
        )


def test_codelias_own_usage_totals_the_sum_of_its_four_figures() -> None:
    """A10 (19.23)"""
    assert usage_of(BILLS["codelia, as 19.23 has it"][0]).total == 148


@given(st.builds(TokenUsage, input=COUNT, output=COUNT, cache_write=COUNT, cache_read=COUNT))
def test_the_total_is_the_sum_of_the_four(usage: TokenUsage) -> None:
    assert usage.total == usage.input + usage.output + usage.cache_creation + usage.cache_read


def test_usages_add_up() -> None:
    both = TokenUsage(input=1, cache_write=5, cache_write_1h=2) + TokenUsage(input=2, output=3, reasoning=1)
    assert both == TokenUsage(input=3, output=3, cache_write=5, cache_write_1h=2, reasoning=1)


def test_an_hours_share_cannot_be_larger_than_the_whole() -> None:
    with pytest.raises(BadInput):
        TokenUsage(cache_write=1, cache_write_1h=2)


def test_the_cost_prices_every_kind_of_token() -> None:
    usage = TokenUsage(
        input=1_000_000, output=100_000, cache_read=2_000_000, cache_write=300_000, cache_write_1h=100_000
    )
    assert cost(usage, find("claude-opus-4-6")) == pytest.approx(5 + 2.5 + 1 + 1.25 + 1)


def test_a_cached_token_without_a_price_of_its_own_costs_as_input() -> None:
    model = Model("m", window=1_000, prices=Prices(2.0, 4.0))
    usage = TokenUsage(cache_read=1_000_000, cache_write=1_000_000, cache_write_1h=500_000)
    assert cost(usage, model) == pytest.approx(4.0)


def test_the_whole_prompt_chooses_the_tier() -> None:
    model = Model("m", window=10, prices=Prices(1.0, 1.0, tiers=(Tier(100, Prices(2.0, 3.0, 0.5)),)))
    assert cost(TokenUsage(input=100), model) == pytest.approx(100e-6)
    assert cost(TokenUsage(input=1, cache_read=100, output=1), model) == pytest.approx((2 + 50 + 3) * 1e-6)


def test_a_model_without_prices_has_no_cost() -> None:
    with pytest.raises(BadInput, match="prices=Prices"):
        cost(TokenUsage(input=1), Model("m", window=10))


@pytest.mark.parametrize(
    ("bill", "read"),
    [
        (None, None),
        ({}, None),
        ("free", None),
        ({"prompt_tokens": None}, None),
        ({"prompt_tokens": -4}, TokenUsage()),
        ({"prompt_tokens": 1e99}, TokenUsage()),
        ({"prompt_tokens": "many"}, TokenUsage()),
    ],
)
def test_a_reply_is_not_lost_because_its_bill_cannot_be_read(bill: Any, read: TokenUsage | None) -> None:
    assert billed_usage(bill) == read
    for streamed in (False, True):
        chat = fanfold.open("run", window=9_000)
        chat.say("Go")
        chat.request()
        said = {"role": "assistant", "content": "Yes."}
        if streamed:
            with chat.listen(
                [{"choices": [{"delta": said, "finish_reason": "stop"}], "usage": bill}]
            ) as events:
                list(events)
        else:
            chat.receive({"choices": [{"message": said, "finish_reason": "stop"}], "usage": bill})
        assert chat.request()["messages"][-1] == said


@pytest.mark.parametrize("bill", [(10**9, 5), (9, 10**9)])
def test_a_bill_that_no_window_could_hold_teaches_nothing(bill: tuple[int, int]) -> None:
    chat = fanfold.open("run", window=9_000)
    chat.say("Go")
    chat.request()
    usage = {"prompt_tokens": bill[0], "completion_tokens": bill[1]}
    chat.receive({"choices": [{"message": {"role": "assistant", "content": "Yes."}}], "usage": usage})
    chat.say("More")
    assert len(chat.request()["messages"]) == 3
    assert chat.pressure().tokens < 100
    assert chat.stats()["billed_tokens"] == bill[0]
