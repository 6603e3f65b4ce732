"""What the demo promises, checked."""

from __future__ import annotations

from pathlib import Path

import fanfold
from fanfold.demo import script
from fanfold.demo.run import REPLY, WINDOW, Played


def proven(chat: fanfold.Session, played: Played, folder: Path) -> dict[str, bool]:
    """Every promise in words, and whether it was kept."""
    ours = played.accounts[-1]
    first = script.REQUEST in chat.view().messages[0].text
    undone = _undone(chat)
    report = fanfold.doctor(f"sqlite:{folder / 'demo.db'}", mend=False)
    kept = [chat.output(f"o{number}").text() for number in range(1, len(played.outputs) + 1)]
    return {
        f"it always fits: the largest of {ours.requests} requests has {ours.largest:,} tokens": ours.largest
        + REPLY
        <= WINDOW,
        f"the first request and the rule are in view, {len(played.messages):,} messages later": first
        and script.RULE in chat.view().messages[0].text,
        f"step 2 is found again by the model: {played.ref} has {played.recalled.count(chr(10)) + 1} lines for it": (
            "base_events.py:" in played.recalled
        ),
        f"nothing is lost: all {len(kept)} outputs come back as their tools gave them": kept
        == list(played.outputs),
        f"an edit is undone ({undone[0]:,} → {undone[1]:,} tokens) and given back": undone[2],
        f"the log is whole: {report.lines:,} lines looked over": report.healthy,
    }


def _undone(chat: fanfold.Session) -> tuple[int, int, bool]:
    before = chat.view()
    chat.undo()
    after = chat.view().tokens
    chat.redo()
    return before.tokens, after, chat.view().messages == before.messages and after != before.tokens
