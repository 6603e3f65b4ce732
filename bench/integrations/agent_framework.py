"""The strategies of Microsoft Agent Framework, and fanfold's context provider."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    CharacterEstimatorTokenizer,
    ContextWindowCompactionStrategy,
    SlidingWindowStrategy,
    SummarizationStrategy,
    TruncationStrategy,
)
from agent_framework.openai import OpenAIChatCompletionClient

from bench.integrations.run import MODEL, WINDOW, Run, look, main
from fanfold.integrations.agent_framework import FanfoldProvider
from fanfold.testing.provider import Provider

TOKENS = CharacterEstimatorTokenizer()
AT, TO = int(WINDOW * 0.75), int(WINDOW * 0.4)


def agent(managers: Callable[[Any], dict[str, Any]]) -> Run:
    """A run of an agent with these managers."""

    def run(provider: Provider) -> str:
        return asyncio.run(_run(managers, provider))

    return run


async def _run(managers: Callable[[Any], dict[str, Any]], provider: Provider) -> str:
    client = OpenAIChatCompletionClient(model=MODEL, api_key="any", base_url=provider.openai_base_url)
    client.function_invocation_configuration["max_iterations"] = 1_000
    made = Agent(client, "You read.", name="reader", tools=[look], **managers(client))
    session = AgentSession(session_id="run")
    await made.run("Read every page.", session=session)
    contents = [one for message in session.state["in_memory"]["messages"] for one in message.contents]
    return "\n".join(str(one.result) for one in contents if one.type == "function_result")


if __name__ == "__main__":
    main(
        "Agent Framework",
        {
            "none": agent(lambda client: {}),
            "TruncationStrategy": agent(
                lambda client: {
                    "compaction_strategy": TruncationStrategy(max_n=AT, compact_to=TO, tokenizer=TOKENS)
                }
            ),
            "SlidingWindowStrategy": agent(
                lambda client: {"compaction_strategy": SlidingWindowStrategy(keep_last_groups=20)}
            ),
            "SummarizationStrategy": agent(
                lambda client: {"compaction_strategy": SummarizationStrategy(client=client, target_count=20)}
            ),
            "ContextWindowCompactionStrategy": agent(
                lambda client: {
                    "compaction_strategy": ContextWindowCompactionStrategy(
                        max_context_window_tokens=WINDOW, max_output_tokens=1_600
                    )
                }
            ),
            "fanfold": agent(lambda client: {"context_providers": [FanfoldProvider(window=WINDOW)]}),
        },
    )
