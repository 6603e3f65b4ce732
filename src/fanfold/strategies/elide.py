"""Elide: outputs that the model has seen shrink to a placeholder that says what they were (systems.md A5)."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

import msgspec

from fanfold.core.budget import Budget
from fanfold.core.edit import TRIMMED, Elide
from fanfold.core.errors import BadArguments, BadSetting
from fanfold.core.message import Call, Document, Image, Part, Result, text_of
from fanfold.core.plan import Plan
from fanfold.core.record import Kept
from fanfold.core.view import Row, View
from fanfold.outputs.notices import BYTES, FAILED, KILOBYTES, LINES
from fanfold.strategies.price import pays
from fanfold.text.cutting import bytes_of, cut_after, short
from fanfold.text.data import is_text
from fanfold.text.excerpt import excerpt, within

_SMALLEST = 120
"""Tokens below which an output is too short to gain much by a placeholder, which takes about half of them."""


_ASKED = 32
"""What telling what was asked may cost: the call itself stands before it."""


class Seen(NamedTuple):
    """A tool's output in view."""

    row: Row
    number: int
    part: Result
    tokens: int
    call: Call | None
    kept: Kept | None = None
    """The record of a whole of which the part is a view."""

    @property
    def tool(self) -> str:
        """The tool's name."""
        return self.call.name if self.call else self.part.name or "tool"

    @property
    def is_placeholder(self) -> bool:
        """Whether it was elided before: there is nothing more to take."""
        return self.row.was is not None and self.part.text.startswith(TRIMMED.partition(";")[0])


def elide(
    *,
    keep: int = 3,
    share: float | None = None,
    exempt: Sequence[str] = (),
    plain: bool = False,
    rewrite: float | None = None,
) -> Eliding:
    """Elide the oldest outputs when together they exceed their share, or the view its trigger.

    Reads that a later one repeats go first. The newest `keep` and the tools in `exempt` stay.
    `share` is a part of the window when at most 1, tokens above; `plain` says no more than the reference.
    With `rewrite`, what writing a token to the provider's cache costs in tokens read from it (`REWRITE`), they are
    also elided when reading them again has cost as much as writing anew what stands behind them.
    """
    given = {"keep": keep, "share": share, "exempt": exempt, "plain": plain, "rewrite": rewrite}
    try:
        made = msgspec.convert(given, Eliding)
    except msgspec.ValidationError as error:
        raise BadSetting(f"A setting of elide is not of the right kind: {error}.") from error
    if keep < 0 or (share is not None and share <= 0) or (rewrite is not None and not rewrite >= 0):
        raise BadSetting(
            "elide keeps zero or more outputs, their share is above zero, and the price is not negative."
        )
    return made


