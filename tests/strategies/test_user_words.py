"""The user's words under the default strategy: what was ruled and asked first stays in view, word for word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold import Budget, Session
from fanfold.core.message import user
from fanfold.replay.needs import rules as counted
from fanfold.strategies.handover.ruling import rules
from fanfold.testing import called, replied, returned
from fanfold.tokens.meter import named as meter_named
from strategies.kinds import RULE, steps

WINDOW = 16_000
ENGLISH = "Every release note must name the customer who reported it, in whatever language that customer writes, {}."
JAPANESE = "{}番目の画面では、利用者が確認するまで登録済みの住所を絶対に変更しないでください。"


def opened(**options: Any) -> Session:
    return fanfold.open("run", budget=Budget(window=WINDOW, reserve=0), filters=(), **options)


def running(chat: Session, count: int, first: int = 0, words: int = 180) -> None:
    """Some steps of a loop with a request before each reply."""
    for body in steps(first, count, words=words):
        if body["role"] == "assistant":
            chat.request()
        chat.add(body)
    chat.request()


def shown(chat: Session) -> str:
    return "\n".join(message.text for message in chat.view().messages)


def tenth(line: str) -> list[str]:
    """So many rules as fit a tenth of the window."""
    meter, found = meter_named("o200k"), list[str]()
    while meter.text("\n".join([*found, line.format(len(found))])) <= WINDOW // 10:
        found.append(line.format(len(found)))
    return found


@pytest.mark.parametrize("line", [ENGLISH, JAPANESE])
def test_rules_that_fit_a_tenth_of_the_window_stay_word_for_word(line: str) -> None:
    ruled = tenth(line)
    with opened(model="gpt-5.2") as chat:
        chat.say("Write the notes.")
        for number, rule in enumerate(ruled):
            chat.say(rule)
            running(chat, 3, 3 * number)
        running(chat, 40, 1_000)
        assert [rule for rule in ruled if rule not in shown(chat)] == []


def test_one_rule_in_a_layer_of_its_own_stays() -> None:
    with opened() as chat:
        chat.say("Write the notes.")
        running(chat, 60)
        chat.say(
            "i don't think we need the watcher, just remove it. "
            + "the workspace is enough for all of it. " * 5
        )
        running(chat, 10, 100)
        chat.say("Go on.")
        running(chat, 60, 200)
        assert "i don't think we need the watcher" in shown(chat)


def test_rules_that_had_to_make_room_come_back_when_there_is_some() -> None:
    with opened() as chat:
        chat.say("Write the notes. " + "The customers are listed below. " * 400)
        chat.say(RULE)
        chat.say("Go on.")
        running(chat, 40)
        assert RULE in shown(chat)
        chat.add(replied("", called("vast", "read", path="all")))
        chat.add(returned("vast", "word " * (WINDOW - 100)))
        chat.request()
        assert RULE not in shown(chat), "outputs that are new come first, and this one fills the window"
        running(chat, 40, 100)
        assert RULE in shown(chat), "the next reduction tells it again"
        assert "Write the notes. The customers are" in shown(chat)


def test_a_first_request_of_just_a_tenth_of_the_window_stays_in_its_place() -> None:
    asked = "Write the notes." + " note" * (WINDOW // 10 - 5)
    with opened(model="gpt-5.2") as chat:
        chat.say(asked)
        chat.say("Go on.")
        running(chat, 60)
        assert chat.view().rows[0].tokens > WINDOW // 10
        assert chat.view().rows[0].messages[0].text == asked


def test_a_vast_request_leaves_the_first_one_and_the_rules_alone() -> None:
    with opened() as chat:
        chat.say("Write the notes.")
        chat.say(RULE)
        chat.say("Go on.")
        running(chat, 60)
        chat.say("What is wrong here? " + "trace " * 2 * WINDOW)
        chat.request()
        assert "Write the notes." in shown(chat)
        assert RULE in shown(chat)
        assert "What is wrong here?" in shown(chat)
        assert chat.view().tokens > WINDOW * 0.6, "and most of the room is for what was asked last"


@pytest.mark.parametrize("left", [260, 320])
def test_rules_come_before_prose_where_little_room_is_left(left: int) -> None:
    ruled = [f"Never touch table t{number} in the shop." for number in range(12)]
    with opened() as chat:
        chat.say("Sort the shop.")
        chat.add(replied("Which?"))
        chat.say("Here is how it is now, in prose. " * 40)
        for rule in ruled:
            chat.add(replied("Noted."))
            chat.say(rule)
        running(chat, 40)
        chat.add(replied("What now?"))
        chat.say("Rewrite this file: " + "line " * ((WINDOW - left) // 2))
        chat.add(replied("", called("w", "write", text="line " * ((WINDOW - left) // 2))))
        chat.add(returned("w", "written"))
        chat.request()
        assert [rule for rule in ruled if rule not in shown(chat)] == []


def test_a_session_that_is_opened_again_still_knows_them(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/run.db"
    with opened(store=store) as chat:
        chat.say("Write the notes. " + "The customers are listed below. " * 400)
        chat.say(RULE)
        chat.say("Go on.")
        running(chat, 100)
        chat.add(replied("", called("vast", "read", path="all")))
        chat.add(returned("vast", "word " * (WINDOW - 100)))
        chat.request()
        assert RULE not in shown(chat)
    with opened(store=store) as chat:
        assert chat._state.log.resumed_at, "only what happened since is at hand"
        running(chat, 40, 200)
        assert RULE in shown(chat)


def test_what_a_person_folded_away_does_not_come_back() -> None:
    with opened() as chat:
        chat.say("Write the notes.")
        chat.add(replied("Yes."))
        chat.say("Never mention Monday.")
        chat.add(replied("I see."))
        rows = chat.view().rows
        chat.fold(tuple(row.id for row in rows[2:4]), "They spoke about days.")
        chat.say("Go on.")
        running(chat, 80)
        assert "Never mention Monday." not in shown(chat)


def test_what_was_erased_does_not_come_back() -> None:
    with opened() as chat:
        chat.say("Write the notes.")
        secret = chat.say("Never tell the code 7319-K.")
        running(chat, 60)
        assert "7319-K" in shown(chat)
        chat.erase(secret.id, "secret")
        running(chat, 60, 100)
        assert "7319-K" not in shown(chat)


@pytest.mark.parametrize(
    "line",
    [
        "Wait until CI is green.",
        "Merge it before 5 pm.",
        "Use max 3 replicas.",
        "Up to 3 replicas.",
        "Use a maximum of 3 replicas.",
        "Not more than two replicas.",
        "Maximum line length is 88.",
        "Keep it under 200 words.",
        "Keep it to 200 words.",
        "Stay under 500 dollars.",
        "The limit is 10 dollars.",
        "Budget: $500.",
        "Answer within an hour.",
        "Refunds may not exceed 10 dollars.",
        "No refunds over 10 dollars.",
        "Be brief. No emojis.",
        "- No new dependencies",
        "You may not touch prod.",
        "Mustn't touch prod.",
        "Dont touch prod.",
        "do  not touch prod",
        "Do\u00a0not touch prod.",
        "Under no circumstances touch prod.",
        "Finish no later than 3 May.",
        "Finish by 5 pm.",
        "Deliver it by Friday.",
        "Submit it by 2026-05-03.",
        "Send it by the 3rd.",
        "It is due by the end of the month.",
        "Due date: 3 May.",
        "Never touch " + ", ".join(f"table t{number}" for number in range(60)),
        "品質ゲートは必須要件です。",
        "上限は5件です。",
        "最大3件",
        "三回まで",
        "金曜日まで",
        "締切は金曜日です。",
        "触るな",
        "テストは消すな。",
        "必要がない限り変更しない。",
        "絵文字は使わないでください",
        "秘密を書いてはいけません。",
    ],
)
def test_what_replay_counts_is_what_a_digest_keeps(line: str) -> None:
    assert counted(user(f"Hello.\n{line}\nFine weather.")) == [line]
    assert list(rules([f"Hello.\n{line}\nFine weather."])) == [line]


@pytest.mark.parametrize(
    "line",
    [
        "Multiply it by 2, sorted by name.",
        "It fell by 20%.",
        "Due to rain it was late.",
        "No, that is wrong.",
        "No errors were encountered.",
        "It may rain, by the way.",
        "It lies under the hood, within the file.",
        "More than 3 files changed.",
        "動かない",
        "最後まで読んだ",
        "非常に重い",
        "そうだな",
    ],
)
def test_a_line_that_merely_tells_something_is_no_rule(line: str) -> None:
    assert list(rules([line])) == []
