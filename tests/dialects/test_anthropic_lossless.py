"""What came over Anthropic's wire goes back over it unchanged, and is read as what it says."""

import json

import pytest
from anthropic_wire import (
    DIALECT,
    HELLO,
    PARAMS,
    PNG,
    assistant,
    found,
    message,
    result,
    served,
    text,
    thought,
    use,
    user,
)
from hypothesis import given
from hypothesis import strategies as st

from fanfold.core.errors import BadMessage
from fanfold.core.message import Call, Image, Opaque, Result, Text, Thinking, replace_part
from fanfold.dialects.dialect import decode, encode

SYSTEMS = st.sampled_from(
    [None, "", [], "Be brief.", ["odd"], [text("a"), text("b", cache_control={"x": 1})], 7]
)
TOOLS = st.sampled_from([None, [], [{"name": "grep", "input_schema": {}}], "odd", [None]])


def same(one, other):
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(st.lists(message, max_size=6), SYSTEMS, TOOLS, st.dictionaries(st.sampled_from("ab"), st.integers()))
def test_every_body_comes_back_as_it_was(messages, system, tools, more):
    body = {**PARAMS, "messages": messages, "system": system, "tools": tools, **more}
    assert same(encode(DIALECT, *decode(DIALECT, body)), body)


@given(st.lists(message, max_size=6))
def test_a_bare_list_is_a_transcript(messages):
    assert same(encode(DIALECT, *decode(DIALECT, messages)), {"messages": messages})


def extracted(body):
    """Calls, results, texts and thoughts of a message, found by another way than the dialect's."""
    content = body["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) and content else content
    heard = {"calls": [], "results": [], "texts": [], "thoughts": []}
    for block in [block for block in blocks or () if isinstance(block, dict)]:
        kind = block.get("type")
        if kind == "tool_use" and isinstance(block.get("id"), str) and isinstance(block.get("name"), str):
            heard["calls"].append((block["id"], block["name"]))
        if kind == "tool_result" and isinstance(block.get("tool_use_id"), str):
            heard["results"].append((block["tool_use_id"], block.get("is_error") is True))
        if kind == "text" and isinstance(block.get("text"), str):
            heard["texts"].append(block["text"])
        if kind == "thinking" and isinstance(block.get("thinking"), str):
            heard["thoughts"].append(block["thinking"])
    return heard


@given(message)
def test_calls_results_and_texts_are_those_of_the_body(body):
    read = DIALECT.message(body)
    assert extracted(body) == {
        "calls": [(call.id, call.name) for call in read.calls],
        "results": [(answer.call, answer.error) for answer in read.results],
        "texts": [part.text for part in read.parts if isinstance(part, Text)],
        "thoughts": [part.text for part in read.parts if isinstance(part, Thinking) and part.text],
    }


@given(message, st.integers(0, 5), st.sampled_from(["short", "[trimmed; ref=o1]"]))
def test_an_elide_changes_exactly_one_part(body, number, words):
    was = DIALECT.message(body)
    if number >= len(was.parts) or isinstance(was.parts[number], Thinking):
        return
    parts = list(was.parts)
    parts[number] = replace_part(parts[number], words)
    after = type(was)(was.role, tuple(parts))
    (wire,) = DIALECT.wire(after, was)
    assert {**wire, "content": 0} == {**body, "content": 0} or same(
        {**wire, "content": 0}, {**body, "content": 0}
    )
    if isinstance(body["content"], str):
        assert wire["content"] == words
        return
    others = [i for i in range(len(body["content"])) if i != number]
    assert same([wire["content"][i] for i in others], [body["content"][i] for i in others])
    assert DIALECT.message(wire).parts[number] == parts[number]
    assert same(body, was.wire.body), "what was received is not touched"


def test_a_call_keeps_all_but_its_input_when_elided():
    was = DIALECT.message(assistant(thought(), use(caller={"type": "direct"})))
    after = type(was)("assistant", (was.parts[0], replace_part(was.parts[1], "long")))
    (wire,) = DIALECT.wire(after, was)
    assert wire == assistant(thought(), use(caller={"type": "direct"}, input={"_elided": "long"}))


def test_blocks_are_read_as_what_they_are():
    read = DIALECT.message(
        assistant(
            thought(),
            text("so"),
            use(input={"a": [1, None]}),
            served(),
            found(),
            {"type": "redacted_thinking", "data": "eA=="},
        )
    )
    assert read.parts == (
        Thinking("hm", "c2ln"), Text("so"), Call("t1", "grep", '{"a":[1,null]}'),
        Opaque("anthropic", served()), Opaque("anthropic", found()), Thinking("", "eA=="),
    )  # fmt: skip
    told = DIALECT.message(user(result(content=[text("a"), PNG], is_error=True)))
    assert told.parts == (Result("t1", (Text("a"), Image("image/png", "AAAA")), True),)


def test_arguments_that_json_has_no_word_for_stay_as_text():
    read = DIALECT.message(assistant(use(input={"a": float("nan"), "b": 2**80, "c": "\ud800"})))
    assert read.calls[0].raw == '{"a":NaN,"b":1208925819614629174706176,"c":"\ud800"}'


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("hello", r"messages\[3\] is str"),
        ({"role": "tool", "content": "x"}, r"messages\[3\] has the role 'tool'"),
        ({"content": "x"}, r"messages\[3\] has the role None"),
    ],
)
def test_what_is_no_message_is_refused_with_its_place(body, words):
    with pytest.raises(BadMessage, match=words):
        DIALECT.message(body, "messages[3]")


def test_a_request_without_messages_is_refused():
    with pytest.raises(BadMessage, match="list of messages"):
        DIALECT.split({"contents": []})


def test_merge_can_compare_what_split_gives():
    messages = [HELLO]
    assert DIALECT.split({"messages": messages}).messages is messages


def test_a_system_prompt_stays_the_text_or_the_blocks_it_was():
    for system in ("Be brief.", [text("Be"), text("brief.")]):
        assert encode(DIALECT, *decode(DIALECT, {"messages": [], "system": system}))["system"] == system
    frame = DIALECT.frame(({"role": "system", "content": "Be brief."},), ())
    assert DIALECT.encode(frame, [], {})["system"] == [text("Be brief.")]
