"""Every rule of Chat Completions refuses something and lets something much like it pass."""

import pytest

from fanfold.testing.provider import RULES

from .cases import SMALL, Case, case, name

USER = {"role": "user", "content": "hello"}
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
TOOL = {"type": "function", "function": {"name": "grep", "parameters": {"type": "object"}}}


def ask(*messages, model="gpt-4o", **more):
    return {"model": model, "messages": list(messages), **more}


def call(id="c1", name="grep", arguments="{}"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*made, content=None):
    return {"role": "assistant", "content": content, "tool_calls": list(made)}


def result(id="c1", content="ok"):
    return {"role": "tool", "tool_call_id": id, "content": content}


LOOP = ask(USER, calls(call()), result())

CASES = [
    case("model_is_given", {"messages": [USER]}, ask(USER), "provide a model"),
    case("messages_are_given", {"model": "gpt-4o"}, ask(USER), "Missing required parameter: 'messages'"),
    case("messages_are_given", ask(), ask(USER), "Invalid 'messages': empty array"),
    case("messages_are_given", {"model": "m", "messages": "hi"}, ask(USER), "Invalid type for 'messages'"),
    case("messages_are_objects", ask("hello"), ask(USER), "expected an object, but got a string"),
    case(
        "roles_are_known",
        ask({"role": "model", "content": "x"}),
        ask({"role": "developer", "content": "x"}),
        "Invalid value: 'model'",
    ),
    case("content_is_given", ask(USER, calls(call()), result(content=None)), LOOP, "got null"),
    case(
        "content_is_given", ask({"role": "assistant", "content": None}), LOOP, "expected a string, got null"
    ),
    case(
        "content_is_text_or_parts",
        ask({"role": "user", "content": {"text": "x"}}),
        ask({"role": "user", "content": [{"type": "text", "text": "x"}]}),
        "one of a string or array of objects",
    ),
    case("part_arrays_have_parts", ask({"role": "user", "content": []}), ask(USER), "empty array"),
    case(
        "images_come_from_users",
        ask(USER, calls(call()), result(content=[PICTURE])),
        ask({"role": "user", "content": [PICTURE]}),
        "but this message with role 'tool' contains an image URL",
    ),
    case(
        "parts_are_known",
        ask({"role": "user", "content": [{"type": "input_text", "text": "x"}]}),
        ask({"role": "user", "content": [{"type": "text", "text": "x"}]}),
        "Invalid value: 'input_text'",
    ),
    case(
        "parts_carry_something",
        ask({"role": "user", "content": [{"type": "image_url", "image_url": None}]}),
        ask({"role": "user", "content": [PICTURE]}),
        "messages[0].content[0].image_url",
    ),
    case(
        "text_parts_have_text",
        ask({"role": "user", "content": [{"type": "text"}]}),
        ask({"role": "user", "content": [{"type": "text", "text": ""}]}),
        "messages[0].content[0].text",
    ),
    case(
        "files_are_addresses",
        ask({"role": "user", "content": [{"type": "file", "file": {"file_data": "JVBERg=="}}]}),
        ask(
            {
                "role": "user",
                "content": [{"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERg=="}}],
            }
        ),
        "without the 'data:' prefix",
    ),
    case(
        "reasoning_comes_back",
        ask(USER, calls(call()), result(), model="deepseek-v4-pro"),
        ask(USER, {**calls(call()), "reasoning_content": "Hm."}, result(), model="deepseek-v4-pro"),
        "must be passed back",
    ),
    case(
        "strings_are_short_enough",
        ask({"role": "user", "content": "x" * 21}),
        ask({"role": "user", "content": "x" * 20}),
        "string too long. Expected a string with maximum length 20",
        limits=SMALL,
    ),
    case(
        "call_arrays_have_calls", ask(USER, calls(content="x")), LOOP, "messages[1].tool_calls': empty array"
    ),
    case("call_arrays_have_calls", ask(USER, calls("c1")), LOOP, "messages[1].tool_calls'"),
    case("calls_have_ids", ask(USER, calls(call(id=None)), result()), LOOP, "messages[1].tool_calls[0].id"),
    case(
        "call_ids_are_short",
        ask(USER, calls(call("c" * 41)), result("c" * 41)),
        ask(USER, calls(call("c" * 40)), result("c" * 40)),
        "maximum length 40, but got a string with length 41",
    ),
    case("calls_name_a_function", ask(USER, calls(call(name="a b")), result()), LOOP, "function.name'"),
    case("arguments_are_text", ask(USER, calls(call(arguments={})), result()), LOOP, "but got an object"),
    case(
        "call_ids_are_unique",
        ask(USER, calls(call(), call()), result()),
        ask(USER, calls(call(), call("c2")), result(), result("c2")),
        "Duplicate value",
    ),
    case("results_follow_calls", ask(USER, result()), LOOP, "must be a response to a preceeding message"),
    case(
        "results_follow_calls",
        ask(USER, calls(call()), result(), USER, result()),
        ask(USER, calls(call()), result(), USER, calls(call()), result()),
        "must be a response to a preceeding message",
    ),
    case(
        "results_answer_a_call",
        ask(USER, calls(call()), result("c9")),
        LOOP,
        "'tool_call_id' of 'c9' not found",
    ),
    case(
        "calls_are_answered_once",
        ask(USER, calls(call()), result(), result()),
        LOOP,
        "in messages[2] and messages[3]",
    ),
    case("calls_are_answered", ask(USER, calls(call()), USER), LOOP, "did not have response messages: c1"),
    case("calls_are_answered", ask(USER, calls(call())), LOOP, "did not have response messages: c1"),
    case(
        "calls_are_answered",
        ask(USER, calls(call(), call("c2")), result()),
        ask(USER, calls(call(), call("c2")), result("c2"), result()),
        "did not have response messages: c2",
    ),
    case("tools_are_few", ask(USER, tools=[TOOL] * 129), ask(USER, tools=[TOOL] * 128), "maximum length 128"),
    case("tools_are_few", ask(USER, tools=[]), ask(USER, tools=[TOOL]), "Invalid 'tools': empty array"),
    case(
        "tools_have_types",
        ask(USER, tools=[{"name": "grep", "input_schema": {"type": "object"}}]),
        ask(USER, tools=[TOOL]),
        "Missing required parameter: 'tools[0].type'",
    ),
    case(
        "tools_have_types",
        ask(USER, tools=[{"type": "web_search"}]),
        ask(USER, tools=[{"type": "custom", "custom": {"name": "patch"}}]),
        "Invalid value: 'web_search'",
    ),
    case(
        "tools_have_types",
        ask(USER, tools=[{"type": "function", "name": "grep"}]),
        ask(USER, tools=[TOOL]),
        "Missing required parameter: 'tools[0].function'",
    ),
    case(
        "tools_have_names",
        ask(USER, tools=[{"type": "function", "function": {"name": "a.b"}}]),
        ask(USER, tools=[TOOL]),
        "tools[0].function.name",
    ),
    case(
        "choice_is_there",
        ask(USER, tools=[TOOL], tool_choice={"type": "function", "function": {"name": "sed"}}),
        ask(USER, tools=[TOOL], tool_choice={"type": "function", "function": {"name": "grep"}}),
        "Tool choice 'sed' not found",
    ),
    case(
        "choice_needs_tools",
        ask(USER, tool_choice="auto"),
        ask(USER, tool_choice="auto", tools=[TOOL]),
        "only allowed when 'tools' are specified",
    ),
    case(
        "parallel_needs_tools",
        ask(USER, parallel_tool_calls=True),
        ask(USER, parallel_tool_calls=True, tools=[TOOL]),
        "only allowed when 'tools' are specified",
    ),
    case(
        "reasoning_models_name_their_ceiling",
        ask(USER, model="gpt-5", max_tokens=9),
        ask(USER, model="gpt-5", max_completion_tokens=9),
        "Use 'max_completion_tokens' instead",
    ),
    case("ceilings_are_numbers", ask(USER, max_tokens="9"), ask(USER, max_tokens=9), "expected an integer"),
    case(
        "ceiling_is_one",
        ask(USER, max_tokens=9, max_completion_tokens=9),
        ask(USER, max_tokens=9),
        "at the same time is not supported",
    ),
]


@pytest.mark.parametrize("of", CASES, ids=name)
def test_refuses(of: Case):
    refused = of.refusal("chat", of.refused)
    assert refused is not None
    assert (refused.rule, refused.status) == (of.rule, 400)
    assert of.words in refused.message


@pytest.mark.parametrize("of", CASES, ids=name)
def test_lets_the_near_twin_pass(of: Case):
    assert of.judge("chat", of.passed) == ""


def test_every_rule_has_a_case():
    assert {rule.__name__ for rule in RULES["chat"]} == {of.rule for of in CASES}


def test_ids_may_come_again_in_a_later_step():
    again = ask(USER, calls(call()), result(), calls(call()), result())
    assert CASES[0].judge("chat", again) == ""
