"""The model looks something up again, and the client does not hear of it."""

import json

from fanfold.core.edit import RECALL
from fanfold.testing.provider import Provider, Turn
from tests.gateway.gate import Gate
from tests.provider.test_sdks import THOUGHT, Chat, both_ways, each_loop

STEPS, LOOK = 14, 10
OUTPUT = "\n".join(f"src/m{line}.py:{line}: found {line * 7}" for line in range(260))


def script(mixed=False):
    """Calls of the client's tool; at one step a recall tool is called, alone or beside it, and then once more."""

    def play(request):
        number = request.number
        text = json.dumps(request.body)
        offered = all(name in text for name in RECALL)
        if number in (LOOK, LOOK + 1) and offered:
            beside = [("grep", {"pattern": "beside"})] if mixed and number == LOOK else []
            if not (mixed and number == LOOK + 1):
                return Turn(
                    "", calls=[("tool_output_cache_search", {"pattern": "m7.py"}), *beside], thinking=THOUGHT
                )
        if number >= STEPS:
            return Turn("Found it.", thinking=THOUGHT)
        return Turn("", calls=[("grep", {"pattern": f"x{number}"})], thinking=THOUGHT)

    return play


def run(loop, gate, stream):
    talk = loop(gate)
    text = None
    while text is None:
        talk.output = f"{len(talk.history)}\n{OUTPUT}"
        text = talk.take(talk.ask(stream))
    return text, talk


def names_in(talk):
    return json.dumps(talk.history, default=lambda one: one.model_dump(mode="json"))


@each_loop
@both_ways
def test_a_recall_is_answered_here_and_stays_hidden(loop, stream):
    with Provider(script(), window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        text, talk = run(loop, gate, stream)
        assert gate.gateway.metrics.count("hidden_rounds") == 2
        assert len(gate.gateway.conversations.pool.store.sessions("default")) == 1
    assert text == "Found it."
    assert [each.verdict for each in provider.requests] == ["accepted"] * (STEPS + 1)
    assert not any(name in names_in(talk) for name in RECALL), "the client never hears of these tools"
    last = json.dumps(provider.requests[-1].body)
    assert last.count("m7.py") >= 1
    assert "ref=" in last, "what is left out says by what reference it can be looked up"
    assert "tool_output_cache_search" in last.replace(
        '"name": "tool_output_cache_search", "description"', ""
    ), "the round is put back"


@each_loop
def test_calls_of_both_are_answered_together(loop):
    with Provider(script(mixed=True), window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        text, talk = run(loop, gate, stream=True)
        assert gate.gateway.metrics.count("hidden_rounds") == 1
    assert text == "Found it."
    assert {each.verdict for each in provider.requests} == {"accepted"}
    assert not any(name in names_in(talk) for name in RECALL)
    assert "beside" in names_in(talk)


def test_the_tools_enter_with_the_first_edit_and_stay():
    with Provider(script(), window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        run(Chat, gate, stream=False)
    offered = ["tool_output_cache_search" in json.dumps(each.body["tools"]) for each in provider.requests]
    assert offered[0] is False
    assert offered == sorted(offered)
    assert offered.index(True) > 2
