"""A gist: what an old part of a conversation says, in lists; how it is written down, and read again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

import msgspec

from fanfold.core.draft import PINNED
from fanfold.strategies.handover.holdings import Holding, bare, read, shelved
from fanfold.strategies.handover.ruling import strict
from fanfold.text.cutting import bytes_of, clip_text, cut, fitting
from fanfold.text.identifiers import weight_of
from fanfold.text.patterns import pattern

HEADINGS = {
    "pinned": PINNED,
    "written": "[summary so far]",
    "request": "[the user asked this, verbatim]",
    "asked": "[the user asked, verbatim]",
    "rules": "[the user's rules, verbatim]",
    "done": "[done]",
    "failed": "[failed]",
    "touched": "[files and resources]",
    "decided": "[decided]",
    "open": "[open]",
    "names": "[names and outputs that may be needed again]",
}
"""What each list is called where it is written down."""
_END = "[end of what the user asked]"
_BEGINNING = 300
"""Characters in which a first request can be told by its beginning, however long it is."""
_CUT = "[… 99,999 characters cut to fit the context window …]"
"""About what is put in where a text is cut."""
Measure = Callable[[str], int]
"""What a line in a list takes: bytes, or tokens."""
_AROUND = "\"'`(){}[],;|<>"
_APART = bytes.maketrans(_AROUND.encode() + b"\n", b" " * (len(_AROUND) + 1))
_NAME = pattern(rf"[^\s{re.escape(_AROUND)}]+")
_FIELDS = {heading: name for name, heading in HEADINGS.items()}


def size_of(text: str) -> int:
    """Bytes of a line in a list."""
    return bytes_of(text) + 3


class Sizes(msgspec.Struct, frozen=True):
    """How many bytes each part of a gist may take, and how many tokens its names."""

    user: int
    """What the user asked and ruled, by its own measure."""
    names: int
    """Tokens, not bytes, that the names may take."""
    rest: int
    holdings: int = 0
    """Bytes of the lines that say which outputs there are."""
    measure: Measure = size_of
    """What the user's words take."""


