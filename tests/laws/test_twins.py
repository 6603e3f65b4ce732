"""twins: Session and AsyncSession give equal views for equal answers."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fanfold
from fanfold import Ask, FanfoldError
from fanfold.testing import FakeModel, called, replied, response
from fanfold.testing.generators import conversations, replies, requests, texts
from laws import holds
from laws.hostile import HOSTILE, summarizes

PICK = st.integers(0, 20)
CALLING = replies(("c1", "c2"), most=80)
VERBS = st.one_of(
    st.tuples(st.just("say"), texts(most=200)),
    st.tuples(st.just("add"), requests(most=100) | CALLING),
    st.tuples(
        st.just("receive"),
        st.builds(response, CALLING | replies(most=80), prompt=st.sampled_from((None, 90))),
    ),
    st.tuples(st.just("answer"), st.sampled_from(("c1", "c1", "c3")), texts(most=300)),
    st.tuples(st.just("merge"), conversations(turns=2, most=200)),
    st.just(("request",)),
    st.tuples(st.sampled_from(("compact", "undo", "redo", "forward", "reset", "settle"))),
    st.tuples(st.just("rewind"), st.integers(0, 2)),
    st.tuples(st.just("note"), st.just("todo"), texts(most=40)),
    st.tuples(st.sampled_from(("pin", "unpin")), texts(most=40) | st.just("e1")),
    st.tuples(st.sampled_from(("release", "undo", "redo")), st.sampled_from(("e1", "e2", "e3"))),
    st.tuples(st.just("fork"), st.sampled_from(("a", "b"))),
    st.tuples(st.just("erase"), PICK, st.just("asked for")),
    st.tuples(st.just("fold"), st.integers(0, 2), st.just("By hand.")),
)
BEGINNING: tuple[Any, ...] = (("say", "Go. " * 60), ("add", replied("On it.", called("c1"), called("c2"))))
TOGETHER: tuple[tuple[Any, ...], ...] = (
    BEGINNING,
    (("say", "Go. " * 60), ("fold", 0, "By hand."), ("undo",), ("release", "e1")),
    (("say", "Go. " * 60), ("fold", 0, "By hand."), ("undo",), ("redo",)),
    (("rewind", 0), ("forward",)),
    (("say", "Never touch vendor."), ("pin", "Never touch vendor."), ("unpin", "Never touch vendor.")),
)
STEPS = st.lists(VERBS.map(lambda verb: (verb,)) | st.sampled_from(TOGETHER), min_size=1, max_size=10).map(
    lambda steps: [verb for step in (BEGINNING, *steps) for verb in step]
)
DRAWN = {
    "say", "add", "receive", "answer", "merge", "request", "compact", "settle", "undo", "redo", "release", "rewind",
    "forward", "reset", "note", "pin", "unpin", "fold", "erase", "fork",
}  # fmt: skip
DONE: Counter[str] = Counter()
"""The verbs that were done, and not refused."""


def _options(strategy: Any) -> dict[str, Any]:
    return {"window": 600, "strategy": strategy, "clock": lambda: 0.0, "system": "Be brief."}


def _named(chat: Any, verb: str, args: list[Any]) -> list[Any]:
    """The arguments as a verb takes them: an entry, or rows, for a number that was drawn."""
    rows = [row.id for row in chat._state.view().rows] or ["nobody"]
    match verb:
        case "erase":
            return [rows[args[0] % len(rows)], args[1]]
        case "fold":
            return [(rows[args[0] % len(rows)],), args[1]]
        case _:
            return args


def _told(verb: str, came: Any) -> Any:
    """What a verb gave back, where that is comparable."""
    if isinstance(came, FanfoldError):
        return verb, type(came).__name__, str(came)
    DONE[verb] += 1
    if isinstance(came, fanfold.Session | fanfold.AsyncSession):
        return verb, holds.fingerprint(came._state.view()), holds.log_of(came).records
    return verb, None if verb == "settle" else came


def alone(strategy: Any, answers: tuple[Any, ...], verbs: list[Any]) -> Any:
    model, told = FakeModel(*answers), []

    def asked(question: Ask) -> str:
        return model(question)

    with fanfold.open("run", summarizer=asked, **_options(strategy)) as chat:
        for verb, *args in verbs:
            try:
                told.append(_told(verb, getattr(chat, verb)(*_named(chat, verb, args))))
            except FanfoldError as error:
                told.append(_told(verb, error))
        return holds.fingerprint(chat._state.view()), told, holds.log_of(chat).records, model.calls


async def awaited(strategy: Any, answers: tuple[Any, ...], verbs: list[Any]) -> Any:
    model, told = FakeModel(*answers), []

    async def asked(question: Ask) -> str:  # of the same name: errors say who was asked
        return await model.later(question)

    async with fanfold.aopen("run", summarizer=asked, **_options(strategy)) as chat:
        for verb, *args in verbs:
            try:
                told.append(_told(verb, await getattr(chat, verb)(*_named(chat, verb, args))))
            except FanfoldError as error:
                told.append(_told(verb, error))
        return holds.fingerprint(chat._state.view()), told, holds.log_of(chat).records, model.calls


@settings(max_examples=4 * settings.default.max_examples)
@given(
    st.sampled_from((None, summarizes, summarizes, *HOSTILE)),
    st.sampled_from(((), ("A summary.",), (ConnectionError("no line"), "At last."), ("",))),
    STEPS,
)
@example(summarizes, (ConnectionError("no line"),), [*BEGINNING, ("say", "Go on. " * 30), ("compact",)])
def both(strategy: Any, answers: tuple[Any, ...], verbs: list[Any]) -> None:
    assert alone(strategy, answers, verbs) == asyncio.run(awaited(strategy, answers, verbs))


def test_awaited_or_not_the_same_happens() -> None:
    DONE.clear()
    both()
    missing = DRAWN - set(DONE)
    assert not missing, f"nobody ever did {missing}"


@given(STEPS)
def test_in_memory_no_verb_waits_for_an_event_loop_or_a_thread(verbs: list[Any]) -> None:
    async def at_once() -> None:
        with pytest.raises(StopIteration):  # whoever waits for anything comes back before its end
            awaited(None, (), verbs).send(None)

    asyncio.run(at_once())


def test_every_verb_of_one_is_a_verb_of_the_other() -> None:
    def verbs(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert verbs(fanfold.Session) == verbs(fanfold.AsyncSession)
