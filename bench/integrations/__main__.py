"""fanfold inside frameworks, beside their own managers, on one run: python -m bench.integrations [langchain …]"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from scripts.test_integrations import environment, variables  # noqa: E402 found from the root

FRAMEWORKS = ("langchain", "openai_agents", "strands", "agent_framework", "adk", "inspect_ai", "llama_index")
HERE = ("adk",)
"""These are among what the tests of fanfold need anyway."""
COLUMNS = "framework manager steps over broken history trail in-view prompt-tokens cached cost"
HEAD = "| " + " | ".join(COLUMNS.replace("-", "_").split()).replace("_", " ") + " |\n"
HEAD += "|---|---|--:|--:|--:|---|--:|--:|--:|--:|--:|"


def main(named: list[str]) -> int:
    """Print a table; how many frameworks could not be installed is the exit code."""
    skipped = 0
    print(HEAD)
    for name in named or FRAMEWORKS:
        python = Path(sys.executable) if name in HERE else environment(name)
        if python is None:
            skipped += 1
            print(f"| {name} | cannot be installed here" + " |" * COLUMNS.count(" "), flush=True)
            continue
        command = [python, "-m", f"bench.integrations.{name}"]
        done = subprocess.run(
            command, cwd=ROOT, env=variables(name), stdout=subprocess.PIPE, text=True, check=True
        )
        for line in done.stdout.splitlines():
            print(write(json.loads(line)), flush=True)
    return skipped


def write(row: dict[str, Any]) -> str:
    """A line of the table."""
    whole = "whole" if row["whole"] else "not whole"
    return (
        f"| {row['framework']} | {row['manager']} | {row['steps']} | {row['over']} | {row['broken']} | {whole} | "
        f"{row['trail']:.0%} | {row['in_view']} | {row['prompt']:,} | {row['cached']:.0%} | ${row['dollars']:.2f} |"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
