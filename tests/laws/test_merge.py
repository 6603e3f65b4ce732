"""merge: the same transcript twice in a row writes nothing the second time."""

import copy
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fanfold
from fanfold import Budget, Session
from fanfold.dialects.anthropic.dialect import AnthropicMessages
from fanfold.stores.echo import echo_bytes, entry_echo
from fanfold.testing import called, replied, returned, said, talk
from fanfold.testing.generators import broken_conversations, conversations
from laws import holds
from laws.world import World


@given(conversations() | broken_conversations(), conversations() | broken_conversations())
def test_the_same_transcript_again_writes_nothing(first: list[Any], then: list[Any]) -> None:
    world = World(budget=Budget(window=900))
    for transcript in (first, [*first, *then], then, first):
        world.merge(transcript)
        world.check()


@given(conversations(), st.integers(0, 60), st.integers(0, 60))
@example([said("Never touch the vendor folder."), {"role": "assistant", "content": ""}], 0, 0)
def test_a_body_that_changed_in_place_is_no_new_conversation(bodies: list[Any], pick: int, cut: int) -> None:
    world = World(budget=Budget(window=900))
    world.merge(bodies)
    world.request()
    path = holds.path_of(world.chat)
    if len(bodies) > 1:
        changed = copy.deepcopy(bodies)
        changed[pick % (len(bodies) - 1)]["content"] = "as of today"
        merged = world.merge(changed)
        assert holds.path_of(world.chat) == path
        assert not merged.forked
        assert world.transcript()[: len(changed)] == changed


def test_thinking_cache_marks_and_null_fields_are_not_what_was_said() -> None:
    with fanfold.open("run", window=1_000) as chat:
        chat.merge([said("Go."), replied("Yes.", reasoning_content="Hm.")])
        head = chat.head
        part = {"type": "text", "text": "Go.", "cache_control": {"type": "ephemeral"}}
        chat.merge([{"role": "user", "content": [part]}, replied("Yes.", refusal=None, audio=None)])
        assert chat.head == head


def test_arguments_written_with_other_spaces_are_the_same_call() -> None:
    with fanfold.open("run", window=1_000) as chat:
        chat.merge([said("Go."), replied(None, called("c1", raw='{"a":1,"b":2}')), returned("c1", "out")])
        again = [said("Go."), replied(None, called("c1", raw='{"a": 1, "b": 2}')), returned("c1", "out")]
        assert chat.merge(again).new == 0


def test_a_changed_last_message_is_a_fork() -> None:
    bodies = talk(2)
    with fanfold.open("run", window=9_000) as chat:
        chat.merge(bodies)
        merged = chat.merge([*bodies[:-1], replied("Not yet.")])
        assert (merged.known, merged.new, merged.forked) == (len(bodies) - 1, 1, True)


def test_what_was_erased_stays_erased_when_a_client_sends_it_again() -> None:
    with fanfold.open("run", window=1_000) as chat:
        chat.merge([said("My password is hunter2."), replied("Noted."), said("Go on.")])
        chat.erase(holds.path_of(chat)[0], "asked for")
        chat.merge([said("My password is hunter2."), replied("Noted."), said("Go on."), replied("Done.")])
        assert "hunter2" not in str(chat.request())
        assert "hunter2" not in str(holds.log_of(chat).tree.entries)


def test_a_client_may_change_its_own_list_afterwards() -> None:
    bodies = [said("Go."), replied("Yes.")]
    with fanfold.open("run", window=1_000) as chat:
        chat.merge(bodies)
        bodies[0]["content"] = "Stop."
        assert chat.request()["messages"][0]["content"] == "Go."


def _asked(value: Any) -> list[Any]:
    """A call in Anthropic's form, where arguments are no text but values."""
    call = {"type": "tool_use", "id": "c1", "name": "run", "input": {"x": [value], "y": "words"}}
    answer = {"type": "tool_result", "tool_use_id": "c1", "content": "out"}
    return [
        said("Go."),
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [answer]},
        {"role": "assistant", "content": "Done."},
    ]


def _merged_by(chat: Session, again: bool, erase: bool, value: Any, other: Any) -> tuple[int, int]:
    """What a merge says of a changed value: after the first one, or of a log read anew; of an erased entry, too."""
    chat.merge(_asked(value))
    if not again:
        chat._state.start_over()
    if erase:
        chat.erase(holds.path_of(chat)[1], "asked for")
    merged = chat.merge(_asked(other))
    return merged.known, merged.replaced


@pytest.mark.parametrize("erase", [False, True], ids=["live", "erased"])
@pytest.mark.parametrize("again", [False, True], ids=["read anew", "sent before"])
@pytest.mark.parametrize(
    ("value", "other", "same"),
    [(1, True, False), (False, 0, False), (1.0, True, False), (1.0, 1, True), (0, -0.0, True), (1, 2, False)],
)
def test_true_is_not_1_and_1_is_1_point_0(
    value: Any, other: Any, same: bool, again: bool, erase: bool
) -> None:
    with fanfold.open("run", window=9_000, dialect="anthropic") as chat:
        assert _merged_by(chat, again, erase, value, other) == ((4, 0) if same else (3, 1))


NUMBERS = [0, 1, True, False, 1.0, 0.0, -0.0, 2**53, 2.0**53, 10**20, 1e20, 1.5, None, "1"]
values = st.recursive(
    st.sampled_from(NUMBERS), lambda inner: st.lists(inner, max_size=2) | st.fixed_dictionaries({"a": inner})
)


def _respelled(value: Any) -> Any:
    """The same value to Python, each number perhaps of another kind."""
    if isinstance(value, list):
        return st.tuples(*map(_respelled, value)).map(list)
    if isinstance(value, dict):
        return st.fixed_dictionaries({key: _respelled(inner) for key, inner in value.items()})
    return st.sampled_from([one for one in NUMBERS if one == value])


@given(values.flatmap(lambda value: st.tuples(st.just(value), _respelled(value))) | st.tuples(values, values))
def test_a_message_is_known_alive_by_the_rule_by_which_it_is_known_erased(both: tuple[Any, Any]) -> None:
    one, other = both
    first, then = (AnthropicMessages().message(_asked(value)[1]) for value in (one, other))
    same = echo_bytes(first) == echo_bytes(then)
    assert same == (entry_echo("above", first) == entry_echo("above", then))
    with fanfold.open("run", window=9_000, dialect="anthropic") as chat:
        assert (_merged_by(chat, True, False, one, other) == (4, 0)) == same
    for again in (False, True):
        with fanfold.open("run", window=9_000, dialect="anthropic") as chat:
            assert (_merged_by(chat, again, True, one, other) == (4, 0)) == same
