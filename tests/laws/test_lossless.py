"""lossless: encode(decode(w)) == w for every w; decode(encode(x)) == normal(x), normal idempotent."""

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fanfold import Call, Document, Image, Message, Opaque, Result, Text, Thinking
from fanfold.dialects.chat.dialect import OpenAIChat
from fanfold.dialects.dialect import decode, encode
from fanfold.testing import check_dialect
from fanfold.testing.checks import normal
from fanfold.testing.generators import arguments, odd_requests, texts

DIALECT = OpenAIChat()
SPOKEN = st.one_of(
    texts().map(Text),
    st.builds(Image, st.just("image/png"), st.just("AA==")),
    st.builds(Image, url=st.just("https://x/y.png")),
    st.builds(Document, name=st.just("a.pdf"), data=st.just("AA==")),
    st.builds(Opaque, st.sampled_from(("openai.chat", "anthropic")), st.just({"type": "input_audio"})),
)
CALLS = st.builds(Call, st.sampled_from(("c1", "c2")), st.just("run"), arguments())
RESULTS = st.builds(Result, st.sampled_from(("c1", "c2")), st.lists(texts().map(Text), max_size=2).map(tuple))
MESSAGES = st.one_of(
    st.builds(Message, st.sampled_from(("user", "system")), st.lists(SPOKEN, max_size=3).map(tuple)),
    st.builds(
        Message,
        st.just("assistant"),
        st.lists(st.one_of(texts().map(Text), CALLS, texts().map(Thinking)), max_size=4).map(tuple),
    ),
    st.builds(Message, st.just("tool"), st.lists(RESULTS, min_size=1, max_size=2).map(tuple)),
)


@given(odd_requests())
def test_a_request_read_and_written_is_the_same(request: dict[str, Any]) -> None:
    given_ = copy.deepcopy(request)
    back = encode(DIALECT, *decode(DIALECT, request))
    assert back == given_
    assert request == given_
    assert [list(body) for body in back["messages"]] == [list(body) for body in given_["messages"]]


@given(MESSAGES)
def test_a_message_written_and_read_is_normal(message: Message) -> None:
    once = normal(DIALECT, message)
    assert normal(DIALECT, *once) == once


@given(MESSAGES)
def test_normal_keeps_words_calls_and_results(message: Message) -> None:
    read = normal(DIALECT, message)
    assert [call for each in read for call in each.calls] == list(message.calls)
    given_ = [(result.call, result.text) for result in message.results]
    assert [(result.call, result.text) for each in read for result in each.results] == given_
    if message.role == "user":
        pictures = [part for part in message.parts if isinstance(part, Image)]
        assert [part for each in read for part in each.parts if isinstance(part, Image)] == pictures


def test_numbers_that_are_none_are_kept_as_text() -> None:
    body = json.loads('{"role": "user", "content": "x", "weird": [1e999, 123456789012345678901]}')
    (wire,) = DIALECT.wire(DIALECT.message(body))
    assert wire == body


def test_the_chat_dialect_passes_the_check_for_dialects() -> None:
    check_dialect(DIALECT, {"messages": [{"role": "user", "content": "Hi."}], "model": "gpt-5.2"})
