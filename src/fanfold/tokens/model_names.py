"""How a model's name is spelt: one key for all the spellings of clouds, routers and dates."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from fanfold.text.patterns import pattern

LONGEST = 300
"""Longer names are no names; they are not looked at."""

_MAKERS = (
    "ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshotai|moonshot|"
    "nvidia|openai|qwen|writer|xai|zai"
)
_BEDROCK = pattern(rf"^(?:[a-z]{{2,6}}(?:-gov)?\.)?({_MAKERS})\.(?=[a-z])")
_REVISION = pattern(r"-v?\d{1,2}:\d{1,2}(?::\d+k)?$")
_BARE_REVISION = pattern(r"-v1$")
_TAG = pattern(
    r"(?::(?:free|beta|nitro|floor|online|extended|thinking|exacto|latest|cloud|default|batch|flex)"
    r"|@(?:default|latest)|\[1m\])$"
)
_RESOURCE = pattern(r"(?:models|tunedmodels|publishers|projects|endpoints)/|arn:")
_ROUTED = pattern(r":[a-z]|:\d+[a-z]*b\b")
_SPELLINGS = (
    (pattern(r"[._\s:@]+"), "-"),
    (pattern(r"(?<=\d)p(?=\d)"), "-"),  # Fireworks: kimi-k2p5
    (pattern(r"^gpt-35(?=-|$)"), "gpt-3-5"),  # Azure: gpt-35-turbo
    (pattern(r"^(?:meta-)?llama-?v?-?(?=\d)"), "llama-"),
    (pattern(r"^qwen-(?=\d)"), "qwen"),
    (pattern(r"^(?!gpt)([^/]{2,60}?)-(?:instruct|it)(?=-|$)"), r"\1"),  # weights: the base has no API
    (pattern(r"^claude-([4-9](?:-\d)?)-(opus|sonnet|haiku)(?=-|$)"), r"claude-\2-\1"),
)
_TAIL = pattern(
    r"-(?:20\d\d-?[01]\d-?[0-3]\d|[01]\d-20\d\d|[01]\d-[0-3]\d|\d{4}|00\d|latest|preview|exp|beta)$"
)
_VERSION = pattern(r"v?\d{1,2}|\d+[km]")
_STAGES = frozenset({"latest", "preview", "exp", "beta", "v", ""})
_WORD = pattern(r"([a-z]*)(\d{1,2})?o?")
_SIZE = pattern(r"[ae]?\d+[bkme]?(?:x\d+b)?")
_MAKERS_OWN = frozenset({"claude", "deepseek", "gemini", "glm", "grok", "kimi", "mimo", "minimax", "nova"})
"""Families that one maker names: whatever else stands in such a name, its rules are that maker's."""
_SHARED = frozenset(
    {"gpt", "gptoss", "o", "command", "gemma", "llama", "mistral", "ministral", "magistral", "qwen"}
)
"""Families whose name others use too: a relative has its version right behind that name, or only known words."""
_VERSIONED = pattern(r"[a-z]+-?\d{1,2}(?![a-z\d])o?(?:-.*)?")


def key(name: str) -> str:
    """The spelling under which a name is looked up: lower case, without cloud, revision and tag."""
    last = name[:LONGEST].strip().lower().rstrip("/").rsplit("/", 1)[-1]
    if last.startswith("ft:"):
        last = "ft:" + last[3:].partition(":")[0]
    return _spell(_TAG.sub("", _without_cloud(last)))


def wide(name: str) -> bool:
    """Whether the name asks for the window of a million tokens, as Claude Code writes it."""
    return name[:LONGEST].strip().lower().endswith("[1m]")


def is_routed(name: str) -> bool:
    """Whether a name is one of a router or of a local server: `vendor/model`, or with a word behind a colon.

    Google's resource names (`models/…`) and Amazon's (`arn:…`) have such signs, and are none.
    """
    name = name[:LONGEST].strip().lower().removeprefix("ft:")
    if _RESOURCE.match(name):
        return False
    return "/" in name.rstrip("/") or _ROUTED.search(name) is not None


