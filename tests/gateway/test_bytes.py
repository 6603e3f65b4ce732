"""Until a session has its first edit, the provider gets the client's bytes and the client the provider's."""

import gzip
import socket
import zlib

import pytest
import zstandard

from tests.gateway.gate import Gate, Upstream

ODD = b'{ "unknown" : {"deep":[1, 2.50, null]},  "model":"m", "messages" :[{"role":"user", "content":"h\\u00e9"}],'
CHAT = ODD + b'"stream":true}'
ANTHROPIC = ODD + b'"max_tokens":9,"betas":["x"],"stream":true,"metadata":{"user_id":"u"}}'
RESPONSES = b'{"model":"m","input":[{"type":"new_thing","x":1},{"role":"user","content":"hi"}],"stream":true}'
GEMINI = (
    b'{"contents":[{"role":"user","parts":[{"text":"hi"},{"newThing":{}}]}], "generationConfig":{"a": 1.0}}'
)
REQUESTS = {
    "/v1/chat/completions": CHAT,
    "/v1/responses": RESPONSES,
    "/v1/messages?beta=true": ANTHROPIC,
    "/v1beta/models/gemini-x:streamGenerateContent?alt=sse": GEMINI,
}
EVENTS = [
    b": a comment\n\nevent: never_",
    b'heard_of\ndata: {"type":"never_heard_of","odd":  [1]}\n\n',
    b'data: {"half":',
    b'"\xc3',
    b'\xa9"}\r\n\r\ndata: no json at all\n\nid: 7\nretry: 3\ndata\n\n',
    b"data: [DONE]\n\n",
]
KIND = {"content-type": "text/event-stream; charset=utf-8", "x-odd": "yes", "request-id": "req_1"}


@pytest.mark.parametrize("path", REQUESTS)
def test_body_and_stream_are_passed_on_byte_for_byte(path):
    with Upstream(EVENTS, headers=KIND) as upstream, Gate(upstream.url) as gate:
        status, headers, body = gate.post(path, REQUESTS[path], authorization="Bearer k", x_other="1")
    assert (status, body) == (200, b"".join(EVENTS))
    method, asked, told, sent = upstream.requests[0]
    assert (method, asked, sent) == ("POST", path, REQUESTS[path])
    assert (told["authorization"], told["x-other"]) == ("Bearer k", "1")
    assert {name: headers[name] for name in KIND} == KIND


@pytest.mark.parametrize("path", REQUESTS)
@pytest.mark.parametrize("coding", ["gzip", "zstd", "deflate"])
def test_packed_bodies_stay_packed(path, coding):
    pack = {"gzip": gzip.compress, "zstd": zstandard.compress, "deflate": zlib.compress}[coding]
    packed, reply = pack(REQUESTS[path]), pack(b"".join(EVENTS))
    told = {**KIND, "content-encoding": coding}
    with Upstream([reply[:20], reply[20:]], headers=told) as upstream, Gate(upstream.url) as gate:
        _, headers, body = gate.post(path, packed, content_encoding=coding, accept_encoding=coding)
    assert (upstream.body, upstream.requests[0][2]["content-encoding"]) == (packed, coding)
    assert (body, headers["content-encoding"]) == (reply, coding)


@pytest.mark.parametrize("path", REQUESTS)
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 529])
def test_errors_of_the_provider_are_passed_on(path, status):
    error = b'{"error": {"message": "no", "odd": 1}}'
    told = {"content-type": "application/json", "retry-after": "7", "x-ratelimit-left": "0"}
    with Upstream([error], status, told, chunked=False) as upstream, Gate(upstream.url) as gate:
        got, headers, body = gate.post(path, REQUESTS[path])
    assert (got, body, headers["retry-after"], headers["x-ratelimit-left"]) == (status, error, "7", "0")


def test_headers_for_one_hop_end_here_and_no_header_is_made_up():
    with Upstream(headers={"content-type": "a/b", "keep-alive": "timeout=5", "proxy-x": "1"}) as upstream:
        with Gate(upstream.url) as gate:
            hops = {
                "te": "trailers",
                "connection": "x-secret-hop",
                "x-secret-hop": "1",
                "x-fanfold-session": "s",
            }
            _, headers, _ = gate.post("/v1/messages", ANTHROPIC, **hops)
        told = {name.lower() for name in upstream.requests[0][2]}
    assert told == {"host", "accept-encoding", "content-type", "content-length"}
    assert "keep-alive" not in {name.lower() for name in headers}


@pytest.mark.parametrize(
    ("path", "provider"),
    [
        ("/v1/embeddings", "openai"),
        ("/v1/messages/batches", "anthropic"),
        ("/v1beta/models/text-embed:embedContent", "gemini"),
    ],
)
def test_what_is_no_conversation_goes_to_its_provider_as_it_is(path, provider):
    with Upstream() as upstream, Gate(upstreams={provider: upstream.url}) as gate:
        assert gate.post(path, b'{"input": "x"}')[2] == b"{}"
    assert upstream.requests[0][1] == path


@pytest.mark.parametrize(
    ("headers", "provider"),
    [
        ({"authorization": "Bearer k"}, "openai"),
        ({"x-api-key": "k", "anthropic-version": "2023-06-01"}, "anthropic"),
    ],
)
def test_a_list_of_models_is_asked_of_the_provider_whose_key_it_is(headers, provider):
    with Upstream([b'{"data": []}']) as upstream, Gate(upstreams={provider: upstream.url}) as gate:
        assert gate.send("GET", "/v1/models", headers=headers)[::2] == (200, b'{"data": []}')


def test_an_upstream_may_have_the_version_in_its_address_or_not():
    with Upstream() as upstream:
        for address in (upstream.url, upstream.url + "/v1", upstream.url + "/api/v1"):
            with Gate(upstreams={"openai": address}) as gate:
                gate.post("/v1/chat/completions", CHAT)
                gate.post("/chat/completions", CHAT)
    paths = [path for _, path, _, _ in upstream.requests]
    assert paths == ["/v1/chat/completions"] * 4 + ["/api/v1/chat/completions"] * 2


def in_chunks(path, body, size):
    """A request whose body comes in chunks of its own."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    head = (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n"
    )
    return f"{head}transfer-encoding: chunked\r\n\r\n".encode() + chunks + b"0\r\n\r\n"


@pytest.mark.parametrize("path", REQUESTS)
@pytest.mark.parametrize("size", [1, 7, 4_096])
def test_a_request_in_chunks_arrives_whole(path, size):
    with (
        Upstream(EVENTS, headers=KIND) as upstream,
        Gate(upstream.url) as gate,
        socket.create_connection(("127.0.0.1", gate.port), timeout=60) as connection,
    ):
        connection.sendall(in_chunks(path, REQUESTS[path], size))
        told = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert told.startswith(b"HTTP/1.1 200 ")
    assert [body for *_, body in upstream.requests] == [REQUESTS[path]]


@pytest.mark.parametrize("path", REQUESTS)
def test_a_body_packed_with_brotli_is_passed_on_as_it_is(path):
    packed = b"\x0b\x02\x80hello\x03"
    told = {**KIND, "content-encoding": "br"}
    with Upstream([packed[:3], packed[3:]], headers=told) as upstream, Gate(upstream.url) as gate:
        status, headers, body = gate.post(path, packed, content_encoding="br", accept_encoding="br")
    assert (status, upstream.body, upstream.requests[0][2]["content-encoding"]) == (200, packed, "br")
    assert (body, headers["content-encoding"]) == (packed, "br")
