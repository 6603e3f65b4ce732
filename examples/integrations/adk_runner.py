"""An agent of Google's ADK that reads forty pages in a small window. It needs no key: the provider is scripted.

pip install ".[adk]"
"""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner

from fanfold.integrations.adk import FanfoldPlugin
from fanfold.testing.provider import Provider, Turn


def read_page(number: int) -> str:
    """Read a page of the manual."""
    return f"Page {number}: " + "the valve opens at three bar. " * 80


async def main(provider: Provider) -> None:
    model = Gemini(
        model="gemini-2.5-flash",
        base_url=provider.gemini_base_url,
        client_kwargs={"api_key": "any", "vertexai": False},
    )
    agent = LlmAgent(name="reader", model=model, tools=[read_page])
    fold = FanfoldPlugin(window=16_000)  # the one line
    runner = InMemoryRunner(app=App(name="manual", root_agent=agent, plugins=[fold]))
    events = await runner.run_debug("When does the valve open?", session_id="s1", quiet=True)
    print(events[-1].content.parts[0].text)
    print(
        f"{len(events)} events in ADK's session, {max(r.tokens for r in provider.requests):,} tokens at most sent"
    )
    await runner.close()


steps = [Turn(calls=[("read_page", {"number": number})]) for number in range(40)]
with Provider([*steps, Turn("The valve opens at three bar.")], window=16_000) as provider:
    asyncio.run(main(provider))
