"""An erasure reaches every body that an entry had: the first one, and those a client sent in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import fanfold
from builders import opened
from fanfold import Memory, Session, SQLite
from fanfold.stores.store import Store
from fanfold.testing import called, replied, returned, said

SECRET = "My password is hunter2."
Open = Callable[..., Session]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Any = Memory() if request.param == "memory" else SQLite(tmp_path / "a.db")
    if request.param == "postgres":
        made = request.getfixturevalue("connect")()
    yield made
    made.close()


def path_of(chat: Session) -> list[str]:
    return chat._state.log.tree.path(chat.head)


def is_left(store: Store, *chats: Session) -> bool:
    """Whether the secret is in a record, in an entry, or in a request."""
    records = [store.load("default", name).records for name in store.sessions("default")]
    tree = store.tenant("default").tree
    stored = [store.entry("default", id) for id in tree.entries]
    return "hunter2" in str((records, stored, tree.entries, [chat.request() for chat in chats]))


def replaced(store: Store, first: list[Any], at: int, text: str = SECRET, **rest: Any) -> Session:
    """A session in which a client changed one body."""
    chat = opened(9_000, store=store, **rest)
    chat.merge(first)
    again = [{**body, "content": text} if i == at else body for i, body in enumerate(first)]
    assert chat.merge(again).replaced == 1
    return chat


def test_a_repair_made_from_a_changed_body_is_erased_with_it(store: Store) -> None:
    chat = replaced(store, [said("Go."), replied("Old words.", called("c1")), said("And?")], 1)
    assert "hunter2" in str(chat.request())
    chat.erase(path_of(chat)[1], "asked for")
    assert not is_left(store, chat)


def test_pins_contexts_and_forks_of_a_changed_body_are_erased_with_it(store: Store) -> None:
    chat = replaced(store, [said("Hello."), replied("Noted."), said("Go on.")], 0, "password=hunter2")
    chat.pin("password=hunter2")
    chat.request(context="They said password=hunter2", user="password=hunter2")
    other = chat.fork("other")
    other.erase(path_of(chat)[0], "asked for")
    assert not is_left(store, chat, other)


def test_every_body_counts_not_only_the_last(store: Store) -> None:
    chat = replaced(store, [said("Hello."), replied("Noted."), said("Go on.")], 0)
    chat.pin(SECRET)
    assert chat.merge([said("Nothing."), replied("Noted."), said("Go on.")]).replaced == 1
    chat.erase(path_of(chat)[0], "asked for")
    assert not is_left(store, chat)
    assert chat.merge([said(SECRET), replied("Noted."), said("Other.")]).known == 2
    assert not is_left(store, chat)


@pytest.mark.parametrize("text", [SECRET, "Hello."])
def test_a_re_sent_copy_of_any_body_stays_erased(store: Store, text: str) -> None:
    chat = replaced(store, [said("Hello."), replied("Noted."), said("Go on.")], 0)
    chat.erase(path_of(chat)[0], "asked for")
    merged = chat.merge([said(text), replied("Noted."), said("Other.")])
    assert (merged.known, merged.new) == (2, 1)
    assert not is_left(store, chat)


def test_it_stays_erased_where_the_session_does_not_stand_any_more(store: Store) -> None:
    chat = replaced(store, [said("Hello."), replied("Noted."), said("Go on.")], 0)
    first = path_of(chat)[0]
    chat.reset()
    chat.erase(first, "asked for")
    chat.merge([said(SECRET), replied("Noted.")])
    assert path_of(chat)[0] == first
    assert not is_left(store, chat)


def test_what_was_said_again_does_not_bring_back_another_body(store: Store) -> None:
    chat = replaced(store, [said("Hello."), replied("Noted."), said("Go on.")], 0)
    chat.erase(path_of(chat)[0], "asked for")
    chat.reset()
    chat.add(said("Hello."), again=True)
    chat.add(replied("Noted."))
    assert chat.view().messages[0].text == "Hello."
    chat.merge([said(SECRET), replied("Noted."), said("Go on.")])
    assert not is_left(store, chat)


def test_it_stays_erased_when_the_store_is_opened_again(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    chat = replaced(store, [said("Hello."), replied("Noted."), said("Go on.")], 0)
    fork = chat.fork("fork")
    chat.erase(path_of(chat)[0], "asked for")
    for session in (chat, fork):
        session.close()
    store.close()
    again = SQLite(tmp_path / "a.db")
    for name in ("run", "fork"):
        chat = opened(9_000, name=name, store=again)
        assert chat.merge([said(SECRET), replied("Noted."), said("Other.")]).known == 2
        assert not is_left(again, chat)


def test_it_stays_erased_in_another_store(tmp_path: Path) -> None:
    store, file = Memory(), BytesIO()
    chat = replaced(store, [said("Hello."), replied("Noted."), said("Go on.")], 0)
    chat.erase(path_of(chat)[0], "asked for")
    fanfold.export_session(store, "run", file)
    other = SQLite(tmp_path / "b.db")
    fanfold.import_session(other, file.getvalue().splitlines())
    copy = opened(9_000, store=other)
    assert copy.merge([said(SECRET), replied("Noted."), said("Other.")]).known == 2
    assert not is_left(other, copy)


def test_a_changed_body_in_an_old_export_is_erased_too() -> None:
    """It was erased here before anybody knew of that body."""
    away, store, file = Memory(), Memory(), BytesIO()
    replaced(away, [said("Hello."), replied("Noted."), said("Go on.")], 0)
    fanfold.export_session(away, "run", file)
    here = opened(9_000, name="here", store=store)
    here.erase(here.add(said("Hello.")).id, "asked for")
    fanfold.import_session(store, file.getvalue().splitlines())
    copy = opened(9_000, store=store)
    assert copy.merge([said(SECRET), replied("Noted."), said("Other.")]).known == 2
    assert not is_left(store, copy, here)


def test_a_body_that_somebody_changes_meanwhile_is_erased_too(tmp_path: Path) -> None:
    """Whoever erases reads the log once more when nobody else can write to it."""
    mine, theirs = SQLite(tmp_path / "a.db"), SQLite(tmp_path / "a.db")
    bodies = [said("Hello."), replied("Noted."), said("Go on.")]
    chat = opened(9_000, store=mine)
    chat.merge(bodies)
    there = opened(9_000, store=theirs)
    erase = mine.erase

    def late(*args: Any, **rest: Any) -> None:
        there.merge([said(SECRET), *bodies[1:]])
        erase(*args, **rest)

    mine.erase = late  # type: ignore[method-assign]
    chat.erase(path_of(chat)[0], "asked for")
    mine.erase = erase  # type: ignore[method-assign]
    chat.merge([said(SECRET), replied("Noted."), said("Other.")])
    assert not is_left(mine, chat)


def test_gc_deletes_every_body(store: Store) -> None:
    first = [said("Go."), replied(None, called("c1")), returned("c1", "old"), replied("Ok."), said("On.")]
    chat = replaced(store, first, 2, "hunter2 " * 40, strategy=None)
    path = path_of(chat)
    chat.fold(tuple(path[1:4]), "Looked.")
    assert [output.entry for output in chat.gc(delete=True, hidden=True).hidden] == [path[2]]
    assert not is_left(store, chat)
    again = [{**body, "content": "hunter2 " * 40} if i == 2 else body for i, body in enumerate(first)]
    assert chat.merge([*again[:-1], said("Other.")]).known == 4
    assert not is_left(store, chat)


def test_a_repair_keeps_what_others_said_and_nothing_of_the_erased(store: Store) -> None:
    """A result that answers nothing stands in the repair as words, with others before them."""
    chat = opened(9_000, store=store)
    orphan = returned("c9", "the token is hunter2")
    chat.merge([said("Go."), replied("I look.", called("c1")), orphan, said("And?")])
    assert "hunter2" in str(chat.request())
    chat.erase(path_of(chat)[2], "asked for")
    assert not is_left(store, chat)
    assert "I look." in str(chat.request())
