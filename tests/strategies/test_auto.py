"""What a session does when it is told nothing: it reduces when that pays, and keeps what is needed again."""

from __future__ import annotations

from typing import Any

import pytest

import fanfold
from builders import asks, long, says, tell
from builders import opened as counted
from fanfold import BadSetting, Budget, Session
from fanfold.core.edit import Decision
from fanfold.core.view import Row
from fanfold.outputs.filters.clip import SIZE, clip_within
from fanfold.strategies.auto import LAYERS, NAMES, REST, Auto, auto
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


@pytest.mark.parametrize("least", [0.3, 0.5, 0.7])
def test_nothing_happens_before_its_share_of_the_room_is_taken(least: float) -> None:
    with fanfold.open("run", window=WINDOW, strategy=auto(rewrite=0, least=least), filters=()) as chat:
        chat.say(GOAL)
        running(chat, 80)
        first = decisions(chat)[0]
        room = chat._state.terms.budget.room
        assert least * room <= first.before < least * room + 900


def test_the_dearer_the_cache_is_to_write_the_later_it_is_broken() -> None:
    before = []
    for rewrite in (0, 2, 11.5, 1_000):
        with fanfold.open(
            "run", window=WINDOW, strategy=auto(rewrite=rewrite, least=0.2), filters=()
        ) as chat:
            chat.say(GOAL)
            running(chat, 60)
            before.append(decisions(chat)[0].before)
    assert before == sorted(before)
    assert before[0] < before[-1]
    assert before[-1] >= 0.85 * WINDOW * 0.9 - 900


def test_a_layer_is_added_behind_those_that_stand() -> None:
    with fanfold.open("run", window=WINDOW, strategy=auto(rewrite=0, least=0.3), filters=()) as chat:
        chat.say(GOAL)
        added, merged, largest = 0, 0, 0
        for number in range(0, 200, 4):
            old = memory(chat)
            running(chat, 4, number)
            new = memory(chat)
            if old and len(new) > len(old) and stand(old, new):
                added += 1
                largest = max(largest, new[-1].tokens)
            merged += len(new) < len(old)
        room = chat._state.terms.budget.room
        assert added >= 3 * merged > 0, "most of the time earlier layers stand while one comes behind them"
        assert largest <= (NAMES + REST) * room / LAYERS + 100, "and it is a small one"
        assert sum(row.tokens for row in memory(chat)) <= (NAMES + REST + 0.1) * room + 200


def stand(old: list[Row], new: list[Row]) -> bool:
    return [row.id for row in new[: len(old)]] == [row.id for row in old]


def test_where_the_target_is_out_of_reach_a_layer_is_added_all_the_same() -> None:
    with opened(system="You fix bugs. " * 2_600) as chat:
        assert chat.view().frame.tokens > chat._state.terms.budget.goal
        chat.say(GOAL)
        added = merged = 0
        for number in range(0, 160, 2):
            old = memory(chat)
            assert max(running(chat, 2, number)) <= chat._state.terms.budget.room
            new = memory(chat)
            if old and new != old:
                added, merged = added + stand(old, new), merged + (not stand(old, new))
        assert added >= 2 * merged > 0


def test_what_was_read_often_goes_sooner_than_what_just_came() -> None:
    before = []
    for small in (0, 8):
        with opened(auto(rewrite=60, least=0.1)) as chat:
            chat.say(GOAL)
            running(chat, small)
            chat.add(replied("", called("big", "list", where="all")))
            chat.add(returned("big", "word " * 3_000))
            running(chat, 40, small)
            before.append(decisions(chat)[0].before)
    assert before[0] + 500 < before[1]


def is_due(chat: Session, rent: int) -> bool:
    """Whether it pays to reduce where that costs as much as reading so many tokens.

    In a room of 10,000 tokens 260 are written anew: a layer of 160, and a tail of 100.
    """
    budget = Budget(window=10_000, reserve=0, cached_from=0)
    return auto(rewrite=rent / 260).due(chat.view(), budget)


