"""twins: Session and AsyncSession give equal views for equal answers."""

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import FanfoldError
from fanfold.testing import FakeModel
from fanfold.testing.generators import conversations, texts
from laws import holds
from laws.hostile import HOSTILE, summarizes

PICK = st.integers(0, 20)
VERBS = st.one_of(
    st.tuples(st.just("say"), texts(most=200)),
    st.tuples(st.just("merge"), conversations(turns=2, most=200)),
    st.tuples(st.sampled_from(("request", "compact", "undo", "redo", "forward", "reset", "settle"))),
    st.tuples(st.just("rewind"), PICK),
    st.tuples(st.just("note"), st.just("todo"), texts(most=40)),
    st.tuples(st.just("pin"), texts(most=40)),
)


def _options(strategy: Any, answers: tuple[Any, ...]) -> dict[str, Any]:
    return {"window": 600, "strategy": strategy, "clock": lambda: 0.0, "system": "Be brief."}


def _told(verb: tuple[Any, ...], error: FanfoldError | None, result: Any) -> Any:
    return (verb[0], type(error).__name__ if error else result if verb[0] == "request" else None)


def alone(strategy: Any, answers: tuple[Any, ...], verbs: list[Any]) -> tuple[Any, Any]:
    model, told = FakeModel(*answers), []
    with fanfold.open("run", ask=model, **_options(strategy, answers)) as chat:
        for verb, *args in verbs:
            try:
                told.append(_told((verb,), None, getattr(chat, verb)(*args)))
            except FanfoldError as error:
                told.append(_told((verb,), error, None))
        return holds.fingerprint(chat._state.view()), (told, holds.log_of(chat).records, model.calls)


async def awaited(strategy: Any, answers: tuple[Any, ...], verbs: list[Any]) -> tuple[Any, Any]:
    model, told = FakeModel(*answers), []
    async with fanfold.aopen("run", ask=model.later, **_options(strategy, answers)) as chat:
        for verb, *args in verbs:
            try:
                told.append(_told((verb,), None, await getattr(chat, verb)(*args)))
            except FanfoldError as error:
                told.append(_told((verb,), error, None))
        return holds.fingerprint(chat._state.view()), (told, holds.log_of(chat).records, model.calls)


@given(
    st.sampled_from((None, summarizes, summarizes, *HOSTILE)),
    st.sampled_from(((), ("A summary.",), (ConnectionError("no line"), "At last."), ("",))),
    st.lists(VERBS, min_size=1, max_size=8),
)
def test_awaited_or_not_the_same_happens(strategy: Any, answers: tuple[Any, ...], verbs: list[Any]) -> None:
    assert alone(strategy, answers, verbs) == asyncio.run(awaited(strategy, answers, verbs))


def test_every_verb_of_one_is_a_verb_of_the_other() -> None:
    def verbs(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert verbs(fanfold.Session) == verbs(fanfold.AsyncSession)
