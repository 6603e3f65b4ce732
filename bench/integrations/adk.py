"""ADK's events compaction, and fanfold's plug-in."""

from __future__ import annotations

import asyncio
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types

from bench.integrations.run import WINDOW, Run, look, main
from fanfold.integrations.adk import FanfoldPlugin
from fanfold.testing.provider import Provider

NAME = "gemini-2.5-flash"
AT = int(WINDOW * 0.75)


def agent(kind: str) -> Run:
    """A run of an agent with one of the managers."""

    def run(provider: Provider) -> str:
        return asyncio.run(_run(kind, provider))

    return run


async def _run(kind: str, provider: Provider) -> str:
    client = {"api_key": "any", "vertexai": False}
    model = Gemini(model=NAME, base_url=provider.gemini_base_url, client_kwargs=client)
    made = LlmAgent(name="reader", model=model, instruction="You read.", tools=[look])
    more: dict[str, Any] = {}
    if kind == "fanfold":
        more["plugins"] = [FanfoldPlugin(window=WINDOW)]
    if kind == "compaction":
        more["events_compaction_config"] = EventsCompactionConfig(
            summarizer=LlmEventSummarizer(llm=model), token_threshold=AT, event_retention_size=20
        )
    runner = InMemoryRunner(app=App(name="app", root_agent=made, **more))
    await runner.session_service.create_session(app_name="app", user_id="ana", session_id="run")
    said = types.Content(role="user", parts=[types.Part(text="Read every page.")])
    config = RunConfig(max_llm_calls=1_000)
    async for _ in runner.run_async(user_id="ana", session_id="run", new_message=said, run_config=config):
        pass
    session = await runner.session_service.get_session(app_name="app", user_id="ana", session_id="run")
    answers = [answer for event in session.events for answer in event.get_function_responses()]
    return "\n".join(str(answer.response.get("result")) for answer in answers)


if __name__ == "__main__":
    main(
        "Google ADK",
        {
            "none": agent("none"),
            "EventsCompactionConfig": agent("compaction"),
            "fanfold": agent("fanfold"),
        },
    )
