"""No session, just a list that is too long. Run it: .venv/bin/python examples/fit_a_list.py"""

from __future__ import annotations

import fanfold


def main() -> None:
    """Fit a list of messages into a window."""
    messages = [{"role": "system", "content": "You are brief."}]
    for number in range(200):
        messages.append({"role": "user", "content": f"Question {number}: what is {number} squared?"})
        messages.append({"role": "assistant", "content": f"{number * number}."})
    messages.append({"role": "user", "content": "And what was my first question?"})

    short = fanfold.fit(messages, window=2_000)

    print(f"{len(messages)} messages became {len(short)}")
    print(f"the last one: {short[-1]['content']}")
    print(f"fitting it again changes nothing: {fanfold.fit(short, window=2_000) == short}")


if __name__ == "__main__":
    main()
