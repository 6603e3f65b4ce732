"""What fanfold.testing ships: it finds the mistakes it is there for, and no others."""

import asyncio
import builtins
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import fanfold
from fanfold import BadSetting, Budget, Drop, Fold, MissingExtra, View, ask, drop_oldest
from fanfold.core.message import user
from fanfold.core.plan import Ask
from fanfold.dialects.chat.dialect import OpenAIChat
from fanfold.dialects.registry import DIALECTS, dialect_named
from fanfold.strategies.handover.layers import digest
from fanfold.strategies.importance import importance
from fanfold.strategies.rolling import rolling
from fanfold.strategies.summarize import summarize
from fanfold.strategies.truncate import truncate
from fanfold.testing import FakeModel, check_dialect, check_store, check_strategy, talk

SHIPPED = (fanfold.drop_oldest, fanfold.elide, digest, importance, rolling, summarize, truncate)


@pytest.mark.parametrize("strategy", SHIPPED, ids=lambda strategy: strategy.__name__)
def test_every_shipped_strategy_passes(strategy: Any) -> None:
    check_strategy(strategy())


def test_a_strategy_that_raises_is_told_so() -> None:
    def clumsy(view: Any, budget: Any) -> Any:
        raise KeyError("rows")

    line = clumsy.__code__.co_firstlineno + 1
    told = rf"clumsy \(several turns\) failed: clumsy: KeyError: 'rows' \(test_checks.py, line {line}\)"
    with pytest.raises(AssertionError, match=told) as met:
        check_strategy(clumsy)
    assert isinstance(met.value.__cause__, KeyError)


def test_a_strategy_that_gives_rows_in_the_place_of_ids_is_told_so() -> None:
    def mistaken(view: View, budget: Budget) -> Iterator[Drop]:
        yield Drop(view.offered[0].rows)  # type: ignore[arg-type]

    with pytest.raises(
        AssertionError, match="this Drop is malformed: it covers rows by their ids: give `block"
    ):
        check_strategy(mistaken)


def test_a_strategy_that_stumbles_over_its_own_markers_is_told_so() -> None:
    def oldest(view: View, budget: Budget) -> Iterator[Drop]:
        block = next((one for one in view.offered if one.rows[0] is not view.rows[0]), None)
        if block is not None:
            yield Drop(block.covers)

    told = (
        r"oldest \(a conversation that grows\) .* refused: it saves .* as rows of the kinds 'drop' and 'fold'"
    )
    with pytest.raises(AssertionError, match=told):
        check_strategy(oldest)


def test_a_strategy_that_parts_a_call_from_its_result_is_told_so() -> None:
    def careless(view: Any, budget: Any) -> Any:
        return [Drop((row.id,)) for row in view.rows if row.calls]

    with pytest.raises(
        AssertionError, match=r"refused: .*part a call from its result \(test_checks.py, line \d+\)"
    ):
        check_strategy(careless)


def test_a_strategy_whose_edits_make_the_view_larger_is_told_so() -> None:
    def larger(view: View, budget: Budget) -> Iterator[Fold]:
        old = view.oldest(leaving=budget.goal, but=[row for row in view.rows if row.is_request][:1])
        if old.rows:
            yield Fold(old.covers, "x y " * 20_000)

    told = (
        r"larger \(several turns\) made an edit that was refused: it makes the view larger by \d\d,\d{3} tokens "
        r"\(test_checks.py, line \d+\)"
    )
    with pytest.raises(AssertionError, match=told):
        check_strategy(larger)


def test_a_strategy_that_never_makes_the_view_smaller_is_told_so() -> None:
    def wordy(view: View, budget: Budget) -> Iterator[Fold]:
        for block in view.offered:
            if not any(row.is_request for row in block.rows):
                yield Fold(block.covers, "word " * (block.tokens + 30))

    with pytest.raises(
        AssertionError, match=r"wordy never makes the view smaller: .* it makes the view larger by \d+ tokens"
    ):
        check_strategy(wordy)


def test_a_strategy_that_finds_a_shorter_text_after_a_long_one_passes() -> None:
    def patient(view: View, budget: Budget) -> Iterator[Fold]:
        old = view.oldest(leaving=budget.goal, but=[row for row in view.rows if row.is_request][:1])
        if old.rows and (yield Fold(old.covers, "x y " * 20_000)).refused:
            yield Fold(old.covers, "Some words.")

    assert check_strategy(patient).startswith("patient keeps every promise: it shortened")


