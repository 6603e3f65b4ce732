"""An output: a value that reads from wherever its bytes are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import msgspec

from fanfold.core.errors import BadInput
from fanfold.outputs.grep import Hit, Pattern, grep
from fanfold.outputs.index import LineIndex
from fanfold.outputs.patience import TIMEOUT, Patience
from fanfold.outputs.reading import LONGEST, lines_of
from fanfold.outputs.source import Source, as_text, decoded
from fanfold.text.data import is_text


class Output(msgspec.Struct, frozen=True, eq=False, dict=True):
    """What a tool gave back, or what an edit hides, by its reference."""

    ref: str
    size: int
    """Bytes."""
    line_count: int
    media: str
    source: Source
    load: Callable[[], LineIndex | None] = lambda: None
    """Fetches the index of lines, for an output that has one."""

    def __str__(self) -> str:
        return f"{self.ref}: {size_of(self.size)}, {self.line_count:,} lines, {self.media}"

    @property
    def is_text(self) -> bool:
        """Whether it can be read and searched as lines of text."""
        return is_text(self.media, self.size)

    @cached_property
    def index(self) -> LineIndex | None:
        """Where its lines begin."""
        return self.load()

    def chunks(self) -> Iterator[bytes]:
        """All its bytes, piece by piece."""
        return self.source.read(0, self.size)

    def bytes(self) -> bytes:
        """All its bytes at once."""
        return b"".join(self.chunks())

    def text(self) -> str:
        """All of it as text, at once; lone surrogates come back as they were."""
        return as_text(self.bytes())

    def lines(self, offset: int = 1, limit: int = 2_000, *, longest: int = LONGEST) -> list[str]:
        """Some lines, from line `offset` on, counted from 1; each of at most `longest` bytes."""
        if offset < 1 or limit < 0:
            raise BadInput(f"Lines are counted from 1: offset {offset} and limit {limit} lead nowhere.")
        found = lines_of(self.source, self.index, offset - 1, limit, longest)
        return [decoded(line).removesuffix("\r") for line in found]

    def grep(
        self,
        pattern: str,
        before: int = 0,
        after: int = 0,
        limit: int | None = None,
        ignore_case: bool = False,
        *,
        width: int | None = None,
        timeout: float | Patience | None = TIMEOUT,
    ) -> Iterator[Hit]:
        """The lines with a hit, with lines around them; `width` cuts long lines around their hit.

        After `timeout` seconds of searching it raises `TooSlow`; what was found until then was given out.
        """
        if before < 0 or after < 0 or (limit is not None and limit < 0):
            raise BadInput("before, after and limit are numbers of lines; they cannot be negative.")
        compiled = Pattern(pattern, ignore_case=ignore_case)
        patience = timeout if isinstance(timeout, Patience) else Patience(timeout)
        return grep(
            self.source,
            compiled,
            self.index,
            before=before,
            after=after,
            limit=limit,
            width=width,
            patience=patience,
        )


def size_of(size: int) -> str:
    """Bytes in words."""
    if size < 1024:
        return f"{size} bytes"
    for unit in ("KiB", "MiB"):
        size_in = size / 1024
        if size_in < 1024:
            return f"{size_in:,.1f} {unit}"
        size //= 1024
    return f"{size / 1024:,.1f} GiB"
