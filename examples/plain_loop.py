"""A plain agent loop on fanfold. Run it: .venv/bin/python examples/plain_loop.py

`Scripted` stands in for `openai.OpenAI()`, so that this needs neither a key nor a network.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import fanfold

WINDOW = 6_000
TOOLS = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]


class Scripted:
    """Calls a tool forty times, then is done."""

    def __init__(self) -> None:
        self.chat = self.completions = self
        self.numbers = count(1)

    def create(self, **request: Any) -> dict[str, Any]:
        """Answer as Chat Completions does."""
        number = next(self.numbers)
        if number > 40:
            return {"choices": [{"message": {"role": "assistant", "content": "Found it in part 17."}}]}
        function = {"name": "read", "arguments": f'{{"part": {number}}}'}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}


def read(part: int) -> str:
    """A tool with a long answer."""
    return "\n".join(f"part {part}, line {line}: nothing to see here" for line in range(30))


def main() -> None:
    """Run the loop, and tell what it took."""
    client = Scripted()
    with fanfold.open("plain", window=WINDOW, system="You find bugs.", tools=TOOLS) as chat:
        chat.say("Read the log, part by part, and tell me where it breaks.")
        while True:
            request = chat.request(max_tokens=500)
            reply = chat.receive(client.chat.completions.create(**request))
            if reply.done:
                break
            for call in reply.calls:
                chat.answer(call, read(**call.args))
        print(reply.text)
        figures = chat.stats()
        print(
            f"{figures['messages']} messages, {figures['requests']} requests, {figures['edits']} edits stand"
        )
        largest = max(chat.sent(number)[0].tokens for number in range(figures["requests"]))
        print(f"every request fitted: {largest + 500 <= WINDOW} (the largest: {largest:,} tokens)")


if __name__ == "__main__":
    main()
