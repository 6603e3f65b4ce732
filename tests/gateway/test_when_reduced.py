"""When a conversation behind the gateway is reduced: later than elsewhere, unless settings say when."""

import json

import pytest

from fanfold.gateway.budget import TRIGGER, fuller_budget
from tests.gateway.gate import Gate, Upstream
from tests.gateway.test_erased import REPLY, TOOL

WINDOW = 16_000


def last_before(gate, upstream):
    """The tokens of the longest request that was sent as it came, in a conversation that grows by small steps."""
    messages, longest = [{"role": "user", "content": "Look at all."}], 0
    for step in range(120):
        output = "\n".join(f"src/m{line}.py:{line}: found in step {step}" for line in range(12))
        call = {"id": f"c{step}", "type": "function", "function": {"name": "run", "arguments": "{}"}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{step}", "content": output},
        ]
        asked = {"model": "gpt-4o", "messages": messages, "tools": [TOOL]}
        _, headers, _ = gate.post("/v1/chat/completions", json.dumps(asked).encode(), x_session_id="one")
        if headers["x-fanfold-edits"] != "0":
            return longest
        longest = int(headers["x-fanfold-tokens"])
    raise AssertionError("nothing was reduced")


@pytest.mark.parametrize(("said", "least", "most"), [(None, 0.85, TRIGGER), ("0.6", 0.5, 0.6)])
def test_a_given_window_is_used_further_unless_settings_say_when_to_reduce(said, least, most, monkeypatch):
    if said is not None:
        monkeypatch.setenv("FANFOLD_TRIGGER", said)
    told = {key: value for key, value in REPLY.items() if key != "usage"}
    with Upstream([json.dumps(told).encode()]) as upstream, Gate(upstream.url, window=WINDOW) as gate:
        longest = last_before(gate, upstream)
    room = fuller_budget("gpt-4o", WINDOW, "openai.chat").room
    assert least < longest / room <= most


def test_where_it_is_time_and_nothing_can_be_left_out_no_byte_changes():
    told = {key: value for key, value in REPLY.items() if key != "usage"}
    messages = [{"role": "user", "content": " ".join(f"word{n}" for n in range(4_600))}]
    with Upstream([json.dumps(told).encode()]) as upstream, Gate(upstream.url, window=WINDOW) as gate:
        for _ in range(6):
            asked = json.dumps({"model": "gpt-4o", "messages": messages, "tools": [TOOL]}).encode()
            _, headers, _ = gate.post("/v1/chat/completions", asked, x_session_id="one")
            assert (headers["x-fanfold-edits"], upstream.body == asked) == ("0", True)
            messages += [{"role": "assistant", "content": "Noted."}, {"role": "user", "content": "Go on."}]
