"""grammar: the provider's rules accept every request of a session."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import Budget, Fold
from fanfold.dialects.chat.dialect import OpenAIChat
from fanfold.testing import called, replied, returned, said
from fanfold.testing.generators import broken_conversations, conversations
from fanfold.testing.provider.rejection import JudgeTerms
from fanfold.testing.provider.rules import check
from laws import grammar
from laws.hostile import HOSTILE
from laws.world import World

BUDGETS = st.sampled_from((Budget(window=400), Budget(window=1_500), Budget(window=60_000)))


@given(conversations() | broken_conversations(), BUDGETS, st.sampled_from((None, *HOSTILE)))
def test_every_request_is_legal(bodies: list[Any], budget: Budget, strategy: Any) -> None:
    world = World(strategy, budget=budget)
    world.merge(bodies)
    request = world.request()
    if request is not None:
        assert check("chat", request, JudgeTerms("gpt-4o")) is None


@given(broken_conversations(), broken_conversations())
def test_a_request_is_legal_after_more_was_broken(first: list[Any], then: list[Any]) -> None:
    world = World(budget=Budget(window=60_000))
    world.merge(first)
    world.request()
    world.merge([*world.transcript(), *then])
    world.request()


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
HELLO = {"type": "text", "text": "Hello."}


@given(
    st.lists(st.sampled_from(([THOUGHT], [HELLO], [THOUGHT, HELLO])), min_size=1, max_size=4), st.booleans()
)
def test_a_conversation_that_the_model_began_stays_legal(beginning: list[Any], at_once: bool) -> None:
    model = "claude-sonnet-4-5"
    with fanfold.open("run", model=model, dialect="anthropic", window=6_000) as chat:
        for parts in beginning:
            chat.add({"role": "assistant", "content": parts})
        for _ in range(12):
            chat.say("word " * 450)
            if at_once:
                chat.compact()
            assert check("anthropic", chat.request(max_tokens=100), JudgeTerms(model, foreign=True)) is None
            chat.add({"role": "assistant", "content": [HELLO]})


def test_an_untouched_message_is_sent_exactly_as_it_came() -> None:
    body = {"role": "user", "content": "Hi.", "name": "ann", "x_trace": [1, {"a": None}]}
    with fanfold.open("run", window=1_000) as chat:
        chat.add(body)
        assert chat.request()["messages"] == [body]


def test_a_call_without_an_answer_gets_one_and_takes_the_real_one_later() -> None:
    with fanfold.open("run", window=1_000) as chat:
        chat.merge([said("Go."), replied(None, called("c1"), called("c2")), returned("c1", "one")])
        assert grammar.faults(chat.request()) == []
        chat.answer("c2", "two")
        request = chat.request()
        assert grammar.faults(request) == []
        assert [body["content"] for body in request["messages"][2:]] == ["one", "two"]


def test_a_fold_that_shows_steps_out_of_order_is_told_apart() -> None:
    def extract(view: Any, budget: Any) -> Any:
        rows = view.rows[:5]
        call, answer = rows[1].messages[0], rows[2].messages[0]
        shows = (rows[0].messages[0], call, replied_words, answer)
        return [Fold(tuple(row.id for row in rows), shows)]

    replied_words = OpenAIChat().message(replied("In between."))
    with fanfold.open("run", budget=Budget(window=9_000, gain=0), strategy=extract) as chat:
        chat.merge([said("Go."), replied(None, called("c1")), returned("c1", "out"), replied("So " * 90)])
        chat.merge([*chat.request()["messages"], said("Long " * 90), replied("Yes."), said("And?")])
        assert chat.compact(force=True).status == "reduced"
        assert grammar.faults(chat.request()) == []


def test_a_lone_surrogate_is_sent_as_a_replacement_character() -> None:
    with fanfold.open("run", window=1_000, system="Be \ud800 brief.") as chat:
        chat.say("half \ud83d pair")
        request = chat.request(context="or \udc00 none", user="\ud801")
        assert [body["content"] for body in request["messages"]] == [
            "Be \ufffd brief.",
            "half \ufffd pair",
            "or \ufffd none",
        ]
        assert request["user"] == "\ufffd"
