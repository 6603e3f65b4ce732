"""Reading traces, one at a time, from files, folders and patterns of names; what cannot be read is told."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import msgspec

from fanfold import transcripts
from fanfold.core.errors import BadInput, FanfoldError
from fanfold.replay.trace import Trace, trace
from fanfold.transcripts import Conversation
from fanfold.transcripts.files import name_of, open_path, walk
from fanfold.transcripts.recording import UnknownFormat

KILLED = "the process that played it was killed, perhaps because memory ran out; fewer workers need less"


class Failure(msgspec.Struct, frozen=True):
    """A file or a conversation that could not be replayed."""

    source: str
    """The file."""
    reason: str
    conversation: str | None = None
    """None if the file could not be read."""
    policy: str | None = None
    """The one under which it failed first."""

    def __str__(self) -> str:
        names = (self.source, self.conversation, self.policy and f"policy {self.policy}")
        return in_one_line(": ".join(name for name in (*names, self.reason) if name))


Failed = Callable[[Failure], object]


def reason(error: Exception, source: str = "") -> str:
    """What an error says, in one line; the name of the file is not repeated."""
    words = str(error) if isinstance(error, FanfoldError) else f"{type(error).__name__}: {error}"
    return in_one_line(words.removeprefix(f"{source}: "))


def in_one_line(text: str) -> str:
    """The text without breaks, and without what a terminal would obey."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(text.split()))


class Place(msgspec.Struct, frozen=True):
    """A file, the folder of a store, or an open file."""

    origin: Any
    size: int | None = None
    """Its bytes, where they can be known before it is read."""
    passable: bool = False
    """Whether it is no mistake if no transcript is in it: other files lie in a folder, too."""

    @property
    def is_folder(self) -> bool:
        """Whether it is the folder of a store."""
        return isinstance(self.origin, str | os.PathLike) and os.path.isdir(self.origin)

    @property
    def name(self) -> str:
        """What to call it."""
        return name_of(self.origin)


def places(origins: Any) -> list[Place]:
    """All places, each once, however often and by whatever name it was given; one origin need not be a list."""
    listed = [origins] if isinstance(origins, str | os.PathLike) or hasattr(origins, "read") else origins
    found: dict[Hashable, Place] = {}
    for place in (place for origin in listed for one in matches(origin) for place in _within(one)):
        found.setdefault(_identity(place.origin), place)
    return list(found.values())


def matches(origin: Any) -> Iterable[Any]:
    """What a pattern such as `runs/**/*.jsonl` stands for; anything else stands for itself."""
    if not isinstance(origin, str | os.PathLike) or os.path.exists(origin) or not has_magic(str(origin)):
        return [origin]
    found = sorted(glob(str(origin), recursive=True))
    if not found:
        raise BadInput(f"{origin}: no file fits this pattern.")
    return found


def _within(origin: Any) -> Iterator[Place]:
    """The files of a folder; anything else is a place itself."""
    if origin == "-" or not isinstance(origin, str | os.PathLike):
        yield Place(origin)
    elif os.path.isdir(origin):
        yield from (Place(path, _size(path), passable=True) for path in walk(Path(origin)))
    else:
        yield Place(origin, _size(origin))


def _size(path: Any) -> int | None:
    try:
        there = os.stat(path)
    except (OSError, ValueError):
        return 0  # it cannot be read, which takes no time
    if stat.S_ISDIR(there.st_mode):
        return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())
    return there.st_size if stat.S_ISREG(there.st_mode) else None


def _identity(origin: Any) -> Hashable:
    """What two names of one file have in common."""
    if not isinstance(origin, str | os.PathLike):
        return id(origin)
    try:
        there = os.stat(origin)
    except (OSError, ValueError):
        return os.fspath(origin)
    return there.st_dev, there.st_ino


