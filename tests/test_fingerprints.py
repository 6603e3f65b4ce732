"""What is sent stays what it was: a golden file has a hash of all requests for each dialect, window and strategy.

After a change of wording or policy that is meant, write it anew with `FANFOLD_GOLDEN=write` and say in the commit
what changed.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import pytest

from fanfold.dialects.registry import DIALECTS
from tests.fingerprints import fingerprint
from tests.strategies.kinds import STRATEGIES, summary
from tests.wire.generated import conversation as make_conversation

GOLDEN = Path(__file__).parent / "golden" / "fingerprints.json"
WINDOWS = (4_000, 6_000, 9_000)
SEEDS = (0, 4)
"""A whole conversation, recorded message by message, and a broken one, merged."""
conversation = cache(make_conversation)


CASES = [
    pytest.param(
        dialect,
        strategy,
        window,
        marks=() if (row + column + number) % len(WINDOWS) == 0 else pytest.mark.slow,
    )
    for row, dialect in enumerate(DIALECTS)
    for column, strategy in enumerate(STRATEGIES)
    for number, window in enumerate(WINDOWS)
]
"""Every strategy in every dialect; `make test-all` has every window for each, `make test` one, each in its turn."""


def conversations(dialect: str, window: int, strategy: str) -> dict[str, str]:
    options = {"dialect": dialect, "window": window, "strategy": STRATEGIES[strategy], "summarizer": summary}
    return {
        f"{dialect}, {window:,}, {strategy}, {seed}": fingerprint(
            conversation(seed, dialect), merging=bool(seed), **options
        )
        for seed in SEEDS
    }


@pytest.mark.parametrize(("dialect", "strategy", "window"), CASES)
def test_every_request_is_the_one_it_was(dialect: str, strategy: str, window: int) -> None:
    made = conversations(dialect, window, strategy)
    known = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    if os.environ.get("FANFOLD_GOLDEN") == "write":
        GOLDEN.write_text(json.dumps({**known, **made}, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    else:
        assert made == {key: known.get(key) for key in made}
