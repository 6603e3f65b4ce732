"""What no agent sends is refused, and nothing leaks."""

import gzip
import json
import logging
import socket
import zlib

import pytest
import zstandard

from fanfold.core.errors import BadSetting
from tests.gateway.gate import Gate, Upstream

BODY = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}'
SECRET = "sk-ant-very-secret-0123456789"


@pytest.fixture
def upstream():
    with Upstream() as upstream:
        yield upstream


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:4141", "127.0.0.1.evil.example", "", "[::2]", "127.0.0.1:1@evil.example"],
)
def test_a_name_that_leads_here_by_a_trick_is_refused(upstream, host):
    with Gate(upstream.url) as gate:
        assert gate.post("/v1/messages", BODY, host=host)[0] in (400, 421)
    assert upstream.requests == []


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9"},
        {"sec_fetch_site": "cross-site"},
        {"content_type": "text/plain"},
        {"content_type": "application/x-www-form-urlencoded"},
    ],
)
def test_a_web_page_of_another_site_is_refused(upstream, headers):
    with Gate(upstream.url) as gate:
        status, told, _ = gate.post(
            "/v1/messages", BODY, **{name.replace("_", "-"): value for name, value in headers.items()}
        )
    assert status in (403, 415)
    assert upstream.requests == []
    assert not any(name.lower().startswith("access-control") for name in told)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/../../admin",
        "/v1/%2e%2e/x",
        "/v1beta/models/x%2F..%2Fy:generateContent",
        "/v1beta/models/a@evil.example/b:generateContent/..",
        "//evil.example/v1/messages",
        "/v1//messages",
        "/v1/messages%00",
        "/v1/mess\\ages",
        "http://evil.example/v1/messages",
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(upstream, path):
    with Gate(upstream.url) as gate:
        assert gate.post(path, BODY)[0] in (400, 404, 421)
    assert upstream.requests == []


def raw(gate, text):
    """Send bytes, and read what comes back."""
    with socket.create_connection(("127.0.0.1", gate.port), timeout=60) as connection:
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_two_lengths_and_both_kinds_of_length_are_refused(upstream):
    head = b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    with Gate(upstream.url) as gate:
        twice = raw(gate, head + b"content-length: 2\r\ncontent-length: 5\r\n\r\n{}abc")
        both = raw(gate, head + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n")
    assert b" 400 " in twice.splitlines()[0]
    assert b" 400 " in both.splitlines()[0]
    assert upstream.requests == []


def test_two_hosts_are_refused(upstream):
    head = b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: evil.example\r\n"
    with Gate(upstream.url) as gate:
        told = raw(gate, head + b"content-type: application/json\r\ncontent-length: 0\r\n\r\n")
    assert b" 400 " in told.splitlines()[0]
    assert upstream.requests == []


@pytest.mark.parametrize("method", ["TRACE", "PROPFIND"])
def test_a_provider_is_not_asked_to_send_back_the_key_it_got(upstream, method):
    with Gate(upstream.url) as gate:
        assert gate.send(method, "/v1/messages")[0] == 405
    assert upstream.requests == []


def test_headers_without_end_are_not_kept(upstream):
    with (
        Gate(upstream.url) as gate,
        socket.create_connection(("127.0.0.1", gate.port), timeout=60) as connection,
    ):
        connection.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx-long: ")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            connection.sendall(b"a" * (256 << 20))
        head = b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        long = b"x-long: %b\r\ncontent-length: %d\r\n\r\n" % (b"a" * 50_000, len(BODY))
        with socket.create_connection(("127.0.0.1", gate.port), timeout=60) as another:
            another.sendall(head + long + BODY)
            another.recv(65_536)
    assert [body for *_, body in upstream.requests] == [BODY], "what real clients send is taken"


def test_a_body_that_is_too_large_is_refused_before_it_is_read(upstream):
    with Gate(upstream.url) as gate:
        head = b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        told = raw(gate, head + b"content-length: 52428800\r\n\r\n" + b" " * 1000)
    assert b" 413 " in told.splitlines()[0]
    assert json.loads(told.partition(b"\r\n\r\n")[2])["error"]["type"] == "request_too_large"
    assert upstream.requests == []


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, zstandard.compress])
def test_a_bomb_is_refused(upstream, pack):
    coding = {gzip.compress: "gzip", zlib.compress: "deflate", zstandard.compress: "zstd"}[pack]
    bomb = pack(b'{"messages": "' + b" " * (8 << 20))
    with Gate(upstream.url, max_body=1 << 20) as gate:
        assert gate.post("/v1/messages", bomb, content_encoding=coding)[0] == 413
    assert upstream.requests == []


