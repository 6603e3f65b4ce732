"""What the demo promises, checked."""

from __future__ import annotations

from pathlib import Path

import msgspec

import fanfold
from fanfold.demo import script
from fanfold.demo.run import REPLY, SEARCHED, WINDOW, DemoRun


class Promise(msgspec.Struct, frozen=True):
    """Something that was promised, in words, and whether it was kept."""

    text: str
    kept: bool


def proven(chat: fanfold.Session, played: DemoRun, folder: Path) -> tuple[Promise, ...]:
    """Every promise of the demo."""
    return (
        _fits(played),
        _remembers(chat, played),
        _finds(played),
        _loses_nothing(chat, played),
        _undoes(chat),
        _is_whole(folder),
    )


def _fits(played: DemoRun) -> Promise:
    ours = played.accounts[-1]
    text = f"it always fits: the largest of {ours.requests} requests has {ours.largest:,} tokens"
    return Promise(text, ours.largest + REPLY <= WINDOW)


def _remembers(chat: fanfold.Session, played: DemoRun) -> Promise:
    first = chat.view().messages[0].text
    text = f"the first request and the rule are in view, {len(played.messages):,} messages later"
    return Promise(text, script.REQUEST in first and script.RULE in first)


def _finds(played: DemoRun) -> Promise:
    lines = played.recalled.count("\n") + 1
    text = f"step 2 is found again by the model: {SEARCHED} has {lines} lines for it"
    return Promise(text, f"{played.place}:" in played.recalled)


def _loses_nothing(chat: fanfold.Session, played: DemoRun) -> Promise:
    kept = tuple(chat.output(f"o{number}").text() for number in range(1, len(played.outputs) + 1))
    text = f"nothing is lost: all {len(kept)} outputs come back as their tools gave them"
    return Promise(text, kept == played.outputs)


def _undoes(chat: fanfold.Session) -> Promise:
    before = chat.view()
    chat.undo()
    undone = chat.view().tokens
    chat.redo()
    text = f"an edit is undone ({before.tokens:,} → {undone:,} tokens) and given back"
    return Promise(text, undone != before.tokens and chat.view().messages == before.messages)


def _is_whole(folder: Path) -> Promise:
    report = fanfold.doctor(f"sqlite:{folder / 'demo.db'}", repair=False)
    return Promise(f"the log is whole: {report.lines:,} lines looked over", report.healthy)
