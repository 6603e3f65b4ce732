"""For programs between a client and its provider: which entry a message is, and which request a reply answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold import Memory, SQLite

HISTORY = [
    {"role": "system", "content": "You fix builds."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hello, Ana."},
    {"role": "user", "content": "Why is it red?"},
]


@pytest.fixture
def chat() -> Iterator[fanfold.Session]:
    with fanfold.open("run", window=50_000, dialect="openai.chat", recall=False) as chat:
        yield chat


def reply(text: str, prompt: int = 0) -> dict[str, Any]:
    usage = {"usage": {"prompt_tokens": prompt, "completion_tokens": 5}} if prompt else {}
    message = {"role": "assistant", "content": text}
    return {"id": f"r-{text}", "choices": [{"message": message, "finish_reason": "stop"}], **usage}


def texts(chat: fanfold.Session) -> list[str]:
    return [message.text for message in chat.view().messages]


def test_merge_says_which_entry_each_message_is(chat: fanfold.Session) -> None:
    merged = chat.merge(HISTORY)
    assert merged.entries == tuple((id,) for id in chat._state.path)
    again = chat.merge([*HISTORY, {"role": "assistant", "content": "A test fails."}])
    assert again.entries[:3] == merged.entries
    assert again.entries[3] == (chat.head,)


def test_after_a_fork_the_entries_are_those_of_the_new_path(chat: fanfold.Session) -> None:
    first = chat.merge(HISTORY).entries
    forked = chat.merge([*HISTORY[:3], {"role": "user", "content": "Something else."}])
    assert forked.forked
    assert forked.entries[:2] == first[:2]
    assert forked.entries[2] == (chat.head,) != first[2]


def test_merge_gives_back_what_it_does_not_keep(chat: fanfold.Session) -> None:
    params = {"temperature": 0.3, "stream": True, "metadata": {"user": "ana"}, "unheard_of": [1, None]}
    merged = chat.merge({"messages": HISTORY, **params})
    assert merged.params == params
    assert merged.known == 0
    assert merged.new == 3


def test_a_reply_goes_behind_the_request_that_it_answers(chat: fanfold.Session) -> None:
    chat.say("first")
    asked = chat.request()
    chat.receive(reply("one", 40), to=asked)
    assert texts(chat) == ["first", "one"]
    assert chat.branches == ()
    assert chat.stats()["billed_tokens"] == 40


def test_if_the_head_moved_on_the_reply_is_a_branch(chat: fanfold.Session) -> None:
    chat.say("first")
    asked = chat.request()
    chat.say("and another thing")
    head, shown = chat.head, texts(chat)
    told = chat.receive(reply("late", 40), to=asked)
    assert told.text == "late"
    assert (chat.head, texts(chat)) == (head, shown)
    (branch,) = chat.branches
    tree = chat._state.log.tree
    assert (tree[branch].message.text, tree[branch].parent) == ("late", asked.sent.tip)
    assert chat.stats()["billed_tokens"] == 40


def test_a_bill_is_that_of_its_own_request(chat: fanfold.Session) -> None:
    chat.say("first")
    one = chat.request(temperature=0.1)
    two = chat.request(temperature=0.2)
    chat.receive(reply("second", 22), to=two)
    chat.receive(reply("first", 11), to=one)
    bills = {number: bill.usage.prompt for number, bill in chat._state.log.bills.items()}
    assert bills == {0: 11, 1: 22}


def test_asked_twice_a_request_is_bound_to_the_same_record(chat: fanfold.Session) -> None:
    chat.say("first")
    one, two = chat.request(), chat.request()
    assert one == two
    assert one.sent is two.sent


def test_a_copy_of_a_request_is_no_request(chat: fanfold.Session) -> None:
    chat.say("first")
    with pytest.raises(fanfold.BadInput, match="to= is what"):
        chat.receive(reply("x"), to=dict(chat.request()))


def test_a_stream_is_bound_to_its_request_too(chat: fanfold.Session) -> None:
    chat.say("first")
    asked = chat.request()
    chat.say("meanwhile")
    events = [{"choices": [{"delta": {"role": "assistant", "content": "late"}, "finish_reason": "stop"}]}]
    with chat.listen(events, to=asked) as heard:
        assert len(list(heard)) == 1
    assert "late" not in "".join(texts(chat))
    assert len(chat.branches) == 1


def test_the_same_with_asyncio() -> None:
    async def main() -> None:
        async with fanfold.aopen("run", window=50_000, dialect="openai.chat", recall=False) as chat:
            await chat.say("first")
            asked = await chat.request()
            await chat.say("meanwhile")
            await chat.receive(reply("late"), to=asked)
            assert len(chat.branches) == 1
            assert await chat.count({"messages": HISTORY}) > 10
            assert await chat.aside(HISTORY, reply("Title")) is not None

    asyncio.run(main())


def test_a_late_reply_outlives_the_process(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    with fanfold.open("run", window=50_000, dialect="openai.chat", store=store) as chat:
        chat.say("first")
        asked = chat.request()
        chat.say("meanwhile")
        chat.receive(reply("late"), to=asked)
    with fanfold.open("run", window=50_000, dialect="openai.chat", store=store) as again:
        (branch,) = again.branches
        assert again._state.log.tree[branch].message.text == "late"


@pytest.mark.parametrize("dialect", ["openai.chat", "openai.responses", "anthropic", "gemini"])
def test_a_request_is_counted_as_the_session_would_count_it(dialect: str) -> None:
    with fanfold.open("run", window=50_000, dialect=dialect, system="You fix builds.") as chat:
        chat.say("Why is it red? " * 20)
        body = chat.request(max_tokens=100)
        before = (chat.head, len(chat._state.log.records))
        assert chat.count(body) == pytest.approx(chat.pressure(max_tokens=100).tokens, abs=8)
        assert (chat.head, len(chat._state.log.records)) == before


def test_a_side_conversation_leaves_the_head_where_it_is(chat: fanfold.Session) -> None:
    chat.merge(HISTORY)
    head, shown = chat.head, texts(chat)
    title = [{"role": "user", "content": "A title for: Why is it red?"}]
    last = chat.aside(title, reply("A red build"))
    assert (chat.head, texts(chat)) == (head, shown)
    tree = chat._state.log.tree
    assert [tree[id].message.text for id in tree.path(last)] == ["A title for: Why is it red?", "A red build"]
    assert chat.branches == (last,)
    records = len(chat._state.log.records)
    assert chat.aside(title, reply("A red build")) == last
    assert len(chat._state.log.records) == records, "the same one writes nothing"


def test_a_side_conversation_shares_what_it_begins_with(chat: fanfold.Session) -> None:
    chat.merge(HISTORY)
    last = chat.aside([*HISTORY[:3], {"role": "user", "content": "Summarize."}])
    assert chat._state.log.tree.path(last)[:2] == chat._state.path[:2]


def test_what_was_said_aside_can_be_erased(tmp_path: Path) -> None:
    store = Memory()
    with fanfold.open("run", window=50_000, dialect="openai.chat", store=store) as chat:
        chat.say("Hello")
        last = chat.aside([{"role": "user", "content": "my secret is hunter2"}])
        assert last is not None
        chat.erase(last, "asked for")
        assert "hunter2" not in str(store._entries)
