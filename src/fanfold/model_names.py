"""How a model's name is spelt: one key for all the spellings of clouds, routers and dates."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from fanfold.patterns import pattern

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


def key(name: str) -> str:
    """The spelling under which a name is looked up: lower case, without cloud, revision and tag."""
    last = name[:LONGEST].strip().lower().rstrip("/").rsplit("/", 1)[-1]
    if last.startswith("ft:"):
        last = "ft:" + last[3:].partition(":")[0]
    return _spell(_TAG.sub("", _without_cloud(last)))


def wide(name: str) -> bool:
    """Whether the name asks for the window of a million tokens, as Claude Code writes it."""
    return name[:LONGEST].strip().lower().endswith("[1m]")


def match(name: str, keys: Container[str]) -> str | None:
    """The known key that means this name: itself, without its date, or the longest head of it."""
    wanted = key(name)
    if wanted.startswith("ft-"):
        return _match(wanted, keys) or _match(wanted[3:], keys)
    return _match(wanted, keys)


def undated(wanted: str) -> Iterator[str]:
    """A key, then the same without its last date or stage, and so on."""
    while wanted:
        yield wanted
        shorter = _TAIL.sub("", wanted)
        if shorter == wanted:
            return
        wanted = shorter


def _match(wanted: str, keys: Container[str]) -> str | None:
    for form in undated(wanted):
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
