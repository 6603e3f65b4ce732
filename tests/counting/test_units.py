"""One unit: whatever is shown beside the window is in the window's tokens, as bills correct the meter's own."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from openai import OpenAI

import fanfold
from fanfold import Outcome, Pressure, Session
from fanfold.cli import main
from fanfold.config.events import Event, Hooks, Reduced, Reducing
from fanfold.testing import replied, response
from fanfold.testing.provider import Provider, Received, Turn

FACTOR = 1.6
CLAUDE = "claude-sonnet-4-5"


def billed(chat: Session, turns: int, factor: float = FACTOR) -> None:
    """A talk whose provider bills so many times what is counted."""
    for turn in range(turns):
        chat.say(f"Question {turn}: " + "what is that? " * 30)
        chat.request(max_tokens=200)
        tokens = round(factor * chat.sent()[0].tokens)
        chat.receive(response(replied("Noted. " * 10), prompt=tokens, output=round(20 * factor)))


def test_view_pressure_and_figures_agree() -> None:
    """(19.8) A view printed `5,355 of 14,117` for a window of 8,000, where `pressure()` said 7,200."""
    with fanfold.open("run", dialect="openai.chat", model=CLAUDE, window=8_000) as chat:
        billed(chat, 6)
        view, pressure = chat.view(), chat.pressure()
        counted = chat._state.view().tokens
        assert pressure.tokens == pytest.approx(FACTOR * counted, rel=0.1)
        assert (view.tokens, view.room) == (pressure.tokens, pressure.room)
        assert pressure.room == 7_200
        assert chat.stats()["tokens"] == pressure.tokens
        assert f" {pressure.tokens:,} of 7,200 tokens " in str(view)
        assert sum(row.tokens for row in view.rows) == pytest.approx(view.tokens, rel=0.25)
        assert chat.sent()[1].tokens == pytest.approx(FACTOR * chat.sent()[0].tokens, rel=0.1)
        assert chat.diff(0, -1).after == chat.sent()[1].tokens


def test_an_exact_meter_shows_what_it_counts() -> None:
    with fanfold.open("run", model="gpt-4o", window=8_000) as chat:
        billed(chat, 6, 1.0)
        rows = [(row.id, row.tokens) for row in chat.view().rows]
        assert rows == [(row.id, row.tokens) for row in chat._state.view().rows]
        assert chat.view().room == 7_200


def test_what_a_reduction_tells_is_in_the_same_tokens() -> None:
    told: list[Event] = []
    ended: list[Outcome] = []
    pressed: list[Pressure] = []
    hooks = Hooks(on_event=told.append, after_edit=ended.append, on_pressure=pressed.append)
    with fanfold.open("run", dialect="openai.chat", model=CLAUDE, window=8_000, hooks=hooks) as chat:
        billed(chat, 6)
        before = chat.view().tokens
        outcome = chat.compact(force=True)
        after = chat.view().tokens
    assert outcome == ended[-1]
    assert outcome.before == pytest.approx(before, rel=0.1)
    assert outcome.after == after
    begins = next(event for event in told if isinstance(event, Reducing))
    assert begins.tokens == before
    assert told[-1] == Reduced("reduced", outcome.before, outcome.after)
    assert outcome.decisions[-1].after == pytest.approx(after, rel=0.05)


def test_a_fold_on_trial_and_the_reason_for_it_are_told_in_the_same_tokens() -> None:
    with fanfold.open("run", dialect="openai.chat", model=CLAUDE, window=8_000) as chat:
        billed(chat, 4)
        ids = tuple(row.id for row in chat.view().rows[:2])
        trial = chat.fold(ids, "They greeted.", dry_run=True)
        assert trial.before == chat.view().tokens
        chat.fold(ids, "They greeted.")
        (decision,) = chat.why(ids[0]).edits
        assert decision.after == chat.view().tokens


def test_an_edit_and_what_it_covers_are_explained_in_the_same_tokens() -> None:
    """(19.8, 19.21) `why` of an edit showed the meter's own tokens, `why` of an entry the window's."""
    with fanfold.open("run", dialect="openai.chat", model=CLAUDE, window=8_000) as chat:
        billed(chat, 4, 1.8)
        ids = tuple(row.id for row in chat.view().rows[:2])
        before = chat.view().tokens
        edit = chat.fold(ids, "They greeted.").id
        (decision,) = chat.why(edit).edits
        assert chat.why(ids[0]).edits == (decision,)
        assert (decision.before, decision.after) == (before, chat.view().tokens)


def test_what_was_sent_is_summed_in_the_same_tokens() -> None:
    with fanfold.open("run", dialect="openai.chat", model=CLAUDE, window=8_000) as chat:
        billed(chat, 4, 1.8)
        views = [chat.sent(number)[1].tokens for number in range(4)]
        counted = [chat.sent(number)[0].tokens for number in range(4)]
        assert chat.stats()["sent_tokens"] == sum(views)
        assert sum(views) == pytest.approx(1.8 * sum(counted), rel=0.1)


def test_the_command_line_shows_the_same_tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    with fanfold.open("run", dialect="openai.chat", model=CLAUDE, store=store) as chat:
        billed(chat, 4)
    with fanfold.open("run", dialect="openai.chat", model=CLAUDE, store=store) as chat:
        pressure = chat.pressure()
    assert main(("show", "run", "--store", store, "--json")) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["tokens"], shown["room"]) == (pressure.tokens, pressure.room)


def test_the_agent_of_the_first_page_stays_in_its_window_and_is_not_warned(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """(19.8) The scripted provider billed low, so that twice the window was sent."""
    tools = [{"type": "function", "function": {"name": "grep", "parameters": {"type": "object"}}}]

    def script(request: Received) -> Turn:
        return (
            Turn(calls=[("grep", {"pattern": f"def f{request.number}"})])
            if request.number < 30
            else Turn("Done.")
        )

    with (
        Provider(script, window=8_000) as provider,
        fanfold.open("run", model="gpt-5.2", window=8_000, tools=tools) as chat,
        caplog.at_level(logging.WARNING, logger="fanfold"),
    ):
        client = OpenAI(base_url=provider.openai_base_url, api_key="any")
        chat.say("Fix the failing test in parser.py")
        reply = None
        while reply is None or not reply.done:
            reply = chat.receive(client.chat.completions.create(**chat.request(max_tokens=800)))
            for call in reply.calls:
                chat.answer(call, "".join(f"parser.py:{n}: x = {n} + y\n" for n in range(40)))
        assert " of 7,200 tokens " in str(chat.view())
    assert provider.rejected == []
    assert caplog.records == []
