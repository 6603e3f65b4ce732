"""The Vercel AI SDK, unchanged, behind the gateway, as its page says."""

import json
import os
from pathlib import Path

import pytest

from tests.clients.stage import OUTPUT, Play, stage

pytestmark = pytest.mark.skipif(
    "FANFOLD_CLIENTS" not in os.environ, reason="real clients run in `make test-clients` only"
)


def cat(command, request):
    return "cat", {"name": command.removeprefix("cat ")}


def agent(on, kind):
    """What the agent prints; Node looks for packages beside the program."""
    program = on.work / "vercel_ai.mjs"
    program.write_text((Path(__file__).parent / "vercel_ai.mjs").read_text())
    (on.work / "node_modules").symlink_to(Path(os.environ["FANFOLD_CLIENTS"]).parent)
    return json.loads(on.run("node", str(program), kind, on.url))


@pytest.mark.parametrize("kind", ["chat", "responses", "claude", "streamed-chat", "streamed-claude"])
def test_it_looks_at_file_after_file(tmp_path, kind):
    steps = 40
    play = Play(steps, cat, {steps // 2: "recall"})
    with stage(tmp_path, play) as on:
        done = agent(on, kind)
        assert (done["text"], done["steps"]) == ("All done.", steps + 1)
        assert done["outputs"] == [OUTPUT] * steps, "the agent's own steps have every output, whole"
        on.check(cached=0.8)
        assert len(play.recalled) == 1
        assert len(on.names()) == 1
