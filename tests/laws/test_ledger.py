"""ledger: what all things have cost adds up to the bills, to the token, whatever was edited, erased or rewound."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold.tokens.models import find
from fanfold.tokens.usage import cost

WORDS = st.sampled_from(("Go on.", "Never touch the vendor folder. " * 20, "読んでください。" * 30))
BILL = st.tuples(*[st.integers(0, 5_000)] * 4)
STEPS = st.one_of(
    st.tuples(st.just("say"), WORDS),
    st.tuples(st.just("turn"), BILL, WORDS),
    st.tuples(st.just("call"), BILL, WORDS),
    st.tuples(st.sampled_from(("fold", "undo", "rewind", "erase")), st.integers(0, 20)),
)
MODEL = "claude-sonnet-4-5"


def reply(number: int, bill: tuple[int, ...], text: str, *, calls: bool) -> dict[str, Any]:
    """An answer of the provider, with its bill."""
    call = {
        "type": "tool_use",
        "id": f"c{number}",
        "name": "Read",
        "input": {"file_path": f"src/m{number}.py"},
    }
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": text}, *([call] if calls else ())],
        "stop_reason": "tool_use" if calls else "end_turn",
        "usage": dict(zip(names, bill, strict=True)),
    }


def play(chat: fanfold.Session, steps: list[Any]) -> list[tuple[int, ...]]:
    """Do what the steps say, as far as that can be done; the bills of what was sent."""
    bills = []
    for number, (verb, *args) in enumerate(steps):
        entries = [row.id for row in chat.view().rows if row.kind == "entry"]
        if verb == "say":
            chat.say(args[0])
        elif verb in ("turn", "call"):
            chat.say(f"Step {number}.")
            chat.request(max_tokens=500)
            got = chat.receive(reply(number, args[0], args[1], calls=verb == "call"))
            for call in got.calls:
                chat.answer(call, f"def m{number}(): ...\n" * 20)
            bills += [args[0]] if sum(args[0][:3]) else []
        elif entries:
            change(chat, verb, entries[args[0] % len(entries)])
    return bills


def change(chat: fanfold.Session, verb: str, entry: str) -> None:
    try:
        match verb:
            case "fold":
                chat.fold((entry,), "Something was said here.")
            case "undo":
                chat.undo()
            case "rewind":
                chat.rewind(entry)
            case "erase":
                chat.erase(entry, "asked for")
    except fanfold.FanfoldError:
        pass


@given(st.lists(STEPS, max_size=14))
def test_the_sums_of_the_ledger_are_the_bills(steps: list[Any]) -> None:
    with fanfold.open("run", model=MODEL, window=9_000, system="You read files.", recall=False) as chat:
        bills = play(chat, steps)
        ledger = chat.ledger()
    assert ledger.requests == len(bills)
    columns = list(zip(*bills, strict=True)) or [()] * 4
    for name, billed in zip(("input", "cache_read", "cache_write", "output"), columns, strict=True):
        assert sum(getattr(line, name) for line in ledger.lines) == sum(billed)
        assert all(getattr(line, name) >= 0 for line in ledger.lines)
    usages = [fanfold.TokenUsage(input=i, cache_read=r, cache_write=w, output=o) for i, r, w, o in bills]
    assert ledger.cost == pytest.approx(sum(cost(usage, find(MODEL)) for usage in usages))
    assert sum(line.cost or 0.0 for line in ledger.lines) == pytest.approx(ledger.cost)
