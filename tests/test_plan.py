"""Plans: how a strategy speaks, and what becomes of what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fanfold
from builders import asks, long, opened, says, tell, texts
from fanfold import (
    Answer,
    Ask,
    AskFailed,
    Budget,
    Drop,
    Elide,
    Fold,
    Hooks,
    Note,
    Outcome,
    Session,
    TokenUsage,
    View,
    ask,
    drop_oldest,
    either,
    when,
)
from fanfold.core.plan import Plan, Strategy, name_of
from fanfold.testing import replied


def filled(strategy: Any, **rest: Any) -> Session:
    """A session of twelve messages of 20 tokens each, in a window of 300."""
    chat = opened(300, strategy=strategy, **rest)
    tell(chat, *(body(long(f"message {n}", 20)) for n in range(6) for body in (asks, says)))
    return chat


def minutes(view: View, budget: Budget) -> Plan:
    old = view.oldest(leaving=budget.goal)
    text = yield from ask(old.messages, "Write minutes.")
    yield Fold(old.covers, text)


def forget(view: View, budget: Budget) -> list[Drop]:
    return [Drop(view.oldest(leaving=budget.goal).covers)]


def nothing(view: View, budget: Budget) -> None:
    return None


def answering(text: str | Answer | Exception) -> tuple[list[Ask], Callable[[Ask], str | Answer]]:
    asked: list[Ask] = []

    def answer(question: Ask) -> str | Answer:
        asked.append(question)
        if isinstance(text, Exception):
            raise text
        return text

    return asked, answer


def test_a_question_is_answered_by_the_model_the_session_was_opened_with() -> None:
    asked, answer = answering("Minutes.")
    outcome = filled(minutes, summarizer=answer).compact()
    assert (outcome.status, outcome.strategy) == ("reduced", "minutes")
    assert [question.prompt for question in asked] == ["Write minutes."]
    assert len(asked[0].messages) == 7


def test_an_outcome_tells_tokens_before_and_after() -> None:
    _, answer = answering("Minutes.")
    chat = filled(minutes, summarizer=answer)
    outcome = chat.compact()
    assert (outcome.before, outcome.after, outcome.saved) == (240, 102, 138)
    assert chat.view().tokens == 102


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (ValueError("the line is dead"), "ValueError: the line is dead"),
        (Answer(error="overloaded"), "overloaded"),
        ("", "the answer was empty"),
        ("  \n", "the answer was empty"),
        (7, "not with int"),
    ],
)
def test_an_answer_that_is_none_fails_the_plan_and_leaves_no_trace(said: Any, error: str) -> None:
    _, answer = answering(said)
    chat = filled(minutes, summarizer=answer)
    before = texts(chat)
    outcome = chat.compact()
    assert outcome.status == "failed"
    assert error in str(outcome.error)
    assert texts(chat) == before


def test_without_a_model_to_ask_the_plan_fails_and_says_what_to_do() -> None:
    assert "open the session with `summarizer=`" in str(filled(minutes).compact().error)


def test_the_same_question_is_asked_once() -> None:
    asked, answer = answering("Minutes.")
    chat = filled(minutes, summarizer=answer)
    chat.compact()
    chat.undo()
    chat.release("e1")
    chat.compact()
    assert len(asked) == 1
    assert texts(chat)[0] == "Minutes."


def test_an_answer_that_does_not_help_is_not_used_again() -> None:
    asked, answer = answering(long("Long minutes", 500))
    chat = filled(minutes, summarizer=answer)
    assert chat.compact().status == "refused-larger"
    chat.compact()
    assert len(asked) == 2


def drops_and_notes(tokens: int) -> Strategy:
    """A strategy that drops the oldest rows, and writes a note of so many tokens."""
    return lambda view, budget: [Drop(view.oldest(leaving=50).covers), Note("n", long("n", tokens))]


def test_a_plan_that_leaves_more_than_there_was_is_refused_and_the_fallback_does_it() -> None:
    chat = filled(drops_and_notes(5_000))
    before = chat.view().tokens
    outcome = chat.compact()
    assert (outcome.status, outcome.strategy) == ("refused-larger", None)
    assert (outcome.after, outcome.decisions, chat.view().tokens) == (before, (), before)
    tell(chat, asks(long("more", 60)), says("Yes."), asks("And?"))
    chat.request()
    edits = [decision.edit for decision in chat._state.log.decisions.values()]
    assert edits
    assert not any(isinstance(edit, Note) for edit in edits)


def test_a_plan_that_saves_more_than_its_note_takes_is_made() -> None:
    outcome = filled(drops_and_notes(20)).compact()
    assert outcome.status == "reduced"
    assert outcome.after < outcome.before


def test_a_note_alone_that_does_not_fit_is_refused() -> None:
    chat = filled(lambda view, budget: [Note("n", long("n", 5_000))])
    assert chat.compact(force=True).decisions == ()


@pytest.mark.parametrize(
    ("window", "most", "text", "refused"),
    [
        (1_000, 900, "e" * 400, None),
        (1_000, 900, "é" * 400, "it saves 0 tokens, the least is 1"),
        (1_000, 900, "e" * 404, "it makes the view larger by 1 token"),
        (1_000, 9_000, "e" * 400, "it saves 0 tokens, the least is 16"),
        (90, 9_000, "e" * 400, "it saves 0 tokens, the least is 1"),
    ],
    ids=["fewer bytes", "as many bytes", "more tokens", "all fits", "tokens are short, not bytes"],
)
def test_where_bytes_are_short_an_edit_that_saves_no_tokens_but_bytes_is_made(
    window: int, most: int, text: str, refused: str | None
) -> None:
    """A letter with an accent is one character and two bytes."""
    told: list[str | None] = []

    def unaccented(view: View, budget: Budget) -> Plan:
        view = yield Elide(f"{view.rows[1].id}#0", text)
        told.append(view.refused)

    limits = Budget(window=window, reserve=0, max_bytes=most)
    chat = opened(None, strategy=unaccented, fallback=(), budget=limits)
    tell(chat, asks("go"), says("é" * 400), asks("on"))
    chat.compact(force=True)
    assert told == [refused]


def test_answers_of_a_plan_that_raises_are_not_paid_for_again() -> None:
    times: list[int] = []

    def clumsy(view: View, budget: Budget) -> Plan:
        old = view.oldest(leaving=budget.goal)
        text = yield from ask(old.messages, "Write minutes.")
        times.append(1)
        if len(times) == 1:
            raise RuntimeError("ouch")
        yield Fold(old.covers, text)

    asked, answer = answering("Minutes.")
    chat = filled(clumsy, summarizer=answer)
    assert chat.compact().status == "failed"
    assert chat.compact().status == "reduced"
    assert (len(asked), texts(chat)[0]) == (1, "Minutes.")


def test_an_answer_that_the_strategy_cannot_use_is_asked_for_again() -> None:
    def strict(view: View, budget: Budget) -> Plan:
        old = view.oldest(leaving=budget.goal)
        text = yield from ask(old.messages, "Write minutes.")
        if len(asked) == 1:
            raise AskFailed("these are no minutes")
        yield Fold(old.covers, text)

    asked, answer = answering("Minutes.")
    chat = filled(strict, summarizer=answer)
    assert "these are no minutes" in str(chat.compact().error)
    assert chat.compact().status == "reduced"
    assert len(asked) == 2


def test_pieces_of_a_question_that_were_answered_are_not_asked_again() -> None:
    asked: list[Ask] = []

    def fails_once(question: Ask) -> str:
        asked.append(question)
        if len(asked) == 2:
            raise ConnectionError("no line")
        return "So far."

    chat = filled(minutes, summarizer=fails_once, summarizer_window=100)
    assert chat.compact().status == "failed"
    again = len(asked)
    assert chat.compact().status == "reduced"
    assert asked[again].messages == asked[1].messages


def test_what_asking_was_billed_is_told_and_kept() -> None:
    usage = TokenUsage(input=100, output=20)
    _, answer = answering(Answer("Minutes.", usage=usage, cost=0.25))
    chat = filled(minutes, summarizer=answer)
    outcome = chat.compact()
    assert (outcome.usage, outcome.cost) == (usage, 0.25)
    assert (chat.stats()["asked_tokens"], chat.stats()["asked_cost"]) == (120, 0.25)


def test_what_a_useless_answer_cost_is_told_too() -> None:
    _, answer = answering(Answer(" ", usage=TokenUsage(input=100), cost=0.1))
    chat = filled(minutes, summarizer=answer)
    assert (chat.compact().status, chat.stats()["asked_cost"]) == ("failed", 0.1)


def test_a_question_too_long_for_the_asked_model_is_put_in_pieces() -> None:
    asked, answer = answering("So far.")
    assert filled(minutes, summarizer=answer, summarizer_window=100).compact().status == "reduced"
    assert len(asked) > 1
    assert "So far." in asked[1].messages[0].text


def test_a_plan_that_asks_for_ever_is_stopped() -> None:
    def curious(view: View, budget: Budget) -> Plan:
        for number in range(1_000):
            yield from ask(view.messages[:1], f"question {number}")

    asked, answer = answering("Well.")
    outcome = filled(curious, summarizer=answer).compact()
    assert (outcome.status, len(asked)) == ("failed", 12)


def test_a_strategy_that_never_asks_may_return_a_list() -> None:
    outcome = filled(forget).compact()
    assert (outcome.status, outcome.strategy) == ("reduced", "forget")


def test_a_strategy_with_nothing_to_say_changes_nothing() -> None:
    assert filled(nothing).compact() == Outcome("noop", 240, 240)


def test_a_plan_sees_what_its_edits_did() -> None:
    seen: list[int] = []

    def careful(view: View, budget: Budget) -> Iterator[Any]:
        seen.append(view.tokens)
        view = yield Fold(view.offered[0].covers, "x" * 4)
        seen.append(view.tokens)
        view = yield Fold(("no such row",), "x")
        seen.append(view.tokens)
        assert view.refused == "it does not cover whole rows of the present view"

    assert filled(careful).compact().error is None
    assert seen == [240, 221, 221]


def test_a_plan_that_raises_takes_back_what_it_did() -> None:
    def clumsy(view: View, budget: Budget) -> Plan:
        yield Drop(view.oldest(leaving=100).covers)
        raise RuntimeError("ouch")

    chat = filled(clumsy)
    outcome = chat.compact()
    assert (outcome.status, outcome.error) == ("failed", "clumsy: RuntimeError: ouch")
    assert chat.view().tokens == 240


def test_several_strategies_are_tried_in_order_until_the_target_is_reached() -> None:
    def little(view: View, budget: Budget) -> Plan:
        yield Fold(view.offered[0].covers, "x" * 8)

    chat = filled([nothing, little, forget, minutes])
    chat.compact()
    assert [chat.why(id).edits[0].why for id in chat._state.log.tree.path(chat.head)[:2]] == [
        "little",
        "forget",
    ]


def test_either_is_the_first_that_changes_anything() -> None:
    strategy = either(nothing, forget, drop_oldest())
    outcome = filled(strategy).compact()
    assert outcome.decisions[0].why == "either(nothing, forget, drop_oldest)"
    assert len(outcome.decisions) == 1


def test_when_runs_a_strategy_on_views_that_pass_a_test() -> None:
    assert filled(when(lambda view, budget: len(view.rows) > 5, forget)).compact().status == "reduced"
    assert filled(when(lambda view, budget: len(view.rows) > 50, forget)).compact().status == "noop"


def test_a_strategy_is_called_by_its_name() -> None:
    class Named:
        name = "by name"

        def __call__(self, view: View, budget: Budget) -> None: ...

    class Nameless:
        def __call__(self, view: View, budget: Budget) -> None: ...

    names: list[Strategy] = [forget, Named(), Nameless(), drop_oldest()]
    assert [name_of(strategy) for strategy in names] == ["forget", "by name", "Nameless", "drop_oldest"]


def test_asking_outside_of_a_driver_is_a_generator_like_any_other() -> None:
    question = ask((), "Well?", max_tokens=5)
    assert next(question) == Ask((), "Well?", 5)
    with pytest.raises(StopIteration) as end:
        question.send(Answer("Yes."))
    assert end.value.value == "Yes."


def test_a_failed_answer_is_raised_where_it_was_asked() -> None:
    question = ask((), "Well?")
    next(question)
    with pytest.raises(AskFailed, match="overloaded"):
        question.send(Answer(error="overloaded"))


def test_a_hook_may_refuse_a_plan() -> None:
    told: list[Any] = []

    def veto(decisions: Any, trigger: str) -> bool:
        told.append((len(decisions), trigger))
        return False

    chat = filled(forget, hooks=Hooks(before_edit=veto))
    outcome = chat.compact()
    assert told == [(1, "manual")]
    assert (outcome.status, outcome.error) == ("failed", "a hook refused it")
    assert chat.view().tokens == 240


def returns_words(view: View, budget: Budget) -> Any:
    return "drop"


def stammers(view: View, budget: Budget) -> Iterator[Any]:
    yield None
    yield forget(view, budget)[0]


def yields_and_returns(view: View, budget: Budget) -> Any:
    old = view.oldest(leaving=budget.goal)
    text = yield from ask(old.messages, "Write minutes.")
    return [Fold(old.covers, text)]


COMBINED = [lambda one: one, either, lambda one: when(lambda view, budget: True, one)]


@pytest.mark.parametrize("combined", COMBINED, ids=["alone", "either", "when"])
def test_what_a_strategy_gives_back_means_the_same_alone_and_inside_another(combined: Any) -> None:
    error = filled(combined(returns_words), fallback=()).compact().error
    assert "a strategy yields edits or returns a list of them, not str" in str(error)
    error = filled(combined(yields_and_returns), fallback=(), summarizer=lambda _: "Minutes.").compact().error
    assert "a strategy that yields edits or questions cannot return edits" in str(error)
    assert filled(combined(stammers), fallback=()).compact().status == "reduced"
    assert filled(combined(nothing), fallback=()).compact().error is None


def test_a_session_warns_of_a_strategy_whose_generator_returns_edits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    filled(yields_and_returns, summarizer=lambda _: "Minutes.").request()
    assert "yields_and_returns failed with TypeError." in caplog.text


class AtMost:
    """A strategy of a user's own whose steps are methods."""

    def due(self, view: View, budget: Budget) -> bool:
        return view.tokens > 100

    def trim(self, view: View, budget: Budget) -> Iterator[Drop]:
        yield Drop(view.oldest(leaving=50).covers)

    __call__ = trim


