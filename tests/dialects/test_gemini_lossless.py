"""What came over Gemini's wire goes back over it unchanged, and is read as what it says."""

import copy
import json

import pytest
from gemini_wire import DIALECT, HELLO, NEWER, SIGNATURE, call, contents, model, odd, response, text, user
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from fanfold.core.errors import BadMessage
from fanfold.core.message import Call, Document, Image, Opaque, Result, Text, Thinking, replace_part
from fanfold.dialects.dialect import decode, encode
from fanfold.testing.checks import check_dialect

SYSTEMS = st.sampled_from(
    [
        None,
        "",
        "Be brief.",
        {"parts": [{"text": "Be brief."}]},
        [{"text": "a"}, "b"],
        [],
        {"text": "part"},
        7,
        [None],
    ]
)
TOOLS = st.sampled_from(
    [None, [], [{"functionDeclarations": [{"name": "grep"}]}, {"googleSearch": {}}], "odd", [1]]
)
MORE = st.dictionaries(st.sampled_from(["generationConfig", "toolConfig", "x_new"]), odd, max_size=2)


def same(one, other):
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def comes_back(body, dialect=DIALECT):
    given = copy.deepcopy(body)
    back = encode(dialect, *decode(dialect, body))
    return same(back, given) and same(body, given)


@given(
    st.lists(contents, max_size=6),
    SYSTEMS,
    TOOLS,
    MORE,
    st.sampled_from(["systemInstruction", "system_instruction"]),
)
def test_every_rest_body_comes_back_as_it_was(listed, system, tools, more, key):
    body = {"contents": listed, key: system, "tools": tools, **more}
    assert comes_back({name: value for name, value in body.items() if value is not None})
    assert comes_back(body, NEWER)


@given(
    st.lists(contents, max_size=4),
    SYSTEMS,
    TOOLS,
    st.sampled_from(["systemInstruction", "system_instruction"]),
)
def test_the_keyword_arguments_of_the_sdk_come_back_as_they_were(listed, system, tools, key):
    config = {key: system, "tools": tools, "max_output_tokens": 9}
    assert comes_back({"model": "m", "contents": listed, "config": config})


@pytest.mark.parametrize(
    "body",
    [
        {"contents": "hello"},
        {"model": "m", "contents": "hello", "config": {}},
        {"contents": ["a", "b"]},
        {"contents": HELLO},
        {"contents": {"text": "x"}, "tools": [{"googleSearch": {}}]},
        {"contents": [], "config": None},
        {"contents": [HELLO], "systemInstruction": "a text"},
    ],
)
def test_short_forms_come_back_as_they_were(body):
    assert comes_back(body)


def test_a_bare_list_is_a_transcript():
    assert encode(DIALECT, *decode(DIALECT, [HELLO, "and"])) == {"contents": [HELLO, "and"]}


def test_every_check_of_a_dialect_passes():
    loop = [HELLO, model(call(id="a"), call()), user(response(id="a"), response())]
    check_dialect(DIALECT, {"contents": loop}, {"contents": loop, "tools": [{"functionDeclarations": []}]})


def either(body, *names):
    return next((body[name] for name in names if body.get(name) is not None), None)


def extracted(body):
    """Names of calls and responses, texts and thoughts, found by another way than the dialect's."""
    parts = [{"text": body}] if isinstance(body, str) else body.get("parts")
    if parts is None and isinstance(body, dict) and "text" in body:
        parts = [body]
    heard = {"calls": [], "results": [], "texts": [], "thoughts": []}
    for part in parts if isinstance(parts, list) else [parts]:
        if not isinstance(part, dict):
            continue
        asked, told = (
            either(part, "functionCall", "function_call"),
            either(part, "functionResponse", "function_response"),
        )
        if asked and isinstance(part.get("text"), str):
            continue
        if asked and isinstance(asked.get("name"), str):
            heard["calls"].append((asked["name"], json.dumps(asked.get("args") or {}, sort_keys=True)))
        elif told:
            heard["results"].append(told["name"])
        elif isinstance(part.get("text"), str):
            silent = part.get("thought") or (part.get("thoughtSignature") and not part["text"])
            heard["thoughts" if silent else "texts"].append(part["text"])
    return heard


@given(contents)
def test_calls_results_and_texts_are_those_of_the_body(body):
    read = DIALECT.message(body)
    assert extracted(body) == {
        "calls": [(each.name, json.dumps(json.loads(each.raw), sort_keys=True)) for each in read.calls],
        "results": [each.name for each in read.results],
        "texts": [part.text for part in read.parts if isinstance(part, Text)],
        "thoughts": [part.text for part in read.parts if isinstance(part, Thinking)],
    }


