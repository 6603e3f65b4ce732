"""A complete agent in a few lines: `fanfold.loop`. Run it: .venv/bin/python examples/tool_loop.py

The scripted provider stands in for api.openai.com, so that this needs neither a key nor a network. It refuses what the
real one refuses.
"""

from __future__ import annotations

from openai import OpenAI

import fanfold
from fanfold import loop
from fanfold.testing.provider import Provider, Received, Turn

PARAMETERS = {"type": "object", "properties": {"part": {"type": "integer"}}}
TOOLS = [{"type": "function", "function": {"name": "read", "parameters": PARAMETERS}}]


def script(request: Received) -> Turn:
    """Calls a tool forty times, then is done."""
    if request.number < 40:
        return Turn(calls=[("read", {"part": request.number})])
    return Turn("Found it in part 17.")


def read(part: int) -> str:
    """A tool with a long answer."""
    return "\n".join(f"part {part}, line {line}: nothing to see here" for line in range(30))


def main() -> None:
    """Run the loop, and tell what it took."""
    with Provider(script, window=6_000) as provider:
        client = OpenAI(base_url=provider.openai_base_url, api_key="any")
        with fanfold.open("agent", model="gpt-4o", window=6_000, tools=TOOLS) as chat:
            chat.say("Read the log, part by part, and tell me where it breaks. Never skip a part.")
            reply = loop.run(chat, lambda request: client.chat.completions.create(**request), {"read": read})
            print(reply.text)
            print(chat.view())
        print(f"{len(provider.requests)} requests, {len(provider.rejected)} refused")


if __name__ == "__main__":
    main()