def match(name: str, keys: Container[str]) -> str | None:
    """The known key that means this name: itself, without its date, or the longest head of it."""
    wanted = key(name)
    if wanted.startswith("ft-"):
        return _match(wanted, keys) or _match(wanted[3:], keys)
    return _match(wanted, keys)


class Lineage(NamedTuple):
    """What a name says about where a model comes from: `claude-opus-4-5` is the opus of Claude's generation 4.5."""

    words: tuple[str, ...]
    version: tuple[int, ...]

    @property
    def family(self) -> str:
        """The first word of the name."""
        return self.words[0]


def lineage(key: str) -> Lineage | None:
    """The words and the version in a key; None for a name of no family that is known here."""
    words: list[str] = []
    version: list[int] = []
    for word in key.removeprefix("ft-").replace("gpt-oss", "gptoss").split("-"):
        found = _WORD.fullmatch(word)
        if found is None or (word.isdecimal() and word != str(int(word))):
            if not _SIZE.fullmatch(word):
                words.append(word)
            continue
        words += [found[1]] if found[1] not in _STAGES else []
        version += [int(found[2])] if found[2] else []
    if not words or words[0] not in _MAKERS_OWN | _SHARED:
        return None
    return Lineage(tuple(words), tuple(version))


def relative(key: str, keys: Iterable[str]) -> str | None:
    """The known key that is most like a key of the same family: of its generation, or the newest before it."""
    wanted = lineage(key)
    if wanted is None:
        return None
    others = (other for other in keys if not other.startswith("ft-"))
    known = [(one, other) for other in others if (one := lineage(other)) and one.family == wanted.family]
    if wanted.family in _SHARED and not _VERSIONED.fullmatch(key.removeprefix("ft-")):
        words = {word for one, _ in known for word in one.words}
        if not wanted.version or not words.issuperset(wanted.words):
            return None
    return max(known, key=lambda pair: _likeness(wanted, pair[0]), default=(None, None))[1]


def _likeness(wanted: Lineage, known: Lineage) -> tuple[object, ...]:
    """How much alike two models are: rules change with the generation first, then with the kind of model."""
    shared = len(set(wanted.words) & set(known.words))
    extra = len(set(known.words) - set(wanted.words))
    generations = wanted.version[:1], known.version[:1]
    return _nearness(*generations), shared, -extra, _nearness(wanted.version, known.version)


def _nearness(wanted: tuple[int, ...], known: tuple[int, ...]) -> tuple[bool, tuple[int, ...]]:
    """The highest version up to the one that is wanted is nearest, then the lowest above; a name without one is new."""
    before = not wanted or known <= wanted
    return before, known if before else tuple(-number for number in known)


def undated_forms(wanted: str) -> Iterator[str]:
    """A key, then the same without its last date or stage, and so on."""
    while wanted:
        yield wanted
        shorter = _TAIL.sub("", wanted)
        if shorter == wanted:
            return
        wanted = shorter


def _match(wanted: str, keys: Container[str]) -> str | None:
    for form in undated_forms(wanted):
        for spelling in (form, f"{form}-latest"):
            if spelling in keys:
                return spelling
    return _head(wanted, keys)


def _head(wanted: str, keys: Container[str]) -> str | None:
    """The longest known head that ends where a word does and cuts no version number in two."""
    words = wanted.split("-")
    for end in range(len(words) - 1, 0, -1):
        head = "-".join(words[:end])
        if head in keys:
            return None if _VERSION.fullmatch(words[end]) else head
    return None


def _without_cloud(name: str) -> str:
    found = _BEDROCK.match(name)
    name = _REVISION.sub("", name)
    if not found:
        return name
    rest = _BARE_REVISION.sub("", name[found.end() :])
    return f"{found[1]}-{rest}" if re.match(r"[rv]\d", rest) else rest


def _spell(name: str) -> str:
    for written, spelling in _SPELLINGS:
        name = written.sub(spelling, name)
    return name.strip("-")
