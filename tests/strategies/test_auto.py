"""What a session does when it is told nothing: it reduces when that pays, and keeps what is needed again."""

from __future__ import annotations

from typing import Any

import pytest

import fanfold
from fanfold import BadSetting, Elide, Outcome, Session
from fanfold.core.budget import Budget
from fanfold.core.edit import Decision
from fanfold.core.view import Row
from fanfold.outputs.filters.clip import SIZE, clip_within
from fanfold.strategies.auto import _END, _START, Auto, _at, auto
from fanfold.strategies.handover.tongue import ENGLISH
from fanfold.testing import called, replied, returned, said
from strategies.kinds import GOAL, RULE, steps

WINDOW = 16_000


def opened(strategy: Auto | None = None, **options: Any) -> Session:
    return fanfold.open("run", window=WINDOW, strategy=strategy, filters=(), **options)


def running(chat: Session, count: int, first: int = 0) -> list[int]:
    """Some steps of a loop with a request before each reply; the tokens of every request."""
    sent = []
    for body in steps(first, count, words=180):
        if body["role"] == "assistant":
            chat.request()
            sent.append(chat.view().tokens)
        chat.add(body)
    return sent


def decisions(chat: Session) -> list[Decision]:
    return list(chat._state.log.decisions.values())


def memory(chat: Session) -> list[Row]:
    return [row for row in chat.view().rows if row.kind == "fold"]


def ends(chat: Session) -> tuple[int, int]:
    """Tokens before and after the first reduction."""
    made = decisions(chat)
    return made[0].before, next(one for one in made if one.before <= one.after or one is made[-1]).after


@pytest.mark.parametrize(
    ("thrift", "start", "end"), [(0.0, 0.85, 0.4), (0.5, 0.635, 0.31), (1.0, 0.378, 0.12)]
)
def test_thrift_says_when_a_reduction_starts_and_how_far_it_goes(
    thrift: float, start: float, end: float
) -> None:
    outcomes: list[Outcome] = []
    hooks = fanfold.Hooks(after_edit=outcomes.append)
    with opened(auto(thrift=thrift), hooks=hooks) as chat:
        chat.say(GOAL)
        running(chat, 80)
        room = chat._state.terms.budget.room
        first = outcomes[0]
        assert start * room <= first.before < start * room + 900
        assert end * room - 900 < first.after <= end * room + 50, "and the view fills its target"


def test_outputs_give_way_before_words_and_calls() -> None:
    with opened() as chat:
        chat.say(GOAL)
        running(chat, 34)
        assert decisions(chat)
        assert {type(one.edit) for one in decisions(chat)} == {Elide}, "no word was folded yet"
        rows = chat.view().rows
        assert all(any(f"Step {number}." in row.messages[0].text for row in rows) for number in range(34))
        whole = [row for row in rows if row.results and row.was is None]
        assert whole[-1] is rows[-1]
        tokens = sum(row.tokens for row in whole)
        assert tokens > 0.2 * chat._state.terms.budget.room, "the newest stay whole"


def test_a_layer_is_added_behind_those_that_stand() -> None:
    with opened() as chat:
        chat.say(GOAL)
        added = merged = 0
        for number in range(0, 400, 4):
            old = memory(chat)
            running(chat, 4, number)
            new = memory(chat)
            added += bool(old) and len(new) > len(old) and stand(old, new)
            merged += len(new) < len(old)
        assert added >= merged > 0, "earlier layers stand while one comes behind them"
        goal = chat._state.terms.budget.goal
        assert sum(row.tokens for row in memory(chat)) <= 0.85 * goal, (
            "most of what a small room has is told in brief"
        )


def test_only_the_first_of_some_layers_says_what_a_hand_over_is() -> None:
    with opened() as chat:
        chat.say(GOAL)
        number = 0
        while len(memory(chat)) < 2:
            running(chat, 4, number)
            number += 4
        first, *others = ["\n".join(message.text for message in row.messages) for row in memory(chat)]
        assert ENGLISH.opening in first
        assert not any(ENGLISH.opening in text for text in others)


def stand(old: list[Row], new: list[Row]) -> bool:
    return [row.id for row in new[: len(old)]] == [row.id for row in old]


def test_layers_stand_in_the_order_of_what_they_tell() -> None:
    with opened() as chat:
        for number in range(12):
            chat.say(f"Now part {number}, please.")
            running(chat, 12, 12 * number)
        text = "\n".join(message.text for row in memory(chat) for message in row.messages)
        asked = [
            text.index(f"Now part {number}, please.") for number in range(12) if f"part {number}, " in text
        ]
        assert len(asked) > 6
        assert asked == sorted(asked)


def test_the_first_request_the_rules_and_what_came_last_stay() -> None:
    with opened() as chat:
        chat.say(GOAL)
        for number in range(12):
            chat.say(f"Always log to run{number}.log.")
            sent = running(chat, 8, number * 8)
            assert max(sent) <= chat._state.terms.budget.room
        request = chat.request()
        text = "\n".join(str(message.get("content")) for message in request["messages"])
        assert GOAL in text
        assert RULE in text
        assert all(f"Always log to run{number}.log." in text for number in range(12))
        assert chat.view().rows[-1].kind == "entry"


def test_names_that_nobody_used_yet_are_still_in_view() -> None:
    with opened() as chat:
        chat.say("Find the ticket.")
        chat.add(replied("", called("c", "list", where="all")))
        chat.add(
            returned("c", "open: https://tickets.example/q/HAT-99123 in /srv/tickets/open/hat-99123.json")
        )
        running(chat, 120)
        assert memory(chat)
        text = "\n".join(message.text for row in chat.view().rows for message in row.messages)
        assert "https://tickets.example/q/HAT-99123" in text
        assert "/srv/tickets/open/hat-99123.json" in text


