"""Prompts: prose in files, and how an answer is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

_THOUGHTS = ("think", "thinking", "scratchpad")
_ANY = re.DOTALL | re.IGNORECASE


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
