"""What somebody would try who means harm: as a client, as another tenant, as a web page, as a provider."""

import gzip
import json
import re
import socket
import threading
import time
import zlib
from base64 import urlsafe_b64encode

import msgspec
import pytest
import zstandard

from fanfold.core.errors import BadSetting
from fanfold.gateway import safety, server
from fanfold.gateway.packing import unpack
from fanfold.gateway.settings import VirtualKey
from fanfold.gateway.stream import Overheard
from fanfold.testing.provider import Provider, Turn
from tests.gateway.gate import Gate, Upstream

TOOLS = [{"type": "function", "function": {"name": "run", "parameters": {"type": "object"}}}]
CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "tools": TOOLS}
BODY = json.dumps(CHAT).encode()
REPLY = {
    "id": "r1",
    "model": "gpt-4o",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Noted."}}],
}
_LENGTH = len(BODY)
PATH = "/v1/chat/completions"
BOB = {"authorization": "Bearer key-of-bob-0123456789"}


@pytest.fixture(scope="module")
def upstream():
    with Upstream([json.dumps(REPLY).encode()]) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def gate(upstream):
    with Gate(upstream.url, max_body=1 << 20) as gate:
        yield gate


def keys(**told):
    """Two tenants, for whom the providers have one key."""
    return {name: VirtualKey(key=f"key-of-{name}-0123456789", tenant=name, **told) for name in ("ana", "bob")}


@pytest.fixture(scope="module")
def shared(upstream):
    real = {"openai": "sk-real", "anthropic": "sk-ant-real", "gemini": "AIza-real"}
    with Gate(upstream.url, keys=keys(**real)) as gate:
        yield gate


def raw(gate, data, timeout=30):
    """Send bytes, and read until the other side hangs up."""
    with socket.create_connection(("127.0.0.1", gate.port), timeout=timeout) as connection:
        try:
            connection.sendall(data)
            return b"".join(iter(lambda: connection.recv(65_536), b""))
        except ConnectionError:
            return b""


def head(path=PATH, host="127.0.0.1", length=_LENGTH, **more):
    told = {"connection": "close", "host": host, "content-type": "application/json", **more}
    if length is not None:
        told["content-length"] = length
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in told.items())
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode()


def status(answer):
    found = re.match(rb"HTTP/1\.1 (\d+)", answer)
    return int(found[1]) if found else 0


@pytest.mark.parametrize(
    "host",
    [
        *("2130706433", "0x7f000001", "127.1", "0.0.0.0", "localhost.evil.example", "localhost:1@evil"),
        *(
            "[::1].evil.example",
            "[::1]evil",
            "127.0.0.1:80:80",
            "localhost,evil.example",
            "[::ffff:127.0.0.1]",
        ),
        *("lоcalhost", "user@localhost", "localhost#", "localhost/", "[::1", "::1"),
    ],
)
def test_only_the_own_names_are_hosts(gate, upstream, host):
    known = len(upstream.requests)
    assert status(raw(gate, head(host=host) + BODY)) in (400, 421)
    assert len(upstream.requests) == known


@pytest.mark.parametrize("host", ["127.0.0.1:9", "LOCALHOST", "localhost.", "[::1]", "[::1]:9"])
def test_the_own_names_are_taken_in_every_form(gate, host):
    assert status(raw(gate, head(host=host) + BODY)) == 200


@pytest.mark.parametrize(
    "lines",
    [
        *("origin: file://", "origin: chrome-extension://abc", "origin: ", "origin: http://localhost"),
        *("origin: http://127.0.0.1\r\norigin: https://evil.example", "sec-fetch-site: Cross-Site"),
        *("sec-fetch-site: none\r\nsec-fetch-site: cross-site", "sec-fetch-site: same-site"),
        *(
            "origin: https://evil.example\r\nsec-fetch-site: same-origin",
            "origin: http://127.0.0.1@evil.example",
        ),
        "content-type: text/plain",
    ],
)
def test_headers_of_a_web_page_are_refused_also_in_second_place(gate, upstream, lines):
    known = len(upstream.requests)
    assert status(raw(gate, head().replace(b"host:", lines.encode() + b"\r\nhost:", 1) + BODY)) in (400, 403)
    assert len(upstream.requests) == known


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/v1/messages/%2e%2e/files",
            "/v1/%6dessages",
            "/v1/chat%2fcompletions",
            "/v1/chat/..;/completions",
        ),
        *(
            "/v1/chat/./completions",
            "/v1/chat/.;x/completions",
            "/v1beta/models/..:generateContent",
            "//v1/messages",
        ),
        *(
            "/v1beta/models/a@b/..:generateContent",
            "/v1beta/models/x%3agenerateContent",
            "/v1/responses/../files",
        ),
        *(
            "http://evil.example/v1/chat/completions",
            "http://127.0.0.1/v1/chat/completions",
            "*",
            "evil.example:443",
        ),
        *(
            "/v1/chat/completions\x01",
            "/v1/chat/completions?a=\x01",
            "/v1/chat completions",
            "/v1/chat\\completions",
        ),
    ],
)
def test_no_path_leads_anywhere_but_where_it_says(gate, upstream, path):
    known = len(upstream.requests)
    assert status(raw(gate, head(path=path) + BODY)) in (400, 404)
    assert len(upstream.requests) == known


