"""Every example runs as it stands and prints the line that matters."""

from __future__ import annotations

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
}


def test_every_example_has_a_line_to_look_for() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_an_example_runs(name: str) -> None:
    done = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert SAYS[name] in done.stdout
