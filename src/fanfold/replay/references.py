"""References: values in a tool call that must be right to the letter, and so must be known to the letter.

What counts is defined here and nowhere else: ids, hashes, UUIDs, URLs, e-mail addresses, numbers of seven digits or
more, paths of three segments or more. Strategies have a detector of their own (`fanfold.text.identifiers`). If a replay
counted by that one, they would be measured by what they happen to look for, and would come out flattered.
"""

from __future__ import annotations

import re

from fanfold.core.message import Call, argument_texts

_REFERENCE = re.compile(
    r"""
      https?://[^\s"'<>)\]}`、。」]+                              # addresses
    | [\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{0,64}\w                  # e-mail
    | \b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b   # uuid
    | (?:\b[A-Za-z]:|\\)(?:[\\/](?u:[\w.@+-])+){3,}              # paths of Windows: from a drive or a server,
    | \b[\w.@+-]{1,80}(?:\\(?u:[\w.@+-])+)+\\(?u:[\w.@+-])+\.[A-Za-z]\w{0,4}\b       # from here, to a file
    | (?:~|\.{1,2})?(?:/(?u:[\w.@+-])+){3,}                      # paths from the root
    | \A(?u:[^\W_A-Za-z]){1,80}(?:/(?u:[\w.@+-])+){2,}           # paths from here: where a value begins,
    | \b[\w.@+-]{1,80}(?:/(?u:[\w.@+-])+){2,}                    # or anywhere in it
    | \b(?=[0-9a-fA-F]{0,63}\d)(?=[0-9a-fA-F]{0,63}[a-fA-F])[0-9a-fA-F]{7,64}\b      # hashes
    | \b\d{7,40}\b                                               # long numbers
    | \b(?=[\w-]{0,63}\d)(?=[\w-]{0,63}[A-Za-z])[A-Za-z0-9]{1,64}(?:[_-][A-Za-z0-9]{1,64})+\b   # call_12ab, HAT-123
    """,
    re.VERBOSE | re.ASCII,
)
_GOING_ON = re.compile(r"(\.[A-Za-z]\w{0,4})[^\x00-\x7f].*", re.ASCII)
"""Words right behind the name of a file, in a language that sets no spaces."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{5,}")
SHORTEST = 6
"""Characters of a reference; shorter ones stand everywhere by chance."""
FREE = 200
"""A longer argument, or one of several lines, is prose or code that the model wrote, not a value it looked up."""


def references(call: Call, *, loose: bool = False) -> set[str]:
    """What a call names: identifiers, or loosely every code-like word. None has a space in it."""
    pattern = _WORD if loose else _REFERENCE
    texts = [text for text in argument_texts(call) if len(text) <= FREE and "\n" not in text]
    found = {_bare(match.group()) for text in texts for match in pattern.finditer(text)}
    return {one for one in found if len(one) >= SHORTEST and (not loose or _is_code(one))}


def _bare(found: str) -> str:
    """A reference without the words and stops behind it."""
    return _GOING_ON.sub(r"\1", found.split()[0]).rstrip(".,:;")


def _is_code(word: str) -> bool:
    """Whether a word is a name in code rather than one of a language."""
    return "_" in word or "." in word or word != word.lower()