KIND = b"host: 127.0.0.1\r\ncontent-type: application/json\r\n"
INNER = b"POST /v1/smuggled HTTP/1.1\r\n" + KIND + b"content-length: 2\r\n\r\n{}"


@pytest.mark.parametrize(
    "framed",
    [
        b"transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n",
        b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"transfer-encoding: identity\r\ncontent-length: 2\r\n\r\n{}",
        b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n",
        b"transfer-encoding : chunked\r\n\r\n0\r\n\r\n",
        b"content-length: +2\r\n\r\n{}",
        b"content-length: 0x2\r\n\r\n{}",
        b"content-length: 2,2\r\n\r\n{}",
        b"content-length: 2\r\ncontent-length: 2\r\n\r\n{}",
        b"content-length: 99999999999999999999999\r\n\r\n{}",
        b"transfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n{}",
        b"transfer-encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n",
        b"x-null: \x00\r\ncontent-length: 2\r\n\r\n{}",
    ],
)
def test_a_body_ends_at_one_place_only(gate, upstream, framed):
    known = len(upstream.requests)
    assert status(raw(gate, b"POST /v1/messages HTTP/1.1\r\n" + KIND + framed + INNER)) in (0, 400, 413)
    assert len(upstream.requests) == known


def test_what_comes_behind_a_body_is_no_header(gate, upstream):
    start = head(length=None, transfer_encoding="chunked") + b"%x\r\n%b\r\n0\r\n" % (len(BODY), BODY)
    assert status(raw(gate, start + b"authorization: Bearer late\r\nx-late: 1\r\n\r\n")) == 200
    told = {name.lower() for name in upstream.requests[-1][2]}
    assert told.isdisjoint({"authorization", "x-late"})
    assert upstream.body == BODY


def zstd_unsized(data):
    return zstandard.ZstdCompressor(write_content_size=False).compress(data)


BOMB = b'{"messages":"' + b" " * (16 << 20)


@pytest.mark.parametrize(
    ("coding", "data"),
    [
        ("zstd", zstd_unsized(BOMB)),
        ("x-gzip", gzip.compress(BOMB)),
        ("GZIP", gzip.compress(BOMB)),
        ("gzip", gzip.compress(BODY) + gzip.compress(BOMB)),
        ("zstd", zstandard.compress(BODY) + zstandard.compress(BOMB)),
        ("zstd", zstandard.compress(BODY)[:-6]),
        ("gzip", gzip.compress(BODY)[:-6]),
        ("deflate", zlib.compress(BODY)[:-6]),
    ],
)
def test_a_packed_body_is_one_body_and_whole(gate, upstream, coding, data):
    known = len(upstream.requests)
    assert gate.post(PATH, data, content_encoding=coding)[0] in (400, 413, 415)
    assert len(upstream.requests) == known