def test_a_strategy_that_yields_and_returns_edits_is_told_so() -> None:
    def mixed(view: View, budget: Budget) -> Any:
        old = view.oldest(leaving=budget.goal, but=[row for row in view.rows if row.is_request][:1])
        text = yield from ask(old.messages, "Write minutes.")
        return [Fold(old.covers, text)]

    with pytest.raises(
        AssertionError, match=r"mixed \(several turns\) failed: .*a strategy that yields .*: yield each one$"
    ):
        check_strategy(mixed)


def test_a_strategy_that_drops_the_first_request_is_told_so() -> None:
    def forgetful(view: Any, budget: Any) -> Any:
        old = view.oldest(leaving=budget.goal)
        return [Drop(old.covers)] if old.rows else []

    def mindful(view: Any, budget: Any) -> Any:
        first = [row for row in view.rows if row.is_request][:1]
        old = view.oldest(leaving=budget.goal, but=first)
        return [Drop(old.covers)] if old.rows else []

    with pytest.raises(AssertionError, match=r"forgetful \(several turns\) drops the user's first request"):
        check_strategy(forgetful)
    assert check_strategy(forgetful, keep_first=False).startswith("forgetful keeps every promise")
    assert check_strategy(mindful).startswith("mindful keeps every promise")


def test_a_strategy_may_be_given_by_name() -> None:
    assert check_strategy("drop_oldest") == check_strategy(drop_oldest())
    with pytest.raises(BadSetting, match=r"There is no strategy 'drop_oldst'\. Did you mean 'drop_oldest'"):
        check_strategy("drop_oldst")


def test_what_only_makes_a_strategy_is_told_so() -> None:
    with pytest.raises(BadSetting, match=r"give what it makes: summarize\(…\)"):
        check_strategy(summarize)  # type: ignore[arg-type]


def test_a_strategy_that_decides_by_more_than_the_view_is_told_so() -> None:
    moods = iter(range(99))

    def moody(view: Any, budget: Any) -> Any:
        old = view.oldest(leaving=budget.goal)
        if old.rows:
            yield Fold(old.covers, f"mood {next(moods)}")

    with pytest.raises(AssertionError, match="decides differently each time"):
        check_strategy(moody, keep_first=False)


def test_a_dialect_that_loses_a_field_is_told_so() -> None:
    class Forgetful(OpenAIChat):
        def wire(self, message: Any, was: Any = None) -> Any:
            return tuple(
                {k: v for k, v in body.items() if k != "name"} for body in super().wire(message, was)
            )

    check_dialect(OpenAIChat(), {"messages": [{"role": "user", "content": "x", "name": "ann"}]})
    with pytest.raises(AssertionError, match="does not return"):
        check_dialect(Forgetful(), {"messages": [{"role": "user", "content": "x", "name": "ann"}]})


def test_a_dialect_that_does_not_repair_is_told_so() -> None:
    class Careless(OpenAIChat):
        def repair(self, rows: Any, params: Any) -> Any:
            return []

    with pytest.raises(AssertionError, match="does not repair a result without its call"):
        check_dialect(Careless())


def test_a_dialect_without_grammar_is_told_so() -> None:
    class Lawless(OpenAIChat):
        def check(self, rows: Any, params: Any) -> Any:
            return []

        def repair(self, rows: Any, params: Any) -> Any:
            return []

    with pytest.raises(AssertionError, match="does not see a result without its call"):
        check_dialect(Lawless())


def test_a_dialect_that_sees_only_the_first_half_of_what_is_broken_is_told_so() -> None:
    class Blinking(OpenAIChat):
        seen = False

        def check(self, rows: Any, params: Any) -> Any:
            self.seen = not self.seen
            return super().check(rows, params) if self.seen else []

        def repair(self, rows: Any, params: Any) -> Any:
            return []

    class Started(Blinking):
        seen = True

    with pytest.raises(
        AssertionError, match="does not repair a result without its call, and does not see it"
    ):
        check_dialect(Started())