def test_a_key_goes_only_to_its_own_provider(upstream):
    keys = {"x_api_key": SECRET, "x_goog_api_key": "AIza-secret", "authorization": "Bearer sk-secret"}
    with Gate(upstream.url) as gate:
        gate.post("/v1/chat/completions", BODY, **keys)
        gate.post("/v1/messages", BODY, **keys)
        gate.post("/v1beta/models/g:generateContent", b'{"contents":[]}', **keys)
    told = [{name.lower() for name in request[2]} for request in upstream.requests]
    assert [names & {"x-api-key", "x-goog-api-key", "authorization"} for names in told] == [
        {"authorization"},
        {"authorization", "x-api-key"},
        {"authorization", "x-goog-api-key"},
    ]


def test_no_key_is_in_any_log(upstream, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    with Gate(upstream.url) as gate:
        gate.post("/v1/messages", BODY, x_api_key=SECRET)
        gate.post("/v1beta/models/g:generateContent?key=" + SECRET, b'{"contents":[]}')
    with Gate("http://127.0.0.1:9") as gate:
        assert gate.post("/v1beta/models/g:generateContent?key=" + SECRET, b'{"contents":[]}')[0] == 502
        gate.post("/v1/messages", b"no json", x_api_key=SECRET)
        assert SECRET.encode() not in gate.send("GET", "/metrics")[2]
    assert SECRET not in caplog.text + "".join(capfd.readouterr())


def test_a_redirect_is_not_followed(upstream):
    told = {"location": upstream.url + "/v1/messages"}
    with Upstream(status=307, headers=told) as elsewhere, Gate(elsewhere.url) as gate:
        status, headers, _ = gate.post("/v1/messages", BODY, x_api_key=SECRET)
    assert status == 502
    assert "location" not in headers
    assert upstream.requests == []


def test_it_listens_for_others_only_with_keys():
    with pytest.raises(BadSetting, match="others can reach it"):
        Gate(host="0.0.0.0")


KEYS = {
    "alice": {"key": "alice-key-0123456789", "tenant": "alice", "anthropic": "sk-real"},
    "bob": {"key": "bob-key-0123456789ab", "tenant": "bob"},
}


def test_a_virtual_key_stands_for_the_providers(upstream):
    with Gate(upstream.url, keys=keys_of(KEYS)) as gate:
        assert gate.post("/v1/messages", BODY, x_api_key="alice-key-0123456789")[0] == 200
        assert gate.post("/v1/messages", BODY, authorization="Bearer alice-key-0123456789")[0] == 200
        assert gate.post("/v1/messages", BODY, x_api_key="bob-key-0123456789ab")[0] == 403
        assert gate.post("/v1/chat/completions", BODY, authorization="Bearer alice-key-0123456789")[0] == 403
        assert gate.post("/v1/messages", BODY, x_api_key="mallory")[0] == 401
        assert gate.post("/v1/messages", BODY)[0] == 401
        assert gate.send("GET", "/metrics")[0] == 401
        assert gate.send("GET", "/metrics", headers={"x-api-key": "bob-key-0123456789ab"})[0] == 200
        assert gate.send("GET", "/healthz")[0] == 200
    told = [request[2] for request in upstream.requests]
    assert [(headers["x-api-key"], headers["authorization"]) for headers in told] == [("sk-real", None)] * 2


def keys_of(told):
    import msgspec

    from fanfold.gateway.settings import VirtualKey

    return {name: msgspec.convert(key, VirtualKey) for name, key in told.items()}


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1/responses"])
def test_json_that_is_nested_too_deep_is_refused_with_the_reason(upstream, path):
    deep = b'{"model":"m","messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with Gate(upstream.url) as gate:
        status, _, told = gate.post(path, deep)
    assert (status, b"nested too deep" in told, upstream.requests) == (400, True, [])
