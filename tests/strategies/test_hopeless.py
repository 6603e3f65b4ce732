"""Reductions that cannot help: nobody pays for them, and they change nothing."""

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import Budget, DoesNotFit, Fold, Session, View, ask
from fanfold.core.message import assistant
from fanfold.core.plan import Plan
from fanfold.strategies.fallbacks import drop_seen
from fanfold.testing.generators import conversations
from laws.world import World

ROOM = 7_200
"""What a window of 8,000 leaves beside the reply."""


class Model:
    """Answers with a summary of some length, and counts how often."""

    def __init__(self, words: int = 2) -> None:
        self.asked, self.words = 0, words

    def __call__(self, question: Any) -> str:
        self.asked += 1
        return "A summary. " * self.words


def _opened(share: float, model: Model | None = None, strategy: Any = "summarize") -> Session:
    """A session whose system prompt takes this share of the room."""
    system = "word " * int(ROOM * share)
    return fanfold.open("run", window=8_000, system=system, strategy=strategy, summarizer=model)


def _turns(chat: Session, words: int, many: int = 30) -> int:
    """How many of so many requests did not begin with all of the one before."""
    broken, before = 0, list[Any]()
    for number in range(many):
        chat.say(f"Question {number}. " + "foo " * words)
        messages = chat.request()["messages"]
        broken += messages[: len(before)] != before
        before = messages
        chat.add(assistant(f"Answer {number}. " + "bar " * 20))
    return broken


@pytest.mark.parametrize("share", [0.8, 0.86, 0.9, 0.95, 0.98])
@pytest.mark.parametrize("words", [20, 100, 400])
@pytest.mark.parametrize("summary", [1, 100])
def test_with_a_system_prompt_near_the_window_few_questions_are_paid_for(
    share: float, words: int, summary: int
) -> None:
    """(19.9) 28 questions in 30 turns were asked; at most one in six turns is now."""
    model = Model(summary)
    _turns(_opened(share, model), words)
    assert model.asked <= 5


@pytest.mark.parametrize("strategy", ["summarize", "digest", "drop_oldest"])
def test_the_prefix_stays_until_there_is_something_to_gain(strategy: str) -> None:
    """(19.9) It broke in 28 of 30 turns."""
    assert _turns(_opened(0.8, Model(), strategy), 100) <= 5


def test_a_question_is_asked_where_its_answer_brings_much() -> None:
    model = Model()
    chat = _opened(0.5, model)
    _turns(chat, 200)
    assert model.asked >= 2
    assert [row.reason for row in chat.view().rows if row.kind == "fold"] == ["summarize"]


@pytest.mark.parametrize("paid", [True, False])
def test_a_question_that_brought_nothing_is_not_put_again_before_the_window_forces_it(paid: bool) -> None:
    """(19.9) What costs nothing is tried again as soon as a twentieth of the room came on top."""
    tried: list[float] = []

    def useless(view: View, budget: Budget) -> Plan:
        tried.append(view.tokens / ROOM)
        if paid:
            yield from ask(view.messages, "Is there something to leave out?")

    chat = _opened(0.1, Model(), useless)
    while len(tried) < 2:
        _turns(chat, 100, 1)
    assert 0.85 <= tried[0] < 0.88
    assert 1 < tried[1] < 1.03 if paid else 0.9 <= tried[1] < 0.93


def test_a_question_that_brings_little_each_time_is_not_paid_for_at_every_turn() -> None:
    """(19.9) Folding two rows ends just below the trigger, which the next turn reaches again."""

    def sips(view: View, budget: Budget) -> Plan:
        old = view.oldest(leaving=budget.ceiling - 50)
        text = yield from ask(old.messages, "In a word?")
        yield Fold(old.covers, text)

    model = Model()
    chat = _opened(0.5, model, strategy=sips)
    _turns(chat, 100, 90)
    assert 0 < model.asked <= 10


def test_a_person_who_asks_for_a_reduction_gets_one() -> None:
    model = Model()
    chat = _opened(0.9, model)
    _turns(chat, 20, 8)
    before = chat.view().tokens
    outcome = chat.compact()
    assert (outcome.status, model.asked) == ("reduced", 1)
    assert chat.view().tokens < before


def test_why_no_model_was_asked_is_said() -> None:
    outcomes: list[Any] = []
    chat = fanfold.open(
        "run",
        window=8_000,
        system="word " * 6_800,
        strategy="summarize",
        summarizer=Model(),
        hooks=fanfold.Hooks(after_edit=outcomes.append),
    )
    _turns(chat, 100, 4)
    assert outcomes[-1].strategy == "digest_oldest"
    assert "would not help; no model is asked" in outcomes[-1].error


