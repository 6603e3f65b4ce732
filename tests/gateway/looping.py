"""An agent that loops through the gateway until something has to be left out."""

import pytest

from fanfold.testing.provider import Turn

STEPS = 24


def script(request):
    """A call for many steps, then a text."""
    if request.number >= STEPS:
        return Turn("Found it.")
    return Turn("", calls=[("grep", {"pattern": f"x{request.number}"})])


def outputs(number):
    """An output of 4 KB, no two alike."""
    return "\n".join(f"src/m{number}_{line}.py:{line}: found {number * line}" for line in range(120))


def run(gate, steps=STEPS):
    """A loop through the gateway, which has to leave something out."""
    pytest.importorskip("openai")
    from tests.provider.test_sdks import Chat  # late: it needs the SDKs, and what imports this does not

    talk = Chat(gate)
    for number in range(steps):
        talk.output = outputs(number)
        talk.take(talk.ask(False))
    return talk
