"""Which errors mean "too long", and what they say about it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold.dialects.refusals import CUT, WORDINGS, Refusal, refusal

SAID: dict[str, tuple[str, int | None, int | None, int | None]] = {
    # provider: its text, limit, asked, reserve
    "openai": (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. "
        "Please reduce the length of the messages.",
        128_000, 204_308, None,
    ),
    "openai with tools": (
        "This model's maximum context length is 128000 tokens. However, you requested 130101 tokens "
        "(129000 in the messages, 101 in the functions, 1000 in the completion).",
        128_000, 129_101, 1_000,
    ),
    "openai, older": (
        "This model's maximum context length is 4097 tokens, however you requested 4322 tokens "
        "(4066 in your prompt; 256 for the completion). Please reduce your prompt; or completion length.",
        4_097, 4_066, 256,
    ),
    "openai responses": (
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        None, None, None,
    ),
    "openai, gpt-5": (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 305127 tokens.",
        272_000, 305_127, None,
    ),
    "openai's code alone": ("context_length_exceeded", None, None, None),
    "deepseek": (
        "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens "
        "(122942 in the messages, 8192 in the completion).",
        131_072, 122_942, 8_192,
    ),
    "anthropic": ("prompt is too long: 208310 tokens > 200000 maximum", 200_000, 208_310, None),
    "anthropic with max_tokens": (
        "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length",
        200_000, 178_959, 64_000,
    ),
    "anthropic, plus sign lost on the way": (
        "input length and `max_tokens` exceed context limit: 142251   64000 > 200000", 200_000, 142_251, 64_000,
    ),
    "anthropic on vertex": ("413 Request size exceeds model context window", None, None, None),
    "gemini": (
        "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
        1_048_576, 1_200_293, None,
    ),
    "gemini, no figures": (
        "The input token count exceeds the maximum number of tokens allowed", None, None, None,
    ),
    "vertex": (
        "Unable to submit request because the input token count is 1251952 but model only supports up to 1048576.",
        1_048_576, 1_251_952, None,
    ),
    "bedrock": ("ValidationException: Input is too long for requested model.", None, None, None),
    "bedrock with figures": (
        "Too many input tokens. Max input tokens: 8192, request input token count: 9279 ", 8_192, 9_279, None,
    ),
    "mistral": (
        "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        32_768, 65_673, None,
    ),
    "xai": (
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        131_072, 136_973, None,
    ),
    "groq": ("Please reduce the length of the messages or completion.", None, None, None),
    "cerebras": (
        "Please reduce the length of the messages or completion. Current length is 150000 while limit is 131072",
        131_072, 150_000, None,
    ),
    "openrouter": (
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 141607 tokens "
        "(10000 of text input, 535 of tool input, 131072 in the output). Please reduce the length of either one.",
        131_072, 10_535, 131_072,
    ),
    "kimi": ("Your request exceeded model token limit: 262144 (requested: 291351)", 262_144, 291_351, None),
    "minimax: 2013 is a code": ("invalid params, context window exceeds limit (2013)", None, None, None),
    "qwen": ("InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]", 204_800, None, None),
    "cohere": (
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292",
        4_081, 4_292, None,
    ),
    "copilot": ("prompt token count of 140,000 exceeds the limit of 128,000", 128_000, 140_000, None),
    "fireworks": ("The prompt is too long: 221782, model maximum context length: 202752", 202_752, 221_782, None),
    "vllm": (
        "This model's maximum context length is 128000 tokens. However, you requested 65535 output tokens and your "
        "prompt contains at least 62466 input tokens, for a total of at least 128001 tokens.",
        128_000, 62_466, 65_535,
    ),
    "vllm, about max_tokens": (
        "'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is 64001 "
        "tokens and your request has 24235 input tokens (64000 > 64001 - 24235). None",
        64_001, 24_235, 64_000,
    ),
    "sglang": (
        "The input (400013 tokens) is longer than the model's context length (262144 tokens).",
        262_144, 400_013, None,
    ),
    "sglang, in all": (
        "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of "
        "140000 tokens: 130000 tokens from the input messages and 10000 tokens for the completion.",
        131_072, 130_000, 10_000,
    ),
    "llama.cpp": (
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        None, None, None,
    ),
    "llama.cpp, newer": (
        "request (14429 tokens) exceeds the available context size (8192 tokens), try increasing it",
        8_192, 14_429, None,
    ),
    "llama-cpp-python": ("Requested tokens (2285) exceed context window of 2048", 2_048, 2_285, None),
    "ollama": ("the input length exceeds the context length", None, None, None),
    "lm studio": (
        "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context "
        "length of only 32768 tokens, which is not enough.",
        32_768, 111_490, None,
    ),
    "lm studio, older": ("Error: Input length 6491 exceeds context length 1500", 1_500, 6_491, None),
    "tgi": (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 6204 `inputs` tokens "
        "and 2047 `max_new_tokens`",
        8_192, 6_204, 2_047,
    ),
    "poolside": (
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.", 131_040, 131_393, None,
    ),
    "opencode's list: a request": (
        "Tokens in request more than max tokens allowed: 131072", None, None, None,
    ),
    "opencode's list: too many": ("Too many tokens in the conversation.", None, None, None),
    "opencode's list: a limit": ("400 Bad Request: token limit exceeded", None, None, None),
    "opencode's list: only so long": ("The model's context length is only 4096 tokens.", 4_096, None, None),
    "opencode's list: greater": ("The prompt is greater than the context length.", None, None, None),
    "opencode's list: the messages": ("Please reduce the length of the messages.", None, None, None),
    "opencode's list: a count": ("input token count of 9 exceeds the maximum", None, None, None),
    "vllm's decoder": (
        "The decoder prompt (length 5951) is longer than the maximum model length of 4096.", 4_096, None, None,
    ),
    "an unknown one": (
        "Input length (265330) exceeds model's maximum context length (262144).", 262_144, 265_330, None,
    ),
}  # fmt: skip

LOOKALIKES = {
    "openai, per minute": "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, "
    "Requested 342389. The input or output tokens must be reduced in order to run successfully.",
    "groq, 413 per minute": "Request too large for model `llama-3.3-70b-versatile` in organization `org_x` on tokens "
    "per minute (TPM): Limit 6000, Requested 14810, please reduce your message size and try again.",
    "anthropic, per minute": "This request would exceed the rate limit for your organization (x) of 40,000 input "
    "tokens per minute. Please reduce the prompt length or the maximum tokens requested, or try again later.",
    "anthropic, plan": '{"type":"rate_limit_error","message":"Extra usage is required for long context requests."}',
    "bedrock, throttled": "ThrottlingException: Too many tokens, please wait before trying again.",
    "gemini, quota": "429 RESOURCE_EXHAUSTED. Quota exceeded for metric: generate_content_free_tier_input_token_count",
    "openrouter, money": "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, "
    "but can only afford 1234.",
    "openai, output": "max_tokens is too large: 6000. This model supports at most 4096 completion tokens, whereas you "
    "provided 6000.",
    "anthropic, output": "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude",
    "bedrock, output": "The maximum tokens you requested exceeds the model limit of 2048. Try again with a maximum "
    "tokens value that is lower than 2048.",
    "vertex, output": "Unable to submit request because it has a maxOutputTokens value of 70000 but the supported "
    "range is from 1 (inclusive) to 65537 (exclusive).",
    "an output's limit": "The output token limit exceeded what this model can write.",
    "a parameter": "max_tokens exceeds the limit of 8192",
    "no words at all": "400 status code (no body)",
    "a tool's own limit": "File content (33048 tokens) exceeds maximum allowed tokens (25000).",
    "a field's length": "Invalid 'tools[0].function.description': string too long. Expected a string with maximum "
    "length 1024, but got a string with length 2000 instead.",
    "too many messages": "Invalid 'messages': array too long. Expected an array with maximum length 2048.",
    "an image": "At least one of the image dimensions exceed max allowed size: 8000 pixels",
    "thinking": "max_tokens must be greater than thinking.budget_tokens",
    "no model": "The model `gpt-9` does not exist or you do not have access to it.",
    "overloaded": "Overloaded",
    "nothing": "",
}


@pytest.mark.parametrize("provider", SAID)
def test_a_providers_too_long_is_recognised_with_its_figures(provider: str) -> None:
    """Three wordings of opencode's list were not (19.12)."""
    text, *figures = SAID[provider]
    found = refusal(text)
    assert found is not None
    assert (found.kind, found.limit, found.asked, found.reserve) == ("tokens", *figures)


