"""F3: one huge tool result or pasted file does not kill the task: kept whole, clipped in view, expandable."""

from __future__ import annotations

import openai
import pytest

import fanfold
from builders import asks, calls, gives, long, opened, tell
from fanfold.core.message import Message
from fanfold.testing.provider import Provider

from .naive import connected, loop

HUGE = "".join(f"{i}: a line of a very long log\n" for i in range(400_000))


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_result_of_a_hundred_windows_is_kept_whole_and_fits(store: str, tmp_path: object) -> None:
    place = fanfold.Memory() if store == "memory" else f"sqlite:{tmp_path}/a.db"
    with fanfold.open("run", window=32_000, store=place, recall=True) as chat:
        chat.say("read the log")
        call = fanfold.Call("c1", "bash", "{}")
        chat.add(Message("assistant", (call,)))
        chat.answer(call, HUGE)
        sent = chat.request(max_tokens=1_000)
        assert "ref=o1" in sent["messages"][-1]["content"]
        assert chat.output("o1").text() == HUGE
        look = fanfold.Call("r", "tool_output_cache", '{"ref_id": "o1", "offset": 399999, "limit": 1}')
        assert "399998: a line" in chat.recall(look)


def test_a_pasted_file_of_many_windows_fits_and_comes_back_by_undo() -> None:
    pasted = HUGE[:2_000_000]
    with fanfold.open("run", window=32_000) as chat:
        entry = chat.say(pasted)
        sent = chat.request(max_tokens=1_000)
        assert "cut to fit the context window; ref=m1 …]" in sent["messages"][0]["content"]
        assert chat.output("m1").text() == pasted
        look = fanfold.Call("r", "tool_output_cache_grep", '{"ref_id": "m1", "pattern": "19999: "}')
        assert "19999: a line" in chat.recall(look)
        assert chat.why(entry.id).visible
        chat.undo()
        assert chat.view().messages[0].text == pasted


@pytest.mark.parametrize(
    ("output", "asked", "left"),
    [(206, 5_000, (206, 678)), (806, 5_000, (485, 423)), (806, 600, (327, 600))],
    ids=["before what is short", "to half of the room", "not where it fits alone"],
)
def test_a_request_that_alone_is_too_much_is_clipped_first_and_to_half_of_the_room_at_most(
    output: int, asked: int, left: tuple[int, int]
) -> None:
    """Of 1,000 tokens; a clip leaves some room for what it says in its place."""
    with opened(None, budget=fanfold.Budget(window=1_000, reserve=0), filters=()) as chat:
        text = long("out", output - 6)  # what a result is called takes 6
        tell(chat, asks("go"), calls("c1"), gives("c1", text), asks(long("why", asked)))
        before = tuple(row.tokens for row in chat.view().rows[2:])
        chat.request()
        after = tuple(row.tokens for row in chat.view().rows[2:])
    assert (before, after) == ((output, asked), left)


def test_an_output_that_was_clipped_once_more_to_fit_keeps_its_reference() -> None:
    with fanfold.open("run", window=4_000, filters=[]) as chat:
        chat.say("read the log")
        call = fanfold.Call("c1", "bash", "{}")
        chat.add(Message("assistant", (call,)))
        chat.answer(call, HUGE[:100_000])
        assert "context window; ref=o1 …]" in chat.request(max_tokens=100)["messages"][-1]["content"]
        assert chat.output("o1").text() == HUGE[:100_000]


def test_what_contains_the_sign_for_a_reference_is_clipped_as_it_is() -> None:
    with fanfold.open("run", window=1_000) as chat:
        chat.say("a template: {ref} " * 2_000)
        shown = chat.request(max_tokens=100)["messages"][0]["content"]
        assert shown.startswith("a template: {ref} a template")
        assert "context window; ref=m1 …]" in shown


def test_the_same_result_in_a_re_sent_history_fits_too() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    with fanfold.open("run", window=32_000) as chat:
        chat.merge(
            [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": HUGE[:3_000_000]},
            ]
        )
        chat.request(max_tokens=1_000)
        assert chat.output("o1").text() == HUGE[:3_000_000]


def test_a_naive_history_with_it_is_refused_from_then_on() -> None:
    history = [*loop(1), *loop(1)[1:]]
    history[-1] = {**history[-1], "content": HUGE[:2_000_000]}
    with Provider(window=32_000) as provider:
        client = connected(provider)
        for _ in range(2):
            with pytest.raises(openai.BadRequestError):
                client.create(model="gpt-4o", messages=history)
            history.append({"role": "user", "content": "Go on."})
