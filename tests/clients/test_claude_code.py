"""Claude Code, unchanged, behind the gateway."""

import json
import os

import pytest

from fanfold.testing.provider import Fail, Turn
from tests.clients.stage import Play, stage

pytestmark = pytest.mark.skipif(
    "FANFOLD_CLIENTS" not in os.environ, reason="real clients run in `make test-clients` only"
)
QUIET = {
    "IS_SANDBOX": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "ANTHROPIC_API_KEY": "sk-ant-scripted",
}


def bash(command, request):
    return "Bash", {"command": command, "description": "Show it"}


def claude(on, prompt="Look at all files, one by one.", *more, **settings):
    """What Claude Code says in the end."""
    told = on.run(
        "claude", "-p", prompt, "--dangerously-skip-permissions", "--output-format", "json", *more,
        ANTHROPIC_BASE_URL=on.url, **QUIET, **settings,
    )  # fmt: skip
    said = json.loads(told)
    said = said[-1] if isinstance(said, list) else said
    assert not said["is_error"], said
    return said


def test_sixty_steps(tmp_path):
    play = Play(60, bash)
    with stage(tmp_path, play) as on:
        assert claude(on)["result"] == "All done."
        on.check(cached=0.8)
        assert play.done == 61
    with on.session() as chat:
        told = {chat.output(kept.ref).text().partition("\n")[0] for kept in chat.outputs()}
        assert {f"file number {n}" for n in range(60)} <= told, "nothing is lost"


def test_resume_in_a_new_process(tmp_path):
    play = Play(8, bash)
    with stage(tmp_path, play) as on:
        first = claude(on)
        play.steps = 16
        assert claude(on, "Go on.", "--resume", first["session_id"])["session_id"] == first["session_id"]
        on.check(cached=0.6)
        assert len([name for name in on.names() if name.startswith("claude-")]) == 1


def test_what_goes_wrong_is_got_over(tmp_path):
    wrong = {
        2: lambda turn: Fail.cut(turn, after=4),
        3: Fail.rate_limit(),
        4: Fail.overloaded(),
        6: "recall",
    }
    play = Play(12, bash, wrong)
    with stage(tmp_path, play) as on:
        assert claude(on)["result"] == "All done."
        on.check()
        assert len(play.recalled) == 1
        hidden = json.dumps(on.asked[-1].body)
        assert "tool_output_cache" in hidden


def test_a_request_that_is_too_long_is_made_shorter(tmp_path):
    play = Play(10, bash)

    def shrink(turn):
        upstream.window = 128_000 + 19_500
        return turn

    play.trouble[5] = shrink
    with stage(tmp_path, play) as on:
        upstream = on.provider
        assert claude(on)["result"] == "All done."
        assert [each for each in upstream.rejected if "exceed" in each.reason or "too long" in each.reason]
        on.check()


def test_sub_agents_have_sessions_of_their_own(tmp_path):
    inner = {}

    def side(request):
        """The sub-agent looks at three files; whoever sent it waits."""
        if "Count the words" not in json.dumps(request.body["messages"][0]):
            return None
        inner.setdefault("asked", []).append(request)
        at = len(inner["asked"])
        if at <= 3:
            return Turn("", calls=[bash(f"cat out{at}.txt", request)], thinking="Mine.")
        return Turn("Three files.", thinking="Mine.")

    def step(command, request):
        if play.done == 3:
            asked = {"description": "Count", "prompt": "Count the words.", "subagent_type": "general-purpose"}
            return "Agent", asked
        return bash(command, request)

    play = Play(6, step, side=side)
    with stage(tmp_path, play) as on:
        assert claude(on)["result"] == "All done."
        on.check()
        assert len(inner["asked"]) == 4
        assert len(on.names()) == 2


def test_its_own_compaction_stays_in_the_session(tmp_path):
    play = Play(6, bash, side=lambda request: summary(request))

    def summary(request):
        asked = json.dumps(request.body["messages"][-1])
        return Turn("<summary>Six files were read.</summary>") if "TEXT ONLY" in asked else None

    with stage(tmp_path, play) as on:
        first = claude(on)
        claude(on, "/compact", "--resume", first["session_id"])
        play.steps = 9
        assert claude(on, "Go on.", "--resume", first["session_id"])["result"] == "All done."
        on.check()
        assert len([name for name in on.names() if name.startswith("claude-")]) == 1
