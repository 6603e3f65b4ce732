"""A loop around LiteLLM that reads forty pages in a small window. The provider is scripted: no key.

pip install ".[litellm]"
"""

import asyncio
import json

import litellm

from fanfold.integrations.litellm import FanfoldLogger
from fanfold.testing.provider import Provider, Turn

NUMBER = {"type": "object", "properties": {"number": {"type": "integer"}}}
TOOL = {
    "type": "function",
    "function": {"name": "read_page", "description": "Read a page.", "parameters": NUMBER},
}


def read_page(number: int) -> str:
    """Read a page of the manual."""
    return f"Page {number}: " + "the valve opens at three bar. " * 80


async def main() -> None:
    litellm.callbacks = [FanfoldLogger(window=16_000)]  # the one line
    messages = [{"role": "user", "content": "When does the valve open?"}]
    steps = [Turn(calls=[("read_page", {"number": number})]) for number in range(40)]
    with Provider([*steps, Turn("The valve opens at three bar.")], window=16_000) as provider:
        while True:
            response = await litellm.acompletion(
                model="openai/gpt-4o",
                messages=messages,
                tools=[TOOL],
                litellm_session_id="manual",
                base_url=provider.openai_base_url,
                api_key="any",
            )
            reply = response.choices[0].message
            messages.append(reply.model_dump(exclude_none=True))
            if not reply.tool_calls:
                break
            for call in reply.tool_calls:
                output = read_page(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": output})
    print(reply.content)
    most = max(request.tokens for request in provider.requests)
    print(f"{len(messages)} messages in the list, {most:,} tokens at most sent")


asyncio.run(main())
