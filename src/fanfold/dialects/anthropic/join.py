"""From rows to Anthropic's messages: what the grammar wants as one message becomes one, always the same way.

A message that came over this wire stands as it came. One recorded by itself (an answer, a note, a fold) joins
the message before it if that is of the same side and was recorded so too, or holds results. Results go before
words. What fanfold itself says right behind results goes into the last of them: words of the user would end
the running loop. Only a note that comes late, behind results that were sent already, stands by itself: what was
sent does not change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from fanfold.core.message import Message
from fanfold.core.view import Row
from fanfold.dialects.anthropic.read import blocks, is_own, kind
from fanfold.dialects.anthropic.write import text_block
from fanfold.dialects.dialect import is_sent
from fanfold.dialects.rules import Body, Rows

OURS = frozenset({"note", "fold", "drop"})
"""Rows in which fanfold itself speaks."""


class BlockPlace(NamedTuple):
    """A block in a list of messages."""

    message: int
    block: int


class Spoken(NamedTuple):
    """One message of a row, as it goes over the wire."""

    message: Message
    body: Body
    loose: bool
    """It did not come over this wire as a message of its own."""


def wire_messages(row: Row) -> Iterator[Spoken]:
    """The messages of a row that are sent at all."""
    wire = row.weight.wire
    if len(row.messages) == 1:
        if wire:
            yield Spoken(row.messages[0], wire[0], not is_own(row.was or row.messages[0]))
        return
    at = 0
    for message in row.messages:
        if at < len(wire) and (is_own(message) or any(map(is_sent, message.parts))):
            yield Spoken(message, wire[at], not is_own(message))
            at += 1


def aside(row: Row, body: Body) -> bool:
    """Whether fanfold itself speaks here, in words only, before what stands before it was ever sent."""
    if row.kind not in OURS or row.late or body["role"] != "user":
        return False
    return all(kind(block) == "text" for block in blocks(body))


def ends_in_result(body: Body) -> bool:
    """Whether the last thing in a message is a result."""
    found = blocks(body)
    return bool(found) and kind(found[-1]) == "tool_result"


class Seam:
    """Where one wire message ends and the next begins, as the rows go by."""

    def __init__(self) -> None:
        self.role = ""
        self._loose = False
        self._results = False

    def step(self, role: str, loose: bool, results: bool) -> bool:
        """Go on by one message; says whether it became part of the one before."""
        joined = loose and role == self.role and (self._loose or (self._results and role == "user"))
        self._loose = self._loose if joined else loose
        self._results = results or (joined and self._results)
        self.role = role
        return joined


class Joint:
    """Messages in the making: rows come in order."""

    def __init__(self) -> None:
        self.messages: list[Body] = []
        self._seam = Seam()
        self._copied = False

    def add(self, row: Row) -> None:
        """Take in one row."""
        for _, body, loose in wire_messages(row):
            results = any(kind(block) == "tool_result" for block in blocks(body))
            if not self._seam.step(body["role"], loose, results):
                self.messages.append(body)
                self._copied = False
            elif aside(row, body) and ends_in_result(self.messages[-1]):
                content = self._content()
                content[-1] = add_words(content[-1], "\n\n".join(block["text"] for block in blocks(body)))
            else:
                self._join(body)

    @property
    def end(self) -> BlockPlace:
        """The last block so far."""
        last = len(self.messages) - 1
        return BlockPlace(last, len(blocks(self.messages[last])) - 1 if self.messages else -1)

    def _join(self, body: Body) -> None:
        content, more = self._content(), blocks(body)
        results = [block for block in more if kind(block) == "tool_result"]
        first = (i for i, block in enumerate(content) if kind(block) != "tool_result")
        at = next(first, len(content)) if results else len(content)
        content[at:at] = results
        content.extend(block for block in more if kind(block) != "tool_result")

    def _content(self) -> list[Any]:
        """The blocks of the last message, to be changed: what was encoded before is shared and stays."""
        if not self._copied:
            last = self.messages[-1]
            self.messages[-1] = {**last, "content": list(blocks(last))}
            self._copied = True
        content: list[Any] = self.messages[-1]["content"]
        return content


def add_words(block: Body, text: str) -> Body:
    """A result with some words added at its end."""
    content = block.get("content")
    if isinstance(content, list):
        return {**block, "content": [*content, text_block(text)]}
    return {**block, "content": f"{content}\n\n{text}" if content else text}


def with_context(messages: list[Body], context: str) -> BlockPlace:
    """Put the volatile context behind the last words of the user's side; the last block that it left as it was."""
    at = next((i for i in range(len(messages) - 1, -1, -1) if messages[i]["role"] == "user"), -1)
    content = list(blocks(messages[at])) if at >= 0 else []
    if not content or not ends_in_result(messages[at]):
        messages.insert(at + 1, {"role": "user", "content": [text_block(context)]})
        return BlockPlace(at, len(content) - 1)
    content[-1] = add_words(content[-1], context)
    messages[at] = {**messages[at], "content": content}
    return BlockPlace(at, len(content) - 2)


def loop(rows: Rows) -> int:
    """The first row of the running loop: everything behind the last words of the user."""
    return next(loops(rows)).start


def loops(rows: Rows) -> Iterator[range]:
    """The rows of each loop, the newest first: what stands between words of the user and the next."""
    end = len(rows)
    for at in range(len(rows) - 1, -1, -1):
        row = rows[at]
        if row.weight.wire and not _only_works(row):
            asked = [_asks(rows, at, body) for _, body, _ in wire_messages(row)]
            if any(asked):
                start = at + asked[-1]
                yield range(start, end)
                end = start
    yield range(end)


def _only_works(row: Row) -> bool:
    """Whether a row is the assistant's, or nothing but results; told at a glance."""
    if len(row.messages) != 1:
        return False
    return row.messages[0].role == "assistant" or 0 < len(row.results) == len(row.messages[0].parts)


def _asks(rows: Rows, at: int, body: Body) -> bool:
    """Whether the user says something here; what goes into a result does not count."""
    if body["role"] != "user" or all(kind(block) == "tool_result" for block in blocks(body)):
        return False
    return not (aside(rows[at], body) and _behind_results(rows, at))


def _behind_results(rows: Rows, at: int) -> bool:
    for before in range(at - 1, -1, -1):
        bodies = [body for _, body, _ in wire_messages(rows[before])]
        if bodies and not all(aside(rows[before], body) for body in bodies):
            return bodies[-1]["role"] == "user" and ends_in_result(bodies[-1])
    return False
