"""Tool definitions in the four dialects: the caller's functions carry over whole, the provider's own do not."""

from itertools import permutations
from typing import Any

import pytest
from google.genai import types

import fanfold
from fanfold.core.record import Frame
from fanfold.dialects.gemini.tools import json_schema
from fanfold.dialects.registry import DIALECTS, dialect_named
from fanfold.dialects.tools import localize, translate
from fanfold.testing.provider import Provider

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": ["string", "null"], "enum": ["a", None]}, "deep": {"$ref": "#/$defs/x"}},
    "required": ["path", "deep"],
    "additionalProperties": False,
    "$defs": {"x": {"type": "array", "items": {"const": 1}}},
}
ABOUT = "Reads a file."
FUNCTIONS: dict[str, dict[str, Any]] = {
    "openai.chat": {
        "type": "function",
        "function": {"name": "read", "description": ABOUT, "parameters": SCHEMA, "strict": True},
    },
    "openai.responses": {
        "type": "function",
        "name": "read",
        "description": ABOUT,
        "parameters": SCHEMA,
        "strict": True,
    },
    "anthropic": {"name": "read", "description": ABOUT, "input_schema": SCHEMA, "strict": True},
    "gemini": {
        "functionDeclarations": [{"name": "read", "description": ABOUT, "parametersJsonSchema": SCHEMA}]
    },
}
LOOSE: dict[str, dict[str, Any]] = {
    "openai.chat": {
        "type": "function",
        "function": {"name": "read", "description": ABOUT, "parameters": SCHEMA},
    },
    "openai.responses": {**FUNCTIONS["openai.responses"], "strict": False},
    "anthropic": {"name": "read", "description": ABOUT, "input_schema": SCHEMA},
}
"""The same from Gemini, which knows no strictness; Responses have to be told so."""
BUILT_IN = [
    ("openai.chat", {"type": "web_search", "web_search": {}}, "web_search"),
    ("openai.responses", {"type": "mcp", "server_label": "x", "server_url": "https://x"}, "mcp"),
    ("anthropic", {"type": "bash_20250124", "name": "bash"}, "bash"),
    ("gemini", {"googleSearch": {}}, "googleSearch"),
]
PAIRS = list(permutations(DIALECTS, 2))


def moved(tool: Any, one: str, other: str) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """A tool of one dialect in another, and what was left out."""
    frame, left_out = translate(dialect_named(one).frame((), [tool]), other)
    assert frame.dialect == other
    return frame.tools, left_out


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_function_carries_over_whole(one: str, other: str) -> None:
    tools, left_out = moved(FUNCTIONS[one], one, other)
    if one == "gemini":
        assert tools == (LOOSE[other],)
    else:
        assert tools == (FUNCTIONS[other],)
    assert left_out == (("tool read: strict has no place in gemini",) if other == "gemini" else ())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_tools_of_ones_own_dialect_stay_as_they_came(dialect: str) -> None:
    odd = {"type": "brand_new", "name": "x y", "function": 1, "functionDeclarations": None}
    frame = dialect_named(dialect).frame((), [FUNCTIONS[dialect], odd])
    assert translate(frame, dialect) == (frame, ())
    request = dialect_named(dialect).encode(frame, (), {})
    assert (request.get("tools") or request["config"]["tools"]) == [FUNCTIONS[dialect], odd]


@pytest.mark.parametrize(
    ("one", "tool", "name", "other"),
    [(*built_in, other) for built_in in BUILT_IN for other in DIALECTS if other != built_in[0]],
)
def test_what_only_its_provider_has_is_left_out_by_name(one: str, tool: Any, name: str, other: str) -> None:
    assert moved(tool, one, other) == ((), (f"tool {name}: left out, only its own provider has it",))


