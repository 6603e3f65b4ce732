"""`x-fanfold-tokens-before` says what the client's own request would have had, and does not fall while it grows."""

import json
import random
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

import fanfold
from fanfold.testing.provider import Provider, Turn
from tests.gateway.gate import Gate, Upstream

TOOL = {"type": "function", "function": {"name": "run", "parameters": {"type": "object", "properties": {}}}}


def reply(prompt: int) -> bytes:
    told = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Go on."}}
    usage = {"prompt_tokens": prompt, "completion_tokens": 3, "total_tokens": prompt + 3}
    body = {"id": "r1", "object": "chat.completion", "model": "gpt-4o", "choices": [told], "usage": usage}
    return json.dumps(body).encode()


def step(number: int) -> list[dict[str, object]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    text = [f"disk {number} is at {number} %\n" * 90, "{" * 700, "速い茶色の狐 " * 120][number % 3]
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": text},
    ]


def unmanaged(history: list[dict[str, object]]) -> int:
    with fanfold.open("whole", model="gpt-4o", window=1_000_000, recall=False, filters=()) as chat:
        chat.merge({"messages": history, "tools": [TOOL]})
        return chat.view().tokens


def test_it_is_what_the_history_would_have_cost_and_grows_with_it(tmp_path):
    history = [{"role": "system", "content": "You look."}, {"role": "user", "content": "Look at each disk."}]
    store = f"sqlite:{tmp_path / 'agent.db'}"
    told = []
    with Upstream([reply(100)]) as upstream:
        for part in range(2):  # as if the gateway had been started again in between
            with Gate(upstream.url, store=store, window=6_000) as gate:
                for number in range(part * 12, part * 12 + 12):
                    history += step(number)
                    body = json.dumps({"model": "gpt-4o", "messages": history, "tools": [TOOL]}).encode()
                    status, headers, _ = gate.post("/v1/chat/completions", body, x_session_id="one")
                    assert status == 200
                    told.append((int(headers["x-fanfold-tokens-before"]), unmanaged(history)))
                    edits = int(headers["x-fanfold-edits"])
    assert edits > 0
    assert [before for before, _ in told] == sorted(before for before, _ in told)
    assert all(abs(before - really) <= 0.03 * really for before, really in told), told


def entries(number):
    """Lines that a provider bills higher than they are counted: times, hosts, hashes."""
    luck = random.Random(number)
    return "\n".join(
        f"2026-11-{luck.randint(1, 28):02d}T10:{line % 60:02d}:11Z host-{luck.randint(1, 99)} "
        f"request {luck.getrandbits(32):08x} took {luck.randint(1, 999)} ms"
        for line in range(150)
    )


def values(number):
    luck = random.Random(number)
    return "\n".join(json.dumps({"id": luck.getrandbits(40), "value": luck.random()}) for _ in range(150))


def post(url, body):
    """Post a request to Anthropic's API there: the headers and the body of the answer."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
    try:
        told = {"content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01"}
        connection.request("POST", "/v1/messages", json.dumps(body), told)
        answer = connection.getresponse()
        return dict(answer.getheaders()), json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.parametrize("output", [entries, values])
def test_it_is_within_a_tenth_of_what_the_provider_counts_where_outputs_are_denser_than_what_is_left(output):
    def read(request):
        return Turn(f"I read part {request.number}.", calls=[("read", {"part": request.number})])

    tool = {"name": "read", "input_schema": {"type": "object", "properties": {"part": {"type": "integer"}}}}
    history = [{"role": "user", "content": "Read all parts of the report."}]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 1_000, "tools": [tool], "messages": history}
    with (
        Provider(read, window=16_000) as provider,
        Provider(Turn("Done."), window=10**7) as whole,
        Gate(provider.url, window=16_000) as gate,
    ):
        for number in range(24):
            headers, answer = post(gate.url, body)
            (call,) = [block for block in answer["content"] if block["type"] == "tool_use"]
            result = {"type": "tool_result", "tool_use_id": call["id"], "content": output(number)}
            sent = [*history]
            history += [
                {"role": "assistant", "content": answer["content"]},
                {"role": "user", "content": [result]},
            ]
        _, answer = post(whole.url, {**body, "messages": sent})
    usage = answer["usage"]
    really = usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]
    assert int(headers["x-fanfold-edits"]) > 0
    assert int(headers["x-fanfold-tokens-before"]) == pytest.approx(really, rel=0.1)
