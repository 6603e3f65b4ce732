"""Histories as real clients send them, generated: every body upstream is legal, in the window, and mostly cached."""

import json
import random

import pytest

from fanfold.testing.provider import Provider, Turn
from tests.gateway.gate import Gate

WINDOW = 32_000
STEPS = 40
WORDS = [
    stem + end for stem in ("par", "lex", "tok", "bind", "scan") for end in ("er", "_one", "file", "map")
]
LONG = "\n".join(f"Rule {n}: {' '.join(WORDS)}" for n in range(60))


def output(n):
    """28 KB that no other step has."""
    chosen = random.Random(n)
    lines = (
        f"src/{chosen.choice(WORDS)}.py:{line}: {' '.join(chosen.choices(WORDS, k=9))}" for line in range(900)
    )
    return "\n".join([f"file number {n}", *lines])[: 28 * 1024]


class ClaudeCode:
    """Instructions as a system message behind the request, marks that move, notes of the system on the way."""

    path, headers = "/v1/messages", {"anthropic_version": "2023-06-01", "x_claude_code_session_id": "s1"}

    def __init__(self):
        asked = {"role": "user", "content": [{"type": "text", "text": "Look at all files."}]}
        told = {"role": "system", "content": LONG, "output_config": {"effort": "medium"}}
        self.history = [asked, told]

    def body(self):
        marked = json.loads(json.dumps(self.history))
        if isinstance(marked[-1]["content"], str):
            marked[-1]["content"] = [{"type": "text", "text": marked[-1]["content"]}]
        marked[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        tools = [{"name": "Bash", "description": LONG, "input_schema": {"type": "object"}}]
        system = [{"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}}]
        told = {"model": "claude-opus-5-5", "max_tokens": 128_000, "thinking": {"type": "adaptive"}}
        return {**told, "system": system, "tools": tools, "messages": marked}

    def take(self, reply, n):
        self.history.append({"role": "assistant", "content": reply["content"]})
        for call in (one for one in reply["content"] if one["type"] == "tool_use"):
            result = {"type": "tool_result", "tool_use_id": call["id"], "content": output(n)}
            self.history.append({"role": "user", "content": [result]})
            if n % 9 == 8:
                self.history.append({"role": "system", "content": "Keep the user updated."})
        return reply["content"][-1].get("text")

    calls = staticmethod(lambda n: ("Bash", {"command": f"cat {n}"}))


class Codex:
    """Tools as an item of the input, custom calls, messages of another agent."""

    path, headers = "/v1/responses", {"thread_id": "t1"}

    def __init__(self):
        tools = [{"type": "custom", "name": "exec", "description": LONG}]
        added = {"type": "additional_tools", "id": "at_1", "role": "developer"}
        self.history = [
            {**added, "tools": [{"type": "namespace", "name": "functions", "tools": tools}]},
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": LONG}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]},
        ]

    def body(self):
        told = {"model": "gpt-6.1-sol", "store": False, "include": ["reasoning.encrypted_content"]}
        return {**told, "input": self.history, "prompt_cache_key": "t1"}

    def take(self, reply, n):
        self.history += reply["output"]
        for call in (one for one in reply["output"] if one["type"] == "custom_tool_call"):
            self.history.append(
                {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": output(n)}
            )
            if n == 5:
                said = {"type": "input_text", "text": "The other half is done."}
                self.history.append({"type": "agent_message", "author": "/b", "content": [said]})
        last = reply["output"][-1]
        return last["content"][0]["text"] if last["type"] == "message" else None

    calls = staticmethod(lambda n: ("exec", {"input": f"cat {n}"}))


class OpenCode:
    """Arguments written anew in every request."""

    path, headers = "/v1/chat/completions", {"x_session_id": "ses_1"}

    def __init__(self):
        self.history = [{"role": "system", "content": LONG}, {"role": "user", "content": "Look."}]

    def body(self):
        tool = {"name": "bash", "description": LONG, "parameters": {"type": "object"}}
        return {
            "model": "gpt-4.1",
            "messages": self.history,
            "tools": [{"type": "function", "function": tool}],
        }

    def take(self, reply, n):
        said = reply["choices"][0]["message"]
        self.history.append(said)
        for call in said.get("tool_calls") or []:
            given = json.loads(call["function"]["arguments"])
            call["function"]["arguments"] = json.dumps(given, indent=n % 3 or None)
            self.history.append({"role": "tool", "tool_call_id": call["id"], "content": output(n)})
        return said.get("content")

    calls = staticmethod(lambda n: ("bash", {"command": f"cat {n}", "description": "é"}))


class GeminiCli:
    """Thoughts dropped, old outputs masked in place, and after a resume every result twice."""

    path, headers = "/v1beta/models/gemini-3-pro-preview:generateContent", {"x_goog_api_key": "any"}

    def __init__(self):
        self.history = [{"role": "user", "parts": [{"text": "Here is "}, {"text": "the setup. Look."}]}]

    def body(self):
        tool = {"name": "run_shell_command", "description": LONG, "parameters": {"type": "object"}}
        system = {"parts": [{"text": LONG}]}
        return {
            "contents": self.history,
            "systemInstruction": system,
            "tools": [{"functionDeclarations": [tool]}],
        }

    def take(self, reply, n):
        said = reply["candidates"][0]["content"]
        said["parts"] = [part for part in said["parts"] if not part.get("thought")]
        self.history.append(said)
        calls = [part["functionCall"] for part in said["parts"] if "functionCall" in part]
        for call in calls:
            answer = {"functionResponse": {**call, "response": {"output": output(n)}}}
            answer["functionResponse"].pop("args", None)
            self.history.append({"role": "user", "parts": [answer] * (2 if n == 20 else 1)})
        if n % 12 == 11:
            self._mask(self.history[2 * (n - 9) + 2])
        return None if calls else "".join(part.get("text", "") for part in said["parts"])

    def _mask(self, message):
        for part in message["parts"]:
            part["functionResponse"]["response"] = {"output": "<tool_output_masked>kept elsewhere</…>"}

    calls = staticmethod(lambda n: ("run_shell_command", {"command": f"cat {n}"}))


@pytest.mark.parametrize("shape", [ClaudeCode, Codex, OpenCode, GeminiCli])
def test_a_long_loop_of_this_shape(shape):
    def script(request):
        if request.number == 15:
            return Turn("", calls=[("tool_output_cache", {"ref_id": "o1"})], thinking="What was it?")
        done = request.number - (request.number > 15)
        return (
            Turn("Done.", thinking="So.")
            if done >= STEPS
            else Turn("", calls=[shape.calls(done)], thinking="Next.")
        )

    with Provider(script) as provider, Gate(provider.url, window=WINDOW) as gate:
        client = shape()
        for n in range(STEPS + 1):
            raw = json.dumps(client.body()).encode()
            status, _, told = gate.post(client.path, raw, **client.headers)
            assert status == 200, told
            text = client.take(json.loads(told), n)
        assert text == "Done."
        sessions = gate.gateway.conversations.pool.store.sessions("default")
        assert len(list(sessions)) == 1
        assert gate.gateway.metrics.count("bypassed") == 0
    asked = provider.requests
    assert [each.verdict for each in asked] == ["accepted"] * (STEPS + 2)
    assert max(each.tokens for each in asked) <= WINDOW
    assert "Rule 59" in json.dumps(asked[-1].body), "what the client told at the start is still there"
    share = sum(each.cached for each in asked) / sum(each.tokens for each in asked)
    assert share >= 0.75, f"{share:.1%}"
