"""OpenAI Responses: nothing is lost on the way in and out, and an elide changes exactly one part."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from responses_builders import (
    DIALECT,
    EVERY_CALL,
    EVERY_OUTPUT,
    approval,
    called,
    custom,
    patch,
    refused,
    replied,
    request,
    returned,
    said,
    shell,
    thought,
)

from fanfold.core.errors import BadInput, BadMessage
from fanfold.core.message import Call, Document, Image, Message, Opaque, Result, Text, Thinking, replace_part
from fanfold.dialects.dialect import decode, encode
from fanfold.testing.checks import check_dialect

texts = st.text(max_size=12) | st.sampled_from(["", " ", "漢字 🙂", "\ud800", "line\n" * 3])
numbers = st.integers() | st.sampled_from([2**70, -(2**64)]) | st.floats(allow_nan=False)
values = st.recursive(
    texts | numbers | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
unknown = st.dictionaries(st.sampled_from(["x_new", "metadata", "status", "phase"]), values, max_size=2)
ids = st.sampled_from(["c1", "c2", "", "c" * 80])
blocks = st.one_of(
    st.builds(lambda text, more: {"type": "input_text", "text": text, **more}, texts, unknown),
    st.builds(lambda text: {"type": "output_text", "text": text, "annotations": []}, texts),
    st.builds(lambda text: {"type": "refusal", "refusal": text}, texts),
    st.builds(lambda url: {"type": "input_image", "image_url": url, "detail": "low"}, texts),
    st.builds(lambda file: {"type": "input_image", "file_id": file}, texts),
    st.builds(lambda data: {"type": "input_file", "file_data": data, "filename": "a.pdf"}, texts),
    values,
)
roles = st.sampled_from(["user", "assistant", "system", "developer"])
messages = st.builds(
    lambda role, content, kind, more: {"role": role, "content": content, **kind, **more},
    roles,
    texts | st.lists(blocks, max_size=3) | values,
    st.sampled_from([{}, {"type": "message"}]),
    unknown,
)
calls = st.builds(
    lambda call, raw, name, more: {**called(call, raw, name), **more},
    ids,
    texts | values,
    texts | values,
    unknown,
)
outputs = st.builds(
    lambda call, output, more: {**returned(call, output), **more},
    ids,
    texts | st.lists(blocks, max_size=2),
    unknown,
)
others = st.builds(
    lambda kind, fields, more: {"type": kind, **fields, **more},
    st.sampled_from([*EVERY_OUTPUT, *(call()["type"] for call in EVERY_CALL), "reasoning", "compaction"])
    | st.sampled_from(["web_search_call", "brand_new_item", "item_reference", "mcp_approval_response"]),
    st.dictionaries(
        st.sampled_from(["call_id", "id", "output", "action", "summary", "encrypted_content", "tools"]),
        values,
        max_size=4,
    ),
    unknown,
)
items = messages | calls | outputs | others | st.builds(thought, texts, texts)
requests = st.builds(
    lambda given, more: {"model": "gpt-5.2", "input": given, **more},
    texts | st.lists(items, max_size=6),
    st.dictionaries(
        st.sampled_from(["instructions", "tools", "store", "include", "previous_response_id", "x_new"]),
        values,
        max_size=3,
    ).map(lambda more: {k: v for k, v in more.items() if k != "tools" or _are_tools(v)}),
)


def _are_tools(value):
    return not isinstance(value, list) or all(isinstance(tool, dict) for tool in value)


def through(body):
    frame, read, params = decode(DIALECT, body)
    return encode(DIALECT, frame, read, params)


@given(requests)
def test_every_request_comes_back_as_it_was(body):
    assert through(body) == body


@given(st.lists(messages | calls | outputs, max_size=5))
def test_calls_results_and_texts_are_what_the_wire_says(body):
    read = [DIALECT.message(item) for item in body]
    assert [(c.id, c.name, c.raw) for m in read for c in m.calls if _is_text_call(m)] == [
        (item["call_id"], item["name"], item["arguments"])
        for item in body
        if item.get("type") == "function_call"
        and isinstance(item["name"], str)
        and isinstance(item["arguments"], str)
    ]
    assert [result.call for m in read for result in m.results] == [
        item["call_id"] for item in body if item.get("type") == "function_call_output"
    ]
    assert [m.text for m in read if m.role in ("user", "system")] == [
        _spoken(item["content"]) for item in body if item.get("role") in ("user", "system", "developer")
    ]


def _is_text_call(message):
    body = message.wire.body
    return isinstance(body["arguments"], str) and isinstance(body["name"], str)


def _spoken(content):
    """An independent reading of a message's words."""
    if isinstance(content, str):
        return content
    found = []
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict):
            text = {"refusal": block.get("refusal")}.get(str(block.get("type")), block.get("text"))
            found += [text] if isinstance(text, str) and block.get("type") else []
    return "\n".join(found)


def test_a_text_as_input_stays_a_text():
    assert through({"model": "m", "input": "hello"}) == {"model": "m", "input": "hello"}


def test_nan_in_an_action_is_kept():
    call = shell(action={"commands": [], "timeout_ms": math.nan})
    assert repr(through(request(call))) == repr(request(call))
    assert DIALECT.message(call).calls[0].raw == '{"commands":[],"timeout_ms":NaN}'


