"""F14: characters over four undercounts Japanese and code."""

from __future__ import annotations

import bpe_openai

import fanfold
from fanfold.testing import replied, said

from .naive import tokens

WINDOW = 3_000
LINE = "在庫の数が合わない場合は、倉庫の担当者に連絡してから伝票を確認してください。"


def really(messages: list[dict[str, object]]) -> int:
    """By the model's own vocabulary, from another implementation than fanfold's."""
    encoding = bpe_openai.get_encoding("o200k_base")
    return sum(len(encoding.encode(str(message["content"]))) + 4 for message in messages)


HISTORY = [body for n in range(60) for body in (said(f"{n}: {LINE * 3}"), replied(f"{n}: 了解しました。"))]


def test_the_naive_count_lets_through_what_does_not_fit() -> None:
    history = list(HISTORY)
    while tokens(history) > WINDOW:
        del history[0]
    assert really(history) > WINDOW * 1.5


def test_fanfold_counts_what_the_model_reads() -> None:
    with fanfold.open("run", window=WINDOW, model="gpt-4o", filters=()) as chat:
        chat.merge(HISTORY)
        request = chat.request(max_tokens=200)
        assert really(request["messages"]) <= WINDOW - 200
        assert abs(really(request["messages"]) - chat.view().tokens) <= 20


def test_what_is_billed_corrects_an_estimate() -> None:
    with fanfold.open("run", window=200_000, model="claude-sonnet-4-5", dialect="anthropic") as chat:
        chat.say(LINE * 50)
        chat.request(max_tokens=100)
        before = chat.pressure().tokens
        bill = {"input_tokens": before * 2, "output_tokens": 3}
        content = [{"type": "text", "text": "はい。"}]
        chat.receive({"role": "assistant", "content": content, "stop_reason": "end_turn", "usage": bill})
        assert chat.pressure().tokens >= before * 2
