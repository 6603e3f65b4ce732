"""Repairs for OpenAI Chat Completions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fanfold.core.message import Call, Message, Part, Result, Text, replaced, text_of, user
from fanfold.core.view import Row, Violation
from fanfold.dialects.chat.rules import LONGEST_TEXT, joins
from fanfold.dialects.dialect import Patch
from fanfold.dialects.repair import NOTHING, no_result, recorded, stray
from fanfold.text.cutting import clipped

Faults = Callable[[Message], tuple[Violation, ...]]


def repair(rows: Sequence[Row], faults: Faults) -> list[Patch]:
    """Repairs for Chat Completions: a call with its results is one group, everything else stands alone."""
    if rows and not any(row.weight.wire for row in rows):
        return [((rows[-1].id,), (user(NOTHING),))]
    repairs = []
    for group in _groups(rows):
        shown = tuple(message for row in group for message in row.messages)
        repaired = _repaired([_legal(message, faults) for row in group for message in recorded(row)])
        if repaired != shown:
            repairs.append((tuple(row.id for row in group), repaired))
    return repairs


def _groups(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """An assistant's calls with the results that follow at once; any other row by itself."""
    group: list[Row] = []
    for row in rows:
        if group and _belongs(row, group):
            group.append(row)
            continue
        if group:
            yield group
        group = [row]
    if group:
        yield group


def _belongs(row: Row, group: Sequence[Row]) -> bool:
    """Whether a row goes with the rows before it: a result of theirs, or more of what the assistant said."""
    if not any(one.calls for one in group):
        return False
    if row.results and not row.calls:
        return True
    said = all(joins(one.was or message) for one in (*group, row) for message in one.messages)
    return said and not any(one.results for one in group)


def _repaired(messages: Sequence[Message]) -> tuple[Message, ...]:
    """A group made legal, step by step."""
    return tuple(message for step in _steps(messages) for message in _repaired_step(step))


def _steps(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """What the assistant said at once, with all that follows before it speaks again."""
    step: list[Message] = []
    for message in messages:
        if step and message.role == "assistant" and not all(map(joins, (*step, message))):
            yield step
            step = []
        step.append(message)
    yield step


def _repaired_step(messages: Sequence[Message]) -> tuple[Message, ...]:
    """A step made legal: its calls, all their results, then whatever else was said."""
    done: list[Message] = []
    after: list[Message] = []
    open: dict[str, str] = {}
    for message in _told_apart(messages):
        kept, strays = _matched(message, open)
        if not strays and not _renamed(message, kept):
            kept = [message]
        for each in kept:
            (done if each.role == "assistant" or each.results else after).append(each)
        after.extend(strays)
        open.update((call.id, call.name) for call in message.calls if message.role == "assistant")
    answers, words = _apart(done, len(done) if open else len(done) - 1)
    return (*answers, *_missing(open), *words, *after)


def _apart(messages: Sequence[Message], count: int) -> tuple[list[Message], list[Message]]:
    """The messages, and the words beside the results of the first so many: more results come before them."""
    answers, words = list[Message](), list[Message]()
    for at, message in enumerate(messages):
        beside = tuple(part for part in message.parts if not isinstance(part, Result))
        if at < count and message.results and beside:
            answers.append(Message(message.role, message.results))
            words.append(Message("user", beside))
        else:
            answers.append(message)
    return answers, words


def _told_apart(messages: Sequence[Message]) -> Iterator[Message]:
    """What the assistant said piece by piece is sent as one message: a call whose id is taken gets another."""
    taken: set[str] = set()
    for message in messages:
        parts = tuple(_distinct(message.parts, taken)) if message.calls and joins(message) else message.parts
        yield message if parts == message.parts else Message(message.role, parts)


def _matched(message: Message, open: dict[str, str]) -> tuple[list[Message], list[Message]]:
    """The message without results that answer no open call, and those as plain words."""
    kept: list[Part] = []
    strays: list[Message] = []
    for part in message.parts:
        id = _answers(part, open) if isinstance(part, Result) else None
        if not isinstance(part, Result):
            kept.append(part)
        elif id is None:
            strays.append(user(stray(part.call, part.text)))
        else:
            del open[id]
            kept.append(part if id == part.call else Result(id, part.parts, part.error, part.name))
    return ([Message(message.role, tuple(kept))] if kept else []), strays


def _renamed(message: Message, results: list[Message]) -> bool:
    return bool(results) and results[0].parts != message.parts


def _answers(result: Result, open: dict[str, str]) -> str | None:
    """The open call that a result answers; of two calls with one id, the second was renamed."""
    if result.call in open:
        return result.call
    return next(
        (id for id in open if id.startswith(result.call) and id.strip("~") == result.call.strip("~")), None
    )


def _missing(open: dict[str, str]) -> Iterator[Message]:
    for id, name in open.items():
        yield Message("tool", (no_result(id, name),))


def _legal(message: Message, faults: Faults) -> Message:
    """The message as it is, or written anew from its parts where its wire form breaks a rule."""
    if not faults(message):
        return message
    parts = _distinct(message.parts, set())
    return Message(message.role, tuple(_legal_part(part, message.role) for part in parts))


def _legal_part(part: Part, role: str) -> Part:
    if isinstance(part, Call) and role != "assistant":
        return Text(text_of(part))
    if isinstance(part, Result) and role == "assistant":
        return Text(text_of(part))
    if len(text_of(part)) > LONGEST_TEXT:
        return replaced(part, clipped(text_of(part), LONGEST_TEXT // 2))
    return part


def _distinct(parts: Sequence[Part], taken: set[str]) -> Iterator[Part]:
    """The parts, no two calls with one id; their ids are taken then."""
    for part in parts:
        if isinstance(part, Call):
            id = part.id
            while id in taken:
                id += "~"
            taken.add(id)
            part = part if id == part.id else Call(id, part.name, part.raw)
        yield part
