"""Errors: what a provider's answer means, and the same in the words of every dialect."""

# ruff: noqa: E501  (what a provider answers stands in one line)

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import anthropic
import openai
import pytest
from google.genai import errors as google
from hypothesis import given
from hypothesis import strategies as st

from fanfold.dialects.http.deltas import Fault, Opening
from fanfold.dialects.http.errors import (
    Kind,
    Trouble,
    read_error,
    read_error_event,
    too_large,
    too_long,
    write_error,
    write_error_event,
)
from fanfold.dialects.http.events import event_reader
from fanfold.dialects.http.replies import stream_writer
from fanfold.dialects.registry import DIALECTS, DialectName
from tests.dialects.http_clients import Speaker, asking, speaker

KINDS: tuple[Kind, ...] = get_args(Kind)


def trouble(kind: Kind, dialect: DialectName) -> Trouble:
    if kind == "too_long":
        return too_long(dialect, asked=210_000, limit=200_000)
    if kind == "too_large":
        return too_large(dialect, limit=1_000_000)
    return Trouble(kind=kind, message="It did not work.")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", KINDS)
def test_an_error_is_read_as_it_was_written(dialect: DialectName, kind: Kind) -> None:
    sent = write_error(dialect, trouble(kind, dialect))
    found = read_error(sent.status, sent.headers, json.dumps(sent.body).encode())
    # Gemini has one status and one word for both.
    assert found.kind == ("rate_limit" if (dialect, kind) == ("gemini", "quota") else kind)
    assert found.message == trouble(kind, dialect).message
    assert found.status == sent.status


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", KINDS)
def test_an_error_in_a_stream_is_read_as_it_was_written(dialect: DialectName, kind: Kind) -> None:
    begun = stream_writer(dialect)
    begun.write(Opening(id="told", model="m"))
    alone = write_error_event(dialect, trouble(kind, dialect))
    for stream in (alone, begun.write(Fault(trouble(kind, dialect)))):
        (event,) = event_reader(None).feed(stream)
        found = read_error_event(event.json())
        assert found is not None
        assert found.kind == ("rate_limit" if (dialect, kind) == ("gemini", "quota") else kind)
        assert found.message == trouble(kind, dialect).message


STATUSES: dict[Kind, tuple[int, int, int]] = {
    "bad_request": (400, 400, 400),
    "unauthorized": (401, 401, 401),
    "not_found": (404, 404, 404),
    "too_large": (413, 413, 400),
    "too_long": (400, 400, 400),
    "rate_limit": (429, 429, 429),
    "overloaded": (503, 529, 503),
    "server": (500, 500, 500),
}


@pytest.fixture(scope="module")
def provider() -> Iterator[Speaker]:
    with speaker() as made:
        yield made


