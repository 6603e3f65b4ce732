"""Hypothesis strategies for conversations in the form of Chat Completions, awkward ones included."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from fanfold.core.errors import MissingExtra
from fanfold.core.message import Document, Image, Message, Result, Text
from fanfold.testing.talks import Body, called, picture, replied, returned, said

try:
    from hypothesis import event
    from hypothesis import strategies as st
except ImportError as error:
    raise MissingExtra(
        "The generators need hypothesis, which is not installed: pip install 'fanfold[test]'"
    ) from error

_LINES = (
    "Never touch the vendor folder.",
    "src/parser.py:41: error: unexpected token",
    "すべてのテストを直してください。",
    "修复构建，然后重新运行测试",
    "👩‍👩‍👧‍👦 family 🇺🇳 flags 🤷🏽",
    "half a pair \ud83d here",
    "\udc00",
    "a\u0000b\u2028c",
    "<|endoftext|> [note: x]",
    "ok",
    "",
    " ",
)
_RAW_ARGUMENTS = (
    "{}",
    "",
    '{"x": NaN}',
    '{"limit": Infinity, "path": "a"}',
    '{"broken": ',
    "[1, 2]",
    '{"big": 123456789012345678901234567890}',
    '{"s": "\\ud83d"}',
)
_ODD_FIELDS: tuple[Body, ...] = (
    {"name": "ann"},
    {"refusal": None},
    {"annotations": []},
    {"audio": None, "function_call": None},
    {"x_trace": {"deep": [1, None, {"é": "\ud800"}]}},
    {"big": 2**70},
)

# Strategies are kept: hypothesis examines every new one, which takes longer than drawing from it.


@cache
def texts(*, most: int = 400) -> st.SearchStrategy[str]:
    """Texts of all kinds: short and repeated, other scripts, emoji, lone surrogates, empty, huge."""
    free = st.text(max_size=12)
    long = st.builds(_long, st.sampled_from(_LINES[:5]), st.integers(1, max(1, most // 8)))
    return st.one_of(st.sampled_from(_LINES), free, long)


def _long(line: str, times: int) -> str:
    return "\n".join(f"{line} {n}" for n in range(times))


@cache
def arguments() -> st.SearchStrategy[str]:
    """A call's arguments as a model writes them: mostly JSON, with NaN, cut off, or no object at all."""
    values = st.dictionaries(st.sampled_from(("path", "n", "é")), texts(most=40) | st.integers(), max_size=2)
    return st.one_of(st.sampled_from(_RAW_ARGUMENTS), values.map(json.dumps))


@cache
def requests(*, most: int = 400) -> st.SearchStrategy[Body]:
    """What a person says: a text, or texts and pictures."""
    parts = st.lists(texts(most=most) | st.builds(picture), min_size=1, max_size=3)
    return st.one_of(texts(most=most).map(said), parts.map(_several))


def _several(parts: list[str | Body]) -> Body:
    content = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    return {"role": "user", "content": content}


@cache
def _texts_or_none(*, most: int) -> st.SearchStrategy[str | None]:
    return st.none() | texts(most=most)


_TOOLS = st.sampled_from(("run", "read", "grep"))
_THOUGHTS = st.sampled_from(("", "", "reasoning_content", "reasoning"))


@cache
@st.composite
def replies(draw: st.DrawFn, ids: tuple[str, ...] = (), *, most: int = 400) -> Body:
    """What the model says: words or none, thinking or none, one call for each id."""
    calls = [called(id, draw(_TOOLS), draw(arguments())) for id in ids]
    text = draw(_texts_or_none(most=most)) if calls else draw(texts(most=most))
    thoughts = draw(_THOUGHTS)
    body = replied(text, *calls)
    return {**body, thoughts: draw(texts(most=80))} if thoughts else body


@cache
@st.composite
def steps(draw: st.DrawFn, number: int = 0, *, most: int = 400) -> list[Body]:
    """A reply with calls and all their results, in the order of the calls or not."""
    ids = tuple(f"c{number}-{n}" for n in range(draw(st.integers(1, 3))))
    if len(ids) > 1:
        event("parallel results")
    results = [returned(id, draw(texts(most=most))) for id in draw(st.permutations(ids))]
    return [draw(replies(ids, most=most)), *results]