def test_one_request_that_fits_is_left_alone() -> None:
    bodies = [said(GOAL), *steps(0, 22, words=140)]
    with opened(auto(thrift=1)) as chat:
        chat.merge(bodies)
        chat.request()
        assert decisions(chat), "a session goes on, so it pays to reduce"
    assert fanfold.fit(bodies, window=WINDOW) == bodies


@pytest.mark.parametrize("thrift", [-0.1, 1.1, float("nan")])
def test_a_thrift_that_is_none(thrift: float) -> None:
    with pytest.raises(BadSetting, match=r"from 0 .* to 1"):
        auto(thrift=thrift)


def test_a_kind_of_tool_that_nobody_knows() -> None:
    with pytest.raises(BadSetting, match=r"run_sql.*a kind is one of shell, read"):
        auto(tools={"run_sql": "database"})


@pytest.mark.parametrize(("room", "size"), [(2_000, 4_096), (32_000, 25_600), (100_000, SIZE)])
def test_outputs_are_clipped_by_the_window(room: int, size: int) -> None:
    clip = clip_within(room)
    assert clip.size == size
    assert clip("x\n" * (size // 2), "run", {}) is None
    shown = clip("line\n" * size, "run", {})
    assert shown is not None
    assert 0.9 * size <= len(shown) <= size


@pytest.mark.parametrize("share", [0.6, 0.7])
def test_a_large_frame_does_not_make_it_fold_at_every_request(share: float) -> None:
    with fanfold.open("framed", window=8_000, system="word " * int(8_000 * share)) as chat:
        chat.say(GOAL)
        changed = 0
        for number in range(80):
            before = len(decisions(chat))
            running(chat, 1, number)
            changed += len(decisions(chat)) != before
        assert 10 < changed < 48, "there is room for two steps between reductions"


def test_what_the_provider_forgot_is_folded_at_once() -> None:
    edits = []
    for pause in (0.0, 3_600.0):
        now = 1_000.0
        with opened(auto(thrift=0), clock=lambda: now) as chat:  # noqa: B023
            chat.say(GOAL)
            running(chat, 25)
            assert decisions(chat) == []
            now += pause
            chat.request()
            edits.append(len(decisions(chat)))
    assert edits[0] == 0 < edits[1]


def test_a_large_frame_leaves_the_conversation_its_share() -> None:
    with fanfold.open("framed", window=32_000, system="word " * 12_000) as chat:
        chat.say(GOAL)
        running(chat, 40)
        chat.add(replied("", called("large", "read", path="all")))
        chat.add(returned("large", "word " * 9_000))
        chat.request()
        running(chat, 12, 40)
        assert decisions(chat)
        rest = chat.view().tokens - chat.view().frame.tokens
        assert rest > 0.3 * (chat._state.terms.budget.room - chat.view().frame.tokens)


def shown_of_a_long_output(thrift: float) -> int:
    with fanfold.open("run", window=32_000, strategy=auto(thrift=thrift)) as chat:
        chat.say(GOAL)
        chat.add(replied("", called("c1", "bash")))
        chat.add(returned("c1", "a line of it\n" * 4_000))
        return len(chat.view().rows[-1].messages[0].results[0].text)


def test_with_much_thrift_less_is_shown_of_a_long_output() -> None:
    usual, half, most = (shown_of_a_long_output(thrift) for thrift in (0.1, 0.5, 1.0))
    assert usual == half > 20_000
    assert 1_000 < most < usual / 8


def test_with_much_thrift_hand_overs_are_shorter() -> None:
    sizes = []
    for thrift in (0.5, 1.0):
        with opened(auto(thrift=thrift)) as chat:
            chat.say(GOAL)
            running(chat, 200)
            sizes.append(sum(row.tokens for row in memory(chat)))
    assert sizes[1] < 0.85 * sizes[0]


def test_a_thrifty_session_waits_until_enough_can_go() -> None:
    with opened(auto(thrift=1)) as chat:
        chat.say(GOAL)
        changed = anew = 0
        for number in range(120):
            before, old = len(decisions(chat)), memory(chat)
            running(chat, 1, number)
            chat.add(replied("", called(f"large{number}", "read", path=f"part {number}")))
            chat.add(returned(f"large{number}", f"word {number} " * 900))
            chat.request()
            changed += len(decisions(chat)) != before
            anew += not stand(old, memory(chat))
        assert changed < 80
        assert anew < 12, "what is new is no reason to fold anew all that was told in brief"


def test_words_that_a_client_put_in_do_not_make_layers_be_written_anew() -> None:
    with opened() as chat:
        chat.say(GOAL)
        added = 0
        for number in range(0, 200, 4):
            chat.say("[Request interrupted by user]")
            old = memory(chat)
            running(chat, 4, number)
            added += bool(old) and len(memory(chat)) > len(old) and stand(old, memory(chat))
        assert added > 3


@pytest.mark.parametrize("thrift", [0.01, 0.3, 0.5, 0.7, 1.0])
@pytest.mark.parametrize("room", [4_000, 16_500, 34_000, 40_000, 250_000])
def test_the_larger_the_frame_the_later_a_reduction_starts_and_ends(room: int, thrift: float) -> None:
    """So a view that is short enough without any frame needs no closer look."""
    budget = Budget(window=room, reserve=0)
    frames = [0, *range(1, budget.room, 37), budget.room]
    for shares in (_START, _END):
        places = [_at(shares, thrift, frame, budget) for frame in frames]
        assert places == sorted(places)