@pytest.mark.parametrize("coding", ["br", "gzip, gzip", "identity, gzip", "compress"])
def test_what_cannot_be_unpacked_is_passed_on_unread_but_not_behind_a_shared_key(
    gate, shared, upstream, coding
):
    data = gzip.compress(gzip.compress(BOMB))
    status, headers, _ = gate.post(PATH, data, content_encoding=coding)
    assert (status, headers["x-fanfold-bypassed"]) == (200, "packed in an unknown way")
    assert (upstream.body, upstream.requests[-1][2]["content-encoding"]) == (data, coding)
    known = len(upstream.requests)
    for path in (PATH, "/v1/responses", "/v1/messages"):
        assert shared.post(path, data, content_encoding=coding, **BOB)[0] == 400
    assert len(upstream.requests) == known


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, zstd_unsized, zstandard.compress])
def test_a_packed_body_of_the_largest_size_is_taken_and_none_of_one_byte_more(pack):
    coding = {gzip.compress: "gzip", zlib.compress: "deflate"}.get(pack, "zstd")
    assert unpack(pack(b"a" * 5_000_000), coding, 5_000_000) == b"a" * 5_000_000
    with pytest.raises(safety.Refused) as refused:
        unpack(pack(b"a" * 5_000_001), coding, 5_000_000)
    assert refused.value.status == 413


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize(("coding", "bits"), [("gzip", 31), ("deflate", 15), ("zstd", 0)])
def test_a_reply_that_becomes_gigabytes_is_passed_on_and_not_read(kind, coding, bits):
    packing = zlib.compressobj(9, zlib.DEFLATED, bits) if bits else zstandard.ZstdCompressor().compressobj()
    bomb = b"".join(packing.compress(b" " * (16 << 20)) for _ in range(64)) + packing.flush()
    heard = Overheard(kind, coding, streams=False)
    for at in range(0, len(bomb), 1 << 16):
        heard.pass_by(bomb[at : at + (1 << 16)])
    assert heard.deaf
    assert heard.size < 130 << 20
    assert heard.body() is None
    assert heard.events == []


def test_an_error_that_nobody_can_unpack_is_passed_on_as_it_came():
    for coding in ("br", "gzip", "zstd"):
        told = {"content-type": "application/json", "content-encoding": coding}
        with Upstream([b"no such thing"], 400, told) as upstream, Gate(upstream.url) as gate:
            got, headers, body = gate.post(PATH, BODY)
        assert (got, headers["content-encoding"], body) == (400, coding, b"no such thing")


def test_an_error_without_end_is_not_kept_in_memory():
    with Upstream([b"x" * (1 << 20)] * 20, 400) as upstream, Gate(upstream.url) as gate:
        got, _, body = gate.post(PATH, BODY)
    assert (got, len(body)) == (400, 20 << 20)


class Odd:
    """A provider that writes these bytes, whatever it is asked."""

    def __init__(self, answer):
        self._answer = answer

    def __enter__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __exit__(self, *error):
        self._socket.close()

    def _serve(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(10)
                try:
                    connection.recv(1 << 20)
                    connection.sendall(self._answer)
                except OSError:
                    continue


OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 %d Odd\r\ncontent-length: 2\r\n\r\n{}" % n for n in (600, 999)]
)
def test_a_status_that_nobody_knows_is_an_error_of_the_provider(answer):
    with Odd(answer) as url, Gate(url) as gate:
        assert gate.post(PATH, BODY)[0] == 502


@pytest.mark.parametrize("answered", [301, 302, 303, 305, 307, 308])
def test_no_redirect_is_followed_or_told(answered):
    with Odd(b"HTTP/1.1 %d R\r\nlocation: http://evil.example/\r\n\r\n" % answered) as url, Gate(url) as gate:
        told = gate.post(PATH, BODY)
    assert (told[0], "evil" in str(told)) == (502, False)


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-ty",
        OK + b"content-length: 2\r\ncontent-length: 40\r\n\r\n{}",
        OK + b"x: " + b"a" * 200_000 + b"\r\ncontent-length: 2\r\n\r\n{}",
        OK + b"x: \x00\r\ncontent-length: 2\r\n\r\n{}",
    ],
)
def test_what_is_no_answer_is_an_error_of_the_provider(answer):
    with Odd(answer) as url, Gate(url) as gate:
        assert gate.post(PATH, BODY)[0] == 502
        assert gate.send("GET", "/healthz")[0] == 200


def test_a_provider_cannot_speak_as_the_gateway():
    spoofed = OK + b"x-fanfold-session: evil\r\nX-Fanfold-Edits: 9\r\ncontent-length: 2\r\n\r\n{}"
    with Odd(spoofed) as url, Gate(url) as gate:
        _, headers, _ = gate.post(PATH, BODY)
    assert ("evil" in headers["x-fanfold-session"], headers["x-fanfold-edits"]) == (False, "0")


def test_what_opens_the_inspector_goes_to_no_provider(gate, upstream):
    token = gate.gateway.inspection.token()
    _, headers, _ = gate.send("GET", f"/?token={token}", headers={"accept": "text/html"})
    cookie = headers["set-cookie"].partition(";")[0]
    gate.send("GET", "/v1/models", headers={"cookie": f"theirs=1; {cookie}; more=2"})
    assert upstream.requests[-1][2]["cookie"] == "theirs=1; more=2"
    gate.send("GET", "/v1/models", headers={"cookie": cookie})
    assert upstream.requests[-1][2]["cookie"] is None


