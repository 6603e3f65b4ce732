"""Sub-agents: each has a window of its own, and only its answer comes back.

Run it: .venv/bin/python examples/agents/sub_agents.py
"""

from __future__ import annotations

from openai import OpenAI

import fanfold
from fanfold import loop
from fanfold.testing.provider import Provider, Received, Turn

PARTS = ("parser", "lexer", "printer")
FIELD = {"type": "object", "properties": {"part": {"type": "string"}}}
ASK = [{"type": "function", "function": {"name": "investigate", "parameters": FIELD}}]
READ = [{"type": "function", "function": {"name": "read", "parameters": FIELD}}]


def script(request: Received) -> Turn:
    """Plays both: the one who asks for investigations, and those who read."""
    results = sum(message["role"] == "tool" for message in request.body["messages"])
    if "You investigate" in str(request.body["messages"][0]):
        return Turn("Line 12 never returns.") if results else Turn(calls=[("read", {"part": "all"})])
    if not results:
        return Turn(calls=[("investigate", {"part": part}) for part in PARTS])
    return Turn("The bug is in the parser, line 12.")


def main() -> None:
    """Let three sub-agents read, and show that the caller's window holds only their answers."""
    with Provider(script) as provider:
        client = OpenAI(base_url=provider.openai_base_url, api_key="any")
        send = lambda request: client.chat.completions.create(**request)  # noqa: E731

        with fanfold.open("lead", model="gpt-4o", tools=ASK, system="You lead.") as lead:
            lead.say("Where is the bug?")
            while not (reply := lead.receive(send(lead.request()))).done:
                for call in reply.calls:
                    system = f"You investigate the {call.args['part']}."
                    with lead.spawn(call, model="gpt-4o-mini", tools=READ, system=system) as helper:
                        helper.say("Read it, and tell me in one sentence what is wrong.")
                        lead.answer(
                            call, loop.run(helper, send, {"read": lambda part: "line\n" * 5_000}).text
                        )
            print(reply.text)
            print(lead.view())
            print("the lead's window holds", f"{lead.view().tokens:,} tokens")


if __name__ == "__main__":
    main()
