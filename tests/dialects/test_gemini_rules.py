"""Every rule of generateContent refuses something and lets something much like it pass; repair makes it legal."""

import pytest
from gemini_wire import (
    DIALECT,
    HELLO,
    NEWER,
    SIGNATURE,
    THREE,
    applied,
    call,
    contents,
    model,
    response,
    rows,
    text,
    user,
    written,
)
from hypothesis import given
from hypothesis import strategies as st

from fanfold.core.message import Call, Message, Result, Text, assistant
from fanfold.core.record import Frame
from fanfold.dialects.gemini import rules
from fanfold.dialects.gemini.rules import PLACEHOLDER
from fanfold.dialects.gemini.write import contents as sent
from fanfold.dialects.rules import faults
from fanfold.testing.provider.rejection import JudgeTerms
from fanfold.testing.provider.rules import check

LOOP = [HELLO, model(call()), user(response())]
PAIR = [HELLO, model(call(id="a"), call(id="b")), user(response(id="a"), response(id="b"))]
CASES = [
    ("some_content", [], [HELLO]),
    ("some_parts", [user()], [HELLO]),
    ("parts_have_data", [user(text(""))], [HELLO]),
    (
        "parts_have_data",
        [HELLO, model({"thought": True}), HELLO],
        [HELLO, model(text("hm", thought=True)), HELLO],
    ),
    (
        "parts_have_data",
        [user({"text": "a", "inlineData": {"data": "AA=="}})],
        [user({"inlineData": {"data": "AA=="}})],
    ),
    ("calls_well_formed", [HELLO, model(call("a b")), user(response("a b"))], LOOP),
    ("calls_well_formed", [HELLO, model(call(args="{}")), user(response())], LOOP),
    ("responses_well_formed", [HELLO, model(call()), user(response(response="ok"))], LOOP),
    (
        "responses_well_formed",
        [HELLO, model(call(id="a")), user({"functionResponse": {"id": "a", "response": {}}})],
        LOOP,
    ),
    ("responses_alone", [HELLO, model(call()), user(response(), text())], [*LOOP, user(text())]),
    ("distinct", [HELLO, model(call(id="a"), call(id="a")), user(response(id="a"), response(id="a"))], PAIR),
    ("calls_by_assistant", [user(call()), user(response())], LOOP),
    ("results_by_tools", [HELLO, model(call()), model(response()), HELLO], LOOP),
    ("whole", ["hello"], [HELLO]),
    ("whole", [{"role": "user", "parts": {"text": "a"}}], [HELLO]),
    ("user_first", [model(text()), HELLO], [HELLO, model(text()), HELLO]),
    ("user_last", [HELLO, model(text())], [HELLO, model(text()), HELLO]),
    (
        "calls_after_user",
        [HELLO, model(text()), model(call()), user(response())],
        [HELLO, model(text(), call()), user(response())],
    ),
    ("answered", [HELLO, model(call()), HELLO], LOOP),
    ("answered", [HELLO, model(call())], LOOP),
    ("answered", [HELLO, user(response())], LOOP),
    (
        "answered",
        [HELLO, model(call(id="a"), call(id="b")), user(response(id="a")), user(response(id="b"))],
        PAIR,
    ),
    ("answered", [HELLO, model(call(id="a")), user(response())], LOOP),
]


def broken(bodies, dialect=DIALECT):
    return {violation.rule for violation in dialect.check(rows(*bodies, dialect=dialect), {})}


@pytest.mark.parametrize(("rule", "refused", "passed"), CASES, ids=[case[0] for case in CASES])
def test_refuses_one_and_lets_its_twin_pass(rule, refused, passed):
    assert rule in broken(refused)
    assert broken(passed) == set()


def test_every_rule_has_a_case():
    named = {rule.__name__ for rule in (*rules.MESSAGE, *rules.ORDER)}
    assert named == {rule for rule, _, _ in CASES}


def test_an_unsigned_step_is_refused_by_models_that_want_signatures():
    assert broken(LOOP, NEWER) == {"signed"}
    assert (
        broken([HELLO, model(call(signed=SIGNATURE), call()), user(response(), response())], NEWER) == set()
    )


