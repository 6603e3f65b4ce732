"""Every rule of generateContent refuses something and lets something much like it pass."""

import pytest

from fanfold.testing.provider import RULES
from fanfold.testing.provider.rejection import JudgeTerms
from fanfold.testing.provider.rules import check
from fanfold.testing.provider.seal import Seal

from .cases import Case, case, name

TWO, THREE = "gemini-2.5-pro", "gemini-3-pro-preview"
SIGNED = Seal().close(reply="r1", thought="hm")


def ask(*contents, **more):
    return {"contents": list(contents), **more}


def user(*parts):
    return {"role": "user", "parts": list(parts)}


def model(*parts):
    return {"role": "model", "parts": list(parts)}


def text(words="hi", **more):
    return {"text": words, **more}


def call(name="grep", signature=None, **more):
    signed = {"thoughtSignature": signature} if signature else {}
    return {"functionCall": {"name": name, "args": {}, **more}, **signed}


def response(name="grep", **more):
    return {"functionResponse": {"name": name, "response": {"output": "ok"}, **more}}


def declared(*names):
    return [{"functionDeclarations": [{"name": each} for each in names]}]


HELLO = user(text())
LOOP = ask(HELLO, model(call()), user(response()))
PARALLEL = ask(HELLO, model(call(), call()), user(response(), response()))

