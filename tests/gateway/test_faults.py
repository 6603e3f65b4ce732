"""What can go wrong, and that an agent goes on all the same."""

import json
from concurrent.futures import ThreadPoolExecutor
from http.client import IncompleteRead

import anthropic
import openai
import pytest
from google import genai

from fanfold.core.errors import StoreFailed
from fanfold.testing.provider import Fail, Provider, Turn
from tests.gateway.gate import Gate, Upstream
from tests.provider.test_sdks import (
    FAULTS,
    THOUGHT,
    Anthropic,
    Chat,
    Gemini,
    Responses,
    both_ways,
    each_loop,
    script,
)

LONG = "\n".join(f"src/m{line}.py:{line}: found {line * 7}" for line in range(900))


@each_loop
@both_ways
def test_too_long_is_recovered_before_the_client_hears_of_it(loop, stream):
    """The gateway believes in the model's own window; the provider takes much less."""
    with Provider(script, window=24_000) as provider, Gate(provider.url, window=200_000) as gate:
        talk = loop(gate)
        talk.output = LONG
        for _ in range(6):
            text = talk.take(talk.ask(stream))
        assert gate.gateway.metrics.count("refused_too_long") > 0
    assert text == "Found it."
    assert {each.verdict for each in provider.requests} == {"accepted", "rejected"}


@each_loop
def test_a_store_that_fails_while_a_request_is_made_smaller_leaves_the_providers_own_answer(
    loop, monkeypatch
):
    """The client hears "too long" from the provider, and not that the gateway failed."""
    refused = (openai.BadRequestError, anthropic.BadRequestError, genai.errors.ClientError)

    def fail(*_):
        raise StoreFailed("The store is away.")

    with Provider(script, window=24_000) as provider, Gate(provider.url, window=200_000) as gate:
        monkeypatch.setattr(gate.gateway.conversations, "refused", fail)
        talk = loop(gate)
        talk.output = LONG

        def go_on():
            for _ in range(6):
                talk.take(talk.ask(stream=False))

        with pytest.raises(refused):
            go_on()
    assert provider.requests[-1].verdict == "rejected"


@each_loop
def test_what_cannot_be_made_smaller_is_refused_in_the_clients_dialect(loop):
    refused = (openai.BadRequestError, anthropic.BadRequestError, genai.errors.ClientError)
    with Provider(script, window=10) as provider, Gate(provider.url, window=200_000) as gate:
        talk = loop(gate)
        with pytest.raises(refused):
            talk.ask(stream=False)
    assert {each.verdict for each in provider.requests} == {"rejected"}


@pytest.mark.parametrize(("fault", "openais", "anthropics", "status"), FAULTS)
def test_the_providers_failures_are_the_sdks_own_exceptions(fault, openais, anthropics, status):
    with Provider([fault] * 4) as provider, Gate(provider.url) as gate:
        for loop, error in [(Chat, openais), (Responses, openais), (Anthropic, anthropics)]:
            with pytest.raises(error):
                loop(gate).ask(stream=False)
        with pytest.raises(genai.errors.APIError) as raised:
            Gemini(gate).ask(stream=False)
    assert raised.value.code == status


@each_loop
def test_a_cut_stream_does_not_pass_for_a_whole_one_and_the_next_try_goes_on(loop):
    broken = pytest.raises(Exception, match=r"[Cc]onnection|peer closed|incomplete|not completed|payload")
    whole = Turn("Done.", thinking=THOUGHT)
    with Provider([Fail.cut(whole, after=2), whole]) as provider, Gate(provider.url, window=32_000) as gate:
        talk, pool = loop(gate), gate.gateway.conversations.pool
        with broken:
            talk.ask(stream=True)
        assert talk.take(talk.ask(stream=True)) == "Done."
        (name,) = pool.store.sessions("default")
        with pool.session(name) as chat:
            roles = [row.role for row in chat.view().rows]
    assert [each.verdict for each in provider.requests] == ["failed", "accepted"]
    assert set(roles) == {"user", "assistant"}
    assert roles.count("user") == 1


@each_loop
@both_ways
def test_garbage_is_passed_on_and_recorded_by_nobody(loop, stream):
    with (
        Provider([Fail.garbage(), Turn("well", thinking="t")]) as provider,
        Gate(provider.url, window=32_000) as gate,
    ):
        talk = loop(gate)
        with pytest.raises(
            (AssertionError, AttributeError, LookupError, TypeError, ValueError, RuntimeError)
        ):
            talk.take(talk.ask(stream))
        assert gate.send("GET", "/healthz")[0] == 200
        talk.ask(stream)
    assert [each.verdict for each in provider.requests] == ["failed", "accepted"]


