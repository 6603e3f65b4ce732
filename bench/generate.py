"""Generated agent sessions to measure on: the same seed gives the same session."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

_WORDS = (  # noqa: SIM905 a list of thirty quoted words reads worse
    "parse token window buffer error stack frame value index cache result module import return class define "
    "request response timeout retry socket thread queue update select insert commit branch merge rebase config"
).split()


def words(rng: random.Random, count: int) -> str:
    """Text that looks like a tool's output: words, paths, numbers, line breaks."""
    out: list[str] = []
    for i in range(count):
        pick = rng.random()
        if pick < 0.08:
            out.append(
                f"src/{rng.choice(_WORDS)}/{rng.choice(_WORDS)}_{rng.randrange(1000)}.py:{rng.randrange(900)}"
            )
        elif pick < 0.16:
            out.append(f"{rng.getrandbits(40):x}")
        else:
            out.append(rng.choice(_WORDS))
        if i % 12 == 11:
            out.append("\n")
    return " ".join(out)


def steps(messages: int, tokens: int, seed: int = 7) -> Iterator[list[dict[str, Any]]]:
    """What happens between two requests, in Chat form: some 60 % of the messages are tool results."""
    rng = random.Random(seed)
    made, number = 1, 0
    per_result = int(tokens / (messages * 0.6) / 2.2)
    yield [
        {
            "role": "user",
            "content": "Find out why the nightly build fails and mend it. Never touch the vendor folder.",
        }
    ]
    while made < messages:
        count = 1 if rng.random() < 0.55 else 2
        calls = [
            {
                "id": f"call_{number + i}",
                "type": "function",
                "function": {
                    "name": rng.choice(("read", "grep", "run")),
                    "arguments": f'{{"path": "src/{words(rng, 1).strip()}"}}',
                },
            }
            for i in range(count)
        ]
        number += count
        yield [{"role": "assistant", "content": words(rng, 25), "tool_calls": calls}]
        results = [
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": words(rng, int(per_result * rng.expovariate(1)) + 3),
            }
            for call in calls
        ]
        made += 1 + count
        if rng.random() < 0.05:
            results.append({"role": "user", "content": words(rng, 20)})
            made += 1
        yield results
