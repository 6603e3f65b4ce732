"""Responses that are kept: looked up, listed, deleted, and gone on from, by their tenant alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanfold.core.edit import READ
from fanfold.core.errors import BadInput
from fanfold.dialects.http.errors import write_error
from fanfold.gateway.responses import StoredResponses, UnknownResponse
from fanfold.session.pool import Pool
from fanfold.stores.memory import Memory

ASKED: dict[str, Any] = {"model": "gpt-5.2", "input": [{"role": "user", "content": "What is in a.py?"}]}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c1",
    "name": "read",
    "arguments": '{"path":"a.py"}',
    "status": "completed",
}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "print(1)"}


def response(id: str, *output: dict[str, Any]) -> dict[str, Any]:
    return {"id": id, "object": "response", "status": "completed", "model": "gpt-5.2", "output": list(output)}


FIRST = response("resp_1", CALL)
SECOND = response(
    "resp_2",
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "A print.", "annotations": []}],
    },
)


@pytest.fixture(params=["memory", "sqlite"])
def pool(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pool]:
    store = Memory() if request.param == "memory" else f"sqlite:{tmp_path / 'kept.db'}"
    made = Pool(store, filters=(), recall=False)
    yield made
    made.close()


def answer(pool: Pool, stored: StoredResponses, body: dict[str, Any], told: dict[str, Any]) -> None:
    """What a gateway does with a request and its reply."""
    whole = stored.expand("ana", body)
    with pool.session("run", tenant="ana", dialect="openai.responses", window=32_000) as chat:
        chat.merge(whole)
        sent = chat.request()
        chat.receive(told, to=sent)
        head = chat.head
    stored.keep("ana", told, asked=body, tip=sent.sent.tip, head=head)


def go_on() -> dict[str, Any]:
    return {"model": "gpt-5.2", "previous_response_id": "resp_1", "input": [RESULT]}


def test_a_response_is_looked_up_as_it_was_told(pool: Pool) -> None:
    stored = StoredResponses(pool)
    answer(pool, stored, ASKED, FIRST)
    assert stored.get("ana", "resp_1") == FIRST


def test_a_request_goes_on_from_a_response_with_all_that_came_before(pool: Pool) -> None:
    stored = StoredResponses(pool)
    answer(pool, stored, ASKED, FIRST)
    whole = stored.expand("ana", go_on())
    assert whole == {"model": "gpt-5.2", "input": [*ASKED["input"], CALL, RESULT]}
    answer(pool, stored, go_on(), SECOND)
    third = stored.expand("ana", {"previous_response_id": "resp_2", "input": "Thanks."})
    last = {"type": "message", "role": "user", "content": "Thanks."}
    assert third == {"input": [*ASKED["input"], CALL, RESULT, *SECOND["output"], last]}
    again = stored.expand("ana", {**go_on(), "input": [{"type": "item_reference", "id": "fc_1"}]})
    assert again["input"][-1] == CALL


def test_a_whole_history_is_passed_on_as_it_is(pool: Pool) -> None:
    assert StoredResponses(pool).expand("ana", ASKED) == ASKED


def test_the_items_of_an_input_are_listed_in_pages(pool: Pool) -> None:
    stored = StoredResponses(pool)
    answer(pool, stored, ASKED, FIRST)
    answer(pool, stored, go_on(), SECOND)
    listed = stored.input_items("ana", "resp_2", "order=asc")
    assert [item["type"] for item in listed["data"]] == ["message", "function_call", "function_call_output"]
    assert listed["data"][0]["content"] == [{"type": "input_text", "text": "What is in a.py?"}]
    assert (listed["object"], listed["has_more"], listed["data"][1]["id"]) == ("list", False, "fc_1")
    newest = stored.input_items("ana", "resp_2", "limit=1")
    assert (newest["data"][0]["type"], newest["has_more"]) == ("function_call_output", True)
    rest = stored.input_items("ana", "resp_2", f"limit=5&after={newest['last_id']}")
    assert [item["type"] for item in rest["data"]] == ["function_call", "message"]
    assert stored.input_items("ana", "resp_2", "limit=x&after=nothing")["data"] == listed["data"][::-1]


def test_the_input_of_a_request_that_no_session_has_is_kept_with_it(pool: Pool) -> None:
    stored = StoredResponses(pool)
    stored.keep("ana", SECOND, asked={"input": "Hi"})
    (item,) = stored.input_items("ana", "resp_2")["data"]
    assert item["content"] == [{"type": "input_text", "text": "Hi"}]


def test_what_the_model_looked_up_is_none_of_the_clients_items(pool: Pool) -> None:
    stored = StoredResponses(pool)
    look = {"type": "function_call", "call_id": "h1", "name": READ, "arguments": "{}"}
    found = {"type": "function_call_output", "call_id": "h1", "output": "lines"}
    answer(pool, stored, {"input": [*ASKED["input"], look, found, CALL, RESULT]}, SECOND)
    listed = stored.input_items("ana", "resp_2", "order=asc")["data"]
    assert [item.get("call_id") for item in listed] == [None, "c1", "c1"]


def test_a_deleted_response_is_gone_and_the_conversation_stays(pool: Pool) -> None:
    stored = StoredResponses(pool)
    answer(pool, stored, ASKED, FIRST)
    assert stored.delete("ana", "resp_1") == {"id": "resp_1", "object": "response", "deleted": True}
    for look in (stored.get, stored.delete, stored.input_items):
        with pytest.raises(UnknownResponse):
            look("ana", "resp_1")
    with pytest.raises(UnknownResponse):
        stored.expand("ana", go_on())
    with pool.session("run", tenant="ana", dialect="openai.responses", window=32_000) as chat:
        assert [row.messages[0].role for row in chat.view().rows if row.kind == "entry"] == [
            "user",
            "assistant",
        ]
    stored.keep("ana", FIRST, asked=ASKED)
    with pytest.raises(UnknownResponse):
        stored.get("ana", "resp_1")


def test_nobody_reaches_the_responses_of_another_tenant(pool: Pool) -> None:
    stored = StoredResponses(pool)
    answer(pool, stored, ASKED, FIRST)
    for look in (stored.get, stored.delete, stored.input_items):
        with pytest.raises(UnknownResponse) as raised:
            look("bob", "resp_1")
        assert write_error("openai.responses", raised.value.trouble).status == 404
    with pytest.raises(UnknownResponse) as raised:
        stored.expand("bob", go_on())
    error = write_error("openai.responses", raised.value.trouble)
    assert (error.status, error.body["error"]["code"]) == (400, "previous_response_not_found")
    assert stored.get("ana", "resp_1") == FIRST


def test_nothing_is_kept_that_is_not_to_be_kept(pool: Pool) -> None:
    stored = StoredResponses(pool)
    stored.keep("ana", FIRST, asked={**ASKED, "store": False})
    with pytest.raises(UnknownResponse):
        stored.get("ana", "resp_1")


def test_a_kept_response_is_no_conversation_that_a_history_belongs_to(pool: Pool) -> None:
    stored = StoredResponses(pool)
    answer(pool, stored, ASKED, FIRST)
    found = pool.find(ASKED, tenant="ana", dialect="openai.responses")
    assert list(found.candidates) == ["run"]


def test_a_response_that_is_kept_twice_stays_as_it_was(pool: Pool) -> None:
    stored = StoredResponses(pool)
    answer(pool, stored, ASKED, FIRST)
    stored.keep("ana", {**FIRST, "status": "failed"}, asked=ASKED)
    assert stored.get("ana", "resp_1") == FIRST


def test_lists_show_conversations_and_no_responses(pool: Pool) -> None:
    stored = StoredResponses(pool)
    answer(pool, stored, ASKED, FIRST)
    assert pool.store.sessions("ana") == ["run"]


def test_what_is_erased_from_a_conversation_is_gone_from_its_responses(pool: Pool) -> None:
    stored = StoredResponses(pool)
    answer(pool, stored, ASKED, FIRST)
    answer(pool, stored, go_on(), SECOND)
    with pool.session("run", tenant="ana", dialect="openai.responses", window=32_000) as chat:
        asked, *_, told = (row for row in chat.view().rows if row.kind == "entry")
        chat.erase(told.id, "a secret")
        chat.erase(asked.id, "a secret")
    assert stored.get("ana", "resp_2")["output"] == []
    assert "What is in a.py?" not in str(stored.input_items("ana", "resp_2"))
    assert "A print." not in str(stored.expand("ana", {"previous_response_id": "resp_2", "input": "Go on."}))


def test_no_tenant_can_be_called_like_the_place_of_anothers_responses(pool: Pool) -> None:
    with pytest.raises(BadInput):
        StoredResponses(pool).get("ana\N{SYMBOL FOR UNIT SEPARATOR}responses", "resp_1")
