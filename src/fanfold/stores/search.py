"""A search over everything that the sessions of a tenant hold, be it hidden or not; what was erased is never found.

The index of a store has a *signature* for each block of some records: a row of bits, in which each three letters that
stand next to each other set one. A block without all bits of the words that are looked for is not read. Two letters
are enough where one of them is not ASCII: most Japanese words are that short. A signature is made when somebody first
searches after the block was written, and forgotten when something of its session is erased.
"""

from __future__ import annotations

import codecs
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from re import Pattern
from typing import TYPE_CHECKING, Any
from zlib import crc32

import msgspec

from fanfold.core.edit import Elide, Fold, Note, Pin, Repair
from fanfold.core.errors import BadInput, NotFound, StoreFailed, TooSlow
from fanfold.core.ids import entry_id
from fanfold.core.message import Message, Text, text_of
from fanfold.core.record import Branched, Edited, Framed, Kept, Move, Opened, Record, Replaced, Sent
from fanfold.text.escapes import pattern_of, pieces_of

if TYPE_CHECKING:
    from fanfold.stores.store import Store

BLOCK = 64
"""So many records have a signature together; what is stored depends on it."""
_AT_ONCE = 256
"""So many signatures are at hand at a time."""
_SHORT = 4
"""Sessions of so many blocks are asked for together."""
_AROUND = 60
"""So many letters are shown before and after what was found."""
_SHARED = 1_000
"""So many letters at the end of a piece of an output come again: words longer than that may not be found there."""
_LEAST, _MOST = 64, 1 << 20
"""Bytes of a signature."""
_THREE = (1 << 24) - 1
"""Three letters of four, as a number."""
_SIGNED = 32_000_000
"""Where a search has little time, no block with more letters is signed: to look through it is several times faster."""


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A place where the words stand that were looked for."""

    session: str
    kind: str
    """`message`, `replaced` (a body that a client sent later), `edit`, `system`, `labels`, `context`, `output`, or
    `name` where it is the session's own name."""
    entry: str = ""
    """The entry, where it is a message or replaces one; else the id to erase a system prompt, labels or context by."""
    edit: str = ""
    """The edit, where it is what an edit shows."""
    ref: str = ""
    """The reference, where it is an output that is kept whole."""
    role: str = ""
    text: str
    """The words, and some letters around them."""
    at: tuple[int, int] = (0, 0)
    """Where the search goes on behind it."""


class BlockBits(msgspec.Struct, frozen=True):
    """The signature of one block of a session."""

    session: str
    block: int
    upto: int
    """The last record of the block that is in it."""
    bits: bytes

    def may_have(self, grams: Sequence[int]) -> bool:
        """Whether the block may hold a text with these grams."""
        mask = len(self.bits) * 8 - 1
        return all(self.bits[(at := gram & mask) >> 3] >> (at & 7) & 1 for gram in grams)


def grams_of(text: str) -> set[str]:
    """The letters that stand next to each other in a text: each three, and each two where one is not ASCII."""
    grams = Grams()
    grams.take(text.lower())
    return grams.found()


class Grams:
    """Collects what stands next to each other in many texts.

    A text is cut into pieces of four letters that overlap by two: each three letters stand in one of them. Most pieces
    are the same as others, so only those that differ are looked into. Of ASCII, four letters are a number in memory,
    and no Python runs for each letter.
    """

    def __init__(self) -> None:
        self._ascii = set[int]()
        """Three letters each, as a number."""
        self._other = set[str]()

    def take(self, low: str) -> None:
        """Take in a text in small letters."""
        if low.isascii():
            self._take_ascii(low.encode())
        else:
            pieces = {low[at : at + 4] for at in range(0, len(low) - 3, 2)}
            self._other.update([piece[:3] for piece in pieces], [piece[1:] for piece in pieces])
            for piece in pieces:
                if not piece.isascii():
                    self._other.update(_pairs(piece))
        end = low[-4:]
        self._other.update([end[at : at + 3] for at in range(len(end) - 2)], _pairs(end))

    def _take_ascii(self, low: bytes) -> None:
        for start in (0, 2):
            stop = start + max(0, len(low) - start) // 4 * 4
            pieces = set(memoryview(low)[start:stop].cast("I"))
            self._ascii.update([piece & _THREE for piece in pieces], [piece >> 8 for piece in pieces])

    def found(self) -> set[str]:
        """All of them."""
        return self._other.union(gram.to_bytes(3, sys.byteorder).decode() for gram in self._ascii)


def _pairs(low: str) -> list[str]:
    """Each two letters of which one is not ASCII."""
    return [two for at in range(len(low) - 1) if not (two := low[at : at + 2]).isascii()]


def numbers_of(grams: set[str]) -> list[int]:
    """Grams as numbers; which bit one sets follows from the size of a signature."""
    return [crc32(gram.encode("utf-8", "surrogatepass")) for gram in grams]


