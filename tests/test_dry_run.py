"""A dry run of a reduction: it tells all, changes nothing, and the same call right after it does just that."""

import asyncio
from typing import Any

import pytest

import fanfold
from fanfold.core.message import text_of
from fanfold.strategies import summarize
from fanfold.testing import returned, talk

WINDOW = 6_000


def filled(**more: Any) -> fanfold.Session:
    chat = fanfold.open("run", **{"window": WINDOW, "dialect": "openai.chat", **more})
    chat.merge(talk(8, 4, words=60))
    return chat


def told(outcome: fanfold.Outcome) -> Any:
    return [(one.id, one.edit, one.before, one.after, one.why) for one in outcome.decisions]


def test_a_dry_run_changes_nothing_and_the_same_call_does_what_it_told() -> None:
    with filled() as chat:
        view, records = chat.view(), len(chat._state.log.records)
        planned = chat.compact(force=True, dry_run=True)
        assert chat.view().messages == view.messages
        assert len(chat._state.log.records) == records
        done = chat.compact(force=True)
        assert told(planned) == told(done) != []
        assert (planned.before, planned.after, planned.again) == (done.before, done.after, done.again)
        assert chat.view().tokens == planned.after < view.tokens


def test_the_hand_over_that_would_be_written_is_in_the_plan() -> None:
    with filled() as chat:
        planned = chat.compact(force=True, dry_run=True)
        texts = [one.edit.shows for one in planned.decisions if isinstance(one.edit, fanfold.Fold)]
        chat.compact(force=True)
        shown = [row.messages for row in chat.view().rows if row.kind == "fold"]
    assert texts
    assert [text_of(messages[0]) for messages in shown] == [str(text) for text in texts]


def test_a_model_is_paid_once_for_the_dry_run_and_what_follows_it() -> None:
    asked = []

    def model(question: Any) -> str:
        asked.append(question)
        return "The tasks were done one after the other."

    with filled(strategy=[summarize()], summarizer=model) as chat:
        planned = chat.compact(force=True, dry_run=True)
        paid = len(asked)
        assert paid
        assert told(chat.compact(force=True)) == told(planned)
        assert len(asked) == paid


def test_no_hook_and_no_event_hears_of_a_dry_run() -> None:
    heard: list[object] = []
    hooks = fanfold.Hooks(before_edit=lambda *told: heard.append(told), after_edit=heard.append)
    with filled(hooks=hooks, on_edit=heard.append) as chat:
        heard.clear()
        chat.compact(force=True, dry_run=True)
        assert heard == []


def test_what_stays_behind_the_first_edit_is_paid_afresh() -> None:
    with filled() as chat:
        view = chat.view()
        outcome = chat.compact(force=True)
        stays = [row for row in chat.view().rows if row.kind == "entry" and view.row(row.id)]
        assert 0 < outcome.again <= sum(row.tokens for row in stays)


def test_a_dry_run_can_be_awaited() -> None:
    async def run() -> fanfold.Outcome:
        async with fanfold.aopen("run", window=WINDOW, dialect="openai.chat") as chat:
            await chat.merge(talk(8, 4, words=60))
            planned = await chat.compact(force=True, dry_run=True)
            assert told(await chat.compact(force=True)) == told(planned)
            return planned

    assert asyncio.run(run()).saved > 0


def test_a_closed_session_makes_no_plan() -> None:
    chat = filled()
    chat.close()
    with pytest.raises(fanfold.Closed):
        chat.compact(dry_run=True)


def test_an_output_that_arrives_meanwhile_is_in_the_plan_that_is_carried_out() -> None:
    with filled() as chat:
        planned = chat.compact(force=True, dry_run=True)
        chat.merge(
            [*talk(8, 4, words=60), *talk(1, 1)[:2], returned("c0-0-0", "late"), returned("c0-0-1", "late")]
        )
        assert chat.compact(force=True).before > planned.before
