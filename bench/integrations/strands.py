"""The managers of Strands, and fanfold's plug-in."""

from __future__ import annotations

import json
from typing import Any

from strands import Agent, tool
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.models.openai import OpenAIModel

from bench.integrations.run import MODEL, WINDOW, Run, look, main
from fanfold.integrations.strands import FanfoldWindow
from fanfold.testing.provider import Provider

LOOK = tool(look)


def agent(**managers: Any) -> Run:
    """A run of an agent with these managers."""

    def run(provider: Provider) -> str:
        client = {"base_url": provider.openai_base_url, "api_key": "any", "max_retries": 0}
        model = OpenAIModel(client_args=client, model_id=MODEL, context_window_limit=WINDOW)
        made = Agent(model, tools=[LOOK], system_prompt="You read.", callback_handler=None, **managers)
        made("Read every page.")
        return json.dumps(made.messages)

    return run


if __name__ == "__main__":
    early = SlidingWindowConversationManager(per_turn=True)
    main(
        "Strands",
        {
            "none (`context_manager=False`)": agent(context_manager=False),
            "SlidingWindowConversationManager, the default": agent(),
            "the same, `per_turn=True`": agent(conversation_manager=early),
            '`context_manager="auto"`': agent(context_manager="auto"),
            "fanfold": agent(plugins=[FanfoldWindow(window=WINDOW)]),
        },
    )