@pytest.mark.parametrize("field", ["key", "openai"])
@pytest.mark.parametrize(
    "word", ["schlüssel-0123456789", "sk-0123456789abcdef\n", "sk-0123 456789abcdef", "sk\r\nx: 1" * 4]
)
def test_a_key_that_no_header_can_carry_is_found_at_the_start(field, word):
    told = {"key": "key-of-ana-0123456789", "tenant": "ana", "openai": "sk-real", field: word}
    with pytest.raises(BadSetting, match="that no header can carry"):
        Gate(keys={"ana": VirtualKey(**told)})


ITEM = {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}


def responses(**more):
    return "/v1/responses", {"model": "gpt-5.2", "input": [ITEM], **more}


def messages(part=None, **more):
    told = [{"role": "user", "content": [part or {"type": "text", "text": "hi"}]}]
    return "/v1/messages", {"model": "claude-opus-4-5", "max_tokens": 9, "messages": told, **more}


def gemini(part=None, **more):
    told = {"contents": [{"role": "user", "parts": [part or {"text": "hi"}]}], **more}
    return "/v1beta/models/gemini-3-pro:generateContent", told


SCHEMA = {"type": "object", "properties": {"file_id": {"type": "string"}}}
ADDRESS = "https://generativelanguage.googleapis.com/v1beta/files/ana"
OTHERS = [
    responses(previous_response_id="resp_ana"),
    responses(conversation={"id": "conv_ana"}),
    responses(input=[{"id": "msg_ana"}]),
    responses(input=[{"role": "user", "content": [{"type": "input_file", "file_id": "file-ana"}]}]),
    responses(input=[{"role": "user", "content": [{"type": "input_image", "file_id": "file-ana"}]}]),
    responses(tools=[{"type": "file_search", "vector_store_ids": ["vs_ana"]}]),
    responses(tools=[{"type": "code_interpreter", "container": "cntr_ana"}]),
    responses(tools=[{"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["file-ana"]}}]),
    responses(
        input=[ITEM, {"type": "code_interpreter_call", "id": "c", "container_id": "cntr_ana", "code": "1"}]
    ),
    (
        PATH,
        {
            **CHAT,
            "messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-ana"}}]}],
        },
    ),
    messages({"type": "document", "source": {"type": "file", "file_id": "file_ana"}}),
    messages(container="container_ana"),
    messages(container={"id": "container_ana", "skills": []}),
    gemini(cachedContent="cachedContents/ana"),
    gemini({"fileData": {"fileUri": ADDRESS}}),
    gemini({"file_data": {"file_uri": "files/ana"}}),
    gemini(tools=[{"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/ana"]}}]),
    ("/v1beta/tunedModels/ana:transferOwnership", {"emailAddress": "bob@example.com"}),
    ("/v1beta/models/g:batchGenerateContent", {"batch": {"inputConfig": {"fileName": "files/ana"}}}),
    ("/v1beta/models/g:predictLongRunning", {}),
    ("/v1/audio/voices", {}),
    ("/v1/messages/batches", {"requests": []}),
    ("/v1/batches", {"input_file_id": "file-ana"}),
    ("/v1/vector_stores/vs_ana/search", {"query": "x"}),
]


@pytest.mark.parametrize(("path", "body"), OTHERS)
def test_behind_a_shared_key_nothing_is_named_that_another_tenant_may_have_stored(
    shared, upstream, path, body
):
    known = len(upstream.requests)
    got, _, told = shared.post(path, json.dumps(body).encode(), **BOB)
    assert (got, b"error" in told, len(upstream.requests)) == (404, True, known)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        messages({"type": "tool_use", "id": "t", "name": "read", "input": {"file_id": "mine"}}),
        responses(tools=[{"type": "code_interpreter", "container": {"type": "auto"}}]),
        gemini({"fileData": {"fileUri": "https://example.com/files/a.pdf"}}),
        gemini({"functionCall": {"name": "read", "args": {"file_id": "mine"}}}),
        (PATH, {**CHAT, "tools": [{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}]}),
    ],
)  # fmt: skip
def test_words_of_models_and_tools_are_no_references(shared, path, body):
    assert shared.post(path, json.dumps(body).encode(), **BOB)[0] == 200


