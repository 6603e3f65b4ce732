"""The memory of LlamaIndex, and fanfold's wrapper of the LLM."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import Memory
from llama_index.llms.openai import OpenAI

from bench.integrations.run import MODEL, WINDOW, Run, look, main
from fanfold.integrations.llama_index import FanfoldLLM
from fanfold.testing.provider import Provider


def agent(kind: str) -> Run:
    """A run of an agent with one of the managers."""

    def run(provider: Provider) -> str:
        return asyncio.run(_run(kind, provider))

    return run


async def _run(kind: str, provider: Provider) -> str:
    llm: Any = OpenAI(MODEL, api_key="any", api_base=provider.openai_base_url, max_retries=0)
    tools: list[Any] = [look]
    limit = int(WINDOW * 0.75) if kind == "memory" else 10_000_000
    if kind == "fanfold":
        llm = FanfoldLLM(llm, session="run", window=WINDOW)
        tools += llm.recall_tools()
    made = FunctionAgent(llm=llm, tools=tools, system_prompt="You read.", streaming=False, timeout=None)
    memory = Memory.from_defaults(session_id="run", token_limit=limit, tokenizer_fn=_quarter)
    await made.run("Read every page.", memory=memory, max_iterations=1_000)
    return "\n".join(message.content or "" for message in await memory.aget_all())


def _quarter(text: str) -> list[str]:
    """Four characters a token; LlamaIndex would fetch the table of a tokenizer."""
    return [text[at : at + 4] for at in range(0, len(text), 4)]


if __name__ == "__main__":
    main(
        "LlamaIndex",
        {
            "none": agent("none"),
            "Memory, `token_limit`": agent("memory"),
            "fanfold": agent("fanfold"),
        },
    )
