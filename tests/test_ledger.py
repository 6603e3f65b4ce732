"""What a session has cost, thing by thing."""

from typing import Any

import fanfold
from fanfold.testing import called, replied, response

TOOLS = [
    {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}
]


def billed(reply: Any, prompt: int, *, cached: int = 0) -> Any:
    body = response(reply, prompt=prompt, output=20)
    body["usage"]["prompt_tokens_details"] = {"cached_tokens": cached}
    return body


def opened(**more: Any) -> fanfold.Session:
    told = {"model": "gpt-4.1", "system": "You fix bugs.", "tools": TOOLS, "recall": False}
    return fanfold.open("run", **{**told, **more})


def step(chat: fanfold.Session, id: str, path: str, output: str) -> None:
    """One call of a tool, with a bill of what was counted; all but the newest was cached."""
    chat.request(max_tokens=100)
    sent = chat.sent()[0].tokens
    reply = chat.receive(billed(replied("I look.", called(id, "read", path=path)), sent, cached=sent // 2))
    chat.answer(reply.calls[0], output)


def test_an_output_that_is_sent_again_and_again_is_the_most_expensive_thing() -> None:
    with opened() as chat:
        chat.say("Fix the parser.")
        step(chat, "c1", "src/parser.py", "def parse(token): return token\n" * 300)
        for n in range(2, 8):
            step(chat, f"c{n}", f"src/m{n}.py", "pass\n")
        ledger = chat.ledger()
    first = ledger.lines[0]
    assert (first.thing.kind, first.thing.tool, first.thing.file) == ("output", "read", "src/parser.py")
    assert first.requests == 6
    assert first.spare == first.again - 5 * 60 > 0.7 * first.tokens
    assert first.spare_cost is not None
    assert 0 < first.spare_cost < first.cost
    assert next(iter(ledger.by("file"))) == "src/parser.py"
    assert list(ledger.by("tool")) == ["read"]


def test_what_the_cache_held_is_the_beginning_of_the_prompt() -> None:
    with opened() as chat:
        chat.say("Fix the parser. " * 100)
        step(chat, "c1", "a.py", "x = 1\n" * 100)
        chat_tokens = chat.sent()[0].tokens
        chat.request(max_tokens=100)
        view, sent = chat.view(), chat.sent()[0].tokens
        head = view.overhead + view.frame.tokens + view.rows[0].tokens
        chat.receive(billed(replied("Done."), sent, cached=head))
        last = chat.ledger()
    person, output = (
        next(line for line in last.lines if line.thing.kind == kind) for kind in ("person", "output")
    )
    half = chat_tokens // 2 - (
        head - view.rows[0].tokens
    )  # what the first request had in the cache of these words
    assert abs(person.cache_read - view.rows[0].tokens - half) <= 1
    assert (output.cache_read, output.input) == (0, view.rows[2].tokens)


def test_a_sub_agent_is_one_line_with_all_that_it_was_billed() -> None:
    with opened() as chat:
        chat.say("Delegate.")
        chat.request(max_tokens=100)
        reply = chat.receive(billed(replied("", called("c1", "read", path="x")), 100))
        with chat.spawn(reply.calls[0], name="helper") as agent:
            agent.say("Look.")
            agent.request(max_tokens=100)
            agent.receive(billed(replied("Seen."), 70))
        ledger = chat.ledger()
    line = next(line for line in ledger.lines if line.thing.kind == "sub-agent")
    assert (line.thing.id, line.input, line.output) == ("helper", 70, 20)
    assert (ledger.usage.prompt, ledger.usage.output) == (170, 40)


def test_a_fork_has_a_ledger_of_its_own() -> None:
    with opened() as chat:
        chat.say("Fix the parser.")
        step(chat, "c1", "a.py", "x = 1\n")
        with chat.fork("other") as other:
            other.request(max_tokens=100)
            other.receive(billed(replied("Done."), 60))
            assert other.ledger().usage.prompt == 60
        assert chat.ledger().requests == 1


def test_without_a_price_nothing_is_said_about_dollars() -> None:
    with opened(model=None, dialect="openai.chat", window=8_000) as chat:
        chat.say("Hello.")
        chat.request()
        chat.receive(billed(replied("Hello."), 60))
        ledger = chat.ledger()
    assert ledger.cost is None
    assert all(line.cost is None for line in ledger.lines)
    assert str(ledger).startswith("80 tokens in 1 request, –\n")


def test_a_session_that_was_never_billed_has_an_empty_ledger() -> None:
    with opened() as chat:
        chat.say("Hello.")
        chat.request()
        ledger = chat.ledger()
    assert (ledger.lines, ledger.usage, ledger.cost, ledger.unbilled) == ((), fanfold.TokenUsage(), 0, 1)
