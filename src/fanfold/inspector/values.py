"""Rows, messages and edits as values for the page. Long texts are cut; the page asks for the rest when needed."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Protocol

from fanfold.core.edit import Decision, Drop, Elide, Fold, Note, Pin, Repair
from fanfold.core.errors import BadArguments
from fanfold.core.layout import marker
from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text, Thinking, text_of
from fanfold.core.record import Kept
from fanfold.core.view import Row, View
from fanfold.text.escapes import pattern_of
from fanfold.text.json_text import to_json

BRIEF, LONG = 240, 20_000
"""Characters of a row in the list, and of a part that is looked at."""
PICTURES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
"""Pictures that a browser shows and that cannot run anything."""
MOST_PICTURE = 8 << 20
"""Bytes of a picture that is shown."""
_GIVEN = 60
"""Characters of what a call was given."""


class Fates(Protocol):
    """What became of messages, whichever view is looked at."""

    def earlier(self, entry: str) -> Sequence[Message]:
        """What a message said before its client changed it."""

    def is_erased(self, entry: str) -> bool:
        """Whether its content was destroyed."""

    def again(self, edit: str) -> str | None:
        """The edit in whose words one was made again, because somebody brought some of what it hid back."""


def kind_of(row: Row) -> str:
    """What a row is, for its colour."""
    if row.kind in ("fold", "drop", "note", "frame"):
        return {"fold": "summary", "drop": "marker", "note": "note", "frame": "system"}[row.kind]
    parts = [part for message in row.messages for part in message.parts]
    if any(isinstance(part, Result) for part in parts):
        return "output"
    if any(isinstance(part, Image | Document) for part in parts):
        return "media"
    if row.role == "assistant":
        return "call" if any(isinstance(part, Call) for part in parts) else "assistant"
    return row.role


def describe_brief(
    row: Row,
    view: View,
    decisions: Mapping[str, Decision],
    calls: Mapping[str, Call],
    fates: Fates,
) -> dict[str, Any]:
    """A row for the list: what it is, how large, how it begins, and why it is as it is."""
    return {
        "id": row.id,
        "kind": kind_of(row),
        "role": row.role,
        "tokens": row.tokens,
        "count": row.count,
        "edits": row.why,
        "reason": row.reason,
        "pinned": row.pinned,
        "elided": row.was is not None,
        "fresh": row.id in view.fresh,
        "brought_back": row.id in view.exempt,
        "name": row.name,
        "text": begin(row.messages),
        "calls": [brief_call(call) for message in _said(row) for call in message.calls],
        "answers": list_answered(row.messages, calls),
        "because": because(row, view, decisions, fates),
    }


def _said(row: Row) -> tuple[Message, ...]:
    return row.messages if row.was is None else (row.was,)


def begin(messages: Iterable[Message], most: int = BRIEF) -> str:
    """How some messages begin, in one line."""
    parts = [part for message in messages for part in message.parts if not isinstance(part, Call)]
    words = [
        text_of(part) if isinstance(part, Text | Result | Thinking) else f"[{type(part).__name__.lower()}]"
        for part in parts
    ]
    return " ".join(" ".join(word[: 4 * most].split()) for word in words)[:most]


def brief_call(call: Call) -> str:
    """A call in a few words: the tool, and the first thing that it was given."""
    with suppress(BadArguments):
        given = next((value for value in call.args.values() if isinstance(value, str) and value.strip()), "")
        line = " ".join(given[: 4 * _GIVEN].split())
        return f"{call.name} {line[:_GIVEN]}{'…' * (len(line) > _GIVEN)}".rstrip()
    return call.name


def list_answered(messages: Iterable[Message], calls: Mapping[str, Call]) -> list[str]:
    """The calls that some messages answer, in a few words each."""
    parts = [part for message in messages for part in message.parts if isinstance(part, Result)]
    return [brief_call(calls[part.call]) if part.call in calls else part.name or "" for part in parts]


def because(row: Row, view: View, decisions: Mapping[str, Decision], fates: Fates) -> str:
    """Why a row is as it is, in a sentence."""
    made = decisions.get(row.why[-1]) if row.why else None
    saved = f" It saved {made.before - made.after:,} tokens." if made and made.before > made.after else ""
    who = _who(made)
    words = fates.again(made.id) if made is not None and row.kind in ("fold", "drop") else None
    done = f"by {who}{_to_make_room(made)}"
    if made is not None and words is not None:
        done, saved = f"again ({made.id}) when you brought something back, in the words of {words}", ""
    if row.kind == "frame":
        return "System prompt and tools: every request begins with them."
    if row.kind == "note":
        return "A note: it stands beside the conversation until it is undone."
    if row.kind == "fold":
        return f"Stands for {_messages(row)}, folded {done}.{saved}"
    if row.kind == "drop":
        left = "was left out" if row.count == 1 else "were left out"
        return f"{_messages(row)} {left} here {done}.{saved}"
    if row.kind == "mend":
        return "Written as the provider's rules need it; nothing else was changed."
    if row.kind == "entry" and fates.is_erased(row.id):
        return "Erased: its content was destroyed for good, on purpose. What is left in its place says why."
    if row.was is not None:
        pinned = " It is pinned now." if row.pinned else ""
        return f"Shortened by {who}{_to_make_room(made)}; the whole is kept.{saved}{pinned}"
    if row.pinned:
        return "Pinned: it stays word for word until it is unpinned."
    if row.id in view.exempt:
        return "You brought it back: automatic edits leave it alone until you release it."
    if row.id in view.fresh:
        return "New: the model has not seen it yet, so it is shown whole."
    if row.kind == "entry" and fates.earlier(row.id):
        return "The client changed it: it sent other words in this place. What it said before is kept."
    return "As it was recorded: no edit touched it."


def _messages(row: Row) -> str:
    return f"{row.count:,} message{'s' * (row.count != 1)}"


def because_covered(cover: Row, decisions: Mapping[str, Decision]) -> str:
    """Why a message is not in view, in a sentence: `cover` is the row that stands in its place."""
    made = decisions.get(cover.why[-1]) if cover.why else None
    done = "folded into a summary" if cover.kind == "fold" else "left out"
    these = "the message that" if cover.count == 1 else f"one of {cover.count:,} messages that"
    return f"It is {these} {_who(made)} {done}. Nothing of it is lost."


def _to_make_room(made: Decision | None) -> str:
    """What an automatic edit was made for; what a filter does to an output, it does whatever the window holds."""
    return " to make room" if made is not None and made.by == "auto" else ""


def _who(made: Decision | None) -> str:
    if made is None:
        return "an edit"
    match made.by:
        case "person":
            return f"you ({made.id})"
        case "auto":
            return f"the strategy {made.why} ({made.id})"
        case "pass":
            return f"the filter {made.why} ({made.id})"
    return f"a repair ({made.id})"


def describe_picture(view: View) -> dict[str, int]:
    """What fills the window: tokens by kind of row."""
    found: Counter[str] = Counter()
    for row in (view.frame, *view.rows):
        found[kind_of(row)] += row.tokens
    found["other"] += view.overhead
    return {kind: tokens for kind, tokens in found.items() if tokens > 0}


def describe_message(
    message: Message,
    entry: str = "",
    kept: Callable[[str], Kept | None] = lambda _: None,
    most: int = LONG,
    calls: Mapping[str, Call] = MappingProxyType({}),
) -> dict[str, Any]:
    """A message with its parts; a part that has a reference names it, and a result says what it answers."""
    parts = []
    for number, part in enumerate(message.parts):
        record = kept(f"{entry}#{number}") if entry else None
        ref = record.ref if record is not None and record.gone is None else None
        call = calls.get(part.call) if isinstance(part, Result) else None
        answers = {"answers": brief_call(call)} if call is not None else {}
        parts.append({**describe_part(part, most), "ref": ref, **answers})
    return {"role": message.role, "parts": parts}


def describe_part(part: Part, most: int = LONG) -> dict[str, Any]:
    """A part as the page shows it."""
    match part:
        case Text(text=text):
            return {"type": "text", **_cut(text, most)}
        case Thinking(text=text):
            return {"type": "thinking", "signed": part.signature is not None, **_cut(text, most)}
        case Call():
            return {"type": "call", "name": part.name, "call": part.id, **_cut(part.raw, most)}
        case Result():
            inner = [describe_part(one, most) for one in part.parts]
            return {
                "type": "result",
                "name": part.name,
                "call": part.call,
                "error": part.error,
                "parts": inner,
            }
        case Image():
            return {"type": "image", "media": part.media, "src": _source(part), "url": part.url}
        case Document():
            return {"type": "document", "media": part.media, "name": part.name, **_cut(part.text or "", most)}
        case Opaque():
            return {"type": "opaque", **_cut(to_json(part.body), most)}


def _cut(text: str, most: int) -> dict[str, Any]:
    return {"text": text[:most], "length": len(text)}


def _source(image: Image) -> str | None:
    """The picture itself, where it can be shown; an address is never fetched."""
    if image.data is None or image.media not in PICTURES or len(image.data) > MOST_PICTURE * 4 // 3 + 4:
        return None
    return f"data:{image.media};base64,{image.data}"


def shown_by(decision: Decision) -> tuple[Message, ...]:
    """What an edit shows in the place of what it covers."""
    match decision.edit:
        case Fold() as fold:
            return fold.messages
        case Drop(covers=covers):
            return (marker(len(covers)),)
        case Elide(text=text):
            return (Message("tool", (Text(text),)),)
        case Repair(shows=shows):
            return shows
        case Note(text=text) | Pin(text=str(text)):
            return (Message("user", (Text(text),)),)
    return ()


def find_words(words: str, text: str) -> int:
    """Where casefolded words begin in a text, be it escaped; a letter may become two when its case is folded."""
    folded = text.casefold()
    at = folded.find(words)
    if at < 0 and "\\" in text and (pattern := pattern_of(words)):
        found = pattern.search(text.lower())
        return found.start() if found else -1
    if at < 0 or len(folded) == len(text):
        return at
    return bisect_left(range(len(text)), at, key=lambda end: len(text[:end].casefold()))
