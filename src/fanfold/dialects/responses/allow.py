"""What one request may carry of the rows: no reasoning that the server cannot read, answers of the right kind."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fanfold.core.ids import canonical, digest
from fanfold.core.message import Message, Result
from fanfold.core.view import Row
from fanfold.dialects.dialect import Allowed
from fanfold.dialects.responses.calls import ASKING, read_output, short, write_answer
from fanfold.dialects.responses.content import DIALECT
from fanfold.dialects.responses.rules import PREFIXES, by_model, item_faults

Item = dict[str, Any]
_REMEMBERED = ("previous_response_id", "conversation")
_LOOKED_AT = (frozenset(ASKING) | {"reasoning"}) - {"function_call"}


def allow(rows: Sequence[Row], params: Mapping[str, Any]) -> Allowed:
    """Rows and parameters as this request may carry them."""
    named = [key for key in _REMEMBERED if params.get(key) is not None]
    left = [f"{key}: the whole input is sent instead" for key in named]
    if named:
        params = {key: value for key, value in params.items() if key not in named}
    kinds, unread = _looked(rows, stored=params.get("store") is not False)
    if kinds:
        rows = [_answered(row, kinds) if row.results else row for row in rows]
    if unread:
        rows = _readable(rows, unread)
        left += [f"{id}#0" for id in unread]
    return Allowed(rows, params, tuple(left))


def mendable(rows: Sequence[Row], params: Mapping[str, Any]) -> list[Row]:
    """The rows that a request with these parameters carries, every item still under its id."""
    kinds, unread = _looked(rows, stored=params.get("store") is not False)
    rows = [_answered(row, kinds) if row.results and kinds else row for row in rows]
    return [kept for row in rows for kept in (_thoughtless(row) if row.id in unread else (row,))]


def _looked(rows: Sequence[Row], *, stored: bool) -> tuple[dict[str, str], dict[str, None]]:
    """The calls that are no plain function calls, by id, and the rows with reasoning the server cannot read."""
    kinds: dict[str, str] = {}
    unread: dict[str, None] = {}
    for row in rows:
        for item in row.weight.wire:
            kind = item.get("type") if isinstance(item, dict) else None
            if kind in _LOOKED_AT:
                if kind != "reasoning":
                    kinds[str(item.get("id" if kind == "mcp_approval_request" else "call_id"))] = kind
                elif not _is_readable(item, stored):
                    unread[row.id] = None
    return kinds, unread


def _answered(row: Row, kinds: Mapping[str, str]) -> Row:
    """The row with answers written here (by `answer`) in the form that their call's kind wants."""
    if not _is_written(row.was or row.messages[0]) and not any(map(_is_written, row.messages[1:])):
        return row
    failed = {short(part.call) for message in row.messages for part in message.results if part.error}
    wire = [each for item in row.weight.wire for each in _retyped(item, kinds, failed)]
    return _rewired(row, wire)


def _is_written(message: Message) -> bool:
    return not message.came_over(DIALECT)


def _retyped(item: Any, kinds: Mapping[str, str], failed: set[str]) -> list[Any]:
    """An output as the answer to a call of its own kind, where that is no plain function call."""
    kind = kinds.get(str(item.get("call_id"))) if isinstance(item, dict) else None
    if kind is None or item.get("type") != "function_call_output":
        return [item]
    read = read_output(item)
    parts = read.parts if isinstance(read, Result) else ()
    return write_answer(kind, item["call_id"], parts, error=item["call_id"] in failed)


def _readable(rows: Sequence[Row], unread: Container[str]) -> list[Row]:
    """The rows without reasoning that the server can neither decrypt nor look up."""
    kept: list[Row] = []
    freed = False
    for row in rows:
        if row.id in unread:
            kept.extend(_thoughtless(row))
            freed = True
            continue
        freed = freed and all(map(_led, row.weight.wire))
        kept.append(_rewired(row, [_unbound(item) for item in row.weight.wire]) if freed else row)
    return kept


def _thoughtless(row: Row) -> Iterator[Row]:
    wire = [item for item in row.weight.wire if not _is_thought(item)]
    if wire:
        yield _rewired(row, wire)


def _led(item: Any) -> bool:
    """Whether an item may have come of the reasoning before it."""
    return isinstance(item, dict) and not _is_thought(item) and by_model(item)


def _is_thought(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "reasoning"


def _is_readable(item: Item, stored: bool) -> bool:
    return bool(item.get("encrypted_content")) or (stored and bool(item.get("id") or item.get("content")))


def _unbound(item: Item) -> Item:
    """What followed reasoning that is left out goes without its id: the id demands the reasoning."""
    if item.get("id") is None or item.get("type") not in PREFIXES:
        return item
    return {key: value for key, value in item.items() if key != "id"}


def _rewired(row: Row, wire: list[Any]) -> Row:
    before = row.weight.wire
    if len(wire) == len(before) and all(new is old for new, old in zip(wire, before, strict=True)):
        return row
    seal = digest(canonical(wire)).encode()
    weight = replace(row.weight, wire=tuple(wire), digest=seal, faults=item_faults(wire))
    return replace(row, weight=weight)