def bits_of(grams: set[str]) -> bytes:
    """The signature of a block with these grams: about a byte for each."""
    size = min(_MOST, max(_LEAST, 1 << max(0, len(grams) - 1).bit_length()))
    bits, mask = bytearray(size), size * 8 - 1
    for number in numbers_of(grams):
        at = number & mask
        bits[at >> 3] |= 1 << (at & 7)
    return bytes(bits)


def search(
    store: Store,
    tenant: str,
    words: str,
    *,
    session: str | None = None,
    after: Passage | None = None,
    sign: bool = True,
    seconds: float | None = None,
) -> Iterator[Passage]:
    """Where these words stand in what the sessions of a tenant hold, one session after another, the youngest first.

    Capital or not is the same, and so are escapes of JSON and what they stand for. No more than some blocks are in
    memory, however much there is. Without `sign`, no signature is made: where none can be kept. After so many `seconds`
    it ends with `TooSlow`, which says where.
    """
    if not isinstance(words, str) or not words.strip():
        raise BadInput("Say which words to look for.")
    wanted, until = wanted_grams(words), None if seconds is None else time.monotonic() + seconds
    ends = [end for end in store.log_ends(tenant) if session in (None, end[0])]
    names = [name for name, _ in ends]
    first = names.index(after.session) if after is not None and after.session in names else 0
    for name, end, blocks in _signed(store, tenant, ends[first:]):
        start = after.at if after is not None and after.session == name else (-2, 0)
        if start < (-1, 0) and words.lower() in name.lower():
            yield Passage(session=name, kind="name", text=name, at=(-1, 0))
        for block, known in blocks:
            if block >= start[0] and (known is None or any(map(known.may_have, wanted))):
                looked = _Look(store, tenant, name, block, until=until, sign=sign and known is None)
                yield from (found for found in looked.find(words) if found.at > start)
                if looked.stopped:
                    raise TooSlow(f"The search stopped after {seconds:g} s at {looked.stopped}.")
                looked.keep(end)


def wanted_grams(words: str) -> list[list[int]]:
    """The grams of words as they read, and those that are left of them where JSON escapes what it may."""
    ways = ([words], pieces_of(words), pieces_of(words, ascii_only=True))
    return [
        numbers_of(set[str]().union(*map(grams_of, way))) for way in (ways if pattern_of(words) else ways[:1])
    ]


