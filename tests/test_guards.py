"""Guards: whatever a stranger's strategy yields, what is sent is legal, and what is kept can be read again."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold
from builders import asks, long, opened, tell
from fanfold import Answer, Call, Drop, Elide, Fold, Message, Note, Opaque, Text, Thinking, View, ask
from fanfold.core.draft import refusal
from fanfold.core.edit import Author
from fanfold.core.message import Wire
from fanfold.core.plan import Outcome
from fanfold.testing import talk
from laws import grammar

Edits = Callable[[View, Any], Any]


def shown(*messages: Any) -> Edits:
    return lambda view, old: Fold(old.covers, messages)


def inherited(body: Any, dialect: str = "openai.chat") -> Edits:
    return shown(Message("user", (Text("x"),), Wire(dialect, body)))


def elided(**fields: Any) -> Edits:
    def first_result(view: View, old: Any) -> Elide:
        row = next(row for row in old.rows if row.results)
        return Elide(f"{row.id}#0", "e", **fields)

    return first_result


MALFORMED: dict[str, tuple[Edits, str]] = {
    "role": (shown(Message("robot", (Text("hi"),))), "Invalid enum value 'robot'"),  # type: ignore[arg-type]
    "text": (shown(Message("user", (Text(5),))), "Expected `str`, got `int`"),  # type: ignore[arg-type]
    "part": (shown(Message("user", ("hi",))), "Expected `object`, got `str`"),  # type: ignore[arg-type]
    "call": (shown(Message("assistant", (Call("a", "run", 5),))), "Expected `str`, got `int`"),  # type: ignore[arg-type]
    "opaque": (shown(Message("user", (Opaque("x", object()),))), "a object"),
    "no message": (shown("hi"), "Expected `object`, got `str`"),
    "shows": (lambda view, old: Fold(old.covers, (7,)), "Expected `object`, got `int`"),  # type: ignore[arg-type]
    "wire": (inherited({"role": "banana", "content": 7}), "wire.body has the role 'banana'"),
    "wire elsewhere": (
        inherited({"role": "banana", "content": 7}, "anthropic"),
        "wire.body has the role 'banana'",
    ),
    "other words": (
        inherited({"role": "user", "content": "y" * 9_000}),
        "says something else than its parts",
    ),
    "other role": (inherited({"role": "assistant", "content": "x"}), "says something else than its parts"),
    "fold ref": (lambda view, old: Fold(old.covers, "s", 5), "Expected `str | null`, got `int`"),  # type: ignore[arg-type]
    "elide ref": (elided(ref=5), "Expected `str | null`, got `int`"),
    "elide beside": (elided(beside="x"), "Expected `bool`, got `str`"),
    "covers": (lambda view, old: Drop(iter(old.covers)), "a "),  # type: ignore[arg-type]
    "note": (lambda view, old: Note("n", 5), "Expected `str`, got `int`"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_edit_is_refused_and_the_fallbacks_follow(name: str, tmp_path: Path) -> None:
    edit, words = MALFORMED[name]
    refused: list[str | None] = []

    def strange(view: View, budget: Any) -> Iterator[Any]:
        view = yield edit(view, view.oldest(leaving=budget.goal))
        refused.append(view.refused)

    options: Any = {"window": 1_500, "store": f"sqlite:{tmp_path}/run.db"}
    with fanfold.open("run", strategy=strange, **options) as chat:
        chat.merge(talk(8))
        assert grammar.faults(chat.request()) == []
        assert "malformed" in str(refused[0])
        assert words in str(refused[0])
        rows = [row.id for row in chat.view().rows]
    with fanfold.open("run", **options) as chat:
        assert chat.stats()["rows"] == len(rows)
        assert [row.id for row in chat.view().rows] == rows


def test_a_fold_that_shows_no_text_fails_where_it_is_made_and_the_fallbacks_follow() -> None:
    def strange(view: View, budget: Any) -> Iterator[Any]:
        yield Fold(view.oldest(leaving=budget.goal).covers, 7)  # type: ignore[arg-type]

    told: list[Outcome] = []
    with fanfold.open("run", strategy=strange, window=1_500, on_edit=told.append) as chat:
        chat.merge(talk(8))
        assert grammar.faults(chat.request()) == []
    assert "A fold shows a text or a tuple of messages, not 7." in str(told[0].error)
    assert told[0].strategy != "strange"


def test_a_recorded_message_may_be_shown_as_it_came() -> None:
    def last_results(view: View, budget: Any) -> Iterator[Any]:
        old = view.oldest(leaving=budget.goal)
        yield Fold(old.covers, tuple(message for message in old.messages if message.role == "user")[:2])

    with fanfold.open("run", window=1_500, strategy=last_results, fallback=()) as chat:
        chat.merge(talk(8))
        assert [row.kind for row in chat.view().rows if row.kind == "fold"] == []
        chat.compact()
        (fold,) = [row for row in chat.view().rows if row.kind == "fold"]
        assert all(message.wire is not None for message in fold.messages)


def test_a_plan_that_changes_its_edit_afterwards_changes_nothing() -> None:
    body: dict[str, Any] = {"role": "user", "content": "In short."}

    def sly(view: View, budget: Any) -> Iterator[Any]:
        message = Message("user", (Text("In short."),), Wire("openai.chat", body))
        yield Fold(view.oldest(leaving=budget.goal).covers, (message,))

    with fanfold.open("run", window=1_500, strategy=sly) as chat:
        chat.merge(talk(8))
        before = chat.request()
        body["content"] = "Something else."
        chat.say("Go on.")
        assert chat.request()["messages"][: len(before["messages"])] == before["messages"]


@pytest.mark.parametrize("answer", [Answer(5), Answer("ok", usage=5), Answer("ok", cost="x"), Answer(None)])  # type: ignore[arg-type]
def test_a_malformed_answer_is_no_answer(answer: Answer, tmp_path: Path) -> None:
    def sums_up(view: View, budget: Any) -> Iterator[Any]:
        old = view.oldest(leaving=budget.goal)
        yield Fold(old.covers, (yield from ask(old.messages, "Sum up.")))

    options: Any = {"window": 1_500, "store": f"sqlite:{tmp_path}/run.db", "strategy": sums_up}
    with fanfold.open("run", summarizer=lambda question: answer, **options) as chat:
        chat.merge(talk(8))
        assert "this answer is malformed" in str(chat.compact().error)
    with fanfold.open("run", **options) as chat:
        assert chat.stats()["asked_cost"] == 0.0


ABSENT = "there is no visible part {!r}"
UNFIT: dict[str, tuple[str, Author, bool, str | None]] = {
    "what the model has seen": ("old#0", "auto", False, None),
    "nothing that was ever said": ("nobody#0", "auto", True, ABSENT),
    "a part behind the last": ("old#1", "auto", True, ABSENT),
    "a part without a number": ("old#", "auto", True, ABSENT),
    "a fold": ("fold#0", "person", True, ABSENT),
    "thinking": ("reply#0", "person", True, "thinking is sent whole or not at all"),
    "words beside thinking": ("reply#1", "auto", False, None),
    "the last request": ("last#0", "auto", False, "the model has not seen it yet"),
    "the last request, in need": ("last#0", "auto", True, None),
    "the last request, by a person": ("last#0", "person", False, None),
    "what is pinned": ("pinned#0", "auto", False, "it is pinned"),
    "what is pinned, in need": ("pinned#0", "auto", True, "it is pinned"),
    "what is pinned, by a person": ("pinned#0", "person", False, "it is pinned"),
    "what came back": ("back#0", "auto", False, "a person brought it back"),
    "what came back, in need": ("back#0", "auto", True, "a person brought it back"),
    "what came back, by a person": ("back#0", "person", False, None),
}


@pytest.mark.parametrize("name", UNFIT)
def test_only_a_visible_part_that_nothing_protects_is_elided(name: str) -> None:
    address, by, desperate, reason = UNFIT[name]
    chat = opened()
    thought = Message("assistant", (Thinking("hm"), Text("so")))
    said = tell(chat, *(asks(long(text, 20)) for text in ("old", "pinned", "back", "folded")))
    ids = dict(zip(("old", "pinned", "back", "folded"), said, strict=True))
    ids |= {"reply": chat.add(thought).id, "last": chat.say("Go on.").id}
    chat.pin(ids["pinned"])
    chat.fold((ids["back"],), "short")
    chat.undo()
    ids["fold"] = chat.fold((ids["folded"],), "short").id
    entry, _, part = address.partition("#")
    edit = Elide(f"{ids.get(entry, entry)}#{part}", "short")
    told = refusal(edit, chat.view(), by=by, desperate=desperate)
    assert told == (reason.format(edit.address) if reason else None)
