"""Hidden rounds are put back where they were: between what was said before and behind the same reply."""

import pytest

from fanfold.core.edit import SEARCH
from fanfold.dialects.http.request import read_request
from fanfold.dialects.registry import dialect_named
from fanfold.gateway.hidden import defers_itself, find_rounds, put_back
from fanfold.testing import called, replied, returned, said
from fanfold.text.json_text import write_json

LOOK = [replied(None, called("r1", SEARCH, pattern="x")), returned("r1", "o1:1:x")]


def test_where_the_model_says_the_same_words_twice_its_look_up_belongs_to_the_second_time():
    told = [said("Do a."), replied("Done."), said("Do b."), replied("Done."), said("And c?")]
    recorded = [*told[:3], *LOOK, *told[3:]]
    messages = [dialect_named("openai.chat").message(body) for body in recorded]
    rounds = find_rounds(messages, "openai.chat", finds=False)
    body = write_json({"model": "gpt-5.2", "messages": told})
    request = read_request("POST", "/v1/chat/completions", {}, body)
    assert put_back(request, rounds)["messages"] == recorded


@pytest.mark.parametrize(
    ("tool", "own"),
    [
        ({"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}, True),
        ({"name": "ToolSearch", "input_schema": {"type": "object"}}, True),
        ({"name": "read", "input_schema": {"type": "object"}, "defer_loading": True}, True),
        ({"name": "web_search", "input_schema": {"type": "object"}}, False),
    ],
)
def test_a_client_that_has_a_search_for_tools_or_marks_some_lets_them_wait_itself(tool, own):
    body = write_json(
        {"model": "claude-opus-4-5", "messages": [said("Go.")], "max_tokens": 9, "tools": [tool]}
    )
    assert defers_itself(read_request("POST", "/v1/messages", {}, body)) is own
