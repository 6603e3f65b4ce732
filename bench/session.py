"""A generated session of 2,000 messages under the default policy: what it costs, and what choosing takes.

With `--write FILE` the session is written down, to run peers on it: make bench-peers DATA=FILE WINDOW=100k
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from generate import steps
from speed import Step, counted_once, run, text_of

from fanfold.core.budget import Budget
from fanfold.replay import Played, play
from fanfold.replay.player import TARGET, TRIGGER
from fanfold.replay.trace import trace
from fanfold.transcripts import Conversation

WINDOW = 100_000
BUDGET = Budget(window=WINDOW, reserve=0, trigger=TRIGGER, target=TARGET)
MODEL = "gpt-5.2"
PAIRS = 5


def played(session: Sequence[Step], policy: str = "default") -> Played:
    """The session replayed: every request that the policy would have sent."""
    messages = tuple(message for step in session for message in step)
    recorded = Conversation("generated", "-", "openai.chat", "openai.chat", MODEL, {}, messages, (), ())
    return play(trace(recorded), policy, WINDOW)


def overhead(session: Sequence[Step]) -> float:
    """All of fanfold's work over counting the text once, the median of some pairs."""
    texts = text_of(session)
    pairs = [(counted_once(texts)[0], run(session, BUDGET)[0]) for _ in range(PAIRS)]
    return statistics.median(work / raw for raw, work in pairs)


def main() -> None:
    """Print the figures beside their bars."""
    session = list(steps(2_000, 1_200_000))
    if "--write" in sys.argv:
        messages = [message for step in session for message in step]
        Path(sys.argv[sys.argv.index("--write") + 1]).write_text(json.dumps(messages), encoding="utf-8")
        return
    everything, score = played(session, "none").score, played(session).score
    print(f"generated session: {score.calls:,} calls, trigger {TRIGGER * WINDOW:,.0f}, {score.edits} edits")
    print(
        f"cost, M token equivalents           {score.cost / 1e6:6.2f}   (bar 5.5; all sent {everything.cost / 1e6:.1f})"
    )
    print(f"cached                              {score.share:6.1%}")
    print(f"peak                                {score.peak:6,}   ({score.over} requests over the window)")
    print(f"all work / counting once            {overhead(session):6.2f}   (bar 4)")


if __name__ == "__main__":
    main()
