"""Letters: what the agent writes to people inside a command: the message of a commit, the text of a pull request.

What was done and why is often said nowhere else.
"""

from __future__ import annotations

from fanfold.text.patterns import pattern

_WRITES = pattern(
    r"\bgit\b[^|;&\n]{0,80}\bcommit\b|\b(?:gh|glab) (?:pr|mr|issue) (?:create|comment|edit|review)\b"
)
_READ = 8_000
"""Characters of a command that are read."""
_DOCUMENT = pattern(r"<<-?\s*['\"]?(\w{2,12})['\"]?[^\n]*\n(.*?)\n\s*\1\b", 16)
"""A text that is put into a command line by line, up to a word."""
_TEXT = pattern(
    r"\s(?:-a?m|--message|--title|--body|-b|-t)[= ]\s*(?:\"((?:[^\"\\$]|\\.|\$(?!\())+)\"|'([^']+)')", 16
)
_SIGNED = pattern(r"^[\w -]{2,20}-by: .*$|^.{0,4}Generated with .*$", 8 | 2)
"""Lines that name who wrote it."""
_WRAPPED = pattern(r"(?<=[^\n]{40})(?<![.:])\n[ \t]*(?=[^\s#*>|•-])(?!\d+[.)] )")
"""Where a line was only broken because it was full."""


def letter(command: str) -> str:
    """What a command says to people; nothing where it says nothing."""
    text = command[:_READ]
    if _WRITES.search(text) is None:
        return ""
    said = [(found.start(), found[2]) for found in _DOCUMENT.finditer(text)]
    said += [(found.start(), found[1] or found[2]) for found in _TEXT.finditer(text)]
    return _WRAPPED.sub(" ", _SIGNED.sub("", "\n\n".join(words for _, words in sorted(said)))).strip()
