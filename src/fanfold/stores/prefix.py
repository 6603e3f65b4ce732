"""A prefix: a hash of a conversation up to one of its messages, by which a session is found when a client re-sends it.

It is made from what no client changes by accident: the words of each role, the calls by value, and where results and
pictures stand. How messages are cut into parts does not matter, nor what was thought, nor what a result says: clients
join texts, drop thoughts, blank old outputs, and send results twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from hashlib import blake2b
from typing import Any

import msgspec

from fanfold.core.ids import canonical, digest
from fanfold.core.message import Call, Message, Opaque, Part, Result, Text, Thinking
from fanfold.stores.echo import given_id, is_told, read_arguments

START = digest(b"")


class Prefix(msgspec.Struct, frozen=True, dict=True):
    """A conversation so far, and what the next part may still belong to."""

    closed: str = START
    """The hash of everything before the words that may go on."""
    role: str = ""
    """Who said these words, if there are any."""
    words: Any = None
    """The hash of these words, which can go on."""
    answered: bool = False
    """Whether results stand last: more of them make no difference."""

    @cached_property
    def hash(self) -> str:
        """The hash of everything."""
        return (
            digest(self.closed.encode(), self.role.encode(), self.words.digest())
            if self.role
            else self.closed
        )

    def follow(self, message: Message) -> Prefix:
        """The conversation with one more message."""
        prefix = self
        for part in message.parts:
            prefix = prefix._add(message.role, part)
        return prefix

    def _add(self, role: str, part: Part) -> Prefix:
        match part:
            case Text(text=text):
                return self._say(role, text) if text else self
            case Call(name=name, raw=raw):
                return self._put("call", given_id(part.id, name), name, read_arguments(raw))
            case Result():
                return self if self.answered else Prefix(self._put("results").closed, answered=True)
            case Thinking():
                return self
            case Opaque(body=body):
                kind = body.get("type") if isinstance(body, dict) else None
                return self._put("opaque", kind if isinstance(kind, str) else "")
        return self._put(type(part).__name__)

    def _say(self, role: str, text: str) -> Prefix:
        goes_on = self.role == role
        words = self.words.copy() if goes_on else blake2b(digest_size=16)
        words.update(text.encode("utf-8", "surrogatepass"))
        return Prefix(self.closed if goes_on else self.hash, role, words)

    def _put(self, *what: Any) -> Prefix:
        return Prefix(digest(self.hash.encode(), canonical(what)))


def prefixes(messages: Iterable[Message]) -> Iterator[str]:
    """The hash of a conversation after each of its messages."""
    prefix = Prefix()
    for message in messages:
        prefix = prefix.follow(message)
        yield prefix.hash


def hash_number(prefix: str) -> int:
    """A hash as stores keep it: a whole number of 64 bits with a sign."""
    return int.from_bytes(bytes.fromhex(prefix[:16]), signed=True)


def resume(prefix: str, message: Message) -> Prefix:
    """A conversation that ends with this message and has this hash; words do not go on from here."""
    told = list(filter(is_told, message.parts))
    return Prefix(prefix, answered=bool(told) and isinstance(told[-1], Result))


def goes_on(before: Message, after: Message) -> bool:
    """Whether the words of one message may be the end of those of the message before it."""
    return before.role == after.role and bool(before.text) and bool(after.text)
