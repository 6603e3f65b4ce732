"""Gleaning: from rows to a gist. What was asked, ruled, done and left undone is found by plain patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest

from msgspec.structs import replace

from fanfold.core.message import Call, Message, Part, Result
from fanfold.core.view import Row, Span, View
from fanfold.strategies.handover.failing import failing_lines
from fanfold.strategies.handover.gist import Gist, Sizes, parsed
from fanfold.strategies.handover.holdings import Holding, holding
from fanfold.strategies.handover.ledger import KnownNames, Names, ranked
from fanfold.strategies.handover.ruling import SENTENCE, rules
from fanfold.strategies.handover.seal import unsealed
from fanfold.text.cutting import short
from fanfold.text.identifiers import identifiers
from fanfold.text.patterns import finder

_DECISION = finder(
    r"\b(decided?|decision|chose|chosen|instead of|rather than|because|so I(?:'ll| will)|conclusion|root cause|"
    r"turns out|we will use|agreed)\b|決め|決定|採用|原因|ことにし|方針|ため、",
)
_OPEN = finder(
    r"\b(to-?do|remaining|next steps?|still (?:need|have|to)|not yet|pending|will need|left to do|open question)\b"
    r"|残り|未対応|未完|次に|これから|あとで|残って",
)
_LINE = 12
"""Bytes that a line for an output takes at least."""
_NAMING = 2_000
"""Characters of a request in which the user names things; what comes behind is material."""


def gleaned(old: Span, view: View, sizes: Sizes, read: Names | None = None) -> Gist:
    """The gist of some rows of a view; summaries among them are taken in. `read` are names that were read before.

    Of names it finds at least what fits these sizes; what would not fit anyhow is not looked for.
    """
    summaries = [told(row) for row in old.rows if row.kind == "fold"]
    earlier = sum([replace(gist, asked=(), rules=(), names=()) for gist in summaries], Gist())
    spoken = [row for row in old.rows if row.kind in ("entry", "mend")]
    pieces = [piece for row in spoken for piece in _pieces(row, view)]
    fresh = [message for message, _ in pieces]
    made = of_user(old.rows, view) + earlier + _made(fresh)
    asked = identifiers(_naming((*made.asked, *made.rules)))
    names = ranked(
        fresh,
        _known(view, asked, made.touched),
        sizes.names,
        refs=[ref for _, ref in pieces],
        earlier=[
            *(name for gist in reversed(summaries) for name in (*gist.names, *identifiers(gist.written))),
            *asked,
        ],
        read=read,
    )
    held = ((ref, message.results[0]) for message, ref in pieces if ref)
    return replace(made, names=tuple(names), holdings=(*made.holdings, *_held(held, view, sizes)))


def of_user(rows: Iterable[Row], view: View) -> Gist:
    """What a person asked and ruled in these rows and behind them, as it was recorded.

    Only where no record says it, an earlier summary does.
    """
    asked: list[str] = []
    ruled: list[str] = []
    telling = [row for row in rows if row.asked or row.kind == "fold"]
    for row in telling:
        texts = list(_asked(row, view))
        gist = told(row) if row.kind == "fold" and not texts else Gist(asked=tuple(texts))
        asked += gist.asked
        ruled += gist.rules or rules(texts)
    begins = _begin(telling, view)
    return Gist(asked=tuple(dict.fromkeys(asked)), begins=begins, rules=tuple(dict.fromkeys(ruled)))


def _begin(rows: Sequence[Row], view: View) -> bool:
    """Whether nobody asked for anything before these rows that is still told."""
    first = next((row for row in view.rows if _tells(row)), None)
    return first is None or any(row is first for row in rows)


def _tells(row: Row) -> bool:
    """Whether a row tells what was asked: a mark says no more than that something stood there."""
    return row.kind != "drop" and bool(row.asked or (row.kind == "fold" and told(row).asked))


def _asked(row: Row, view: View) -> Iterator[str]:
    """What a person asked in a row, or behind it."""
    said = [row.whole] if row.kind == "entry" else map(view.said, row.asked)
    for message in said if row.asked else ():
        text = message.text.strip() if message else ""
        if text:
            yield text


def _pieces(row: Row, view: View) -> list[tuple[Message, str | None]]:
    """What a row says, whole; of several outputs in one message each by itself. Outputs come with their references."""
    if not view.refs or row.kind != "entry" or not row.results:
        return [(message, None) for message in ((row.whole,) if row.was else row.messages)]
    message = row.whole
    alone = len(message.parts) == 1
    return [
        (message if alone else Message(message.role, (part,)), _ref(f"{row.id}#{number}", part, view.refs))
        for number, part in enumerate(message.parts)
    ]


def _ref(address: str, part: Part, refs: Mapping[str, str]) -> str | None:
    return refs.get(address) if isinstance(part, Result) else None


def _held(outputs: Iterable[tuple[str, Result]], view: View, sizes: Sizes) -> Iterator[Holding]:
    """The largest outputs, and what their tools were asked."""
    calls = {call.id: call for message in view.messages for call in message.calls}
    for ref, result in nlargest(sizes.holdings // _LINE, outputs, key=lambda one: len(one[1].text)):
        yield holding(ref, calls.get(result.call), len(result.text))


def _known(view: View, asked: Iterable[str], touched: Iterable[str]) -> KnownNames:
    """What is known of names, beside those that the user's words and the calls have that are folded."""
    called = "\n".join([call.raw for message in view.messages for call in message.calls])
    shown = _naming(message.text for message in view.messages if message.is_request)
    return KnownNames(
        pinned=frozenset(identifiers("\n".join(view.pinned_texts))),
        named=frozenset((*identifiers(shown), *asked)),
        used=frozenset((*identifiers(called), *touched)),
    )


