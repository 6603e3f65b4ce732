"""Every rule of Responses refuses something and lets something much like it pass."""

import pytest

from fanfold.testing.provider import RULES
from fanfold.testing.provider.rejection import JudgeTerms
from fanfold.testing.provider.rules import check
from fanfold.testing.provider.rules.responses import CALLS
from fanfold.testing.provider.seal import Name, Seal

from .cases import SMALL, Case, case, name

USER = {"role": "user", "content": "hello"}
TOOL = {"type": "function", "name": "grep", "parameters": {"type": "object"}}
OURS = Name("0" * 64)
RS, FC = OURS.item("rs", 0), OURS.item("fc", 1, 0)
FORGED = Seal(b"another key").close(item=RS, text="x")


def ask(*items, model="gpt-5", **more):
    return {"model": model, "input": list(items), **more}


def call(call_id="c1", type="function_call", **more):
    return {"type": type, "call_id": call_id, "name": "grep", "arguments": "{}", **more}


def output(call_id="c1", type="function_call_output", output="ok"):
    return {"type": type, "call_id": call_id, "output": output}


def reasoning(id="rs_1", **more):
    return {"type": "reasoning", "id": id, "summary": [], **more}


def said(text="hi", **more):
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
        **more,
    }


def item(type):
    return {"role": "user", "content": [{"type": type, "text": "x"}]}


LOOP = ask(USER, call(), output())
THOUGHT = ask(USER, reasoning(), call(), output())

