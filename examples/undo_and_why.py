"""See what left the view, ask why, and take it back. Run it: .venv/bin/python examples/undo_and_why.py"""

from __future__ import annotations

import fanfold


def main() -> None:
    """Fill a small window, then look behind an edit."""
    with fanfold.open("undo", window=1_500) as chat:
        chat.say("Please keep an eye on the disk.")
        entries = []
        for hour in range(16):
            chat.add(
                {
                    "role": "assistant",
                    "content": f"Hour {hour}: I look at the disk again. " + "It hums. " * 20,
                }
            )
            entries.append(chat.say(f"Reading {hour}: {60 + hour} % full. " + "Nothing else to tell. " * 8))
            chat.request(max_tokens=150)

        first = entries[0]
        print(chat.view())
        print()
        print(chat.why(first.id))

        chat.undo(first.id)  # this message alone; `chat.undo("e3")` takes a whole edit back
        print(f"\nback in view: {chat.why(first.id).visible}")
        print(chat.pressure())


if __name__ == "__main__":
    main()
