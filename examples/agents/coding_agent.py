"""A coding agent: it reads, edits and tests real files.

Run it: .venv/bin/python examples/agents/coding_agent.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from anthropic import Anthropic

import fanfold
from fanfold import loop
from fanfold.testing.provider import Provider, Turn

PATH = {"path": {"type": "string"}}
FIELDS = {"read": PATH, "write": {**PATH, "text": {"type": "string"}}, "test": {}}
TOOLS = [
    {"name": name, "input_schema": {"type": "object", "properties": fields}}
    for name, fields in FIELDS.items()
]
BROKEN, FIXED = "def double(n):\n    return n + 2\n", "def double(n):\n    return n * 2\n"
TEST = "from double import double\nassert double(4) == 8, double(4)\nprint('1 passed')\n"
SCRIPT = [
    Turn("I look first.", calls=[("read", {"path": "double.py"}), ("test", {})]),
    Turn("It adds instead of multiplying.", calls=[("write", {"path": "double.py", "text": FIXED})]),
    Turn(calls=[("test", {})]),
    Turn("Fixed: double() multiplies now, and its test passes."),
]


def run_tests(folder: Path) -> str:
    """What a shell tool returns: the output and the exit code, by which fanfold knows how it ended."""
    done = subprocess.run([sys.executable, "check.py"], cwd=folder, capture_output=True, text=True)
    return f"{done.stdout}{done.stderr[-200:]}\nexit code: {done.returncode}"


def main() -> None:
    """Fix the bug, and show what the model saw at the end."""
    with Provider(SCRIPT) as provider, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in (("double.py", BROKEN), ("check.py", TEST)):
            (folder / file).write_text(text, encoding="utf-8")
        client = Anthropic(base_url=provider.anthropic_base_url, api_key="any")
        tools = {
            "read": lambda path: (folder / path).read_text(encoding="utf-8"),
            "write": lambda path, text: (folder / path).write_text(text, encoding="utf-8") and "written",
            "test": lambda: run_tests(folder),
        }
        with fanfold.open("fix", model="claude-sonnet-5", tools=TOOLS, system="You fix bugs.") as chat:
            chat.say("Fix double.py. Never change check.py.")
            print(loop.run(chat, lambda request: client.messages.create(**request), tools).text)
            print(chat.view())


if __name__ == "__main__":
    main()
