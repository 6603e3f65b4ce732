"""An agent of Strands that reads forty pages in a small window. It needs no key: the provider is scripted.

pip install ".[strands]" "strands-agents[openai]"
"""

from strands import Agent, tool
from strands.models.openai import OpenAIModel

from fanfold.integrations.strands import FanfoldWindow
from fanfold.testing.provider import Provider, Turn


@tool
def read_page(number: int) -> str:
    """Read a page of the manual."""
    return f"Page {number}: " + "the valve opens at three bar. " * 80


steps = [Turn(calls=[("read_page", {"number": number})]) for number in range(40)]
with Provider([*steps, Turn("The valve opens at three bar.")], window=16_000) as provider:
    model = OpenAIModel(
        client_args={"base_url": provider.openai_base_url, "api_key": "any"}, model_id="gpt-4o"
    )
    fold = FanfoldWindow("manual", window=16_000)  # the one line
    agent = Agent(model, tools=[read_page], plugins=[fold], callback_handler=None)
    result = agent("When does the valve open?")

print(result)
most = max(request.tokens for request in provider.requests)
print(f"{len(agent.messages)} messages in the agent, {most:,} tokens at most sent")
with fold.session("manual/default") as chat:
    print(f"{chat.stats()['cached_tokens'] / chat.stats()['billed_tokens']:.0%} read from the prompt cache")
