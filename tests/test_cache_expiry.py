"""How long a provider keeps a prompt is known from what was sent: marks and parameters, else the provider's habit."""

from typing import Any

import pytest

import fanfold
from fanfold.testing import replied, response

MINUTE = 60.0


def cause_after(seconds: float, model: str, **params: Any) -> str:
    """Why the cache missed in a request that came so many seconds after another."""
    now = [1_000.0]
    with fanfold.open("run", model=model, dialect="openai.chat", recall=False, clock=lambda: now[0]) as chat:
        for _ in range(2):
            chat.say("Where is the bug? " * 900)
            chat.request(max_tokens=300, **params)
            chat.receive(response(replied("In the parser."), prompt=chat.sent()[0].tokens))
            now[0] += seconds
        broken = chat.cache().broken
    assert broken is not None
    return broken.cause


@pytest.mark.parametrize(
    ("params", "kept"),
    [
        ({}, 10 * MINUTE),
        ({"prompt_cache_retention": "24h"}, 24 * 60 * MINUTE),
        ({"prompt_cache_retention": "in_memory"}, 10 * MINUTE),
        ({"prompt_cache_options": {"ttl": "30m"}}, 30 * MINUTE),
        ({"prompt_cache_options": {"mode": "implicit", "ttl": "12h"}}, 12 * 60 * MINUTE),
        ({"prompt_cache_options": {"ttl": 7}}, 10 * MINUTE),
    ],
)
def test_a_silence_explains_a_miss_only_if_it_is_longer_than_the_prompt_is_kept(
    params: dict[str, Any], kept: float
) -> None:
    assert cause_after(kept - 10, "gpt-5.2", **params) == "provider"
    assert cause_after(kept + 10, "gpt-5.2", **params) == "expired"


def test_a_request_that_asks_for_another_time_is_named() -> None:
    with fanfold.open("run", model="gpt-5.2", dialect="openai.chat", recall=False) as chat:
        for kept in ("in_memory", "24h"):
            chat.say("Where is the bug? " * 900)
            chat.request(max_tokens=300, prompt_cache_retention=kept)
            chat.receive(response(replied("In the parser."), prompt=chat.sent()[0].tokens))
        broken = chat.cache().broken
    assert str(broken) == 'marks prompt_cache (by caller): "in_memory" became "24h"'


@pytest.mark.parametrize(("ttl", "kept"), [({}, 5 * MINUTE), ({"ttl": "1h"}, 60 * MINUTE)])
def test_a_mark_in_a_message_says_how_long_all_before_it_is_kept(ttl: dict[str, str], kept: float) -> None:
    mark = {"type": "ephemeral", **ttl}
    usage = {"input_tokens": 9_000, "output_tokens": 5, "cache_read_input_tokens": 0}
    head = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-5",
        "stop_reason": "end_turn",
    }
    reply = {**head, "content": [{"type": "text", "text": "In the parser."}], "usage": usage}
    for seconds, cause in ((kept - 10, "provider"), (kept + 10, "expired")):
        now = [1_000.0]
        with fanfold.open("run", model="claude-opus-4-5", recall=False, clock=lambda now=now: now[0]) as chat:
            for _ in range(2):
                text = {"type": "text", "text": "Where is the bug? " * 900, "cache_control": mark}
                chat.add({"role": "user", "content": [text]})
                chat.request(max_tokens=300)
                chat.receive(reply)
                now[0] += seconds
            broken = chat.cache().broken
        assert broken is not None
        assert broken.cause == cause
