"""OpenAI Responses: every rule refuses something, lets its near twin pass, and what is broken is repaired."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from responses_builders import (
    DIALECT,
    EVERY_CALL,
    EVERY_OUTPUT,
    approval,
    called,
    custom,
    patch,
    refused,
    repaired,
    replied,
    request,
    returned,
    rows_of,
    said,
    shell,
    thought,
    tool_search,
    violations,
)

from fanfold.core.message import Call, Message, Result, Text, assistant, result
from fanfold.dialects.dialect import bare_row
from fanfold.dialects.responses import rules
from fanfold.dialects.rules import NO_RESULT

LONG = "x" * (rules.LONGEST_TEXT + 1)
CASES = [
    ("some_message", [], [said()]),
    ("type_given", [{"type": None, "role": "user", "content": "x"}], [{"role": "user", "content": "x"}]),
    ("content_given", [{"role": "user", "content": None}], [{"role": "user", "content": ""}]),
    ("blocks_fit", [said() | {"role": "assistant"}], [replied()]),
    ("blocks_fit", [said() | {"content": [{"type": "text", "text": "x"}]}], [said("x")]),
    ("blocks_fit", [said() | {"content": ["x"]}], [said("x")]),
    ("texts_whole", [said(LONG)], [said(LONG[:-1])]),
    ("id_given_by_server", [replied(id="call_1")], [replied(id="msg_1")]),
    ("id_given_by_server", [replied(id="msg_a|b")], [replied(id="msg_a-b")]),
    ("call_identified", [called(None)], [called(), returned()]),
    ("call_identified", [called("c" * 65), returned("c" * 65)], [called("c" * 64), returned("c" * 64)]),
    ("function_called", [called(name="a.b"), returned()], [called(name="a_b"), returned()]),
    ("function_called", [called(arguments={}), returned()], [called(arguments="{}"), returned()]),
    ("output_given", [called(), returned(output=None)], [called(), returned(output="")]),
    ("summary_given", [{"type": "reasoning", "encrypted_content": "x"}, replied()], [thought(), replied()]),
    ("no_reference", [{"type": "item_reference", "id": "msg_1"}], [replied(id="msg_1")]),
    ("answered", [said(), called()], [said(), called(), returned()]),
    ("answered", [returned(), called()], [called(), returned()]),
    ("answered", [called(), returned(), returned()], [called(), returned()]),
    ("answered", [custom(), returned()], [custom(), returned(type="custom_tool_call_output")]),
    (
        "calls_distinct",
        [called(), returned(), called(), returned()],
        [called(), returned(), called("c2"), returned("c2")],
    ),
    ("ids_distinct", [replied(id="msg_1"), replied(id="msg_1")], [replied(id="msg_1"), replied(id="msg_2")]),
    ("reasoning_followed", [said(), thought()], [said(), thought(), replied()]),
    ("reasoning_followed", [thought(), said()], [thought(), thought(), called(), returned()]),
]


@pytest.mark.parametrize(
    ("rule", "wrong", "right"), CASES, ids=[f"{case[0]}-{i}" for i, case in enumerate(CASES)]
)
def test_a_rule_refuses_one_and_lets_its_twin_pass(rule, wrong, right):
    assert rule in violations(*wrong)
    assert violations(*right) == set()
    assert refused(request(*right)) == ""


def test_every_rule_has_a_case():
    assert {rule.__name__ for rule in (*rules.BODY, *rules.ORDER)} == {rule for rule, _, _ in CASES}


@pytest.mark.parametrize(
    ("rule", "wrong", "right"), CASES, ids=[f"{case[0]}-{i}" for i, case in enumerate(CASES)]
)
def test_what_breaks_a_rule_is_repaired_and_stays_so(rule, wrong, right):
    if rule in ("some_message", "no_reference"):
        return
    shown, touched = repaired(said("first"), *wrong)
    assert violations(*shown) == set()
    assert refused(request(*shown)) == ""
    assert touched <= 2
    assert repaired(*shown) == (shown, 0)


@pytest.mark.parametrize("make", EVERY_CALL)
def test_a_call_of_every_kind_gets_the_output_that_was_never_given(make):
    shown, touched = repaired(said(), make())
    assert touched == 1
    assert shown[2]["type"] == EVERY_OUTPUT[make()["type"]]["type"]
    assert "no result" in str(shown[2:])
    assert violations(*shown) == set()
    assert refused(request(*shown)) == ""


@pytest.mark.parametrize("make", EVERY_CALL)
def test_an_output_of_the_wrong_kind_becomes_one_of_its_calls(make):
    shown, _ = repaired(said(), make(), returned(output="found"))
    assert [item["type"] for item in shown[1:3]] == [make()["type"], EVERY_OUTPUT[make()["type"]]["type"]]
    assert "found" in str(shown[2:])
    assert violations(*shown) == set()


def test_dangling_reasoning_leaves_and_shows_nothing():
    assert DIALECT.repair(rows_of(said(), thought(), thought(), said("more")), {}) == [
        (("m1",), ()),
        (("m2",), ()),
    ]


def test_a_row_that_was_repaired_to_nothing_is_repaired_again():
    """As after a stream that was cut before its first word (19.12)."""
    empty = bare_row(DIALECT, DIALECT.message(said()))
    row = replace(empty, kind="mend", weight=replace(empty.weight, wire=()))
    assert DIALECT.repair([*rows_of(said()), row], {}) == []


def test_an_output_without_a_call_becomes_words():
    shown, touched = repaired(said(), returned("c9", "found it"))
    assert touched == 1
    assert "c9" in shown[1]["content"][0]["text"]
    assert "found it" in shown[1]["content"][0]["text"]


def test_the_real_answer_takes_the_place_of_the_made_up_one():
    row = rows_of(called())[0]
    ((_, shows),) = DIALECT.repair([row], {})
    weighed = [bare_row(DIALECT, message) for message in shows]
    weight = replace(row.weight, wire=tuple(body for each in weighed for body in each.weight.wire))
    repair = replace(row, id="e1", kind="mend", messages=shows, weight=weight, results=("c1",))
    assert DIALECT.repair([repair], {}) == []
    late = bare_row(DIALECT, result("c1", "found"), 1)
    ((covers, again),) = DIALECT.repair([repair, late], {})
    assert (covers, [message.calls != () for message in again]) == (("e1",), [True])


def test_a_second_call_with_the_same_id_is_renamed_with_its_answer():
    shown, touched = repaired(called(), returned(output="a"), called(), returned(output="b"))
    assert touched == 2
    assert shown[2]["call_id"] == shown[3]["call_id"] != shown[0]["call_id"]
    assert [item["output"] for item in shown if "output" in item] == ["a", "b"]


def test_an_answer_goes_to_the_last_call_that_came_with_its_id():
    shown, touched = repaired(called(), said(), called(), returned(output="b"))
    assert touched == 3
    assert [item.get("call_id") for item in shown] == ["c1", "c1", None, "c1_again", "c1_again"]
    assert NO_RESULT in shown[1]["output"]


def test_a_server_side_search_and_an_approval_need_no_answer():
    search = tool_search(None, execution="server")
    found = {"type": "tool_search_output", "call_id": None, "tools": []}
    assert violations(said(), search, found, approval(), said()) == set()


def test_with_store_off_reasoning_that_nobody_can_read_is_left_out_and_unbinds_what_followed():
    items = [
        said(),
        thought(sealed=None, id="rs_1"),
        replied(id="msg_1"),
        called(id="fc_1"),
        returned(),
        said(),
    ]
    allowed = DIALECT.allow(rows_of(*items), {"store": False})
    sent = [body for row in allowed.rows for body in row.weight.wire]
    assert sent == [said(), replied(), called(), returned(), said()]
    assert allowed.left_out == ("m1#0",)
    assert refused(request(*sent, store=False)) == ""
    assert [body for row in DIALECT.allow(rows_of(*items), {}).rows for body in row.weight.wire] == items


def test_encrypted_reasoning_stays_with_store_off():
    items = [said(), thought(id="rs_1"), replied(id="msg_1"), said()]
    allowed = DIALECT.allow(rows_of(*items), {"store": False})
    assert (list(allowed.rows), allowed.left_out) == (allowed.rows, ())
    assert [body for row in allowed.rows for body in row.weight.wire] == items


def test_the_servers_memory_is_not_asked_for():
    allowed = DIALECT.allow(rows_of(said()), {"previous_response_id": "resp_1", "store": True})
    assert allowed.params == {"store": True}
    assert allowed.left_out[0].startswith("previous_response_id")


@pytest.mark.parametrize("make", [*EVERY_CALL, approval])
@pytest.mark.parametrize("error", [False, True])
def test_an_answer_given_here_has_the_form_its_call_wants(make, error):
    call = DIALECT.message(make()).calls[0]
    answer = Message("tool", (Result(call.id, (Text("done"),), error, call.name),))
    rows = [*rows_of(said(), make()), bare_row(DIALECT, answer, 2)]
    allowed = DIALECT.allow(rows, {})
    assert DIALECT.check(allowed.rows, {}) == []
    sent = [body for row in allowed.rows for body in row.weight.wire]
    assert refused(request(*sent)) == ""
    assert not make()["type"].endswith(("shell_call", "patch_call")) or "done" in repr(sent[-1])


def test_context_joins_the_last_output_and_never_ends_a_loop():
    def tail(*items):
        return DIALECT.encode(DIALECT.frame((), ()), rows_of(*items), {}, context="today")["input"][-1]

    assert tail(said(), called(), returned())["output"] == "out\n\ntoday"
    listed = returned(output=[{"type": "input_text", "text": "out"}])
    assert tail(called(), listed)["output"][-1] == {"type": "input_text", "text": "today"}
    assert tail(shell(), EVERY_OUTPUT["shell_call"])["output"][-1]["stdout"] == "a\n\ntoday"
    assert tail(patch(), EVERY_OUTPUT["apply_patch_call"])["output"] == "out\n\ntoday"
    assert tail(said()) == {"role": "user", "content": "today"}
    assert returned()["output"] == "out"


broken = st.lists(
    st.sampled_from(
        [
            said(),
            replied(),
            replied(id="msg_1"),
            thought(),
            thought(id="rs_1"),
            thought(sealed=None),
            called(),
            called("c2"),
            called("c" * 70),
            called(arguments={}, name=""),
            custom(),
            shell("c2"),
            returned(),
            returned("c2", None),
            returned("c" * 70),
            returned(type="custom_tool_call_output"),
            said() | {"role": "assistant"},
            {"role": "user", "content": [{"type": "tool_result"}, 5]},
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        ]
    ),
    min_size=1,
    max_size=9,
)


@given(broken, st.sampled_from([{}, {"store": False}]))
def test_any_mixture_is_repaired_and_the_provider_agrees(items, params):
    shown, _ = repaired(said("first"), *items, **params)
    assert violations(*shown, **params) == set()
    allowed = DIALECT.allow(rows_of(*shown), params)
    sent = [body for row in allowed.rows for body in row.weight.wire]
    assert refused(request(*sent, **params)) == ""
    assert repaired(*shown, **params)[1] == 0


@given(broken)
def test_nothing_that_was_right_is_touched(items):
    if violations(*items) == set():
        assert repaired(*items)[1] == 0


def test_calls_recorded_in_one_message_are_repaired_too():
    rows = [bare_row(DIALECT, assistant("", Call("c1", "a.b", "{}"), Call("c1", "x", "{}")))]
    ((_, shows),) = DIALECT.repair(rows, {})
    sent = [body for message in shows for body in DIALECT.wire(message)]
    assert violations(*sent) == set()
    assert NO_RESULT in repr(sent)