class Eliding(msgspec.Struct, frozen=True):
    """The strategy that `elide` makes."""

    keep: int
    share: float | None
    exempt: frozenset[str]
    plain: bool
    rewrite: float | None = None
    to_target: bool = True
    """Whether the whole view is brought to its target, or the outputs to their share only."""

    @property
    def name(self) -> str:
        """How it is called in reasons."""
        return "elide"

    def __call__(self, view: View, budget: Budget) -> Plan:
        """Elide down to the target, and the outputs to half their share if they exceed it."""
        found = list(outputs(view))
        candidates = self._candidates(view, found)
        over = max(self._over_share(found, budget), self._worth(view, candidates))
        excess = max(view.tokens - budget.goal, over) if self.to_target else over
        for one in candidates:
            if excess <= 0:
                return
            before = view.tokens
            text = TRIMMED if self.plain else placeholder(one)
            view = yield Elide(f"{one.row.id}#{one.number}", text)
            excess -= before - view.tokens

    def due(self, view: View, budget: Budget) -> bool:
        """Whether the outputs exceed their share or cost more than to elide them, and a tenth of the share is saved."""
        found = list(outputs(view))
        over = self._over_share(found, budget)
        if over <= 0 and self.rewrite is None:
            return False
        candidates = self._candidates(view, found)
        if _saved(candidates) < self._limit(budget) // 10:
            return False
        return over > 0 or self._worth(view, candidates) > 0

    @property
    def trim(self) -> Eliding:
        """The same, but bringing the outputs down to half their share only, whatever the view costs."""
        return msgspec.structs.replace(self, to_target=False)

    def _limit(self, budget: Budget) -> int:
        if self.share is None:
            return budget.tool_share
        return int(self.share * budget.window) if self.share <= 1 else int(self.share)

    def _over_share(self, found: list[Seen], budget: Budget) -> int:
        """Tokens to go so that half the share is left, or 0 within the share."""
        total, limit = sum(one.tokens for one in found), self._limit(budget)
        return total - limit // 2 if total > limit else 0

    def _worth(self, view: View, candidates: Sequence[Seen]) -> int:
        """Tokens that it pays to elide: all that may go, or none."""
        if self.rewrite is None or not candidates:
            return 0
        rent, behind = _rent(view, candidates)
        saved = _saved(candidates)
        return saved if pays(rent, max(0, behind - saved), self.rewrite) else 0

    def _candidates(self, view: View, found: list[Seen]) -> list[Seen]:
        """What may go, in the order in which it goes: repeated reads, then the oldest."""
        old = found[: max(0, len(found) - self.keep)]
        offered = {row.id for block in view.offered for row in block.rows}
        free = [
            one
            for one in old
            if one.row.id in offered
            and one.tokens > _SMALLEST
            and one.tool not in self.exempt
            and not one.is_placeholder
        ]
        stale = repeated(found)
        return sorted(free, key=lambda one: one[:2] not in stale)


def _saved(candidates: Sequence[Seen]) -> int:
    return sum(one.tokens - _SMALLEST for one in candidates)


def _rent(view: View, candidates: Sequence[Seen]) -> tuple[int, int]:
    """Tokens that were read again because these stand in view, and tokens from the first of them on."""
    sizes = {one.row.id: 0 for one in candidates}
    for one in candidates:
        sizes[one.row.id] += one.tokens - _SMALLEST
    rent = behind = replies = first = 0
    for row in reversed(view.rows):
        behind += row.tokens
        if row.id in sizes:
            rent += sizes[row.id] * max(0, replies - 1)
            first = behind
        replies += row.role == "assistant"
    return rent, first


def outputs(view: View) -> Sequence[Seen]:
    """The outputs in view, oldest first, with the calls they answer."""
    # The steps of a plan ask one after another, mostly for the same rows.
    known: tuple[object, Sequence[Seen]] = view.memory.get("outputs", (None, ()))
    if known[0] is not view.rows:
        known = view.memory["outputs"] = view.rows, tuple(outputs_in(view, {row.id for row in view.rows}))
    return known[1]


def outputs_in(view: View, rows: Container[str]) -> Iterator[Seen]:
    """The outputs in some of the rows, oldest first, with the calls they answer."""
    callers: dict[str, Row] = {}
    for row in view.rows:
        if row.calls:
            callers.update(dict.fromkeys(row.calls, row))
        if row.results and row.kind == "entry" and row.id in rows:
            yield from _outputs(view, row, callers)


def _outputs(view: View, row: Row, callers: dict[str, Row]) -> Iterator[Seen]:
    parts = row.messages[0].parts
    for number, part in enumerate(parts):
        if isinstance(part, Result):
            kept = view.kept(f"{row.id}#{number}")
            blob = kept if kept is not None and kept.blob is not None else None
            tokens, call = _share(row, parts, number), _find_call(callers.get(part.call), part.call)
            yield Seen(row=row, number=number, part=part, tokens=tokens, call=call, kept=blob)


def _find_call(caller: Row | None, id: str) -> Call | None:
    """The call with this id in a row, the last of several."""
    calls = [call for message in caller.messages for call in message.calls] if caller else ()
    return next((call for call in reversed(calls) if call.id == id), None)


