"""Gleaning: from rows to a gist. What was asked, ruled, done and left undone is found by plain patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from fanfold.excerpt import short
from fanfold.message import Call, Message, Result
from fanfold.patterns import pattern
from fanfold.strategies.gist import Gist, parsed
from fanfold.strategies.ledger import Names, identifiers, ranked
from fanfold.strategies.seal import unsealed
from fanfold.view import Row, Span, View

_RULE = pattern(
    r"\b(must|never|always|do not|don't|does not|only|at most|at least|no more than|no less than|without|"
    r"requires?d?|deadline|limits?|forbidden|important|make sure|under no circumstances|avoid|"
    r"(?:by|before|until) (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b|"
    r"必ず|絶対|禁止|しないで|しないこと|してはいけ|してはならな|使わない|変えない|触らない|のみ|だけ|以内|以上|以下|未満|"
    r"期限|締め?切り?|まで(?:に|は)|してください|厳守|避け",
    re.IGNORECASE,
)
_FAILURE = pattern(
    r"^\W{0,8}(?:error|fatal|failed|failure|exception|panic|エラー|失敗)\b|\b[A-Za-z]{0,40}(?:Error|Exception)\b ?[:(]|"
    r"\berror(?:\[\w+\])?: |Traceback \(most recent|\bFAILED\b|\bexit(?:ed with)? (?:code|status) [1-9]|"
    r"[Nn]o such file|[Pp]ermission denied|(?:command|module|file) not found|[Tt]imed out|[Cc]onnection refused|"
    r"エラーが|に失敗|例外が|見つかりません|拒否され"
)
_HINT = pattern(
    r"rror|xception|ail(?:ed|ure)|FAILED|[Ff]atal|[Pp]anic|raceback|exit|uch file|denied|not found|imed out|refused|"
    r"エラー|失敗|例外|見つかりません|拒否"
)
"""Stands in every line that `_FAILURE` finds, and is found faster."""
_DECISION = pattern(
    r"\b(decided?|decision|chose|chosen|instead of|rather than|because|so I(?:'ll| will)|conclusion|root cause|"
    r"turns out|we will use|agreed)\b|決め|決定|採用|原因|ことにし|方針|ため、",
    re.IGNORECASE,
)
_OPEN = pattern(
    r"\b(to-?do|remaining|next steps?|still (?:need|have|to)|not yet|pending|will need|left to do|open question)\b"
    r"|残り|未対応|未完|次に|これから|あとで|残って",
    re.IGNORECASE,
)
_SENTENCE = pattern(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_READ = 50_000
"""Characters of an output that are searched for errors."""
_RULE_LENGTH = 400


def gleaned(old: Span, view: View, known: Names | None = None) -> Gist:
    """The gist of some rows of a view; summaries among them are taken in. `known` are names that were read before."""
    earlier = Gist()
    for row in old.rows:
        earlier += told(row) if row.kind == "fold" else Gist()
    spoken = [row for row in old.rows if row.kind in ("entry", "mend")]
    shown = [message for row in spoken for message in row.messages]
    fresh = [message for row in spoken for message in ((row.was,) if row.was else row.messages)]
    made = earlier + _made(fresh)
    names = ranked(
        fresh,
        shown=shown,
        known=known,
        earlier=tuple(dict.fromkeys((*earlier.names, *identifiers(earlier.written)))),
        named="\n".join(_asked(view.messages) + list(made.asked) + list(made.rules)),
        pinned="\n".join(view.pinned_texts),
        called="\n".join(call.raw for message in view.messages for call in message.calls),
    )
    return replace(made, names=tuple(names[:1_000]))


def told(row: Row) -> Gist:
    """What an earlier summary in this row says; one without a true mark is somebody's own words."""
    text = unsealed(row)
    return parsed(text) if text is not None else Gist(written="\n".join(m.text for m in row.messages))


def _made(messages: Sequence[Message]) -> Gist:
    calls = {call.id: call for message in messages for call in message.calls}
    results = [result for message in messages for result in message.results]
    said = [message.text for message in messages if message.role == "assistant" and message.text]
    asked = _asked(messages)
    return Gist(
        asked=tuple(asked),
        rules=tuple(rules(asked)),
        done=tuple(_outcome(result, calls.get(result.call)) for result in results),
        failed=tuple(line for result in results for line in _failures(result, calls.get(result.call))),
        touched=tuple(dict.fromkeys(name for call in calls.values() for name in identifiers(call.raw))),
        decided=tuple(_sentences(said, _DECISION)),
        open=tuple(_sentences(said[-3:], _OPEN)),
    )


def _asked(messages: Sequence[Message]) -> list[str]:
    return [text for message in messages if message.is_request and (text := message.text.strip())]


def rules(texts: Iterable[str]) -> Iterator[str]:
    """What a person's messages rule, verbatim: whole lines, of very long ones the sentences."""
    for text in texts:
        for line in text.splitlines():
            pieces = [line] if len(line) <= _RULE_LENGTH else _SENTENCE.split(line[:_READ])
            yield from (piece.strip() for piece in pieces if _ruling(piece))


def _ruling(text: str) -> bool:
    return 4 < len(text.strip()) <= _RULE_LENGTH and _RULE.search(text) is not None


def _outcome(result: Result, call: Call | None) -> str:
    what = f"{call.name}({short(call.raw, 80)})" if call else f"call {result.call}"
    lines = result.text.count("\n") + 1 if result.text else 0
    return f"{what}: {'failed' if _bad(result) else 'ok'}, {lines} line{'' if lines == 1 else 's'}"


def _bad(result: Result) -> bool:
    return result.error or any(_failing(result.text[:4_000]))


def _failing(text: str) -> Iterator[str]:
    """The lines of a text that tell of a failure."""
    end = -1
    for hint in _HINT.finditer(text):
        if hint.start() < end:
            continue
        start = text.rfind("\n", 0, hint.start()) + 1
        end = text.find("\n", hint.end())
        end = len(text) if end < 0 else end
        line = text[start:end]
        if _FAILURE.search(line[:400]):
            yield line.strip()


def _failures(result: Result, call: Call | None) -> Iterator[str]:
    lines = list(_failing(result.text[:_READ]))
    if result.error and not lines:
        lines = [result.text.strip() or "it failed and said nothing"]
    for line in (*lines[:1], *lines[1:][-1:]):
        yield f"{call.name}({short(call.raw, 60)}): {short(line, 160)}" if call else short(line, 160)


def _sentences(texts: Iterable[str], test: re.Pattern[str]) -> Iterator[str]:
    for text in texts:
        for sentence in _SENTENCE.split(text[:8_000]):
            if test.search(sentence[:400]) and 8 < len(sentence) <= 300:
                yield sentence.strip()