@pytest.mark.parametrize("strategy", ["summarize", "digest", "drop_oldest", "auto", "elide"])
def test_a_frame_that_cannot_fit_leaves_the_history_as_it_is(strategy: str) -> None:
    """(19.9) 25 messages were folded before it was said that nothing helps."""
    model = Model()
    chat = _opened(1.2, model, strategy)
    for number in range(100):
        chat.say(f"Question {number}. " + "foo " * 40)
        chat.add(assistant("bar " * 40))
    chat.say("Go.")
    before = chat.view().messages
    for _ in range(3):
        with pytest.raises(DoesNotFit, match=r"8,6\d\d for system prompt and tools"):
            chat.request()
    chat.settle()
    assert chat.view().messages == before
    assert model.asked == 0


@pytest.mark.parametrize("share", [0.995, 0.998])
def test_what_leads_to_no_request_that_fits_is_asked_once_and_not_kept(share: float) -> None:
    """(19.9) The frame leaves a few tokens: too few for any message, or for what reductions leave of all."""
    model, failed = Model(), 0
    chat = _opened(share, model)
    for number in range(8):
        chat.say(f"Question {number}. " + "foo " * 300)
        before = chat.view().messages
        try:
            chat.request()
        except DoesNotFit:
            failed += 1
            assert chat.view().messages == before
        chat.add(assistant("bar " * 300))
    assert failed >= 4
    assert model.asked <= 1


def test_a_model_is_asked_again_once_a_request_went_out() -> None:
    outcomes: list[Any] = []
    chat = fanfold.open(
        "run",
        window=8_000,
        system="word " * 1_000,
        strategy="summarize",
        summarizer=Model(),
        on_edit=outcomes.append,
    )
    chat.say("Go.")
    with pytest.raises(DoesNotFit):
        chat.request(max_tokens=7_900)
    _turns(chat, 400, 20)
    assert [outcome.error for outcome in outcomes[1:]] == [None] * (len(outcomes) - 1)
    assert {outcome.strategy for outcome in outcomes[1:]} == {"summarize"}


@given(conversations(most=400), st.integers(120, 900), st.sampled_from([0.6, 0.8, 0.9, 1.0]))
def test_what_does_not_fit_was_not_reduced(bodies: list[Any], window: int, share: float) -> None:
    """(19.9) Whatever was said, beside a pinned line that fills the window, or nearly does."""
    world = World(budget=Budget(window=window))
    world.merge(bodies)
    world.pin(world.chat.say("word " * int(window * share)).id)
    view, made = world.chat.view(), len(world.log.decisions)
    sent = world.request()
    assert sent is None or view.fixed <= world.room
    if sent is None:
        assert not any(decision.reduces for decision in list(world.log.decisions.values())[made:])


def test_of_much_that_the_model_has_not_seen_the_first_request_goes_last() -> None:
    """Nothing here is large enough to be clipped, and no model saw it: only whole messages can give way."""
    chat = fanfold.open("run", window=2_000, meter="characters/4", filters=())
    chat.say("Repair the roof of the red house.")
    for number in range(60):
        chat.say(f"Line {number} of what came in. ".ljust(160, "x"))
    shown = str(chat.request(max_tokens=200)["messages"])
    assert "Repair the roof" in shown
    assert "Line 59" in shown
    assert "Line 1 of" not in shown


def test_a_paid_reduction_that_frees_little_is_not_tried_again_before_the_window_is_full() -> None:
    """Each message or two would make it due, and be paid for, once more."""
    model = Model()

    def sparing(view: View, budget: Budget) -> Plan:
        """Fold the two oldest blocks, whatever is needed, into what a model says."""
        old = [block for block in view.offered if block.rows[0].kind == "entry"][:2]
        if old:
            text = yield from ask(old[0].messages, "Sum this up.")
            yield Fold(tuple(id for block in old for id in block.covers), text)

    chat = fanfold.open("run", window=8_000, strategy=sparing, summarizer=model, meter="characters/4")
    numbers = count()
    while chat.view().tokens < ROOM * 0.84:
        chat.say(f"Question {next(numbers)}. ".ljust(400, "x"))
        chat.add(assistant("An answer. ".ljust(400, "y")))
    while chat.view().tokens < ROOM - 250:
        chat.say(f"Question {next(numbers)}. ".ljust(400, "x"))
        chat.request(max_tokens=800)
        chat.add(assistant("An answer. ".ljust(400, "y")))
    assert model.asked == 1


def test_where_even_the_first_request_has_to_go_it_is_quoted_as_far_as_there_is_room() -> None:
    chat = fanfold.open(
        "run", window=10_000, meter="characters/4", strategy=lambda view, budget: [], fallback=(drop_seen,)
    )
    chat.say("Repair the roof of the red house. ".ljust(3_600, "x"))
    chat.add(assistant("On it. ".ljust(2_000, "y")))
    chat.say("The newest word. ".ljust(33_000, "z"))
    shown = [message["content"] for message in chat.request(max_tokens=1_000)["messages"]]
    assert "Repair the roof of the red house." in shown[0]
    assert shown[-1].startswith("The newest word.")
    assert not any("xxx" * 1_000 in text for text in shown), "it is quoted, not shown"
