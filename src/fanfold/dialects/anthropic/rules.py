"""The rules of Anthropic's Messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fanfold.core.message import Image, Part, Result
from fanfold.core.view import Row, Violation, called
from fanfold.dialects.anthropic.join import Seam, loop, spoken
from fanfold.dialects.anthropic.read import ASKS, Body, blocks, kind, own, served
from fanfold.dialects.anthropic.thinking import (
    LEAST,
    ending,
    first_thought,
    interleaved,
    mode,
    prefilled,
    thinks,
)
from fanfold.dialects.anthropic.write import plain_id, wire_id
from fanfold.dialects.rules import OrderRule, some_message
from fanfold.tokens import models

MOST_IMAGES = 100


Step = tuple[Body, bool, tuple[str, ...], tuple[str, ...]]
"""A wire message before it is joined to others: its body, whether it is loose, what it calls and answers."""


def steps(rows: Sequence[Row]) -> Iterator[Step]:
    """The wire messages of these rows. It runs on every request: rows of one message are read at a glance."""
    for row in rows:
        if len(row.messages) == 1:
            if row.weight.wire:
                yield row.weight.wire[0], not own(row.was or row.messages[0]), row.calls, row.results
            continue
        for message, body, loose in spoken(row):
            yield body, loose, *called((message,))


def bodies_of(rows: Sequence[Row]) -> list[Body]:
    """The wire messages of these rows, as they are."""
    return [step[0] for step in steps(rows)]


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
    """The suspicions that hold where the message stands."""
    for at, fault in suspects:
        after = bodies_of(rows[at + 1 :])
        match fault.rule:
            case "says_something" if not after and _may_be_empty(rows, params):
                continue
            case "thinking_goes_on" if after and after[0]["role"] == "assistant":
                continue
            case "says_something" | "thinking_goes_on":
                yield fault
    if any(fault.rule == "server_pairs" for _, fault in suspects):
        for at, _, text in unpaired(bodies_of(rows)):
            yield Violation("server_pairs", f"messages[{at}]", text)


def _may_be_empty(rows: Sequence[Row], params: Mapping[str, Any]) -> bool:
    last = bodies_of(rows)[-1]
    return bool(last["role"] == "assistant" and last.get("content") == []) and prefills(params)


def unpaired(bodies: Sequence[Body]) -> list[tuple[int, int, str]]:
    """The blocks of a server's tool that lack the other one of their pair; what runs still may wait for it."""
    asked: dict[str, tuple[int, int]] = {}
    alone: list[tuple[int, int, str]] = []
    last = last_request(bodies)
    for at, body in enumerate(bodies):
        for nth, block in enumerate(blocks(body)):
            id, asks = served(block)
            if asks and id in asked:
                alone.append((*asked[id], f"a server tool's use {id!r}, asked for twice"))
            if asks:
                asked[id] = (at, nth)
            elif asks is False and asked.pop(id, None) is None:
                alone.append((at, nth, f"a server tool's result for {id!r}, which nobody asked for"))
    waiting = [(at, nth, f"a server tool's use {id!r} without a result") for id, (at, nth) in asked.items()]
    return [*alone, *(found for found in waiting if found[0] < last)]


def last_request(bodies: Sequence[Body]) -> int:
    """Where the user last said something: a server's tool may wait for the results of calls."""
    for at in range(len(bodies) - 1, -1, -1):
        if bodies[at]["role"] == "user" and any(kind(block) != "tool_result" for block in blocks(bodies[at])):
            return at
    return -1


def user_first(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """The first message is the user's, or begins with a compaction."""
    first = next(steps(rows), None)
    if first is not None and not may_begin(first[0]):
        yield Violation("user_first", "messages[0]", f"the first message is the {first[0]['role']}'s")


def may_begin(body: Body) -> bool:
    """Whether a conversation can begin with this message."""
    return body["role"] == "user" or [kind(block) for block in blocks(body)[:1]] == ["compaction"]


def answered(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """Every call is answered, once, in the user message right behind it; nothing else is."""
    open: dict[str, None] = {}
    seam, answers = Seam(), False
    for i, (body, loose, calls, results) in enumerate(steps(rows)):
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
    """No two calls of a request have the same id, as ids are sent."""
    seen: set[str] = set()
    for row in rows:
        for id in map(wire_id, row.calls):
            if id in seen:
                yield Violation("own_ids", row.id, f"a second call with the id {id!r}")
            seen.add(id)


def plain_ids(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """A call's id is made of letters, digits, underscores and dashes."""
    for row in rows:
        if row.calls and not all(map(plain_id, row.calls)):
            odd = [
                id for _, loose, calls, _ in steps((row,)) if not loose for id in calls if not plain_id(id)
            ]
            if odd:
                yield Violation("plain_ids", row.id, f"the ids of calls have other signs in them: {odd}")


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
    bodies = bodies_of(rows)
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
    model = params.get("model")
    if (model and not models.has(model, "system_messages")) or before is None:
        return False
    if after not in (None, "assistant"):
        return False
    served_last = [kind(block) in ASKS for block in blocks(before)[-1:]] == [True]
    return bool(before["role"] == "user" or (before["role"] == "assistant" and served_last))


def prefills(params: Mapping[str, Any]) -> bool:
    """Whether the model goes on with an assistant message that comes last."""
    model = models.kin(params.get("model"))
    return model is None or model.provider != "anthropic" or "prefill" in model.quirks


def good_ending(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """The assistant comes last only where the model goes on from there, without trailing whitespace."""
    last = ending(rows)
    if last["role"] != "assistant":
        return
    if prefilled(rows) and not prefills(params):
        yield Violation("good_ending", "the end", "this model does not continue an assistant message")
    if any(kind(block) == "text" and trailing(block) for block in blocks(last)[-1:]):
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
        if thinks(row):
            yield Violation(
                "loop_does_not_think", row.id, "thinking in the running loop, and thinking is off"
            )


def no_prefill_with_thinking(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """With a thinking budget, the assistant does not come last."""
    if mode(params) == "manual" and prefilled(rows):
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
    count = 0
    for row in rows:
        for message in row.messages:
            for part in message.parts:
                if type(part) is Image or type(part) is Result:
                    count += images(part)
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
