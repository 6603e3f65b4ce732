"""How the gateway behaves among clients, providers and operators."""

import json
import socket
import threading
import time
from contextlib import contextmanager

import pytest

from tests.gateway.gate import Gate, Upstream

BODY = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}'
SSE = {"content-type": "text/event-stream"}


def test_a_websocket_is_refused_so_that_codex_falls_back_at_once():
    asked = {
        "upgrade": "websocket",
        "connection": "upgrade",
        "sec-websocket-key": "x",
        "sec-websocket-version": "13",
    }
    with Gate() as gate:
        assert gate.send("GET", "/v1/responses", headers=asked)[0] == 426


def test_the_gateway_says_that_it_is_there():
    with Gate() as gate:
        assert gate.send("HEAD", "/")[0] == 200
        assert json.loads(gate.send("GET", "/healthz")[2]) == {"status": "ok"}
        assert b"fanfold_active_requests 1" in gate.send("GET", "/metrics")[2]


@pytest.mark.parametrize("path", ["/nothing", "/v2/messages", "/v1"])
def test_an_address_that_nobody_has_is_told_with_a_way_out(path):
    with Gate() as gate:
        status, _, body = gate.post(path, BODY)
    assert status == 404
    assert "--print" in json.loads(body)["error"]["message"]


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/v1/messages", lambda body: body["error"]["type"]),
        ("/v1/chat/completions", lambda body: body["error"]["type"]),
        ("/v1/responses", lambda body: body["error"]["type"]),
        ("/v1beta/models/g:generateContent", lambda body: body["error"]["status"]),
    ],
)
def test_a_provider_that_is_down_is_told_in_the_clients_dialect(path, shape):
    with Gate("http://127.0.0.1:9") as gate:
        status, _, body = gate.post(path, BODY)
    assert status == 502
    assert shape(json.loads(body)) in ("api_error", "server_error", "INTERNAL")


def test_which_address_is_down_is_told_and_where_it_is_set():
    with Gate("http://127.0.0.1:9") as gate:
        told = gate.post("/v1beta/models/g:generateContent?key=sk-secret", b'{"contents":[]}')[2].decode()
    assert "The provider at 127.0.0.1:9 cannot be reached: " in told
    assert "--upstream PROVIDER=URL" in told
    assert "sk-secret" not in told


@contextmanager
def asking(gate):
    """A connection on which a request was sent."""
    head = b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", gate.port), timeout=60) as connection:
        connection.sendall(head + b"content-length: %d\r\n\r\n" % len(BODY) + BODY)
        yield connection


def test_a_stream_that_breaks_off_breaks_off_for_the_client_too():
    event = b'data: {"x": 1}\n\n'
    broken = Upstream([event], headers=SSE, cut=True)
    with broken as upstream, Gate(upstream.url) as gate, asking(gate) as connection:
        told = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert event in told
    assert not told.endswith(b"0\r\n\r\n"), "nobody may take this for the end"


def test_a_client_that_goes_takes_the_upstream_request_with_it():
    with Upstream([b": x\n\n"] * 400, headers=SSE, delay=0.05) as upstream, Gate(upstream.url) as gate:
        with asking(gate) as connection:
            connection.recv(65_536)
        assert upstream.broken.wait(60)
        until = time.monotonic() + 60
        while gate.gateway.active and time.monotonic() < until:
            time.sleep(0.01)
        assert gate.gateway.active == 0


def test_a_long_silence_is_broken_between_events_only(monkeypatch):
    monkeypatch.setattr("fanfold.gateway.client.SILENCE", 0.1)
    waiting, heard, body = b": fanfold is waiting", threading.Event(), b""

    def pieces():
        yield b'data: {"a": 1}\n\n'
        assert heard.wait(60)
        yield b'data: {"b"'
        time.sleep(0.3)
        yield b": 2}\n\n"

    with Upstream(pieces(), headers=SSE) as upstream, Gate(upstream.url) as gate, asking(gate) as connection:
        while waiting not in body:
            body += connection.recv(65_536)
        heard.set()
        while not body.endswith(b"0\r\n\r\n"):
            body += connection.recv(65_536)
    assert waiting not in body.split(b'data: {"b"')[1].split(b": 2}")[0]


@pytest.mark.parametrize(
    "path", ["/v1/chat/completions/", "/chat/completions/", "/v1/messages/", "/v1/responses/"]
)
def test_a_path_may_end_in_a_slash_and_is_passed_on_so(path):
    said = [{"role": "user", "content": "Where is the bug?"}]
    tool = {"name": "grep", "parameters": {"type": "object"}}
    tools = [{"type": "function", "function": tool, **tool, "input_schema": {"type": "object"}}]
    field = "input" if "responses" in path else "messages"
    body = json.dumps({"model": "gpt-5.2", "max_tokens": 9, field: said, "tools": tools}).encode()
    with Upstream() as upstream, Gate(upstream.url) as gate:
        status, headers, _ = gate.post(path, body)
    assert (status, "x-fanfold-session" in headers) == (200, True), headers
    assert upstream.requests[-1][1].endswith(path)
