"""Putting a stream of events together again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanfold.core.message import Opaque, Part, Thinking

CUT = "cut"
"""The dialect of parts that a broken stream left incomplete: recorded, never sent."""


class Pieces:
    """A JSON object that arrives in pieces: texts are continued, lists and objects grow, the rest is replaced."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._inner: dict[str, Pieces] = {}
        self._values: dict[str, Any] = {}

    def add(self, delta: Mapping[str, Any], *, once: frozenset[str] = frozenset()) -> None:
        """Take in one piece; the fields of `once` are repeated by the stream, not continued."""
        for key, value in delta.items():
            if isinstance(value, str) and key not in once:
                self._texts.setdefault(key, []).append(value)
            elif isinstance(value, dict):
                self._inner.setdefault(key, Pieces()).add(value, once=once)
            elif isinstance(value, list):
                self._values.setdefault(key, []).extend(value)
            elif value is not None or key not in self._values:
                self._values[key] = value

    def joined(self) -> dict[str, Any]:
        """The object so far."""
        texts = {key: "".join(pieces) for key, pieces in self._texts.items()}
        inner = {key: pieces.joined() for key, pieces in self._inner.items()}
        return {**self._values, **texts, **inner}


def cut_call(body: Any) -> Opaque:
    """A call that a broken stream left incomplete."""
    return Opaque(CUT, {"call": body})


def cut_thinking(text: str) -> Opaque:
    """Thinking that a broken stream left unsigned."""
    return Opaque(CUT, {"thinking": text})


def sent(part: Part) -> bool:
    """Whether a part is ever sent: not what a broken stream left incomplete, and not another wire's thinking."""
    return not isinstance(part, Thinking) and not (isinstance(part, Opaque) and part.dialect == CUT)
