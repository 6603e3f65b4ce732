"""A hash of all requests that recorded conversations lead to: run it before and after a change, and compare.

    python scripts/hash_requests.py FOLDER > before.txt

FOLDER holds `<set>.<dialect>.jsonl.gz` files, a conversation per line under `native`. Recordings are no part of the
project, so their hashes are not either.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.fingerprints import fingerprint
from tests.strategies.kinds import STRATEGIES, summary

DIALECTS = {
    "anthropic": "anthropic",
    "gemini": "gemini",
    "openai_chat": "openai.chat",
    "responses": "openai.responses",
}
WINDOWS = (16_000, 32_000, 100_000)
MOST = 300
"""Messages of each conversation that are replayed: enough for many reductions."""


def conversations(folder: Path) -> Iterator[tuple[str, str, list[Any]]]:
    """The name, the dialect and the messages of each recorded conversation."""
    for path in sorted(folder.glob("*.jsonl.gz")):
        dialect = DIALECTS[path.name.split(".")[1]]
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                yield f"{path.name}:{number}", dialect, _messages(json.loads(line)["native"])[:MOST]


def _messages(native: Any) -> list[Any]:
    """The list itself, or the one list of messages in a request."""
    if isinstance(native, list):
        return native
    return next(native[key] for key in ("messages", "input", "contents") if key in native)


def main(folder: Path, names: list[str]) -> None:
    """Print a line for every conversation, window and strategy."""
    for name, dialect, bodies in conversations(folder):
        for window in WINDOWS:
            for strategy in names or STRATEGIES:
                options = {"strategy": STRATEGIES[strategy], "summarizer": summary}
                made = fingerprint(bodies, dialect=dialect, window=window, merging=True, **options)
                print(f"{name}, {window:,}, {strategy}: {made}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
