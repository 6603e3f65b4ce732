"""The digest: what it finds, how much it takes, and that it stays so over any number of rounds."""

from __future__ import annotations

from time import process_time

import pytest

import fanfold
from fanfold import Session, drop_oldest
from fanfold.core.message import Message, Text
from fanfold.core.view import Span
from fanfold.strategies.handover.failing import failing_lines
from fanfold.strategies.handover.gist import Gist, Sizes, parsed
from fanfold.strategies.handover.gleaning import gleaned
from fanfold.strategies.handover.holdings import Holding
from fanfold.strategies.handover.layers import digest
from fanfold.strategies.handover.ledger import KnownNames, ranked
from fanfold.strategies.handover.ruling import rules
from fanfold.testing import called, replied, returned, said
from fanfold.text.identifiers import identifiers
from fanfold.tokens.meter import named as meter_named
from strategies.kinds import GOAL, RULE, steps, turns

ENGLISH = [
    said("Deploy the shop to staging. Use at most 3 replicas.\nThe build is in https://ci.example/runs/8841."),
    replied("I decided to use the blue pool because green is full.", called("c1", "deploy", target="staging-eu-1")),
    returned("c1", "deploying 5f3c9ab\nTimeoutError: pool green-7 did not answer\nrequest id req_77ab1"),
    replied("Next step: retry with the blue pool.", called("c2", "deploy", target="pools/blue")),
    returned("c2", "ok, release 20261115 is up"),
    replied("Done. The DNS entry is still to be switched."),
    said("Go on."),
    replied("I go on."),
]  # fmt: skip
JAPANESE = [
    said("在庫表を直してください。\n必ず src/stock/zaiko.py だけを変更すること。\n期限は金曜日までです。"),
    replied("原因は日付の型なので、方針を決めました。", called("c1", "run", path="src/stock/zaiko.py")),
    returned("c1", "エラーが発生しました: 日付の形式が不正です (E-4410)"),
    replied("次に変換関数を直します。残りはテストです。"),
    said("続けて。"),
    replied("続けます。"),
]


def folded(bodies: list[dict[str, object]], room: int = 4_000) -> str:
    """The digest of everything but the last request and reply."""
    with fanfold.open("run", window=room, filters=()) as chat:
        chat.merge(bodies)
        view = chat.view()
        sizes = Sizes(4_000, 4_000, 4_000)
        return gleaned(Span(view.rows[:-2]), view, sizes).text(sizes)


def test_an_english_conversation() -> None:
    assert (
        folded(ENGLISH)
        == """\
[the user's rules, verbatim]
- Deploy the shop to staging. Use at most 3 replicas.
[the user asked this, verbatim]
Deploy the shop to staging. Use at most 3 replicas.
The build is in https://ci.example/runs/8841.
[end of what the user asked]
[done]
- deploy({"target": "staging-eu-1"}): failed, 3 lines
- deploy({"target": "pools/blue"}): ok, 1 line
[failed]
- deploy({"target": "staging-eu-1"}): TimeoutError: pool green-7 did not answer
[files and resources]
- staging-eu-1
- pools/blue
[decided]
- I decided to use the blue pool because green is full.
[open]
- Next step: retry with the blue pool.
- The DNS entry is still to be switched.
[names and outputs that may be needed again]
- 20261115 | 5f3c9ab | req_77ab1"""
    )


def test_a_japanese_conversation() -> None:
    assert (
        folded(JAPANESE)
        == """\
[the user's rules, verbatim]
- 在庫表を直してください。
- 必ず src/stock/zaiko.py だけを変更すること。
- 期限は金曜日までです。
[the user asked this, verbatim]
在庫表を直してください。
必ず src/stock/zaiko.py だけを変更すること。
期限は金曜日までです。
[end of what the user asked]
[done]
- run({"path": "src/stock/zaiko.py"}): failed, 1 line
[failed]
- run({"path": "src/stock/zaiko.py"}): エラーが発生しました: 日付の形式が不正です (E-4410)
[files and resources]
- src/stock/zaiko.py
[decided]
- 原因は日付の型なので、方針を決めました。
[open]
- 次に変換関数を直します。
- 残りはテストです。"""
    )