def _naming(texts: Iterable[str]) -> str:
    """What users name things in."""
    return "\n".join(text[:_NAMING] for text in texts)


def told(row: Row) -> Gist:
    """What an earlier summary in this row says; one without a true mark is somebody's own words."""
    text = unsealed(row)
    return parsed(text) if text is not None else Gist(written="\n".join(m.text for m in row.messages))


def _made(messages: Sequence[Message]) -> Gist:
    calls = {call.id: call for message in messages for call in message.calls}
    told = [_Told(result, calls.get(result.call)) for message in messages for result in message.results]
    said = [message.text for message in messages if message.role == "assistant" and message.text]
    return Gist(
        done=tuple(one.outcome for one in told),
        failed=tuple(line for one in told for line in one.failures),
        touched=tuple(identifiers("\n".join(call.raw for call in calls.values()))),
        decided=tuple(_sentences(said, _DECISION)),
        open=tuple(_sentences(said[-3:], _OPEN)),
    )


class _Told:
    """What a tool told, for what it was asked."""

    def __init__(self, result: Result, call: Call | None) -> None:
        self.result, self.call, self.text = result, call, result.text
        self.lines = failing_lines(self.text)

    @property
    def outcome(self) -> str:
        what = f"{self.call.name}({short(self.call.raw, 80)})" if self.call else f"call {self.result.call}"
        lines = self.text.count("\n") + 1 if self.text else 0
        how = "failed" if self.lines or self.result.error else "ok"
        return f"{what}: {how}, {lines} line{'' if lines == 1 else 's'}"

    @property
    def failures(self) -> Iterator[str]:
        lines = self.lines
        if self.result.error and not lines:
            lines = [self.text.strip() or "it failed and said nothing"]
        for line in lines:
            yield (
                f"{self.call.name}({short(self.call.raw, 60)}): {short(line, 160)}"
                if self.call
                else short(line, 160)
            )


def _sentences(texts: Iterable[str], test: Callable[[str], bool]) -> Iterator[str]:
    texts = [text[:8_000] for text in texts]
    if not test("\n".join(texts)):
        return
    for text in texts:
        for sentence in SENTENCE.split(text) if test(text) else ():
            if 8 < len(sentence) <= 300 and test(sentence):
                yield sentence.strip()