@pytest.mark.parametrize("name", LOOKALIKES)
def test_what_only_looks_like_it_is_no_refusal(name: str) -> None:
    assert refusal(LOOKALIKES[name]) is None
    assert refusal({"error": {"message": LOOKALIKES[name]}}) is None


@pytest.mark.parametrize("provider", SAID)
def test_a_per_minute_limit_is_never_taken_for_length(provider: str) -> None:
    assert refusal(SAID[provider][0] + " (rate_limit_exceeded)") is None


@pytest.mark.parametrize(
    ("text", "limit", "asked"),
    [
        (
            '413 {"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
            None,
            None,
        ),
        ("400 Request payload size exceeds the limit: 20971520 bytes.", 20_971_520, None),
        (
            "Value at 'body' failed to satisfy constraint: Member must have length less than or equal to 25000000",
            25_000_000,
            None,
        ),
        ("413 status code (no body)", None, None),
        ("<html><head><title>413 Request Entity Too Large</title></head></html>", None, None),
        (
            "Invalid 'input[0].content': string too long. Expected a string with maximum length 10485760, "
            "but got a string with length 12000000 instead.",
            10_485_760,
            12_000_000,
        ),
    ],
)
def test_too_many_bytes_is_a_refusal_of_its_own_kind(text: str, limit: int | None, asked: int | None) -> None:
    found = refusal(text)
    assert found is not None
    assert (found.kind, found.limit, found.asked) == ("bytes", limit, asked)


