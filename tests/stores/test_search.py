"""A search finds everything that the sessions of a tenant hold, hidden or not, and nothing that was erased."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_erased_bytes import all_bytes

import fanfold
from builders import asks, calls, gives, says, tell
from fanfold import BadInput, Drop, Memory, Pool, Postgres, SQLite, TooSlow
from fanfold.stores.search import (
    BLOCK,
    BlockBits,
    bits_of,
    grams_of,
    numbers_of,
    search,
    wanted_grams,
)

KEY = "0f" * 32
Connect = Callable[..., Postgres]


@pytest.fixture(params=["memory", "sqlite", "sealed", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        return Memory()
    if request.param == "postgres":
        return request.getfixturevalue("connect")()
    return SQLite(tmp_path / "a.db", key=KEY if request.param == "sealed" else None)


def found(store: Any, words: str, **rest: Any) -> list[tuple[str, str]]:
    with Pool(store, window=9_000) as pool:
        return [(one.session, one.kind) for one in pool.search(words, **rest)]


def test_it_finds_what_was_said_whatever_is_shown(store: Any) -> None:
    with fanfold.open("run", window=9_000, store=store, system="Be Brief.") as chat:
        tell(chat, asks("Where is the Zebra crossing?"), calls("c1", arguments='{"path": "quagga.txt"}'))
        tell(chat, gives("c1", "an okapi\nand more"), says("設定ファイルを修正しました。"), asks("Go on."))
        hidden = chat.view().rows
        chat.note("state", "the tapir sleeps")
        chat.request(context="a giraffe looks on")
        chat.rewind(hidden[1].id)
    for words, kind in [
        ("zebra CROSSING", "message"),
        ("quagga", "message"),
        ("okapi", "message"),
        ("修正", "message"),
        ("tapir", "edit"),
        ("be brief", "system"),
        ("giraffe", "context"),
    ]:
        assert found(store, words) == [("run", kind)], words
    assert found(store, "zebrafish") == []
    assert found(store, "zebra", tenant="another") == []
    assert found(store, "zebra", session="another") == []


def test_the_context_of_a_request_is_found_by_an_id_that_erases_it(store: Any) -> None:
    with fanfold.open("run", window=9_000, store=store) as chat:
        chat.say("Who?")
        chat.request(context="Jane Roe looks on")
        with Pool(store, window=9_000) as pool:
            (hit,) = pool.search("jane roe")
        chat.erase(hit.entry, "asked to forget")
        assert chat.sent(0)[0].context == "[erased: asked to forget]"
    assert found(store, "jane roe") == []


@given(
    st.text() | st.text(st.characters(max_codepoint=127)) | st.text(st.sampled_from("aB\0é設😀"), max_size=12)
)
def test_each_three_letters_are_known_wherever_they_stand_and_each_two_that_are_not_ascii(text: str) -> None:
    low = text.lower()
    threes = {low[at : at + 3] for at in range(len(low) - 2)}
    twos = {low[at : at + 2] for at in range(len(low) - 1)}
    assert grams_of(text) == threes | {two for two in twos if not two.isascii()}


def open_zebra(store: Any) -> Any:
    """A session with the same words in its name and in a message."""
    with fanfold.open("zebra", window=9_000, store=store) as chat:
        chat.say("Where is the zebra?")
        chat.say("It left.")
    return store


def test_a_search_whose_time_is_up_says_where_it_stopped_and_keeps_what_it_found(tmp_path: Path) -> None:
    store = open_zebra(SQLite(tmp_path / "a.db"))
    hits = search(store, "default", "zebra", seconds=0)
    assert next(hits).kind == "name"
    with pytest.raises(TooSlow, match="The search stopped after 0 s at message of 'zebra'"):
        next(hits)
    assert not list(store.signatures("default", ["zebra"], 0, 9))


def test_nothing_is_signed_where_no_signature_can_be_kept_or_much_stands_in_a_block(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def count_signed(name: str, **given: Any) -> int:
        store = open_zebra(SQLite(tmp_path / name))
        assert len(list(search(store, "default", "zebra", **given))) == 2
        return len(list(store.signatures("default", ["zebra"], 0, 9)))

    assert [count_signed("a", sign=False), count_signed("b", seconds=60), count_signed("c")] == [0, 1, 1]
    monkeypatch.setattr("fanfold.stores.search._SIGNED", 20)
    assert [count_signed("d", seconds=60), count_signed("e")] == [0, 1]


def test_it_finds_what_an_edit_hides(store: Any) -> None:
    def hides(view: Any, budget: Any) -> Any:
        yield Drop(view.oldest(leaving=10).covers)

    with fanfold.open("run", window=3_000, store=store, strategy=hides) as chat:
        tell(
            chat,
            asks("The zebra crosses. " * 80),
            says("Yes."),
            asks("Go on."),
            says("Well. " * 9),
            asks("And?"),
        )
        assert chat.compact(force=True).status == "reduced"
        assert "zebra" not in str(chat.view().messages)
    assert ("run", "message") in found(store, "the zebra crosses")


def test_it_finds_words_anywhere_in_an_output_that_is_kept_whole(store: Any) -> None:
    output = "a line of words\n" * 100_000 + "here is the okapi\n" + "a line of words\n" * 100_000
    with fanfold.open("run", window=9_000, store=store) as chat:
        tell(chat, asks("Go."), calls("c1"))
        chat.answer("c1", output)
    with Pool(store, window=9_000) as pool:
        (passage,) = pool.search("the okapi")
        assert (passage.kind, passage.ref, passage.text.startswith("…")) == ("output", "o1", True)
        assert "here is the okapi" in passage.text
        with pool.session("run") as chat:
            chat.erase("o1", "asked")
        assert pool.search("the okapi") == []


def test_what_is_written_after_a_search_is_found_by_the_next(store: Any) -> None:
    with fanfold.open("run", window=10**6, store=store) as chat:
        for n in range(BLOCK * 2 + 9):
            chat.say(f"message {n} of many")
            if n in (5, BLOCK - 1, BLOCK, BLOCK + 7):
                assert found(store, f"message {n} of") == [("run", "message")]
                assert found(store, "an okapi") == []
        chat.say("an okapi")
    assert found(store, "an okapi") == [("run", "message")]


def test_what_was_erased_is_not_found_nor_left_in_the_index(store: Any, tmp_path: Path) -> None:
    chat = fanfold.open("run", window=9_000, store=store)
    secret = chat.say("The password is hunter2.")
    chat.fork("fork").close()
    assert sorted(found(store, "hunter2")) == [("fork", "message"), ("run", "message")]
    chat.erase(secret.id, "asked")
    assert found(store, "hunter2") == []
    wanted = numbers_of(grams_of("hunter2"))
    signatures = store.signatures("default", ["run", "fork"], 0, 9)
    assert not any(one.may_have(wanted) for one in signatures)
    assert b"hunter2" not in all_bytes(tmp_path)


def test_blocks_without_the_words_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, read = SQLite(tmp_path / "a.db"), list[str]()
    for n in range(30):
        with fanfold.open(f"s{n}", window=9_000, store=store) as chat:
            chat.say(f"The number of this one is {n * 7919:06}.")
    assert found(store, "no such word") == []
    load = store.load
    monkeypatch.setattr(
        store, "load", lambda *words, **rest: (read.append(words[1]), load(*words, **rest))[1]
    )
    assert found(store, f"{11 * 7919:06}") == [("s11", "message")]
    assert read == ["s11"]


def test_a_search_goes_on_behind_the_last_passage(store: Any) -> None:
    for name in ("one", "two"):
        with fanfold.open(name, window=10**6, store=store) as chat:
            for n in range(90):
                chat.say(f"{name} {n} okapi")
    with Pool(store, window=9_000) as pool:
        whole = pool.search("okapi", most=1_000)
        assert len(whole) == 180
        pages, last = list[Any](), None
        while page := pool.search("okapi", most=7, after=last):
            pages, last = pages + page, page[-1]
        assert pages == whole


def test_it_reads_a_sealed_index_that_nobody_else_can(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db", key=KEY)
    with fanfold.open("run", window=9_000, store=store) as chat:
        chat.say("The zebra crosses.")
    assert found(store, "zebra") == [("run", "message")]
    plain = bits_of(grams_of("The zebra crosses."))
    store.close()
    assert plain not in all_bytes(tmp_path)
    store.rekey("1e" * 32)
    assert found(store, "zebra") == [("run", "message")]


def test_words_are_needed() -> None:
    with pytest.raises(BadInput, match="which words"):
        found(Memory(), " ")


async def _asearch(store: Any) -> list[str]:
    async with Pool(store, window=9_000) as pool:
        async with pool.session("run") as chat:
            await chat.say("The zebra crosses.")
        return [one.text for one in await pool.asearch("zebra")]


def test_it_can_be_awaited(store: Any) -> None:
    import asyncio

    assert asyncio.run(_asearch(store)) == ["The zebra crosses."]


@given(
    st.text(max_size=60), st.integers(0, 50), st.integers(1, 12), st.lists(st.text(max_size=30), max_size=5)
)
def test_a_signature_never_denies_what_is_there(text: str, start: int, many: int, others: list[str]) -> None:
    words = text[start : start + many]
    grams = grams_of(text).union(*map(grams_of, others))
    signed = BlockBits("s", 0, 1, bits_of(grams))
    if words.lower() in text.lower():
        assert signed.may_have(numbers_of(grams_of(words)))


ESCAPED = [
    ("Müller", r'{"name": "M\u00fcller"}'),
    ("müller", r'{"name": "M\u00DCLLER"}'),
    ("Müller", r'{"body": "{\"name\": \"M\\u00fcller\"}"}'),
    ("設定ファイル", r'["\u8a2d\u5b9a\u30d5\u30a1\u30a4\u30eb"]'),
    ("well 😀", r'["well \ud83d\ude00"]'),
    ('says "no"', r'{"text": "says \"no\""}'),
    ("cats & dogs", r'{"text": "cats \u0026 dogs"}'),
    ("home/jane", r'{"path": "home\/jane"}'),
    ("one\ntwo", r'{"text": "one\ntwo"}'),
]


@pytest.mark.parametrize(("words", "written"), ESCAPED)
def test_what_json_escapes_is_found_as_it_reads(store: Any, words: str, written: str) -> None:
    with fanfold.open("run", window=90_000, store=store) as chat:
        tell(chat, asks("Read it."), calls("c1"))
        chat.answer("c1", written)
        chat.say(f"I read {written}")
        chat.note("read", written)
        for number in range(BLOCK):
            chat.add(says(f"Nothing in {number}."))
    everywhere = [("run", "message"), ("run", "message"), ("run", "edit")]
    assert found(store, words) == everywhere
    assert found(store, words) == everywhere, "with signatures"
    assert found(store, f"{words}?") == []


def test_a_signature_lets_through_what_is_escaped_and_little_else() -> None:
    words = 'says "設定 müller"'
    for written in (
        words,
        r"says \"\u8a2d\u5b9a m\u00fcller\"",
        r"says \"設定 müller\"",
        r"says \"設定 MÜLLER\"",
    ):
        signed = BlockBits("run", 0, 1, bits_of(grams_of(written.lower())))
        assert any(map(signed.may_have, wanted_grams(words)))
    other = BlockBits("run", 0, 1, bits_of(grams_of("nothing of that kind stands here")))
    assert not any(map(other.may_have, wanted_grams(words)))
