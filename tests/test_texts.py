"""Kinds of text: a subclass of `str` (marked-up text, an enumeration's member) is taken as the text that it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builders import asks, calls, long, opened, reply, says, tell, texts
from fanfold import Ask, Budget, Call, Fold, Memory, Session, SQLite, Store, Text, View, ask
from fanfold.core.plan import Plan


class Markup(str):
    """Marked-up text, as a template engine makes it: written out, it is something else."""

    def __str__(self) -> str:
        return "<escaped>"


SAYING: dict[str, Callable[[Session], object]] = {
    "say": lambda chat: chat.say(Markup("word")),
    "say a part": lambda chat: chat.say(Text(Markup("word"))),
    "add": lambda chat: chat.add(asks(Markup("word"))),
    "merge": lambda chat: chat.merge([asks("first"), says("Yes."), calls("c1"), asks(Markup("word"))]),
    "receive": lambda chat: chat.receive(reply(says(Markup("word")))),
    "pin": lambda chat: (chat.say("word"), chat.pin(Markup("word"))),
    "pin an entry": lambda chat: chat.pin(Markup(chat.say("word").id)),
    "note": lambda chat: chat.note(Markup("word"), Markup("word")),
    "answer": lambda chat: chat.answer(Markup("c1"), Markup("word")),
    "answer a call": lambda chat: chat.answer(Call(Markup("c1"), "read", "{}"), "word"),
    "answer with parts": lambda chat: chat.answer("c1", [Markup("word"), Text(Markup("word"))]),
    "answer with JSON": lambda chat: chat.answer("c1", {"said": Markup("word")}),
    "erase": lambda chat: chat.erase(Markup(chat.say("secret").id), Markup("word")),
    "spawn": lambda chat: (
        chat.spawn(Call(Markup("c1"), "read", "{}"), name=Markup("sub")),
        chat.say("word"),
    ),
    "request": lambda chat: (chat.say("word"), chat.request(context=Markup("more"), user=Markup("me"))),
}


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return Memory() if request.param == "memory" else SQLite(tmp_path / "s.db")


@pytest.mark.parametrize("verb", SAYING)
def test_text_of_another_kind_is_kept_as_text(verb: str, store: Store) -> None:
    chat = opened(store=store, name=Markup("run"), system=Markup("Be brief."))
    tell(chat, asks("first"), says("Yes."), calls("c1"))
    SAYING[verb](chat)
    shown = str(chat.view().messages)
    assert "word" in shown
    assert "<escaped>" not in shown
    chat.close()
    assert str(opened(store=store).view().messages) == shown


def test_a_models_answer_of_another_kind_is_kept_as_text(store: Store) -> None:
    def minutes(view: View, budget: Budget) -> Plan:
        old = view.oldest(leaving=budget.goal)
        text = yield from ask(old.messages, "Write minutes.")
        yield Fold(old.covers, text)

    def answer(question: Ask) -> str:
        return Markup("Minutes.")

    chat = opened(300, store=store, strategy=minutes, summarizer=answer)
    tell(chat, *(body(long(f"message {n}", 20)) for n in range(6) for body in (asks, says)))
    assert chat.compact().status == "reduced"
    assert texts(chat)[0] == "Minutes."
