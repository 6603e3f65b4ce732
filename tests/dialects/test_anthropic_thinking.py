"""Thinking goes out where the parameters permit it, and parameters give way where the rows do not permit them."""

from anthropic_wire import (
    DIALECT,
    HELLO,
    ON,
    PARAMS,
    answer,
    assistant,
    broken_rules,
    result,
    rows,
    served,
    text,
    thought,
    use,
    user,
)
from msgspec.structs import replace

import fanfold
from fanfold.core.message import Message, Text

THINKING = {**PARAMS, "thinking": ON}
LOOP = [HELLO, assistant(thought(), use()), user(result())]
PLAIN = [HELLO, assistant(use()), user(result())]
DONE = [*LOOP, assistant(thought(), text())]


def sent(some, params):
    allowed = DIALECT.allow(rows(*some) if isinstance(some[0], dict) else some, params)
    return DIALECT.encode(DIALECT.frame((), ()), allowed.rows, allowed.params), allowed.left_out


def test_with_thinking_on_a_loop_that_begins_with_it_goes_out_as_it_is():
    request, left_out = sent(LOOP, THINKING)
    assert request["messages"] == LOOP
    assert (request["thinking"], left_out) == (ON, ())


def test_with_thinking_off_no_turn_has_any_so_that_the_beginning_stays_as_it_was():
    bare = [*PLAIN, assistant(text())]
    assert sent(DONE, PARAMS)[0]["messages"] == bare
    request, left_out = sent([*DONE, *LOOP], PARAMS)
    assert request["messages"] == [*bare, *PLAIN]
    assert left_out == ("m1#0", "m3#0", "m5#0")


def test_a_thinking_budget_that_no_reply_affords_is_thinking_off():
    request, left_out = sent([*DONE, *LOOP], {**THINKING, "max_tokens": 500})
    assert request["messages"] == [*PLAIN, assistant(text()), *PLAIN]
    assert left_out == ("m1#0", "m3#0", "m5#0", "thinking: max_tokens is 500, a budget takes more")


def test_a_loop_that_goes_out_without_thinking_takes_none_from_the_turns_before():
    request, left_out = sent([*DONE, *PLAIN], THINKING)
    assert request["messages"] == [*DONE, *PLAIN]
    assert left_out == ("thinking: the running loop does not begin with thinking",)


def test_a_message_of_nothing_but_forbidden_thinking_is_not_sent():
    request, left_out = sent([HELLO, assistant(thought()), assistant(use()), user(result())], PARAMS)
    assert request["messages"] == PLAIN
    assert left_out == ("m1#0",)


def test_a_loop_that_does_not_begin_with_thinking_goes_out_without_until_the_user_speaks():
    mixed = [*PLAIN, assistant(thought(), use("t2")), user(result("t2"))]
    request, left_out = sent(mixed, THINKING)
    assert request["thinking"] == {"type": "disabled"}
    assert request["messages"] == [*PLAIN, assistant(use("t2")), user(result("t2"))]
    assert left_out == ("m3#0", "thinking: the running loop does not begin with thinking")
    request, left_out = sent([*mixed, assistant(text()), HELLO], THINKING)
    assert (request["thinking"], left_out) == (ON, ("m3#0",))


def test_a_loop_that_went_out_without_thinking_does_not_get_it_back_when_it_is_finished():
    mixed = [*PLAIN, assistant(thought(), use("t2")), user(result("t2"))]
    before = sent([*DONE, *mixed], THINKING)[0]["messages"]
    for later in ([], LOOP[1:], PLAIN[1:]):
        after = sent([*DONE, *mixed, assistant(text()), HELLO, *later], THINKING)[0]["messages"]
        assert after == [*before, assistant(text()), HELLO, *later]


def test_context_edits_that_demand_thinking_go_with_it():
    edits = [{"type": "clear_thinking_20251015"}, {"type": "clear_tool_uses_20250919"}]
    request, _ = sent(PLAIN, {**THINKING, "context_management": {"edits": edits, "x": 1}})
    assert request["context_management"] == {"edits": edits[1:], "x": 1}


def test_adaptive_thinking_demands_nothing():
    for settings in ({"type": "adaptive"}, {"type": "between_tools"}):
        params = {**PARAMS, "thinking": settings}
        for some in (PLAIN, LOOP):
            request, left_out = sent(some, params)
            assert (request["messages"], request["thinking"], left_out) == (some, settings, ())
            assert broken_rules(rows(*some), params) == set()


def test_models_that_think_unasked_keep_their_thinking():
    assert sent(LOOP, {**PARAMS, "model": "claude-sonnet-5"})[0]["messages"] == LOOP
    off = {**PARAMS, "model": "claude-sonnet-5", "thinking": {"type": "disabled"}}
    assert sent(LOOP, off)[0]["messages"] == PLAIN


