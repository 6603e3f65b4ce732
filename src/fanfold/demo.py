"""The demo: a long agent session in a small window, reduced, undone, and checked for losses.

    python -m fanfold.demo

No key, no network: the agent is scripted, and so are its tools.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import fanfold

WINDOW = 8_000
REPLY = 600
STEPS = 60
RULE = "Never touch vendor/, and keep the public API as it is."
_FILES = ("parser.py", "lexer.py", "cli.py", "cache.py", "config.py", "report.py", "test_parser.py")
_FINDS = ("def parse(", "retry(", "import cache", "TODAY =", "except KeyError", "tz=None", "strptime(")
_WIDTH = 24
_SHOWN = 6

Body = dict[str, Any]
Say = Callable[..., None]


def main() -> int:
    """Play the whole demo; 1 if a promise was broken."""
    say = _voice()
    started = time.perf_counter()
    say(f"An agent looks for a bug for {STEPS} steps. Its model's window holds {WINDOW:,} tokens.", "bold")
    with fanfold.open("nightly", window=WINDOW, system="You mend builds.") as chat:
        told, requests = _play(chat, say)
        _look(chat, say)
        _change_ones_mind(chat, say)
        kept = _check(chat, told, requests, say)
    say(f"\n{time.perf_counter() - started:.1f} s, no key, no network. Next: README.md, examples/, docs/.")
    return 0 if kept else 1


def _voice() -> Say:
    """Plain text; colours where there is a terminal to show them."""
    if not sys.stdout.isatty():
        return lambda text, style="": print(text)
    from rich.console import Console  # imported late: only people look at colours

    console = Console(highlight=False, markup=False, soft_wrap=True)

    def live(text: str, style: str = "") -> None:
        console.print(text, style=style)
        time.sleep(0.03)

    return live


def _play(chat: fanfold.Session, say: Say) -> tuple[list[Body], list[list[Body]]]:
    """Run the session; gives back everything that was told, and every request that went out."""
    told: list[Body] = []
    requests: list[list[Body]] = []
    for number, happened in enumerate(_session()):
        for body in happened:
            entry = chat.add(body)
            told.append(body)
            if body["content"] == RULE:
                chat.pin(entry.id)
        if happened[-1]["role"] == "assistant":
            continue
        before = chat.view().tokens
        requests.append(chat.request(max_tokens=REPLY)["messages"])
        after = chat.view().tokens
        if after < before:
            say(f"  {_gauge(before)} {before:>6,} tokens   nearly full", "yellow")
            say(f"  {_gauge(after)} {after:>6,} tokens   reduced by one recorded edit", "green")
        elif number % 10 == 0:
            say(f"  {_gauge(after)} {after:>6,} tokens   {len(told)} messages so far")
    return told, requests


def _look(chat: fanfold.Session, say: Say) -> None:
    say("\nWhat the model sees now:", "bold")
    say(str(chat.view()))
    say(f"\n{chat.pressure()}")


def _change_ones_mind(chat: fanfold.Session, say: Say) -> None:
    reduced = chat.view()
    (undo,) = chat.undo()
    back = [row for row in chat.view().rows if reduced.row(row.id) is None]
    say(
        f"\nUndo the last edit: {reduced.tokens:,} → {chat.view().tokens:,} tokens. These rows came back:",
        "bold",
    )
    lines = dict(zip((row.id for row in chat.view().rows), str(chat.view()).splitlines()[2:], strict=True))
    for row in back[:_SHOWN]:
        say(lines[row.id])
    say(f"     … and {len(back) - _SHOWN} more")
    chat.redo()
    say(f"Undo the undo ({undo.id}): {chat.view().tokens:,} tokens again.")


def _check(chat: fanfold.Session, told: list[Body], requests: Sequence[list[Body]], say: Say) -> bool:
    """Count what was promised: nothing lost, always fits, cheap to re-send, pins kept."""
    with chat.fork("everything", window=10_000_000, edits=False) as whole:
        kept = whole.request()["messages"][1:] == told
        tokens = whole.view().tokens
    largest = max(chat.sent(number)[0].tokens for number in range(len(requests)))
    grew = sum(later[: len(one)] == one for one, later in pairwise(requests))
    since = next(i for i, request in enumerate(requests) if _says_rule(request))
    verdicts = {
        f"nothing lost: all {len(told)} messages ({tokens:,} tokens) come back as they were": kept,
        f"always fits: the largest of {len(requests)} requests has {largest:,} tokens": largest + REPLY
        <= WINDOW,
        f"cheap to re-send: {grew} of {len(requests) - 1} requests only grew at their end, and "
        f"{_repeated(requests):.0%} of all bytes stood there before": 2 * grew > len(requests),
        f"pinned: {RULE!r} is in all {len(requests) - since} requests since": all(
            map(_says_rule, requests[since:])
        ),
    }
    say("\nChecked:", "bold")
    for text, good in verdicts.items():
        say(f"  {'✓' if good else '✗'} {text}")
    return all(verdicts.values())


def _says_rule(request: Sequence[Body]) -> bool:
    return any(body["content"] == RULE for body in request)


def _repeated(requests: Sequence[list[Body]]) -> float:
    """The share of bytes that a provider's prompt cache can have seen in the request before."""
    known = 0
    for earlier, later in pairwise(requests):
        pairs = enumerate(zip(earlier, later, strict=False))
        same = next((i for i, (one, other) in pairs if one != other), len(earlier))
        known += len(json.dumps(later[:same]))
    return known / sum(len(json.dumps(request)) for request in requests)


def _gauge(tokens: int) -> str:
    full = min(_WIDTH, round(tokens / WINDOW * _WIDTH))
    return "█" * full + "░" * (_WIDTH - full)


def _session() -> Iterator[list[Body]]:
    """What happens between two requests, always the same."""
    rng = random.Random(42)
    yield [{"role": "user", "content": "The nightly build fails since Tuesday. Find out why and mend it."}]
    for step in range(1, STEPS + 1):
        name, argument = rng.choice((("read", "path"), ("grep", "pattern"), ("run", "command")))
        value = {"read": f"src/{rng.choice(_FILES)}", "grep": rng.choice(_FINDS), "run": "make nightly"}[name]
        call = {"name": name, "arguments": json.dumps({argument: value})}
        calls = [{"id": f"c{step}", "type": "function", "function": call}]
        yield [{"role": "assistant", "content": f"Step {step}: {name} {value}", "tool_calls": calls}]
        happened = [{"role": "tool", "tool_call_id": f"c{step}", "content": _output(rng, name)}]
        if step == 5:
            happened.append({"role": "user", "content": RULE})
        yield happened


def _output(rng: random.Random, tool: str) -> str:
    """What a tool prints: now a few lines, now a screenful."""
    return "\n".join(_line(rng, tool, number) for number in range(int(rng.expovariate(1 / 18)) + 2))


def _line(rng: random.Random, tool: str, number: int) -> str:
    file = rng.choice(_FILES)
    if tool == "read":
        return (
            f"{number + 1:>4}  value_{rng.randrange(99)} = fetch({rng.choice(_FINDS)!r}, {rng.randrange(9)})"
        )
    if tool == "grep":
        return f"src/{file}:{rng.randrange(900)}: {rng.choice(_FINDS)}"
    return f"[{number:02}] {file} {rng.choice(('ok', 'ok', 'ok', 'FAILED: KeyError'))} {rng.random():.2f} s"


if __name__ == "__main__":
    sys.exit(main())
