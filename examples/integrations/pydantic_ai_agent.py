"""An agent of Pydantic AI's that reads forty pages in a small window. The provider is scripted: no key.

pip install ".[pydantic-ai]" "pydantic-ai-slim[openai]"
"""

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from fanfold.integrations.pydantic_ai import Fanfold
from fanfold.testing.provider import Provider, Turn


def read_page(number: int) -> str:
    """Read a page of the manual."""
    return f"Page {number}: " + "the valve opens at three bar. " * 80


steps = [Turn(calls=[("read_page", {"number": number})]) for number in range(40)]
with Provider([*steps, Turn("The valve opens at three bar.")], window=16_000) as provider:
    model = OpenAIChatModel(
        "gpt-4o", provider=OpenAIProvider(base_url=provider.openai_base_url, api_key="any")
    )
    fold = Fanfold(window=16_000)  # the one line
    agent = Agent(model, tools=[read_page], capabilities=[fold])
    result = agent.run_sync("When does the valve open?", conversation_id="manual")

print(result.output)
most = max(request.tokens for request in provider.requests)
print(f"{len(result.all_messages())} messages in the history, {most:,} tokens at most sent")
