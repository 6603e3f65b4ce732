"""Prompts: prose in files, and how an answer is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal

from fanfold.core.errors import AskFailed
from fanfold.text.patterns import pattern

_THOUGHTS = ("think", "thinking", "scratchpad")
_ANY = re.DOTALL | re.IGNORECASE
_REFUSAL = pattern(
    r"\A\W*(?:I(?:'|’)?m sorry|I am sorry|Sorry,|I (?:can(?:'|’)?t|cannot|am unable|won(?:'|’)?t)|As an AI|"
    r"申し訳|お手伝いできません)"
)
_SHORT = 300
"""An answer below so many characters that begins like a refusal is one."""
Style = Literal["summary", "snapshot", "sections"]


@cache
def prompt(name: str) -> str:
    """The prompt in `prompts/NAME.md`."""
    from importlib.resources import files  # late: only who asks a model reads prompts

    return (files("fanfold.strategies") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def with_directives(text: str, directives: Sequence[str]) -> str:
    """A prompt with more instructions behind it, as a list; they never replace it."""
    return "\n".join([text, "", *(f"- {line}" for line in directives)]) if directives else text


def tagged(answer: str, tag: str) -> str | None:
    """What stands between a pair of tags, or None where there is no such tag; an unclosed tag runs to the end.

    Models write tags in any case.
    """
    found = re.search(rf"<{tag}>(.*?)(?:</{tag}>|\Z)", answer, _ANY)
    return found.group(1).strip() if found else None


def spoken(answer: str) -> str:
    """An answer without its thoughts; some servers leave out the tag that opens them. A tag in quotes is a word."""
    return re.split(r"(?<![`'\"])</think>(?![`'\"])", stripped(answer, *_THOUGHTS), flags=_ANY)[-1].strip()


def stripped(answer: str, *tags: str) -> str:
    """An answer without what stands between these tags; one that is opened first and never closed takes all of it."""
    for tag in tags:
        answer = re.sub(rf"<{tag}>.*?</{tag}>|\A\s*<{tag}>.*", "", answer, flags=_ANY)
    return answer.strip()


def untagged(answer: str, *tags: str) -> str:
    """An answer without these tags themselves, where one lost its partner; what stands around them stays."""
    return re.sub(rf"</?(?:{'|'.join(tags)})>", "", answer, flags=_ANY).strip()


def read_summary(answer: str, style: Style = "summary") -> str:
    """What an answer sums up: no thoughts, no tags. `AskFailed` where it says nothing, or refuses."""
    plain = stripped(spoken(answer), "retain")
    tag = "state_snapshot" if style == "snapshot" else "summary"
    body = tagged(plain, tag)
    text = untagged(plain, tag, "retain") if body is None else body
    if not any(char.isalnum() for char in text):
        raise AskFailed("the summary was empty")
    if len(text) < _SHORT and _REFUSAL.match(text):
        raise AskFailed(f"the model refused: {text.strip()[:80]!r}")
    return (
        f"<state_snapshot>\n{text}\n</state_snapshot>" if style == "snapshot" and body is not None else text
    )
