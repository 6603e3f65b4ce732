"""Try a policy: the session replayed as it was, as it might have been, and with everything sent."""

from __future__ import annotations

from typing import cast

import pytest

import fanfold
from fanfold.inspector.trial_process import TrialQuestion
from fanfold.inspector.trials import PolicyTrial
from fanfold.stores.memory import Memory
from fanfold.transcripts import Conversation
from tests.inspector.world import Page, open_handed_over, open_worked, trial_ended
from tests.serving import until

DIALECTS = {"anthropic": "claude-opus-4-5", "gemini": "gemini-2.5-pro", "openai.responses": "gpt-5.2"}


def test_a_session_is_tried_in_a_smaller_window() -> None:
    store = Memory()
    chat = open_worked(store, window=40_000, strategy="auto")
    before = chat.view().version
    with Page(store, write=False) as page:
        visitor = page.enter()
        told = visitor.ask("sessions/run/trials")
        assert (told["now"]["window"], told["now"]["strategy"]) == (40_000, "default")
        assert "drop_oldest" in told["strategies"]
        begun = visitor.tell("run", "try", window=9_000, strategy="drop_oldest")
        assert begun["running"]
        ended = trial_ended(visitor)
        assert (ended["done"], ended["error"]) == (ended["of"], "")
        now, tried, everything = ended["results"]
        assert (now["window"], tried["window"], tried["strategy"]) == (40_000, 9_000, "drop_oldest")
        assert now["calls"] == tried["calls"] == everything["calls"] == 6
        assert tried["peak"] <= 9_000 < min(now["peak"], everything["peak"])
        assert tried["dollars"] < everything["dollars"]
        assert tried["prompt"] < now["prompt"]
        assert (tried["names_in_view"] or 0) <= (now["names_in_view"] or 0)
        assert [len(one["windows"]) for one in ended["results"]] == [6, 6, 6]
    assert chat.view().version == before


def test_thrift_is_tried_and_what_cannot_be_is_said() -> None:
    store = Memory()
    open_worked(store, window=40_000)
    with Page(store) as page:
        visitor = page.enter()
        assert (
            "thrift"
            in visitor.tell("run", "try", status=400, strategy="drop_oldest", thrift=0.5)["error"].lower()
        )
        assert "no_such" in visitor.tell("run", "try", status=400, strategy="no_such")["error"]
        assert visitor.tell("run", "try", status=400, window="wide")["error"]
        assert visitor.tell("run", "try", status=400, window=0)["error"]
        assert "no dry run" in visitor.tell("run", "try", status=400, window=9_000, dry_run=True)["error"]
        visitor.tell("run", "try", strategy="default", thrift=1.0)
        assert trial_ended(visitor)["results"][1]["thrift"] == 1.0


def test_a_trial_can_be_cancelled_and_belongs_to_its_session() -> None:
    store = Memory()
    chat = open_worked(store, window=40_000)
    chat.fork("other").close()
    with Page(store) as page:
        visitor = page.enter()
        begun = visitor.tell("run", "try", window=9_000)
        assert visitor.ask("sessions/other/trials")["trials"] == []
        visitor.tell("other", "cancel", status=404, trial=begun["trial"])
        ended = visitor.tell("run", "cancel", trial=begun["trial"])
        assert (ended["cancelled"], ended["running"]) == (True, False)
        assert visitor.tell("run", "cancel", trial=begun["trial"]) == ended
        assert trial_ended(visitor)["results"] is None
        for wrong in ([], "1", None):
            assert "number" in visitor.tell("run", "cancel", status=400, trial=wrong)["error"]


def test_why_a_trial_died_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    trial = PolicyTrial(1, ("default", "run"), TrialQuestion(cast("Conversation", None), ()))
    until(lambda: not trial.running)
    assert "log" in trial.error
    assert "ValidationError" in caplog.text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_tried(dialect: str) -> None:
    store = Memory()
    with fanfold.open("run", store=store, model=DIALECTS[dialect], window=50_000) as chat:
        for number in range(3):
            chat.say(f"Question {number} about src/m{number}.py: " + "words " * 400)
            chat.add(fanfold.Message("assistant", (fanfold.Text(f"Look at src/m{number}.py."),)))
    with Page(store) as page:
        visitor = page.enter()
        visitor.tell("run", "try", window=1_500, strategy="drop_oldest")
        assert [one["calls"] for one in trial_ended(visitor)["results"]] == [3, 3, 3]


def test_where_nobody_spoke_there_is_nothing_to_try() -> None:
    store = Memory()
    with fanfold.open("run", store=store, model="gpt-5.2") as chat:
        chat.say("Hello?")
    with Page(store) as page:
        visitor = page.enter()
        visitor.tell("run", "try", window=1_500)
        assert "nothing to replay" in trial_ended(visitor)["error"]


def test_as_it_is_now_is_what_really_happened() -> None:
    store = Memory()
    chat, _ = open_handed_over(store)
    with Page(store, write=False) as page:
        visitor = page.enter()
        (listed,) = visitor.ask("sessions")
        line = visitor.ask("sessions/run/requests")
        visitor.tell("run", "try", strategy="drop_oldest")
        now, tried, everything = trial_ended(visitor)["results"]
    broken = [
        one["number"] for one in line if (one["cache"]["broken"] or {}).get("cause", "first") != "first"
    ]
    assert now["recorded"]
    assert (now["dollars"], now["cached_share"]) == (listed["cost"], listed["cached_share"])
    assert (now["prompt"], now["windows"]) == (listed["prompt"], [one["usage"]["input"] for one in line])
    assert now["changes"] == [number for number in broken if line[number]["edits"]]
    assert now["edits"] == sum(len(one["edits"]) for one in line)
    assert everything["dollars"] == listed["unmanaged"]
    assert tried["billed"]
    assert not tried["recorded"]
    assert chat.view().tokens < 8_000


def test_where_no_request_went_out_the_present_policy_is_replayed() -> None:
    store = Memory()
    with fanfold.open("run", store=store, model="gpt-5.2") as chat:
        chat.say("Hello.")
        chat.add(fanfold.Message("assistant", (fanfold.Text("Hello to you."),)))
    with Page(store) as page:
        visitor = page.enter()
        visitor.tell("run", "try", window=1_500)
        now, *_ = trial_ended(visitor)["results"]
    assert not now["recorded"]


def test_where_too_many_requests_went_out_to_look_at_each_the_present_policy_is_replayed() -> None:
    store = Memory()
    with fanfold.open("run", store=store, model="gpt-5.2") as chat:
        for number in range(501):
            chat.say(f"Hello {number}.")
            chat.request(max_tokens=10)
            chat.add(fanfold.Message("assistant", (fanfold.Text("Hello to you."),)))
    with Page(store) as page:
        visitor = page.enter()
        visitor.tell("run", "try", window=9_000)
        now, *_ = trial_ended(visitor)["results"]
    assert not now["recorded"]
