"""Thinking: what a request's parameters permit of it, and what of the parameters the rows permit.

With a thinking budget, the running loop begins with thinking; without thinking, it contains none (extended thinking,
"with tool use"). Finished turns may keep theirs either way. Where thinking is off they go without it too, and so does a
loop that does not begin with it: otherwise its thinking would come back once the loop is finished, and the beginning of
the prompt would change. Adaptive thinking demands nothing. Unsigned thinking is never sent.

These rules are kept by what is sent (`allow`), not by recorded repairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from fanfold.core.message import Message
from fanfold.core.view import Row
from fanfold.dialects.anthropic.join import loop, loops, wire_messages
from fanfold.dialects.anthropic.message_rules import message_faults
from fanfold.dialects.anthropic.read import THOUGHTS, blocks, kind, read, waits
from fanfold.dialects.dialect import Allowed
from fanfold.dialects.rules import Body, Breaches, OrderRule, Params, Rows
from fanfold.tokens import models

LEAST = 1024
"""The smallest thinking budget."""


def mode(params: Params) -> Literal["manual", "free", "off"]:
    """Whether the model thinks with a budget, as it likes, or not at all.

    A list of messages alone forbids nothing: every request has `max_tokens`.
    """
    settings = params.get("thinking")
    asked = settings.get("type") if isinstance(settings, dict) else None
    if asked is None:
        free = "max_tokens" not in params or models.has(params.get("model"), "thinks_unasked")
        return "free" if free else "off"
    if asked == "disabled":
        return "off"
    return "manual" if asked == "enabled" else "free"


def allow(rows: Rows, params: Params) -> Allowed:
    """Rows and parameters as one request may carry them."""
    suspects = [
        at
        for at, row in enumerate(rows)
        if row.was is not None or any(fault.rule == "signed" for fault in row.weight.faults)
    ]
    rows, unsigned = _without(rows, suspects, _is_unsigned)
    void: list[str] = []
    if models.has(params.get("model"), "binds_thinking") and not _server_drops_void(params):
        rows, void = _without(rows, list(_behind_edits(rows)), is_thought)
    permitted, reasons = _affordable(params)
    thoughtless: Sequence[int] = range(len(rows)) if mode(permitted) == "off" else ()
    if mode(permitted) == "manual":
        # Loops that do not begin with thinking went out without it, and stay so.
        newest, *finished = loops(rows)
        bare = [each for each in finished if not _begins_with_thought(rows[each.start : each.stop])]
        prefilled = is_prefilled(rows)
        if prefilled or not _begins_with_thought(rows[newest.start :]):
            last = "an assistant message that is to be continued comes last"
            why = last if prefilled else "the running loop does not begin with thinking"
            permitted, reasons = _unthinking(params), [f"thinking: {why}"]
            bare.append(newest)
        thoughtless = sorted(at for each in bare for at in each)
    rows, dropped = _without(rows, thoughtless, is_thought)
    return Allowed(rows, permitted, (*unsigned, *void, *dropped, *reasons))


def is_thought(block: Any) -> bool:
    """Whether a block is thinking."""
    return kind(block) in THOUGHTS


def _is_unsigned(block: Any) -> bool:
    return kind(block) == "thinking" and not block.get("signature")


def loop_thinks(rows: Rows, params: Params) -> Breaches:
    """With a thinking budget, the running loop begins with thinking."""
    if mode(params) == "manual" and not _begins_with_thought(rows[loop(rows) :]):
        yield "the running loop", "it does not begin with thinking"


def no_prefill_with_thinking(rows: Rows, params: Params) -> Breaches:
    """With a thinking budget, the assistant does not come last."""
    if mode(params) == "manual" and is_prefilled(rows):
        yield "the end", "an assistant message comes last, with thinking on"


def _begins_with_thought(rows: Rows) -> bool:
    """Whether a loop begins with thinking; so it does where it has not begun."""
    for row in rows:
        for _, body, _ in wire_messages(row):
            if body["role"] == "assistant":
                return bool(blocks(body)) and is_thought(blocks(body)[0])
    return True


def is_prefilled(rows: Rows) -> bool:
    """Whether the model is to go on with a message of its own.

    A reply that stopped with `pause_turn` is none: it is sent back as it is, and the server goes on with its tool.
    """
    last = ending(rows)
    return last["role"] == "assistant" and not waits(last)


def ending(rows: Rows) -> Body:
    """The last wire message of these rows; one of nobody's if there is none."""
    for row in reversed(rows):
        bodies = list(wire_messages(row))
        if bodies:
            return bodies[-1].body
    return {"role": "", "content": []}


def _unthinking(params: Params) -> Params:
    """The parameters without thinking, and without the context edit that demands it."""
    changed = {**params, "thinking": {"type": "disabled"}}
    match params.get("context_management"):
        case {"edits": list(edits), **others}:
            kept = [edit for edit in edits if not kind(edit).startswith("clear_thinking")]
            changed["context_management"] = {**others, "edits": kept}
    return changed