def test_it_is_time_when_calls_have_read_again_what_it_costs_to_write_anew() -> None:
    with counted(10_000) as chat:
        tell(chat, asks(long("Read.", 4_100)), says(long("Done.", 10)), asks(long("On.", 90)), says("Done."))
        rent = (4_100 - 100) + (4_200 - 100)  # what stands before each reply, but for the tail
        assert [is_due(chat, rent), is_due(chat, rent + 1)] == [True, False]


def test_what_stands_in_the_memory_or_in_the_tail_is_no_rent() -> None:
    with counted(10_000) as chat:
        ids = tell(chat, asks("go"), asks(long("Read.", 4_100)))
        chat.fold(tuple(ids), long("They read.", 3_000))
        tell(chat, says(long("Done.", 10)), asks(long("On.", 60)), says(long("Done.", 30)))
        tell(chat, asks(long("Read.", 1_000)), says("Done."))
        rent = 1_100 - 100  # before the last reply; the first two are within the tail
        assert [is_due(chat, rent), is_due(chat, rent + 1)] == [True, False]


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
        running(chat, 60)
        assert memory(chat)
        text = "\n".join(message.text for row in chat.view().rows for message in row.messages)
        assert "https://tickets.example/q/HAT-99123" in text
        assert "/srv/tickets/open/hat-99123.json" in text


def test_one_request_that_fits_is_left_alone() -> None:
    bodies = [said(GOAL), *steps(0, 22, words=140)]
    with opened(auto(rewrite=0)) as chat:
        chat.merge(bodies)
        chat.request()
        assert decisions(chat), "a session goes on, so it pays to reduce"
    assert fanfold.fit(bodies, window=WINDOW) == bodies


@pytest.mark.parametrize("wrong", [{"rewrite": -1}, {"least": 0}, {"least": 0.9, "most": 0.5}, {"most": 2}])
def test_wrong_settings(wrong: dict[str, float]) -> None:
    with pytest.raises(BadSetting, match="0 < least ≤ most ≤ 1"):
        auto(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("room", "size"), [(2_000, 4_096), (32_000, 25_600), (100_000, SIZE)])
def test_outputs_are_clipped_by_the_window(room: int, size: int) -> None:
    clip = clip_within(room)
    assert clip.size == size
    assert clip("x\n" * (size // 2), "run", {}) is None
    shown = clip("line\n" * size, "run", {})
    assert shown is not None
    assert len(shown) <= (size if size == SIZE else max(size // 8, 800))


@pytest.mark.parametrize("share", [0.6, 0.7])
def test_a_large_frame_does_not_make_it_fold_at_every_request(share: float) -> None:
    with fanfold.open("framed", window=8_000, system="word " * int(8_000 * share)) as chat:
        chat.say(GOAL)
        changed = 0
        for number in range(80):
            before = len(decisions(chat))
            running(chat, 1, number)
            changed += len(decisions(chat)) != before
        assert 10 < changed < 40


def test_what_the_provider_forgot_is_folded_at_once() -> None:
    edits = []
    for pause in (0.0, 3_600.0):
        now = 1_000.0
        with opened(auto(rewrite=10_000), clock=lambda: now) as chat:  # noqa: B023
            chat.say(GOAL)
            running(chat, 25)
            assert decisions(chat) == []
            now += pause
            chat.request()
            edits.append(len(decisions(chat)))
    assert edits == [0, 1]


@pytest.mark.parametrize(("model", "least"), [("claude-opus-4-5", 4_096), ("claude-sonnet-4-5", 1_024)])
def test_the_memory_is_long_enough_for_the_provider_to_cache_it(model: str, least: int) -> None:
    budget = fanfold.Budget(window=16_000, reserve=0)
    with fanfold.open("cached", model=model, dialect="openai.chat", budget=budget, recall=True) as chat:
        chat.say(GOAL)
        running(chat, 400)
        assert chat._state.terms.budget.cached_from == least
        lasting = chat.view().frame.tokens + sum(row.tokens for row in memory(chat))
        assert lasting > least