def test_unsigned_thinking_is_never_sent():
    for params in (PARAMS, THINKING, {**PARAMS, "thinking": {"type": "adaptive"}}):
        some = [HELLO, assistant(thought(signature=""), text()), HELLO]
        request, left_out = sent(some, params)
        assert request["messages"] == [HELLO, assistant(text()), HELLO]
        assert left_out == ("m1#0",)
        assert broken_rules(rows(*some), params) == set()


def test_a_prefilled_reply_goes_out_without_thinking():
    request, left_out = sent([HELLO, assistant(text("So"))], THINKING)
    assert request["thinking"] == {"type": "disabled"}
    assert left_out == ("thinking: an assistant message that is to be continued comes last",)


def test_a_budget_is_lowered_below_the_limit_of_the_reply():
    params = {**PARAMS, "max_tokens": 2_000, "thinking": {"type": "enabled", "budget_tokens": 8_000}}
    request, left_out = sent(LOOP, params)
    assert request["thinking"] == {"type": "enabled", "budget_tokens": 1_999}
    assert left_out == ("thinking: the budget is 1,999, below max_tokens",)
    assert sent(LOOP, {**params, "max_tokens": 500})[0]["thinking"] == {"type": "disabled"}
    between = {**params, "extra_headers": {"anthropic-beta": "interleaved-thinking-2025-05-14"}}
    assert sent(LOOP, between)[0]["thinking"]["budget_tokens"] == 8_000


def test_words_that_fanfold_adds_behind_results_do_not_end_the_loop():
    some = rows(*LOOP, ("note", Message("user", (Text("[note]"),))), assistant(use("t2")), answer("t2"))
    assert sent(some, THINKING)[1] == ()
    assert sent(some, PARAMS)[1] == ("m1#0",)
    behind_words = rows(HELLO, ("fold", Message("user", (Text("[fold]"),))), assistant(use()), answer("t1"))
    assert sent(behind_words, THINKING)[0]["thinking"] == {"type": "disabled"}


def test_words_of_the_user_end_the_loop():
    some = [*LOOP, assistant(use("t2")), user(result("t2"), text("wait"))]
    assert sent(some, THINKING)[1] == ()
    without_budget = {**PARAMS, "thinking": {"type": "adaptive"}}
    assert sent(some, without_budget)[1] == ()


def test_models_that_check_what_stood_before_get_no_thinking_behind_an_edit():
    params = {**PARAMS, "model": "claude-opus-5-5", "thinking": {"type": "adaptive"}}
    some = rows(*LOOP, assistant(thought(), use("t2")), user(result("t2")))
    edited = [*some[:2], replace(some[2], was=some[2].messages[0]), *some[3:]]
    assert sent(some, params)[1] == ()
    assert sent(edited, params)[1] == ("m3#0",)
    assert sent(edited, {**params, "model": "claude-opus-5"})[1] == ()
    dropping = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert sent(edited, {**params, "thinking": dropping})[1] == ()


def test_rows_as_they_are_stay_as_they_are():
    some = rows(*LOOP)
    sent(some, PARAMS)
    assert some[1].weight.wire == (LOOP[1],)


ADAPTIVE = {"max_tokens": 2_000, "thinking": {"type": "adaptive"}}


def thoughts(request):
    """What the model is shown of its own thinking."""
    blocks = [block for message in request["messages"] for block in message["content"]]
    return [block["thinking"] for block in blocks if block["type"] == "thinking"]


def test_for_them_only_thinking_that_was_there_before_an_edit_is_void():
    with fanfold.open("run", dialect="anthropic", model="claude-opus-5-5", window=200_000) as chat:
        chat.say("Look at everything. " * 20)
        chat.add(assistant(thought("one"), use("t1")))
        chat.answer("t1", "line\n" * 50_000)
        chat.add(assistant(thought("two"), use("t2")))
        chat.answer("t2", "done")
        assert thoughts(chat.request(**ADAPTIVE)) == ["one", "two"], "a filter shaped it before it was sent"
        first = chat.view().rows[0].id
        chat.fold((first,), "They said: look.")
        assert thoughts(chat.request(**ADAPTIVE)) == []
        chat.add(assistant(thought("three"), use("t3")))
        chat.answer("t3", "done")
        assert thoughts(chat.request(**ADAPTIVE)) == ["three"], "it saw the edit"


def test_a_paused_turn_goes_back_with_its_thinking():
    paused = [HELLO, assistant(thought(), served())]
    request, left_out = sent(paused, THINKING)
    assert (request["messages"], request["thinking"], left_out) == (paused, ON, ())
