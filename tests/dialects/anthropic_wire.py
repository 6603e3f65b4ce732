"""Short ways to write Anthropic's wire, and strategies for whole and broken bodies."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from fanfold.core.message import Call, Image, Message, Opaque, Result, Text, Thinking
from fanfold.core.view import Row
from fanfold.dialects.anthropic.dialect import AnthropicMessages
from fanfold.dialects.dialect import bare_row
from fanfold.testing.provider import Provider

DIALECT = AnthropicMessages()
MODEL = "claude-sonnet-4-5"
PARAMS = {"model": MODEL, "max_tokens": 4_000}
ON = {"type": "enabled", "budget_tokens": 1_024}
PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
HELLO = {"role": "user", "content": "hello"}
JUDGE = Provider(foreign_signatures=True)


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def text(words: str = "hi", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def use(id: str = "t1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "grep", "input": {"pattern": "x"}, **more}


def result(id: str = "t1", content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def thought(words: str = "hm", signature: str = "c2ln") -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": signature}


def served(id: str = "s1") -> dict[str, Any]:
    return {"type": "server_tool_use", "id": id, "name": "web_search", "input": {}}


def found(id: str = "s1") -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": id, "content": []}


def rows(*messages: Any) -> list[Row]:
    """Rows outside of any session: wire messages, `Message`s, or (kind, `Message`)."""
    made = []
    for number, each in enumerate(messages):
        kind, each = each if isinstance(each, tuple) else ("entry", each)
        message = each if isinstance(each, Message) else DIALECT.message(each)
        made.append(replace(bare_row(DIALECT, message, number), kind=kind))
    return made


def sent(some: list[Row], params: Any = PARAMS, **more: Any) -> list[dict[str, Any]]:
    """The messages of a request of these rows."""
    messages: list[dict[str, Any]] = DIALECT.encode(DIALECT.frame((), ()), some, params, **more)["messages"]
    return messages


def repaired(some: list[Row], params: Any = PARAMS) -> list[Row]:
    """The rows with their repairs applied."""
    found = DIALECT.repair(some, params)
    repairs = {covers[0]: shows for covers, shows in found}
    shown_before = {id for covers, _ in found for id in covers[1:]}
    out = []
    for row in some:
        if row.id in shown_before:
            continue
        if row.id not in repairs:
            out.append(row)
            continue
        new = [bare_row(DIALECT, message) for message in repairs[row.id]]
        weight = replace(
            row.weight,
            wire=tuple(body for one in new for body in one.weight.wire),
            faults=tuple(fault for one in new for fault in one.weight.faults),
        )
        calls = tuple(id for one in new for id in one.calls)
        results = tuple(id for one in new for id in one.results)
        shown = tuple(message for one in new for message in one.messages)
        made = replace(
            row, kind="mend", messages=shown, weight=weight, calls=calls, results=results, was=None
        )
        out.append(made)
    return out


def broken_rules(some: list[Row], params: Any = PARAMS) -> set[str]:
    """The names of the rules these rows break, as allowed."""
    allowed = DIALECT.allow(some, params)
    return {violation.rule for violation in DIALECT.check(allowed.rows, allowed.params)}


def verdict(some: list[Row], params: Any = PARAMS) -> str:
    """The scripted provider's word on a request of these rows: the rule it breaks, or nothing."""
    allowed = DIALECT.allow(some, params)
    request = DIALECT.encode(DIALECT.frame((), ()), allowed.rows, allowed.params)
    refused = JUDGE.check("anthropic", request)
    return refused.rule if refused else ""


words = st.sampled_from(["hi", "two words", "ünï", "日本", " padded ", "x" * 50])
blank = st.sampled_from(["", " ", "\n\n"])
ids = st.sampled_from(["t1", "t2", "t3", "t|4", ""])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
extras = st.dictionaries(
    st.sampled_from(["citations", "caller", "x_new", "cache_control"]), json_values, max_size=2
)
inner = st.builds(text, words | blank) | st.just(PNG) | st.just({"type": "x_new", "a": 1})
contents = words | blank | st.lists(inner, max_size=3) | st.none()
block = st.one_of(
    st.builds(lambda t, more: {**text(t), **more}, words | blank, extras),
    st.builds(lambda name, given, more: {**use(name), "input": given, **more}, ids, json_values, extras),
    st.builds(lambda name, content, more: {**result(name, content), **more}, ids, contents, extras),
    st.builds(thought, words, st.sampled_from(["c2ln", ""])),
    st.just({"type": "redacted_thinking", "data": "ZGF0YQ=="}),
    st.just(PNG),
    st.builds(served, st.sampled_from(["s1", "s2"])),
    st.builds(found, st.sampled_from(["s1", "s2"])),
    st.just({"type": "compaction", "content": "so far"}),
    st.just({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}),
)
odd_block = (
    block | json_values | st.dictionaries(st.just("type"), st.sampled_from(["x_new", "text", "tool_use"]))
)
roles = st.sampled_from(["user", "user", "assistant", "assistant", "system"])
message = st.builds(
    lambda role, content, more: {"role": role, "content": content, **more},
    roles,
    words | blank | st.lists(odd_block, max_size=4),
    st.dictionaries(st.sampled_from(["id", "x_new"]), json_values, max_size=1),
)
sendable = st.builds(
    lambda role, content: {"role": role, "content": content},
    roles,
    words | blank | st.lists(block, max_size=4),
)
said = st.builds(lambda t: Message("user", (Text(t),)), words)
raws = st.sampled_from(["", "[1]", "{", '{"a":NaN}'])


def answer(name: str, *parts: Any, error: bool = False) -> Message:
    """What a tool gave back, recorded by itself."""
    return Message("tool", (Result(name, parts or (Text("ok"),), error),))


def calling(some: list[str], raw: str = "{}") -> Message:
    """An assistant message that came over another wire."""
    return Message(
        "assistant", (Thinking("hm", "other"), Text("so"), *(Call(one, "grep", raw) for one in some))
    )


loose = st.one_of(
    said,
    st.tuples(st.sampled_from(["note", "fold", "drop"]), said),
    st.builds(answer, ids),
    st.builds(lambda name: answer(name, Image("image/tiff", "AA"), Text(""), error=True), ids),
    st.builds(calling, st.lists(ids, max_size=2), raws),
    st.just(Message("assistant", (Thinking("hm", "other"),))),
    st.just(Message("system", (Text("Be brief."),))),
    st.just(Message("assistant", (Opaque("cut", {"call": {}}), Opaque("gemini", {"x": 1})))),
)