def test_a_dialect_that_finds_fault_with_everything_is_told_so() -> None:
    class Strict(OpenAIChat):
        def check(self, rows: Any, params: Any) -> Any:
            return ["No."]

    with pytest.raises(AssertionError, match="finds fault with a legal request: No"):
        check_dialect(Strict())


def test_a_dialect_whose_repairs_show_what_they_do_not_cover_is_told_so() -> None:
    """(19.4) An erasure would not find what was made from a message."""

    class Elsewhere(OpenAIChat):
        def repair(self, rows: Any, params: Any) -> Any:
            made = super().repair(rows, params)
            late = made and made[-1][0] == (rows[-1].id,) and len(rows) > 4
            return (
                [((rows[0].id,), (*rows[0].messages, *made[-1][1])), ((rows[-1].id,), ())] if late else made
            )

    with pytest.raises(AssertionError, match="came late by a row that shows it and does not cover it"):
        check_dialect(Elsewhere())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_shipped_dialect_passes(dialect: str) -> None:
    check_dialect(dialect_named(dialect))


def test_the_store_in_memory_passes() -> None:
    check_store(fanfold.Memory())


def test_a_fake_model_gives_its_answers_in_order_then_the_last_again() -> None:
    model = FakeModel("One.", ConnectionError("no line"), lambda question: question.prompt)
    question = Ask((user("Hi."),), "Sum up.")
    assert model(question) == "One."
    with pytest.raises(ConnectionError):
        model(question)
    assert [model(question), model(question), model.calls] == ["Sum up.", "Sum up.", 4]


def test_a_fake_model_can_be_awaited() -> None:
    assert asyncio.run(FakeModel("Later.").later(Ask((), "Well?"))) == "Later."


def test_a_fake_model_without_a_script_gives_a_gist() -> None:
    assert FakeModel()(Ask((user("Mend the build."),), "Sum up.")) == "Summary of 1 messages: Mend the build."


def test_a_talk_is_legal_and_the_same_each_time() -> None:
    assert talk(2) == talk(2)
    with fanfold.open("run", window=9_000) as chat:
        chat.merge(talk(2))
        assert chat.request()["messages"] == talk(2)


def test_without_hypothesis_the_generators_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("hypothesis"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "fanfold.testing.generators", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"fanfold\[test\]"):
        __import__("fanfold.testing.generators")


def test_a_strategy_that_never_does_anything_is_not_said_to_keep_promises() -> None:
    def nothing(view: View, budget: Budget) -> list[Drop]:
        return []

    told = check_strategy(nothing)
    assert told.startswith(
        "nothing never did anything: it changed none of 5 conversations, "
        "whose outputs look like 'parse error cache'. So nothing is known about its promises."
    )
    assert (
        "did nothing at any of the 8 times that the view was over its trigger: digest_oldest had to" in told
    )
    assert "keeps every promise" not in told


def test_how_often_a_strategy_left_the_work_to_something_else_is_told() -> None:
    def once(view: View, budget: Budget) -> list[Fold]:
        if any(row.kind == "fold" for row in view.rows):
            return []
        first = [row for row in view.rows if row.is_request][:1]
        old = view.oldest(leaving=budget.room // 3, but=first)
        return [Fold(old.covers, "What was said before.")] if len(old.rows) > 1 else []

    told = check_strategy(once)
    assert "In a conversation that grew, it reduced only 1 of the " in told
    assert "digest_oldest had to reduce in its place " in told


def test_a_strategy_that_goes_on_working_is_praised_without_a_but() -> None:
    assert (
        check_strategy(drop_oldest()) == "drop_oldest keeps every promise: it shortened 3 of 5 conversations "
        "(several turns, one long run of tools, words only), and left the others alone."
    )


def test_the_same_mistake_is_told_once_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    def tearing(view: View, budget: Budget) -> Iterator[Drop]:
        for row in view.rows:
            if row.results:
                yield Drop((row.id,))

    with pytest.raises(AssertionError) as met:
        check_strategy(tearing)
    told = str(met.value)
    assert told.count("part a call from its result") == 1
    assert " more were refused)" in told
    assert caplog.records == []


def test_a_conversation_that_grows_is_sent_only_when_every_call_has_its_result() -> None:
    seen = set[str]()

    def watching(view: View, budget: Budget) -> list[Drop]:
        seen.update(row.kind for row in view.rows)
        return []

    check_strategy(watching)
    assert "mend" not in seen
