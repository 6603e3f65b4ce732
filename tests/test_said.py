"""What goes wrong without stopping anything is said: by `open`, by outcomes, and by the logger `fanfold`."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

import fanfold
from fanfold import Ask, BadSetting, Budget, Drop, Fold, Hooks
from fanfold.strategies import digest, extract, rolling, summarize
from fanfold.testing import FakeModel, called, replied

SECRET = "the launch code is 4711"


def full(**options: Any) -> fanfold.Session:
    """A session whose window is full."""
    chat = fanfold.open("run", window=3_000, filters=(), **options)
    for turn in range(12):
        chat.say(f"Question {turn}: {SECRET}. " + "word " * 60)
        chat.add(replied(f"Answer {turn}. " + "word " * 200))
    chat.say("And now?")
    return chat


def dead(question: Ask) -> str:
    raise ConnectionError(f"no route to host; you said: {question.messages[0].text}")


def one_argument(view: Any) -> Any:
    return []


def three_arguments(view: Any, budget: Any, more: Any) -> Any:
    return []


@pytest.mark.parametrize(
    "strategy", ["summarize", summarize(), [summarize(), digest()], "rolling", rolling(), extract()]
)
@pytest.mark.parametrize("opening", [fanfold.open, fanfold.aopen])
def test_a_strategy_that_asks_a_model_is_refused_where_there_is_none(strategy: Any, opening: Any) -> None:
    """(19.16)"""
    with pytest.raises(
        BadSetting, match="asks a model, and there is none: open the session with `summarizer=`"
    ):
        opening("run", window=9_000, strategy=strategy)
    with pytest.raises(BadSetting, match="asks a model"):
        fanfold.fit([{"role": "user", "content": "x"}], window=9_000, strategy=strategy)
    fanfold.open("run", window=9_000, strategy=strategy, summarizer=FakeModel("x")).close()


def test_it_is_refused_at_once_also_where_the_store_is_opened_later() -> None:
    """(19.16)"""
    with pytest.raises(BadSetting, match="asks a model"):
        fanfold.aopen("run", window=9_000, strategy="summarize", store="postgresql://nobody@localhost/none")


@pytest.mark.parametrize(
    "strategy",
    [
        summarize, digest, rolling, extract, fanfold.drop_oldest, fanfold.elide, fanfold.strategies.auto,
        fanfold.strategies.importance, fanfold.strategies.truncate, fanfold.strategies.native,
        one_argument, three_arguments, [digest(), one_argument],
    ],
)  # fmt: skip
def test_a_strategy_without_its_call_or_with_a_wrong_signature_is_refused(strategy: Any) -> None:
    """(19.16)"""
    with pytest.raises(BadSetting, match=r"A strategy is called with \(view, budget\), and \w+ cannot be"):
        fanfold.open("run", window=9_000, strategy=strategy, summarizer=FakeModel("x"))


def test_a_strategy_that_takes_more_than_it_needs_is_taken() -> None:
    """(19.16)"""

    def lenient(view: Any, *rest: Any, least: int = 1) -> Any:
        return []

    class Called:
        def __call__(self, view: Any, budget: Any) -> Any:
            return []

    for strategy in (lenient, Called(), partial(three_arguments, more=1), lambda view, budget: []):
        fanfold.open("run", window=9_000, strategy=strategy).close()


@pytest.mark.parametrize("one", [fanfold.clip, fanfold.binary, fanfold.prune, one_argument])
def test_a_filter_without_its_call_or_with_a_wrong_signature_is_refused(one: Any) -> None:
    """(19.16)"""
    with pytest.raises(
        BadSetting, match=r"A filter is called with \(text, tool, arguments\), and \w+ cannot be"
    ):
        fanfold.open("run", window=9_000, filters=[one])


def test_a_function_to_ask_and_a_fallback_with_a_wrong_signature_are_refused() -> None:
    """(19.16)"""
    with pytest.raises(BadSetting, match=r"A function to ask is called with \(question\)"):
        fanfold.open("run", window=9_000, summarizer=lambda: "x")  # type: ignore[arg-type, misc]
    with pytest.raises(BadSetting, match=r"A fallback is called with \(view, budget\)"):
        fanfold.open("run", window=9_000, fallback=[one_argument])


def test_a_dead_summarizer_is_told_in_the_outcome_and_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """(19.16)"""
    told: list[fanfold.Outcome] = []
    with full(summarizer=dead, on_edit=told.append) as chat:
        chat.request(max_tokens=200)
    (outcome,) = told
    assert outcome.status == "reduced"
    assert outcome.error is not None
    assert "ConnectionError: no route to host" in outcome.error
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("fanfold", "WARNING")
    said = record.getMessage()
    assert "session 'run': a question to a model got no answer; story failed with AskFailed." in said
    assert SECRET not in said


def test_a_dead_summarizer_is_warned_of_in_an_async_session_too(caplog: pytest.LogCaptureFixture) -> None:
    """(19.16)"""

    async def asked() -> None:
        async with fanfold.aopen("run", window=3_000, summarizer=dead) as chat:
            for _ in range(12):
                await chat.say(f"{SECRET} " + "word " * 60)
                await chat.add(replied("word " * 200))
            await chat.say("And now?")
            await chat.request(max_tokens=200)

    asyncio.run(asked())
    assert "a question to a model got no answer" in caplog.text
    assert SECRET not in caplog.text


def too_timid(view: Any, budget: Any) -> Any:
    yield Drop(view.offered[0].covers + view.offered[1].covers)


def test_that_a_fallback_reduced_after_a_strategy_of_ones_own_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with full(strategy=too_timid) as chat:
        chat.request(max_tokens=200)
        folded = [one.decision.why for one in chat.edits()]
    assert folded == ["too_timid", "digest_oldest"]
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("fanfold", "WARNING")
    assert record.getMessage() == (
        "session 'run': too_timid left more than fits, so the fallback digest_oldest reduced the view too."
    )


@pytest.mark.parametrize("strategy", [fanfold.drop_oldest(), digest(), [too_timid, digest()], None])
def test_nothing_is_warned_of_where_no_fallback_followed_a_strategy_of_ones_own(
    strategy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with full(strategy=strategy) as chat:
        chat.request(max_tokens=200)
        assert chat.edits()
    assert caplog.records == []


def test_a_fallback_after_a_strategy_of_fanfold_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with full(strategy=fanfold.strategies.native()) as chat:  # no provider compacts here
        chat.request(max_tokens=200)
        assert [one.decision.why for one in chat.edits()] == ["digest_oldest"]
    assert caplog.records == []


def quoting(view: Any, budget: Any) -> Any:
    raise RuntimeError(view.messages[0].text)


def unwilling(view: Any, budget: Any) -> Any:
    yield Drop((view.rows[-1].id,))
    yield Fold(("nobody " + SECRET,), "x")


def growing(view: Any, budget: Any) -> Any:
    yield Fold((view.rows[0].id, view.rows[1].id), "more " * 3_000)


@pytest.mark.parametrize(
    ("strategy", "error", "said"),
    [
        (quoting, "quoting: RuntimeError: Question 0", "quoting failed with RuntimeError"),
        (
            unwilling,
            "unwilling: its edit was refused: it does not cover",
            "the edits of unwilling were refused: it does not cover whole rows of the present view.",
        ),
        (
            growing,
            "growing: its edit was refused: it makes the view larger by ",
            "the edits of growing were refused: it makes the view larger by ",
        ),
    ],
)
def test_what_a_strategy_could_not_do_is_told_and_warned_of(
    strategy: Any, error: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """(19.16)"""
    told: list[fanfold.Outcome] = []
    events: list[Any] = []
    with full(strategy=strategy, on_edit=told.append, hooks=Hooks(on_event=events.append)) as chat:
        chat.request(max_tokens=200)
    assert told[0].status == "reduced"
    assert str(told[0].error).startswith(error)
    assert events[-1].error == told[0].error
    assert said in caplog.text
    assert SECRET not in caplog.text


def test_by_hand_a_refused_edit_is_told_by_the_outcome_alone(caplog: pytest.LogCaptureFixture) -> None:
    """(19.16)"""
    with fanfold.open("run", window=90_000, strategy=growing) as chat:
        chat.say("One.")
        chat.add(replied("Two."))
        chat.say("Three.")
        outcome = chat.compact(force=True)
    assert outcome.status in ("noop", "refused-larger")
    assert "its edit was refused" in str(outcome.error)
    assert caplog.records == []


def test_a_reduction_that_works_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """(19.16)"""
    told: list[fanfold.Outcome] = []
    for options in (
        {},
        {"summarizer": FakeModel("They talked, and it was good.")},
        {"strategy": [fanfold.elide(), digest()]},
    ):
        with full(on_edit=told.append, **options) as chat:
            chat.request(max_tokens=200)
    assert [(outcome.status, outcome.error) for outcome in told] == [("reduced", None)] * 3
    assert caplog.records == []


def test_a_filter_that_fails_is_warned_of_without_what_it_was_given(caplog: pytest.LogCaptureFixture) -> None:
    """(19.16)"""

    def failing(text: str, tool: str, arguments: Mapping[str, Any]) -> str:
        raise KeyError(text)

    @fanfold.shortens
    def lengthening(text: str, tool: str, arguments: Mapping[str, Any]) -> str:
        return text * 2

    with fanfold.open("run", window=9_000, filters=[failing, lengthening]) as chat:
        chat.say("go")
        chat.add(replied(None, called("c1", "cat")))
        entry = chat.answer("c1", SECRET)
        why = str(chat.why(entry.id))
    assert [record.getMessage() for record in caplog.records] == [
        "session 'run': the filter failing failed at output o1 of cat (KeyError); it is shown without that filter.",
        "session 'run': the filter lengthening failed at output o1 of cat (NotShorter); "
        "it is shown without that filter.",
    ]
    assert "failing failed: KeyError" in why
    assert "lengthening failed: NotShorter" in why


class Unsure:
    """A strategy that cannot say whether it has something to do."""

    name = "unsure"
    trim = staticmethod(one_argument)

    def __call__(self, view: Any, budget: Budget) -> Any:
        return []

    def due(self, view: Any, budget: Budget) -> bool:
        raise ValueError(view.messages[0].text)


def test_a_strategy_that_cannot_say_whether_it_is_due_is_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """(19.16)"""
    with fanfold.open("run", window=9_000, strategy=Unsure()) as chat:
        chat.say(SECRET)
        for _ in range(3):
            chat.request()
            chat.pressure()
    (record,) = caplog.records
    assert "unsure could not say whether it has something to do (ValueError)" in record.getMessage()
    assert SECRET not in caplog.text


def test_no_handler_is_installed() -> None:
    """(19.16)"""
    code = (
        "import logging, fanfold; fanfold.open(window=9_000).say('x'); "
        "print(logging.getLogger('fanfold').handlers, logging.root.handlers)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[] []\n", "")
    assert logging.getLogger("fanfold").level == logging.NOTSET
