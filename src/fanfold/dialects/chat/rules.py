"""The rules of OpenAI Chat Completions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fanfold.core.message import Message, Result
from fanfold.core.view import Row, Violation, called
from fanfold.dialects.assembly import sent
from fanfold.dialects.names import CHAT
from fanfold.dialects.naming import OPENAI
from fanfold.dialects.rules import (
    MessageRule,
    OrderRule,
    calls_by_assistant,
    distinct,
    results_by_tools,
    some_message,
)

Wire = dict[str, Any]
Exchange = tuple[tuple[str, ...], tuple[str, ...]]
LONGEST_ID = 40
LONGEST_TEXT = 10 * 1024 * 1024
PARTS = {"user": ("text", "image_url", "input_audio", "file"), "assistant": ("text", "refusal")}


def answered(steps: Sequence[Exchange]) -> Iterator[Violation]:
    """Every call is answered, once, right after the message that made it, before anything else is said."""
    open: set[str] = set()
    for i, (calls, results) in enumerate(steps):
        if results:
            for id in results:
                if id not in open:
                    yield _unasked(i, id)
                open.discard(id)
        elif open:
            yield _unanswered(f"messages[{i}]", "calls without a result before it", open)
            open.clear()
        if calls:
            open.update(calls)
    if open:
        yield _unanswered("the end", "calls without a result", open)


def _unasked(i: int, id: str) -> Violation:
    return Violation("answered", f"messages[{i}]", f"a result for {id!r}, which no call before it asked for")


def _unanswered(where: str, what: str, ids: Iterable[str]) -> Violation:
    return Violation("answered", where, f"{what}: {', '.join(sorted(ids))}")


def told_apart(steps: Sequence[Exchange]) -> Iterator[Violation]:
    """Calls that are sent in one message have different ids, whichever messages they were recorded in."""
    for i, (calls, _) in enumerate(steps):
        if len(calls) > 1 and len(set(calls)) < len(calls):
            yield Violation("told_apart", f"messages[{i}]", "two calls with the same id")


def in_order(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """The rules about how messages follow each other."""
    if not loose(rows):
        yield from answered([each for row in rows if row.weight.wire for each in exchanges(row)])
        return
    sent_so = steps(rows)
    yield from answered(sent_so)
    yield from told_apart(sent_so)


def loose(rows: Sequence[Row]) -> bool:
    """Whether a row is sent as more than one message, or as less: joined with its neighbour."""
    return bool(
        [row for row in rows if len(row.messages) != 1 or (not row.weight.own and row.role == "assistant")]
    )


def unsettled(rows: Sequence[Row], settled: int) -> Sequence[Row]:
    """The rows that can be judged alone after a legal beginning: it leaves no call open, and joins none of them."""
    return () if not settled or loose(rows[settled - 1 :]) else rows[settled:]


def steps(rows: Sequence[Row]) -> list[Exchange]:
    """The ids called and answered, message by message as they are sent: what is joined counts as one."""
    done: list[Exchange] = []
    open = False
    for row in rows:
        if not row.weight.wire:
            continue
        if len(row.messages) == 1 and not joins(row.was or row.messages[0]):
            done += exchanges(row)
            open = False
            continue
        for message in row.messages:
            open = _step(done, message, called((message,)), joins(row.was or message), open)
    return done


def exchanges(row: Row) -> tuple[Exchange, ...]:
    """The ids that a message calls and answers; words beside results are sent as a message behind them."""
    beside = row.results and row.weight.wire[-1].get("role") not in ("tool", "function")
    return ((row.calls, row.results), _SAID) if beside else ((row.calls, row.results),)


_SAID: Exchange = ((), ())


def _step(done: list[Exchange], message: Message, exchange: Exchange, joins: bool, open: bool) -> bool:
    """Take in one message; gives back whether the next one may be joined with it."""
    if joins and not any(sent(part) for part in message.parts):
        return open
    if joins and open:
        done[-1] = (done[-1][0] + exchange[0], done[-1][1] + exchange[1])
    else:
        done.append(exchange)
    if exchange[1] and any(sent(part) and not isinstance(part, Result) for part in message.parts):
        done.append(_SAID)
        return False
    return joins


def joins(message: Message) -> bool:
    """Whether a message is joined with its like: the assistant's, recorded piece by piece in another dialect."""
    return message.role == "assistant" and not message.came_over(CHAT)


def content_given(body: Wire) -> str | None:
    """Only an assistant message with calls, a refusal or audio goes without content."""
    if body.get("content") is not None or (body.get("role") == "assistant" and _speaks_otherwise(body)):
        return None
    return "no content"


def parts_known(body: Wire) -> str | None:
    """A list of parts is not empty, and each part is of a kind that its role may use, with what that kind carries."""
    content = body.get("content")
    if content == []:
        return "an empty list of parts"
    role = str(body.get("role"))
    if isinstance(content, list) and not all(is_part(part, role) for part in content):
        return f"a part that a {role} message cannot have"
    return None


def is_part(part: Wire, role: str) -> bool:
    """Whether a message of this role may have this part: one of its kinds, with its content under the kind's name."""
    kind = part.get("type")
    if kind not in PARTS.get(role, ("text",)):
        return False
    return isinstance(part.get("text"), str) if kind == "text" else part.get(kind) is not None


def texts_whole(body: Wire) -> str | None:
    """No text is longer than ten million characters."""
    content = body.get("content")
    texts = [part.get("text") for part in content] if isinstance(content, list) else [content]
    long = any(isinstance(text, str) and len(text) > LONGEST_TEXT for text in texts)
    return "a text too long to be sent" if long else None


def calls_wellformed(body: Wire) -> str | None:
    """A list of calls is not empty, and every call has a short id, a proper name and its arguments as text."""
    calls = body.get("tool_calls")
    if calls is None:
        return None
    return None if calls and all(_is_call(call) for call in calls) else "calls that are no calls"


def answers_by_id(body: Wire) -> str | None:
    """A tool message names the call it answers."""
    id = body.get("tool_call_id")
    if body.get("role") != "tool" or (isinstance(id, str) and len(id) <= LONGEST_ID):
        return None
    return "a result whose call has no name, or too long a one"


MESSAGE: tuple[MessageRule, ...] = (distinct, calls_by_assistant, results_by_tools)
BODY = (content_given, parts_known, texts_whole, calls_wellformed, answers_by_id)
ORDER: tuple[OrderRule, ...] = (some_message, in_order)


def body_faults(bodies: Iterable[Wire]) -> tuple[Violation, ...]:
    """The rules that wire messages break by themselves."""
    found = [(rule.__name__, text) for body in bodies for rule in BODY if (text := rule(body))]
    return tuple(Violation(name, "a message", text) for name, text in found) if found else ()


def _is_call(call: Any) -> bool:
    if not isinstance(call, dict) or not isinstance(call.get("id"), str) or len(call["id"]) > LONGEST_ID:
        return False
    match call:
        case {"type": "custom", "custom": {"name": str(), "input": str()}}:
            return True
        case {"function": {"name": name, "arguments": str()}}:
            return OPENAI.allows(name)
        case _:
            return False


def _speaks_otherwise(body: Wire) -> bool:
    return any(body.get(key) for key in ("tool_calls", "function_call", "refusal", "audio"))
