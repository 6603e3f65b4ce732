"""The rules of Anthropic's Messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fanfold import models
from fanfold.codecs.anthropic.joining import Seam, loop, spoken
from fanfold.codecs.anthropic.reading import Body, blocks, kind
from fanfold.codecs.anthropic.thinking import (
    LEAST,
    ends_with_assistant,
    first_thought,
    interleaved,
    is_thought,
    mode,
)
from fanfold.codecs.anthropic.writing import plain_id
from fanfold.codecs.rules import OrderRule, some_message
from fanfold.codecs.rules.anthropic_messages import ASKS, served
from fanfold.message import Image, Part, Result
from fanfold.view import Row, Violation

MOST_IMAGES = 100
_WITH_SYSTEM = re.compile(r"opus-4-[89]|(opus|sonnet|haiku|fable|mythos)-([5-9]|\d\d)(?!\d)")
"""Models that take system messages among the others."""


class Step(NamedTuple):
    """One wire message on its way into a request."""

    row: Row
    body: Body
    loose: bool
    calls: tuple[str, ...]
    results: tuple[str, ...]


def steps(rows: Sequence[Row]) -> Iterator[Step]:
    """The wire messages of these rows, before they are joined."""
    for row in rows:
        alone = len(row.messages) == 1
        for message, body, loose in spoken(row):
            if alone:
                yield Step(row, body, loose, row.calls, row.results)
            else:
                calls = tuple(call.id for call in message.calls)
                yield Step(row, body, loose, calls, tuple(result.call for result in message.results))


IN_PLACE = frozenset({"says_something", "thinking_goes_on", "server_pairs"})
"""Suspicions about one message: whether it is at fault depends on what stands around it."""


def check(rows: Sequence[Row], params: Mapping[str, Any]) -> list[Violation]:
    """All that is wrong with a request of these rows."""
    suspects = [
        (at, fault) for at, row in enumerate(rows) if row.weight.faults and row.weight.wire
        for fault in row.weight.faults
    ]  # fmt: skip
    alone = [fault for _, fault in suspects if fault.rule not in IN_PLACE]
    placed = [(at, fault) for at, fault in suspects if fault.rule in IN_PLACE]
    found = alone + list(_in_place(rows, params, placed))
    return found + [violation for rule in ORDER for violation in rule(rows, params)]


def _in_place(
    rows: Sequence[Row], params: Mapping[str, Any], suspects: Sequence[tuple[int, Violation]]
) -> Iterator[Violation]:
    for at, fault in suspects:
        after = next((step.body["role"] for step in steps(rows[at + 1 :])), None)
        if (
            fault.rule == "says_something"
            and after is None
            and rows[at].role == "assistant"
            and prefills(params)
        ):
            continue
        if fault.rule == "thinking_goes_on" and after == "assistant":
            continue
        if fault.rule != "server_pairs":
            yield fault
    if any(fault.rule == "server_pairs" for _, fault in suspects):
        bodies = [step.body for step in steps(rows)]
        yield from (Violation("server_pairs", f"messages[{at}]", text) for at, text in unpaired(bodies))


def unpaired(bodies: Sequence[Body]) -> Iterator[tuple[int, str]]:
    """Uses of a server's tool that no result follows, results that no use precedes; the last turn is still running."""
    asked: dict[str, int] = {}
    last = next((i for i in range(len(bodies) - 1, -1, -1) if bodies[i]["role"] == "user"), -1)
    for at, body in enumerate(bodies):
        for block in blocks(body):
            id, asks = served(block)
            if asks:
                asked[id] = at
            elif asks is False and asked.pop(id, None) is None:
                yield at, f"a server tool's result for {id!r}, which nobody asked for"
    for id, at in asked.items():
        if at < last:
            yield at, f"a server tool's use {id!r} without a result"


