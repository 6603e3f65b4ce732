"""Stored responses over HTTP: looked up, deleted and gone on from, as the client was told them."""

import json

import pytest
from msgspec import convert

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
