"""The store goes away in the middle of a loop, and comes back: the agent goes on, and nothing is lost or doubled."""

import json
import os
import signal
import sqlite3
import time

import pytest

from fanfold.testing.provider import Provider, Turn
from postgres_server import running
from tests.gateway.gate import Gate
from tests.gateway.looping import outputs

WINDOW = 16_000
STEPS = 48
TOOL = {"type": "function", "function": {"name": "grep", "parameters": {"type": "object"}}}


def script(request):
    """A call for many steps, one of them to look something up, then a text."""
    if request.number >= STEPS:
        return Turn("Done.")
    if request.number == 9 and "tool_output_cache" in str(request.body):
        return Turn("", calls=[("tool_output_cache", {"ref_id": "o1"})])
    return Turn("", calls=[("grep", {"pattern": f"x{request.number}"})])


class Loop:
    """A client with its whole history, which asks once for each step."""

    def __init__(self, gate):
        self._gate = gate
        self.history = [{"role": "user", "content": "Where is the bug?"}]
        self.sent, self.bypassed = [], []

    def step(self):
        """Ask, and do what is said; whether it goes on."""
        asked = {"model": "gpt-5.2", "messages": self.history, "tools": [TOOL]}
        headers = {"x_session_id": "one"}
        status, told, body = self._gate.post("/v1/chat/completions", json.dumps(asked).encode(), **headers)
        assert status == 200, body
        self.bypassed.append(told.get("x-fanfold-bypassed", ""))
        said = json.loads(body)["choices"][0]["message"]
        self.history.append(said)
        for call in said.get("tool_calls") or ():
            self.sent.append(outputs(len(self.sent)))
            self.history.append({"role": "tool", "tool_call_id": call["id"], "content": self.sent[-1]})
        return bool(said.get("tool_calls"))


def recorded(gate):
    """The outputs that stand in the log of the only session, in their order."""
    pool = gate.gateway.conversations.pool
    (name,) = pool.store.sessions("default")
    with pool.session(name, window=WINDOW) as chat:
        path = [entry.message for entry in reversed(list(pool.store.path("default", chat.head)))]
    return [part.text for message in path for part in message.results if part.text.startswith("src/m")]


@pytest.mark.slow
def test_postgresql_is_stopped_and_crashes_in_the_middle_of_a_loop():
    with (
        running("fsync=off", "shared_buffers=16MB") as server,
        Provider(script, window=400_000) as provider,
        Gate(provider.url, window=WINDOW, store=server.url, journal="") as gate,
    ):
        loop, down = Loop(gate), []
        for at, how in ((12, signal.SIGINT), (26, signal.SIGQUIT)):
            while len(loop.bypassed) < at:
                assert loop.step()
            server.stop(how)
            for _ in range(5):
                assert loop.step()
                down.append(loop.bypassed[-1])
            server.start()
            _wait_until_managed(loop)
        while loop.step():
            pass
        assert recorded(gate) == loop.sent
    assert [reason.startswith("failed: ") for reason in down] == [True] * 10
    assert {each.verdict for each in provider.requests} == {"accepted"}


def _wait_until_managed(loop):
    until = time.monotonic() + 60
    while loop.step() and loop.bypassed[-1]:
        assert time.monotonic() < until
        time.sleep(0.5)


@pytest.mark.parametrize("how", [pytest.param("locked", marks=pytest.mark.slow), "gone"])
def test_an_sqlite_file_is_locked_or_taken_away_in_the_middle_of_a_loop(tmp_path, how):
    file = tmp_path / "agent.db"
    with (
        Provider(script, window=400_000) as provider,
        Gate(provider.url, window=WINDOW, store=f"sqlite:{file}") as gate,
    ):
        loop = Loop(gate)
        while len(loop.bypassed) < 14:
            assert loop.step()
        if how == "locked":
            other = sqlite3.connect(file, isolation_level=None)
            other.execute("BEGIN EXCLUSIVE")
            assert loop.step()
            other.execute("ROLLBACK")
            other.close()
        else:
            os.rename(file, tmp_path / "elsewhere")
            assert loop.step()
            os.rename(tmp_path / "elsewhere", file)
        while loop.step():
            pass
        assert recorded(gate) == loop.sent
    assert {each.verdict for each in provider.requests} == {"accepted"}
