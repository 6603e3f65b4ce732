from __future__ import annotations

import io
import tracemalloc
from typing import Any

import pytest
from transcript_builders import lines

from fanfold import transcripts

MEBI = 1 << 20


class Generated(io.RawIOBase):
    """A long stream of conversations that is never held anywhere."""

    def __init__(self, size: int) -> None:
        self.left = size
        messages = [{"role": "user", "content": f"{number} " * 400} for number in range(200)]
        self.row = lines([{"messages": messages}])
        self.rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.rest and self.left > 0:
            self.rest, self.left = self.row, self.left - len(self.row)
        piece, self.rest = self.rest[: len(buffer)], self.rest[len(buffer) :]
        buffer[: len(piece)] = piece
        return len(piece)


@pytest.mark.slow
def test_a_stream_of_200_megabytes_needs_less_than_64() -> None:
    tracemalloc.start()
    count = sum(1 for _ in transcripts.read(io.BufferedReader(Generated(200 * MEBI))))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count > 500
    assert peak < 64 * MEBI
