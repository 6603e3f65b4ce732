"""Gemini calls whose arguments are streamed in pieces.

Vertex sends `partialArgs` when `streamFunctionCallArguments` is on: each piece names by a JSON path (RFC 9535) where in
the arguments it belongs, and `willContinue` says that more of the same call, or of the same text, is to come.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from fanfold.dialects.gemini.names import get_field, get_object, spelling, without
from fanfold.text.patterns import pattern

_STEP = pattern(r"""\.([^.\[\]]+)|\[(\d+)\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]""")
_VALUES = ("stringValue", "numberValue", "boolValue")
_WHOLE = 2**53
"""Up to here every whole number that is a float is exact."""
Step = str | int


def is_open(part: Any) -> bool:
    """Whether a part is a call of which more is to come."""
    return bool(get_field(get_object(part, "functionCall"), "willContinue"))


def continues(part: Any, last: Any) -> bool:
    """Whether a part is the next piece of the call before it: it has no name of its own, or the same id."""
    call, before = get_object(part, "functionCall"), get_object(last, "functionCall")
    if call is None or before is None or not is_open(last):
        return False
    return call.get("name") is None or (bool(call.get("id")) and call["id"] == before.get("id"))


def join(last: dict[str, Any], part: dict[str, Any]) -> None:
    """Add the next piece of a call to the call."""
    call, more = last[spelling(last, "functionCall")], get_field(part, "functionCall")
    pieces = call.setdefault(spelling(call, "partialArgs"), [])
    pieces.extend(get_field(more, "partialArgs") or ())
    call[spelling(call, "willContinue")] = bool(get_field(more, "willContinue"))
    last |= {**without(part, "functionCall"), **last}
    call |= {**without(more, "partialArgs", "willContinue"), **call}


def settle(part: Any) -> Any:
    """A part as it is kept and sent again: a call that is complete has its arguments in one piece."""
    call = get_object(part, "functionCall")
    if call is None or is_open(part) or not {"partialArgs", "partial_args"} & call.keys():
        return part
    args = {**(call.get("args") or {}), **assemble(get_field(call, "partialArgs"))}
    whole = {**without(call, "partialArgs", "willContinue"), "args": args}
    return {**part, spelling(part, "functionCall"): whole}


def assemble(pieces: Any) -> dict[str, Any]:
    """The arguments that some pieces make."""
    args: dict[str, Any] = {}
    for steps, value in _values(pieces if isinstance(pieces, list) else ()):
        holder: Any = args
        for step, after in pairwise(steps):
            kind = list if isinstance(after, int) else dict
            known = holder.get(step) if isinstance(holder, dict) else (holder[step : step + 1] or [None])[0]  # type: ignore[operator]
            if not isinstance(known, kind):  # made if it is not there, or is of another kind
                known = kind()
                _set(holder, step, known)
            holder = known
        _set(holder, steps[-1], value)
    return args


def _values(pieces: Iterable[Any]) -> Iterator[tuple[list[Step], Any]]:
    """Every value with its place; a text that was continued is one value."""
    place, text = "", list[str]()
    for piece in pieces:
        path = get_field(piece, "jsonPath")
        if not isinstance(path, str):
            continue
        value = next((found for name in _VALUES if (found := get_field(piece, name)) is not None), None)
        if isinstance(value, float) and value.is_integer() and abs(value) <= _WHOLE:
            value = int(value)  # the SDK makes a float of every number
        if text and (path != place or not isinstance(value, str)):
            yield _steps(place), "".join(text)
            text.clear()
        if isinstance(value, str):
            place = path
            text.append(value)
        elif value is not None or {"nullValue", "null_value"} & piece.keys():
            yield _steps(path), value
        if text and not get_field(piece, "willContinue"):
            yield _steps(place), "".join(text)
            text.clear()
    if text:
        yield _steps(place), "".join(text)


def _steps(path: str) -> list[Step]:
    """The names and indexes of a path; the first is a name, for arguments are an object."""
    steps: list[Step] = []
    for name, index, single, double in _STEP.findall(path):
        quoted = re.sub(r"\\(.)", r"\1", single or double)
        steps.append(int(index) if index and steps else name or index or quoted)
    return steps or [path.removeprefix("$")]


def _set(holder: Any, step: Step, value: Any) -> None:
    """Put a value in its place; an index beyond the end of a list is its end."""
    if isinstance(holder, list) and isinstance(step, int) and step >= len(holder):
        holder.append(value)
    else:
        holder[step] = value
