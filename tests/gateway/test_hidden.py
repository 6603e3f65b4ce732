"""Hidden rounds are put back where they were: between what was said before and behind the same reply."""

from fanfold.core.edit import SEARCH
from fanfold.dialects.http.request import read_request
from fanfold.dialects.registry import dialect_named
from fanfold.gateway.hidden import find_rounds, put_back
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
