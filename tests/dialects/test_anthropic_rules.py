"""Every rule refuses something, lets something much like it pass, and what it refuses can be repaired."""

import time

import pytest
from anthropic_wire import (
    DIALECT,
    HELLO,
    JUDGE,
    MODEL,
    ON,
    PARAMS,
    PNG,
    assistant,
    broken_rules,
    found,
    loose,
    repaired,
    result,
    rows,
    sendable,
    sent,
    served,
    text,
    thought,
    use,
    user,
    verdict,
)
from hypothesis import given
from hypothesis import strategies as st

from fanfold.core.message import Message, Result, Text
from fanfold.dialects.anthropic.message_rules import IN_PLACE, MESSAGE
from fanfold.dialects.anthropic.rules import ORDER

NEW = {"model": "claude-opus-4-8", "max_tokens": 4_000}
LOOP = [HELLO, assistant(use()), user(result())]
TOLD = {"role": "system", "content": "Be brief."}
NOTHING_TO_REPAIR = {
    "signed",
    "loop_thinks",
    "loop_does_not_think",
    "no_prefill_with_thinking",
    "budget_fits",
    "thinking_is_free",
}

CASES = [
    ("calls_by_assistant", [user(use()), user(text())], LOOP),
    ("results_by_tools", [HELLO, assistant(text(), result())], LOOP),
    ("assistants_own", [user(thought(), text())], [HELLO, assistant(thought(), text()), HELLO]),
    (
        "assistants_own",
        [user(served(), found(), text())],
        [HELLO, assistant(served(), found(), text()), HELLO],
    ),
    ("results_first", [HELLO, assistant(use()), user(text(), result())], [*LOOP[:2], user(result(), text())]),
    ("no_blank_text", [user(text(" \n"))], [user(text(" \n"), text())]),
    ("no_blank_text", [user(text(""), text())], [user(text(" x"), text())]),
    ("no_blank_text", [{"role": "user", "content": "\n"}], [HELLO]),
    (
        "no_empty_text_in_result",
        [*LOOP[:2], user(result(content=[text("")]))],
        [*LOOP[:2], user(result(content=""))],
    ),
    ("whole_blocks", [user({"type": "text"}, text())], [user(text())]),
    ("whole_blocks", [user(None, text())], [user(text())]),
    ("whole_blocks", [user({"type": "image_url", "image_url": {"url": "x"}})], [user(PNG)]),
    ("whole_blocks", [user(5, text())], [user({"type": "x_new"}, text())]),
    ("content_given", [{"role": "user", "content": None}, HELLO], [HELLO]),
    ("object_inputs", [HELLO, assistant(use(input="{}")), user(result())], LOOP),
    ("named_calls", [HELLO, assistant(use(name="x" * 201)), user(result())], LOOP),
    ("named_calls", [HELLO, assistant(use(name="")), user(result())], LOOP),
    ("says_something", [HELLO, assistant(), HELLO], [HELLO, assistant()]),
    (
        "thinking_goes_on",
        [HELLO, assistant(thought()), HELLO],
        [HELLO, assistant(thought()), assistant(text()), HELLO],
    ),
    (
        "server_pairs",
        [HELLO, assistant(served(), text()), HELLO],
        [HELLO, assistant(served(), found(), text()), HELLO],
    ),
    (
        "server_pairs",
        [HELLO, assistant(found(), text()), HELLO],
        [HELLO, assistant(served()), assistant(found(), text())],
    ),
    ("some_message", [], [HELLO]),
    ("user_first", [assistant(text()), HELLO], [assistant({"type": "compaction", "content": "x"}), HELLO]),
    ("answered", [HELLO, assistant(use())], LOOP),
    ("answered", [HELLO, assistant(use()), HELLO], LOOP),
    ("answered", [user(result())], LOOP),
    ("answered", [*LOOP[:2], user(result(), result())], LOOP),
    (
        "answered",
        [HELLO, assistant(use(), use("t2")), user(result())],
        [HELLO, assistant(use(), use("t2")), user(result("t2"), result())],
    ),
    (
        "answered",
        [HELLO, assistant(use(), use("t2")), user(result()), user(result("t2"))],
        [HELLO, assistant(use()), assistant(use("t2")), user(result(), result("t2"))],
    ),
    ("own_ids", [*LOOP, assistant(use()), user(result())], [*LOOP, assistant(use("t2")), user(result("t2"))]),
    (
        "plain_ids",
        [HELLO, assistant(use("a|b")), user(result("a|b"))],
        [HELLO, assistant(use("a-b")), user(result("a-b"))],
    ),
    ("bare_messages", [{**HELLO, "id": "m1"}], [HELLO]),
    ("system_in_place", [HELLO, TOLD], [HELLO]),
    ("system_in_place", [TOLD, HELLO], [HELLO, TOLD], NEW),
    ("system_in_place", [HELLO, TOLD, HELLO], [HELLO, TOLD, assistant(text()), HELLO], NEW),
    ("good_ending", [HELLO, assistant(text("So "))], [HELLO, assistant(text("So"))]),
    ("good_ending", [HELLO, assistant(text("So"))], [HELLO, assistant(text("So")), HELLO], NEW),
    ("good_ending", [HELLO, assistant(text("So"))], [HELLO, assistant(text("So"), served())], NEW),
    ("good_ending", [HELLO, assistant(served(), text("So "))], [HELLO, assistant(served(), text("So"))], NEW),
    ("few_images", [user(*[PNG] * 101)], [user(*[PNG] * 100)]),
    (
        "few_images",
        [*LOOP[:2], user(result(content=[PNG] * 101))],
        [*LOOP[:2], user(result(content=[PNG] * 100))],
    ),
    ("budget_fits", [HELLO], [HELLO], {**PARAMS, "thinking": {"type": "enabled", "budget_tokens": 1}}),
    ("thinking_is_free", [HELLO], [HELLO], {**PARAMS, "thinking": ON, "temperature": 0}),
    ("thinking_is_free", [HELLO], [HELLO], {**PARAMS, "thinking": ON, "tool_choice": {"type": "any"}}),
    ("loop_thinks", LOOP, [HELLO, assistant(thought(), use()), user(result())], {**PARAMS, "thinking": ON}),
    ("loop_does_not_think", [HELLO, assistant(thought(), use()), user(result())], LOOP),
    ("no_prefill_with_thinking", [HELLO, assistant(thought(), text())], [HELLO], {**PARAMS, "thinking": ON}),
    (
        "no_prefill_with_thinking",
        [HELLO, assistant(thought(), text())],
        [HELLO, assistant(thought(), served())],
        {**PARAMS, "thinking": ON},
    ),
    (
        "signed",
        [HELLO, assistant(thought(signature=""), text()), HELLO],
        [HELLO, assistant(thought(), text()), HELLO],
    ),
]
MENDABLE = [case for case in CASES if case[0] not in NOTHING_TO_REPAIR | {"some_message"}]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_rule_refuses_one_and_passes_its_twin(case):
    rule, refused, passed, params = (*case, PARAMS)[:4]
    assert rule in {violation.rule for violation in DIALECT.check(rows(*refused), params)}
    if rule not in ("budget_fits", "thinking_is_free"):
        assert DIALECT.check(rows(*passed), params) == []
    elif rule == "thinking_is_free":
        assert DIALECT.check(rows(*passed), {**PARAMS, "thinking": ON}) == []


