"""An agent of the OpenAI Agents SDK that reads forty pages in a small window. The provider is scripted: no key.

pip install ".[openai-agents]"
"""

import asyncio

from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI

from fanfold.integrations.openai_agents import FanfoldSession
from fanfold.testing.provider import Provider, Turn


@function_tool
def read_page(number: int) -> str:
    """Read a page of the manual."""
    return f"Page {number}: " + "the valve opens at three bar. " * 80


async def main() -> None:
    steps = [Turn(calls=[("read_page", {"number": number})]) for number in range(40)]
    with Provider([*steps, Turn("The valve opens at three bar.")], window=16_000) as provider:
        client = AsyncOpenAI(base_url=provider.openai_base_url, api_key="any")
        agent = Agent("reader", tools=[read_page], model=OpenAIResponsesModel("gpt-4o", client))
        fold = FanfoldSession("manual", window=16_000)
        done = await Runner.run(
            fold.agent(agent),
            "When does the valve open?",
            session=fold,
            run_config=fold.run_config(RunConfig(tracing_disabled=True)),
            hooks=fold.hooks(),
            max_turns=100,
        )
    print(done.final_output)
    most = max(request.tokens for request in provider.requests)
    print(f"{len(await fold.get_items())} items in the session, {most:,} tokens at most sent")


asyncio.run(main())
