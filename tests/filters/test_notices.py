"""What filters and strategies write beside an output's own words is recognised, whichever of them wrote it."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable

import pytest

from builders import asks, calls, gives, opened, tell
from fanfold.outputs import notices
from fanfold.outputs.filters import Filter, apply_filters, binary, clip, prune
from fanfold.session.quotes import Quotes
from fanfold.strategies.repeats import shorten_repeats
from fanfold.text.cutting import clip_text

DATA = b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(3_000)
NODE = {"role": "AXButton", "title": "Submit", "position": {"x": 1, "y": 2}}
TREE = {**NODE, "children": [{**NODE, "help": "h", "children": [NODE] * 30}] * 30}
PAGE = "<html><body>" + "<p>Some words.</p>" * 40 + "<script>x()</script></body></html>"
OUTLINE = "- main:\n" + "".join(f"  - button 'Number {n}' [ref=e{n}]\n" for n in range(40))
LINES = "\n".join(f"{n} GET /users/{n * 7919:x}/orders took {n} ms" for n in range(3_000))
BY_FILTER: list[tuple[Filter, str]] = [
    (clip(size=4_000, names=50), LINES),
    (clip(size=4_000, keep="head"), LINES),
    (clip(size=4_000), "\n".join(["word " * 1_000, *LINES.split("\n")])),
    (clip(line=80, size=20_000), "\n".join(["word " * 100, "end"])),
    (binary(), "before\n" + base64.b64encode(DATA).decode() + "\nafter"),
    (binary(), "\0\1\2" * 500),
    (prune(), json.dumps(TREE)),
    (prune(dropped=()), json.dumps({**TREE, "title": "v" * 1_500})),
    (prune(), PAGE),
    (prune(), OUTLINE),
]


def filtered(one: Filter, text: str) -> tuple[str, str]:
    found = apply_filters(text, "look", {}, [one], "o1")
    assert found is not None
    return text, found.text


def repeated() -> tuple[str, str]:
    """An output of which lines are alike, and lines stand in a later one."""
    same = "\n".join(f"row {word} of the table" for word in "abcdefghij")
    text = f"{LINES[:4_000]}\n{same}\n" + "\n".join(f"tick {n}" for n in range(50))
    chat = opened(9_000, strategy=[shorten_repeats(keep=1)])
    tell(chat, asks("Look."), calls("c1"), gives("c1", text), calls("c2"), gives("c2", same))
    chat.compact(force=True)
    (row,) = (row for row in chat.view().rows if row.results == ("c1",) or "c1" in row.results)
    return f"{text}\n{same}", row.messages[0].parts[0].text  # type: ignore[union-attr]


SHOWN: list[Callable[[], tuple[str, str]]] = [
    *(lambda one=one, text=text: filtered(one, text) for one, text in BY_FILTER),
    lambda: (LINES, clip_text(LINES, 1_000)),
    repeated,
]


@pytest.mark.parametrize("made", SHOWN)
def test_every_word_that_is_not_the_outputs_own_is_recognised_as_fanfolds(
    made: Callable[[], tuple[str, str]],
) -> None:
    text, shown = made()
    own = set(re.findall(r"\w+", text.casefold()))
    left = set(re.findall(r"\w+", notices.OWN.sub("\n", shown).casefold()))
    assert shown != text
    assert {
        word for word in left - own if not any(one.startswith(word) or one.endswith(word) for one in own)
    } == set()


def test_those_examples_have_every_notice_that_there_is() -> None:
    shown = "\n".join(made()[1] for made in SHOWN)
    pieces = [piece for wording in notices.WORDINGS for piece in notices.pattern_of(wording).split("|")]
    assert [piece for piece in pieces if not re.search(piece, shown)] == []


def test_a_call_that_has_the_words_of_a_notice_leaves_the_notice_where_it_is_erased() -> None:
    for text, shown in (made() for made in SHOWN):
        words = " ".join(notices.OWN.findall(shown))
        quotes = Quotes.of(words, text)
        told = [line for line in shown.split("\n") if not re.search(r"\w", notices.OWN.sub("", line))]
        assert [line for line in told if quotes.has(line)] == []
