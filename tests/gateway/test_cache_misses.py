"""Behind the gateway, what broke the provider's cache is counted."""

import json

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
