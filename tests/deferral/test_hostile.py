"""What a model, a client or a server may do to tools that wait, and what must not break by it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import fanfold
from fanfold.testing import replied, response
from fanfold.testing.provider.rejection import JudgeTerms
from fanfold.testing.provider.rules import check

from .everyday import define, tools

LONG = {
    "type": "object",
    "properties": {f"p{n}": {"type": "string", "description": "a word " * 30} for n in range(5)},
}


def tool(name: str, about: str | None = "Does something.", schema: Any = None) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "description": about, "parameters": schema or LONG},
    }


TWENTY = [tool(f"t{n}") for n in range(20)]


def opened(given: Any = TWENTY, **more: Any) -> fanfold.Session:
    told = {"model": "gpt-4.1", "system": "You help.", "tools": given, "defer": True, "recall": False}
    return fanfold.open("run", **{**told, **more})


def names(request: Any) -> list[str]:
    return [tool["function"]["name"] for tool in request["tools"]]


def says(chat: fanfold.Session, *calls: tuple[str, str, str]) -> Any:
    """The model calls tools: id, name and arguments as it wrote them."""
    wire = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": raw}}
        for id, name, raw in calls
    ]
    chat.request(max_tokens=100)
    return chat.receive(response(replied(None, *wire)))


ODD = {
    "no JSON": ("I want t1", ["t1"]),
    "a list": ('["t2"]', ["t2"]),
    "a text": ('"t4"', ["t4"]),
    "cut off": ('{"name": "t5', ["t5"]),
    "null": ("null", []),
    "nothing": ("{}", []),
    "a name that is none": ('{"name": 7}', []),
    "a pattern": ('{"name": "t[1"}', ["t1"]),
    "names in a list": ('{"name": ["t1", "t2"]}', ["t1", "t2"]),
    "another case": ('{"name": "T5"}', ["t5"]),
    "an object": ('{"query": {"a": 1}}', []),
}


@pytest.mark.parametrize(("raw", "found"), ODD.values(), ids=ODD)
def test_whatever_a_model_writes_to_find_tool_is_answered(raw: str, found: list[str]) -> None:
    with opened() as chat:
        chat.say("Go.")
        reply = says(chat, ("f1", "find_tool", raw))
        assert (reply.calls, reply.recalled) == ((), ("f1",))
        finder, *loaded = names(chat.request(max_tokens=100))
        assert (finder, loaded[: len(found)], bool(loaded)) == ("find_tool", found, bool(found))


def test_a_tool_that_waits_and_is_called_with_broken_arguments_is_loaded_and_answered() -> None:
    with opened() as chat:
        chat.say("Go.")
        reply = says(chat, ("c1", "t3", '{"p1": '))
        assert (reply.calls, reply.recalled) == ((), ("c1",))
        request = chat.request(max_tokens=100)
        assert names(request) == ["find_tool", "t3"]
        assert "they are no JSON object" in request["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("count", "window"),
    [
        (400, 16_000),
        (400, 32_000),
        (400, 128_000),
        (3_000, 16_000),
        pytest.param(3_000, 32_000, marks=pytest.mark.slow),
        pytest.param(3_000, 128_000, marks=pytest.mark.slow),
    ],
)
def test_the_index_of_very_many_tools_leaves_room_for_the_conversation(count: int, window: int) -> None:
    given = [
        tool(f"mcp__server{n % 40}__tool_{n}", f"Handles object {n} in the warehouse.") for n in range(count)
    ]
    with opened(given, window=window) as chat:
        chat.say("Go.")
        chat.request(max_tokens=100)
        assert chat.view().frame.tokens <= window // 8 + 200
        says(chat, ("f1", "find_tool", '{"query": "handle object 77"}'))
        assert "mcp__server37__tool_77" in names(chat.request(max_tokens=100))


def test_a_brief_index_has_names_and_the_briefest_counts_them() -> None:
    given = [
        tool(f"mcp__shop__tool_{n}", "Handles one of the many objects in the warehouse.") for n in range(300)
    ]
    texts = []
    for window in (128_000, 32_000, 8_000):
        with opened(given, window=window) as chat:
            chat.say("Go.")
            texts.append(chat.request(max_tokens=100)["messages"][1]["content"])
    full, names_only, counted = texts
    assert "mcp__shop__tool_7: Handles one of the many objects in the warehouse" in full
    assert "mcp__shop__tool_7" in names_only
    assert "warehouse" not in names_only
    assert "shop: 300 tools" in counted
    assert "tool_7" not in counted


def test_tools_of_the_same_name_do_not_wait() -> None:
    given = [tool("twin", "Counts apples."), tool("twin", "Counts pears."), *TWENTY]
    with opened(given) as chat:
        chat.say("Go.")
        assert names(chat.request(max_tokens=100)) == ["twin", "twin", "find_tool"]
        says(chat, ("f1", "find_tool", '{"name": "twin"}'))
        assert names(chat.request(max_tokens=100)) == ["twin", "twin", "find_tool"]


SCHEMAS: dict[str, Any] = {
    "no properties": {"type": "object", "properties": None},
    "required as a text": {"type": "object", "required": "name"},
    "required without a name": {"type": "object", "properties": {"x": {}}, "required": ["x", 3]},
    "properties that are true": {"type": "object", "properties": {"q": True, "r": {"description": 7}}},
    "a reference": {"$ref": "#/$defs/x", "$defs": {"x": {"type": "object"}}},
    "one of": {"anyOf": [{"type": "object"}, {"type": "null"}]},
    "no object": {"type": "string"},
    "a list": ["object"],
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_odd_schemas_are_found_called_and_sent_as_they_came(schema: Any) -> None:
    odd = tool("odd_one", None, schema)
    with opened([odd, *TWENTY]) as chat:
        chat.say("Go.")
        says(chat, ("c1", "odd_one", '{"foo": 1}'))
        says(chat, ("f1", "find_tool", '{"query": "odd"}'))
        assert odd in chat.request(max_tokens=100)["tools"]


def test_a_tool_that_never_existed_is_the_callers_to_answer() -> None:
    with opened() as chat:
        chat.say("Go.")
        reply = says(chat, ("c1", "invented", "{}"))
        assert [call.name for call in reply.calls] == ["invented"]
        chat.answer(reply.calls[0], "There is no such tool.", error=True)
        assert names(chat.request(max_tokens=100)) == ["find_tool"]


def test_a_loaded_tool_that_the_client_takes_away_is_gone_and_comes_back() -> None:
    store, scan = fanfold.Memory(), tool("scan_barcode", "Reads a barcode.")
    with opened([scan, *TWENTY], store=store) as chat:
        chat.say("Go.")
        says(chat, ("f1", "find_tool", '{"name": "scan_barcode"}'))
        assert names(chat.request(max_tokens=100)) == ["find_tool", "scan_barcode"]
    with opened(TWENTY, store=store) as chat:
        assert names(chat.request(max_tokens=100)) == ["find_tool"]
        assert says(chat, ("f2", "find_tool", '{"name": "scan_barcode"}')).recalled == ("f2",)
        assert "No tool was found" in chat.request(max_tokens=100)["messages"][-1]["content"]
    with opened([scan, *TWENTY], store=store) as chat:
        assert names(chat.request(max_tokens=100)) == ["find_tool", "scan_barcode"]


SPOKEN = {
    "openai.chat": ("chat", "gpt-4.1"),
    "openai.responses": ("responses", "gpt-5.5"),
    "anthropic": ("anthropic", "claude-opus-4-5"),
    "gemini": ("gemini", "gemini-3-pro-preview"),
}


def finds(chat: fanfold.Session, dialect: str, name: str) -> None:
    """The model asks for a tool, in the words of its provider."""
    args = {"name": name}
    function = {"name": "find_tool", "arguments": json.dumps(args)}
    search = {"type": "tool_search_call", "call_id": "f1", "execution": "client", "status": "completed"}
    use = {"type": "tool_use", "id": "f1", "name": "find_tool", "input": args}
    part = {"functionCall": {"name": "find_tool", "args": args}, "thoughtSignature": "c2ln"}
    said = {
        "openai.chat": replied(None, {"id": "f1", "type": "function", "function": function}),
        "openai.responses": {**search, "arguments": args},
        "anthropic": {"role": "assistant", "content": [use]},
        "gemini": {"role": "model", "parts": [part]},
    }
    chat.add(said[dialect])
    found = chat.view().rows[-1].messages[0].calls
    chat.add(chat.find_tool(found[0] if found else fanfold.Call("f1", "tool_search", json.dumps(args))))


@pytest.mark.parametrize("after", SPOKEN)
@pytest.mark.parametrize("before", SPOKEN)
def test_what_was_loaded_stays_loaded_where_the_session_goes_on_with_another_provider(
    before: str, after: str
) -> None:
    known, store = tools(94), fanfold.Memory()
    told = {"tools": [define(one, before) for one in known], "defer": True, "recall": False, "store": store}
    with fanfold.open("run", model=SPOKEN[before][1], dialect=before, **told) as chat:
        chat.say("Go.")
        chat.request(max_tokens=100)
        finds(chat, before, known[3].name)
        chat.say("Go on, with another model.")
    api, model = SPOKEN[after]
    with fanfold.open("run", model=model, dialect=after, recall=False, store=store) as chat:
        body = dict(chat.request(max_tokens=100))
        assert check(api, body, JudgeTerms(model, foreign=True)) is None
        assert chat.sent()[0].loaded == (known[3].name,)
        assert json.dumps(body).count(f'"name": "{known[3].name}"') >= 1
