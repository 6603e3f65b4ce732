"""The official SDKs run a long tool loop through the gateway, and notice nothing."""

from itertools import islice

import pytest

from fanfold.testing.provider import Provider, Turn
from tests.gateway.gate import Gate
from tests.provider.test_sdks import LONG_LOOPS, THOUGHT
from tests.turns import in_turn

LINES = 120
SIZES = [pytest.param(36, 24_000, id="24k"), pytest.param(60, 32_000, id="32k", marks=pytest.mark.slow)]
"""Steps and window. Every step sends the whole history again, so that the cost grows with the square of them."""


def script(steps):
    """A call for many steps, then a text; every turn with thinking."""

    def play(request):
        if request.number >= steps:
            return Turn("Found it.", thinking=THOUGHT)
        return Turn("", calls=[("grep", {"pattern": f"x{request.number}"})], thinking=THOUGHT)

    return play


def outputs(lines=120):
    """Outputs of 4 KB each, or of so many lines, no two alike."""
    return (
        "\n".join(f"src/m{n}_{line}.py:{line}: found {n * line}" for line in range(lines)) for n in range(999)
    )


def run(loop, gate, stream, steps):
    """The whole loop: what it said in the end."""
    talk, texts = loop(gate), outputs(LINES)
    for _ in range(steps + 1):
        talk.output = next(texts)
        text = talk.take(talk.ask(stream))
    return text


@pytest.mark.parametrize(("steps", "window"), SIZES)
@in_turn("loop", LONG_LOOPS, "stream", [False, True])
def test_many_steps_run_in_a_small_window(loop, stream, steps, window):
    with Provider(script(steps), window=window) as provider, Gate(provider.url, window=window) as gate:
        assert run(loop, gate, stream, steps) == "Found it."
        metrics, pool = gate.gateway.metrics, gate.gateway.conversations.pool
        assert (metrics.count("managed"), metrics.count("bypassed")) == (steps + 1, 0)
        assert metrics.count("edited") > steps / 2
        (name,) = pool.store.sessions("default")
        with pool.session(name) as chat:
            told = {chat.output(ref.ref).text() for ref in chat.outputs()}
        assert set(islice(outputs(LINES), steps)) <= told, "nothing is lost"
    asked = provider.requests
    assert [each.verdict for each in asked] == ["accepted"] * (steps + 1)
    assert max(each.tokens for each in asked) <= window
    assert sum(each.cached for each in asked) >= 0.7 * sum(each.tokens for each in asked)
