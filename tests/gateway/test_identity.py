"""Which session a request belongs to, and what belongs to none."""

import json

import msgspec
import openai
import pytest

from fanfold.gateway.settings import VirtualKey
from fanfold.testing.provider import Provider, Turn
from tests.gateway.gate import Gate

TOOL = {"name": "grep", "input_schema": {"type": "object", "properties": {}}}
WINDOW = 32_000


def said(role, text):
    return {"role": role, "content": text}


def body(*messages, tools=True, **more):
    tools = {"tools": [TOOL]} if tools else {}
    return json.dumps(
        {"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": messages, **tools, **more}
    ).encode()


def sessions(gate, tenant="default"):
    return gate.gateway.conversations.pool.store.sessions(tenant)


@pytest.fixture
def gate():
    with Provider(Turn("Yes.")) as provider, Gate(provider.url, window=WINDOW) as gate:
        gate.provider = provider
        yield gate


def ask(gate, *messages, tools=True, headers=None, **more):
    status, told, _ = gate.post("/v1/messages", body(*messages, tools=tools, **more), **(headers or {}))
    assert status == 200
    return told


def test_a_client_that_names_its_session_is_believed(gate):
    one, two = {"x_claude_code_session_id": "one"}, {"x_claude_code_session_id": "two"}
    first = [ask(gate, said("user", "hi"), headers=each)["x-fanfold-session"] for each in (one, two)]
    assert first[0].startswith("claude-one-")
    assert first[1].startswith("claude-two-")
    again = ask(gate, said("user", "hi"), said("assistant", "Yes."), said("user", "go"), headers=one)
    assert again["x-fanfold-session"] == first[0]
    assert len(sessions(gate)) == 2


def test_it_may_say_so_in_its_metadata(gate):
    for user in ('{"device_id": "d", "session_id": "abc"}', "user_x_account__session_abc"):
        told = ask(gate, said("user", "hi"), metadata={"user_id": user})
        assert told["x-fanfold-session"].startswith("claude-abc-")
    assert len(sessions(gate)) == 1


def test_sub_agents_have_sessions_of_their_own(gate):
    main, agent = (
        {"x_claude_code_session_id": "s"},
        {"x_claude_code_session_id": "s", "x_claude_code_agent_id": "a"},
    )
    names = {ask(gate, said("user", "hi"), headers=each)["x-fanfold-session"] for each in (main, agent)}
    names |= {ask(gate, said("user", "another root"), headers=main)["x-fanfold-session"]}
    assert len(names) == 3


def test_another_client_is_known_by_its_history(gate):
    history = [said("user", "What is in a.py?")]
    names = set()
    for number in range(4):
        names.add(ask(gate, *history, system=f"Today is day {number}.")["x-fanfold-session"])
        history += [said("assistant", "Yes."), said("user", f"And {number}?")]
    assert len(names) == 1
    other = ask(gate, said("user", "What is in a.py?"))["x-fanfold-session"]
    assert other not in names, "a new conversation may begin like an old one"


def test_a_call_without_tools_that_nobody_began_leaves_no_state(gate):
    told = ask(gate, said("user", "Write a title for: hi"), tools=False)
    assert told["x-fanfold-bypassed"] == "side call"
    assert sessions(gate) == []
    assert gate.gateway.conversations._seen == {}


def test_a_request_of_a_model_that_nobody_knows_is_passed_on():
    with Provider(Turn("Yes.")) as provider, Gate(provider.url) as gate:
        _, told, _ = gate.post("/v1/messages", body(said("user", "hi")).replace(b"sonnet-4-5", b"unheard"))
        assert told["x-fanfold-bypassed"] == "unknown model: UnknownModel"


def test_a_client_that_begins_anew_with_a_summary_stays_in_its_session(gate):
    mine = {"x_claude_code_session_id": "s"}
    history = [said("user", "hi"), said("assistant", "Yes."), said("user", "go")]
    name = ask(gate, *history, headers=mine)["x-fanfold-session"]
    prompt = said("user", "CRITICAL: Respond with TEXT ONLY. Summarize.")
    assert ask(gate, *history[:2], prompt, headers=mine)["x-fanfold-session"] == name
    anew = ask(gate, said("user", "This session goes on from: Yes."), headers=mine)
    assert anew["x-fanfold-session"] == name
    assert len(sessions(gate)) == 1


