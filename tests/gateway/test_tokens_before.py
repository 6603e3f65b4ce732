"""`x-fanfold-tokens-before` says what the client's own request would have had, and does not fall while it grows."""

import json

import fanfold
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
