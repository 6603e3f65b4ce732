"""Every example runs as it stands and prints the line that matters."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

SAYS = {
    "plain_loop.py": "every request fitted: True",
    "tool_loop.py": "41 requests, 0 refused",
    "minutes.py": "Minutes: the release moves to Friday; the parser is Ana's.",
    "fit_a_list.py": "fitting it again changes nothing: True",
    "undo_and_why.py": "back in view: True",
    "behind_the_gateway.py": "21 requests, 0 refused by the provider",
    "agents/coding_agent.py": "Fixed: double() multiplies now, and its test passes.",
    "agents/support_bot.py": "state: {'order': 'A-1074', 'problem': 'broken cup', 'wish': 'a new cup'}",
    "agents/long_chat.py": "the rule is still there: True",
    "agents/browser_agent.py": "31 requests, 0 refused",
    "agents/sub_agents.py": "The bug is in the parser, line 12.",
}
AGENTS = [name for name in SAYS if name.startswith("agents/")]


def test_every_example_has_a_line_to_look_for() -> None:
    here = [*EXAMPLES.glob("*.py"), *EXAMPLES.glob("agents/*.py")]
    assert {path.relative_to(EXAMPLES).as_posix() for path in here} == set(SAYS)


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_is_short(name: str) -> None:
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) <= 60


def test_the_page_of_agents_shows_them_as_they_are() -> None:
    script = runpy.run_path(str(EXAMPLES.parent / "scripts" / "write_examples.py"))
    page = (EXAMPLES.parent / "docs" / "agents.md").read_text(encoding="utf-8")
    assert page == script["written"](), "`make pages` writes it anew"


PROGRAMS = ["plain_loop.py"]
"""Started as a reader starts it. The others run here, where the SDKs are imported already."""


@pytest.mark.parametrize("name", sorted(set(SAYS) - set(PROGRAMS)))
def test_an_example_runs(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    path = EXAMPLES / name
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.syspath_prepend(path.parent)
    runpy.run_path(str(path), run_name="__main__")
    told = capsys.readouterr()
    assert told.err == ""
    assert SAYS[name] in told.out


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_runs_as_a_program(name: str) -> None:
    done = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert SAYS[name] in done.stdout
