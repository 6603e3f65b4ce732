"""A support bot with state: what it has to know is declared, and kept up to date while old dialogue leaves.

Run it: .venv/bin/python examples/agents/support_bot.py
"""

from __future__ import annotations

import json
import re

import fanfold
from fanfold import presets, strategies

STATE = {"order": "string", "problem": "string", "wish": "string"}
DIALOGUE = [
    "Hello! My parcel is somewhere in the rain.",
    "The order is A-1047.",
    "The cup in it is broken, and the rest is wet. " + "It was a birthday present. " * 20,
    "No refund please, I want a new cup.",
    "Oh, and the order number was wrong: it is A-1074.",
]


def extract(question: fanfold.Ask) -> str:
    """Stands in for a model: it reads the state from what was said. Give `summarizer="gpt-5-mini"` for a real one."""
    said = question.messages[-1].text
    found = {
        "order": next(iter(re.findall(r"A-\d+", said)), None),
        "problem": "broken cup" if "broken" in said else None,
        "wish": "a new cup" if "new cup" in said else None,
    }
    return json.dumps({key: value for key, value in found.items() if value})


def main() -> None:
    """Talk, and show what goes to the model instead of the dialogue."""
    desk = presets.openstarry_state(STATE)
    with fanfold.open("desk", preset=desk, window=1_200, summarizer=extract) as chat:
        for words in DIALOGUE:
            chat.say(words)
            chat.settle()
            chat.add({"role": "assistant", "content": "I see. " + "Let me look that up for you. " * 10})
        chat.say("So what happens now?")
        chat.settle()
        chat.request(max_tokens=200)
        print(chat.view())
        print("state:", strategies.noted(chat.view(), "state"))


if __name__ == "__main__":
    main()
