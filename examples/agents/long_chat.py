"""A long chat with a summarizer: a model tells the story, the log keeps the facts.

Run it: .venv/bin/python examples/agents/long_chat.py
"""

from __future__ import annotations

from openai import OpenAI

import fanfold
from fanfold.testing.provider import Provider, Received, Turn

RULE = "Never book a flight before nine in the morning."
DAYS = 40


def script(request: Received) -> Turn:
    """The model: it chats, and writes a summary where it is asked for one."""
    if "summary" in str(request.body["messages"][0]).lower():
        return Turn(
            "<summary>The person plans a journey through Japan, day by day, and likes gardens.</summary>"
        )
    return Turn("A good plan. " + "There is a garden nearby, and the train takes an hour. " * 6)


def main() -> None:
    """Talk for forty days, and look at what is left in the window."""
    with Provider(script, window=4_000) as provider:
        client = OpenAI(base_url=provider.openai_base_url, api_key="any")
        with fanfold.open("journey", model="gpt-4o", window=4_000, summarizer=client) as chat:
            chat.pin(chat.say(f"Plan my journey through Japan. {RULE}").id)
            for day in range(1, DAYS + 1):
                chat.receive(client.chat.completions.create(**chat.request(max_tokens=300)))
                chat.settle()  # after a turn: a model is asked now, so that no request has to wait for it
                chat.say(f"Day {day}: I would like to see Kyoto's temple number {day}.")
            chat.receive(client.chat.completions.create(**chat.request(max_tokens=300)))
            print(chat.view())
            print("the rule is still there:", RULE in str(chat.sent()[1].rows[0].messages))
        print(f"{len(provider.requests)} requests, {len(provider.rejected)} refused")


if __name__ == "__main__":
    main()
