"""Reading traces, one at a time: what cannot be read is told, and the rest is read all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from fanfold import transcripts
from fanfold.core.errors import BadInput
from fanfold.replay.failure import Failure, reason
from fanfold.replay.place import Place, places
from fanfold.replay.trace import Trace, trace
from fanfold.transcripts import Conversation
from fanfold.transcripts.files import open_path
from fanfold.transcripts.recording import UnknownFormat

Failed = Callable[[Failure], object]


class Read(NamedTuple):
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


def read(found: Sequence[Place], failed: Failed | None = None) -> Iterator[Read]:
    """The same, with its whereabouts."""
    sizes = [place.size for place in found]
    whole = None if None in sizes else sum(filter(None, sizes)) or 1
    before, last = 0, 0.0
    for place in found:
        for conversation, at in _guarded(place, failed):
            one = _traced(conversation, place, failed)
            if one is not None and one.calls:
                here = last if whole is None else min(1.0, (before + at) / whole)
                yield Read(place.name, one, None if whole is None else (last, here))
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


def _guarded(place: Place, failed: Failed | None) -> Iterator[tuple[Conversation, int]]:
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


def _traced(conversation: Conversation, place: Place, failed: Failed | None) -> Trace | None:
    try:
        return trace(conversation)
    except Exception as error:
        _tell(failed, error, Failure(place.name, reason(error), conversation.id))
        return None


def _tell(failed: Failed | None, error: Exception, failure: Failure) -> None:
    if failed is None:
        raise error
    failed(failure)
