"""Notices: what fanfold itself writes into what it shows of an output.

They are worded here, so that what writes one and what recognises one agree. What stands in braces is filled in by
whoever writes the notice; `{ref}` becomes the reference of the output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import Formatter

from fanfold.core.edit import ASKED, GREP, READ
from fanfold.text.cutting import CUT_TO_FIT
from fanfold.text.patterns import pattern

LINES_LEFT_OUT = "[… {count:,} lines left out …]"
LINE_CUT = " [… line cut]"
LINES_CUT = "[lines longer than {width:,} characters were cut; the whole is kept as ref={ref}{rest}]"
AROUND = f'. {GREP}(ref_id="{{ref}}", pattern=…) shows a long line around what is searched.'
NAMES = "[… names in what is left out: {names}]"
CLIPPED = "[output clipped: {count:,} of {lines:,} lines shown, {size:,} bytes in all, kept whole as ref={ref}{rest}]"
READS_ON = f'{READ}(ref_id="{{ref}}", offset={{line:d}}) reads on, '
SEARCHES = f'. {{reads}}{GREP}(ref_id="{{ref}}", pattern=…) searches it.'
BINARY = "[binary data, {media}, {size:,} bytes; ref={ref}]"
BASE64 = "[base64 data, {media}, {size:,} bytes]"
BASE64_LEFT_OUT = "[base64 data was left out; the whole is kept as ref={ref}]"
PRUNED = "[pruned to {what}; whole as ref={ref}]"
ITEMS = "{nodes:d} items of a list, {children:d} children of a node and {depth:d} levels of nodes"
FIELDS = ", some fields left out"
PAGE = "what is seen of the page and {children:d} children of a kind, most attributes left out"
OUTLINE = "{children:d} children of a node and {depth:d} levels of nodes"
TRUNCATED = "[truncated]"
MORE = "[more <{tag}> truncated]"
REPEATS = "[repeated lines left out"
REPEATED = f"{REPEATS}; {ASKED}]"
MORE_ALIKE = "… {count:,} more like this"
AS_LATER = "… {count:,} lines as in a later output"
LINES, BYTES, KILOBYTES = "{count:,} lines", "{count:,} bytes", "{count:,.0f} kB"
"""How much an output was, in its placeholder."""
FAILED, EXIT = "failed", "exit {code:d}"
"""How it ended."""
SUPERSEDED = "{path} was {verb} later"
"""Why an old read of a file may go."""

WORDINGS = (
    LINES_LEFT_OUT, LINE_CUT, LINES_CUT, AROUND, NAMES, CLIPPED, READS_ON, SEARCHES, BINARY, BASE64, BASE64_LEFT_OUT,
    PRUNED, ITEMS, FIELDS, PAGE, OUTLINE, TRUNCATED, MORE, REPEATED, MORE_ALIKE, AS_LATER, CUT_TO_FIT,
)  # fmt: skip
"""Every notice that stands among the words of an output."""
_NUMBERS = {",": r"[\d,]+", ",.0f": r"[\d,]+", "d": r"-?\d+"}
_FILLED = {"ref": r"\w+", "media": r"[\w.+/ -]+?", "verb": r"[a-z ]+"}
"""What fanfold fills in, by its format or by its name. Anything else comes from the output, or is a wording itself."""


def pattern_of(wording: str) -> str:
    """A pattern for what fanfold writes of a notice: without what comes from the output."""
    return "|".join(piece for piece in _pieces(wording) if re.search(r"\w\w", piece))


def _pieces(wording: str) -> Iterator[str]:
    piece = ""
    for words, field, kind, _ in Formatter().parse(wording):
        piece += re.escape(words)
        if field is None:
            break
        filled = _NUMBERS.get(kind or "") or _FILLED.get(field)
        if filled is None:
            yield piece
            piece = ""
        else:
            piece += filled
    yield piece


OWN = pattern("|".join(map(pattern_of, WORDINGS)))
"""Finds the words of notices in what is shown of an output."""
_HOW = rf"(?:(?:{pattern_of(FAILED)}|{pattern_of(EXIT)}); )?"
SIZE = pattern(rf"; ({_HOW}{pattern_of(LINES)}(, (?:{pattern_of(BYTES)}|{pattern_of(KILOBYTES)}))?)(?=[;\]])")
"""Finds in a placeholder how much an output was, and how it ended; what was asked stands before that."""
LATER = pattern(rf"{pattern_of(SUPERSEDED)}\Z")
"""Finds in a placeholder that a file, which the call names, was read again or changed."""
