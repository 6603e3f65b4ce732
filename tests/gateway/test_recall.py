"""The model looks something up again, and the client does not hear of it."""

import json
import re
import threading

import pytest

from fanfold.core.edit import RECALL
from fanfold.gateway.body import with_less_room
from fanfold.gateway.hidden import MOST
from fanfold.testing.provider import Provider, Turn
from fanfold.tokens.usage import billed_usage
from tests.gateway.gate import Gate
from tests.provider.test_sdks import THOUGHT, Chat, Responses, both_ways, each_long_loop

STEPS, LOOK = 14, 10
OUTPUT = "\n".join(f"src/m{line}.py:{line}: found {line * 7}" for line in range(260))


def script(mixed=False):
    """Calls of the client's tool; at one step a recall tool is called, alone or beside it, and then once more."""

    def play(request):
        number = request.number
        text = json.dumps(request.body)
        offered = all(name in text for name in RECALL)
        if number in (LOOK, LOOK + 1) and offered:
            beside = [("grep", {"pattern": "beside"})] if mixed and number == LOOK else []
            if not (mixed and number == LOOK + 1):
                return Turn(
                    "", calls=[("tool_output_cache_search", {"pattern": "m7.py"}), *beside], thinking=THOUGHT
                )
        if number >= STEPS:
            return Turn("Found it.", thinking=THOUGHT)
        return Turn("", calls=[("grep", {"pattern": f"x{number}"})], thinking=THOUGHT)

    return play


def run(loop, gate, stream):
    talk = loop(gate)
    text = None
    while text is None:
        talk.output = f"{len(talk.history)}\n{OUTPUT}"
        text = talk.take(talk.ask(stream))
    return text, talk


def names_in(talk):
    return json.dumps(talk.history, default=lambda one: one.model_dump(mode="json"))


