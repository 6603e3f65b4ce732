"""A line for every request, for people who look later: who asked, what was sent, what it cost, how long it took.

It is a file of its own beside the store, so that it also tells what happened while the store was down. Nothing that was
said, and no key, is in it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, time
from typing import BinaryIO

import msgspec

from fanfold.core.record import TokenUsage
from fanfold.stores.locks import ThreadLock
from fanfold.stores.private import make_private, open_private
from fanfold.text.json_text import write_json
from fanfold.tokens import models
from fanfold.tokens.usage import bill_everything, cost

_MOST = 64 << 20
"""A file that is longer becomes the old one, and a new one begins."""
_SURE = 1.0


class Exchanged(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is known of one request."""

    time: float = 0.0
    """When it came, in seconds since 1970."""
    client: str = ""
    tenant: str = ""
    session: str = ""
    dialect: str = ""
    model: str = ""
    status: int = 0
    bypassed: str = ""
    """Why it was passed on as it is, if it was."""
    edits: int = 0
    tokens: int = 0
    """The tokens that were sent."""
    whole: int = 0
    again: int = 0
    """The tokens of the client's own request, about, and those of them that its request before had, too."""
    caches: bool = False
    """Whether the provider has been seen to cache this session's prompts."""
    unmarked: bool = False
    """Whether the client sets no cache marks, where the provider caches only what is marked."""
    over: bool = False
    """Whether the client's own request would not have fitted its window beside the reply that it asks for."""
    prompt: int = 0
    cached: int = 0
    output: int = 0
    """What was billed."""
    cost: float | None = None
    whole_cost: float | None = None
    """What it cost in dollars, at list prices, and what the client's own request would have, with its own cache
    marks and a cache that never misses."""
    refused: int = 0
    """How often the provider said that it is too long."""
    hidden: int = 0
    """Rounds in which the model looked something up, or searched for a tool."""
    lost: str = ""
    """What did not carry over to an upstream of another dialect."""
    own: float = 0.0
    """Seconds until it was sent on: finding the session, merging, reducing."""
    first: float = 0.0
    total: float = 0.0
    """Seconds until the client got the first byte, and until all was done."""

    def bill(self, usage: TokenUsage) -> None:
        """Take in what one round was billed, and its price; without fanfold there would have been one round."""
        self.prompt += usage.prompt
        self.cached += usage.cache_read
        self.output += usage.output
        known = models.lookup(self.model) if self.model else None
        if known is None or known.prices is None:
            return
        self.cost = round((self.cost or 0.0) + cost(usage, known), 6)
        scale = usage.prompt / self.tokens if self.tokens else 1.0
        caches = not self.unmarked and (self.caches or bool(usage.cache_read or usage.cache_write))
        whole = bill_everything(round(self.whole * scale), round(self.again * scale), usage, caches=caches)
        self.whole_cost = round(cost(whole, known), 6)


class Journal:
    """The file that has them. It stays open: to open it takes longer than to write a line."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = ThreadLock()
        self._file: BinaryIO | None = None
        self._sure = 0.0
        """Until when the file is taken for the one of that name."""

    def write(self, line: Exchanged) -> None:
        """Add a line. A disk that is full must not stop an agent."""
        if self.path is None:
            return
        try:
            with self._lock:
                self._opened(self.path).write(write_json(line) + b"\n")
        except OSError:
            return

    def _opened(self, path: Path) -> BinaryIO:
        """The file of this name, which may be another one by now: it became too long, or somebody else began a new one.

        That is looked at once a second. A line that comes before is in the old file then, which is read, too.
        """
        if self._file is not None and monotonic() < self._sure:
            return self._file
        self._sure = monotonic() + _SURE
        file, self._file = self._file, None
        with suppress(FileNotFoundError):
            there = os.stat(path)
            if there.st_size > _MOST:
                os.replace(path, path.with_suffix(".old.jsonl"))
            elif file is not None and there.st_ino == os.fstat(file.fileno()).st_ino:
                self._file = file
                return file
        if file is not None:
            file.close()
        self._file = open(path, "ab", buffering=0, opener=_open_private)  # noqa: SIM115 it stays open
        make_private(path.with_suffix(".old.jsonl"))
        return self._file

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                file.close()


def _open_private(path: str, flags: int) -> int:
    """Open a file that its owner alone can read, like the store beside it."""
    file = open_private(path, flags)
    make_private(Path(path))
    return file


def journal_path(store: str, chosen: str | None) -> Path | None:
    """Where the journal is: where the settings say, else beside the store; nowhere for a store in memory."""
    if chosen is not None:
        return Path(chosen) if chosen else None
    if store.startswith("sqlite:"):
        return Path(store.removeprefix("sqlite:")).with_suffix(".requests.jsonl")
    return Path("fanfold.requests.jsonl") if "://" in store else None


def read_journal(path: Path, *, last: int | None = None, session: str | None = None) -> list[Exchanged]:
    """The requests of a journal, oldest first: all, or the last ones, or those of a session."""
    found = deque[Exchanged](maxlen=last)
    for line in _lines(path):
        try:
            read = msgspec.json.decode(line, type=Exchanged)
        except msgspec.DecodeError:
            continue  # the last line of a process that was killed
        if session is None or read.session == session:
            found.append(read)
    return list(found)


def _lines(path: Path) -> Iterator[bytes]:
    for each in (path.with_suffix(".old.jsonl"), path):
        if each.exists():
            with open(each, "rb") as file:
                yield from file


def begin() -> Exchanged:
    """A request that has just come."""
    return Exchanged(time=time())
