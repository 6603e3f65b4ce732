"""Which format a file has, judged by what stands in it."""

from __future__ import annotations

from typing import Any

from fanfold.transcripts import (
    adk,
    claude_code,
    codex,
    codex_exec,
    copilot,
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
from fanfold.transcripts.formats import Format
from fanfold.transcripts.rows import Recording, UnknownFormat

FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        claude_code.FORMAT,
        codex.FORMAT,
        codex_exec.FORMAT,
        gemini_cli.FORMAT,
        gemini_stream.FORMAT,
        copilot.FORMAT,
        opencode.FORMAT,
        openhands.FORMAT,
        swe_agent.FORMAT,
        inspect_logs.FORMAT,
        adk.FORMAT,
        langsmith.FORMAT,
        langchain.FORMAT,
        sharegpt.FORMAT,
        plain.FORMAT,  # the least particular one comes last
    )
}
PEEKED = 64
"""Values looked at: some formats begin with lines that say little."""


def detect(recording: Recording) -> Format:
    """The format of the first value that gives one away."""
    for row in recording.peek(PEEKED):
        for format in FORMATS.values():
            if format.fits(row.value):
                return format
    raise UnknownFormat(f"{recording.name}: no known transcript format. Known are {', '.join(FORMATS)}.")


def particular(value: Any) -> Format | None:
    """The format that gives itself away by this one value; None for messages in a provider's own form."""
    formats = (format for format in FORMATS.values() if format is not plain.FORMAT)
    return next((format for format in formats if format.fits(value)), None)


def format_named(name: str) -> Format:
    """The format of that name."""
    if name not in FORMATS:
        raise UnknownFormat(f"There is no format {name!r}. Known are {', '.join(FORMATS)}.")
    return FORMATS[name]