def test_a_session_says_which_tools_it_left_out() -> None:
    tools = [{"type": "web_search"}, FUNCTIONS["openai.responses"]]
    with fanfold.open("here", window=9_000, dialect="openai.responses", tools=tools, recall=False) as here:
        here.say("Go on.")
        there = here.fork("there", dialect="anthropic", model="claude-opus-4-5")
        [tool] = there.request()["tools"]
        assert {key: tool[key] for key in FUNCTIONS["anthropic"]} == FUNCTIONS["anthropic"]
        assert there.sent()[0].left_out == ("tool web_search: left out, only its own provider has it",)


def test_tools_that_take_plain_text_carry_over_within_openai() -> None:
    grammar = {"syntax": "lark", "definition": 'start: "x"'}
    chat = {
        "type": "custom",
        "custom": {"name": "patch", "description": ABOUT, "format": {"type": "grammar", "grammar": grammar}},
    }
    responses = {
        "type": "custom",
        "name": "patch",
        "description": ABOUT,
        "format": {"type": "grammar", **grammar},
    }
    assert moved(chat, "openai.chat", "openai.responses") == ((responses,), ())
    assert moved(responses, "openai.responses", "openai.chat") == ((chat,), ())
    for other in ("anthropic", "gemini"):
        tools, [said] = moved(responses, "openai.responses", other)
        assert (tools, said.startswith("tool patch: left out")) == ((), True)


def test_functions_in_a_namespace_carry_over() -> None:
    space = {"type": "namespace", "name": "files", "tools": [FUNCTIONS["openai.responses"]]}
    assert moved(space, "openai.responses", "openai.chat")[0] == (FUNCTIONS["openai.chat"],)


def test_a_function_that_takes_nothing_has_a_schema_where_one_is_demanded() -> None:
    bare = {"type": "function", "function": {"name": "now"}}
    nothing = {"type": "object", "properties": {}}
    assert moved(bare, "openai.chat", "anthropic")[0] == ({"name": "now", "input_schema": nothing},)
    assert moved(bare, "openai.chat", "openai.responses")[0][0]["parameters"] == nothing
    assert moved(bare, "openai.chat", "gemini")[0] == ({"functionDeclarations": [{"name": "now"}]},)
    empty = {"name": "now", "input_schema": nothing}
    assert moved(empty, "anthropic", "gemini")[0] == ({"functionDeclarations": [{"name": "now"}]},)


def test_responses_are_told_what_is_not_strict() -> None:
    """There, a function is strict unless it says otherwise; everywhere else it is not."""
    loose = {"name": "read", "input_schema": SCHEMA}
    assert moved(loose, "anthropic", "openai.responses")[0][0]["strict"] is False


def test_words_that_only_one_provider_knows_are_named() -> None:
    told = {**FUNCTIONS["anthropic"], "input_examples": [{}], "cache_control": {"type": "ephemeral"}}
    tools, left_out = moved(told, "anthropic", "openai.chat")
    assert tools == (FUNCTIONS["openai.chat"],)
    assert left_out == ("tool read: input_examples has no place in openai.chat",)


def test_a_name_is_written_in_signs_that_are_taken_and_said_so() -> None:
    dotted = {"functionDeclarations": [{"name": "fs.read"}, {"name": "fs:read"}]}
    tools, left_out = moved(dotted, "gemini", "anthropic")
    assert [tool["name"] for tool in tools] == ["fs_read"]
    assert left_out[0] == "tool fs.read: it is called fs_read in anthropic"
    assert left_out[1].startswith("tool fs:read: left out")


def test_gemini_s_own_words_for_a_schema_become_json_schema() -> None:
    theirs = types.Schema(
        type=types.Type.OBJECT,
        properties={
            "any_of": types.Schema(type=types.Type.STRING, nullable=True, enum=["a"], max_length=3),
            "many": types.Schema(
                type=types.Type.ARRAY, items=types.Schema(type=types.Type.NUMBER), min_items=1
            ),
            "either": types.Schema(any_of=[types.Schema(type=types.Type.BOOLEAN)]),
        },
        property_ordering=["many", "any_of", "either"],
        required=["many"],
    )
    expected = {
        "type": "object",
        "properties": {
            "any_of": {"type": ["string", "null"], "enum": ["a", None], "maxLength": 3},
            "many": {"type": "array", "items": {"type": "number"}, "minItems": 1},
            "either": {"anyOf": [{"type": "boolean"}]},
        },
        "required": ["many"],
    }
    for by_alias in (True, False):
        assert json_schema(theirs.model_dump(mode="json", exclude_none=True, by_alias=by_alias)) == expected
    tool = types.Tool(function_declarations=[types.FunctionDeclaration(name="look", parameters=theirs)])
    assert moved(tool, "gemini", "anthropic")[0] == ({"name": "look", "input_schema": expected},)
    assert json_schema(SCHEMA) == SCHEMA


