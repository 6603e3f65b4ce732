"""Write docs/agents.md: the agents of examples/agents, each as it stands."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
AGENTS = ROOT / "examples" / "agents"
PAGE = ROOT / "docs" / "agents.md"
ORDER = ("coding_agent", "support_bot", "long_chat", "browser_agent", "sub_agents")
HEAD = """# Five small agents

Five complete agents to begin with, each in one file of at most 60 lines. They run as they stand, without a key and
without a network: the [scripted provider](testing.md) plays the model. To use a real one, leave `Provider` out and give
the SDK's client your key. They need the SDKs: `pip install '.[openai,anthropic,gemini]'`.

"""


def written() -> str:
    """The page."""
    return HEAD + "\n".join(map(_section, ORDER))


def _section(name: str) -> str:
    text = (AGENTS / f"{name}.py").read_text(encoding="utf-8")
    title, _, told = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0].partition(": ")
    code = text.partition('"""\n\n')[2].rstrip()
    return f"## {title}\n\n{told[:1].upper()}{told[1:]} `examples/agents/{name}.py`\n\n```py\n{code}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
