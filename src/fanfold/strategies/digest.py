"""The digest: a summary that no model wrote. Deterministic, structured, bounded; it takes an earlier one in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fanfold.budget import Budget
from fanfold.clipping import clipped
from fanfold.edit import Fold
from fanfold.message import Call, Message, Result
from fanfold.plan import Plan, Strategy
from fanfold.strategies.ledger import identifiers, ranked
from fanfold.strategies.seal import sealed, unsealed
from fanfold.strategies.window import first_request
from fanfold.view import Row, Span, View

_SECTIONS = ("asked", "rules", "done", "failed", "touched", "decided", "open", "names", "earlier")
_SHARES = {
    "asked": 0.22,
    "rules": 0.15,
    "done": 0.12,
    "failed": 0.1,
    "touched": 0.08,
    "decided": 0.06,
    "open": 0.05,
}
_RULE = re.compile(
    r"\b(must|never|always|do not|don't|only|at most|at least|no more than|required?|deadline|limit|"
    r"by (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b|"
    r"必ず|禁止|しないで|してはいけ|のみ|だけ|以内|以上|以下|期限|まで(?:に|は)",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"\b(?:error|exception|traceback|failed|fatal|denied|not found)\b|エラー|失敗|例外", re.IGNORECASE
)
_DECISION = re.compile(
    r"\b(decided|chose|instead of|because|so I(?:'ll| will)|conclusion|root cause)\b|決め|採用|原因|ため、"
)
_OPEN = re.compile(
    r"\b(todo|remaining|next step|still need|not yet|pending|will need)\b|残り|未対応|次に|これから",
    re.IGNORECASE,
)
_BYTES_PER_TOKEN = 3.2


class Digest(msgspec.Struct, frozen=True):
    """What an old part of a conversation says, in lists."""

    asked: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    """A summary a model wrote, taken in whole as far as it fits."""

    def __add__(self, other: Digest) -> Digest:
        both = {name: getattr(self, name) + getattr(other, name) for name in _SECTIONS}
        return Digest(**{name: tuple(dict.fromkeys(lines)) for name, lines in both.items()})

    def text(self, size: int) -> str:
        """The digest in at most about `size` bytes: requests and rules first, of the rest the newest."""
        blocks = []
        left = size
        for name in _SECTIONS:
            share = int(size * _SHARES[name]) if name in _SHARES else left
            lines = list(
                _fitting(getattr(self, name), min(share, left), oldest=name in ("asked", "rules", "names"))
            )
            if lines:
                block = "\n".join([f"## {name}", *(f"- {line}" for line in lines)])
                left -= len(block.encode("utf-8", "replace")) + 1
                blocks.append(block)
        return "\n".join(blocks)


def digest(*, share: float = 0.15, keep_first: bool = True) -> Strategy:
    """Fold the oldest blocks into a digest of at most `share` of the target."""

    def digest(view: View, budget: Budget) -> Plan:
        room = max(120, int(budget.goal * share))
        first = first_request(view, budget.room // 10) if keep_first else None
        old = view.oldest(leaving=max(0, budget.goal - room), but=[first] if first else [])
        if len(old.rows) < 2:
            return
        text = digested(old, view).text(int(room * _BYTES_PER_TOKEN))
        yield Fold(old.covers, sealed(text, old.count))

    return digest


def digested(old: Span, view: View) -> Digest:
    """The digest of some rows; summaries among them are taken in."""
    earlier = Digest()
    fresh: list[Message] = []
    for row in old.rows:
        before = _earlier(row)
        if before is None:
            fresh.extend(row.messages)
        else:
            earlier += before
    requests = "\n".join(message.text for message in view.messages if message.is_request)
    names = tuple(ranked(fresh, named=requests, pinned="\n".join(view.pinned_texts)))
    made = _made(fresh)
    return earlier + msgspec.structs.replace(made, names=names[:400])


def _earlier(row: Row) -> Digest | None:
    """What an earlier digest or summary in this row says."""
    if row.kind != "fold" or not row.messages:
        return None
    text = unsealed(row.messages[0].text)
    return parsed(text) if text is not None else Digest(earlier=(row.messages[0].text,))


def parsed(text: str) -> Digest:
    """A digest read back from its text; anything else is kept as an earlier summary."""
    sections: dict[str, list[str]] = {}
    name = "earlier"
    for line in text.splitlines():
        if line.startswith("## ") and line[3:] in _SECTIONS:
            name = line[3:]
        elif line.startswith("- ") and name != "earlier":
            sections.setdefault(name, []).append(line[2:])
        elif sections.get(name):
            sections[name][-1] += "\n" + line
        else:
            sections.setdefault(name, []).append(line.removeprefix("- "))
    return Digest(**{name: tuple(lines) for name, lines in sections.items()})


def _made(messages: Sequence[Message]) -> Digest:
    calls = {call.id: call for message in messages for call in message.calls}
    results = [result for message in messages for result in message.results]
    said = [message.text for message in messages if message.role == "assistant" and message.text]
    asked = [message.text for message in messages if message.is_request and message.text.strip()]
    return Digest(
        asked=tuple(clipped(text.strip(), 1_200) for text in asked),
        rules=tuple(rules(asked)),
        done=tuple(_outcome(result, calls.get(result.call)) for result in results),
        failed=tuple(line for result in results for line in _failures(result, calls.get(result.call))),
        touched=tuple(dict.fromkeys(name for call in calls.values() for name in identifiers(call.raw))),
        decided=tuple(_sentences(said, _DECISION)),
        open=tuple(_sentences(said[-3:], _OPEN)),
    )


def rules(texts: Iterable[str]) -> Iterator[str]:
    """The lines of a person's messages that state a rule, verbatim."""
    for text in texts:
        for line in text.splitlines():
            if _RULE.search(line) and 4 < len(line.strip()) <= 400:
                yield line.strip()


def _outcome(result: Result, call: Call | None) -> str:
    what = f"{call.name}({_short(call.raw, 80)})" if call else f"call {result.call}"
    bad = result.error or _ERROR.search(result.text[:400])
    lines = result.text.count("\n") + 1 if result.text else 0
    return f"{what}: {'failed' if bad else 'ok'}, {lines} lines"


def _failures(result: Result, call: Call | None) -> Iterator[str]:
    lines = [line.strip() for line in result.text[:50_000].splitlines() if _ERROR.search(line)]
    for line in lines[:2]:
        yield f"{call.name + ': ' if call else ''}{_short(line, 160)}"


def _sentences(texts: Iterable[str], test: re.Pattern[str]) -> Iterator[str]:
    for text in texts:
        for sentence in re.split(r"(?<=[.!?。！？])\s*|\n+", text[:8_000]):
            if test.search(sentence) and 12 < len(sentence) <= 300:
                yield sentence.strip()


def _fitting(lines: Sequence[str], size: int, *, oldest: bool) -> Iterator[str]:
    """As many lines as fit, in order: from the start, or the newest ones."""
    chosen: list[str] = []
    for line in lines if oldest else reversed(lines):
        size -= len(line.encode("utf-8", "replace")) + 3
        if size < 0:
            break
        chosen.append(line)
    yield from chosen if oldest else reversed(chosen)


def _short(text: str, size: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= size else flat[: size - 1] + "…"
