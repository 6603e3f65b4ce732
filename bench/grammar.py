"""Replays recorded conversations through sessions with small windows, in every dialect.

    python bench/grammar.py FOLDER [--windows 8000,16000] [--dialects own,anthropic] [--limit 20]

Every request is judged twice: by fanfold's own rules, and by the scripted provider's, which were stated anew from
the providers' documentation. It counts requests, violations, requests over the budget and `DoesNotFit`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from fanfold import transcripts
from fanfold.dialects.registry import DIALECTS, dialect_named
from fanfold.testing.replaying import replay
from fanfold.transcripts import Conversation

COLUMNS = ("conversations", "requests", "violations", "refused", "over", "does_not_fit")


def replayed(conversation: Conversation, dialect: str, window: int) -> Counter[str]:
    """One conversation in one dialect and window, counted; what went wrong is printed."""
    source = dialect_named(conversation.dialect, conversation.model)
    messages = (source.message(body) for body in conversation.messages)
    found = replay(messages, dialect=dialect, window=window)
    for sentence in (*found.broken, *found.refused):
        print(f"{conversation.id} {dialect}: {sentence[:300]}", file=sys.stderr)
    figures = (1, found.requests, len(found.broken), len(found.refused), found.over, found.does_not_fit)
    return Counter(dict(zip(COLUMNS, figures, strict=True)))


def jobs(
    folder: Path, windows: list[int], dialects: list[str], limit: int | None
) -> Iterator[tuple[Any, ...]]:
    """Every conversation in every dialect and window."""
    for number, conversation in enumerate(transcripts.read(folder)):
        if limit is not None and number >= limit:
            return
        for dialect in dialects:
            named = conversation.dialect if dialect == "own" else dialect
            for window in windows:
                yield conversation, named, window


def run(job: tuple[Any, ...]) -> tuple[str, str, int, Counter[str]]:
    """One job, for a worker process."""
    conversation, dialect, window = job
    return conversation.dialect, dialect, window, replayed(conversation, dialect, window)


def main() -> None:
    """Print one row per dialect and window."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--windows", default="8000,16000,32000,64000")
    parser.add_argument("--dialects", default=",".join(DIALECTS))
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    windows = [int(size) for size in args.windows.split(",")]
    totals: dict[tuple[str, str, int], Counter[str]] = {}
    start = time.time()
    with ProcessPoolExecutor() as pool:
        work = jobs(args.folder, windows, args.dialects.split(","), args.limit)
        for source, dialect, window, count in pool.map(run, work, chunksize=4):
            totals.setdefault((source, dialect, window), Counter()).update(count)
    print(f"{'recorded as':<18} {'sent as':<18} {'window':>7} " + " ".join(f"{name:>13}" for name in COLUMNS))
    for (source, dialect, window), count in sorted(totals.items()):
        print(
            f"{source:<18} {dialect:<18} {window:>7,} " + " ".join(f"{count[name]:>13,}" for name in COLUMNS)
        )
    print(f"{time.time() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