@given(contents, st.integers(0, 3))
def test_an_elide_changes_exactly_one_part(body, at):
    was = DIALECT.message(body)
    if at >= len(was.parts) or isinstance(was.parts[at], Thinking | Opaque):
        return
    parts = [replace_part(part, "[gone]") if i == at else part for i, part in enumerate(was.parts)]
    (after,) = DIALECT.wire(type(was)(was.role, tuple(parts)), was)
    assert DIALECT.message(after).parts == tuple(parts)
    if isinstance(body, dict) and isinstance(body.get("parts"), list):
        others = [part for i, part in enumerate(body["parts"]) if i != at]
        assert same([part for i, part in enumerate(after["parts"]) if i != at], others)
        assert same({**after, "parts": 0}, {**body, "parts": 0})


def test_an_edited_call_loses_its_signature_and_keeps_name_and_id():
    was = DIALECT.message(model(call(id="a", signed=SIGNATURE)))
    (after,) = DIALECT.wire(type(was)(was.role, (replace_part(was.parts[0], "[gone]"),)), was)
    assert after["parts"] == [{"functionCall": {"name": "grep", "args": {"_elided": "[gone]"}, "id": "a"}}]


def test_every_kind_of_part_is_read():
    read = DIALECT.message(
        model(
            text("hm", thought=True),
            text("", thoughtSignature=SIGNATURE),
            text("words"),
            {"inlineData": {"mimeType": "image/png", "data": "AA=="}},
            {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://a/b"}},
            call(args={"n": float("nan")}),
            {"executableCode": {"code": "1"}},
        )
    )
    assert read.role == "assistant"
    assert read.parts[:6] == (
        Thinking("hm"),
        Thinking("", SIGNATURE),
        Text("words"),
        Image("image/png", "AA=="),
        Document("application/pdf", url="gs://a/b"),
        Call("grep", "grep", '{"n":NaN}'),
    )
    assert isinstance(read.parts[6], Opaque)


def test_calls_without_ids_are_counted_by_name_and_so_are_their_responses():
    asked = DIALECT.message(model(call(), call("read"), call(), call(id="x"), call()))
    told = DIALECT.message(user(response(), response("read"), response(), response(id="x"), response()))
    assert [each.id for each in asked.calls] == ["grep", "read", "grep#2", "x", "grep#3"]
    assert [each.call for each in told.results] == [each.id for each in asked.calls]
    assert told.role == "tool"


def test_a_response_tells_its_output_its_error_or_all_of_it():
    read = DIALECT.message(
        user(
            response(output="fine"),
            {"functionResponse": {"name": "a", "response": {"error": "no"}}},
            {"functionResponse": {"name": "b", "response": {"n": 1, "m": [2]}}},
        )
    )
    assert [(each.text, each.error, each.name) for each in read.results] == [
        ("fine", False, "grep"),
        ("no", True, "a"),
        ('{"n":1,"m":[2]}', False, "b"),
    ]


def test_pictures_inside_a_response_are_read():
    body = user(response(parts=[{"inlineData": {"mimeType": "image/png", "data": "AA=="}}]))
    assert DIALECT.message(body).results == (
        Result("grep", (Text("ok"), Image("image/png", "AA==")), name="grep"),
    )


def test_objects_of_the_sdk_are_read_as_what_they_send():
    content = types.Content(
        role="model",
        parts=[
            types.Part(
                function_call=types.FunctionCall(name="grep", args={"a": 1}), thought_signature=b"signature"
            )
        ],
    )
    config = types.GenerateContentConfig(system_instruction="Be brief.", temperature=0.5)
    request = {"model": "m", "contents": [content], "config": config}
    frame, (message,), params = decode(DIALECT, request)
    assert message.wire.body["parts"][0]["thoughtSignature"] == SIGNATURE
    assert message.calls == (Call("grep", "grep", '{"a":1}'),)
    assert (frame.system[0].text, params["config"]) == ("Be brief.", {"temperature": 0.5})


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (7, "messages.0. is int, not a content"),
        ({"role": "assistant", "parts": []}, "known roles are user and model"),
        ({"role": 3, "parts": []}, "known roles are user and model"),
        ([], "is list, not a content"),
    ],
)
def test_what_is_no_content_is_refused_with_its_place(body, words):
    with pytest.raises(BadMessage, match=words):
        decode(DIALECT, {"contents": [body]})


@pytest.mark.parametrize("request_", [{"messages": []}, 7, {"contents": None}])
def test_what_is_no_request_is_refused(request_):
    with pytest.raises(BadMessage, match="contents"):
        DIALECT.split(request_)