CASES = [
    case("contents_are_given", ask(), ask(HELLO), "contents is not specified", model=TWO),
    case("contents_are_objects", ask("hello"), ask(HELLO), "contents[0]", model=TWO),
    case(
        "contents_are_objects",
        ask({**HELLO, "content": "x"}),
        ask(HELLO),
        'Unknown name "content"',
        model=TWO,
    ),
    case(
        "roles_are_known", ask({"role": "assistant", "parts": [text()]}), ask(HELLO), "valid role", model=TWO
    ),
    case(
        "contents_have_parts",
        ask(user()),
        ask(HELLO),
        "contents[0].parts: contents.parts must not",
        model=TWO,
    ),
    case(
        "parts_are_known",
        ask(user({"type": "text", "text": "x"})),
        ask(HELLO),
        'Unknown name "type"',
        model=TWO,
    ),
    case(
        "parts_have_data", ask(user({"thought": True})), ask(HELLO), "required oneof field 'data'", model=TWO
    ),
    case(
        "parts_have_data",
        ask(HELLO, model(text("")), HELLO),
        ask(HELLO, model(text("", thoughtSignature=SIGNED)), HELLO),
        "contents[1].parts[0].data",
        model=TWO,
    ),
    case(
        "parts_have_one_thing",
        ask(user({**text(), "inlineData": {"mimeType": "image/png", "data": "AA=="}})),
        ask(HELLO),
        "is already set",
        model=TWO,
    ),
    case(
        "responses_are_alone",
        ask(HELLO, model(call()), user(response(), text())),
        LOOP,
        "number of function response parts",
        model=TWO,
    ),
    case(
        "calls_come_from_models",
        ask(HELLO, user(call()), user(response())),
        LOOP,
        "model role",
        model=TWO,
    ),
    case(
        "users_come_first",
        ask(model(text()), HELLO),
        ask(HELLO, model(text()), HELLO),
        "start with a user",
        model=TWO,
    ),
    case(
        "arguments_are_objects",
        ask(HELLO, model(call(args="{}")), user(response())),
        LOOP,
        "call.args",
        model=TWO,
    ),
    case(
        "responses_are_objects",
        ask(HELLO, model(call()), user(response(response="ok"))),
        LOOP,
        "Struct",
        model=TWO,
    ),
    case(
        "calls_have_names",
        ask(HELLO, model(call("a b")), user(response())),
        LOOP,
        "Invalid function name",
        model=TWO,
    ),
    case(
        "calls_and_responses_are_apart",
        ask(HELLO, model(call(), response())),
        LOOP,
        "can not be mixed with function_response parts",
        model=TWO,
    ),
    case(
        "calls_follow_users",
        ask(HELLO, model(text()), model(call()), user(response())),
        ask(HELLO, model(text()), HELLO, model(call()), user(response())),
        "comes immediately after a user turn or after a function response turn",
        model=TWO,
    ),
    case(
        "calls_follow_users",
        ask(model(call()), user(response())),
        LOOP,
        "immediately after a user turn",
        model=TWO,
    ),
    case(
        "responses_follow_calls",
        ask(HELLO, model(text()), user(response())),
        LOOP,
        "function response turn comes immediately after a function call turn",
        model=TWO,
    ),
    case(
        "responses_are_complete",
        ask(HELLO, model(call(), call()), user(response())),
        PARALLEL,
        "number of function response parts is equal to the number of function call parts",
        model=TWO,
    ),
    case(
        "responses_are_complete", ask(HELLO, model(call()), HELLO), LOOP, "is equal to the number", model=TWO
    ),
    case(
        "users_come_last",
        ask(HELLO, model(text())),
        ask(HELLO, model(text()), HELLO),
        "end with a user",
        model=TWO,
    ),
    case(
        "steps_are_signed",
        LOOP,
        ask(HELLO, model(call(signature=SIGNED)), user(response())),
        "missing a thought_signature in functionCall parts",
        model=THREE,
    ),
    case(
        "steps_are_signed",
        ask(HELLO, model(call(signature=SIGNED)), user(response()), model(call()), user(response())),
        ask(HELLO, model(call()), user(response()), model(text()), HELLO),
        "function call `default_api:grep` , position 4",
        model=THREE,
    ),
    case(
        "steps_are_signed",
        ask(HELLO, model(call(), call(signature=SIGNED)), user(response(), response())),
        ask(HELLO, model(call(signature=SIGNED), call()), user(response(), response())),
        "position 2",
        model=THREE,
    ),
    case(
        "signatures_verify",
        ask(HELLO, model(call(signature=SIGNED[:-8] + "AAAAAAA=")), user(response())),
        ask(HELLO, model(call(signature=SIGNED)), user(response())),
        "Corrupted thought signature.",
        model=THREE,
    ),
    case(
        "signatures_verify",
        ask(HELLO, model(call(signature="made up")), user(response())),
        ask(HELLO, model(call(signature="skip_thought_signature_validator")), user(response())),
        "Corrupted thought signature.",
        model=THREE,
    ),
    case(
        "tools_are_known",
        ask(HELLO, tools=[{"type": "function", "name": "grep"}]),
        ask(HELLO, tools=[*declared("grep"), {"google_search": {}}]),
        "Unknown name",
        model=TWO,
    ),
    case(
        "declarations_have_names",
        ask(HELLO, tools=declared("9 lives")),
        ask(HELLO, tools=declared("nine.lives")),
        "function_declarations[0].name",
        model=TWO,
    ),
    case(
        "declarations_are_unique",
        ask(HELLO, tools=declared("grep", "grep")),
        ask(HELLO, tools=declared("grep", "ls")),
        "Duplicate function declaration found: grep",
        model=TWO,
    ),
    case(
        "settings_are_objects",
        ask(HELLO, generationConfig={"thinkingConfig": "high"}),
        ask(HELLO, generationConfig={"thinkingConfig": {"thinkingLevel": "high"}}),
        "generation_config.thinking_config",
        model=THREE,
    ),
    case(
        "thinking_is_set_one_way",
        ask(HELLO, generationConfig={"thinkingConfig": {"thinkingBudget": 9, "thinkingLevel": "low"}}),
        ask(HELLO, generationConfig={"thinkingConfig": {"thinkingLevel": "low"}}),
        "only one of thinking budget and thinking level",
        model=THREE,
    ),
]


@pytest.mark.parametrize("of", CASES, ids=name)
def test_refuses(of: Case):
    refused = of.refusal("gemini", of.refused)
    assert refused is not None
    assert (refused.rule, refused.status) == (of.rule, 400)
    assert of.words in refused.message


@pytest.mark.parametrize("of", CASES, ids=name)
def test_lets_the_near_twin_pass(of: Case):
    assert of.judge("gemini", of.passed) == ""


def test_every_rule_has_a_case():
    assert {rule.__name__ for rule in RULES["gemini"]} == {of.rule for of in CASES}


def test_an_older_model_and_an_image_model_need_no_signature():
    assert check("gemini", LOOP, JudgeTerms(TWO)) is None
    assert check("gemini", LOOP, JudgeTerms("gemini-3-pro-image-preview")) is None


def test_foreign_signatures_pass_where_they_are_accepted():
    body = ask(HELLO, model(call(signature="CiQBcsjafA==")), user(response()))
    assert check("gemini", body, JudgeTerms(THREE, foreign=True)) is None
    assert check("gemini", body, JudgeTerms(THREE)) is not None
