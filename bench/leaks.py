"""Whether memory grows with the number of requests: the slope of what a process takes, over many requests of a pool."""

from __future__ import annotations

import gc
import statistics
import sys
import tempfile
from pathlib import Path

from fanfold import Pool, SQLite

SESSIONS = 200
TURNS = 40
"""A session is left for good after so many requests, and another one begins."""
WINDOW = 8_000
POINTS = 20


def resident() -> int:
    """The bytes of memory that this process takes."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4_096


def main() -> None:
    """Print how many bytes a request leaves behind, in the second half of the run, and what all of them are."""
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    points: list[tuple[int, int]] = []
    with tempfile.TemporaryDirectory() as folder:
        pool = Pool(SQLite(Path(folder) / "a.db"), memory=32 << 20, window=WINDOW, dialect="openai.chat")
        for number in range(many):
            with pool.session(f"run {number % SESSIONS}.{number // SESSIONS // TURNS}") as chat:
                chat.say(f"{number} asks for something of the usual length, with a path: src/parser.py. " * 4)
                chat.request(max_tokens=500)
                chat.add({"role": "assistant", "content": f"{number} is done. " * 20})
            if number % (many // POINTS) == 0:
                points.append((number, resident()))
        points.append((many, resident()))
        pool.close()
    late = points[len(points) // 2 :]
    slope = statistics.linear_regression([at for at, _ in late], [size for _, size in late]).slope
    share = slope * many / 2 / late[0][1]
    print(f"memory left behind by a request, {many:,} requests".ljust(58), f"{slope:6.1f} bytes")
    print("the second half of them / memory half-way".ljust(58), f"{1 + share:6.3f}   (bar 1.05)")


if __name__ == "__main__":
    main()