def test_what_a_method_of_a_strategy_did_is_shown_under_the_name_of_the_strategy() -> None:
    chat = fanfold.open("run", window=9_000, strategy=AtMost())
    for _ in range(6):
        chat.say("word " * 20)
        chat.add(replied("word " * 20))
    chat.say("Go on.")
    chat.request()
    assert {edit.decision.why for edit in chat.edits()} == {"AtMost"}


def test_a_small_view_that_is_reduced_by_force_is_asked_about_in_one_piece() -> None:
    """Strategies are told of a window that it fills; the model that is asked has the true one."""
    asked = list[int]()

    def minutes(view: View, budget: Budget) -> Plan:
        old = view.oldest(leaving=10)
        text = yield from ask(old.messages, "Write minutes.")
        yield Fold(old.covers, text)

    def secretary(question: Ask) -> str:
        asked.append(len(question.messages))
        return "It rains."

    chat = opened(30_000, strategy=minutes, summarizer=secretary)
    tell(chat, *(body(long(f"message {n}", 20)) for n in range(20) for body in (asks, says)))
    assert chat.compact(force=True).status == "reduced"
    assert len(asked) == 1


def test_a_plan_that_only_makes_a_note_may_make_a_small_view_larger_by_force_too() -> None:
    chat = opened(30_000, strategy=lambda view, budget: [Note("told", "One message.")])
    tell(chat, asks(long("one", 20)), says(long("two", 20)))
    assert [one.id for one in chat.compact(force=True).decisions] == ["e1"]
