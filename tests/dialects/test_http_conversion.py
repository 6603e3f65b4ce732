"""A client of one dialect, a provider of another."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest
from hypothesis import given, settings

from fanfold.core.message import Call, Message, result, user
from fanfold.dialects.dialect import Reply, encode
from fanfold.dialects.http.convert import StreamBridge, convert_reply, convert_request
from fanfold.dialects.http.deltas import Opening, WholeReply, deltas_of, write_all
from fanfold.dialects.http.events import event_reader
from fanfold.dialects.http.replies import stream_writer, write_reply
from fanfold.dialects.http.request import write_request
from fanfold.dialects.registry import DIALECTS, DialectName, dialect_named
from fanfold.testing.provider import Provider, Turn
from tests.dialects.test_http_replies import ASKED, OPENING, expected, heard, wholes

MODELS: dict[DialectName, str] = {
    "openai.chat": "gpt-5.2",
    "openai.responses": "gpt-5.2",
    "anthropic": "claude-opus-4-5",
    "gemini": "gemini-2.5-pro",
}
PAIRS = [(one, other) for one in DIALECTS for other in DIALECTS if one != other]
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS: dict[DialectName, Any] = {
    "openai.chat": [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}],
    "openai.responses": [{"type": "function", "name": "read", "parameters": SCHEMA}],
    "anthropic": [{"name": "read", "input_schema": SCHEMA}],
    "gemini": [{"functionDeclarations": [{"name": "read", "parametersJsonSchema": SCHEMA}]}],
}


def assembled(dialect: DialectName, stream: bytes) -> Reply:
    assembly = dialect_named(dialect).assembly()
    for event in event_reader(None).feed(stream):
        if event.data is not None and not event.is_done:
            assembly.feed(event.json())
    assert assembly.complete
    return assembly.reply()


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_stream_says_the_same_in_every_other_dialect(source: DialectName, target: DialectName) -> None:
    @settings(max_examples=20)
    @given(wholes())
    def check(whole: WholeReply) -> None:
        bridge = StreamBridge(source, target, OPENING, asked=ASKED)
        reader, told = event_reader(None), b""
        for chunk in write_all(stream_writer(source, ASKED), deltas_of(whole)):
            told += b"".join(map(bridge.feed, reader.feed(chunk)))
        told += bridge.close()
        assert bridge.complete
        assert bridge.usage == whole.usage
        assert heard(assembled(target, told)) == expected(target, whole)
        body = convert_reply(source, target, write_reply(source, whole), OPENING)
        assert heard(dialect_named(target).reply(body)) == expected(target, whole)

    check()


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_events_are_told_as_they_come_and_a_stream_that_breaks_off_stays_open(
    source: DialectName, target: DialectName
) -> None:
    whole = WholeReply(opening=OPENING, messages=(Message("assistant", user("some words").parts),))
    bridge = StreamBridge(source, target, OPENING)
    steps = list(deltas_of(whole))
    writer = stream_writer(source)
    before_end = b"".join(map(writer.write, steps[:2]))
    told = b"".join(map(bridge.feed, event_reader(None).feed(before_end)))
    assert b"some words" in told
    assert bridge.close() == b""
    assert not bridge.complete


def post(provider: Provider, dialect: DialectName, body: dict[str, Any], *, streams: bool) -> bytes:
    form = write_request(dialect, body, streams=streams)
    key = {"authorization": "Bearer k", "x-api-key": "k", "x-goog-api-key": "k"}
    request = urllib.request.Request(provider.url + form.path, form.body, {**form.headers, **key})
    with urllib.request.urlopen(request) as answer:
        found: bytes = answer.read()
        return found


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(("client", "upstream"), PAIRS)
def test_a_loop_of_tools_runs_through_a_provider_of_another_dialect(
    client: DialectName, upstream: DialectName, streams: bool
) -> None:
    script = [Turn(f"Step {i}.", calls=[("read", {"path": f"{i}.py"})] * 2, thinking="Hm.") for i in range(4)]
    codec = dialect_named(client, MODELS[client])
    frame = codec.frame(["You fix bugs."], TOOLS[client])
    said: list[Message] = [user("Fix it.")]
    with Provider([*script, Turn("Done.")], foreign_signatures=True) as provider:
        while True:
            params = {"model": MODELS[client], **codec.limit(4_000, 4_000)}
            body = encode(codec, frame, said, params)
            sent = convert_request(client, upstream, body, MODELS[upstream])
            answer = post(provider, upstream, sent.body, streams=streams)
            opening = Opening(id=f"told-{len(said)}", model=MODELS[client])
            if streams:
                bridge = StreamBridge(upstream, client, opening, names=sent.names)
                told = b"".join(map(bridge.feed, event_reader(None).feed(answer))) + bridge.close()
                reply = assembled(client, told)
            else:
                whole = convert_reply(upstream, client, json.loads(answer), opening, names=sent.names)
                reply = codec.reply(whole)
            said += reply.messages
            if reply.done:
                break
            said += [result(call.id, f"content of {call.args['path']}") for call in reply.calls]
        assert provider.rejected == []
        assert reply.text == "Done."
        assert len({call.id for message in said for call in message.calls}) == 8
        assert [part.text for message in said if message.role == "tool" for part in message.results] == [
            f"content of {i}.py" for i in range(4) for _ in range(2)
        ]


CHOICES: dict[str, dict[DialectName, Any]] = {
    "auto": {
        "openai.chat": {"tool_choice": "auto"},
        "openai.responses": {"tool_choice": "auto"},
        "anthropic": {"tool_choice": {"type": "auto"}},
        "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}},
    },
    "any": {
        "openai.chat": {"tool_choice": "required"},
        "openai.responses": {"tool_choice": "required"},
        "anthropic": {"tool_choice": {"type": "any"}},
        "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
    },
    "none": {
        "openai.chat": {"tool_choice": "none"},
        "openai.responses": {"tool_choice": "none"},
        "anthropic": {"tool_choice": {"type": "none"}},
        "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}},
    },
    "one": {
        "openai.chat": {"tool_choice": {"type": "function", "function": {"name": "read"}}},
        "openai.responses": {"tool_choice": {"type": "function", "name": "read"}},
        "anthropic": {"tool_choice": {"type": "tool", "name": "read"}},
        "gemini": {
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["read"]}}
        },
    },
}


def request(dialect: DialectName, **params: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"model": MODELS[dialect], "tools": TOOLS[dialect], **params}
    if dialect == "gemini":
        return {**body, "contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    return {
        **body,
        ("input" if dialect == "openai.responses" else "messages"): [{"role": "user", "content": "Hi"}],
    }


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_choice_of_tools_is_the_same_in_every_other_dialect(
    source: DialectName, target: DialectName, choice: str
) -> None:
    sent = convert_request(source, target, request(source, **CHOICES[choice][source]), MODELS[target])
    wanted = CHOICES[choice][target]
    assert {key: sent.body.get(key) for key in wanted} == wanted
    assert sent.lost == ()


SETTINGS: dict[DialectName, dict[str, Any]] = {
    "openai.chat": {"temperature": 0.5, "max_completion_tokens": 900, "parallel_tool_calls": False},
    "openai.responses": {"temperature": 0.5, "max_output_tokens": 900, "parallel_tool_calls": False},
    "anthropic": {
        "temperature": 0.5,
        "max_tokens": 900,
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    },
    "gemini": {"generationConfig": {"temperature": 0.5, "maxOutputTokens": 900}},
}


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_common_parameters_carry_over(source: DialectName, target: DialectName) -> None:
    sent = convert_request(source, target, request(source, **SETTINGS[source]), MODELS[target])
    for key in (
        "temperature",
        "max_completion_tokens",
        "max_output_tokens",
        "max_tokens",
        "generationConfig",
    ):
        assert sent.body.get(key) == SETTINGS[target].get(key)
    assert sent.body["model"] == MODELS[target]
    assert sent.lost == (("parallel",) if target == "gemini" else ())


FORMATS: dict[DialectName, dict[str, Any]] = {
    "openai.chat": {
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA}}
    },
    "openai.responses": {"text": {"format": {"type": "json_schema", "name": "reply", "schema": SCHEMA}}},
    "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
    "gemini": {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}},
}


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_the_schema_of_a_reply_carries_over(source: DialectName, target: DialectName) -> None:
    sent = convert_request(source, target, request(source, **FORMATS[source]), MODELS[target])
    assert {key: sent.body.get(key) for key in FORMATS[target]} == FORMATS[target]
    assert sent.lost == ()


EFFORTS: dict[DialectName, dict[str, Any]] = {
    "openai.chat": {"reasoning_effort": "medium"},
    "openai.responses": {"reasoning": {"effort": "medium"}},
    "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 8_192}},
    "gemini": {"generationConfig": {"thinkingConfig": {"thinkingBudget": 8_192}}},
}


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_how_much_to_think_carries_over(source: DialectName, target: DialectName) -> None:
    sent = convert_request(source, target, request(source, **EFFORTS[source]), MODELS[target])
    (key,) = EFFORTS[target]
    found = sent.body[key]
    if target == "gemini":
        found = {"thinkingConfig": {"thinkingBudget": found["thinkingConfig"]["thinkingBudget"]}}
    elif target == "openai.responses":
        found = {"effort": found["effort"]}
    assert found == EFFORTS[target][key]


def test_what_does_not_carry_over_is_named() -> None:
    chat = request("openai.chat", seed=7, logit_bias={"1": 2}, n=2, response_format={"type": "json_object"})
    assert convert_request("openai.chat", "anthropic", chat, "claude-opus-4-5").lost == (
        "logit_bias",
        "seed",
        "replies",
        "format",
    )
    claude = request(
        "anthropic", top_k=4, stop_sequences=["x"], metadata={"user_id": "u"}, context_management={}
    )
    assert set(convert_request("anthropic", "openai.responses", claude, "gpt-5.2").lost) == {
        "metadata",
        "context_management",
        "top_k",
        "stops",
    }
    google = request("gemini", safetySettings=[], generationConfig={"speechConfig": {"x": 1}})
    assert set(convert_request("gemini", "openai.chat", google, "gpt-5.2").lost) == {
        "safetySettings",
        "generationConfig.speechConfig",
    }


def test_tools_that_only_the_provider_has_are_named() -> None:
    body = request("anthropic")
    body["tools"] = [*body["tools"], {"type": "web_search_20250305", "name": "web_search"}]
    sent = convert_request("anthropic", "openai.chat", body, "gpt-5.2")
    assert sent.lost == ("tool web_search: left out, only its own provider has it",)
    assert len(sent.body["tools"]) == 1


def test_a_server_that_may_not_know_effort_is_not_told_of_it() -> None:
    body = request("anthropic", thinking={"type": "enabled", "budget_tokens": 8_192})
    sent = convert_request("anthropic", "openai.chat", body, "qwen3-coder")
    assert "reasoning_effort" not in sent.body
    assert sent.lost == ("effort",)


def test_a_forced_tool_wins_over_thinking_and_thinking_over_heat() -> None:
    forced = request("openai.chat", tool_choice="required", reasoning_effort="high")
    sent = convert_request("openai.chat", "anthropic", forced, "claude-opus-4-5")
    assert ("thinking" in sent.body, sent.lost) == (False, ("effort",))
    warm = request("openai.chat", temperature=1.5, reasoning_effort="high")
    sent = convert_request("openai.chat", "anthropic", warm, "claude-opus-4-5")
    assert ("temperature" in sent.body, sent.lost) == (False, ("temperature",))
    hot = convert_request(
        "openai.chat", "anthropic", request("openai.chat", temperature=1.5), "claude-opus-4-5"
    )
    assert (hot.body["temperature"], hot.lost) == (1.0, ("temperature",))


def test_a_tool_whose_name_is_not_taken_is_called_back_by_its_own() -> None:
    body = request("gemini")
    body["tools"] = [{"functionDeclarations": [{"name": "fs.read:all", "parametersJsonSchema": SCHEMA}]}]
    body["toolConfig"] = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["fs.read:all"]}}
    sent = convert_request("gemini", "anthropic", body, "claude-opus-4-5")
    assert sent.names == {"fs_read_all": "fs.read:all"}
    assert sent.body["tool_choice"] == {"type": "tool", "name": "fs_read_all"}
    called = Message("assistant", (Call("c1", "fs_read_all", "{}"),))
    whole = WholeReply(opening=OPENING, messages=(called,))
    told = convert_reply("anthropic", "gemini", write_reply("anthropic", whole), OPENING, names=sent.names)
    assert told["candidates"][0]["content"]["parts"][0]["functionCall"]["name"] == "fs.read:all"
    bridge = StreamBridge("anthropic", "gemini", OPENING, names=sent.names)
    stream = b"".join(write_all(stream_writer("anthropic"), deltas_of(whole)))
    assert b'"fs.read:all"' in b"".join(map(bridge.feed, event_reader(None).feed(stream)))