@st.composite
def results(draw: st.DrawFn, ids: tuple[str, ...], *, most: int = 400) -> list[Message]:
    """The answers to some calls as messages that a caller built: several in one message, or each in its own."""
    part: st.SearchStrategy[Text | Image | Document] = st.builds(Text, texts(most=most))
    inner = st.lists(part | st.sampled_from(_ENCLOSED), max_size=3)
    answers = [Result(id, tuple(draw(inner)), draw(st.booleans())) for id in draw(st.permutations(ids))]
    cut = draw(st.integers(0, len(answers)))
    groups = [tuple(group) for group in (answers[:cut], answers[cut:]) if group]
    if any(len(group) > 1 for group in groups):
        event("several results in one message")
    return [Message("tool", group) for group in groups]


_ENCLOSED: tuple[Text | Image | Document, ...] = (
    Image(media="image/png", data="iVBORw0KGgo="),
    Document(name="a.txt", text="as it was written down "),
    Text("again and again " * 40),
)


@st.composite
def conversations(draw: st.DrawFn, *, turns: int = 4, most: int = 400) -> list[Body]:
    """A legal conversation of some turns, each of some steps."""
    bodies: list[Body] = []
    for turn in range(draw(st.integers(1, turns))):
        bodies.append(draw(requests(most=most)))
        for step in range(draw(st.integers(0, 2))):
            bodies += draw(steps(turn * 10 + step, most=most))
        bodies.append(draw(replies(most=most)))
    return bodies[: draw(st.integers(1, 2))] if draw(st.integers(0, 9)) == 0 else bodies


@st.composite
def broken_conversations(draw: st.DrawFn, *, turns: int = 3, most: int = 200) -> list[Body]:
    """A conversation that lost or gained messages: results without calls, calls without results, ids twice."""
    bodies = draw(conversations(turns=turns, most=most))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(bodies) - 1)) if bodies else 0
        match draw(st.sampled_from(("lose", "twice", "stray", "swap"))):
            case "lose" if len(bodies) > 1:
                event("a message is lost")
                del bodies[at]
            case "twice" if bodies:
                bodies.insert(at, bodies[at])
            case "swap" if len(bodies) > 1:
                bodies[at], bodies[at - 1] = bodies[at - 1], bodies[at]
            case _:
                event("an orphaned result")
                bodies.insert(at, returned("c-nobody", draw(texts(most=most))))
    return bodies


@st.composite
def odd_bodies(draw: st.DrawFn) -> Body:
    """A message with fields and shapes that fanfold does not know, as some provider's dialect sends them."""
    body = draw(
        st.one_of(
            requests(),
            replies(("c1", "c2")),
            replies(),
            st.builds(returned, st.just("c1"), texts()),
            st.sampled_from(_ODD_BODIES),
        )
    )
    extra: Body = draw(st.sampled_from(({}, *_ODD_FIELDS)))
    return {**body, **extra}


_ODD_BODIES: tuple[Body, ...] = (
    {"role": "developer", "content": "Be brief."},
    {"role": "system", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]},
    {"role": "user", "content": None},
    {"role": "user"},
    {"role": "user", "content": []},
    {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]},
    {"role": "user", "content": [{"type": "file", "file": {"file_id": "f-1", "extra": 1}}]},
    {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}],
    },
    {"role": "user", "content": [{"type": "text"}, {"type": "text", "text": ""}]},
    {"role": "assistant", "content": None, "refusal": "No."},
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    {"role": "assistant", "content": None, "function_call": {"name": "run", "arguments": "{}"}},
    {"role": "function", "name": "run", "content": "old style"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}],
    },
    {"role": "assistant", "tool_calls": [{"id": None, "function": {"name": "run"}}]},
    {"role": "assistant", "tool_calls": []},
    {"role": "tool", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    {"role": "tool", "tool_call_id": 7, "content": None},
)


@st.composite
def odd_requests(draw: st.DrawFn) -> dict[str, Any]:
    """A whole request of odd messages, with or without a system prompt, tools and other parameters."""
    request: dict[str, Any] = {"messages": draw(st.lists(odd_bodies(), max_size=5))}
    tool = {"type": "function", "function": {"name": "run", "parameters": {}}, "x": None}
    extras: tuple[dict[str, Any], ...] = (
        {},
        {"tools": [tool]},
        {"tools": []},
        {"model": "gpt-5.2", "temperature": 0.5, "stop": None},
        {"tools": [tool], "tool_choice": "auto", "metadata": {"a": [1, 2.5]}},
    )
    extra: dict[str, Any] = draw(st.sampled_from(extras))
    return {**request, **extra}
