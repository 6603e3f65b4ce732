"""Shortening: what a call said and got gives way before the call itself.

An output that was seen becomes one line that says what it was and how it ended; the body of a written file becomes its
first lines. Both name a reference by which the whole is found again. The newest stay whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fanfold.core.budget import Budget
from fanfold.core.edit import ASKED, RECALL, Elide
from fanfold.core.errors import BadArguments
from fanfold.core.message import Call, Result
from fanfold.core.plan import Plan, Strategy
from fanfold.core.view import Row, View
from fanfold.outputs.notices import EXIT, FAILED, LINES
from fanfold.strategies.elide import Seen, count_lines, outputs, trimmed_to
from fanfold.strategies.framing import framing
from fanfold.strategies.handover.evidence import ended
from fanfold.strategies.handover.names import (
    Known,
    Sight,
    chosen,
    names_in,
    names_shown,
    ordered,
    see,
    words_of,
)
from fanfold.strategies.handover.tools import Tools, tools_with
from fanfold.text.cutting import short
from fanfold.text.identifiers import BETWEEN, identifiers

NEWEST = 0.22
"""The share of the room in which the newest outputs stay whole."""
NAMES = 0.1
"""The share of the room that names in the lines of outputs may take, in all of one reduction."""
_SMALLEST = 90
"""Tokens below which an output is as short as the line in its place."""
_LONG = 220
"""Tokens of arguments that are long."""
_SAID = 400
"""Characters of what the agent said that tell what it is about."""
_LINES, _VALUE = 3, 200
"""Lines and characters that stay of a long argument."""


def shorten_outputs(
    *, newest: float = NEWEST, names: float = NAMES, tools: Mapping[str, str] | None = None
) -> Strategy:
    """Shorten outputs that were seen to one line each, oldest first, down to the target; the newest stay whole.

    `newest` is the share of the room that they keep, `names` the share for names that the lines list.
    """

    table = tools_with(tools)

    def shorten_outputs(view: View, budget: Budget) -> Plan:
        excess = view.tokens - budget.goal
        if excess <= 0:
            return
        going = list(_going(view, int(newest * (budget.room - framing(view))), excess))
        told = _names(going, view, names * (budget.room - framing(view))) if going else {}
        for one in going:
            view = yield Elide(
                f"{one.row.id}#{one.number}", line_of(one, table, told.get((one.row.id, one.number), ()))
            )

    return shorten_outputs


def is_enough(view: View, budget: Budget, newest: float = NEWEST) -> bool:
    """Whether the target is reached where nothing but outputs is shortened."""
    excess = view.tokens - budget.goal
    going = _going(view, int(newest * (budget.room - framing(view))), excess)
    return excess <= sum(one.tokens - _SMALLEST // 2 for one in going)


def _going(view: View, keep: int, excess: int) -> Iterator[Seen]:
    """The outputs that go: the oldest, as many as must, but none of the newest."""
    offered = {row.id for block in view.offered for row in block.rows}
    found = list(outputs(view))
    left = keep
    whole: set[tuple[str, int]] = set()
    for many, one in enumerate(reversed(found), 1):
        left -= one.tokens
        if left < 0 and (many > 5 or left < -keep):
            break
        whole.add((one.row.id, one.number))
    for one in found:
        if excess <= 0:
            return
        free = one.row.id in offered and (one.row.id, one.number) not in whole
        if free and one.tokens > _SMALLEST and not one.is_placeholder:
            excess -= one.tokens - _SMALLEST // 2
            yield one


def line_of(one: Seen, tools: Tools, names: Sequence[str] = ()) -> str:
    """What stands in the place of an output: how it ended, how much it was, and names that stood in it."""
    whole = one.row.whole.parts[one.number]
    result = whole if isinstance(whole, Result) else one.part
    use = tools.use(one.call) if one.call else None
    how = ended(result, use)
    code = EXIT.format(code=how.code) if how.code is not None else FAILED if how.ok is False else ""
    why = short(how.error or how.line, 140)
    return trimmed_to(code, LINES.format(count=count_lines(one)), why, BETWEEN.join(names))


def _names(going: Sequence[Seen], view: View, room: float) -> dict[tuple[str, int], list[str]]:
    """The names that rank highest in some outputs, by the output in which they stand; none that is shown elsewhere."""
    places = {row.id: at for at, row in enumerate(reversed(view.rows))}
    where: dict[str, tuple[str, int]] = {}
    sights: dict[str, Sight] = {}
    gone: set[str] = set()
    for one in reversed(going):
        part, address = one.row.whole.parts[one.number], f"{one.row.id}#{one.number}"
        gone.add(address)
        if isinstance(part, Result):
            new = see(names_in(address, part, view), sights, places[one.row.id])
            where.update(dict.fromkeys(new, (one.row.id, one.number)))
    persons = [message.text[:2_000] for message in view.messages if message.is_request]
    agents = [message.text[:_SAID] for message in view.messages if message.role == "assistant"]
    known = Known(
        named=frozenset(identifiers("\n".join(persons))),
        used=frozenset(_used(view)),
        spoken=frozenset(words_of(" ".join((*persons, *agents)).lower())),
    )
    told: dict[tuple[str, int], list[str]] = {}
    for name in chosen(ordered(sights, known, names_shown(view.rows, view, gone)), room):
        told.setdefault(where[name], []).append(name)
    return told


def _used(view: View) -> Iterator[str]:
    """The names in the arguments of calls."""
    for row in view.rows:
        if row.calls:
            parts = (part for message in row.messages for part in message.parts)
            for number, part in enumerate(parts):
                if isinstance(part, Call):
                    yield from names_in(f"{row.id}#{number}", part, view)


class _Long(NamedTuple):
    row: Row
    number: int
    call: Call
    tokens: int


def shorten_arguments(*, newest: float = NEWEST) -> Strategy:
    """Shorten long arguments of old calls to their first lines, oldest first, down to the target."""

    def shorten_arguments(view: View, budget: Budget) -> Plan:
        excess = view.tokens - budget.goal
        refs = view.refs is not None
        for one in list(_long(view, int(newest * (budget.room - framing(view))))):
            if excess <= 0:
                return
            before = view.tokens
            view = yield Elide(f"{one.row.id}#{one.number}", shortened_arguments(one.call, refs=refs))
            excess -= before - view.tokens

    return shorten_arguments


def _long(view: View, keep: int) -> Iterator[_Long]:
    """Calls with long arguments, oldest first, but for those among the newest rows."""
    offered = {row.id for block in view.offered for row in block.rows}
    left = keep
    end = len(view.rows)
    while end and left > 0:
        end -= 1
        left -= view.rows[end].tokens
    for row in view.rows[:end]:
        if row.kind != "entry" or not row.calls or row.id not in offered or row.tokens < _LONG:
            continue
        for number, part in enumerate(row.messages[0].parts):
            if isinstance(part, Call) and part.name not in RECALL and '"_elided"' not in part.raw[:12]:
                tokens = view.count(part.raw) if len(part.raw) > 2 * _LONG else 0
                if tokens > _LONG:
                    yield _Long(row, number, part, tokens)


def shortened_arguments(call: Call, *, refs: bool) -> str:
    """The arguments of a call, each long one by its first lines."""
    try:
        args = call.args
    except BadArguments:
        args = {"": call.raw}
    told = [
        f"{key}:{_between(value)}{_value(value)}" if key else _value(value) for key, value in args.items()
    ]
    where = f"; {ASKED}" if refs else ""
    return "\n".join([f"[arguments trimmed{where}; {len(call.raw):,} characters]", *told])


def _between(value: object) -> str:
    """A text of several lines begins on a line of its own, as it was."""
    return "\n" if isinstance(value, str) and "\n" in value else " "


def _value(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    if len(text) <= _VALUE:
        return text
    lines = [line for line in text.splitlines() if line.strip()]
    head = "\n".join(lines[:_LINES])
    return f"{head[: _VALUE * 2]}\n…" if len(head) < len(text) else head
