"""Arguments as people write them (`128k`, `1M`, `85%`, `5m`), and what the shell is told at the tab key."""

from __future__ import annotations

import re

import click

from fanfold.text.sizes import parse_size, share_of

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)", re.IGNORECASE)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


def size(text: str) -> int:
    """A whole number of tokens or bytes, above zero."""
    number = parse_size(text)
    if number is None or number < 1:
        raise click.BadParameter(f"{text!r} is no size; write 128000, 128k, 1M or 64KiB.")
    return number


def share(text: str) -> int | float:
    """A part of the window, `85%` (0.85), or a size in tokens: the type tells which."""
    if not text.strip().endswith("%"):
        return size(text)
    part = share_of(text)
    if part is None:
        raise click.BadParameter(f"{text!r} is no share; write 1% to 100%, or a size such as 100k.")
    return part


def duration(text: str) -> float:
    """A time in seconds, above zero."""
    found = _TIME.fullmatch(text.strip())
    seconds = float(found.group(1)) * _SECONDS[found.group(2).lower()] if found else 0.0
    if not seconds:
        raise click.BadParameter(f"{text!r} is no time; write 300, 90s, 5m or 1h.")
    return seconds
