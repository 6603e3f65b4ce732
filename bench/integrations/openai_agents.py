"""Managers of the OpenAI Agents SDK, and fanfold's session."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, function_tool
from agents.extensions.tool_output_trimmer import ToolOutputTrimmer
from agents.memory import OpenAIResponsesCompactionSession, SQLiteSession
from openai import AsyncOpenAI

from bench.integrations.run import MODEL, WINDOW, Run, look, main, pages_in
from fanfold.integrations.openai_agents import FanfoldSession
from fanfold.testing.provider import Provider

LOOK = function_tool(look)
PLAIN = RunConfig(tracing_disabled=True)


class Compactor:
    """Stands in for OpenAI's `responses.compact`: it keeps what people said, and names every page."""

    def __init__(self) -> None:
        self.responses = self

    async def compact(self, **given: Any) -> Any:
        items = [item for item in given["input"] if item.get("role") == "user"]
        named = ", ".join(f"page-{number:03d}" for number in sorted(pages_in(json.dumps(given["input"]))))
        items.append({"role": "assistant", "content": f"Pages that were read: {named}"})
        return SimpleNamespace(output=items)


def agent(manager: str) -> Run:
    """A run of an agent with one of the managers."""

    def run(provider: Provider) -> str:
        return asyncio.run(_run(manager, provider))

    return run


async def _run(manager: str, provider: Provider) -> str:
    async with AsyncOpenAI(base_url=provider.openai_base_url, api_key="any", max_retries=0) as client:
        model = OpenAIResponsesModel(MODEL, client)
        made = Agent("reader", instructions="You read.", tools=[LOOK], model=model)
        more: dict[str, Any] = {"session": SQLiteSession("run"), "run_config": PLAIN}
        if manager == "fanfold":
            fold = FanfoldSession("run", window=WINDOW)
            made, more = (
                fold.agent(made),
                {"session": fold, "run_config": fold.run_config(PLAIN), "hooks": fold.hooks()},
            )
        elif manager == "compaction":
            more["session"] = OpenAIResponsesCompactionSession(
                "run", SQLiteSession("run"), client=Compactor(), model=MODEL, compaction_mode="input"
            )
        elif manager == "trimmer":
            more["run_config"] = RunConfig(tracing_disabled=True, call_model_input_filter=ToolOutputTrimmer())
        await Runner.run(made, "Read every page.", max_turns=1_000, **more)
        return json.dumps(await more["session"].get_items())


if __name__ == "__main__":
    managers = {
        "none": "none",
        "OpenAIResponsesCompactionSession": "compaction",
        "ToolOutputTrimmer": "trimmer",
        "fanfold": "fanfold",
    }
    main("OpenAI Agents SDK", {name: agent(kind) for name, kind in managers.items()})