def test_the_public_check_for_dialects_is_content():
    bodies = [request(said(), thought("t"), make(), EVERY_OUTPUT[make()["type"]]) for make in EVERY_CALL]
    check_dialect(
        DIALECT, *bodies, request(said()) | {"instructions": "Be brief.", "tools": [{"type": "function"}]}
    )


def test_parts_are_what_they_are():
    assert DIALECT.message(thought("hm", "seal")).parts == (Thinking("hm", "seal"),)
    assert DIALECT.message(custom()).parts == (Call("c1", "apply", "*** Begin"),)
    assert DIALECT.message(patch()).calls[0].args["path"] == "a.py"
    assert DIALECT.message(approval()).parts == (Call("mcpr_1", "go", "{}"),)
    assert DIALECT.message(EVERY_OUTPUT["shell_call"]).results[0].text == "a\nb"
    screen = DIALECT.message(EVERY_OUTPUT["computer_call"]).results[0]
    assert screen.parts == (Image(media="image/png", data="AA=="),)
    compaction = {"type": "compaction", "encrypted_content": "x"}
    assert DIALECT.message(compaction) == Message(
        "assistant", (Opaque("openai.responses", compaction),), DIALECT.message(compaction).wire
    )
    pdf = {"type": "input_file", "file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"}
    assert DIALECT.message(said() | {"content": [pdf]}).parts == (
        Document(media="application/pdf", data="AA", name="a.pdf"),
    )


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"model": "m", "input": [said(), 5]}, r"messages\[1\]"),
        ({"model": "m", "input": ["hello"]}, r"input\[0\]"),
        ({"model": "m", "input": [{"role": "tool", "content": "x"}]}, r"messages\[0\].*'tool'"),
        ({"model": "m", "input": [{"content": "x"}]}, r"messages\[0\]"),
        ({"model": "m", "input": 5}, "input"),
        ({"model": "m", "messages": []}, "Chat Completions"),
        ({"model": "m", "contents": []}, "Gemini"),
    ],
)
def test_what_is_no_request_is_refused_with_the_place(body, where):
    with pytest.raises(BadMessage, match=where):
        decode(DIALECT, body)


@given(items)
def test_an_elide_changes_exactly_one_part(item):
    was = DIALECT.message(item)
    for number, part in enumerate(was.parts):
        if isinstance(part, Thinking):
            continue
        parts = (*was.parts[:number], replace_part(part, "gone"), *was.parts[number + 1 :])
        (body,) = DIALECT.wire(Message(was.role, parts), was)
        again = DIALECT.message(body)
        same = [i for i in range(len(was.parts)) if i != number]
        assert [again.parts[i] for i in same] == [was.parts[i] for i in same]
        if again.wire.body.get("type") == item.get("type"):
            kept = {
                "content",
                "output",
                "arguments",
                "input",
                "action",
                "operation",
                "tools",
                "reason",
                "actions",
            }
            assert {k: v for k, v in body.items() if k not in kept} == {
                k: v for k, v in item.items() if k not in kept
            }


@pytest.mark.parametrize("make", EVERY_CALL)
def test_an_elided_call_and_output_of_every_kind_stay_legal(make):
    call, output = make(), EVERY_OUTPUT[make()["type"]]
    shown = []
    for item in (call, output):
        was = DIALECT.message(item)
        shown += DIALECT.wire(Message(was.role, tuple(replace_part(part, "gone") for part in was.parts)), was)
    assert refused(request(said(), *shown)) == ""
    assert [item["type"] for item in shown] == [call["type"], output["type"]]


def test_references_become_the_items_they_name():
    recorded = [DIALECT.message(item) for item in (said("a"), replied("b", id="msg_1"))]
    asked = {"input": [{"type": "item_reference", "id": "msg_1"}, said("c")], "model": "m"}
    assert DIALECT.whole(asked, lambda: (recorded, {}))["input"] == [replied("b", id="msg_1"), said("c")]
    chained = {"input": "more", "previous_response_id": "resp_1"}
    assert DIALECT.whole(chained, lambda: (recorded, {"resp_1": 2})) == {
        "input": [said("a"), replied("b", id="msg_1"), {"role": "user", "content": "more"}]
    }


@pytest.mark.parametrize(
    "body",
    [
        {"input": [{"type": "item_reference", "id": "msg_9"}]},
        {"input": "x", "previous_response_id": "resp_9"},
        {"input": "x", "conversation": "conv_1"},
    ],
)
def test_an_unknown_reference_says_what_to_do(body):
    with pytest.raises(BadInput, match="Send the whole input"):
        DIALECT.whole(body, lambda: ([], {}))


def test_arguments_given_as_an_object_are_read():
    call = DIALECT.message(called(arguments={"a": [1, 2]})).calls[0]
    assert json.loads(call.raw) == {"a": [1, 2]}


def test_a_result_written_here_reads_back():
    (item,) = DIALECT.wire(Message("tool", (Result("c1", (Text("a"), Image(url="http://x/y.png"))),)))
    assert item["output"] == [
        {"type": "input_text", "text": "a"},
        {"type": "input_image", "image_url": "http://x/y.png"},
    ]
    assert DIALECT.message(item).results[0].parts == (Text("a"), Image(url="http://x/y.png"))
