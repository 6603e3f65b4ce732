"""The formats, in the order in which they are tried, and which of them a file has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from fanfold.transcripts import (
    adk,
    claude_code,
    codex,
    codex_exec,
    copilot,
    fanfold_export,
    gemini_cli,
    gemini_stream,
    inspect_logs,
    langchain,
    langsmith,
    opencode,
    openhands,
    plain,
    sharegpt,
    swe_agent,
)
from fanfold.transcripts.conversation import Conversation
from fanfold.transcripts.recording import Recording, UnknownFormat

MODULES = {
    "fanfold": fanfold_export,
    "claude-code": claude_code,
    "codex": codex,
    "codex-exec": codex_exec,
    "gemini-cli": gemini_cli,
    "gemini-stream": gemini_stream,
    "copilot": copilot,
    "opencode": opencode,
    "openhands": openhands,
    "swe-agent": swe_agent,
    "inspect": inspect_logs,
    "adk": adk,
    "langsmith": langsmith,
    "langchain": langchain,
    "sharegpt": sharegpt,
    "plain": plain,  # the least particular one comes last
}
PEEKED = 64
"""Values looked at: some formats begin with lines that say little."""


class Format(Struct, frozen=True):
    """A recording's layout: how to know it, and how to read it."""

    name: str
    fits: Callable[[Any], bool]
    """Is this value, one of the file's first, one that only this format writes?"""
    read: Callable[[Recording], Iterator[Conversation]]


FORMATS = {name: Format(name, module.fits, module.read) for name, module in MODULES.items()}


def detect(recording: Recording) -> Format:
    """The format of the first value that gives one away."""
    for row in recording.peek(PEEKED):
        for format in FORMATS.values():
            if format.fits(row.value):
                return format
    raise UnknownFormat(f"{recording.name}: no known transcript format. Known are {', '.join(FORMATS)}.")


def particular(value: Any) -> Format | None:
    """The format that gives itself away by this one value; None for messages in a provider's own form."""
    found = (format for format in FORMATS.values() if format.name != "plain" and format.fits(value))
    return next(found, None)


def format_named(name: str) -> Format:
    """The format of that name."""
    if name not in FORMATS:
        raise UnknownFormat(f"There is no format {name!r}. Known are {', '.join(FORMATS)}.")
    return FORMATS[name]