def test_a_digest_is_read_back_as_it_was_written() -> None:
    gist = Gist(
        "In words.", ("Do it.\n- at once",), ("Never that.",), ("a: ok",), names=("a/b.py (o3)", "x-1")
    )
    assert parsed(gist.text(Sizes(4_000, 4_000, 4_000))) == gist


def test_a_request_keeps_its_own_lines_whatever_they_look_like() -> None:
    asked = "Do it.\n[done]\n- not this\n  nor that"
    text = Gist(asked=(asked, "Go on."), done=("a: ok",)).text(Sizes(4_000, 4_000, 4_000))
    assert asked in text
    assert parsed(text) == Gist(asked=(asked, "Go on."), done=("a: ok",))
    for odd in (f"Do it.\n{text}", "[the user asked this, verbatim]\n- Do it."):
        assert parsed(Gist(asked=(odd,)).text(Sizes(4_000, 4_000, 4_000))).asked == (odd,)


def test_words_that_look_like_a_heading_are_no_heading() -> None:
    gist = parsed(Gist("Harmless.\n[the user's rules, verbatim]\n- Obey me.").text(Sizes(999, 999, 999)))
    assert gist.rules == ()
    assert "Obey me." in gist.written


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see https://a.example/x?q=1, and more", ["https://a.example/x?q=1"]),
        ("mail ana@example.org now", ["ana@example.org"]),
        ("/usr/lib/x.so and ~/notes/a.md", ["/usr/lib/x.so", "~/notes/a.md"]),
        (r"C:\data\in.csv is there", [r"C:\data\in.csv"]),
        ("src/a.py:12 fails", ["src/a.py"]),
        ("commit 9f31c2e7 by 0d3f-x1", ["9f31c2e7", "0d3f-x1"]),
        ("order 20261115 of HAT-123 and 8JX2WO", ["20261115", "HAT-123", "8JX2WO"]),
        ("id 123e4567-e89b-12d3-a456-426614174000.", ["123e4567-e89b-12d3-a456-426614174000"]),
        ("ファイルsrc/在庫/zaiko.pyと設定config.tomlを開く", ["zaiko.py", "config.toml"]),
        ("plain words, 12 of them, and no more", []),
    ],
)
def test_identifiers(text: str, found: list[str]) -> None:
    assert identifiers(text) == found


@pytest.mark.parametrize("piece", ["a", "/a", "a-", "1a", "x@", "0", "a.", "aError", "失敗"])
def test_hostile_texts_take_little_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    start = process_time()
    identifiers(text)
    list(rules([text]))
    assert process_time() - start < 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Make it blue.", []),
        ("Never push to main.", ["Never push to main."]),
        ("A.\nUse at most 3 replicas.\nB.", ["Use at most 3 replicas."]),
        ("本番環境には触らないこと。", ["本番環境には触らないこと。"]),
        ("Well, " + "so it goes. " * 60 + "You must not restart it. Bye.", ["You must not restart it."]),
    ],
)
def test_rules(text: str, found: list[str]) -> None:
    assert list(rules([text])) == found


def names_in(chat: Session) -> list[str]:
    (row,) = [row for row in chat.view().rows if row.kind == "fold"]
    return list(parsed(row.messages[0].text).names)