class ReadTrace(NamedTuple):
    """A trace, where it was found, and which part of all bytes it is."""

    source: str
    trace: Trace
    part: tuple[float, float] | None
    """From where to where, as shares; None if nobody knows how many bytes there are."""

    def share(self, done: float) -> float | None:
        """How much of everything is done when so much of this is."""
        if self.part is None:
            return None
        begin, end = self.part
        return begin + (end - begin) * done


def traces(origins: Any, failed: Failed | None = None) -> Iterator[Trace]:
    """The conversations of files, folders and patterns of names, one at a time; each file once.

    Those without a model call are passed over. What cannot be read is an error, unless `failed` is told of it.
    """
    return (one.trace for one in read(places(origins), failed))


def read(found: Sequence[Place], failed: Failed | None = None) -> Iterator[ReadTrace]:
    """The same, with its whereabouts."""
    sizes = [place.size for place in found]
    whole = None if None in sizes else sum(filter(None, sizes)) or 1
    before, last = 0, 0.0
    for place in found:
        for conversation, at in _guard(place, failed):
            one = _cut(conversation, place, failed)
            if one is not None and one.calls:
                here = last if whole is None else min(1.0, (before + at) / whole)
                yield ReadTrace(place.name, one, None if whole is None else (last, here))
                last = here
        before += place.size or 0


def is_trace(place: Place) -> bool:
    """Whether this is to be read: not so if it lies in a folder with them, and is something else."""
    if not place.passable:
        return True
    try:
        return next(transcripts.read(place.origin), None) is not None
    except UnknownFormat:
        return False
    except BadInput:
        return True


def _guard(place: Place, failed: Failed | None) -> Iterator[tuple[Conversation, int]]:
    try:
        yield from _conversations(place)
    except UnknownFormat as error:
        if not place.passable:
            _tell(failed, error, Failure(place.name, reason(error, place.name)))
    except Exception as error:
        _tell(failed, error, Failure(place.name, reason(error, place.name)))


def _conversations(place: Place) -> Iterator[tuple[Conversation, int]]:
    """Each conversation, and how many bytes had been read by then."""
    if not place.size or place.is_folder:
        yield from ((one, place.size or 0) for one in transcripts.read(place.origin))
        return
    with open_path(place.origin, place.name) as stream:
        yield from ((one, stream.tell()) for one in transcripts.read(stream))


def _cut(conversation: Conversation, place: Place, failed: Failed | None) -> Trace | None:
    try:
        return trace(conversation)
    except Exception as error:
        _tell(failed, error, Failure(place.name, reason(error), conversation.id))
        return None


def _tell(failed: Failed | None, error: Exception, failure: Failure) -> None:
    if failed is None:
        raise error
    failed(failure)


class TalkName(NamedTuple):
    """A conversation by its recorded name and its file."""

    name: str
    source: str


def told_apart(known: Sequence[TalkName]) -> list[str]:
    """A name for each; those that are alike get as much of their path as makes them differ, else a number."""
    sources: dict[str, set[str]] = {}
    for one in known:
        sources.setdefault(one.name, set()).add(one.source)
    depths = {name: _depth(some) for name, some in sources.items()}
    return _number([_with_path(one, depths[one.name]) for one in known])


def _depth(sources: Collection[str]) -> int:
    """How many last parts of these paths make them differ; none where there is only one."""
    if len(sources) == 1:
        return 0
    paths = [PurePath(source).parts for source in sources]
    deepest = max(map(len, paths))
    return next(
        (depth for depth in range(1, deepest) if len({path[-depth:] for path in paths}) == len(paths)),
        deepest,
    )


def _with_path(one: TalkName, depth: int) -> str:
    if not depth:
        return one.name
    path = PurePath(one.source)
    label = "/".join(path.parts[-depth:])
    return (
        label + one.name.removeprefix(path.name) if one.name.startswith(path.name) else f"{label}: {one.name}"
    )


def _number(names: list[str]) -> list[str]:
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found
