"""F15: a rewind after condensing loses history, or rewound text leaks into a later summary."""

from __future__ import annotations

import fanfold
from fanfold.core.message import text_of
from fanfold.testing import FakeModel, replied, said

from .naive import chatter, compacted


def test_the_naive_manager_has_nothing_to_go_back_to() -> None:
    history = compacted(chatter(20), lambda _: "They talked.")
    rewound = history[:3]
    assert not any("Question 1." in str(body["content"]) for body in rewound)


def test_a_rewind_into_the_summary_brings_its_messages_back() -> None:
    with fanfold.open("run", window=2_000, summarizer=FakeModel("They talked."), filters=()) as chat:
        chat.merge(chatter(40))
        chat.request()
        assert any(row.kind == "fold" for row in chat.view().rows)
        chat.rewind(5)
        assert [message.text[:11] for message in chat.view().messages] == [
            text for n in range(3) for text in (f"Question {n}.", f"Answer {n}.")
        ]
        chat.forward()
        assert any(row.kind == "fold" for row in chat.view().rows)


def test_what_was_rewound_is_not_in_a_later_summary() -> None:
    model = FakeModel()
    with fanfold.open("run", window=2_000, summarizer=model, filters=()) as chat:
        chat.merge(chatter(4))
        chat.add(said("The SECRET-99 plan."))
        chat.add(replied("Noted, SECRET-99."))
        chat.rewind(turns=1)
        for body in chatter(40):
            chat.add(body)
        chat.request()
        assert model.calls
        asked = "".join(text_of(message) for question in model.asked for message in question.messages)
        assert "SECRET-99" not in asked
        assert "SECRET-99" not in "".join(text_of(message) for message in chat.view().messages)