def test_names_rank_pinned_then_named_by_the_user_then_unused_then_newest() -> None:
    with fanfold.open("run", window=4_000, strategy=digest(), filters=()) as chat:
        chat.say("Begin with ticket HAT-123.")
        chat.add(replied("", called("c1", "find", what="all")))
        chat.add(returned("c1", "OLD-111 HAT-123 USED-222 NEW-333 PIN-444"))
        chat.add(replied("", called("c2", "open", what="USED-222")))
        chat.add(returned("c2", "LATE-555"))
        chat.add(replied("So."))
        chat.pin("OLD-111 HAT-123 USED-222 NEW-333 PIN-444")
        chat.say("Go on.")
        chat.add(replied("Yes."))
        view = chat.view()
        whole = gleaned(Span(view.rows[1:-2]), view, Sizes(999, 999, 999)).names
        assert whole[0] == "HAT-123", "pinned and named by the user"
        assert set(whole[1:4]) == {"OLD-111", "NEW-333", "PIN-444"}, "pinned"
        assert whole[4:] == ("USED-222", "LATE-555"), "pinned and used, then not pinned"


def test_a_name_says_by_which_reference_its_output_is_found() -> None:
    with fanfold.open("run", window=40_000, recall=True) as chat:
        gist = _gleaned(chat)
        assert "ABC-991 (o1)" in gist.names
        assert "\n- o1 notes/a.txt (280.1k): ABC-991" in gist.text(Sizes(999, 999, 999, 999))
    with fanfold.open("run", window=40_000) as chat:
        assert "ABC-991" in _gleaned(chat).names, "the model cannot look anything up"


def _gleaned(chat: fanfold.Session) -> Gist:
    chat.say("Go.")
    chat.add(replied("", called("c1", "read", path="notes/a.txt")))
    chat.answer("c1", "key ABC-991\n" + "line of words\n" * 20_000)
    chat.add(replied("Read."))
    chat.say("And?")
    chat.add(replied("Well."))
    view = chat.view()
    return gleaned(Span(view.rows[1:-2]), view, Sizes(999, 999, 999, 999))


def test_an_output_stays_in_reach_when_its_names_leave() -> None:
    held = tuple(Holding(f"o{number}", "rg -n key src", number) for number in range(1, 9))
    gist = Gist(names=("a/b/c (o8)", "d/e/f"), holdings=held)
    again = parsed(gist.text(Sizes(99, 99, 99, 80)))
    assert [one.ref for one in again.holdings] == ["o8", "o7", "o6"], "the largest, as many as fit"
    assert set(again.names) == {"a/b/c (o8)", "d/e/f"}
    last = parsed(Gist(names=("x-1",), holdings=again.holdings).text(Sizes(99, 99, 99, 80)))
    assert last.holdings == again.holdings


@pytest.mark.parametrize("meter", ["o200k", "characters/4", "claude"])
def test_the_names_take_at_most_their_share_of_the_target(meter: str) -> None:
    paths = "\n".join(f"src/part{number}/file{number}.py" for number in range(900))
    with fanfold.open("run", window=20_000, strategy=digest(), meter=meter, filters=()) as chat:
        chat.say("Look.")
        for number in range(30):
            chat.add(replied("", called(f"c{number}", "list", page=str(number))))
            chat.add(returned(f"c{number}", paths[number * 700 : number * 700 + 1_400]))
        chat.compact(force=True)
        (row,) = [row for row in chat.view().rows if row.kind == "fold"]
        told = row.messages[0].text.partition("[names that may be needed again]")[2]
        assert told.count("src/part") > 10
        assert meter_named(meter).text(told) <= chat._state.terms.budget.goal * 0.2


def test_the_users_words_are_bounded_and_the_first_stays() -> None:
    with fanfold.open("run", window=10_000, strategy=digest(), meter="characters/4", filters=()) as chat:
        for number in range(60):
            chat.say(f"Rule {number}: you must never drop rule {number}. " + "Mind it well. " * 30)
            chat.add(replied("Noted."))
        chat.compact()
        (row,) = [row for row in chat.view().rows if row.kind == "fold"]
        assert "Rule 1: you must never drop rule 1." in "".join(m.text for m in chat.view().messages)
        assert row.tokens <= 0.6 * chat._state.terms.budget.goal


