"""F22: what the model looked up is not offloaded again for three replies, and is re-sent byte by byte."""

from __future__ import annotations

from typing import Any

import fanfold
from fanfold.core.message import Message, Text
from fanfold.strategies.elide import elide

LOOK = fanfold.Call("r1", "tool_output_cache", '{"ref_id": "o1", "offset": 1, "limit": 400}')


def looked_up() -> fanfold.Session:
    """A session in which the model read an elided output again, under a strategy that elides all it may."""
    chat = fanfold.open(
        "run", window=200_000, recall=True, strategy=elide(keep=0, share=10), meter="characters/4"
    )
    chat.say("go")
    call = fanfold.Call("c1", "bash", "{}")
    chat.add(Message("assistant", (call,)))
    chat.answer(call, "".join(f"line {i}\n" for i in range(1_000)))
    chat.add(Message("assistant", (Text("seen"),)))
    chat.request()
    chat.receive(fanfold.Reply((Message("assistant", (LOOK,)),)))
    return chat


def results(request: dict[str, Any]) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


def test_what_was_looked_up_stays_whole_for_three_replies_and_may_shrink_after() -> None:
    chat = looked_up()
    first = results(chat.request())
    assert "line 399" in first[1]
    for reply in range(4):
        chat.add(Message("assistant", (Text(f"reply {reply}"),)))
        chat.say("go on")
        now = results(chat.request())
        assert (now[1] == first[1]) == (reply < 2)


def test_looking_up_moves_nothing_that_was_sent_before() -> None:
    chat = looked_up()
    before = chat.sent(-1)[1].messages
    after = chat.request()
    assert chat.view().messages[: len(before)] == before
    assert results(after)[:-1] == [message.results[0].text for message in before if message.results]


def test_an_answer_of_a_recall_tool_is_not_clipped_by_passes() -> None:
    chat = looked_up()
    assert "[output clipped" not in results(chat.request())[1]


def test_the_naive_gateway_offloads_what_was_just_expanded() -> None:
    outputs: dict[str, str] = {}

    def offloaded(text: str) -> str:
        outputs[f"o{len(outputs)}"] = text
        return f"[stored as o{len(outputs) - 1}]" if len(text) > 1_000 else text

    first = offloaded("line\n" * 1_000)
    expanded = offloaded(outputs["o0"])
    assert (first, expanded) == ("[stored as o0]", "[stored as o1]"), "the model never sees it"
