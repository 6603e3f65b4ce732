"""Cache marks: at most four, the caller's win, and nothing else changes."""

import json

from anthropic_wire import (
    DIALECT,
    HELLO,
    PARAMS,
    answer,
    assistant,
    message,
    result,
    rows,
    text,
    thought,
    use,
    user,
)
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold.dialects.dialect import Marks

MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
TOOLS = [{"name": "a", "input_schema": {}}, {"name": "b", "input_schema": {}}]


def marked(some, previous=None, system=(), tools=(), context=None, **params):
    frame = DIALECT.frame(system, tools)
    marks = Marks("key", previous)
    return DIALECT.encode(frame, some, {**PARAMS, **params}, context=context, marks=marks)


def places(request):
    """Where the marks are, in the order the provider reads them."""
    found = [f"tools.{i}" for i, tool in enumerate(request.get("tools", ())) if "cache_control" in tool]
    system = request.get("system", ())
    found += [
        f"system.{i}"
        for i, block in enumerate(system)
        if isinstance(block, dict) and "cache_control" in block
    ]
    for i, body in enumerate(request["messages"]):
        for j, block in enumerate(body["content"] if isinstance(body["content"], list) else ()):
            inner = block.get("content") if isinstance(block, dict) else None
            found += [
                f"{i}.{j}.in" for one in inner or () if isinstance(one, dict) and one.get("cache_control")
            ]
            found += [f"{i}.{j}"] if isinstance(block, dict) and block.get("cache_control") else []
    return found


def bare(value):
    """Without marks, every text as the one block it stands for."""
    if isinstance(value, dict):
        return {key: bare(each) for key, each in value.items() if key != "cache_control"}
    return [bare(each) for each in value] if isinstance(value, list) else value


def in_blocks(request):
    system = request.get("system")
    framed = {"system": [text(system)]} if system and isinstance(system, str) else {}
    return json.dumps(
        bare({**request, "messages": list(map(spread, request["messages"])), **framed}), sort_keys=True
    )


def spread(body):
    content = body["content"]
    return {**body, "content": [text(content)]} if content and isinstance(content, str) else body


def test_end_of_the_frame_end_of_the_body_and_the_last_requests_end():
    some = rows(user(text()), assistant(use()), answer("t1"), assistant(use("t2")), answer("t2"))
    assert places(marked(some, "m2", [text("Be brief.")], TOOLS)) == ["system.0", "2.0", "4.0"]
    assert places(marked(some, None, (), TOOLS)) == ["tools.1", "4.0"]
    assert places(marked(some)) == ["4.0"]


def test_a_text_that_carries_a_mark_is_the_one_block_it_stands_for():
    request = marked(rows(HELLO), system="Be brief.")
    assert request["system"] == [text("Be brief.", **MARK)]
    assert request["messages"] == [user(text("hello", **MARK))]


def test_thinking_never_carries_a_mark():
    some = rows(HELLO, assistant(text("so"), thought()))
    assert places(marked(some)) == ["1.0"]


def test_a_long_new_part_gets_a_mark_on_the_way():
    many = [text(str(i)) for i in range(30)]
    some = rows(HELLO, assistant(text()), user(*many))
    assert places(marked(some, "m1")) == ["1.0", "2.9", "2.29"]
    assert places(marked(rows(HELLO, assistant(text()), user(*many[:19])), "m1")) == ["1.0", "2.18"]


def test_the_volatile_context_stands_behind_the_last_mark():
    loop = rows(HELLO, assistant(use()), answer("t1"))
    request = marked(loop, context="now")
    assert places(request) == ["1.0"]
    assert request["messages"][2] == user(result(content="ok\n\nnow"))
    assert places(marked(rows(user(text())), context="now")) == ["0.0"]


def test_the_callers_marks_win_and_the_oldest_give_way():
    some = rows(*(user(text(str(i), **MARK)) for i in range(6)))
    assert places(marked(some, system=[text("Be brief.", **MARK)])) == ["system.0", "3.0", "4.0", "5.0"]
    assert places(marked(some, "m2")) == ["2.0", "3.0", "4.0", "5.0"]
    inner = rows(HELLO, assistant(use()), user(result(content=[text("a", **MARK)])))
    assert places(marked(inner, "m0", [text("Be brief.")])) == ["system.0", "2.0.in"]


def test_a_mark_on_the_whole_request_takes_one_place():
    some = rows(*(user(text(str(i), **MARK)) for i in range(6)))
    assert len(places(marked(some, **MARK))) == 3
    assert places(marked(rows(HELLO), system="Be brief.", **MARK)) == ["system.0"]


def test_no_mark_for_an_hour_stands_behind_one_for_five_minutes():
    some = rows(user(text("a", **MARK)), user(text("b", **HOUR)), user(text("c", **HOUR)))
    request = marked(some, system="Be brief.")
    assert places(request) == ["system.0", "1.0", "2.0"]
    assert request["system"][0]["cache_control"]["ttl"] == "1h"


def test_without_marks_asked_for_nothing_is_marked_or_removed():
    some = rows(*(user(text(str(i), **MARK)) for i in range(6)))
    request = DIALECT.encode(DIALECT.frame((), ()), some, PARAMS)
    assert len(places(request)) == 6


def test_a_session_marks_where_its_last_request_ended_though_this_one_is_asked_for_again():
    with fanfold.open("run", dialect="anthropic", window=9_000) as chat:
        chat.say("one")
        assert places(chat.request(max_tokens=100)) == ["0.0"]
        chat.add(assistant(text("two")))
        chat.say("three")
        assert places(chat.request(max_tokens=100)) == ["0.0", "2.0"]
        assert places(chat.request(max_tokens=90)) == ["0.0", "2.0"]


SYSTEMS = st.sampled_from([(), "Be brief.", [text("a"), text("b", **MARK)]])


ENDS = st.sampled_from([None, "m0", "m2", "gone"])


@given(st.lists(message, max_size=6), ENDS, SYSTEMS, st.sampled_from([None, "now"]))
def test_marks_change_no_other_byte_and_are_at_most_four(bodies, previous, system, context):
    some = rows(*bodies)
    before = json.dumps([row.weight.wire for row in some])
    plain = DIALECT.encode(DIALECT.frame(system, TOOLS), some, PARAMS, context=context)
    request = marked(some, previous, system, TOOLS, context)
    assert in_blocks(request) == in_blocks(plain)
    assert len(places(request)) <= 4
    assert json.dumps([row.weight.wire for row in some]) == before


def test_what_stands_before_the_models_first_words_gets_the_mark_that_is_left():
    opening = (HELLO, user(text("the story so far")))
    some = rows(*opening, assistant(use()), user(result(content=[text("a", **MARK)])))
    assert places(marked(some, "m0", [text("Be brief.", **MARK)])) == ["system.0", "1.0", "3.0.in"]
