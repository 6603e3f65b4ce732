"""Bare words: what a text says to a model, without what hides its words from a comparison.

A planted order may be written in wide letters, with signs between that nobody sees, in letters of another script, from
right to left, or in the escapes of pages, addresses, strings and base64. A model reads it all the same, and says it
again in plain words.
"""

from __future__ import annotations

import re
from base64 import b64decode
from html import unescape
from quopri import decodestring
from unicodedata import normalize
from urllib.parse import unquote

from fanfold.text.patterns import finder, pattern

UNSEEN = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
"""Signs that nobody sees, as a pattern has them."""
_COLOUR = pattern(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_ESCAPED = pattern(r"\\u([0-9a-fA-F]{4})")
_QUOTED = pattern(r"(?:%[0-9A-Fa-f]{2}[^%\s]{0,40}){3}")
_PRINTED = pattern(r"(?:=[0-9A-F]{2}[^=\s]{0,40}){3}")
_CODED = pattern(
    r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,4000}(?:\n[A-Za-z0-9+/_-]{24,80}){0,200}(?:={1,2}|"
    r"\n[A-Za-z0-9+/_-]{1,80}={0,2}(?=\n|\Z))?"
)
_HEX = pattern(r"(?:[0-9a-f]{2}){24,4000}|(?:[0-9A-F]{2}){24,4000}")
_SAFE = str.maketrans("-_", "+/", "\n")
_may_code = finder(r"[a-z0-9+]{24}")
"""Whether it is worth looking for base64: nearly no word has so many letters and figures."""
_MARKS, _OTHERS = "\u0300-\u036f", "\u0370-\u052f\U000e0020-\U000e007e"
"""Signs that stand over letters, and letters of other scripts."""
_UNSEEN, _SCRIPTS = pattern(f"[{UNSEEN}{_MARKS}]+"), pattern(f"[{_OTHERS}]")
_WIDE = "\u2100-\u214f\u2460-\u24ff\uff01-\uff5e\U0001d400-\U0001d7ff"
_ODD = pattern(f"[{_WIDE}]+")
"""Letters and figures of another width, in circles, or as formulas have them."""
_HIDES = pattern(f"[{UNSEEN}{_MARKS}{_OTHERS}{_WIDE}]")
"""All of these."""
_ASCII = bytes(range(128))
_BACKWARDS = pattern(r"\u202e([^\u202c\u2069\n]{1,2000})")
_TAGS = {0xE0000 + sign: chr(sign) for sign in range(32, 127)}
"""Letters that nobody sees, and that a model reads."""
_ALIKE = _TAGS | str.maketrans(
    "аеорсухіјѕԁӏАВЕКМНОРСТХІαορνικΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijsdlABEKMHOPCTXIaopvikABEZHIKMNOPTYX",
)
"""Letters of Cyrillic and Greek that look like Latin ones."""


def bare(text: str) -> str:
    """A text in plain letters, all of which can be seen."""
    if _HIDES.search(beyond_ascii(text)) is None:
        return text
    text = _UNSEEN.sub("", _ODD.sub(lambda found: normalize("NFKC", found[0]), text))
    return text.translate(_ALIKE) if _SCRIPTS.search(text) else text


def beyond_ascii(text: str) -> str:
    """The signs of a text outside ASCII, each once: few texts have many, and to look at these alone is quick."""
    if text.isascii():
        return ""
    return "".join(set(text.encode("utf-8", "replace").translate(None, _ASCII).decode()))


def decoded(text: str) -> str:
    """What a tool said in plain letters, with what stands in it in a code."""
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    if "&" in text and ";" in text:
        text = unescape(text)
    if "\\u" in text:
        text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    if "%" in text and _QUOTED.search(text):
        text = f"{text}\n{unquote(text)}"
    if "=" in text and _PRINTED.search(text):
        text = f"{text}\n{decodestring(text.encode('utf-8', 'replace')).decode('utf-8', 'replace')}"
    more = [word for found in _CODED.finditer(text) if (word := _plain(found))] if _may_code(text) else []
    if "\u202e" in text:
        more += [found[1][::-1] for found in _BACKWARDS.finditer(text)]
    return bare("\n".join((text, *more)) if more else text)


def _plain(found: re.Match[str]) -> str:
    """What stands in base64 or in hexadecimal figures, if that is words."""
    code = found[0].rstrip("=\n").translate(_SAFE)
    try:
        raw = bytes.fromhex(code) if _HEX.fullmatch(code) else b64decode(code + "=" * (-len(code) % 4))
        said = raw.decode("utf-8")
    except ValueError:
        return ""
    return said if sum(sign.isalpha() or sign == " " for sign in said) > len(said) // 2 else ""
