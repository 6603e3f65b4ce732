"""A frame that stands still: what a client changes in system prompt and tools without meaning much by it.

The beginning of a prompt is what the provider's cache holds, so a frame that moves costs the whole prompt. The same
tools in another order stay as they were sent. With `volatile=`, a tool that vanished stays, and the session answers
calls of it; and a line that changes, such as today's date, is told at the end of the prompt. What really changed is
adopted with the next edit, when the prompt is read afresh anyway.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from fanfold.core.message import text_of
from fanfold.core.record import Edited, Frame, Framed, Sent
from fanfold.deferral.catalog import ToolBody, join_tools, split_tools
from fanfold.dialects.registry import DIALECTS
from fanfold.session.aftermath import Still
from fanfold.session.state import State

_FEW = 3
"""So many lines of a system prompt may change and still be taken for volatile ones."""
_LONGEST = 300
"""Characters of the longest line that is told at the end."""
_ALIKE = 0.5
"""The share of a line that stays where only a value in it changes."""


def take_out(state: State, system: Sequence[Any]) -> tuple[list[Any], tuple[str, ...]]:
    """The system prompt without its volatile lines, and these."""
    told = state.terms.volatile
    texts = told if isinstance(told, tuple) else ()
    if not texts and not state.still.found:
        return list(system), ()
    lines: list[str] = []

    def stable(text: str) -> str:
        kept: list[str] = []
        for line in text.splitlines(keepends=True):
            is_volatile = any(one in line for one in texts) or _normal(line) in state.still.found
            (lines if is_volatile else kept).append(line)
        return "".join(kept)

    return [_with_text(body, stable) for body in system], tuple(line.strip() for line in lines)


def _with_text(body: Any, change: Any) -> Any:
    """A piece of a system prompt with other words; one in a form that has none stays as it is."""
    if isinstance(body, str):
        return change(body)
    for key in ("text", "content") if isinstance(body, Mapping) else ():
        if isinstance(body.get(key), str):
            return {**body, key: change(body[key])}
    return body


def stand(state: State, frame: Frame, lines: tuple[str, ...]) -> Frame:
    """The frame to send for the one that a client gave: the last one, as far as that is honest."""
    old, volatile = state.log.frame(), state.terms.volatile
    state.still = Still(lines=lines, found=state.still.found)
    if volatile is False or not state.log.sent or frame == old or state.dialect.name not in DIALECTS:
        return frame
    before, now = (split_tools(one, one.dialect or state.dialect.name) for one in (old, frame))
    frame = _in_order(frame, old, before, now)
    if frame == old or volatile is None:
        return frame
    changed = list(_changed_lines(old, frame))
    if not _bodies(now) <= _bodies(before) or None in changed or len(changed) > _FEW:
        return frame
    missing = [one.tool.name for one in before if one.tool and str(one.body) not in _bodies(now)]
    told = tuple(str(line) for line in changed)
    state.still = Still(
        wanted=frame, missing=frozenset(missing), lines=(*lines, *told), found=state.still.found
    )
    return old


def _bodies(tools: Collection[ToolBody]) -> set[str]:
    return {str(one.body) for one in tools}


def _in_order(frame: Frame, old: Frame, before: Sequence[ToolBody], now: Sequence[ToolBody]) -> Frame:
    """The frame with its tools in the order in which they were sent; new ones stand behind them."""
    if _bodies(before) == _bodies(now):
        return replace(frame, tools=old.tools)
    place = {str(one.body): at for at, one in enumerate(before)}
    ordered = sorted(now, key=lambda one: place.get(str(one.body), len(place)))
    return replace(frame, tools=tuple(join_tools(ordered)))


def _changed_lines(old: Frame, new: Frame) -> Iterator[str | None]:
    """The lines of a system prompt that have another value; None where more than values changed."""
    if len(old.system) != len(new.system):
        yield None
    for one, two in zip(old.system, new.system, strict=False):
        before, now = (text_of(message).splitlines() for message in (one, two))
        if len(before) != len(now) or len(one.parts) != len(two.parts):
            yield None
        for was, line in zip(before, now, strict=False):
            if was != line:
                yield line.strip() if _is_value(was, line) else None


def _is_value(was: str, line: str) -> bool:
    """Whether two lines differ in a value only: in digits, or in a small part."""
    if len(line) > _LONGEST:
        return False
    if _normal(was) == _normal(line):
        return True
    pairs = list(zip(was, line, strict=False))
    start = next((at for at, (a, b) in enumerate(pairs) if a != b), len(pairs))
    backwards = list(zip(was[start:][::-1], line[start:][::-1], strict=False))
    end = next((at for at, (a, b) in enumerate(backwards) if a != b), len(backwards))
    return start + end >= _ALIKE * max(len(was), len(line))


def _normal(line: str) -> str:
    """A line without its figures."""
    return re.sub(r"\d+", "0", line.strip())


def told_at_the_end(state: State, context: str | None) -> str | None:
    """The context of a request, with the volatile lines of the system prompt before it."""
    lines = [f"[system prompt, as of now] {line}" for line in state.still.lines]
    return "\n".join([*lines, *([context] if context else [])]) or None


def adopt_after_edits(state: State) -> None:
    """Do so where an edit was made since the last request."""
    if state.still.wanted is not None:
        since = takewhile(lambda record: not isinstance(record, Sent), reversed(state.log.records))
        if any(isinstance(record, Edited) for record in since):
            adopt(state)


def adopt(state: State) -> None:
    """Take over what a client meant by its frame: an edit changed the prompt, and it is read afresh anyway.

    Lines that were found to change leave the system prompt for good.
    """
    still, old = state.still, state.log.frame()
    if still.wanted is None:
        return
    found = still.found | {_normal(line) for line in still.lines}
    wanted = still.wanted
    state.still = Still(lines=still.lines, found=found)
    if wanted.system != old.system:
        bodies = [message.wire.body if message.wire else text_of(message) for message in wanted.system]
        system, _ = take_out(state, bodies)
        wanted = replace(state.dialect.frame(system, ()), tools=wanted.tools)
    state.write(Framed(wanted))
    state.void_bill()
