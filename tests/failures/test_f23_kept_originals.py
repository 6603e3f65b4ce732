"""F23: originals do not expire while their reference is in the prompt: kept until deleted explicitly."""

from __future__ import annotations

from pathlib import Path

import pytest

import fanfold
from fanfold.core.message import Message, Text
from fanfold.strategies.elide import elide

WHOLE = "".join(f"line {i}\n" for i in range(300_000))


def test_an_original_is_there_after_years_reductions_and_restarts(tmp_path: Path) -> None:
    now = [0.0]
    options = {
        "window": 60_000,
        "store": f"sqlite:{tmp_path}/a.db",
        "strategy": elide(keep=0, share=100),
        "clock": lambda: now[0],
    }
    with fanfold.open("run", **options) as chat:
        chat.say("go")
        call = fanfold.Call("c1", "bash", "{}")
        chat.add(Message("assistant", (call,)))
        chat.answer(call, WHOLE)
        chat.add(Message("assistant", (Text("seen"),)))
        assert "trimmed; ref=o1" in str(chat.request())
    now[0] = 10 * 365 * 86_400.0
    with fanfold.open("run", **options) as chat:
        chat.say("and now?")
        chat.compact(force=True)
        assert "ref=o1" in str(chat.request())
        assert not chat.gc()
        chat.gc(delete=True, hidden=True)
        assert chat.output("o1").text() == WHOLE


def test_deleting_is_explicit_and_told_to_whoever_asks_again() -> None:
    with fanfold.open("run", window=60_000) as chat:
        chat.say("go")
        call = fanfold.Call("c1", "bash", "{}")
        chat.add(Message("assistant", (call,)))
        chat.answer(call, WHOLE)
        chat.erase("o1", "asked to")
        with pytest.raises(fanfold.Gone, match="asked to"):
            chat.output("o1")
        look = fanfold.Call("r", "tool_output_cache", '{"ref_id": "o1"}')
        assert chat.recall(look) == "The output o1 was deleted on purpose (asked to)."


def test_the_naive_cache_forgets_while_its_reference_is_in_the_prompt() -> None:
    now, kept = 0, {}

    def recalled(ref: str) -> str | None:
        text, until = kept[ref]
        return text if now < until else None

    kept["o1"] = ("the whole log", now + 30)
    prompt = "[tool output trimmed; ref=o1]"
    now = 31
    assert "ref=o1" in prompt
    assert recalled("o1") is None
