"""prefix and again: between two edits a request only grows at its end; asked twice, it is the same."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import Budget
from fanfold.core.message import assistant
from fanfold.testing import called, replied, returned, said, talk
from fanfold.testing.generators import conversations, steps, texts
from fanfold.testing.provider.cache import chain
from fanfold.testing.provider.paths import APIS
from fanfold.testing.provider.tokens import quarter
from laws.world import World


@given(conversations(), st.lists(texts(), min_size=1, max_size=3), steps(90))
def test_a_request_begins_with_the_one_before(bodies: list[Any], words: list[str], step: list[Any]) -> None:
    with fanfold.open("run", window=10**6, system="Be brief.") as chat:
        chat.merge(bodies)
        before = chat.request()["messages"]
        for text in words:
            chat.say(text)
            chat.note("state", text)
            for body in step:
                chat.add(body)
            after = chat.request()["messages"]
            assert after[: len(before)] == before
            before = after
            step = []


def test_a_context_is_not_part_of_the_prefix() -> None:
    with fanfold.open("run", window=1_000) as chat:
        chat.merge([said("Go."), replied(None, called("c1")), returned("c1", "out")])
        assert chat.request(context="It rains.")["messages"][-1]["content"] == "out\n\nIt rains."
        assert chat.request()["messages"][-1]["content"] == "out"


def test_after_a_reduction_many_requests_only_grow() -> None:
    changes = 0
    with fanfold.open("run", window=2_000) as chat:
        before: list[Any] = []
        for body in talk(30, 1):
            chat.add(body)
            if body["role"] == "assistant":
                continue
            if chat._state.open_calls:
                continue
            after = chat.request()["messages"]
            changes += after[: len(before)] != before
            before = after
    assert 1 < changes <= 9


@given(conversations(most=600), st.integers(150, 2_000), st.none() | texts(most=40))
def test_asked_twice_a_request_is_the_same_and_nothing_is_written(
    bodies: list[Any], window: int, context: str | None
) -> None:
    world = World(budget=Budget(window=window))
    world.merge(bodies)
    world.request(context=context)


USES = {
    "openai.chat": replied(None, called("c1")),
    "openai.responses": {"type": "function_call", "call_id": "c1", "name": "run", "arguments": "{}"},
    "anthropic": {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "run", "input": {}}],
    },
    "gemini": {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "run", "args": {}}}]},
}
APIS_OF = {"openai.chat": "chat", "openai.responses": "responses"}


@pytest.mark.parametrize("dialect", USES)
def test_asked_twice_after_an_edit_at_the_same_place_a_request_is_the_same(dialect: str) -> None:
    """The marks of the cache too: they stand where the last request ended that ended elsewhere."""
    with fanfold.open("run", window=4_000, dialect=dialect) as chat:
        for words in ("Well?", "And?"):
            chat.say(words)
            chat.request()
            chat.add(assistant("Yes."))
        chat.say("On.")
        chat.request()
        chat.note("state", "It rains.")
        once = chat.request()
        assert chat.request() == once
        assert chat.request() == once


@pytest.mark.parametrize("dialect", USES)
@pytest.mark.parametrize("reopened", [False, True])
def test_a_note_behind_results_that_were_sent_changes_nothing_before_it(
    dialect: str, reopened: bool, tmp_path: Path
) -> None:
    told: Any = {"dialect": dialect, "window": 90_000, "store": f"sqlite:{tmp_path / 'notes.db'}"}
    params: Any = {"max_tokens": 900, **({"generationConfig": {}} if dialect == "gemini" else {})}
    with fanfold.open("run", **told) as chat:
        chat.say("Go.")
        chat.add(USES[dialect])
        chat.answer("c1", "out")
        before = read_by_provider(dialect, chat.request(**params))
        chat.note("state", "red")
        after = read_by_provider(dialect, chat.request(**params))
        assert after[: len(before)] == before
    if reopened:
        with fanfold.open("run", **told) as chat:
            assert read_by_provider(dialect, chat.request(**params)) == after


THOUGHT = {"type": "thinking", "thinking": "hmm", "signature": "c2ln"}
THOUGHTFUL = {
    "openai.chat": {**USES["openai.chat"], "reasoning_content": "hmm"},
    "openai.responses": {"type": "reasoning", "id": "rs_1", "summary": []},
    "anthropic": {"role": "assistant", "content": [THOUGHT, *USES["anthropic"]["content"]]},
    "gemini": {"role": "model", "parts": [{"text": "hmm", "thought": True}, *USES["gemini"]["parts"]]},
}
BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 1_024}}


@pytest.mark.parametrize(
    ("dialect", "params"),
    [
        *((dialect, {}) for dialect in USES),
        ("openai.chat", {"thinking": {"type": "disabled"}}),
        ("openai.responses", {"store": False}),
        ("anthropic", BUDGET),
        ("anthropic", {**BUDGET, "max_tokens": 100}),
    ],
)
def test_thinking_of_a_loop_is_sent_or_left_out_for_good(dialect: str, params: dict[str, Any]) -> None:
    """What becomes of it depends on the parameters, not on the turns that follow."""
    params = {"max_tokens": 2_000, **params, **({"generationConfig": {}} if dialect == "gemini" else {})}
    before: list[str] = []
    with fanfold.open("run", dialect=dialect, window=50_000) as chat:
        for number in range(3):
            chat.say("Fix it.")
            chat.add(THOUGHTFUL[dialect])
            if dialect == "openai.responses":
                chat.add(USES[dialect])
            chat.answer("c1", "out")
            for words in (None, assistant("Done.")):
                if words:
                    chat.add(words)
                    chat.say(f"Next, {number}.")
                after = read_by_provider(dialect, chat.request(**params))
                assert after[: len(before)] == before
                before = after


def read_by_provider(dialect: str, request: dict[str, Any]) -> list[str]:
    """The blocks of a prompt, each with all that stands before it."""
    return list(chain(APIS[APIS_OF.get(dialect, dialect)].blocks(request, quarter)))


def test_a_note_behind_results_that_were_not_sent_yet_goes_into_the_last_of_them() -> None:
    with fanfold.open("run", dialect="anthropic", window=90_000) as chat:
        chat.say("Go.")
        chat.add(USES["anthropic"])
        chat.answer("c1", "out")
        chat.note("state", "red")
        [block] = chat.request(max_tokens=900)["messages"][-1]["content"]
    assert (block["type"], block["content"]) == ("tool_result", "out\n\n[note: state]\nred")