@given(contents)
def test_a_glance_lets_nothing_pass_that_a_rule_refuses(body):
    message = DIALECT.message(body)
    assert not rules.is_plain(message) or not faults(message, rules.MESSAGE)


def judged(dialect, given, model="gemini-2.5-pro"):
    """What the scripted provider says to the rows as they would be sent."""
    allowed = dialect.allow(given, {})
    request = dialect.encode(Frame(), allowed.rows, {"model": model})
    return check("gemini", request, JudgeTerms(model, foreign=True))


@pytest.mark.parametrize(("rule", "refused", "passed"), CASES[1:], ids=[case[0] for case in CASES[1:]])
def test_repairing_makes_it_legal_and_leaves_the_legal_alone(rule, refused, passed):
    assert DIALECT.repair(rows(*passed), {}) == []
    given = rows(*refused)
    repaired = applied(DIALECT, given, DIALECT.repair(given, {}))
    assert judged(DIALECT, repaired) is None
    if rule != "whole":
        assert DIALECT.check(repaired, {}) == []


@given(st.lists(contents, min_size=1, max_size=7))
def test_whatever_came_is_legal_after_repairing_and_is_repaired_once(bodies):
    for dialect in (DIALECT, NEWER):
        given = rows(*bodies, dialect=dialect)
        repaired = applied(dialect, given, dialect.repair(given, {}))
        assert dialect.check(dialect.allow(repaired, {}).rows, {}) == []
        assert dialect.repair(repaired, {}) == []


plain_parts = st.sampled_from(
    [text("a"), text(""), call(), call(id="a"), call("read"), call(id="b", signed=SIGNATURE)]
)
plain_answers = st.sampled_from(
    [response(), response(id="a"), response("read"), response(id="b"), text("so")]
)
talks = st.lists(
    st.one_of(
        st.lists(plain_parts, max_size=3).map(lambda parts: model(*parts)),
        st.lists(plain_answers, max_size=3).map(lambda parts: user(*parts)),
    ),
    min_size=1,
    max_size=8,
)


@given(talks)
def test_the_scripted_provider_takes_what_was_repaired(bodies):
    for dialect, name in ((DIALECT, "gemini-2.5-pro"), (NEWER, THREE)):
        given = rows(*bodies, dialect=dialect)
        assert judged(dialect, applied(dialect, given, dialect.repair(given, {})), name) is None


def test_repairing_touches_only_the_broken_rows():
    given = rows(HELLO, *LOOP, model(text("", thoughtSignature=SIGNATURE), call(id="x")), HELLO)
    repairs = DIALECT.repair(given, {})
    assert [covers for covers, _ in repairs] == [("m4",)]
    assert repairs[0][1][0].wire.body == given[4].weight.wire[0]
    assert repairs[0][1][1].results == (
        Result("x", (Text("[no result: the call was not answered]"),), True, "grep"),
    )


def test_two_contents_of_the_model_become_one_where_the_second_calls():
    thinking, calling = model(text("hm", thought=True)), model(call(signed=SIGNATURE))
    ((covers, shows),) = DIALECT.repair(rows(HELLO, thinking, calling, user(response())), {})
    assert covers == ("m1", "m2", "m3")
    assert [message.wire.body for message in shows] == [
        model(text("hm", thought=True), call(signed=SIGNATURE)),
        user(response()),
    ]


def test_a_response_without_an_id_is_linked_to_the_call_of_its_name():
    bodies = [
        HELLO,
        model(call(id="a"), call(id="b"), call("read", id="c")),
        user(response("read"), response(), response()),
    ]
    ((_, shows),) = DIALECT.repair(rows(*bodies), {})
    assert [each.call for each in shows[1].results] == ["c", "a", "b"]


def test_an_unsigned_step_is_sent_with_the_placeholder_and_said_so():
    bodies = [
        HELLO,
        model(call(), call()),
        user(response(), response()),
        model(call(signed=SIGNATURE)),
        user(response()),
    ]
    given = rows(*bodies, dialect=NEWER)
    allowed = NEWER.allow(given, {})
    sent_parts = [body["parts"][0].get("thoughtSignature") for body in sent(allowed.rows)]
    assert sent_parts == [None, PLACEHOLDER, None, SIGNATURE, None]
    assert "thoughtSignature" not in sent(allowed.rows)[1]["parts"][1]
    assert allowed.left_out == ("thought signature: 1 steps have none, a placeholder is sent",)
    assert judged(NEWER, given, THREE) is None
    assert sent(given) == bodies


