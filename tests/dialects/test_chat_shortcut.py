"""The shortcut of the Chat rules says of no message that it is plain which a rule would refuse."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text, Thinking
from fanfold.dialects.chat.read import OLD
from fanfold.dialects.chat.rules import BODY, LONGEST_TEXT, MESSAGE, is_plain
from fanfold.dialects.registry import CHAT, dialect_named
from fanfold.testing.generators import odd_bodies
from tests.dialects.odd_bodies import talk

Body = dict[str, Any]
ROLES = ("user", "assistant", "tool", "system", "developer", "function")
IDS = ("c1", "c2", "", "x" * 41, OLD)
CONTENTS = ("", "Hi.", "x" * (LONGEST_TEXT + 1), None, [], [{"type": "text", "text": "a"}])
CALLS: tuple[Any, ...] = (
    {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}},
    {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}},
    {"id": "c2", "type": "function", "function": {"name": "bad name!", "arguments": "{}"}},
    {"id": "c3", "type": "function", "function": {"name": "run", "arguments": {}}},
    {"id": "x" * 41, "type": "function", "function": {"name": "run", "arguments": "{}"}},
    {"id": None, "function": {"name": "run"}},
)


def mixed_bodies() -> st.SearchStrategy[Body]:
    """Any fields that a message of Chat has, with any role."""
    optional = {
        "content": st.sampled_from(CONTENTS),
        "tool_calls": st.none() | st.lists(st.sampled_from(CALLS), max_size=3),
        "tool_call_id": st.sampled_from((*IDS, None, 7)),
        "function_call": st.sampled_from((None, {}, {"name": "run", "arguments": "{}"})),
        "refusal": st.sampled_from((None, "", "No.")),
        "audio": st.sampled_from((None, {"id": "a"})),
    }
    return st.fixed_dictionaries({"role": st.sampled_from(ROLES)}, optional=optional)


def parts() -> st.SearchStrategy[Part]:
    ids = st.sampled_from(IDS)
    others = (Text("Hi."), Text(""), Image(media="image/png", data="AA=="), Document(name="a", text="b"))
    return st.one_of(
        st.sampled_from((*others, Thinking("hm"), Opaque(CHAT, {"type": "x"}))),
        st.builds(Call, ids, st.sampled_from(("run", "bad name!", "")), st.sampled_from(("{}", ""))),
        st.builds(Result, ids, st.sampled_from(((), (Text("a"),), (Text("a"), Text("b"))))),
    )


def messages() -> st.SearchStrategy[Message]:
    """Messages that came over no wire, with parts that their role can hardly have."""
    roles = st.sampled_from(("user", "assistant", "tool", "system"))
    return st.builds(Message, roles, st.lists(parts(), max_size=3).map(tuple))


def agrees(message: Message) -> None:
    bodies = dialect_named(CHAT).wire(message)
    broken = [rule.__name__ for rule in MESSAGE if rule(message)]
    broken += [rule.__name__ for body in bodies for rule in BODY if rule(body)]
    assert not (is_plain(message, bodies) and broken), (broken, message)


@given(st.randoms(use_true_random=False))
def test_odd_talks(random: Random) -> None:
    for body in talk(CHAT, random):
        agrees(dialect_named(CHAT).message(body))


@given(odd_bodies() | mixed_bodies())
@example({"role": "user", "content": "x" * (LONGEST_TEXT + 1)})
@example({"role": "assistant", "content": None, "tool_calls": list(CALLS[:2])})
@example({"role": "user", "content": "Hi.", "function_call": {"name": "run", "arguments": "{}"}})
@example({"role": "tool", "content": "Hi.", "tool_call_id": "x" * 41})
def test_bodies(body: Body) -> None:
    agrees(dialect_named(CHAT).message(body))


@given(messages())
@example(Message("assistant", (Result("c1", (Text("a"),)),)))
@example(Message("assistant", (Result(OLD, (Text("a"),)),)))
def test_messages_without_a_wire_form(message: Message) -> None:
    agrees(message)