def test_a_store_that_fails_stops_no_agent(monkeypatch):
    def fail(*_, **__):
        raise StoreFailed("The disk is gone.")

    with Provider(script) as provider, Gate(provider.url) as gate:
        talk = Chat(gate)
        talk.take(talk.ask(stream=False))
        monkeypatch.setattr(gate.gateway.conversations.pool.store, "append", fail)
        talk.take(talk.ask(stream=True))
        body = json.dumps({**talk.request, "messages": talk.history}).encode()
        status, headers, _ = gate.post("/v1/chat/completions", body)
        assert (status, headers["x-fanfold-bypassed"]) == (200, "failed: StoreFailed")
        assert b'fanfold_bypassed_total{reason="failed"}' in gate.send("GET", "/metrics")[2]
        assert provider.requests[-1].raw == body
        monkeypatch.undo()
        talk.take(talk.ask(stream=False))
        assert gate.gateway.metrics.count("managed") == 2


def test_a_request_may_ask_to_be_passed_through():
    with Provider(script) as provider, Gate(provider.url) as gate:
        body = json.dumps(Chat(gate).request).encode()
        _, headers, _ = gate.post("/v1/chat/completions", body, x_fanfold_bypass="1")
        assert headers["x-fanfold-bypassed"] == "asked for"
        assert gate.gateway.conversations.pool.store.sessions("default") == []
        _, headers, _ = gate.post("/v1/chat/completions", body)
        assert headers["x-fanfold-session"]
        assert headers["x-fanfold-edits"] == "0"
        assert headers["x-fanfold-tokens-before"] == headers["x-fanfold-tokens"] != "0"


CHUNK = b'data: {"id":"c","model":"gpt-4o","choices":[{"index":0,"delta":{"content":"Half"}}]}\n\n'
HALF = {
    "in the middle of an event": [CHUNK, b'data: {"id":"c","choices":[{"index":0,"delta":{"con'],
    "in the middle of a character": [
        CHUNK,
        b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"\xc3',
    ],
    "between two events": [CHUNK],
    "before the first event": [b"da"],
}


def heard(gate, body):
    """What a client gets of a reply, whole or not."""
    try:
        return gate.post("/v1/chat/completions", json.dumps(body).encode())[2]
    except IncompleteRead as broken:
        return broken.partial


@pytest.mark.parametrize("cut", [True, False], ids=["cut", "ended"])
@pytest.mark.parametrize("where", HALF)
def test_a_stream_that_ends_too_soon_is_passed_on_so_far_and_never_in_the_history(where, cut):
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    body["tools"] = [{"type": "function", "function": {"name": "run", "parameters": {"type": "object"}}}]
    told = {"content-type": "text/event-stream"}
    with Upstream(HALF[where], headers=told, cut=cut) as upstream, Gate(upstream.url) as gate:
        for _ in range(3):
            assert heard(gate, body) == b"".join(HALF[where])
        pool = gate.gateway.conversations.pool
        (name,) = pool.store.sessions("default")
        with pool.session(name) as chat:
            assert [row.role for row in chat.view().rows] == ["user"]


def test_a_storm_of_errors_is_passed_on_and_afterwards_all_is_as_before():
    failing = [Fail.server_error(503), Fail.overloaded(), Fail.server_error(500), Fail.rate_limit(1)] * 25

    def play(request):
        return failing.pop() if failing else Turn("Done.")

    def insist(number):
        body = json.dumps(
            {**Chat(gate).request, "messages": [{"role": "user", "content": f"Task {number}."}]}
        )
        told = []
        while not told or told[-1] != 200:
            told.append(gate.post("/v1/chat/completions", body.encode(), x_session_id=f"s{number}")[0])
        return told

    with Provider(play) as provider, Gate(provider.url) as gate, ThreadPoolExecutor(20) as threads:
        told = [status for each in threads.map(insist, range(20)) for status in each]
        pool = gate.gateway.conversations.pool
        for name in pool.store.sessions("default"):
            with pool.session(name) as chat:
                assert [row.role for row in chat.view().rows] == ["user", "assistant"]
        assert gate.gateway.active == 0
    assert (told.count(200), set(told)) == (20, {200, 429, 500, 503})
    assert len(told) == 120