def _share(row: Row, parts: Sequence[Part], number: int) -> int:
    """The tokens of one part of a row, by what can be read in each of them."""
    if len(parts) == 1:
        return row.tokens
    sizes = [_weight(part) if isinstance(part, Result) else len(text_of(part)) for part in parts]
    return row.tokens * sizes[number] // max(1, sum(sizes))


def _weight(part: Result) -> int:
    """The share of a row that a result takes: its words, and pictures as some thousand characters."""
    return len(part.text) + 4_000 * sum(isinstance(one, Image | Document) for one in part.parts) + 1


def repeated(found: Sequence[Seen]) -> set[tuple[Row, int]]:
    """The outputs that a later one of the same tool and arguments, or of the same content, makes superfluous."""
    newer: set[tuple[str, ...]] = set()
    stale: set[tuple[Row, int]] = set()
    for one in reversed(found):
        asked = ("asked", one.tool, one.call.raw) if one.call else ("result", one.part.call)
        same = ("said", one.part.text) if one.part.text else asked
        if asked in newer or same in newer:
            stale.add((one.row, one.number))
        newer.update((asked, same))
    return stale


def placeholder(one: Seen) -> str:
    """What stands in the place of an output: the reference, what was asked, how much it was, and an excerpt."""
    whole = one.row.whole.parts[one.number]
    text = whole.text if isinstance(whole, Result) else one.part.text
    asked = f"{short(one.tool, _ASKED)}({_gist(one.call)})" if one.call else short(one.tool, _ASKED)
    media = [part.media or "picture" for part in one.part.parts if isinstance(part, Image | Document)]
    error = FAILED if one.part.error else ""
    told = [asked, error, _measure(text, one.kept), ", ".join(media), excerpt(_unnoted(text, one.kept))]
    return trimmed_to(*told)


def trimmed_to(*told: str) -> str:
    """The placeholder of an output: the reference, and what is told of it."""
    return f"{TRIMMED.removesuffix(']')}; {'; '.join(filter(None, told))}]"


def count_lines(one: Seen) -> int:
    """How many lines the whole of an output has."""
    if one.kept is not None and one.kept.lines:
        return one.kept.lines
    whole = one.row.whole.parts[one.number]
    return (whole if isinstance(whole, Result) else one.part).text.count("\n") + 1


def _measure(text: str, kept: Kept | None) -> str:
    """How much an output is."""
    if kept is not None and not is_text(kept.media, kept.size):
        return f"{kept.media}, {_size(kept.size)}"
    if kept is not None:
        return f"{LINES.format(count=kept.lines)}, {_size(kept.size)}"
    lines = text.count("\n") + (not text.endswith("\n"))
    return f"{LINES.format(count=lines)}, {_size(bytes_of(text))}" if text else ""


def _unnoted(text: str, kept: Kept | None) -> str:
    """What is shown of an output, without the notes that filters put into the view of a large one."""
    if kept is None:
        return text
    return "\n".join(line for line in text.split("\n") if not _is_note(line, kept.ref))


def _is_note(line: str, ref: str) -> bool:
    return line.startswith("[") and line.endswith("]") and (f"ref={ref}" in line or line.startswith("[… "))


def _gist(call: Call) -> str:
    """What a call asked for: its values, short; of a long path the end, which tells it from others."""
    try:
        values = [value if isinstance(value, str) else str(value) for value in call.args.values()]
    except BadArguments:
        values = [call.raw]
    return within(", ".join(map(_value, values[:4])), _ASKED)


def _value(value: str) -> str:
    if len(value) <= _ASKED - 8 or "/" not in value or " " in value:
        return value
    return "…" + value[cut_after(value, len(value) - _ASKED + 8) :]


def _size(size: int) -> str:
    return BYTES.format(count=size) if size < 1_000 else KILOBYTES.format(count=size / 1_000)
