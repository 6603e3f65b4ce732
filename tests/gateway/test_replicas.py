"""Two gateways on one database, and a client that asks now the one and now the other."""

import json
import secrets
import time

import psycopg
import pytest

import fanfold
from fanfold.core.edit import RECALL
from fanfold.core.errors import StoreFailed
from fanfold.testing.provider import Provider, Turn
from postgres_server import GIVEN, running
from tests.gateway.gate import Gate
from tests.gateway.test_erased import TOOL
from tests.gateway.test_recall import OUTPUT as LONG
from tests.gateway.test_recall import STEPS, names_in, script
from tests.provider.test_sdks import FUNCTION, LONG_LOOPS, Chat, Responses
from tests.turns import in_turn

WINDOW = 32_000
ROLES = ("user", "assistant", "user")


@pytest.fixture(scope="module")
def server():
    if GIVEN:
        yield GIVEN
        return
    with running("fsync=off", "shared_buffers=16MB") as server:
        yield server.url


@pytest.fixture
def database(server):
    """A database of its own."""
    name = f"gateway_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield server.replace("/postgres?", f"/{name}?", 1)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


class Pair:
    """Two gateways before one provider, on one database."""

    def __init__(self, provider, database):
        # Another address, so that they share no store in this process.
        stores = [f"{database}&application_name={name}" for name in ("first", "second")]
        self.gates = [Gate(provider.url, window=WINDOW, store=store, journal="") for store in stores]

    def __enter__(self):
        for gate in self.gates:
            gate.__enter__()
        return self

    def __exit__(self, *error):
        for gate in self.gates:
            gate.__exit__(*error)

    def run(self, loop, stream):
        """A loop to its end; every request goes to the gateway that did not get the last one."""
        talks, history, number, text = [loop(gate) for gate in self.gates], None, 0, None
        while text is None:
            talk = talks[number % 2]
            talk.history = history or talk.history
            talk.output = f"{number}\n{LONG}"
            text = talk.take(talk.ask(stream))
            history, number = talk.history, number + 1
        return text, talk

    def count(self, name):
        return sum(gate.gateway.metrics.count(name) for gate in self.gates)

    @property
    def sessions(self):
        return self.gates[0].gateway.conversations.pool.store.sessions("default")


@in_turn("loop", LONG_LOOPS, "mixed", [False, True])
def test_a_round_hidden_by_one_replica_is_put_back_by_the_other(loop, mixed, database):
    with Provider(script(mixed), window=WINDOW) as provider, Pair(provider, database) as pair:
        text, talk = pair.run(loop, stream=True)
        assert pair.count("hidden_rounds") > 0
        assert pair.count("bypassed") == 0
        assert len(pair.sessions) == 1, "both know it for one conversation"
    assert text == "Found it."
    assert {each.verdict for each in provider.requests} == {"accepted"}
    assert not any(name in names_in(talk) for name in RECALL)
    told = [json.dumps(each.body) for each in provider.requests if each.number > 11]
    asked = '"name": "tool_output_cache_search", "description"'
    assert all("tool_output_cache_search" in one.replace(asked, "") for one in told), (
        "the round stays in place"
    )


def test_a_response_that_one_replica_gave_is_gone_on_from_at_the_other(database):
    def play(request):
        return Turn(f"answer {request.number}", thinking="t")

    with Provider(play) as provider, Pair(provider, database) as pair:
        first, second = (Responses(gate).client for gate in pair.gates)
        asked = {"model": "gpt-5.2", "tools": [{"type": "function", **FUNCTION}]}
        one = first.responses.create(**asked, input="one")
        two = second.responses.create(**asked, input="two", previous_response_id=one.id)
        first.responses.create(**asked, input="three", previous_response_id=two.id)
        assert pair.count("bypassed") == 0
        assert len(pair.sessions) == 1
    said = json.dumps(provider.requests[-1].body["input"])
    assert [said.count(word) for word in ("one", "answer", "two", "three")] == [1, 2, 1, 1]


def test_a_client_is_known_again_by_a_replica_that_never_saw_it(database):
    with Provider(script(), window=WINDOW) as provider, Pair(provider, database) as pair:
        talk = Chat(pair.gates[0])
        for _ in range(STEPS - 4):
            talk.output = f"{len(talk.history)}\n{LONG}"
            talk.take(talk.ask(stream=False))
        other = Chat(pair.gates[1])
        other.history, other.output = talk.history, "short"
        other.take(other.ask(stream=False))
        assert len(pair.sessions) == 1
        assert pair.gates[1].gateway.metrics.count("edited") == 1, "it knows the edits of the other"
    assert {each.verdict for each in provider.requests} == {"accepted"}


def test_what_another_machine_erased_does_not_go_out_when_the_store_goes_down(database, monkeypatch):
    def fail(*_, **__):
        raise StoreFailed("The server is gone.")

    def body(*texts):
        told = [{"role": role, "content": text} for role, text in zip(ROLES, texts, strict=False)]
        return json.dumps({"model": "gpt-4o", "messages": told, "tools": [TOOL]}).encode()

    monkeypatch.setattr("fanfold.gateway.guard.EVERY", 0.1)
    monkeypatch.setattr("fanfold.gateway.app.EVERY", 0.1)
    with (
        Provider([Turn("Noted.")] * 9) as provider,
        Gate(provider.url, window=WINDOW, store=f"{database}&application_name=first", journal="") as gate,
    ):
        conversations = gate.gateway.conversations
        for name, text in (("one", "My number is 555-0199."), ("two", "Something else.")):
            assert gate.post("/v1/chat/completions", body(text), x_session_id=name)[0] == 200
        elsewhere = f"{database}&application_name=another"
        name = next(each for each in conversations.pool.store.sessions("default") if "one" in each)
        with fanfold.open(name, store=elsewhere) as chat:
            chat.erase(chat.view().rows[0].id, "asked for")
        until = time.monotonic() + 60
        while not conversations.guards("default", name):
            assert time.monotonic() < until
            time.sleep(0.05)
        for verb in ("append", "load", "load_later"):
            monkeypatch.setattr(conversations.pool.store, verb, fail)
        monkeypatch.setattr(
            "fanfold.gateway.guard.EVERY", 0.0
        )  # the list is asked for with every request, in vain
        known = len(provider.requests)
        again = body("My number is 555-0199.", "Noted.", "Thanks.")
        assert gate.post("/v1/chat/completions", again, x_session_id="one")[0] == 503
        assert gate.post("/v1/chat/completions", again, x_session_id="unheard-of")[0] == 503
        assert len(provider.requests) == known
        other = body("Something else.", "Noted.", "Thanks.")
        status, headers, _ = gate.post("/v1/chat/completions", other, x_session_id="two")
        assert (status, headers["x-fanfold-bypassed"]) == (200, "failed: StoreFailed")
