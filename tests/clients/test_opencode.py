"""opencode, unchanged, behind the gateway."""

import json
import os

import pytest

from fanfold.testing.provider import Fail
from tests.clients.stage import Play, stage

pytestmark = pytest.mark.skipif(
    "FANFOLD_CLIENTS" not in os.environ, reason="real clients run in `make test-clients` only"
)


def bash(command, request):
    return "bash", {"command": command, "description": "Shows it"}


def opencode(on, prompt="Look at all files, one by one.", *more):
    """What opencode prints."""
    models = {"gpt-4.1": {"tool_call": True, "limit": {"context": 400_000, "output": 16_000}}}
    options = {"baseURL": f"{on.url}/v1", "apiKey": "scripted"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}
    settings = {
        "provider": {"scripted": provider},
        "permission": "allow",
        "autoupdate": False,
        "share": "disabled",
    }
    (on.work / "opencode.json").write_text(json.dumps(settings))
    return on.run(
        "opencode", "run", *more, "-m", "scripted/gpt-4.1", prompt, OPENCODE_DISABLE_MODELS_FETCH="1"
    )


def test_what_goes_wrong_is_got_over(tmp_path):
    wrong = {2: lambda turn: Fail.cut(turn, after=4), 3: Fail.rate_limit(), 6: "recall"}
    play = Play(12, bash, wrong)
    with stage(tmp_path, play) as on:
        assert "All done." in opencode(on)
        on.check()
        assert len(play.recalled) == 1