@pytest.mark.parametrize("kind", STATUSES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_sdk_raises_what_it_raises_for_its_own_provider(
    dialect: DialectName, kind: Kind, provider: Speaker
) -> None:
    openai_status, anthropic_status, gemini_status = STATUSES[kind]
    status = {"anthropic": anthropic_status, "gemini": gemini_status}.get(dialect, openai_status)
    sent = write_error(dialect, trouble(kind, dialect))
    assert sent.status == status
    provider.say(json.dumps(sent.body).encode(), sent.status)
    with pytest.raises((openai.APIStatusError, anthropic.APIStatusError, google.APIError)) as raised:
        asking(dialect, provider.server.url)(False)
    error: Any = raised.value
    assert (error.code if dialect == "gemini" else error.status_code) == status
    assert trouble(kind, dialect).message in str(error)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_sdk_raises_the_error_that_ends_a_stream(dialect: DialectName, provider: Speaker) -> None:
    writer = stream_writer(dialect)
    opened = writer.write(Opening(id="told", model="m"))
    provider.stream([opened, writer.write(Fault(Trouble(kind="overloaded", message="Too much to do.")))])
    if dialect == "openai.responses":  # its SDK hands the failure on as an event
        *_, last = asking(dialect, provider.server.url)(True)
        assert (last.type, last.response.error.message) == ("response.failed", "Too much to do.")
        return
    ask = asking(dialect, provider.server.url)
    with pytest.raises((openai.APIError, anthropic.APIError, google.APIError), match="Too much to do"):
        list(ask(True))


FOUND: list[tuple[int, Any, Kind]] = [
    (400, {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}}, "too_long"),
    (400, {"type": "error", "error": {"type": "invalid_request_error", "message": "input length and `max_tokens` exceed context limit: 190 + 20 > 200, decrease input length or `max_tokens` and try again"}}, "too_long"),
    (413, {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}, "too_large"),
    (429, {"type": "error", "error": {"type": "rate_limit_error", "message": "This request would exceed the rate limit of 40,000 input tokens per minute"}}, "rate_limit"),
    (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "overloaded"),
    (500, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "overloaded"),
    (400, {"error": {"message": "This model's maximum context length is 8 tokens. However, your messages resulted in 9 tokens.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}, "too_long"),
    (400, {"error": {"message": "Your input exceeds the context window of this model. Please adjust your input and try again.", "type": "invalid_request_error", "param": "input", "code": "context_length_exceeded"}}, "too_long"),
    (429, {"error": {"message": "Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 40000.", "type": "tokens", "code": "rate_limit_exceeded"}}, "rate_limit"),
    (429, {"error": {"message": "You exceeded your current quota, please check your plan.", "type": "insufficient_quota", "code": "insufficient_quota"}}, "quota"),
    (413, {"error": {"message": "Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 9000", "type": "tokens", "code": "rate_limit_exceeded"}}, "rate_limit"),
    (503, {"error": {"message": "The server is currently overloaded.", "type": "server_error", "code": None}}, "overloaded"),
    (400, {"error": {"code": 400, "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}}, "too_long"),
    (400, [{"error": {"code": 400, "message": "The input token count exceeds the maximum number of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}}], "too_long"),
    (429, {"error": {"code": 429, "message": "Resource has been exhausted (e.g. check quota).", "status": "RESOURCE_EXHAUSTED"}}, "rate_limit"),
    (503, {"error": {"code": 503, "message": "The model is overloaded. Please try again later.", "status": "UNAVAILABLE"}}, "overloaded"),
    (400, {"error": {"message": "the request exceeds the available context size, try increasing it", "type": "exceed_context_size_error", "n_ctx": 8}}, "too_long"),
    (400, {"object": "error", "message": "This model's maximum context length is 8 tokens. However, your request has 9 input tokens.", "type": "BadRequestError", "code": 400}, "too_long"),
    (422, {"detail": "field required"}, "bad_request"),
    (400, {"error": "model is not loaded"}, "bad_request"),
    (404, {"error": {"message": "The model `x` does not exist", "type": "invalid_request_error", "code": "model_not_found"}}, "not_found"),
    (502, "<html><body>Bad Gateway</body></html>", "server"),
    (413, "", "too_large"),
    (500, "", "server"),
]  # fmt: skip
"""What providers answer, in their own words."""


@pytest.mark.parametrize(("status", "body", "kind"), FOUND)
def test_what_providers_answer_is_understood(status: int, body: Any, kind: Kind) -> None:
    sent = body if isinstance(body, str) else json.dumps(body)
    found = read_error(status, {}, sent.encode())
    assert found.kind == kind
    assert found.message


def test_the_figures_of_a_prompt_that_is_too_long_are_kept() -> None:
    for dialect in DIALECTS:
        sent = write_error(dialect, too_long(dialect, asked=210_000, limit=200_000))
        found = read_error(sent.status, {}, json.dumps(sent.body).encode()).refusal
        assert found is not None
        if dialect != "openai.responses":  # it names none
            assert (found.asked, found.limit) == (210_000, 200_000)


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "7"}, {}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, {}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, {}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2020 07:28:30 GMT"}, {}, 0.0),
        ({"retry-after": "-4"}, {}, None),
        ({"retry-after": "soon"}, {}, None),
        ({}, {"error": {"details": [{"@type": "x"}, {"retryDelay": "34.5s"}]}}, 34.5),
        ({}, {"error": {"message": "Rate limit reached. Please try again in 1.2s."}}, 1.2),
        ({}, {"error": {"message": "Please try again in 20ms. Visit us."}}, 0.02),
        ({}, {"error": {"message": "Please try again in 6m0s."}}, 360.0),
        ({}, {"error": {"message": "Please try again in a while"}}, None),
    ],
)
def test_the_time_to_wait_is_found_wherever_it_stands(
    headers: dict[str, str], body: Any, seconds: float | None
) -> None:
    now = 1_792_567_680.0  # 2026-10-21 07:28:00 UTC
    assert read_error(429, headers, json.dumps(body), now=now).retry_after == seconds


def test_the_time_to_wait_is_passed_on() -> None:
    waits = Trouble(kind="rate_limit", message="Wait.", retry_after=34.5)
    for dialect in DIALECTS:
        assert write_error(dialect, waits).headers["retry-after"] == "34"
    assert read_error(429, {}, json.dumps(write_error("gemini", waits).body)).retry_after == 34.5
    assert waits.passes
    assert not Trouble(kind="too_long", message="").passes


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        {},
        {"type": "message_start", "error": {"message": "a field of somebody's"}},
        {"choices": [], "error": None},
        {"type": "response.completed", "response": {"error": None}},
    ],
)
def test_other_events_are_no_errors(event: Any) -> None:
    assert read_error_event(event) is None


fields = st.sampled_from(["error", "message", "code", "type", "status", "details", "retryDelay"])
values = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(fields, inner)
)


@given(st.integers(400, 599), values)
def test_no_answer_breaks_the_reader(status: int, body: Any) -> None:
    found = read_error(status, {}, json.dumps(body))
    assert found.message
    read_error_event(body)
    for dialect in DIALECTS:
        assert write_error(dialect, found).status == status
