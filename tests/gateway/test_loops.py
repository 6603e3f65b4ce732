"""The official SDKs run a long tool loop through the gateway, and notice nothing."""

from itertools import islice

from fanfold.testing.provider import Provider, Turn
from tests.gateway.gate import Gate
from tests.provider.test_sdks import THOUGHT, both_ways, each_loop

STEPS, WINDOW, LINES = 60, 32_000, 120


def script(request):
    """A call for many steps, then a text; every turn with thinking."""
    if request.number >= STEPS:
        return Turn("Found it.", thinking=THOUGHT)
    return Turn("", calls=[("grep", {"pattern": f"x{request.number}"})], thinking=THOUGHT)


def outputs(lines=120):
    """Outputs of 4 KB each, or of so many lines, no two alike."""
    return (
        "\n".join(f"src/m{n}_{line}.py:{line}: found {n * line}" for line in range(lines)) for n in range(999)
    )


def run(loop, gate, stream):
    """The whole loop: what it said in the end."""
    talk, texts = loop(gate), outputs(LINES)
    for _ in range(STEPS + 1):
        talk.output = next(texts)
        text = talk.take(talk.ask(stream))
    return text


@each_loop
@both_ways
def test_many_steps_run_in_a_small_window(loop, stream):
    with Provider(script, window=WINDOW) as provider, Gate(provider.url, window=WINDOW) as gate:
        assert run(loop, gate, stream) == "Found it."
        metrics, pool = gate.gateway.metrics, gate.gateway.conversations.pool
        assert (metrics.count("managed"), metrics.count("bypassed")) == (STEPS + 1, 0)
        assert metrics.count("edited") > STEPS / 2
        (name,) = pool.store.sessions("default")
        with pool.session(name) as chat:
            told = {chat.output(ref.ref).text() for ref in chat.outputs()}
        assert set(islice(outputs(LINES), STEPS)) <= told, "nothing is lost"
    asked = provider.requests
    assert [each.verdict for each in asked] == ["accepted"] * (STEPS + 1)
    assert max(each.tokens for each in asked) <= WINDOW
    assert sum(each.cached for each in asked) >= 0.7 * sum(each.tokens for each in asked)
