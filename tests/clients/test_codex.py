"""codex, unchanged, behind the gateway."""

import json
import os
import subprocess

import pytest

from fanfold.testing.provider import Fail, Turn
from tests.clients.stage import Play, json_lines, stage

pytestmark = pytest.mark.skipif(
    "FANFOLD_CLIENTS" not in os.environ, reason="real clients run in `make test-clients` only"
)


def execute(command, request):
    """The newest models of codex have one tool that runs a script; older ones run a command."""
    if any(item.get("type") == "additional_tools" for item in request.body["input"]):
        script = f'const r = await tools.exec_command({{cmd: "{command}", max_output_tokens: 20000}});'
        return "exec", {"input": f'// @exec: {{"max_output_tokens": 20000}}\n{script} text(r.output ?? r);'}
    return "exec_command", {"cmd": command, "max_output_tokens": 20_000}


def codex(on, prompt="Look at all files, one by one.", *more, resume=None, model=None):
    """What codex prints."""
    home = on.folder / ".codex"
    if not home.exists():
        home.mkdir()
        login = [os.path.join(os.environ["FANFOLD_CLIENTS"], "codex"), "login", "--with-api-key"]
        env = {"PATH": os.environ["PATH"], "CODEX_HOME": str(home), "HOME": str(on.folder)}
        subprocess.run(login, input="sk-scripted", text=True, env=env, capture_output=True, check=True)
    told = on.run(
        "codex", "exec", *(["resume", resume] if resume else []), "--json", "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox", "-c", f'openai_base_url="{on.url}/v1"',
        *(["-m", model] if model else []), *more, prompt, CODEX_HOME=str(home),
    )  # fmt: skip
    return json_lines(told)


def said(events):
    """The last words, and the id of the thread."""
    words = [
        event["item"]["text"] for event in events if event.get("item", {}).get("type") == "agent_message"
    ]
    return words[-1], next(event["thread_id"] for event in events if event["type"] == "thread.started")


@pytest.mark.parametrize("model", [None, "gpt-5.2"])
def test_sixty_steps(tmp_path, model):
    """Of older models codex itself shows outputs in 11 KB: small enough to stay whole, so more is new each time."""
    play = Play(60, execute)
    with stage(tmp_path, play) as on:
        assert said(codex(on, model=model))[0] == "All done."
        on.check(cached=0.8)
        assert play.done == 61
    with on.session() as chat:
        told = "\n".join(chat.output(kept.ref).text()[:400] for kept in chat.outputs())
        assert all(f"file number {n}\n" in told for n in range(60)), "nothing is lost"


def test_resume_in_a_new_process(tmp_path):
    play = Play(8, execute)
    with stage(tmp_path, play) as on:
        thread = said(codex(on))[1]
        play.steps = 16
        assert said(codex(on, "Go on.", resume=thread)) == ("All done.", thread)
        on.check(cached=0.6)
        assert len(on.names()) == 1


def test_what_goes_wrong_is_got_over(tmp_path):
    wrong = {
        2: lambda turn: Fail.cut(turn, after=4),
        3: Fail.rate_limit(),
        4: Fail.server_error(),
        6: "recall",
    }
    play = Play(12, execute, wrong)
    with stage(tmp_path, play) as on:
        assert said(codex(on))[0] == "All done."
        on.check()
        assert len(play.recalled) == 1
        assert "tool_output_cache" in json.dumps(on.asked[-1].body)


def test_a_request_that_is_too_long_is_made_shorter(tmp_path):
    play = Play(10, execute)

    def shrink(turn):
        upstream.window = 20_000
        return turn

    play.trouble[5] = shrink
    with stage(tmp_path, play) as on:
        upstream = on.provider
        assert said(codex(on))[0] == "All done."
        assert [each for each in upstream.rejected if "exceeds the context window" in each.reason]
        on.check()


def test_sub_agents_have_sessions_of_their_own(tmp_path):
    inner, threads = [], {}

    def side(request):
        threads.setdefault(request.headers["thread-id"], None)
        if request.headers["thread-id"] == next(iter(threads)):
            return None
        inner.append(request)
        if len(inner) <= 3:
            return Turn("", calls=[execute(f"cat out{len(inner)}.txt", request)], thinking="Mine.")
        return Turn("Three files.", thinking="Mine.")

    def step(command, request):
        if play.done == 3:
            return "spawn_agent", {"task_name": "count", "message": "Count the words."}
        if play.done == 4:
            return "wait_agent", {"timeout_ms": 20_000}
        return execute(command, request)

    play = Play(7, step, side=side)
    with stage(tmp_path, play) as on:
        assert said(codex(on))[0] == "All done."
        on.check()
        assert len(inner) == 4
        assert len(on.names()) == 2


def test_its_own_compaction_loses_nothing(tmp_path):
    play = Play(14, execute)
    with stage(tmp_path, play) as on:
        assert said(codex(on, "Look.", "-c", "model_auto_compact_token_limit=17000"))[0] == "All done."
        on.check()
        assert len(on.names()) == 1
    with on.session() as chat:
        told = "\n".join(chat.output(kept.ref).text()[:400] for kept in chat.outputs())
        assert all(f"file number {n}\n" in told for n in range(14)), "nothing is lost"
