"""Stored responses over HTTP: looked up, deleted and gone on from, as the client was told them."""

import json

import pytest
from msgspec import convert
from msgspec.structs import replace

from fanfold.gateway.settings import VirtualKey
from tests.gateway.gate import Gate, Upstream
from tests.gateway.test_stored_responses import CALL, RESULT, SECOND, response

TOOL = {"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}
INPUT = [{"role": "user", "content": "What is in a.py?"}]
KEYS = {
    name: convert({"key": f"a-key-of-{name}-and-more", "tenant": name, "openai": "sk-real"}, VirtualKey)
    for name in ("ana", "bob")
}


def told(whole):
    return [json.dumps(whole).encode()]


def streamed(whole):
    begun = {"type": "response.created", "sequence_number": 0, "response": {**whole, "output": []}}
    ends = {"type": "response.completed", "sequence_number": 1, "response": whole}
    return [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in (begun, ends)]


def post(gate, body, key=None):
    named = {"authorization": f"Bearer a-key-of-{key}-and-more"} if key else {}
    status, _, answer = gate.post("/v1/responses", json.dumps({"model": "gpt-5.2", **body}).encode(), **named)
    return status, answer


def ask(gate, method, path, key=None):
    named = {"authorization": f"Bearer a-key-of-{key}-and-more"} if key else {}
    status, _, answer = gate.send(method, f"/v1/responses/{path}", headers=named)
    return status, json.loads(answer)


@pytest.mark.parametrize("streams", [False, True])
def test_a_response_is_looked_up_listed_and_deleted(streams):
    first = response("resp_1", CALL)
    kind = {"content-type": "text/event-stream" if streams else "application/json"}
    with (
        Upstream(streamed(first) if streams else told(first), headers=kind) as upstream,
        Gate(upstream.url) as gate,
    ):
        post(gate, {"input": INPUT, "tools": [TOOL], "stream": streams})
        assert ask(gate, "GET", "resp_1") == (200, first)
        status, items = ask(gate, "GET", "resp_1/input_items?order=asc")
        assert status == 200
        assert [item["content"][0]["text"] for item in items["data"]] == ["What is in a.py?"]
        assert [method for method, *_ in upstream.requests] == ["POST"]
        assert ask(gate, "DELETE", "resp_1") == (
            200,
            {"id": "resp_1", "object": "response", "deleted": True},
        )
        assert [method for method, *_ in upstream.requests] == ["POST", "DELETE"]
        upstream.pieces, upstream.headers = (
            told({"asked": "the provider"}),
            {"content-type": "application/json"},
        )
        assert ask(gate, "GET", "resp_1") == (200, {"asked": "the provider"})


def test_a_request_goes_on_from_a_response_until_that_is_deleted():
    with Upstream(told(response("resp_1", CALL))) as upstream, Gate(upstream.url, keys=KEYS) as gate:
        post(gate, {"input": INPUT, "tools": [TOOL]}, "ana")
        upstream.pieces = told(SECOND)
        more = {"previous_response_id": "resp_1", "input": [RESULT], "tools": [TOOL]}
        assert post(gate, more, "ana")[0] == 200
        assert json.loads(upstream.body)["input"] == [*INPUT, CALL, RESULT]
        assert ask(gate, "GET", "resp_2", "ana") == (200, SECOND)
        assert ask(gate, "DELETE", "resp_1", "ana")[0] == 200
        assert post(gate, more, "ana")[0] == 404


def test_what_another_tenant_has_stored_is_not_known():
    with Upstream(told(response("resp_1", CALL))) as upstream, Gate(upstream.url, keys=KEYS) as gate:
        post(gate, {"input": INPUT, "tools": [TOOL]}, "ana")
        for method, path in (("GET", "resp_1"), ("GET", "resp_1/input_items"), ("DELETE", "resp_1")):
            status, error = ask(gate, method, path, "bob")
            assert status == 404
            assert "a.py" not in json.dumps(error)
        more = {"previous_response_id": "resp_1", "input": [RESULT], "tools": [TOOL]}
        assert post(gate, more, "bob")[0] == 404
        assert len(upstream.requests) == 1
        assert ask(gate, "GET", "resp_1", "ana")[0] == 200


def test_behind_a_key_a_small_question_can_be_gone_on_from_too():
    with Upstream(told(SECOND)) as upstream, Gate(upstream.url, keys=KEYS) as gate:
        assert post(gate, {"input": "What is in a.py?"}, "ana")[0] == 200
        assert ask(gate, "GET", "resp_2", "ana") == (200, SECOND)
        assert post(gate, {"previous_response_id": "resp_2", "input": "And b.py?"}, "ana")[0] == 200
        assert post(gate, {"previous_response_id": "resp_2", "input": "And b.py?"}, "bob")[0] == 404
        assert json.loads(upstream.body)["previous_response_id"] == "resp_2"


def test_a_response_that_is_still_made_is_looked_up_at_its_provider():
    queued = {**response("resp_1"), "status": "queued"}
    with Upstream(told(queued)) as upstream, Gate(upstream.url) as gate:
        post(gate, {"input": INPUT, "tools": [TOOL], "background": True})
        upstream.pieces = told(response("resp_1", CALL))
        assert ask(gate, "GET", "resp_1") == (200, response("resp_1", CALL))
        assert upstream.requests[-1][0] == "GET"


def test_what_is_not_to_be_stored_is_not():
    with Upstream(told(response("resp_1", CALL))) as upstream, Gate(upstream.url, keys=KEYS) as gate:
        post(gate, {"input": INPUT, "tools": [TOOL], "store": False}, "ana")
        assert ask(gate, "GET", "resp_1", "ana")[0] == 404


def test_what_is_only_named_as_an_item_could_be_another_tenants():
    """The provider takes all tenants for one customer: an item's id alone would bring back what another one said."""
    with Upstream(told(response("resp_1", CALL))) as upstream, Gate(upstream.url, keys=KEYS) as gate:
        post(gate, {"input": INPUT, "tools": [TOOL]}, "ana")
        named = [{"type": "item_reference", "id": CALL["id"]}, RESULT]
        status, answer = post(gate, {"input": named, "tools": [TOOL]}, "bob")
        assert (status, len(upstream.requests)) == (404, 1)
        assert b"whole conversation" in answer


SHARED = {name: replace(key, anthropic="sk-ant-real", gemini="real") for name, key in KEYS.items()}
REFERENCE = b'{"model":"gpt-5.2","tools":[],"input":"Go on.",%b}'


@pytest.mark.parametrize(
    "body",
    [
        REFERENCE % b'"previous_response_id":null,"previous_response_id":"resp_1"',
        (REFERENCE % b'"previous_response_id":"resp_1"').decode().encode("utf-16"),
        REFERENCE % b'"previous_respons\\u0065_id":"resp_1"',
        b'{"model":"gpt-5.2","input":[{"id":"msg_1"}]}',
        b'{"model":"gpt-5.2","input":[{"type":"item\\u005freference","id":"msg_1"}]}',
    ],
    ids=["twice", "utf-16", "escaped", "no type", "escaped type"],
)
@pytest.mark.parametrize(
    "path", ["/v1/responses", "/v1/responses/", "/responses", "/v1/responses/input_tokens"]
)
def test_no_way_of_writing_a_reference_leads_to_another_tenant(path, body):
    with Upstream(told(response("resp_1", CALL))) as upstream, Gate(upstream.url, keys=SHARED) as gate:
        post(gate, {"input": INPUT, "tools": [TOOL]}, "ana")
        status, _, answer = gate.post(path, body, authorization="Bearer a-key-of-bob-and-more")
        assert (status in (400, 404), len(upstream.requests)) == (True, 1)
        assert b"a.py" not in answer


def test_a_reference_that_is_escaped_is_also_seen_where_a_conversation_goes_on():
    with Upstream(told(response("resp_1", CALL))) as upstream, Gate(upstream.url, keys=SHARED) as gate:
        history = [*INPUT, CALL, RESULT, *INPUT]
        for end in (1, 3, 4):
            assert post(gate, {"input": history[:end], "tools": [TOOL]}, "bob")[0] == 200
        known = len(upstream.requests)
        body = {
            "model": "gpt-5.2",
            "input": [*history, {"type": "item_reference", "id": "msg_1"}],
            "tools": [TOOL],
        }
        escaped = json.dumps(body).encode().replace(b"item_reference", b"item\\u005freference")
        assert gate.post("/v1/responses", escaped, authorization="Bearer a-key-of-bob-and-more")[0] == 404
        assert len(upstream.requests) == known


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/files"),
        ("GET", "/v1/files/file-1/content"),
        ("POST", "/v1/files"),
        ("GET", "/v1/batches"),
        ("GET", "/v1/chat/completions"),
        ("GET", "/v1/chat/completions/chatcmpl-1/messages"),
        ("GET", "/v1/conversations/conv_1/items"),
        ("GET", "/v1/responses/x/resp_1"),
        ("GET", "/v1/messages/batches"),
        ("GET", "/v1beta/cachedContents"),
        ("GET", "/v1beta/files"),
        ("DELETE", "/v1/models/ft:gpt-5.2:ana"),
    ],
)
def test_what_a_provider_stores_for_several_tenants_is_open_to_none(method, path):
    """It takes all of them for one customer."""
    key = "a-key-of-bob-and-more"
    with Upstream() as upstream:
        told = {"x-api-key": key} if "messages/" in path else {"authorization": f"Bearer {key}"}
        body = b"{}" if method == "POST" else b""
        with Gate(upstream.url, keys=SHARED) as gate:
            assert gate.send(method, path, body, {**told, "content-type": "application/json"})[0] == 404
        assert upstream.requests == []
        own = {name: replace(one, openai=name, anthropic=name, gemini=name) for name, one in SHARED.items()}
        with Gate(upstream.url, keys=own) as gate:
            gate.send(method, path, body, {**told, "content-type": "application/json"})
        assert len(upstream.requests) == 1 or path == "/v1/responses/x/resp_1"


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/moderations", "/v1/models", "/v1/models/gpt-5.2"])
def test_what_is_answered_from_the_request_alone_is_open_to_all(path):
    method = "GET" if "models" in path else "POST"
    headers = {"authorization": "Bearer a-key-of-bob-and-more", "content-type": "application/json"}
    with Upstream() as upstream, Gate(upstream.url, keys=SHARED) as gate:
        assert gate.send(method, path, b"{}" if method == "POST" else b"", headers)[0] == 200