def test_the_placeholder_stays_when_the_turn_is_over():
    now, later = rows(*LOOP, dialect=NEWER), rows(*LOOP, model(text()), HELLO, dialect=NEWER)
    first, second = (sent(NEWER.allow(given, {}).rows) for given in (now, later))
    assert second[: len(first)] == first


def test_results_recorded_one_by_one_are_one_content_and_words_after_them_another():
    asked = DIALECT.message(model(call(id="a"), call("read")))
    answers = [
        Message("tool", (Result("read", (Text("two"),), name="read"),)),
        Message("tool", (Result("a", (Text("one"),), True, name="grep"),)),
    ]
    given = written(Message("user", (Text("hi"),)), asked, *answers, Message("user", (Text("and?"),)))
    assert DIALECT.check(given, {}) == []
    assert sent(given)[2:] == [
        user(
            {"functionResponse": {"name": "read", "response": {"output": "two"}}},
            {"functionResponse": {"id": "a", "name": "grep", "response": {"error": "one"}}},
        ),
        user(text("and?")),
    ]


def test_a_nameless_result_takes_the_name_of_its_call():
    given = written(
        Message("user", (Text("hi"),)),
        assistant("", Call("c1", "9 lives", "{}")),
        Message("tool", (Result("c1", (Text("out"),)),)),
    )
    assert DIALECT.check(given, {}) == []
    assert sent(given)[2]["parts"][0]["functionResponse"]["name"] == "_9_lives"


def test_the_context_joins_the_last_response_inside_a_loop_and_is_a_content_elsewhere():
    inside = DIALECT.encode(Frame(), rows(*LOOP), {}, context="today")
    outside = DIALECT.encode(Frame(), rows(HELLO), {}, context="today")
    assert inside["contents"] == [*LOOP[:2], user(response(output="ok\n\ntoday"))]
    assert outside["contents"] == [HELLO, user(text("today"))]
    assert LOOP[2] == user(response())


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"model": "m"}, {"model": "m", "config": {"max_output_tokens": 9}}),
        ({"config": {"maxOutputTokens": 1, "x": 2}}, {"config": {"maxOutputTokens": 9, "x": 2}}),
        ({"generationConfig": {"x": 2}}, {"generationConfig": {"x": 2, "maxOutputTokens": 9}}),
        ({"safetySettings": []}, {"safetySettings": [], "generationConfig": {"maxOutputTokens": 9}}),
    ],
)
def test_the_limit_stands_where_the_form_wants_it(params, expected):
    request = DIALECT.encode(Frame(), rows(HELLO), {**params, **DIALECT.limit(9, 100)})
    assert request == {**expected, "contents": [HELLO]}


def test_a_system_prompt_given_as_text_fits_both_forms():
    frame = DIALECT.frame(("Be brief.",), ({"functionDeclarations": []},))
    fresh = DIALECT.encode(frame, rows(HELLO), {})
    rest = DIALECT.encode(frame, rows(HELLO), {"generationConfig": {}})
    assert fresh["config"] == {"system_instruction": "Be brief.", "tools": [{"functionDeclarations": []}]}
    assert rest["systemInstruction"] == {"parts": [{"text": "Be brief."}]}


def test_a_part_that_is_no_object_beside_responses_of_two_wires_is_repaired():
    calling, mixed = model(call(id="a"), call(id="b")), user(response(id="b"), "and this")
    written_here = Message("tool", (Result("a", (Text("ok"),), name="grep"),))
    messages = [*map(DIALECT.message, (HELLO, calling)), written_here, DIALECT.message(mixed)]
    given = written(*messages)
    repaired = applied(DIALECT, given, DIALECT.repair(given, {}))
    assert DIALECT.check(repaired, {}) == []
    assert repaired[-1].messages[0].text == "and this"