@pytest.mark.parametrize("case", MENDABLE, ids=lambda case: case[0])
def test_what_is_refused_is_repaired_to_what_provider_and_rules_accept(case):
    _, refused, _, params = (*case, PARAMS)[:4]
    mended = repaired(rows(*refused), params)
    assert broken_rules(mended, params) == set()
    assert verdict(mended, params) == ""


def test_every_rule_has_a_case():
    rules = {rule.__name__ for rule in (*MESSAGE, *ORDER)}
    assert {case[0] for case in CASES} == rules
    assert rules >= IN_PLACE


def test_the_scripted_provider_agrees_on_what_is_refused():
    """Only where fanfold is stricter on purpose does the provider let pass what a rule refuses."""
    stricter = {"answered", "signed", "says_something", "some_message"}
    for case in CASES:
        rule, refused, _, params = (*case, PARAMS)[:4]
        if rule not in stricter and rule not in NOTHING_TO_REPAIR:
            request = DIALECT.encode(DIALECT.frame((), ()), rows(*refused), params)
            assert JUDGE.check("anthropic", request) is not None, case


MIXED = st.lists(sendable | loose, min_size=1, max_size=8)


@given(MIXED, st.sampled_from([MODEL, "claude-opus-4-8", "claude-opus-4-6"]))
def test_whatever_came_is_legal_once_repaired(messages, model):
    params = {"model": model, "max_tokens": 4_000}
    mended = repaired(rows(*messages), params)
    if not any(row.weight.wire for row in mended):
        return
    assert broken_rules(mended, params) == set()
    assert verdict(mended, params) == ""


@given(MIXED)
def test_repairing_what_was_repaired_does_nothing(messages):
    mended = repaired(rows(*messages))
    assert DIALECT.repair(mended, PARAMS) == []


@given(MIXED)
def test_what_is_legal_is_left_alone(messages):
    some = rows(*messages)
    if DIALECT.check(some, PARAMS) == []:
        assert DIALECT.repair(some, PARAMS) == []


def test_a_missing_result_is_one_row_and_the_real_one_takes_its_place():
    some = rows(HELLO, assistant(use(), use("t2")), Message("tool", (Result("t1", (Text("one"),)),)))
    repairs = DIALECT.repair(some, PARAMS)
    assert [covers for covers, _ in repairs] == [("m2",)]
    then = [*repaired(some), rows(HELLO, HELLO, HELLO, Message("tool", (Result("t2", (Text("two"),)),)))[3]]
    assert sent(repaired(then))[-1] == user(result(content="one"), result("t2", "two"))


def test_a_stray_result_becomes_plain_words_with_its_pictures():
    mended = repaired(rows(user(result("gone", [text("found it"), PNG]))))
    assert sent(mended) == [user(text("[result of a call that is not here (gone)]\nfound it"), PNG)]


def test_a_second_call_with_the_same_id_gets_one_of_its_own():
    mended = repaired(rows(*LOOP, assistant(use()), user(result(content="second"))))
    assert sent(mended)[3:] == [assistant(use("t1_2")), user(result("t1_2", "second"))]


def test_checking_is_fast_enough_to_run_on_every_request():
    some = rows(
        HELLO, *(body for i in range(1_000) for body in (assistant(use(f"t{i}")), user(result(f"t{i}"))))
    )
    start = time.process_time()
    DIALECT.check(some, PARAMS)
    assert time.process_time() - start < 0.05