BODY = {
    "error": {
        "message": SAID["openai"][0],
        "type": "invalid_request_error",
        "code": "context_length_exceeded",
    }
}


class SdkError(Exception):
    def __init__(self, said: str, **members: Any) -> None:
        super().__init__(said)
        self.__dict__.update(members)


class Unread:
    status_code = 413

    @property
    def text(self) -> str:
        raise RuntimeError("not read")


@pytest.mark.parametrize(
    "error",
    [
        BODY,
        json.dumps(BODY),
        json.dumps(BODY).encode(),
        [BODY],
        {"error": {"message": json.dumps(BODY), "metadata": {"raw": json.dumps(BODY)}}},
        SdkError(f"Error code: 400 - {BODY}", status_code=400, body=BODY["error"]),
        SdkError("Bad Request", body=BODY),
        SdkError("Bad Request", response={"Error": {"Message": SAID["openai"][0]}}),
        SdkError("Server error", response=SdkError("", text=json.dumps(BODY))),
        SAID["openai"][0].replace(" ", "\n  "),
    ],
)
def test_the_text_is_found_wherever_an_error_keeps_it(error: object) -> None:
    found = refusal(error)
    assert found is not None
    assert (found.limit, found.asked) == (128_000, 204_308)


def test_the_cause_of_a_wrapping_error_is_read() -> None:
    wrapped = RuntimeError("The model failed.")
    wrapped.__cause__ = SdkError(SAID["anthropic"][0])
    found = refusal(wrapped)
    assert found is not None
    assert found.over == 8_310


def test_the_figures_of_llama_cpp_are_read_from_its_body() -> None:
    said = {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 1407, "n_ctx": 256}}
    for error in (said, json.dumps(said)):
        found = refusal(error)
        assert found is not None
        assert (found.limit, found.asked) == (256, 1_407)


def test_ollama_says_only_by_how_much() -> None:
    found = refusal("prompt too long; exceeded max context length by 15935 tokens")
    assert found is not None
    assert (found.limit, found.over) == (None, 15_935)


def test_headers_about_rate_limits_do_not_hide_a_refusal() -> None:
    assert refusal({**BODY, "headers": {"x-ratelimit-limit-tokens": "1000"}}) is not None


def test_status_413_without_words_is_about_bytes() -> None:
    assert refusal(SdkError("", status_code=413, response=Unread())) == Refusal("bytes", "SdkError")


@pytest.mark.parametrize("status", [401, 402, 403, 429])
def test_a_status_that_cannot_mean_length_wins_over_the_text(status: int) -> None:
    assert refusal(SdkError(SAID["openai"][0], status_code=status)) is None


@pytest.mark.parametrize("status", [400, 413, 422, 500, 502])
def test_other_statuses_leave_it_to_the_text(status: int) -> None:
    assert refusal(SdkError(SAID["openai"][0], status_code=status)) is not None


def test_the_official_sdks_exceptions_are_understood() -> None:
    openai = pytest.importorskip("openai")
    httpx = pytest.importorskip("httpx2")
    reply = httpx.Response(400, json=BODY, request=httpx.Request("POST", "http://localhost/v1"))
    found = refusal(openai.BadRequestError("Error code: 400", response=reply, body=BODY["error"]))
    assert found is not None
    assert found.limit == 128_000


@pytest.mark.parametrize(
    "error", [None, 5, object(), Exception(), {}, [], b"\xff", ValueError("x"), {"a": {"a": None}}]
)
def test_anything_else_is_no_refusal(error: object) -> None:
    assert refusal(error) is None


def test_an_error_that_holds_itself_is_read_once() -> None:
    body: dict[str, Any] = {"message": "x"}
    body["error"] = body
    assert refusal(body) is None


@given(st.text(max_size=300), st.sampled_from(sorted(SAID)), st.text(max_size=300))
def test_noise_around_a_text_never_breaks_it(before: str, provider: str, after: str) -> None:
    found = refusal(before + SAID[provider][0] + after)
    assert found is None or isinstance(found, Refusal)


@pytest.mark.parametrize(
    "unit",
    [
        "maximum context length is 1 tokens requested 1 tokens (",
        "prompt is too long: 1",
        "input length (1",
        "maximum context length is " + "1" * 90,
        'n_prompt_tokens": 1, ',
        "a" * 50,
        "1",
        " ",
    ],
)
def test_a_huge_and_hostile_text_is_read_quickly(unit: str) -> None:
    huge = unit * (2_000_000 // len(unit))
    began = time.thread_time()
    for error in (huge, {"error": huge}, ValueError(huge)):
        refusal(error)
    assert (
        time.thread_time() - began < 5
    )  # work, not time: a pattern that goes back and forth works for minutes


def test_the_text_that_is_kept_is_cut() -> None:
    found = refusal("prompt is too long " + "x" * 100_000)
    assert found is not None
    assert len(found.text) == CUT


@pytest.mark.parametrize("provider", sorted({wording.provider for wording in WORDINGS} - {""}))
def test_every_wording_names_a_provider_in_lower_case(provider: str) -> None:
    assert provider == provider.lower().strip()
