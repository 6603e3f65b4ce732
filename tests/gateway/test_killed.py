"""Gateways are killed at random moments, and nothing of a conversation is lost or doubled."""

import json
import random
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection, HTTPException

import psycopg
import pytest

import fanfold
from fanfold.testing.provider import Provider, Turn
from postgres_server import GIVEN, running
from tests.gateway.test_loops import outputs

WINDOW = 16_000
STEPS = 60
KILLS = 100
PATIENCE = 200
TOOL = {"type": "function", "function": {"name": "grep", "parameters": {"type": "object"}}}


class Replica:
    """`fanfold serve` in a process of its own, on a port of its own."""

    def __init__(self, folder, upstream, store):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        told = ["--port", str(self.port), "--window", str(WINDOW), "--store", store, "--inspector", "off"]
        self._command = [sys.executable, "-m", "fanfold", "serve", *told, "--upstream", f"openai={upstream}"]
        self._folder = folder
        self.start()

    def start(self):
        with open(self._folder / f"{self.port}.log", "ab") as log:
            self._process = subprocess.Popen(self._command, cwd=self._folder, stdout=log, stderr=log)
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.05)
        raise TimeoutError("it does not start")

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


class Killer(threading.Thread):
    """Kills now the one and now the other, and starts it again before the next one dies."""

    def __init__(self, replicas, times, seed):
        super().__init__(daemon=True)
        self._replicas, self._left, self._chosen = replicas, times, random.Random(seed)
        self.kills = 0

    def run(self):
        while self._left > self.kills:
            time.sleep(self._chosen.uniform(0, 0.4))
            replica = self._chosen.choice(self._replicas)
            replica.kill()
            self.kills += 1
            replica.start()


def ask(port, body):
    """A whole reply, from its stream; an error where it broke off."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(
            "POST",
            "/v1/chat/completions",
            json.dumps(body),
            {"content-type": "application/json", "x-session-id": body["user"]},
        )
        answer = connection.getresponse()
        lines = answer.read().decode().split("\n\n")
        assert answer.status == 200, lines
    finally:
        connection.close()
    if "data: [DONE]" not in lines:
        raise ConnectionError("the stream broke off")
    deltas = [json.loads(line[6:])["choices"] for line in lines if line.startswith("data: {")]
    calls = [call for choices in deltas for one in choices for call in one["delta"].get("tool_calls") or ()]
    told = {"id": calls[0]["id"], "type": "function", "function": dict(calls[0]["function"])}
    told["function"]["arguments"] = "".join(call["function"].get("arguments") or "" for call in calls)
    return {"role": "assistant", "content": None, "tool_calls": [told]}


def run_loop(name, replicas):
    """A loop to its end, with the client's own retries; its history, and how often it had to try again."""
    history, texts, retries = [{"role": "user", "content": f"Where is the bug of {name}?"}], outputs(), 0
    for step in range(STEPS):
        asked = {"model": "gpt-5.2", "user": name, "messages": history, "tools": [TOOL], "stream": True}
        for attempt in range(PATIENCE):
            try:
                reply = ask(replicas[(step + attempt) % 2].port, asked)
                break
            except (OSError, HTTPException):
                retries += 1
                time.sleep(0.02)
        else:
            raise TimeoutError("no gateway answered")
        (call,) = reply["tool_calls"]
        history += [reply, {"role": "tool", "tool_call_id": call["id"], "content": next(texts)}]
    return history, retries


def said(message):
    return (
        message.role,
        message.text,
        [call.id for call in message.calls],
        [part.call for part in message.results],
    )


def told(message):
    calls = [call["id"] for call in message.get("tool_calls") or ()]
    answered = [message["tool_call_id"]] if message["role"] == "tool" else []
    text = "" if answered else message["content"] or ""
    return message["role"], text, calls, answered


@pytest.fixture
def database():
    if GIVEN:
        yield from made(GIVEN)
    else:
        with running("fsync=off", "shared_buffers=16MB") as server:
            yield from made(server.url)


def made(server):
    name = f"killed_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield server.replace("/postgres?", f"/{name}?", 1)


@pytest.mark.slow
def test_two_replicas_are_killed_a_hundred_times_and_no_message_is_lost_or_doubled(tmp_path, database):
    def play(request):
        return Turn("", calls=[("grep", {"pattern": f"x{request.number}"})])

    with Provider(play, window=WINDOW) as provider:
        replicas = [Replica(tmp_path, provider.url, database) for _ in range(2)]
        killer, loops, retries = Killer(replicas, KILLS, seed=24), [], 0
        killer.start()
        try:
            while killer.is_alive():
                history, more = run_loop(f"loop{len(loops)}", replicas)
                loops.append(history)
                retries += more
            killer.join()
        finally:
            for replica in replicas:
                replica.kill()
    assert (killer.kills, retries > 0) == (KILLS, True)
    assert {each.verdict for each in provider.requests} <= {"accepted", "failed"}
    assert max(each.tokens for each in provider.requests) <= WINDOW
    with fanfold.Pool(database, remember=False) as pool:
        names = pool.store.sessions("default")
        assert len(names) == len(loops), "each loop is one session"
        for number, history in enumerate(loops):
            (name,) = [each for each in names if f"loop{number}-" in each]
            with pool.session(name, window=WINDOW) as chat:
                path = [entry.message for entry in pool.store.path("default", chat.head)]
                kept = {chat.output(one.ref).text() for one in chat.outputs()}
            recorded = [said(message) for message in reversed(path)]
            # The last output was never sent, and the last reply may have been recorded or not.
            assert recorded == [told(message) for message in history][: len(recorded)]
            assert len(recorded) >= len(history) - 2
            assert {each["content"] for each in history[:-2] if each["role"] == "tool"} <= kept
    print(f"{len(loops)} loops of {STEPS} steps, {killer.kills} kills, {retries} retries")
