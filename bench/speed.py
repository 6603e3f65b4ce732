"""All of fanfold's work over a session, beside what its own tokenizer needs to count the same text once."""

from __future__ import annotations

import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

from generate import steps
from splintr import Tokenizer

import fanfold
from fanfold.tokens import vocabulary

Step = list[dict[str, Any]]


def text_of(session: Sequence[Step]) -> list[str]:
    """Every text that a request would carry."""
    texts = []
    for step in session:
        for message in step:
            texts.append(message["content"])
            texts += [call["function"]["arguments"] for call in message.get("tool_calls", ())]
    return texts


def counted_once(texts: Sequence[str]) -> tuple[float, int]:
    """Seconds and tokens of a fresh tokenizer over all texts."""
    encode = Tokenizer.from_pretrained("o200k_base").encode_ordinary
    encode("warm")
    start = time.process_time()
    total = sum(len(encode(text)) for text in texts)
    return time.process_time() - start, total


def run(
    session: Sequence[Step], budget: fanfold.Budget | None = None, strategy: str | None = None
) -> tuple[float, fanfold.Session, int]:
    """Seconds of a whole session: record, and a request before every reply."""
    vocabulary.forget()
    limits = {"budget": budget} if budget else {"window": 100_000}
    chat = fanfold.open("bench", system="You mend builds.", strategy=strategy, **limits)
    vocabulary.counter("")("warm")
    requests = 0
    start = time.process_time()
    for step in session:
        for message in step:
            chat.add(message)
        if step[-1]["role"] != "assistant":
            chat.request(max_tokens=None if budget else 4_000)
            requests += 1
    return time.process_time() - start, chat, requests


def run_by_merge(session: Sequence[Step]) -> float:
    """Seconds of the same session in a gateway: before every request, the client sends its whole history again."""
    vocabulary.forget()
    chat = fanfold.open("bench", system="You mend builds.", window=100_000)
    vocabulary.counter("")("warm")
    history: Step = []
    start = time.process_time()
    for step in session:
        history += step
        if step[-1]["role"] != "assistant":
            chat.merge(history)
            chat.request(max_tokens=4_000)
    return time.process_time() - start


def beside(texts: Sequence[str], work: Callable[[], float], times: int = 7) -> tuple[float, int]:
    """All work over counting once, the median of several pairs; the tokenizer goes first in each. And the tokens."""
    pairs = [(counted_once(texts), work()) for _ in range(times)]
    return statistics.median(taken / raw for (raw, _), taken in pairs), pairs[0][0][1]


def per_step(messages: int) -> tuple[float, int]:
    """Seconds of a step at the end of a long session (the median of 200), and the rows in view."""
    session = list(steps(messages, messages * 600))
    _, chat, _ = run(session[:-400])
    taken = []
    for step in session[-400:]:
        start = time.process_time()
        for message in step:
            chat.add(message)
        if step[-1]["role"] != "assistant":
            chat.request(max_tokens=4_000)
            taken.append(time.process_time() - start)
    return statistics.median(taken), len(chat.view().rows)


def merging(session: Sequence[Step]) -> tuple[float, float]:
    """Seconds of merging a re-sent transcript that is known, and of one `==` over it."""
    flat = [message for step in session for message in step]
    chat = fanfold.open("merge", window=10**9)
    chat.merge(flat)
    again = json.loads(json.dumps(flat))
    third = json.loads(json.dumps(flat))
    return best(lambda: chat.merge(again)), best(lambda: again == third)


def best(
    work: Callable[[], object], times: int = 15, clock: Callable[[], float] = time.process_time
) -> float:
    """The shortest of several runs."""
    taken = []
    for _ in range(times):
        start = clock()
        work()
        taken.append(clock() - start)
    return min(taken)


def start_ms(code: str) -> float:
    """Milliseconds of CPU that a program adds to bare Python, compiled as an installed package is."""
    with tempfile.TemporaryDirectory() as cache:
        env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        env["PYTHONPYCACHEPREFIX"] = cache

        def seconds(program: str) -> float:
            command = [sys.executable, "-c", program]
            return best(lambda: subprocess.run(command, check=True, env=env), 15, _of_children)

        return (seconds(code) - seconds("pass")) * 1000


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory(session: Sequence[Step]) -> tuple[float, float]:
    """MiB held after a session beside the texts themselves, and MiB of text."""
    size = sum(len(text.encode()) for text in text_of(session)) / 2**20
    fresh = json.dumps(session)
    gc.collect()
    tracemalloc.start()
    _, chat, _ = run(json.loads(fresh))
    gc.collect()
    held = tracemalloc.get_traced_memory()[0] / 2**20
    tracemalloc.stop()
    assert chat.head
    return held, size


def main() -> None:
    """Print every figure as a ratio, measured side by side in this run."""
    longest = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    session = list(steps(2_000, 1_200_000))
    texts = text_of(session)
    kernel, tokens = beside(texts, lambda: run(session, strategy="drop_oldest")[0])
    ratio, _ = beside(texts, lambda: run(session)[0])
    by_merge, _ = beside(texts, lambda: run_by_merge(session))
    _, chat, requests = run(session)
    messages = sum(map(len, session))
    print(
        f"session: {messages:,} messages, {tokens:,} tokens, {requests:,} requests, {chat.stats()['edits']} edits stand"
    )
    print(f"all work / counting once            {kernel:6.2f}   (with drop_oldest; bar 3.3)")
    print(f"the same with the default, auto     {ratio:6.2f}   (bar 4)")
    print(
        f"the same, merged before each request{by_merge:6.2f}   (the whole history, as a gateway does it; bar 5.5)"
    )
    small, rows_small = per_step(2_000)
    large, rows_large = per_step(8_000)
    print(
        f"step at 8,000 / step at 2,000       {large / small:6.2f}   (bar 1.3; rows {rows_small} and {rows_large})"
    )
    huge, rows_huge = per_step(longest)
    print(
        f"step at {longest:,} / step at 2,000".ljust(35),
        f"{huge / small:6.2f}   (must not grow with the length; rows {rows_huge})",
    )
    merged, compared = merging(session)
    print(f"merge of a known transcript / ==    {merged / compared:6.2f}   (bar 2: one == and as much again)")
    imported, opened = start_ms("import fanfold"), start_ms("import fanfold; fanfold.open(window=100_000)")
    print(f"import fanfold                      {imported:6.0f} ms more than bare Python (bar 60)")
    print(f"the same and a session opened       {opened:6.0f} ms")
    first = start_ms(
        "import fanfold; chat = fanfold.open(model='gpt-4.1'); chat.say('Hello.'); chat.request()"
    )
    print(f"the same and a first request        {first:6.0f} ms, its tokenizer loaded (bar 500)")
    held, size = memory(session)
    print(
        f"memory held / text                  {held / size:6.2f}   ({held:.1f} MiB for {size:.1f} MiB; bar 3 + 64 MiB)"
    )


if __name__ == "__main__":
    main()
