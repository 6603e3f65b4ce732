"""Wording: what the library's errors say to programmers, said to people at a command line."""

from __future__ import annotations

import re

_SAID = (
    (r"`view\(\)`", "`fanfold show`"),
    (r"`(model|window|store|key)=`", r"`--\1`"),
    (
        r"\b(window)=…; or register it in code, .*?; or in fanfold\.toml,",
        r"--\1 …, or write in fanfold.toml:",
    ),
    (r"`say` or `note` it first", "`fanfold note` it first"),
    (r"give its `key`, or put it into FANFOLD_KEY", "put its key into FANFOLD_KEY"),
)
"""Patterns, and what is said instead."""


def worded(text: str) -> str:
    """An error's text with commands and options in the place of calls and arguments."""
    for pattern, words in _SAID:
        text = re.sub(pattern, words, text)
    return text
