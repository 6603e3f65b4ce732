"""Which session a re-sent history belongs to: found by what is shared from the start, without recording anything."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanfold import BadSetting, Memory, Pool, SQLite
from fanfold.core.record import Move
from fanfold.dialects.registry import dialect_named
from fanfold.stores.prefix import prefixes
from fanfold.stores.store import Store, Tenants

message = dialect_named("openai.chat").message
WINDOW = {"window": 50_000, "dialect": "openai.chat"}


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return Memory() if request.param == "memory" else SQLite(tmp_path / "a.db")


@pytest.fixture
def pool(store: Store) -> Iterator[Pool]:
    with Pool(store, **WINDOW) as pool:
        yield pool


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def reply(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


TALK = [user("What is in a.py?"), reply("A parser."), user("And in b.py?"), reply("Its tests.")]
OTHER = [*TALK[:2], user("Who wrote it?"), reply("Ada.")]


def record(pool: Pool, **histories: list[Any]) -> None:
    for name, history in histories.items():
        with pool.session(name) as chat:
            chat.merge(history)


def test_a_history_belongs_to_the_session_that_shares_most_of_it(pool: Pool) -> None:
    record(pool, one=TALK, other=OTHER, empty=[])
    found = pool.find([*TALK, user("Thanks.")])
    assert (found.session, found.matched, found.messages, found.at_head) == ("one", 4, 5, True)
    found = pool.find([*OTHER, user("Thanks.")])
    assert (found.session, found.matched, found.at_head, found.tied) == ("other", 4, True, False)


def test_a_history_that_went_on_otherwise_matches_inside(pool: Pool) -> None:
    record(pool, one=TALK)
    found = pool.find([*TALK[:3], reply("Nothing.")])
    assert (found.session, found.matched, found.at_head) == ("one", 3, False)


def test_a_history_that_nobody_began_belongs_to_no_session(pool: Pool) -> None:
    record(pool, one=TALK)
    found = pool.find([user("Hello."), *TALK])
    assert (found.session, found.matched, found.messages, found.candidates) == (None, 0, 5, ())
    assert pool.find([]).session is None


def test_nothing_is_recorded_by_looking(pool: Pool) -> None:
    record(pool, one=TALK)
    before = pool.store.load("default", "one").seq
    pool.find([*TALK, user("Thanks.")])
    assert pool.store.load("default", "one").seq == before
    assert pool.store.sessions("default") == ["one"]


def test_a_tie_names_all_that_fit_and_a_hint_decides(pool: Pool) -> None:
    record(pool, one=TALK, two=TALK, three=TALK[:2])
    found = pool.find([*TALK, user("Thanks.")])
    assert found.tied
    assert set(found.candidates) == {"one", "two"}
    hinted = pool.find([*TALK, user("Thanks.")], hint="one")
    assert (hinted.session, hinted.tied) == ("one", False)
    assert pool.find([*TALK, user("Thanks.")], hint="three").session in {"one", "two"}


def test_the_session_that_stands_there_wins_over_one_that_went_on(pool: Pool) -> None:
    record(pool, longer=TALK, shorter=TALK[:2])
    assert pool.find(TALK[:2]).session == "shorter"
    assert pool.find(OTHER).session == "shorter"


def test_tenants_do_not_find_each_others_sessions(pool: Pool) -> None:
    with pool.session("mine", tenant="a") as chat:
        chat.merge(TALK)
    assert pool.find(TALK, tenant="a").session == "mine"
    assert pool.find(TALK, tenant="b").session is None
    assert pool.find(TALK).session is None


def test_a_session_that_was_rewound_stands_where_it_is_now(pool: Pool) -> None:
    record(pool, one=TALK)
    with pool.session("one") as chat:
        chat.rewind(1)
    assert pool.find(TALK[:2]).at_head
    assert not pool.find(TALK).at_head
    with pool.session("one") as chat:
        chat.reset()
    assert not pool.find(TALK[:2]).at_head


def test_a_store_without_an_index_of_its_own_is_searched() -> None:
    class Plain(Memory):
        tracks = Tenants.tracks

    with Pool(Plain(), **WINDOW) as pool:
        record(pool, one=TALK, other=OTHER, two=TALK)
        assert set(pool.find([*TALK, user("Thanks.")]).candidates) == {"one", "two"}
        assert pool.find(OTHER).session == "other"
        assert pool.find([user("Hello.")]).session is None


def test_another_process_finds_what_was_written_here(tmp_path: Path) -> None:
    with Pool(f"sqlite:{tmp_path / 'a.db'}", **WINDOW) as pool:
        record(pool, one=TALK)
        with Pool(SQLite(tmp_path / "a.db"), **WINDOW) as elsewhere:
            assert elsewhere.find(TALK).session == "one"
            record(pool, two=OTHER)
            assert elsewhere.find(OTHER).session == "two"


def test_looking_can_be_awaited(pool: Pool) -> None:
    record(pool, one=TALK)
    assert asyncio.run(pool.afind(TALK)).session == "one"


CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}
WORK = [user("Read a.py"), {"role": "assistant", "tool_calls": [CALL]}]
OUTPUT = {"role": "tool", "tool_call_id": "c1", "content": "import re"}


def test_what_clients_change_by_accident_is_found_all_the_same(pool: Pool) -> None:
    record(pool, one=[*WORK, OUTPUT, reply("It imports re.")])
    spelled = {**CALL, "function": {"name": "read", "arguments": '{"path":"a.py"}'}}
    masked = {**OUTPUT, "content": "[output removed]"}
    split = [{"type": "text", "text": "It imports "}, {"type": "text", "text": "re."}]
    again = [WORK[0], {"role": "assistant", "tool_calls": [spelled]}, masked, {**reply(""), "content": split}]
    found = pool.find([*again, user("Go on.")])
    assert (found.session, found.matched, found.at_head) == ("one", 4, True)


def test_an_imported_session_is_found(pool: Pool, tmp_path: Path) -> None:
    record(pool, one=TALK)
    import fanfold

    with (tmp_path / "one.jsonl").open("wb") as file:
        fanfold.export_session(pool.store, "one", file)
    with Pool(Memory(), **WINDOW) as elsewhere, (tmp_path / "one.jsonl").open("rb") as file:
        fanfold.import_session(elsewhere.store, file, name="imported")
        assert elsewhere.find(TALK).session == "imported"


def exported_with_a_stub(pool: Pool) -> list[dict[str, Any]]:
    """The lines of an export of TALK in which the second message was erased."""
    import io

    import fanfold

    record(pool, one=TALK)
    with pool.session("one") as chat:
        chat.erase(chat.view().rows[1].id, "a password")
    file = io.BytesIO()
    fanfold.export_session(pool.store, "one", file)
    return [json.loads(line) for line in file.getvalue().splitlines()]


def imported(pool: Pool, lines: list[dict[str, Any]]) -> None:
    import io

    import fanfold

    file = io.BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    fanfold.import_session(pool.store, file, name="imported")


def test_a_stub_cannot_say_where_an_imported_session_came_by(pool: Pool) -> None:
    """Nothing proves what a stub was: one that is made up must not take over the histories of others."""
    lines = exported_with_a_stub(pool)
    victim = [user("The plans of Ada."), reply("Here they are."), user("Go on."), reply("Well.")]
    forged = list(prefixes(message(body) for body in victim))[1]
    (stub,) = [line["entry"] for line in lines if line.get("entry", {}).get("erased")]
    assert len(stub["prefix"]) == len(forged)
    stub["prefix"] = forged
    with Pool(Memory(), **WINDOW) as elsewhere:
        record(elsewhere, ada=victim)
        imported(elsewhere, lines)
        with elsewhere.session("imported") as chat:
            chat.add(user("Go on."))
        for count in range(1, 5):
            found = elsewhere.find(victim[:count])
            assert (found.session, found.tied, found.candidates) == ("ada", False, ("ada",))


def test_a_session_comes_back_with_its_stubs_where_they_are_known(pool: Pool) -> None:
    lines = exported_with_a_stub(pool)
    imported(pool, lines)
    assert set(pool.find([*TALK, user("Thanks.")]).candidates) == {"one", "imported"}


@pytest.mark.parametrize("sessions", [3, 300])
def test_looking_asks_the_store_twice_at_most(sessions: int) -> None:
    store = Asked()
    with Pool(store, **WINDOW) as pool:
        record(pool, **{f"s{n}": [user(f"Begin {n}"), reply("Yes.")] for n in range(sessions)})
        store.asked = 0
        history = [user("Begin 1"), reply("Yes."), *[user(f"more {n}") for n in range(500)]]
        assert pool.find(history).session == "s1"
        assert store.asked == 2


class Asked(Memory):
    """A store that counts how often it is asked for sessions."""

    asked = 0

    def tracks(self, tenant: str, prefixes: Any) -> Any:
        self.asked += 1
        return super().tracks(tenant, prefixes)


def test_words_go_on_over_messages(pool: Pool) -> None:
    record(pool, one=[user("Read a.py. "), user("Then b.py."), reply("Done.")])
    found = pool.find([user("Read a.py. Then b.py."), reply("Done."), user("Thanks.")])
    assert (found.session, found.matched, found.at_head) == ("one", 2, True)


def test_words_go_on_after_a_session_was_opened_again(tmp_path: Path) -> None:
    for text in ("Read ", "a.", "py."):
        with Pool(SQLite(tmp_path / "a.db"), **WINDOW) as pool, pool.session("one") as chat:
            chat.say(text)
    with Pool(SQLite(tmp_path / "a.db"), **WINDOW) as pool:
        assert pool.find([user("Read a.py.")]).at_head


def test_what_was_erased_cannot_be_read_from_what_finds_it(pool: Pool) -> None:
    record(pool, one=[user("hunter2"), user(" is it"), reply("Fine.")])
    with pool.session("one") as chat:
        chat.erase(chat.view().rows[0].id, "a password")
        chat.say("Go on.")
    entries = list(pool.store.path("default", head_of(pool, "one")))
    assert all(len(entry.prefix) == 32 for entry in entries)
    found = pool.find([user("hunter2 is it"), reply("Fine."), user("Go on.")])
    assert (found.session, found.matched, found.at_head) == ("one", 3, True)


def head_of(pool: Pool, session: str) -> str:
    heads = [
        record.head for record in pool.store.load("default", session).records if isinstance(record, Move)
    ]
    assert heads[-1] is not None
    return heads[-1]


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def test_a_shared_prefix_is_told_apart_by_the_system_prompt(pool: Pool) -> None:
    record(pool, agent=[system("You plan."), *TALK], helper=[system("You search."), *TALK[:2]])
    found = pool.find([system("You plan."), *TALK[:2], user("And now?")])
    assert (found.session, found.matched, found.messages, found.tied) == ("agent", 2, 3, False)
    assert pool.find([system("You search."), *TALK[:2], user("And now?")]).session == "helper"
    assert pool.find([system("Today is Monday."), *TALK[:2], user("And now?")]).session == "helper"


def test_a_shared_prefix_is_told_apart_by_the_model(pool: Pool) -> None:
    for name, model in (("large", "gpt-5.2"), ("small", "gpt-5-mini")):
        with pool.session(name, model=model) as chat:
            chat.merge(TALK)
    assert pool.find(TALK, model="gpt-5.2").session == "large"
    assert pool.find({"model": "gpt-5-mini", "messages": TALK}).session == "small"
    assert pool.find(TALK).tied


def test_a_shared_prefix_is_told_apart_by_labels(pool: Pool) -> None:
    for name in ("a", "b"):
        with pool.session(name, labels={"client": "codex", "id": name}) as chat:
            chat.merge([system(f"You are {name}."), *TALK])
    wanted = {"client": "codex", "id": "a"}
    assert pool.find([system("You are b."), *TALK], labels=wanted).session == "a"
    assert pool.find([system("You are b."), *TALK], labels={"client": "pi"}).session == "b"


def test_labels_stay_with_a_session_and_more_can_be_added(pool: Pool) -> None:
    with pool.session("one", labels={"client": "codex"}) as chat:
        chat.merge(TALK)
    with pool.session("one", labels={"id": "7"}) as chat:
        chat.say("Go on.")
    assert pool.summaries()[0].labels == {"client": "codex", "id": "7"}


def test_labels_are_texts(pool: Pool) -> None:
    with (
        pytest.raises(BadSetting, match="labels is a dict from names to texts"),
        pool.session("one", labels={"id": 7}),
    ):
        pass
