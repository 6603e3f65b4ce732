"""An agent of LangChain's that reads forty pages in a small window. It needs no key: the provider is scripted.

pip install ".[langchain]" langchain-openai
"""

from langchain.agents import create_agent
from langchain.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from fanfold.integrations.langchain import FanfoldMiddleware
from fanfold.testing.provider import Provider, Turn


@tool
def read_page(number: int) -> str:
    """Read a page of the manual."""
    return f"Page {number}: " + "the valve opens at three bar. " * 80


steps = [Turn(calls=[("read_page", {"number": number})]) for number in range(40)]
with Provider([*steps, Turn("The valve opens at three bar.")], window=16_000) as provider:
    model = ChatOpenAI(model="gpt-4o", base_url=provider.openai_base_url, api_key="any")
    fold = FanfoldMiddleware(window=16_000)  # the one line
    agent = create_agent(model, [read_page], middleware=[fold], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "manual"}, "recursion_limit": 200}
    state = agent.invoke({"messages": [("user", "When does the valve open?")]}, config)

print(state["messages"][-1].text)
print(
    f"{len(state['messages'])} messages in the state, {max(r.tokens for r in provider.requests):,} tokens at most sent"
)
with fold.session("manual/agent") as chat:
    print(f"{chat.stats()['cached_tokens'] / chat.stats()['billed_tokens']:.0%} read from the prompt cache")
