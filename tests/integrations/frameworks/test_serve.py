"""Frameworks that are not changed, behind the gateway: as their pages say, with one address to set."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fanfold.testing.integrations import look
from fanfold.testing.provider import Provider, Received, Turn

STEPS = 50
PYTHON = os.environ["FANFOLD_PYTHON"]
"""Where fanfold itself is installed: the gateway has nothing to do with the environment of its clients."""
DONE = "All is read."
HEADERS = {"x-fanfold-session": "run-42"}


class Stage(NamedTuple):
    """A scripted provider, and the address of the gateway before it."""

    provider: Provider
    address: str
    asked: list[str]
    """The references that the scripted model looked up."""
    folder: Path

    def check(self, window: int, cached: float) -> None:
        """No request was refused or larger than the window, and so much was read from the cache."""
        requests = self.provider.requests
        assert [request.reason for request in self.provider.rejected] == []
        assert len(requests) > STEPS
        assert max(request.tokens for request in requests) <= window
        assert sum(request.cached for request in requests) / sum(r.tokens for r in requests) >= cached

    def sessions(self) -> list[str]:
        command = [PYTHON, "-m", "fanfold", "ls", "--json"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True)
        return [session["name"] for session in json.loads(done.stdout)]


@contextmanager
def staged(folder: Path, tool: str, window: int, end: Callable[[], Turn]) -> Iterator[Stage]:
    number, asked = [0], list[str]()

    def script(request: Received) -> Turn:
        if not request.body.get("tools"):
            return Turn("A title.")
        text = json.dumps(request.body)
        thinks = (request.body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
        thought = "I look." if thinks else ""
        refs = re.findall(r"ref=([a-z]\d+)", text)
        if refs and not asked and number[0] > STEPS // 2 and "tool_output_cache" in text:
            asked.append(refs[0])
            return Turn(calls=[("tool_output_cache", {"ref_id": refs[0]})], thinking=thought)
        number[0] += 1
        if number[0] > STEPS:
            return end()
        return Turn(f"Step {number[0]}.", calls=[(tool, {"number": number[0]})], thinking=thought)

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Provider(script, window=window) as provider:
        command = [PYTHON, "-m", "fanfold", "serve", "--port", str(port), "--window", str(window)]
        command += ["--upstream", f"anthropic={provider.anthropic_base_url}"]
        command += ["--upstream", f"openai={provider.openai_base_url}"]
        with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as gateway:
            try:
                assert gateway.stderr is not None
                assert "serves" in gateway.stderr.readline()
                yield Stage(provider, f"http://127.0.0.1:{port}", asked, folder)
            finally:
                gateway.terminate()


def test_smolagents_reads_on_and_on(tmp_path: Path) -> None:
    from smolagents import OpenAIServerModel, ToolCallingAgent, tool

    @tool
    def read(number: int) -> str:
        """Look at a page.

        Args:
            number: Which page.
        """
        return look(number)

    end = Turn(calls=[("final_answer", {"answer": DONE})])
    with staged(tmp_path, "read", 16_000, lambda: end) as stage:
        client = {"default_headers": HEADERS, "max_retries": 0}
        model = OpenAIServerModel(
            "gpt-4o", api_base=f"{stage.address}/v1", api_key="any", client_kwargs=client
        )
        agent = ToolCallingAgent(tools=[read], model=model, max_steps=1_000, verbosity_level=0)
        assert agent.run("Read every page.") == DONE
        stage.check(16_000, 0.75)
        assert len(stage.sessions()) == 1
        assert len(agent.memory.steps) == STEPS + 2


def test_crewai_reads_on_and_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CREWAI_DISABLE_TELEMETRY", "OTEL_SDK_DISABLED"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path / "crewai"))
    from crewai import LLM, Agent, Crew, Task
    from crewai.tools import tool

    @tool("read")
    def read(number: int) -> str:
        """Look at a page."""
        return look(number)

    with staged(tmp_path, "read", 16_000, lambda: Turn(DONE)) as stage:
        llm = LLM(
            model="openai/gpt-4o", base_url=f"{stage.address}/v1", api_key="any", default_headers=HEADERS
        )
        made = {"role": "Reader", "goal": "Read.", "backstory": "You read."}
        agent = Agent(**made, tools=[read], llm=llm, max_iter=1_000, respect_context_window=False)
        task = Task(description="Read every page.", expected_output="A word.", agent=agent)
        assert str(Crew(agents=[agent], tasks=[task], verbose=False).kickoff()) == DONE
        stage.check(16_000, 0.8)
        assert len(stage.asked) == 1
        assert len(stage.sessions()) == 1


def test_the_claude_agent_sdk_reads_on_and_on(tmp_path: Path) -> None:
    from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool

    @tool("read", "Look at a page.", {"number": int})
    async def read(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": look(given["number"]) * 3}]}

    async def run(address: str) -> list[Any]:
        quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        options = ClaudeAgentOptions(
            model="claude-sonnet-4-6",
            mcp_servers={"pages": create_sdk_mcp_server("pages", tools=[read])},
            allowed_tools=["mcp__pages__read"],
            cwd=tmp_path,
            env={
                "ANTHROPIC_BASE_URL": address,
                "ANTHROPIC_API_KEY": "any",
                "DISABLE_COMPACT": "1",
                "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "8000",
                "HOME": str(tmp_path),
                **quiet,
            },
        )
        messages = [message async for message in query(prompt="Read every page.", options=options)]
        return [message for message in messages if isinstance(message, ResultMessage)]

    with staged(tmp_path, "mcp__pages__read", 40_000, lambda: Turn(DONE, thinking="Done.")) as stage:
        results = asyncio.run(run(stage.address))
        assert [(result.result, result.is_error) for result in results] == [(DONE, False)]
        stage.check(40_000, 0.8)
        assert len(stage.asked) == 1
        assert len(stage.sessions()) == 1