CASES = [
    case("model_is_given", {"input": "x"}, {"model": "gpt-5", "input": "x"}, "'model'"),
    case("input_is_given", ask(), ask(USER), "must be provided"),
    case("items_are_objects", ask("hello"), ask(USER), "expected an object, but got a string"),
    case("items_are_objects", {"model": "m", "input": 5}, ask(USER), "but got a number"),
    case("nothing_is_remembered", ask(USER, previous_response_id="resp_1"), ask(USER), "'resp_1' not found"),
    case("kinds_are_known", ask({"type": "tool_use"}), LOOP, "Invalid value: 'tool_use'"),
    case(
        "references_are_stored",
        ask(USER, {"type": "item_reference", "id": "rs_9"}),
        THOUGHT,
        "'rs_9' not found",
    ),
    case("roles_are_known", ask({"role": "tool", "content": "x"}), ask(USER), "Invalid value: 'tool'"),
    case("messages_have_content", ask({"role": "user"}), ask(USER), "input[0].content"),
    case("messages_have_content", ask({"role": "user", "content": ["x"]}), ask(USER), "input[0].content"),
    case(
        "parts_fit_their_role",
        ask(item("output_text")),
        ask(item("input_text")),
        "Invalid value: 'output_text'",
    ),
    case(
        "parts_fit_their_role",
        ask({"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}, USER),
        ask(said(), USER),
        "Invalid value: 'input_text'",
    ),
    case(
        "strings_are_short_enough",
        ask(USER, call(), output(output="x" * 21)),
        ask(USER, call(), output(output="x" * 20)),
        "maximum length 20",
        limits=SMALL,
    ),
    case(
        "ids_have_their_prefix", ask(USER, call(id="call_1"), output()), LOOP, "an ID that begins with 'fc'"
    ),
    case(
        "ids_are_plain",
        ask(USER, call(id="fc_a|b"), output()),
        ask(USER, call(id="fc_a-b"), output()),
        "contained additional characters",
    ),
    case(
        "ids_are_unique",
        ask(USER, said(id="msg_1"), said(id="msg_1"), USER),
        ask(USER, said(id="msg_1"), said(id="msg_2"), USER),
        "Duplicate item found with id msg_1",
    ),
    case("calls_have_ids", ask(USER, call(None), output()), LOOP, "'input[1].call_id'"),
    case("calls_have_ids", ask(USER, call(""), output("")), LOOP, "empty string"),
    case(
        "calls_have_outputs",
        ask(USER, {"type": "tool_search_call", "call_id": "s1", "arguments": {}}),
        ask(USER, {"type": "tool_search_call", "arguments": {}}),
        "No tool output found for tool search call s1",
    ),
    case(
        "reasoning_has_a_summary",
        ask(USER, {**reasoning(), "summary": None}, call(), output()),
        THOUGHT,
        "'input[1].summary'",
    ),
    case(
        "call_ids_are_short",
        ask(USER, call("c" * 65), output("c" * 65)),
        ask(USER, call("c" * 64), output("c" * 64)),
        "maximum length 64, but got a string with length 65",
    ),
    case("calls_name_a_function", ask(USER, call(name="a.b"), output()), LOOP, "'input[1].name'"),
    case("arguments_are_text", ask(USER, call(arguments={}), output()), LOOP, "but got an object"),
    case("outputs_are_given", ask(USER, call(), output(output=None)), LOOP, "'input[2].output'"),
    case(
        "outputs_have_calls",
        ask(USER, output()),
        LOOP,
        "No tool call found for function call output with call_id c1",
    ),
    case("outputs_have_calls", ask(USER, output(), call()), LOOP, "No tool call found"),
    case("calls_have_outputs", ask(USER, call()), LOOP, "No tool output found for function call c1."),
    case(
        "call_ids_are_unique",
        ask(USER, call(), output(), call(), output()),
        ask(USER, call(), output(), call("c2"), output("c2")),
        "Duplicate call",
    ),
    case(
        "reasoning_is_followed", ask(USER, reasoning(), USER), THOUGHT, "without its required following item"
    ),
    case("reasoning_is_followed", ask(USER, reasoning()), THOUGHT, "Item 'rs_1' of type 'reasoning'"),
    case(
        "reasoning_is_kept",
        ask(USER, call(id=FC), output()),
        ask(USER, reasoning(RS), call(id=FC), output()),
        f"without its required 'reasoning' item: '{RS}'",
    ),
    case(
        "encrypted_content_verifies",
        ask(USER, reasoning(RS, encrypted_content=FORGED), said(), USER),
        ask(USER, reasoning(RS, encrypted_content=Seal().close(item=RS, text="x")), said(), USER),
        f"The encrypted content for item {RS} could not be verified",
    ),
    case(
        "unstored_reasoning_is_encrypted",
        ask(USER, reasoning(), said(), USER, store=False),
        ask(USER, reasoning(), said(), USER),
        "Items are not persisted when `store` is set to false",
    ),
    case("tools_are_few", ask(USER, tools=[TOOL] * 129), ask(USER, tools=[TOOL] * 128), "maximum length 128"),
    case(
        "tools_have_types",
        ask(USER, tools=[{"name": "grep", "input_schema": {"type": "object"}}]),
        ask(USER, tools=[TOOL, {"type": "web_search"}]),
        "Missing required parameter: 'tools[0].type'",
    ),
    case(
        "tools_have_names",
        ask(USER, tools=[{"type": "function", "function": {"name": "grep"}}]),
        ask(USER, tools=[TOOL]),
        "tools[0].name",
    ),
    case(
        "search_is_known",
        ask(USER, tools=[{**TOOL, "defer_loading": True}]),
        ask(USER, model="gpt-5.5", tools=[{**TOOL, "defer_loading": True}, {"type": "tool_search"}]),
        "require the 'tool_search' tool",
    ),
    case(
        "search_is_known",
        ask(USER, model="gpt-5.2", tools=[TOOL, {"type": "tool_search"}]),
        ask(USER, model="gpt-5.4", tools=[TOOL, {"type": "tool_search"}]),
        "not supported with gpt-5.2",
    ),
    case(
        "choice_is_there",
        ask(USER, tools=[TOOL], tool_choice={"type": "function", "name": "sed"}),
        ask(USER, tools=[TOOL], tool_choice={"type": "function", "name": "grep"}),
        "Tool choice 'sed' not found",
    ),
    case("ceiling_is_high_enough", ask(USER, max_output_tokens=15), ask(USER, max_output_tokens=16), ">= 16"),
]


@pytest.mark.parametrize("of", CASES, ids=name)
def test_refuses(of: Case):
    refused = of.refusal("responses", of.refused)
    assert refused is not None
    assert refused.rule == of.rule
    assert refused.status == (
        404 if "not found. Items" in refused.message or "rs_9" in refused.message else 400
    )
    assert of.words in refused.message


@pytest.mark.parametrize("of", CASES, ids=name)
def test_lets_the_near_twin_pass(of: Case):
    assert of.judge("responses", of.passed) == ""


def test_every_rule_has_a_case():
    assert {rule.__name__ for rule in RULES["responses"]} == {of.rule for of in CASES}


@pytest.mark.parametrize("kind", CALLS)
def test_every_kind_of_call_needs_its_output_and_the_other_way_round(kind):
    answer = CALLS[kind][0]
    alone = check("responses", ask(USER, call(type=kind)), JudgeTerms("gpt-5"))
    orphan = check("responses", ask(USER, output(type=answer)), JudgeTerms("gpt-5"))
    assert (alone and alone.rule, orphan and orphan.rule) == ("calls_have_outputs", "outputs_have_calls")
    assert check("responses", ask(USER, call(type=kind), output(type=answer)), JudgeTerms("gpt-5")) is None


def test_compaction_and_search_items_pass():
    items = [
        {"type": "compaction", "id": "cmp_1"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    ]
    assert check("responses", ask(USER, *items, USER), JudgeTerms("gpt-5")) is None


def test_foreign_encrypted_content_passes_where_it_is_accepted():
    body = ask(USER, reasoning(encrypted_content="gAAAAABo"), said(), USER)
    assert check("responses", body, JudgeTerms("gpt-5", foreign=True)) is None
    assert check("responses", body, JudgeTerms("gpt-5")) is not None
