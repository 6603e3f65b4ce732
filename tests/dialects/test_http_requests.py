"""Requests over HTTP: what a path, its headers and a body ask for, and the way back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fanfold.core.errors import BadInput
from fanfold.core.message import Message, Text
from fanfold.dialects.dialect import decode, encode
from fanfold.dialects.http.request import HttpRequest, read_request, write_request
from fanfold.dialects.http.routes import Route, find_route
from fanfold.dialects.registry import dialect_named


def asked(target: str, body: dict[str, Any], **headers: str) -> HttpRequest:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    found = read_request("POST", target, named, json.dumps(body).encode())
    assert found is not None
    return found


PATHS = [
    ("POST", "/v1/chat/completions", "openai.chat", "reply"),
    ("POST", "/chat/completions", "openai.chat", "reply"),
    ("POST", "/v1/responses", "openai.responses", "reply"),
    ("POST", "/v1/responses/compact", "openai.responses", "compact"),
    ("POST", "/v1/responses/input_tokens", "openai.responses", "count"),
    ("GET", "/v1/responses/resp_1", "openai.responses", "stored"),
    ("DELETE", "/v1/responses/resp_1", "openai.responses", "delete"),
    ("POST", "/v1/responses/resp_1/cancel", "openai.responses", "cancel"),
    ("GET", "/v1/responses/resp_1/input_items?limit=2", "openai.responses", "input_items"),
    ("POST", "/v1/messages?beta=true", "anthropic", "reply"),
    ("POST", "/v1/messages/count_tokens?beta=true", "anthropic", "count"),
    ("POST", "/v1beta/models/gemini-2.5-pro:generateContent", "gemini", "reply"),
    ("POST", "/v1beta/models/gemini-2.5-pro:countTokens", "gemini", "count"),
    (
        "POST",
        "/v1/projects/p/locations/eu/publishers/google/models/gemini-3-pro:streamGenerateContent",
        "gemini",
        "reply",
    ),
    ("GET", "/v1beta/models", "gemini", "models"),
    ("GET", "/v1/models", "openai.chat", "models"),
    ("GET", "/v1/models/org/name", "openai.chat", "model"),
]


@pytest.mark.parametrize(("method", "target", "dialect", "purpose"), PATHS)
def test_a_path_tells_what_is_asked_for(method: str, target: str, dialect: str, purpose: str) -> None:
    found = find_route(method, target)
    assert found is not None
    assert (found.dialect, found.purpose) == (dialect, purpose)


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/v1/chat/completions"),
        ("POST", "/v1/models/../keys:generateContent"),
        ("POST", "/v1beta/models/a%2F..%2Fb:generateContent"),
        ("POST", "/v1beta/models/:generateContent"),
        ("POST", "/v1beta/models/x:embedContent"),
        ("GET", "/v1/responses/.."),
        ("GET", "/v1/responses/a/b"),
        ("GET", "//v1/models"),
        ("GET", "/v1/models\n"),
        ("POST", "http://elsewhere/v1/messages"),
    ],
)
def test_any_other_path_is_unknown(method: str, target: str) -> None:
    assert find_route(method, target) is None
    assert read_request(method, target, {}, b"{") is None


def test_a_list_of_models_is_that_of_the_provider_whose_headers_come_with_it() -> None:
    assert find_route("GET", "/v1/models", {"anthropic-version": "2023-06-01"}) == Route(
        dialect="anthropic", purpose="models"
    )
    assert find_route("GET", "/v1/models", {"x-goog-api-key": "k"}) == Route(
        dialect="gemini", purpose="models"
    )


def test_anthropic_names_its_betas_in_a_header() -> None:
    body = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [], "stream": True}
    found = asked("/v1/messages?beta=true", body, anthropic_beta="a-1, b-2,,")
    assert (found.dialect, found.model, found.streams) == ("anthropic", "claude-opus-4-5", True)
    assert found.body == {**body, "betas": ["a-1", "b-2"]}
    form = write_request("anthropic", found.body, streams=True)
    assert form.path == "/v1/messages"
    assert form.headers["anthropic-beta"] == "a-1,b-2"
    assert json.loads(form.body) == body


def test_no_beta_is_no_header() -> None:
    form = write_request("anthropic", {"model": "m", "messages": []})
    assert form.headers == {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    assert json.loads(form.body) == {"model": "m", "messages": []}


def test_gemini_names_its_model_and_its_stream_in_the_path() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": {"topK": 1}}
    found = asked("/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse&key=k", body)
    assert (found.model, found.streams, found.route.events) == ("gemini-2.5-pro", True, True)
    assert found.body == {**body, "model": "gemini-2.5-pro"}
    form = write_request("gemini", found.body, streams=True)
    assert form.path == "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
    assert json.loads(form.body) == body
    plain = asked("/v1beta/models/gemini-2.5-pro:streamGenerateContent", body)
    assert (plain.streams, plain.route.events) == (True, False)
    assert not asked("/v1beta/models/gemini-2.5-pro:generateContent", body).streams


def test_the_body_tells_openai_whether_to_stream() -> None:
    assert asked("/v1/chat/completions", {"messages": [], "stream": True}).streams
    assert not asked("/v1/responses", {"input": "x", "stream": None}).streams
    form = write_request("openai.chat", {"model": "m", "messages": []}, streams=True)
    assert json.loads(form.body)["stream"] is True
    again = write_request("openai.chat", json.loads(form.body), streams=False)
    assert json.loads(again.body)["stream"] is False


SNAKE = {
    "model": "gemini-2.5-pro",
    "contents": ["Hi", {"text": "there"}, {"function_call": {"name": "f"}}],
    "config": {
        "system_instruction": "Be brief.",
        "tools": [{"function_declarations": [{"name": "f", "parameters": {"any_of": []}}]}],
        "tool_config": {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["f"]}},
        "max_output_tokens": 9,
        "thinking_config": {"include_thoughts": True},
        "response_json_schema": {"properties": {"a_b": {}}},
        "http_options": {"timeout": 1},
        "top_p": None,
    },
}


def test_arguments_of_googles_sdk_become_a_rest_body() -> None:
    assert json.loads(write_request("gemini", SNAKE).body) == {
        "contents": [
            {"role": "user", "parts": [{"text": "Hi"}]},
            {"role": "user", "parts": [{"text": "there"}]},
            {"role": "model", "parts": [{"function_call": {"name": "f"}}]},
        ],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": SNAKE["config"]["tools"],  # type: ignore[index]
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {
            "maxOutputTokens": 9,
            "thinkingConfig": {"includeThoughts": True},
            "responseJsonSchema": {"properties": {"a_b": {}}},
        },
    }


@pytest.mark.parametrize(
    ("system", "sent"),
    [
        (["a", {"text": "b"}], {"parts": [{"text": "a"}, {"text": "b"}]}),
        ({"text": "a"}, {"parts": [{"text": "a"}]}),
        ({"role": "user", "parts": [{"text": "a"}]}, {"role": "user", "parts": [{"text": "a"}]}),
    ],
)
def test_a_system_prompt_in_any_form_is_one_content(system: Any, sent: Any) -> None:
    body = {"model": "m", "contents": [], "system_instruction": system}
    assert json.loads(write_request("gemini", body).body)["system_instruction"] == sent


def test_tools_that_a_rest_body_had_not_are_sent_where_rest_has_them() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    gemini = dialect_named("gemini", "gemini-2.5-pro")
    found = asked("/v1beta/models/gemini-2.5-pro:generateContent", body)
    _, messages, params = decode(gemini, found.body)
    frame = gemini.frame([Message("system", (Text("x"),)).text], [{"functionDeclarations": [{"name": "f"}]}])
    sent = json.loads(write_request("gemini", encode(gemini, frame, messages, params)).body)
    assert sent == {
        **body,
        "tools": [{"functionDeclarations": [{"name": "f"}]}],
        "systemInstruction": {"parts": [{"text": "x"}]},
    }


@pytest.mark.parametrize("body", [b"[]", b"[1]", b'"x"', b"{", b"\xff", b'{"a":1,"a":2}'])
def test_a_body_that_is_no_object_is_refused_with_a_sentence(body: bytes) -> None:
    with pytest.raises(BadInput):
        read_request("POST", "/v1/messages", {}, body)


@pytest.mark.parametrize(
    "model", ["../keys", "a/b", "a?x=1", "a#b", "a%2e", "", None, "a:b", "models/../x", " a"]
)
def test_no_model_leads_to_another_path(model: str | None) -> None:
    with pytest.raises(BadInput, match="cannot stand in a path"):
        write_request("gemini", {"model": model, "contents": []})


@pytest.mark.parametrize(
    ("model", "path"),
    [("models/gemini-3-pro", "models/gemini-3-pro"), ("tunedModels/my-1", "tunedModels/my-1")],
)
def test_a_model_may_come_with_the_kind_of_its_name(model: str, path: str) -> None:
    form = write_request("gemini", {"model": model, "contents": []})
    assert form.path == f"/v1beta/{path}:generateContent"
