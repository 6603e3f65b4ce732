"""A gist: what an old part of a conversation says, in lists; how it is written down, and read again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fanfold.cutting import clipped

HEADINGS = {
    "pinned": "[pinned, verbatim]",
    "written": "[summary so far]",
    "asked": "[the user asked, verbatim]",
    "rules": "[the user's rules, verbatim]",
    "done": "[done]",
    "failed": "[failed]",
    "touched": "[files and resources]",
    "decided": "[decided]",
    "open": "[open]",
    "names": "[names that may be needed again]",
}
"""What each list is called where it is written down."""
BETWEEN = " | "
"""Stands between two names; no name has it inside."""
_FIELDS = {heading: name for name, heading in HEADINGS.items()}


class Sizes(msgspec.Struct, frozen=True):
    """How many bytes each part of a gist may take."""

    user: int
    """What the user asked and ruled."""
    names: int
    rest: int


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

    def __add__(self, later: Gist) -> Gist:
        both = {name: getattr(self, name) + getattr(later, name) for name in self.__struct_fields__[1:]}
        lists = {name: tuple(dict.fromkeys(lines)) for name, lines in both.items()}
        return Gist("\n\n".join(filter(None, (self.written, later.written))), **lists)

    def text(self, sizes: Sizes) -> str:
        """All of it within these sizes: of the lists the newest, of the user's words the first and the newest."""
        words = self._words(sizes.rest // 2)
        lists = self._lists(sizes.rest - sum(map(size_of, words)))
        text = "\n".join([*words, *self.user_blocks(sizes.user), *lists])
        names = missing(self.names, text, sizes.names)
        return f"{text}\n{named(names)}" if names else text

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

    def user_blocks(self, size: int) -> Iterator[str]:
        """The user's rules and requests, verbatim as far as they fit."""
        rules = ends(self.rules, size * 6 // 10)
        if rules:
            yield listed("rules", rules)
        left = size - sum(size_of(line) for line in rules)
        said = [
            text for i, text in enumerate(self.asked) if not i or not set(text.splitlines()) <= set(rules)
        ]
        asked = ends([shortened(text, left // 2) for text in said], left)
        if asked:
            yield listed("asked", asked)


_SHARES = {"done": 0.3, "failed": 0.25, "touched": 0.15, "decided": 0.15, "open": 0.15}


def parsed(text: str) -> Gist:
    """A gist read back from its text; what stands under no heading is somebody's own words."""
    words: list[str] = []
    lists: dict[str, list[str]] = {}
    name = "written"
    for line in text.splitlines():
        name, heading = _FIELDS.get(line, name), line in _FIELDS
        if heading or name == "pinned":
            continue
        if name == "written":
            words.append(line)
        elif line.startswith("- "):
            lists.setdefault(name, []).append(line[2:])
        elif lists.get(name):
            lists[name][-1] += "\n" + line.removeprefix("  ")
    names = [one for line in lists.pop("names", []) for one in line.split(BETWEEN)]
    return Gist("\n".join(words).strip(), names=tuple(names), **{key: tuple(v) for key, v in lists.items()})


def missing(names: Iterable[str], text: str, size: int) -> list[str]:
    """The first names that a text does not have, as many as fit."""
    return fitting((name for name in names if bare(name) not in text), size)


def bare(name: str) -> str:
    """A name without the reference behind it."""
    return name.partition(" (")[0]


def listed(name: str, lines: Iterable[str]) -> str:
    """A list under its heading."""
    return "\n".join([HEADINGS[name], *("- " + line.replace("\n", "\n  ") for line in lines)])


def named(names: Iterable[str]) -> str:
    """Names under their heading, in one line."""
    return f"{HEADINGS['names']}\n- {BETWEEN.join(names)}"


def quoted(text: str) -> str:
    """A text in which no line passes for a heading of a gist."""
    return "\n".join(f"> {line}" if line in _FIELDS else line for line in text.splitlines())


def size_of(text: str) -> int:
    """Bytes of a line in a list."""
    return len(text.encode("utf-8", "replace")) + 3


def fitting(lines: Iterable[str], size: int) -> list[str]:
    """The first lines that fit."""
    chosen = []
    for line in lines:
        size -= size_of(line)
        if size < 0:
            break
        chosen.append(line)
    return chosen


def newest(lines: Sequence[str], size: int) -> list[str]:
    """The last lines that fit, in order."""
    return fitting(reversed(lines), size)[::-1]


def ends(lines: Sequence[str], size: int) -> list[str]:
    """All lines if they fit, else the first ones and the last ones, half of the room each."""
    whole = fitting(lines, size)
    if len(whole) == len(lines):
        return whole
    head = fitting(lines, size // 2)
    return head + newest(lines[len(head) :], size - sum(map(size_of, head)))


def shortened(text: str, size: int) -> str:
    """The text in about so many bytes, the middle cut."""
    length = size_of(text)
    if length <= size or not text:
        return text
    keep = max(0, int(len(text) * size / length) - 60)
    return clipped(text, keep) if keep else text[: max(0, int(len(text) * size / length) - 3)]
