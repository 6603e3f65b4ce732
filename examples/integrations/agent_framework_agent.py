"""An agent of Microsoft Agent Framework that reads forty pages in a small window. The provider is scripted: no key.

pip install ".[agent-framework]" agent-framework-openai
"""

import asyncio

from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient

from fanfold.integrations.agent_framework import FanfoldProvider
from fanfold.testing.provider import Provider, Turn


def read_page(number: int) -> str:
    """Read a page of the manual."""
    return f"Page {number}: " + "the valve opens at three bar. " * 80


async def main(base_url: str) -> None:
    client = OpenAIChatCompletionClient(model="gpt-4o", api_key="any", base_url=base_url)
    client.function_invocation_configuration["max_iterations"] = 100
    fold = FanfoldProvider(window=16_000)  # the one line
    agent = Agent(client, name="reader", tools=[read_page], context_providers=[fold])
    session = agent.create_session(session_id="manual")
    print(await agent.run("When does the valve open?", session=session))
    history = session.state["in_memory"]["messages"]
    with fold.session("manual/reader") as chat:
        most = max(sent.tokens for sent in chat.sent())
        share = chat.stats()["cached_tokens"] / chat.stats()["billed_tokens"]
    print(f"{len(history)} messages in the session, about {most:,} tokens at most sent")
    print(f"{share:.0%} read from the prompt cache")


steps = [Turn(calls=[("read_page", {"number": number})]) for number in range(40)]
with Provider([*steps, Turn("The valve opens at three bar.")], window=16_000) as provider:
    asyncio.run(main(provider.openai_base_url))
