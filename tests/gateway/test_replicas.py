"""Two gateways on one database, and a client that asks now the one and now the other."""

import json
import secrets

import psycopg
import pytest

from fanfold.core.edit import RECALL
from fanfold.testing.provider import Provider, Turn
from postgres_server import GIVEN, running
from tests.gateway.gate import Gate
from tests.gateway.test_recall import OUTPUT as LONG
from tests.gateway.test_recall import STEPS, names_in, script
from tests.provider.test_sdks import FUNCTION, Chat, Responses, each_loop

WINDOW = 32_000


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


@each_loop
@pytest.mark.parametrize("mixed", [False, True], ids=["alone", "mixed"])
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
