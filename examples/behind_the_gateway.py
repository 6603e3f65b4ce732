"""An agent that knows nothing of fanfold, behind the gateway. Run it: .venv/bin/python examples/behind_the_gateway.py

The agent uses Anthropic's SDK; a scripted provider plays the model. pip install '.[serve,anthropic]'
With a folder as its argument, it keeps the store there, to look at afterwards.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from anthropic import Anthropic

from fanfold.testing.provider import Provider, Received, Turn

TOOLS: list[Any] = [{"name": "read", "input_schema": {"type": "object"}}]


def model(request: Received) -> Turn:
    """Read twenty parts of a log, one after another."""
    if request.number < 20:
        return Turn(f"I read part {request.number}.", calls=[("read", {"part": request.number})])
    return Turn("All parts are read.")


def agent(client: Anthropic) -> str:
    """An ordinary loop: it sends its whole history each time. The gateway says in headers what it sent on."""
    messages: list[Any] = [{"role": "user", "content": "Read all parts."}]
    while True:
        answer = client.messages.with_raw_response.create(
            model="claude-sonnet-4-6", max_tokens=500, messages=messages, tools=TOOLS
        )
        reply, told = answer.parse(), answer.headers
        print(f"{len(messages)} messages, {told['x-fanfold-tokens']} tokens, {told['x-fanfold-edits']} edits")
        calls = [block.id for block in reply.content if block.type == "tool_use"]
        if not calls:
            print(f"session {told['x-fanfold-session']}")
            return "".join(block.text for block in reply.content if block.type == "text")
        output = "The disk is fine, the network is fine, all is well.\n" * 150
        results = [{"type": "tool_result", "tool_use_id": call, "content": output} for call in calls]
        messages += [{"role": "assistant", "content": reply.content}, {"role": "user", "content": results}]


def main() -> None:
    """Start the gateway as you would in another terminal, and point the agent at it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    kept = sys.argv[1] if len(sys.argv) > 1 else None
    with Provider(model, window=16_000) as provider, tempfile.TemporaryDirectory() as passing:
        folder = kept or passing
        command = [sys.executable, "-m", "fanfold", "serve", "--port", str(port), "--window", "16k"]
        command += ["--upstream", f"anthropic={provider.anthropic_base_url}"]
        with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as gateway:
            assert gateway.stderr is not None
            print(gateway.stderr.readline().strip())  # it listens now
            print(agent(Anthropic(base_url=f"http://127.0.0.1:{port}", api_key="any")))
            gateway.terminate()
        print(f"{len(provider.requests)} requests, {len(provider.rejected)} refused by the provider")
        if kept:
            print(f"Look: fanfold ls --store sqlite:{Path(kept, 'agent.db')}")


if __name__ == "__main__":
    main()