def test_a_frame_without_a_dialect_is_sent_as_it_is() -> None:
    frame = Frame((), ({"type": "function"},))
    assert translate(frame, "anthropic") == (frame, ())


BARE = [
    {"name": "read", "description": ABOUT, "parameters": SCHEMA},
    {"name": "read", "description": ABOUT, "parametersJsonSchema": SCHEMA},
    {"name": "read", "description": ABOUT, "inputSchema": SCHEMA},
]
LAX = {**LOOSE, "gemini": FUNCTIONS["gemini"]}


def sent(dialect: str, *tools: Any) -> list[Any]:
    """The tools of a request, without the marks of a cache."""
    with fanfold.open("tools", window=9_000, dialect=dialect, tools=list(tools), recall=False) as chat:
        chat.say("Go.")
        request = chat.request(**({"config": {}} if dialect == "gemini" else {}))
        found = request["config"]["tools"] if dialect == "gemini" else request["tools"]
        return [{key: value for key, value in tool.items() if key != "cache_control"} for tool in found]


@pytest.mark.parametrize(("shape", "dialect"), PAIRS)
def test_a_tool_in_another_dialect_s_shape_is_sent_in_the_session_s_own(shape: str, dialect: str) -> None:
    """(19.10)"""
    expected = LAX if shape == "gemini" else FUNCTIONS
    assert sent(dialect, FUNCTIONS[shape]) == [expected[dialect]]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("tool", BARE)
def test_a_bare_declaration_is_sent_in_the_session_s_own_shape(tool: dict[str, Any], dialect: str) -> None:
    """(19.10)"""
    assert sent(dialect, tool) == [LAX[dialect]]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_tools_of_several_shapes_are_sent_in_one(dialect: str) -> None:
    """(19.10)"""
    others = [
        {"type": "function", "function": {"name": "a", "parameters": SCHEMA}},
        {"type": "function", "name": "b", "parameters": SCHEMA},
        {"name": "c", "input_schema": SCHEMA},
        {"function_declarations": [{"name": "d", "parameters_json_schema": SCHEMA}]},
    ]
    frame, left_out = localize(dialect_named(dialect).frame((), others), dialect)
    names = [json for tool in frame.tools for json in "abcd" if f"'name': '{json}'" in str(tool)]
    assert (sorted(names), left_out, frame.dialect) == (["a", "b", "c", "d"], (), dialect)
    assert localize(frame, dialect) == (frame, ())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_frame_of_several_shapes_carries_over_whole(dialect: str) -> None:
    """(19.10)"""
    mixed = Frame(
        (), (FUNCTIONS["anthropic"], {"type": "function", "name": "b", "parameters": SCHEMA}), "openai.chat"
    )
    frame, left_out = localize(mixed, dialect)
    assert len(str(frame.tools).split("'name'")) == 3
    assert "b" in str(frame.tools)
    assert all("strict" in said for said in left_out)


def test_of_two_tools_with_one_name_the_session_s_own_shape_stays() -> None:
    """(19.10)"""
    own, other = FUNCTIONS["openai.chat"], {**FUNCTIONS["anthropic"], "description": "Another."}
    frame, [said] = localize(dialect_named("openai.chat").frame((), [other, own]), "openai.chat")
    assert (frame.tools, said.startswith("tool read: left out")) == ((own,), True)


