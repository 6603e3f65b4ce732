"""The tree of a tenant knows again what was erased."""

from __future__ import annotations

import msgspec
import pytest

from fanfold.core.message import Message, user
from fanfold.stores.echo import entry_echo
from fanfold.stores.tenant_tree import TenantTree


def test_an_erased_entry_keeps_its_id_and_place_and_nothing_else() -> None:
    tree = TenantTree()
    first = tree.add(None, user("my password is hunter2")).id
    second = tree.add(first, user("thanks")).id
    tree.erase(first, "a secret")
    assert tree[first].message == Message("user", user("[erased: a secret]").parts)
    assert tree.path(second) == [first, second]


def test_an_erased_entry_is_found_by_any_body_that_it_had_until_that_is_said_again() -> None:
    tree = TenantTree()
    first = tree.add(None, user("one"))
    other = tree.erase(tree.add(None, user("two")).id, "asked for", [tree.echo(None, user("TWO"))])
    assert tree.stub(None, user("two")) == tree.stub(None, user("TWO")) == other
    assert tree.stub(None, user("one")) is tree.stub(first.id, user("two")) is None
    tree.put(msgspec.structs.replace(other, message=user("two"), erased=None))
    assert tree.stub(None, user("two")) is None


def test_a_message_that_is_sent_again_is_hashed_once_however_many_others_were_erased(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree, hashed = TenantTree(), list[Message]()
    for number in range(50):
        tree.erase(tree.add(None, user(f"secret {number}")).id, "asked for")

    def counting(parent: str | None, message: Message) -> str:
        hashed.append(message)
        return entry_echo(parent, message)

    monkeypatch.setattr("fanfold.stores.tenant_tree.entry_echo", counting)
    assert tree.stub(None, user("hello")) is None
    assert hashed == [user("hello")]