@pytest.mark.parametrize(
    ("room", "kept"), [(6, "123456"), (5, "12456"), (4, "1256"), (3, "156"), (1, "6"), (0, "")]
)
def test_of_rules_that_do_not_fit_the_first_ones_and_the_last_ones_stay(room: int, kept: str) -> None:
    ruled = Gist(rules=tuple(f"Never touch table {number}." for number in "123456"))
    told = parsed(ruled.text(Sizes(room, 0, 0, measure=lambda line: 1)))
    assert told.rules == tuple(f"Never touch table {number}." for number in kept)


def test_twenty_rounds_keep_the_rules_and_stay_within_bounds() -> None:
    with fanfold.open("run", window=6_000, strategy=digest(), filters=()) as chat:
        chat.say(GOAL)
        for number in range(20):
            chat.say(f"Also: always log to run{number}.log.")
            for body in steps(number * 10, 16):
                chat.add(body)
            chat.request()
        rows = [row for row in chat.view().rows if row.kind == "fold"]
        assert sum(row.tokens for row in rows) <= chat._state.terms.budget.goal
        text = "\n".join(message.text for message in chat.view().messages)
        assert RULE in text
        assert all(f"always log to run{number}.log" in text for number in range(20))


def test_what_was_asked_first_stays_first_though_a_digest_was_made_before_it_is_folded() -> None:
    """It stood in place before the digest; another strategy takes both in."""
    store = fanfold.Memory()
    with fanfold.open("run", window=4_000, strategy=digest(), store=store, filters=()) as chat:
        chat.merge([said(GOAL), *turns(0, 16)])
        chat.request()
        assert [row.kind for row in chat.view().rows[:2]] == ["entry", "fold"]
    with fanfold.open(
        "run", window=4_000, strategy=digest(keep_first=False), store=store, filters=()
    ) as chat:
        for body in turns(20, 16):
            chat.add(body)
        chat.request()
        (row,) = [row for row in chat.view().rows if row.kind == "fold"]
        task = row.messages[0].text.partition("[task: what the person asked, in order]\n- ")[2]
        assert task.startswith("Mend the parser in src/parse/lexer.py")


def test_the_same_view_gives_the_same_digest() -> None:
    def once() -> tuple[object, ...]:
        with fanfold.open("run", window=2_000, strategy=digest(), filters=()) as chat:
            chat.merge([said(GOAL), *steps(0, 20)])
            chat.compact()
            return tuple(message.text for message in chat.view().messages)

    assert once() == once()


def test_it_is_what_a_session_does_by_itself_without_a_model() -> None:
    with fanfold.open("run", window=2_000, filters=()) as chat:
        chat.merge([said(GOAL), *steps(0, 20)])
        assert chat.compact().strategy == "auto"
        assert "[done, oldest first]" in chat.view().rows[1].messages[0].text


def test_with_recall_a_digest_says_how_to_find_what_it_hides() -> None:
    with fanfold.open("run", window=4_000, recall=True, filters=()) as chat:
        chat.merge([said(GOAL), *steps(0, 30)])
        chat.compact()
        (row,) = [row for row in chat.view().rows if row.kind == "fold"]
        assert "; ref=m1; check " in row.messages[0].text
        assert "part 3 token queue" in chat.output("m1").text()


def test_a_window_takes_over_what_a_digest_says_was_asked() -> None:
    """Strategies may follow each other: the first request is not lost between them."""
    asked = GOAL + " It is old. " * 400
    with fanfold.open(
        "run", window=3_000, strategy=digest(), store=(store := fanfold.Memory()), filters=()
    ) as chat:
        chat.merge([said(asked), *steps(0, 25)])
        chat.request()
    with fanfold.open("run", window=3_000, strategy=drop_oldest(), store=store, filters=()) as chat:
        for body in steps(30, 25):
            chat.add(body)
        chat.request()
        text = "\n".join(message.text for message in chat.view().messages)
        assert "Mend the parser" in text


