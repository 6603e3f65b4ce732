"""A strategy of one's own. Run it: .venv/bin/python examples/minutes.py

A strategy says what it wants; whether it may, whether it helps and what happens if its model is down is not its
business. `secretary` stands in for a model.
"""

from __future__ import annotations

import fanfold
from fanfold import Ask, Budget, Fold, View, ask
from fanfold.core.plan import Plan


def minutes(view: View, budget: Budget) -> Plan:
    """Fold everything but the first request and the newest 30 % into meeting minutes."""
    first = [row for row in view.rows if row.is_request][:1]
    old = view.oldest(leaving=int(budget.room * 0.3), but=first)
    if len(old.rows) < 2:
        return
    text = yield from ask(old.messages, "Write minutes: decisions, open items.")
    yield Fold(old.covers, text)


def secretary(question: Ask) -> str:
    """A model that is asked; here a line long known."""
    print(f"asked: {question.prompt!r}, about {len(question.messages)} messages")
    return "Minutes: the release moves to Friday; the parser is Ana's."


def main() -> None:
    """Talk until the window is full."""
    with fanfold.open("meeting", window=2_000, strategy=minutes, summarizer=secretary) as chat:
        for number in range(12):
            chat.say(f"Point {number}: " + "we talk about the release and who fixes the parser. " * 12)
            chat.request()
            chat.add({"role": "assistant", "content": f"Noted, point {number}."})
        print(chat.view())
        print(chat.view().messages[1].text)


if __name__ == "__main__":
    main()