class Gist(msgspec.Struct, frozen=True):
    """What an old part of a conversation says."""

    written: str = ""
    """A summary in somebody's own words."""
    asked: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    holdings: tuple[Holding, ...] = ()
    """Outputs that can be looked up."""
    begins: bool = True
    """Whether the first of what was asked is what the conversation began with."""

    def __add__(self, later: Gist) -> Gist:
        both = {name: getattr(self, name) + getattr(later, name) for name in self.__struct_fields__[1:-1]}
        lists = {name: tuple(dict.fromkeys(lines)) for name, lines in both.items()}
        return Gist("\n\n".join(filter(None, (self.written, later.written))), begins=self.begins, **lists)

    @property
    def first(self) -> tuple[str, ...]:
        """What the conversation began with, if it is told here."""
        return self.asked[:1] if self.begins else ()

    def text(self, sizes: Sizes, told: Sequence[str] = ()) -> str:
        """All of it within these sizes: of the lists the newest, of the user's words the first and the newest.

        Names that other texts have `told` already are left out.
        """
        words = self._words(sizes.rest // 2)
        lists = self._lists(sizes.rest - sum(map(size_of, words)))
        text = "\n".join([*words, *self.user_blocks(sizes.user, sizes.measure), *lists])
        held = listed("names", self._shelved(sizes, (*told, text)))
        return f"{text}\n{held}" if "\n" in held else text

    def _shelved(self, sizes: Sizes, told: Sequence[str]) -> Iterator[str]:
        """The names that rank highest and the largest outputs, but for what was told."""
        names = missing(self.names, told, sizes.names)
        others = (one for one in self.holdings if not any(f"\n- {one}" in text for text in told))
        largest = sorted(others, key=lambda one: -one.size)
        return shelved(names, fitting(largest, sizes.holdings, lambda one: size_of(str(one))))

    def _words(self, size: int) -> list[str]:
        return [f"{HEADINGS['written']}\n{shortened(quoted(self.written), size)}"] if self.written else []

    def _lists(self, left: int) -> Iterator[str]:
        """Each list within its share of the room; what one leaves free is for those behind it."""
        wanted = [name for name in _SHARES if getattr(self, name)]
        for number, name in enumerate(wanted):
            share = _SHARES[name] / sum(_SHARES[other] for other in wanted[number:])
            lines = newest(getattr(self, name), int(left * share))
            left -= sum(map(size_of, lines))
            if lines:
                yield listed(name, lines)

    def user_blocks(self, room: int, measure: Measure = size_of) -> Iterator[str]:
        """The user's rules and requests, verbatim as far as they fit: rules first, but for the first request's room."""
        rules = self._ruled(room, measure)
        if rules:
            yield listed("rules", rules)
        asked = list(self._requests(set(rules), room - sum(map(measure, rules)), measure))
        if asked and asked[0] == self.asked[0] and "\n" in asked[0] and _END not in asked[0]:
            yield "\n".join([HEADINGS["request"], asked.pop(0), _END])
        if asked:
            yield listed("asked", asked)

    def _ruled(self, room: int, measure: Measure) -> list[str]:
        """The rules that fit beside the first request: where room is short, but for those that it tells itself."""
        first = "".join(self.first)
        apart = [rule for rule in self.rules if rule not in first]
        short = taken((first, *self.rules), room, measure) > room
        if first and short and taken((first, *filter(strict, apart)), room, measure) <= room:
            return _rules(apart, room - measure(first), measure)
        return _rules(self.rules, room - (self.opening(room, measure) if self.begins else 0), measure)

    def opening(self, room: int, measure: Measure) -> int:
        """What the first of what was asked takes at least: all of it, or its beginning."""
        if not self.asked:
            return 0
        first = self.asked[0]
        return min(measure(first), measure(first[:_BEGINNING] + _CUT), room * 3 // 4)

    def _requests(self, told: set[str], room: int, measure: Measure) -> Iterator[str]:
        """The first request, shortened if it is long, and the newest of those that the rules do not tell already."""
        if not self.asked:
            return
        first, others = self.asked[0], taken(self.asked[1:], room, measure)
        if measure(first) > room:
            first = shortened(first, max(room * 3 // 4, room - others), measure)
        if first:
            yield first
        left = room - measure(first)
        later = (text for text in reversed(self.asked[1:]) if not set(text.splitlines()) <= told)
        yield from fitting((shortened(text, left // 2, measure) for text in later), left, measure)[::-1]


_SHARES = {"done": 0.3, "failed": 0.25, "touched": 0.15, "decided": 0.15, "open": 0.15}


def _rules(lines: Sequence[str], room: int, measure: Measure) -> list[str]:
    """The rules that fit, in order: those that forbid or demand before those that merely sound like it."""
    hard = ends([line for line in lines if strict(line)], room, measure)
    left = room - sum(map(measure, hard))
    chosen = {*hard, *ends([line for line in lines if not strict(line)], left, measure)}
    return [line for line in lines if line in chosen]


@lru_cache(maxsize=16)
def parsed(text: str) -> Gist:
    """A gist read back from its text; what stands under no heading is somebody's own words."""
    before, first, behind = _apart(text)
    gist = _listed(before + behind)
    return msgspec.structs.replace(gist, asked=(first, *gist.asked)) if first else gist


def _apart(text: str) -> tuple[str, str, str]:
    """What stands before a request that has kept its own lines, that request, and what comes behind it."""
    before, found, rest = f"\n{text}".partition(f"\n{HEADINGS['request']}\n")
    first, ended, behind = rest.partition(f"\n{_END}")
    return (before[1:], first, behind) if found and ended else (text, "", "")


def _listed(text: str) -> Gist:
    words: list[str] = []
    lists: dict[str, list[str]] = {}
    name = "written"
    for line in text.split("\n"):  # no other sign ends a line: what a list quotes may have them
        name, heading = _FIELDS.get(line, name), line in _FIELDS
        if heading or name == "pinned":
            continue
        if name == "written":
            words.append(line)
        elif line.startswith("- "):
            lists.setdefault(name, []).append(line[2:])
        elif lists.get(name):
            lists[name][-1] += "\n" + line.removeprefix("  ")
    lines = [read(line) for line in lists.pop("names", [])]
    names = tuple(name for some, _ in lines for name in some)
    holdings = tuple(held for _, held in lines if held)
    rest = {key: tuple(some) for key, some in lists.items() if key != "request"}
    return Gist("\n".join(words).strip(), begins=True, names=names, holdings=holdings, **rest)


def missing(names: Iterable[str], texts: Iterable[str], tokens: float) -> list[str]:
    """The first names that no text has, as many as fit into so many tokens."""
    texts = tuple(texts)
    told = frozenset().union(*map(_words, texts))

    def is_told(name: str) -> bool:
        return name in told or (not _NAME.fullmatch(name) and any(name in text for text in texts))

    return fitting((name for name in names if not is_told(bare(name))), tokens, weight_of)


@lru_cache(maxsize=16)
def _words(text: str) -> frozenset[str]:
    """The words of a text, without what stands around them."""
    apart = f"{text} ".encode("utf-8", "replace").translate(_APART).decode()
    return frozenset(apart.replace(". ", " ").replace(": ", " ").split())


def listed(name: str, lines: Iterable[str]) -> str:
    """A list under its heading."""
    return "\n".join([HEADINGS[name], *("- " + line.replace("\n", "\n  ") for line in lines)])


def named(names: Iterable[str]) -> str:
    """Names under their heading, in one line; those that stand in one output, in a line with its reference."""
    return listed("names", shelved(names, ()))


def quoted(text: str) -> str:
    """A text in which no line passes for a heading of a gist."""
    return "\n".join(f"> {line}" if line in _FIELDS else line for line in text.splitlines())


def taken(lines: Iterable[str], most: int, measure: Measure) -> int:
    """What lines take together; where that is more than `most`, it is not looked how much."""
    sums = accumulate(map(measure, lines), initial=0)
    last = 0
    for last in sums:
        if last > most:
            break
    return last


def newest(lines: Sequence[str], room: int, measure: Measure = size_of) -> list[str]:
    """The last lines that fit, in order."""
    return fitting(reversed(lines), room, measure)[::-1]


def ends(lines: Sequence[str], room: int, measure: Measure) -> list[str]:
    """All lines if they fit, else the first ones and the last ones, half of the room each."""
    whole = fitting(lines, room, measure)
    if len(whole) == len(lines):
        return whole
    head = fitting(lines, room // 2, measure)
    return head + newest(lines[len(head) :], room - sum(map(measure, head)), measure)


def shortened(text: str, room: int, measure: Measure = size_of) -> str:
    """The text in about so much room: the middle cut, or the end where little more than the beginning is left."""
    length = measure(text)
    if length <= room or not text:
        return text
    keep = int(len(text) * room / length) - len(_CUT)
    if keep > 2 * _BEGINNING:
        return clip_text(text, keep)
    return text[: cut(text, max(0, keep + len(_CUT) - 3))]