def _signed(
    store: Store, tenant: str, ends: Sequence[tuple[str, int]]
) -> Iterator[tuple[str, int, list[tuple[int, BlockBits | None]]]]:
    """Sessions, where their logs end, and some of their blocks with signatures; None where one has to be made."""
    short = list[tuple[str, int]]()
    for name, end in ends:
        if end <= _SHORT * BLOCK:
            short.append((name, end))
        if len(short) * _SHORT >= _AT_ONCE or end > _SHORT * BLOCK:
            yield from _some_signed(store, tenant, short, 0)
            short = []
        if end > _SHORT * BLOCK:
            for start in range(0, -(-end // BLOCK), _AT_ONCE):
                yield from _some_signed(store, tenant, [(name, end)], start)
    yield from _some_signed(store, tenant, short, 0)


def _some_signed(
    store: Store, tenant: str, ends: Sequence[tuple[str, int]], start: int
) -> Iterator[tuple[str, int, list[tuple[int, BlockBits | None]]]]:
    found = store.signatures(tenant, [name for name, _ in ends], start, start + _AT_ONCE) if ends else ()
    known = {(one.session, one.block): one for one in found}
    for name, end in ends:
        blocks = list[tuple[int, BlockBits | None]]()
        for block in range(start, min(start + _AT_ONCE, -(-end // BLOCK))):
            bits = known.get((name, block))
            fresh = bits is not None and bits.upto >= min(end, (block + 1) * BLOCK)
            blocks.append((block, bits if fresh else None))
        yield name, end, blocks


class _Look:
    """A look into one block: what stands in it is read once, to be searched and to be signed."""

    def __init__(
        self, store: Store, tenant: str, session: str, block: int, *, until: float | None, sign: bool
    ) -> None:
        self._store, self._tenant, self._session, self._block = store, tenant, session, block
        self._until, self._grams, self._read = until, Grams() if sign else None, 0
        self.stopped = ""
        """Where the time was up."""

    def find(self, words: str) -> Iterator[Passage]:
        """The passages of the block with these words; all of it is read, unless the time is up."""
        low, found, pattern = words.lower(), list[Passage](), pattern_of(words)
        stored = self._store.load(self._tenant, self._session, after=self._block * BLOCK, most=BLOCK)
        for nth, (passage, pieces) in enumerate(self._contents(stored.records)):
            for text in pieces:
                if self._until is not None and time.monotonic() >= self._until:
                    self.stopped = f"{passage.ref or passage.kind} of {self._session!r}"
                    return iter(found)
                small = text.lower()
                self._sign(small)
                place, end = _place_of(small, low, pattern)
                if place >= 0 and (not found or found[-1].at != (self._block, nth)):
                    told = _around(text, place, end - place)
                    found.append(msgspec.structs.replace(passage, text=told, at=(self._block, nth)))
        return iter(found)

    def _sign(self, small: str) -> None:
        self._read += len(small)
        if self._until is not None and self._read > _SIGNED:
            self._grams = None
        if self._grams is not None:
            self._grams.take(small)

    def keep(self, end: int) -> None:
        """Keep the signature, if there is one; one that cannot be kept is made again."""
        if self._grams is None:
            return
        upto = min(end, (self._block + 1) * BLOCK)
        signed = BlockBits(self._session, self._block, upto, bits_of(self._grams.found()))
        with suppress(StoreFailed):
            self._store.keep_signature(self._tenant, signed, end)

    def _contents(self, records: Sequence[Record]) -> Iterator[tuple[Passage, Iterator[str]]]:
        """What some records tell, and the texts of that, piece by piece."""
        heads = [record.head for record in records if isinstance(record, Move | Branched) and record.head]
        entries = {entry.id: entry for entry in self._store.read_entries(self._tenant, heads)}
        for head in dict.fromkeys(heads):
            entry = entries.get(head)
            if entry is not None and entry.erased is None:
                passage = self._passage("message", entry=head, role=entry.message.role)
                yield passage, iter((text_of(entry.message, unescaped=True),))
        for record in records:
            yield from self._told(record)

    def _told(self, record: Record) -> Iterator[tuple[Passage, Iterator[str]]]:
        match record:
            case Replaced(entry=entry, message=message):
                passage = self._passage("replaced", entry=entry, role=message.role)
                yield passage, iter((text_of(message, unescaped=True),))
            case Framed(frame=frame):
                for message in frame.system:
                    id = entry_id(None, message)  # under which it can be erased
                    yield self._passage("system", entry=id, role="system"), iter((text_of(message),))
            case Opened(labels=labels) if labels:
                words = labels_in_words(labels)
                id = entry_id(None, Message("system", (Text(words),)))
                yield self._passage("labels", entry=id), iter((words,))
            case Sent(context=str(context)):
                id = entry_id(None, Message("system", (Text(context),)))
                yield self._passage("context", entry=id), iter((context,))
            case Edited(decisions=decisions):
                for decision in decisions:
                    yield self._passage("edit", edit=decision.id), iter((_shown(decision.edit),))
            case Kept(blob=str(blob), gone=None, ref=ref):
                yield self._passage("output", ref=ref, role="tool"), self._pieces(blob)

    def _pieces(self, blob: str) -> Iterator[str]:
        """The text of a blob, in pieces that share some letters at their ends."""
        decoder, kept = codecs.getincrementaldecoder("utf-8")("replace"), ""
        with suppress(NotFound):  # an erasure drops it just now
            for chunk in self._store.get_blob(self._tenant, blob):
                text = kept + decoder.decode(chunk)
                yield text
                kept = text[-_SHARED:]

    def _passage(self, kind: str, **rest: Any) -> Passage:
        return Passage(session=self._session, kind=kind, text="", **rest)


def _place_of(small: str, low: str, pattern: Pattern[str] | None) -> tuple[int, int]:
    """Where words stand in a text, both in small letters: as they read, else escaped; (-1, -1) for nowhere."""
    place = small.find(low)
    if place >= 0 or pattern is None or "\\" not in small:
        return place, place + len(low)
    found = pattern.search(small)
    return found.span() if found else (-1, -1)


def labels_in_words(labels: Mapping[str, str]) -> str:
    """The labels of a session, one in a line."""
    return "\n".join(f"{name}: {text}" for name, text in sorted(labels.items()))


def _shown(edit: object) -> str:
    """What an edit shows in the place of something else, or beside it."""
    match edit:
        case Note(name=name, text=text):
            return f"{name}\n{text}"
        case Fold(shows=str(text)) | Elide(text=text) | Pin(text=str(text)):
            return text
        case Fold(shows=messages) | Repair(shows=messages):
            return "\n".join(text_of(message) for message in messages if not isinstance(message, str))
        case _:
            return ""


def _around(text: str, place: int, many: int) -> str:
    """The words in a text, and some letters around them, in one line."""
    told = " ".join(text[max(0, place - _AROUND) : place + many + _AROUND].split())
    before, behind = place > _AROUND, place + many + _AROUND < len(text)
    return f"{'…' if before else ''}{told}{'…' if behind else ''}"