@pytest.mark.parametrize(("one", "tool", "name"), BUILT_IN)
def test_a_provider_s_own_tool_is_left_out_where_one_provider_speaks_the_dialect(
    one: str, tool: dict[str, Any], name: str
) -> None:
    """Hosts that speak OpenAI's dialects have tools of their own, which stay as they are there (19.10)."""
    for dialect in DIALECTS:
        frame, left_out = localize(dialect_named(dialect).frame((), [tool]), dialect)
        kept = dialect == one or (dialect.startswith("openai.") and one.startswith("openai."))
        assert (frame.tools, bool(left_out)) == (((tool,), False) if kept else ((), True))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_reading_and_writing_a_request_loses_no_tool_of_another_shape(dialect: str) -> None:
    """Only a session writes them anew: a dialect gives back what it read (19.10)."""
    dialect, tools = dialect_named(dialect), [*FUNCTIONS.values(), *BARE]
    request = dialect.encode(dialect.frame((), tools), (), {})
    assert (request.get("tools") or request["config"]["tools"]) == tools


FOREIGN = [
    ({"type": "web_search_20250305", "name": "web_search"}, "web_search"),
    ({"type": "bash_20250124", "name": "bash"}, "bash"),
    ({"googleSearch": {}}, "googleSearch"),
    ({"google_search": {}}, "google_search"),
    ({"urlContext": {}}, "urlContext"),
    ({"code_execution": {}}, "code_execution"),
]
APIS = {"openai.chat": "chat", "openai.responses": "responses", "anthropic": "anthropic", "gemini": "gemini"}
MODELS = {
    "openai.chat": "gpt-5.2",
    "openai.responses": "gpt-5.2",
    "anthropic": "claude-opus-4-5",
    "gemini": "gemini-2.5-pro",
}


def judged(dialect: str, *tools: Any) -> tuple[object, tuple[str, ...], str]:
    """What the provider says of a request with these tools, what was left out of it, and its tools as text."""
    model = MODELS[dialect]
    with fanfold.open("tools", model=model, dialect=dialect, tools=list(tools), recall=False) as chat:
        chat.say("Go.")
        request = chat.request(max_tokens=1_000)
        with Provider() as provider:
            verdict = provider.check(APIS[dialect], {"model": model, **request}, model=model)
        return (
            verdict,
            chat.sent()[0].left_out,
            str(request.get("tools") or request.get("config", {}).get("tools")),
        )


@pytest.mark.parametrize("dialect", ["openai.chat", "openai.responses"])
@pytest.mark.parametrize(("tool", "name"), FOREIGN)
def test_what_only_anthropic_or_google_can_run_is_not_sent_to_openai(
    tool: dict[str, Any], name: str, dialect: str
) -> None:
    """(19.10)"""
    verdict, left_out, told = judged(dialect, tool, FUNCTIONS[dialect])
    assert verdict is None
    assert left_out == (f"tool {name}: left out, only its own provider has it",)
    assert name not in told


@pytest.mark.parametrize("dialect", ["openai.chat", "openai.responses"])
@pytest.mark.parametrize(
    "tool",
    [
        {"type": "builtin_function", "builtin": "web_search"},
        {"type": "web_search_preview_2025_03_11"},
        {"type": "browser_search"},
        {"name": "mine", "endpoint": "https://x"},
        {"search": {}},
    ],
)
def test_a_tool_of_unknown_form_is_left_to_the_host(tool: dict[str, Any], dialect: str) -> None:
    """(19.10)"""
    assert sent(dialect, tool) == [tool]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("more", [{}, {"description": "no arguments"}, {"parameters": None}])
def test_a_bare_declaration_without_a_schema_takes_nothing(more: dict[str, Any], dialect: str) -> None:
    """(19.10) Gemini is told that by saying nothing."""
    verdict, left_out, told = judged(dialect, {"name": "ping", **more})
    assert (verdict, left_out) == (None, ())
    assert "'ping'" in told
    assert dialect == "gemini" or "{'type': 'object', 'properties': {}}" in told