KEYS = {
    name: msgspec.convert(
        {"key": f"{name}-key-0123456789", "tenant": name, "anthropic": "sk-real", "openai": "sk-real"},
        VirtualKey,
    )
    for name in ("alice", "bob")
}


def test_tenants_with_the_same_history_never_meet():
    with Provider(Turn("Yes.")) as provider, Gate(provider.url, window=WINDOW, keys=KEYS) as gate:
        history = [said("user", "hi"), said("assistant", "Yes."), said("user", "go")]
        for who in ("alice", "bob"):
            ask(gate, *history, headers={"x_api_key": f"{who}-key-0123456789"})
        named = ask(
            gate, *history, headers={"x_api_key": "alice-key-0123456789", "x_fanfold_session": "mine"}
        )
        stolen = ask(gate, *history, headers={"x_api_key": "bob-key-0123456789", "x_fanfold_session": "mine"})
        assert named["x-fanfold-session"] == stolen["x-fanfold-session"]
        assert sessions(gate) == []
        assert len(sessions(gate, "alice")) == len(sessions(gate, "bob")) == 2


FUNCTION = {"type": "function", "name": "grep", "parameters": {"type": "object", "properties": {}}}


def client(gate, key="any"):
    return openai.OpenAI(base_url=gate.openai_base_url, api_key=key, max_retries=0)


def test_a_response_of_another_tenant_cannot_be_referred_to():
    with Provider(Turn("Yes.")) as provider, Gate(provider.url, window=WINDOW, keys=KEYS) as gate:
        alice, bob = client(gate, "alice-key-0123456789"), client(gate, "bob-key-0123456789")
        first = alice.responses.create(model="gpt-5.2", input="hi", tools=[FUNCTION])
        for call in (
            lambda: bob.responses.create(model="gpt-5.2", input="go", previous_response_id=first.id),
            lambda: bob.responses.retrieve(first.id),
            lambda: bob.responses.delete(first.id),
            lambda: bob.responses.create(model="gpt-5.2", input=[{"type": "item_reference", "id": "msg_1"}]),
            lambda: bob.responses.create(model="gpt-5.2", input="go", conversation="conv_1"),
        ):
            with pytest.raises(openai.NotFoundError):
                call()
        assert len(provider.requests) == 1
        assert alice.responses.create(
            model="gpt-5.2", input="go", tools=[FUNCTION], previous_response_id=first.id
        )
        assert len(sessions(gate, "alice")) == 1


def test_codex_gets_a_reference_when_it_compacts_and_nothing_is_lost(gate):
    codex = client(gate)
    headers = {"thread-id": "t1"}
    items = [said("user", f"Remember the number {n}: {'x' * 400}") for n in range(9)]
    items = [part for n, item in enumerate(items) for part in (item, said("assistant", f"I do ({n})."))]
    asked = {"model": "gpt-5.2", "tools": [FUNCTION], "extra_headers": headers, "store": False}
    codex.responses.create(input=[*items, said("user", "go")], **asked)
    before = len(gate.provider.requests)
    trigger = {"type": "compaction_trigger"}
    with codex.responses.stream(input=[*items, said("user", "go"), trigger], **asked) as events:
        told = events.get_final_response()
    assert [item.type for item in told.output] == ["compaction"]
    assert len(gate.provider.requests) == before, "the provider is not asked"
    item = told.output[0].to_dict()
    codex.responses.create(input=[item, said("user", "What was number 3?")], **asked)
    sent = gate.provider.requests[-1].body
    assert "Remember the number 3" in json.dumps(sent["input"])
    assert sent["input"][-1]["content"] == "What was number 3?"
    assert "previous_response_id" not in sent
    assert len(sessions(gate)) == 1
