"""Behind the gateway, what broke the provider's cache is counted."""

import json

import pytest

from fanfold.testing.provider import Provider, Turn
from tests.gateway.gate import Gate

SYSTEM = "You find bugs. Today is 2026-11-17. " + "You say where they are. " * 400

TOOLS = [{"type": "function", "function": {"name": "grep", "parameters": {"type": "object"}}}]


def ask(gate, said, system):
    body = {"model": "gpt-5.2", "tools": TOOLS, "messages": [{"role": "system", "content": system}, *said]}
    status, _, text = gate.post("/v1/chat/completions", json.dumps(body).encode())
    assert status == 200
    return [*said, json.loads(text)["choices"][0]["message"], {"role": "user", "content": "Go on."}]


def test_a_client_that_changes_its_system_prompt_is_counted_with_the_tokens_it_cost():
    with Provider(lambda _: Turn("I look."), cache_minimum=256) as provider, Gate(provider.url) as gate:
        said = [{"role": "user", "content": "Where is the bug? " * 100}]
        for day in ("17", "17", "18", "18"):
            said = ask(gate, said, SYSTEM.replace("17", day))
        metrics = gate.send("GET", "/metrics")[2].decode()
    assert 'fanfold_cache_misses_total{by="client",cause="system"} 1' in metrics
    missed = next(
        line for line in metrics.splitlines() if line.startswith("fanfold_cache_missed_tokens_total{")
    )
    assert 0 < int(missed.rpartition(" ")[2]) <= provider.requests[-1].tokens
    assert gate.gateway.metrics.count("cache_misses") == 1


CLAUDE = {
    "model": "claude-opus-4-5",
    "max_tokens": 500,
    "system": SYSTEM,
    "tools": [{"name": "grep", "input_schema": {"type": "object"}}],
}
OUTPUT = "\n".join(f"src/m{line}.py:{line}: found {line * 7}" for line in range(120))


def uses_of_claude(steps, window=None, **more):
    """What each request of a tool loop with Claude read from the cache, by the session behind the gateway."""

    def play(request):
        return Turn("I look.", calls=[("grep", {"pattern": f"x{request.number}"})])

    settings = {} if window is None else {"window": window}
    with Provider(play, cache_minimum=256) as provider, Gate(provider.url, **settings) as gate:
        said = [{"role": "user", "content": "Where is the bug? " * 400}]
        for step in range(steps):
            status, _, text = gate.post(
                "/v1/messages", json.dumps({**CLAUDE, **more, "messages": said}).encode()
            )
            assert status == 200, text
            reply = json.loads(text)["content"]
            call = next(block["id"] for block in reply if block["type"] == "tool_use")
            result = {"type": "tool_result", "tool_use_id": call, "content": f"{step}\n{OUTPUT}"}
            said = [*said, {"role": "assistant", "content": reply}, {"role": "user", "content": [result]}]
        pool = gate.gateway.conversations.pool
        (name,) = pool.store.sessions("default")
        with pool.session(name, tenant="default") as chat:
            return [chat.cache(n) for n in range(steps)], chat.edits()


def test_a_client_of_claude_that_marks_nothing_is_told_so():
    uses, edits = uses_of_claude(4)
    assert not edits
    for use in uses[1:]:
        assert use.read == 0
        assert (
            str(use.broken) == "marks (by client): no cache mark was sent; Claude caches only what is marked"
        )


@pytest.mark.parametrize(
    "more",
    [
        {"cache_control": {"type": "ephemeral"}},
        {"system": [{"type": "text", "text": SYSTEM * 2, "cache_control": {"type": "ephemeral"}}]},
    ],
    ids=["whole", "system"],
)
def test_a_client_of_claude_that_marks_something_is_not_told_so(more):
    uses, _ = uses_of_claude(4, **more)
    assert not [use.broken for use in uses if use.broken and use.broken.cause == "marks"]


def test_the_recall_tools_that_come_with_the_first_edit_are_its_doing():
    uses, edits = uses_of_claude(12, window=16_000)
    first = next(use for use in uses if use.broken and use.broken.cause not in ("first", "marks"))
    assert (first.broken.cause, first.broken.by) == ("edit", "auto")
    assert first.broken.where in {edit.decision.id for edit in edits}
    assert not [use.broken for use in uses if use.broken and use.broken.cause == "tools"]


def test_gemini_has_its_tools_in_one_group_and_is_told_the_same():
    grep = {"name": "grep", "description": "Find.", "parameters": {"type": "object", "properties": {}}}
    body = {"systemInstruction": {"parts": [{"text": SYSTEM}]}, "tools": [{"functionDeclarations": [grep]}]}
    turn = Turn("I look.", calls=[("grep", {})])
    with Provider(lambda _: turn, cache_minimum=256) as provider, Gate(provider.url, window=16_000) as gate:
        said = [{"role": "user", "parts": [{"text": "Where is the bug? " * 400}]}]
        for step in range(8):
            told = json.dumps({**body, "contents": said}).encode()
            status, _, text = gate.post("/v1beta/models/gemini-3-pro-preview:generateContent", told)
            assert status == 200, text
            reply = json.loads(text)["candidates"][0]["content"]
            call = next(part["functionCall"] for part in reply["parts"] if "functionCall" in part)
            answer = {"name": "grep", "id": call["id"], "response": {"output": f"{step}\n{OUTPUT}"}}
            said = [*said, reply, {"role": "user", "parts": [{"functionResponse": answer}]}]
        pool = gate.gateway.conversations.pool
        (name,) = pool.store.sessions("default")
        with pool.session(name, tenant="default") as chat:
            found = [chat.cache(n).broken for n in range(1, 8)]
    assert {(one.cause, one.by) for one in found if one} == {("edit", "auto")}


def test_what_is_paid_again_is_never_more_than_what_was_billed():
    uses, _ = uses_of_claude(12, window=16_000)
    assert any(use.again for use in uses)
    for use in uses:
        assert use.again <= use.prompt - use.read