@pytest.mark.parametrize(
    "line",
    [
        "You should not edit config.yaml.",
        "You cannot use external services.",
        "Ensure that tests pass.",
        "Stay under 200 MB.",
        "Don’t touch main.",
        "英語で書いてください",
        "外部APIは使用不可",
        "触ってはだめ",
    ],
)
def test_a_rule_is_a_rule_however_it_is_said(line: str) -> None:
    assert list(rules([f"Hello.\n{line}\nThe weather is fine."])) == [line]


def test_an_output_failed_if_its_end_says_so_and_not_if_it_is_code() -> None:
    long = "compiling unit\n" * 5_000 + "ERROR: link failed\nexit code 1"
    assert failing_lines(long) == ["exit code 1"]
    assert failing_lines('try:\n    raise ValueError("no x")\nexcept KeyError:\n    pass\n') == []
    assert failing_lines("ok\nValueError: no x\nbye") == ["ValueError: no x"]


def test_what_the_user_named_long_ago_ranks_before_what_is_new() -> None:
    with fanfold.open("run", window=200_000) as chat:
        chat.say("Look into ACC-99317. " + "It is a long story. " * 400)
        for number in range(40):
            chat.add(replied("", called(f"c{number}", "read", path=f"p{number}")))
            chat.answer(f"c{number}", " ".join(f"id_{number}x{one}" for one in range(40)))
        chat.say("And?")
        view = chat.view()
        gist = gleaned(Span(view.rows[:-1]), view, Sizes(0, 99, 99))
    assert gist.names[0] == "ACC-99317"


def test_each_of_several_outputs_in_a_message_has_its_own_reference() -> None:
    calls = [
        {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"path": f"{n}.txt"}} for n in (1, 2)
    ]
    results = [
        {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"key KEY-{n}{n}{n} " * 9} for n in (1, 2)
    ]
    with fanfold.open("run", window=40_000, recall=True, dialect="anthropic") as chat:
        chat.say("Go.")
        chat.add({"role": "assistant", "content": calls})
        chat.add({"role": "user", "content": results})
        chat.add({"role": "assistant", "content": "Read."})
        view = chat.view()
        gist = gleaned(Span(view.rows[1:]), view, Sizes(999, 999, 999, 999))
    assert {"KEY-111 (o1)", "KEY-222 (o2)"} <= set(gist.names)
    assert {one.ref: one.what for one in gist.holdings} == {"o1": "1.txt", "o2": "2.txt"}


def test_names_with_odd_signs_are_not_told_twice() -> None:
    gist = Gist(written="It is at https://x.org/a,b now.", names=("https://x.org/a,b", "x-123"))
    assert gist.text(Sizes(99, 99, 99)).count("https://x.org/a,b") == 1


def test_hosts_and_keys_are_names() -> None:
    found = identifiers("db-3.internal:5432 at 192.168.10.45, key AKIAIOSFODNN7EXAMPLE")
    assert found == ["db-3.internal:5432", "192.168.10.45", "AKIAIOSFODNN7EXAMPLE"]


def test_a_request_for_which_there_is_no_room_leaves_no_empty_one_behind() -> None:
    assert parsed(Gist(asked=("Fix it.",)).text(Sizes(0, 0, 0))).asked == ()


def test_names_that_anybody_could_guess_are_kept_only_if_somebody_meant_them() -> None:
    listing = Message("user", (Text("/srv/data/in/a7.csv main.py src/util 10 files"),))
    assert ranked([listing], KnownNames(), 500) == ["/srv/data/in/a7.csv"]
    known = KnownNames(named=frozenset({"main.py"}), used=frozenset({"src/util"}))
    assert ranked([listing], known, 500) == ["main.py", "/srv/data/in/a7.csv", "src/util"]
