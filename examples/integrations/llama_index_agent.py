"""An agent of LlamaIndex that reads forty pages in a small window. The provider is scripted: no key.

pip install ".[llama-index]" llama-index-llms-openai
"""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import Memory
from llama_index.llms.openai import OpenAI

from fanfold.integrations.llama_index import FanfoldLLM
from fanfold.testing.provider import Provider, Turn


def read_page(number: int) -> str:
    """Read a page of the manual."""
    return f"Page {number}: " + "the valve opens at three bar. " * 80


async def main(base_url: str) -> None:
    openai = OpenAI("gpt-4o", api_key="any", api_base=base_url)
    llm = FanfoldLLM(openai, session="manual", window=16_000)
    agent = FunctionAgent(llm=llm, tools=[read_page, *llm.recall_tools()])
    memory = Memory.from_defaults(session_id="manual", token_limit=1_000_000)
    print(await agent.run("When does the valve open?", memory=memory, max_iterations=100))
    with llm.session_named("manual/agent") as chat:
        most = max(sent.tokens for sent in chat.sent())
    print(f"{len(await memory.aget_all())} messages in the memory, about {most:,} tokens at most sent")


steps = [Turn(calls=[("read_page", {"number": number})]) for number in range(40)]
with Provider([*steps, Turn("The valve opens at three bar.")], window=16_000) as provider:
    asyncio.run(main(provider.openai_base_url))
