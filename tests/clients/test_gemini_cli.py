"""gemini-cli, unchanged, behind the gateway."""

import json
import os

import pytest

from fanfold.testing.provider import Fail, Turn
from tests.clients.stage import Play, stage

pytestmark = pytest.mark.skipif(
    "FANFOLD_CLIENTS" not in os.environ, reason="real clients run in `make test-clients` only"
)
SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "telemetry": {"enabled": False},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False},
}


def shell(command, request):
    return "run_shell_command", {"command": command}


def gemini(on, prompt="Look at all files, one by one.", *more):
    """What gemini-cli says in the end."""
    home = on.folder / ".gemini"
    home.mkdir(exist_ok=True)
    (home / "settings.json").write_text(json.dumps(SETTINGS))
    told = on.run(
        "gemini", "-p", prompt, "--yolo", "-m", "gemini-3-pro-preview", "--output-format", "json",
        "--skip-trust", *more, GOOGLE_GEMINI_BASE_URL=on.url, GEMINI_API_KEY="scripted",
    )  # fmt: skip
    return json.loads(told[told.index("{") :])["response"]


def find_loops(request):
    """From the 30th step on, gemini-cli asks another model now and then whether it goes round in circles.

    Where the answer is no such JSON, it asks ten times, for five minutes.
    """
    config = request.body.get("generationConfig") or {}
    if "unproductive_state_confidence" not in json.dumps(config):
        return None
    return Turn(
        json.dumps({"unproductive_state_analysis": "It goes on.", "unproductive_state_confidence": 0.0})
    )


def test_sixty_steps(tmp_path):
    play = Play(60, shell, side=find_loops)
    with stage(tmp_path, play) as on:
        assert gemini(on) == "All done."
        on.check(cached=0.8)
        assert play.done == 61


def test_what_goes_wrong_is_got_over(tmp_path):
    """Rate limits, failures of the server and a look-up.

    A stream that breaks off ends gemini-cli ("terminated"), with the gateway as without it, so none does here.
    """
    wrong = {3: Fail.rate_limit(), 4: Fail.server_error(), 6: "recall"}
    play = Play(12, shell, wrong, side=find_loops)
    with stage(tmp_path, play) as on:
        assert gemini(on) == "All done."
        on.check()
        assert len(play.recalled) == 1


@pytest.mark.parametrize("after", [0, 2])
def test_a_cut_stream_is_no_worse_than_without_the_gateway(tmp_path, after):
    """gemini-cli itself ends there ("terminated"), after as many requests."""
    told = {}
    for way in ("direct", "through"):
        play = Play(4, shell, {2: lambda turn: Fail.cut(turn, after=after)}, side=find_loops)
        with stage(tmp_path / way, play) as on:
            on.url = on.provider.url if way == "direct" else on.url
            try:
                ended = gemini(on)
            except AssertionError as error:
                ended = "terminated" in str(error)
            told[way] = ended, [each.verdict for each in on.provider.requests]
    assert told["through"] == told["direct"]