def test_a_reference_is_found_also_in_what_only_goes_on(shared, upstream):
    first = [{"role": "user", "content": "Look at this."}, {"role": "assistant", "content": "Noted."}]
    more = [*first, {"role": "user", "content": "And this."}]
    named = {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-ana"}}]}
    for history in (first, more):
        assert shared.post(PATH, msgspec.json.encode({**CHAT, "messages": history}), **BOB)[0] == 200
    known = len(upstream.requests)
    assert shared.post(PATH, msgspec.json.encode({**CHAT, "messages": [*more, named]}), **BOB)[0] == 404
    assert len(upstream.requests) == known


@pytest.mark.parametrize("session", ["evil\r\nset-cookie: a=1", "../../x", "chat-one"])
def test_a_reference_that_nobody_gave_opens_no_session(gate, upstream, session):
    name = urlsafe_b64encode(session.encode()).decode()
    item = {"type": "compaction", "encrypted_content": f"fanfold.{name}.resp_made_up"}
    asked = {
        "model": "gpt-5.2",
        "input": [item, ITEM],
        "tools": [{"type": "function", **TOOLS[0]["function"]}],
    }
    status, headers, _ = gate.post("/v1/responses", json.dumps(asked).encode())
    assert (status, headers["x-fanfold-bypassed"]) == (200, "stored elsewhere")
    assert session not in gate.gateway.conversations.pool.store.sessions("default")


ODD_REQUESTS = {
    "a model that leads elsewhere": {"model": "../../v1/files"},
    "a content of no kind": {"messages": [{"role": "user", "content": {"a": 1}}]},
    "tools of no kind": {"tools": [5]},
}


@pytest.mark.parametrize("odd", ODD_REQUESTS)
def test_what_cannot_be_converted_is_the_clients_mistake(upstream, odd):
    known = len(upstream.requests)
    with Gate(None, upstreams={"openai": f"gemini+{upstream.url}"}) as gate:
        status, _, told = gate.post(PATH, json.dumps({**CHAT, **ODD_REQUESTS[odd]}).encode())
    assert (status, b"cannot be converted" in told, len(upstream.requests)) == (400, True, known)


def test_fields_that_are_lost_make_no_header_of_their_own():
    body = {**CHAT, "x\r\nset-cookie: a=1": 1, "é": 2, **{f"field{n}": n for n in range(5_000)}}
    with (
        Provider([Turn("Hi.")]) as provider,
        Gate(None, upstreams={"openai": f"anthropic+{provider.url}"}) as gate,
    ):
        _, headers, _ = gate.post(PATH, json.dumps({**body, "model": "claude-sonnet-4-5"}).encode())
    assert "set-cookie" not in {name.lower() for name in headers}
    assert "x??set-cookie: a=1" in headers["x-fanfold-lost"]
    assert len(headers["x-fanfold-lost"]) < 2_100


@pytest.mark.parametrize("pair", [("a/b", "a:b"), ("x" * 100 + "1", "x" * 100 + "2"), ("é", "è")])
def test_sessions_with_names_that_look_alike_are_two(gate, pair):
    named = [
        re.search(rb"x-fanfold-session: (\S+)", raw(gate, head(x_session_id=name) + BODY))[1] for name in pair
    ]
    assert named[0] != named[1]


def test_a_name_that_begins_another_name_does_not_get_its_session(gate):
    said = {"role": "user", "content": "These words are said in two sessions."}
    more = [said, {"role": "assistant", "content": "Noted."}, {"role": "user", "content": "Go on."}]
    _, one, _ = gate.post(PATH, json.dumps({**CHAT, "messages": [said]}).encode(), x_session_id="p-q")
    _, two, _ = gate.post(PATH, json.dumps({**CHAT, "messages": more}).encode(), x_session_id="p")
    assert one["x-fanfold-session"] != two["x-fanfold-session"]


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "..", "a" * 5_000, "\u202eevil", "*", "%s"]
)
def test_a_name_of_a_session_is_no_path(gate, name):
    told = raw(gate, head(x_fanfold_session=name) + BODY)
    assert (status(told), b"/" in re.search(rb"x-fanfold-session: (\S+)", told)[1]) == (200, False)


def test_whoever_is_slow_with_headers_or_a_body_is_left(upstream, monkeypatch):
    monkeypatch.setattr(server, "HEAD_TIME", 0.3)
    monkeypatch.setattr(safety, "BODY_TIME", 0.3)
    with Gate(upstream.url) as gate:
        began = time.monotonic()
        assert raw(gate, head()[:40]) == b""
        assert raw(gate, b"") == b""
        assert status(raw(gate, head() + b"{")) == 408
        assert time.monotonic() - began < 20
        assert gate.post(PATH, BODY)[0] == 200
