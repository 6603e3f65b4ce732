"""With `defer`, a client's tools wait until the model needs them, and the search for them is hidden."""

import json

import pytest

from fanfold.testing.provider import Provider, Turn
from tests.gateway.gate import Gate
from tests.provider.test_sdks import Anthropic, Chat, both_ways

MANY = 40


def describe(n):
    return {
        "name": f"tool_{n}",
        "description": f"Does the work of department {n}. " * 6,
        "parameters": {"type": "object", "properties": {"pattern": {"type": "string"}}},
    }


class ManyMessages(Anthropic):
    """A client with many tools."""

    @property
    def request(self):
        more = [
            {"name": one["name"], "description": one["description"], "input_schema": one["parameters"]}
            for one in map(describe, range(MANY))
        ]
        asked = {key: value for key, value in super().request.items() if key != "thinking"}
        return {**asked, "tools": [*asked["tools"], *more]}

    def take(self, reply):
        calls = [part for part in reply.content if part.type == "tool_use"]
        self.called = [call.name for call in calls]
        self.history.append({"role": "assistant", "content": reply.content})
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": "ok"} for call in calls]
        self.history += [{"role": "user", "content": results}] if results else []
        return None if calls else reply.content[-1].text


class ManyChat(Chat):
    """The same with Chat Completions."""

    @property
    def request(self):
        asked = super().request
        more = [{"type": "function", "function": one} for one in map(describe, range(MANY))]
        return {**asked, "tools": [*asked["tools"], *more]}

    def take(self, reply):
        said = reply.choices[0].message
        self.called = [call.function.name for call in said.tool_calls or []]
        self.history.append(said.to_dict() if hasattr(said, "to_dict") else said)
        for call in said.tool_calls or []:
            self.history.append({"role": "tool", "tool_call_id": call.id, "content": "ok"})
        return None if said.tool_calls else said.content


def script(request):
    return [
        Turn("", calls=[("find_tool", {"query": "department 7"})]),
        Turn("", calls=[("tool_7", {"pattern": "x"})]),
        Turn("", calls=[("find_tool", {"query": "department 9"}), ("tool_7", {"pattern": "y"})]),
        Turn("", calls=[("tool_9", {"pattern": "z"})]),
        Turn("Found it."),
    ][request.number]


@pytest.mark.parametrize("loop", [ManyMessages, ManyChat])
@both_ways
def test_the_client_sees_its_own_tools_only(loop, stream):
    with Provider(script) as provider, Gate(provider.url, window=100_000, defer=True) as gate:
        talk, called = loop(gate), []
        for _ in range(4):
            text = talk.take(talk.ask(stream))
            called.append(talk.called)
        assert gate.gateway.metrics.count("bypassed") == 0
    assert called == [["tool_7"], ["tool_7"], ["tool_9"], []]
    assert text == "Found it."
    assert [each.verdict for each in provider.requests] == ["accepted"] * 5
    first = [tool for tool in provider.requests[0].body["tools"] if not tool.get("defer_loading")]
    assert len(first) <= 3
    assert "department 7" in json.dumps(provider.requests[-1].body)


def test_a_client_that_lets_its_tools_wait_itself_is_left_alone():
    tools = [
        {"name": "ToolSearch", "description": "Finds tools.", "input_schema": {"type": "object"}},
        {"name": "work", "description": "Works.", "input_schema": {"type": "object"}},
    ]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "tools": tools}
    body["messages"] = [{"role": "user", "content": "hi"}]
    raw = json.dumps(body).encode()
    with Provider(Turn("hello")) as provider, Gate(provider.url, window=100_000, defer=True) as gate:
        assert gate.post("/v1/messages", raw, anthropic_version="2023-06-01")[0] == 200
        assert provider.requests[0].raw == raw


def test_without_it_no_byte_changes():
    with Provider(Turn("hello", calls=[])) as provider, Gate(provider.url, window=100_000) as gate:
        ManyChat(gate).ask(False)
        assert len(provider.requests[0].body["tools"]) == MANY + 1