def user_first(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """The first message is the user's, or begins with a compaction."""
    first = next(steps(rows), None)
    if first is not None and not may_begin(first.body):
        yield Violation("user_first", "messages[0]", f"the first message is the {first.body['role']}'s")


def may_begin(body: Body) -> bool:
    """Whether a conversation can begin with this message."""
    return body["role"] == "user" or [kind(block) for block in blocks(body)[:1]] == ["compaction"]


def answered(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """Every call is answered, once, in the user message right behind it; nothing else is."""
    open: dict[str, None] = {}
    seam, answers = Seam(), False
    for i, (_, body, loose, calls, results) in enumerate(steps(rows)):
        before, role = seam.role, body["role"]
        if not seam.step(role, loose, bool(results)):
            answers = role == "user" and before == "assistant"
            if open and not answers and not role == before == "assistant":
                yield _missing(f"messages[{i}]", open)
                open = {}
        for id in results:
            if not answers or id not in open:
                yield Violation(
                    "answered", f"messages[{i}]", f"a result for {id!r}, which no call right before asked for"
                )
            open.pop(id, None)
        if calls and role == "assistant":
            open.update(dict.fromkeys(calls))
    if open:
        yield _missing("the end", open)


def _missing(where: str, open: Mapping[str, None]) -> Violation:
    return Violation("answered", where, f"calls without a result right behind them: {', '.join(open)}")


def own_ids(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """No two calls of a request have the same id."""
    seen: set[str] = set()
    for row in rows:
        for id in row.calls:
            if id in seen:
                yield Violation("own_ids", row.id, f"a second call with the id {id!r}")
            seen.add(id)


def plain_ids(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """A call's id is made of letters, digits, underscores and dashes."""
    for row in rows:
        if row.calls and not all(map(plain_id, row.calls)):
            for step in steps((row,)):
                if not step.loose and not all(map(plain_id, step.calls)):
                    yield Violation("plain_ids", row.id, f"a call's id has other signs in it: {step.calls}")


def bare_messages(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """A message has a role and content, and nothing else."""
    for row in rows:
        for body in row.weight.wire:
            if len(body) > 2:
                extra = ", ".join(key for key in body if key not in ("role", "content"))
                yield Violation(
                    "bare_messages", row.id, f"a message with more than role and content: {extra}"
                )


def system_in_place(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """A system message stands behind the user or a server tool's use, before the assistant or last, if at all."""
    if not any(body["role"] == "system" for row in rows for body in row.weight.wire):
        return
    bodies = [step.body for step in steps(rows)]
    for at, body in enumerate(bodies):
        if body["role"] == "system":
            before = bodies[at - 1] if at else None
            after = bodies[at + 1]["role"] if at + 1 < len(bodies) else None
            if not system_fits(before, after, params):
                yield Violation(
                    "system_in_place", f"messages[{at}]", "a system message that has no place here"
                )


def system_fits(before: Body | None, after: str | None, params: Mapping[str, Any]) -> bool:
    """Whether a system message may stand between these."""
    model = str(params.get("model") or "")
    if (model and not _WITH_SYSTEM.search(model)) or before is None or after not in (None, "assistant"):
        return False
    served_last = [kind(block) in ASKS for block in blocks(before)[-1:]] == [True]
    return bool(before["role"] == "user" or (before["role"] == "assistant" and served_last))


def prefills(params: Mapping[str, Any]) -> bool:
    """Whether the model goes on with an assistant message that comes last."""
    model = models.lookup(str(params.get("model") or ""))
    return model is None or model.provider != "anthropic" or "prefill" in model.quirks


def good_ending(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """The assistant comes last only where the model goes on from there, without trailing whitespace."""
    if not ends_with_assistant(rows):
        return
    last = [step.body for step in steps(rows[-2:])][-1:] or [step.body for step in steps(rows)][-1:]
    tail = blocks(last[0])[-1:]
    if not prefills(params) and not any(kind(block) in ASKS for block in tail):
        yield Violation("good_ending", "the end", "this model does not continue an assistant message")
    if any(kind(block) == "text" and trailing(block) for block in tail):
        yield Violation("good_ending", "the end", "a final assistant message ends with whitespace")


def trailing(block: Body) -> bool:
    """Whether a text ends with whitespace."""
    text = str(block.get("text", ""))
    return text != text.rstrip()


def loop_thinks(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """With a thinking budget, the running loop begins with thinking."""
    if mode(params) == "manual" and not first_thought(rows):
        yield Violation("loop_thinks", "the running loop", "it does not begin with thinking")


def loop_does_not_think(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """With thinking off, the running loop contains none."""
    if mode(params) != "off":
        return
    for row in rows[loop(rows) :]:
        if any(is_thought(block) for body in row.weight.wire for block in blocks(body)):
            yield Violation(
                "loop_does_not_think", row.id, "thinking in the running loop, and thinking is off"
            )


def no_prefill_with_thinking(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """With a thinking budget, the assistant does not come last."""
    if mode(params) == "manual" and ends_with_assistant(rows):
        yield Violation(
            "no_prefill_with_thinking", "the end", "an assistant message comes last, with thinking on"
        )


def budget_fits(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """A thinking budget is at least 1,024 tokens and smaller than `max_tokens`."""
    if mode(params) != "manual":
        return
    budget, most = params["thinking"].get("budget_tokens"), params.get("max_tokens")
    if not isinstance(budget, int) or budget < LEAST:
        yield Violation("budget_fits", "thinking", f"a budget of {budget}; the least is {LEAST:,}")
    elif isinstance(most, int) and budget >= most and not interleaved(params):
        yield Violation("budget_fits", "thinking", f"a budget of {budget:,} with max_tokens={most:,}")


def thinking_is_free(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """With a thinking budget, the temperature is 1 and no tool is forced."""
    if mode(params) != "manual":
        return
    if params.get("temperature") not in (None, 1):
        yield Violation("thinking_is_free", "temperature", "it must be 1 or left out when thinking is on")
    match params.get("tool_choice"):
        case {"type": "any" | "tool"}:
            yield Violation("thinking_is_free", "tool_choice", "no tool can be forced when thinking is on")


def few_images(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """A request has at most 100 images, those in results included."""
    count = sum(images(part) for row in rows for message in row.messages for part in message.parts)
    if count > MOST_IMAGES:
        yield Violation("few_images", "messages", f"{count} images, {MOST_IMAGES} are allowed")


def images(part: Part) -> int:
    """How many pictures a part holds."""
    if isinstance(part, Result):
        return sum(isinstance(inner, Image) for inner in part.parts) if part.parts else 0
    return int(isinstance(part, Image))


ORDER: tuple[OrderRule, ...] = (
    some_message,
    user_first,
    answered,
    own_ids,
    plain_ids,
    bare_messages,
    system_in_place,
    good_ending,
    loop_thinks,
    loop_does_not_think,
    no_prefill_with_thinking,
    budget_fits,
    thinking_is_free,
    few_images,
)