def loop_does_not_think(rows: Rows, params: Params) -> Breaches:
    """With thinking off, the running loop contains none."""
    for row in rows[loop(rows) :] if mode(params) == "off" else ():
        said = [block for body in row.weight.wire if body["role"] == "assistant" for block in blocks(body)]
        if any(map(is_thought, said)):
            yield row.id, "thinking in the running loop, and thinking is off"


def budget_fits(rows: Rows, params: Params) -> Breaches:
    """A thinking budget is at least 1,024 tokens and smaller than `max_tokens`."""
    if mode(params) != "manual":
        return
    budget, most = params["thinking"].get("budget_tokens"), params.get("max_tokens")
    if not isinstance(budget, int) or budget < LEAST:
        yield "thinking", f"a budget of {budget}; the least is {LEAST:,}"
    elif isinstance(most, int) and budget >= most and not _is_interleaved(params):
        yield "thinking", f"a budget of {budget:,} with max_tokens={most:,}"


def _affordable(params: Params) -> tuple[Params, list[str]]:
    """The parameters, a thinking budget turned down that the reply cannot hold."""
    if mode(params) != "manual":
        return params, []
    budget, most = params["thinking"].get("budget_tokens"), params.get("max_tokens")
    if not isinstance(budget, int) or not isinstance(most, int) or budget < most or _is_interleaved(params):
        return params, []
    if most <= LEAST:
        return _unthinking(params), [f"thinking: max_tokens is {most:,}, a budget takes more"]
    lower = {**params["thinking"], "budget_tokens": most - 1}
    return {**params, "thinking": lower}, [f"thinking: the budget is {most - 1:,}, below max_tokens"]


def _is_interleaved(params: Params) -> bool:
    """Whether the caller asked for thinking between calls, whose budget may exceed `max_tokens`."""
    return "interleaved-thinking" in f"{params.get('betas')} {params.get('extra_headers')}"


def thinking_is_free(rows: Rows, params: Params) -> Breaches:
    """With a thinking budget, the temperature is 1 and no tool is forced; only the caller can repair that."""
    if mode(params) != "manual":
        return
    if params.get("temperature") not in (None, 1):
        yield "temperature", "it must be 1 or left out when thinking is on"
    match params.get("tool_choice"):
        case {"type": "any" | "tool"}:
            yield "tool_choice", "no tool can be forced when thinking is on"


THINKING: tuple[OrderRule, ...] = (
    loop_thinks, loop_does_not_think, no_prefill_with_thinking, budget_fits, thinking_is_free,
)  # fmt: skip


# Some models check that what stands before their thinking is what stood there when they thought.


def _server_drops_void(params: Params) -> bool:
    match params.get("thinking"):
        case {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}:
            return True
    return False


def _behind_edits(rows: Rows) -> Iterator[int]:
    """The rows that were there when something before them was edited; what came later saw the edit."""
    places = {id: at for at, row in enumerate(rows) for id in (row.id, *row.covers)}
    reach = -1
    for at, row in enumerate(rows):
        if row.was is not None or row.kind in ("fold", "drop", "mend"):
            reach = max(reach, places.get(row.tip or "", len(rows)))
        if at <= reach:
            yield at


def _without(
    rows: Rows, which: Sequence[int], test: Callable[[Any], bool]
) -> tuple[Sequence[Row], list[str]]:
    """The rows, those named without the blocks that pass a test; and what was left out."""
    found: list[Row] | None = None
    left_out: list[str] = []
    for at in which:
        if any(map(test, (block for body in rows[at].weight.wire for block in blocks(body)))):
            found = list(rows) if found is None else found
            found[at], names = _bare(rows[at], test)
            left_out += names
    return (rows if found is None else found), left_out


def _bare(row: Row, test: Callable[[Any], bool]) -> tuple[Row, list[str]]:
    """A row without the blocks that pass a test; a message of nothing else is not sent."""
    messages: list[Message] = []
    wires: list[Body] = []
    left_out: list[str] = []
    number = 0
    for message, body, _ in wire_messages(row):
        content = blocks(body)
        left_out += [f"{row.id}#{number + nth}" for nth, block in enumerate(content) if test(block)]
        number += len(content)
        kept = [block for block in content if not test(block)]
        if len(kept) < len(content):
            body = {**body, "content": kept}
            message = read(body)
        if kept:
            messages.append(message)
            wires.append(body)
    found = tuple(fault for message in messages for fault in message_faults(message))
    weight = replace(row.weight, wire=tuple(wires), digest=row.weight.digest + b"~", faults=found)
    return replace(row, messages=tuple(messages), weight=weight), left_out
