"""OpenAI Responses: a stream gives the reply that the whole response gives; a broken one what came."""

import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter
from responses_builders import DIALECT, called, replied, thought

from fanfold.core.errors import BadMessage
from fanfold.core.message import Opaque, Text, Thinking, Wire

TEXT = {"type": "output_text", "text": "Let me look.", "annotations": []}
OUTPUT = [
    thought("First this. Then that.", "seal", id="rs_1"),
    replied(id="msg_1", status="completed") | {"content": [TEXT]},
    called("c1", '{"pattern": "x"}', id="fc_1", status="completed"),
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c2", "name": "apply", "input": "*** Begin"},
]
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 120,
}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5.2",
    "status": "completed",
    "output": OUTPUT,
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": USAGE,
}


def story(output=OUTPUT, end="response.completed", response=RESPONSE):
    """The response as its server would stream it."""
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    told = [{"type": "response.created", "response": begun}]
    for place, item in enumerate(output):
        told += _item(place, item)
    told.append({"type": end, "response": response})
    return [{**event, "sequence_number": number} for number, event in enumerate(told)]


def _item(place, item):
    where = {"output_index": place, "item_id": item["id"]}
    blank = {"reasoning": "summary", "message": "content"}.get(item["type"])
    field = {"function_call": "arguments", "custom_tool_call": "input"}.get(item["type"])
    start = {**item, **({blank: []} if blank else {field: ""})}
    start.pop("encrypted_content", None)
    yield {"type": "response.output_item.added", "output_index": place, "item": start}
    if item["type"] == "reasoning":
        for nth, part in enumerate(item["summary"]):
            yield from _pieces(
                "response.reasoning_summary_text", part["text"], where | {"summary_index": nth}
            )
    elif item["type"] == "message":
        for nth, part in enumerate(item["content"]):
            more = where | {"content_index": nth, "logprobs": []}
            yield from _pieces("response.output_text", part["text"], more)
    else:
        kind = (
            "response.function_call_arguments" if field == "arguments" else "response.custom_tool_call_input"
        )
        yield from _pieces(kind, item[field], where)
    yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _pieces(kind, text, where):
    for at in range(0, len(text), 5):
        yield {"type": f"{kind}.delta", **where, "delta": text[at : at + 5]}


def heard(events):
    assembly = DIALECT.assembly()
    for event in events:
        assembly.feed(event)
    return assembly


def test_a_whole_response_is_one_message_per_item():
    reply = DIALECT.reply(RESPONSE)
    assert [message.wire for message in reply.messages] == [Wire("openai.responses", item) for item in OUTPUT]
    assert (reply.text, [call.id for call in reply.calls]) == ("Let me look.", ["c1", "c2"])
    assert (reply.stop, reply.usage.prompt, reply.done) == ("completed", 100, False)


def test_an_sdk_object_reads_like_the_dict():
    assert DIALECT.reply(Response.model_validate(RESPONSE)) == DIALECT.reply(RESPONSE)


def test_what_the_sdk_parsed_is_not_sent_back():
    parsed = {**OUTPUT[2], "parsed_arguments": {"pattern": "x"}}
    text = replied(id="msg_1") | {"content": [{**TEXT, "parsed": None}]}
    bodies = [message.wire.body for message in DIALECT.reply({"output": [parsed, text]}).messages]
    assert bodies == [OUTPUT[2], replied(id="msg_1") | {"content": [TEXT]}]


def test_a_stream_gives_the_reply_of_the_whole():
    assembly = heard(story())
    assert assembly.complete
    assert assembly.reply() == DIALECT.reply(RESPONSE)


def test_sdk_events_are_heard():
    adapter = TypeAdapter(ResponseStreamEvent)
    assert heard(adapter.validate_python(event) for event in story()).reply() == DIALECT.reply(RESPONSE)


def test_events_that_come_twice_count_once():
    twice = [event for event in story() for _ in range(2)]
    assert heard(twice).reply() == DIALECT.reply(RESPONSE)
    for at in range(len(story())):
        assert heard(twice[: 2 * at]).reply() == heard(story()[:at]).reply()


def test_a_last_event_without_output_leaves_the_items_that_were_done():
    events = story(response={**RESPONSE, "output": []})
    assert heard(events).reply() == DIALECT.reply(RESPONSE)


def test_a_reply_cut_short_by_its_limit_says_so():
    short = {**RESPONSE, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assembly = heard(story(end="response.incomplete", response=short))
    assert (assembly.complete, assembly.reply().stop) == (True, "max_output_tokens")


@pytest.mark.parametrize("at", range(len(story())))
def test_a_stream_cut_anywhere_keeps_what_was_done_and_cuts_the_rest(at):
    assembly = heard(story()[:at])
    reply = assembly.reply()
    done = [event["item"] for event in story()[:at] if event["type"] == "response.output_item.done"]
    assert (assembly.complete, reply.stop) == (False, "cut")
    assert [message.wire.body for message in reply.messages[: len(done)]] == done
    for message in reply.messages[len(done) :]:
        (part,) = message.parts
        assert isinstance(part, Text) or (isinstance(part, Opaque) and part.dialect == "cut")
        assert isinstance(part, Text) or DIALECT.wire(message) == ()
    assert [call.id for call in reply.calls] == [item["call_id"] for item in done if "call_id" in item]


def test_words_of_a_cut_message_are_kept_under_its_id():
    at = next(i for i, event in enumerate(story()) if event["type"] == "response.output_text.delta") + 2
    said = heard(story()[:at]).reply().messages[-1]
    assert (said.text, said.wire.body["id"], said.wire.body["status"]) == (
        "Let me loo",
        "msg_1",
        "incomplete",
    )
    assert said.text == "Let me loo"


def test_a_cut_thought_is_recorded_as_far_as_it_came():
    at = next(i for i, event in enumerate(story()) if "summary_text" in event["type"]) + 2
    (message,) = heard(story()[:at]).reply().messages
    assert message.parts == (Opaque("cut", {"thinking": "First this"}),)


def test_an_error_event_is_no_end():
    assembly = heard(
        [*story()[:4], {"type": "error", "code": "server_error", "message": "no", "param": None}]
    )
    assert (assembly.complete, assembly.reply().stop) == (False, "cut")


def test_reasoning_shown_in_full_is_read():
    item = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "a"}],
    }
    assert DIALECT.reply({"output": [item]}).messages[0].parts == (Thinking("a"),)


def test_what_is_no_response_is_refused():
    with pytest.raises(BadMessage, match="output"):
        DIALECT.reply({"choices": []})