@each_long_loop
@both_ways
def test_a_recall_is_answered_here_and_stays_hidden(loop, stream):
    with Provider(script(), window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        text, talk = run(loop, gate, stream)
        assert gate.gateway.metrics.count("hidden_rounds") == 2
        assert len(gate.gateway.conversations.pool.store.sessions("default")) == 1
    assert text == "Found it."
    assert [each.verdict for each in provider.requests] == ["accepted"] * (STEPS + 1)
    assert not any(name in names_in(talk) for name in RECALL), "the client never hears of these tools"
    last = json.dumps(provider.requests[-1].body)
    assert last.count("m7.py") >= 1
    assert "ref=" in last, "what is left out says by what reference it can be looked up"
    assert "tool_output_cache_search" in last.replace(
        '"name": "tool_output_cache_search", "description"', ""
    ), "the round is put back"


@each_long_loop
def test_calls_of_both_are_answered_together(loop):
    with Provider(script(mixed=True), window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        text, talk = run(loop, gate, stream=True)
        assert gate.gateway.metrics.count("hidden_rounds") == 1
    assert text == "Found it."
    assert {each.verdict for each in provider.requests} == {"accepted"}
    assert not any(name in names_in(talk) for name in RECALL)
    assert "beside" in names_in(talk)


def test_the_tools_enter_with_the_first_edit_and_stay():
    with Provider(script(), window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        run(Chat, gate, stream=False)
    offered = ["tool_output_cache_search" in json.dumps(each.body["tools"]) for each in provider.requests]
    assert offered[0] is False
    assert offered == sorted(offered)
    assert offered.index(True) > 2


LOOKING = ("tool_output_cache_search", {"pattern": "m7.py"})


def talkative(request):
    """The model says something before it looks something up, and something else afterwards."""
    if request.number == LOOK:
        return Turn("Let me look.", calls=[LOOKING], thinking=THOUGHT)
    if request.number == LOOK + 1:
        return Turn("There it is.", calls=[("grep", {"pattern": "there"})], thinking=THOUGHT)
    return (
        script()(request)
        if request.number > LOOK
        else Turn("", calls=[("grep", {"pattern": "x"})], thinking=THOUGHT)
    )


def words(reply):
    """All that a reply says; Gemini's stream has it in pieces."""
    said = reply.model_dump_json()
    return said + "".join(re.findall(r'"text":"([^"]*)"', said))


def billed(reply):
    """What a reply says of its usage, in words that all providers share."""
    usage = getattr(reply, "usage", None) or reply.usage_metadata
    return billed_usage(usage)


@each_long_loop
@both_ways
def test_several_rounds_are_one_reply_and_stay_apart_upstream(loop, stream):
    with Provider(talkative, window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        talk, replies, text = loop(gate), [], None
        while text is None:
            talk.output = f"{len(talk.history)}\n{OUTPUT}"
            replies.append(talk.ask(stream))
            text = talk.take(replies[-1])
    assert {each.verdict for each in provider.requests} == {"accepted"}
    told = next(reply for reply in replies if "There it is." in words(reply))
    assert "Let me look." in words(told), "the client is told both as one reply"
    last = json.dumps(provider.requests[LOOK + 2].body)
    assert (last.count("Let me look."), last.count("There it is.")) == (1, 1)
    between = last[last.index("Let me look.") : last.index("There it is.")]
    assert "tool_output_cache_search" in between
    first, second = provider.requests[LOOK], provider.requests[LOOK + 1]
    assert billed(told).output == billed_usage(first.usage).output + billed_usage(second.usage).output
    assert billed(told).prompt == billed_usage(second.usage).prompt


def test_words_are_told_before_the_model_looks_something_up():
    heard, waited = threading.Event(), []

    def play(request):
        if request.number == LOOK + 1:
            waited.append(heard.wait(10))
        return talkative(request)

    with Provider(play, window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        talk = Chat(gate)
        for _ in range(LOOK):
            talk.output = f"{len(talk.history)}\n{OUTPUT}"
            talk.take(talk.ask(stream=False))
        ids = set()
        for chunk in talk.client.chat.completions.create(**talk.request, stream=True):
            ids.add(chunk.id)
            if any(choice.delta.content and "Let" in choice.delta.content for choice in chunk.choices):
                heard.set()
    assert waited == [True]
    assert len(ids) == 1


def test_a_model_that_only_looks_things_up_is_told_to_go_on():
    def play(request):
        looks = "tool_output_cache_search" in json.dumps(
            request.body.get("tools")
        ) and "Nothing more" not in said(request)
        calls = [LOOKING] if looks else [("grep", {"pattern": "x"})]
        return Turn("Found it.") if request.number > 40 else Turn("", calls=calls, thinking=THOUGHT)

    def said(request):
        return json.dumps(request.body["messages"][-1])

    with Provider(play, window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        _, talk = run(Chat, gate, stream=True)
    assert {each.verdict for each in provider.requests} == {"accepted"}
    told = [number for number, each in enumerate(provider.requests) if "Nothing more" in said(each)]
    looked = provider.requests[told[0] - MOST : told[0]]
    assert all("m7.py" in said(each) for each in looked), "it looked something up so often before"
    assert not any(name in names_in(talk) for name in RECALL)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"max_tokens": 9_000}, {"max_tokens": 7_000}),
        ({"max_tokens": 2_500}, {"max_tokens": 1_024}),
        ({"max_tokens": 900}, {"max_tokens": 900}),
        (
            {"max_tokens": 9_000, "thinking": {"type": "enabled", "budget_tokens": 8_000}},
            {"max_tokens": 9_000, "thinking": {"type": "enabled", "budget_tokens": 8_000}},
        ),
        ({"generationConfig": {"maxOutputTokens": 9_000}}, {"generationConfig": {"maxOutputTokens": 7_000}}),
    ],
)
def test_what_rounds_took_is_missing_in_the_room_for_the_next(body, expected):
    assert with_less_room(body, 2_000) == expected


def test_a_stored_response_of_several_rounds_is_gone_on_from_by_the_id_that_was_told():
    with Provider(talkative, window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        client, previous, items = Responses(gate).client, None, "Where is the bug?"
        tools = [{"type": "function", "name": "grep", "parameters": {"type": "object", "properties": {}}}]
        while True:
            reply = client.responses.create(
                model="gpt-5.2", input=items, tools=tools, previous_response_id=previous
            )
            calls = [item for item in reply.output if item.type == "function_call"]
            if not calls:
                break
            text = f"{previous}\n{OUTPUT}"
            items = [
                {"type": "function_call_output", "call_id": one.call_id, "output": text} for one in calls
            ]
            previous = reply.id
        assert gate.gateway.metrics.count("hidden_rounds") > 0
        assert len(gate.gateway.conversations.pool.store.sessions("default")) == 1
    assert {each.verdict for each in provider.requests} == {"accepted"}
    last = json.dumps(provider.requests[-1].body)
    assert (last.count("Let me look."), last.count("There it is.")) == (1, 1)
