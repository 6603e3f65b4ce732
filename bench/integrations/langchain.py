"""LangChain's managers, and fanfold's middleware."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, SummarizationMiddleware
from langchain.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from bench.integrations.run import MODEL, WINDOW, Run, look, main
from fanfold.integrations.langchain import FanfoldMiddleware
from fanfold.testing.provider import Provider

CONFIG: Any = {"configurable": {"thread_id": "run"}, "recursion_limit": 2_000}
AT = int(WINDOW * 0.75)


def agent(middlewares: Callable[[Any], list[Any]]) -> Run:
    """A run of an agent with these middlewares."""

    def run(provider: Provider) -> str:
        model = ChatOpenAI(base_url=provider.openai_base_url, api_key="any", model=MODEL, max_retries=0)
        made = create_agent(
            model,
            [tool(look)],
            system_prompt="You read.",
            middleware=middlewares(model),
            checkpointer=InMemorySaver(),
        )
        made.invoke({"messages": [("user", "Read every page.")]}, CONFIG)
        return "\n".join(message.text for message in made.get_state(CONFIG).values["messages"])

    return run


def summarizer(**more: Any) -> Run:
    """LangChain's summariser; by default it looks at the last 4,000 tokens of what it is to sum up, from a person's
    message on, and there is none in a run of tools."""
    size: Any = {"trigger": ("tokens", AT), "keep": ("messages", 20)}
    return agent(lambda model: [SummarizationMiddleware(model, **size, **more)])


if __name__ == "__main__":
    clear = ClearToolUsesEdit(trigger=AT, keep=3)
    main(
        "LangChain",
        {
            "none": agent(lambda model: []),
            "SummarizationMiddleware": summarizer(),
            "the same, `trim_tokens_to_summarize=None`": summarizer(trim_tokens_to_summarize=None),
            "ClearToolUsesEdit": agent(lambda model: [ContextEditingMiddleware(edits=[clear])]),
            "fanfold": agent(lambda model: [FanfoldMiddleware(window=WINDOW)]),
        },
    )
