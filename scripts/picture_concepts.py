"""Draw the pictures of docs/index.md and docs/concepts.md; the latter from sessions that really ran.

python scripts/picture_concepts.py       write docs/assets/flow.svg and docs/assets/concepts/*.svg
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from itertools import takewhile
from pathlib import Path

import fanfold
from fanfold import Session, View
from fanfold.core.message import Result, Thinking
from fanfold.core.view import Row
from fanfold.strategies import (
    digest,
    drop_thinking,
    shorten_arguments,
    shorten_outputs,
    shorten_reads,
    shorten_repeats,
)

ASSETS = Path(__file__).parent.parent / "docs" / "assets" / "concepts"
STYLE = """\
text { fill: #12403c } .small { font-size: 12px; fill: #3c5a57 } .head { font-weight: 600 }
.user { fill: #e0a458 } .assistant { fill: #6fb3ac } .thinking { fill: #b9a6d8 } .tool { fill: #b9c6cf }
.handover { fill: #2a7f78 } .new { fill: #d1603d } .cached { fill: #a9d4cf }
.line { stroke: #2a7f78; fill: none } .covered { opacity: .35 } .rule { stroke: #d5ebe8 }"""
KINDS = {
    "user": "the person's words",
    "handover": "the hand-over",
    "assistant": "the agent's words and calls",
    "thinking": "thinking",
    "tool": "outputs of tools",
}
STEPS: dict[str, fanfold.Strategy] = {
    "old outputs become a line": shorten_outputs(),
    "long arguments: their first lines": shorten_arguments(),
    "thinking of finished turns goes": drop_thinking(),
    "reads that came again go": shorten_reads(),
    "repeated lines go": shorten_repeats(),
    "the oldest stretch: a hand-over": digest(),
}
WINDOW = 32_000
BUDGET = fanfold.Budget(window=20_000, target=0.25)
"""In this one, a reduction needs all of its steps."""


def main() -> None:
    """Write all pictures."""
    ASSETS.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        place(name).write_text("\n".join(draw()), encoding="utf-8")
        print(place(name).relative_to(ASSETS.parents[2]))


def place(name: str) -> Path:
    """Where a picture is kept."""
    return ASSETS / f"{name}.svg" if name != "flow" else ASSETS.parent / "flow.svg"


# What is drawn


VERBS = ((Session.say, Session.add, Session.receive), (Session.answer, Session.merge))
"""The verbs that record what happened; a renamed one cannot stay in the picture."""


def draw_flow() -> Iterator[str]:
    """From what happened to the request, and back."""
    yield from svg(910, 376, "What happened goes into the log; the view is computed from log and edits")
    yield '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"'
    yield ' orient="auto-start-reverse"><path d="M0 0 L10 5 L0 10 z" fill="#2a7f78"/></marker></defs>'
    yield from box(70, 20, 190, "your loop", *(" · ".join(verb.__name__ for verb in line) for line in VERBS))
    yield from arrow("M260 68 H338", 266, 58, "happened")
    yield from box(342, 20, 240, "log, append-only", "", "edits · frames · bills · moves")
    yield from (rect(358 + 24 * number, 60, 20, 16, "cached") for number in range(7))
    yield from arrow("M462 116 V186", 472, 144, "path, then the edits", "that stand on it")
    yield from box(342, 190, 240, "view", "", "rows · blocks · tokens · why")
    yield from (
        rect(358 + 24 * number, 230, 20, 16, "cached" if number else "handover") for number in range(4)
    )
    yield from arrow("M582 218 H670", 596, 208, "too full")
    yield from box(
        674, 170, 216, "strategy, on a draft", "yields edits, asks models", "guarded; all or nothing"
    )
    yield from arrow("M782 170 V68 H586", 650, 58, "plan committed at once")
    yield from arrow("M342 238 H264", 290, 228, "fits")
    yield from box(70, 190, 190, "dialect", "encode · check the", "provider's grammar")
    yield from arrow("M165 286 V332", 175, 314, "request, in the provider's form")
    yield text(110, 358, "provider", "head")
    yield from arrow("M102 353 H22 V68 H66", 32, 156, "reply, bill")
    yield "</svg>"


def draw_log() -> Iterator[str]:
    """The log on the left, the view on the right, and the edit between them."""
    with fanfold.open("log", window=3_000) as chat:
        entries = [chat.say("Never touch vendor/. Why does the build fail?")]
        for number in range(4):
            entries.append(chat.add({"role": "assistant", "content": f"I look at part {number}."}))
            entries.append(chat.say(f"Part {number} has an error. " + "And so on. " * 12))
        before = chat.view().rows
        chat.fold(tuple(entry.id for entry in entries[1:7]), "Parts 0, 1 and 2 have errors.")
        after = chat.view().rows
    yield from svg(
        960, 40 + 34 * len(before), "The log keeps every message; one edit folds six of them in the view"
    )
    yield from (
        text(20, 24, "the log", "head"),
        text(420, 24, "an edit", "head"),
        text(600, 24, "the view", "head"),
    )
    shown = {row.id for row in after}
    for number, row in enumerate(before):
        yield from bar(20, 40 + 34 * number, row, "" if row.id in shown else "covered")
    for number, row in enumerate(after):
        yield from bar(600, 40 + 34 * number, row)
    yield from (
        '<path class="line" d="M350 74 C380 74 380 74 400 104 V208 C380 244 380 244 350 244"/>',
        '<path class="line" d="M400 156 C500 156 500 87 592 87"/>',
        text(420, 176, "covers six messages,", "small"),
        text(420, 194, "shows one line;", "small"),
        text(420, 212, "undo takes it back", "small"),
        "</svg>",
    )


def draw_reduction() -> Iterator[str]:
    """What is in the window before a reduction, and after each of its steps."""
    told = [("before", by_kind(reduced([])))]
    for number, what in enumerate(STEPS, 1):
        told.append((f"{number}. {what}", by_kind(reduced(list(STEPS.values())[:number]))))
    most = max(sum(kinds.values()) for _, kinds in told)
    yield from svg(960, 90 + 40 * len(told), "A reduction, step by step: what is in the window after each")
    for number, (what, kinds) in enumerate(told):
        yield text(20, 42 + 40 * number, what, "head" if not number else "")
        yield from stacked(280, 24 + 40 * number, 560 / most, kinds)
    yield from legend(20, 60 + 40 * len(told), KINDS)
    yield "</svg>"


def draw_cache() -> Iterator[str]:
    """How much of each request the provider reads from its cache: with fanfold, and with a sliding cut."""
    with_fanfold = requests_of("auto")
    room = max(sum(row.tokens for row in rows) for rows in with_fanfold)
    runs = (
        ("with fanfold", read_again(with_fanfold)),
        ("cutting the oldest at each call", read_again(cut_at_each_call(room))),
    )
    most = max(new + old for _, run in runs for new, old in run)
    yield from svg(960, 440, "Tokens of each request: read from the provider's cache, and paid in full")
    for number, (what, run) in enumerate(runs):
        cached = sum(old for _, old in run) / sum(new + old for new, old in run)
        yield text(20, 30 + 190 * number, f"{what}: {cached:.0%} of all tokens from the cache", "head")
        for place, (new, old) in enumerate(run):
            yield from column(20 + 5.6 * place, 190 + 190 * number, 140 / most, new, old)
    yield from legend(20, 400, {"cached": "read from the cache, a tenth of the price", "new": "paid in full"})
    yield "</svg>"


# What really ran


def work(chat: Session, steps: int = 24) -> Iterator[None]:
    """An agent that reads, edits and runs; it stops before each of its requests."""
    chat.say("Never touch vendor/. The nightly build fails: find out why, and repair it.")
    for step in range(steps):
        yield
        if step % 8 == 7:
            chat.add(
                {"role": "assistant", "content": f"Part {step // 8} works now. I go on with the next one."}
            )
            chat.say("Good. Go on.")
            yield
        name, arguments, output = turn(step)
        thought = {
            "type": "thinking",
            "thinking": "What could it be, and where? " * 12,
            "signature": f"s{step}",
        }
        call = {"type": "tool_use", "id": f"c{step}", "name": name, "input": arguments}
        chat.add({"role": "assistant", "content": [thought, call]})
        result = {"type": "tool_result", "tool_use_id": f"c{step}", "content": output}
        chat.add({"role": "user", "content": [result]})


def turn(step: int) -> tuple[str, dict[str, str], str]:
    """The call of a step, and its output."""
    path = f"src/part{step % 5}.py"
    match step % 3:
        case 0:
            return "read", {"path": path}, "\n".join(f"line_{n} = part({n * step})" for n in range(60))
        case 1:
            change = "\n".join(f"    value_{n} = check({n}, {step})" for n in range(40))
            return "edit", {"path": path, "old": "pass", "new": change}, f"{path} has been changed."
        case _:
            log = [f"test_{n} passed in {n} ms" for n in range(50)]
            return "run", {"command": f"pytest {path}"}, "\n".join([*log, f"exit code {step % 2}"])


def reduced(strategies: list[fanfold.Strategy]) -> View:
    """The view of the work, after these strategies."""
    with fanfold.open(
        "work", model="claude-opus-4-5", budget=BUDGET, strategy=strategies or "auto", fallback=[]
    ) as chat:
        for _ in work(chat):
            pass
        if strategies:
            chat.compact(force=True)
        return chat.view()


def by_kind(view: View) -> Counter[str]:
    """The tokens of a view, by what they are."""
    kinds: Counter[str] = Counter()
    for row in view.rows:
        parts = Counter[str]()
        for message in row.messages:
            for part in message.parts:
                parts[kind_of(row, part)] += len(str(part))
        for kind, length in parts.items():
            kinds[kind] += round(row.tokens * length / parts.total())
    return kinds


def kind_of(row: Row, part: object) -> str:
    """What a part of a row is, as the legend names it."""
    if row.count > 1:
        return "handover"
    if isinstance(part, Thinking | Result):
        return "thinking" if isinstance(part, Thinking) else "tool"
    return "assistant" if row.messages[0].role == "assistant" else "user"


def requests_of(strategy: str | fanfold.Strategy) -> list[list[Row]]:
    """The rows of each request of a longer piece of work."""
    sent = []
    with fanfold.open("work", model="claude-opus-4-5", window=WINDOW, strategy=strategy) as chat:
        for _ in work(chat, 144):
            chat.request(max_tokens=500)
            sent.append(list(chat.view().rows))
    return sent


def cut_at_each_call(room: int) -> list[list[Row]]:
    """The same work, but each request has the task and as many of the newest steps as fit."""
    sent = []
    with fanfold.open("work", model="claude-opus-4-5") as chat:
        for _ in work(chat, 144):
            task, *rows = chat.view().rows
            while task.tokens + sum(row.tokens for row in rows) > room:
                del rows[: 2 if rows[0].calls else 1]
            sent.append([task, *rows])
    return sent


def read_again(sent: Sequence[Sequence[Row]]) -> list[tuple[int, int]]:
    """For each request the tokens that are new, and those that it begins with like the request before it."""
    split, before = list[tuple[int, int]](), list[Row]()
    for rows in sent:
        same = list(
            takewhile(lambda pair: pair[0].messages == pair[1].messages, zip(before, rows, strict=False))
        )
        old = sum(row.tokens for _, row in same)
        split.append((sum(row.tokens for row in rows) - old, old))
        before = list(rows)
    return split


# How it is drawn


def svg(width: int, height: int, title: str) -> Iterator[str]:
    """The beginning of a picture."""
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif"'
        f' font-size="14" role="img" aria-label="{escape(title)}">'
    )
    yield f"<title>{escape(title)}</title>"
    yield f"<style>{STYLE}</style>"
    yield f'<rect width="{width}" height="{height}" fill="#ffffff"/>'


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """Words at a place."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(words)}</text>'


def box(x: float, y: float, width: float, head: str, *lines: str) -> Iterator[str]:
    """A box with a heading and lines; an empty line leaves room."""
    yield f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="96" rx="8" fill="#f4faf9" stroke="#2a7f78"/>'
    yield text(x + 16, y + 26, head, "head")
    yield from (
        text(x + 16, y + 50 + 22 * number, line, "small") for number, line in enumerate(lines) if line
    )


def arrow(path: str, x: float, y: float, *lines: str) -> Iterator[str]:
    """An arrow along a path, and what it means, at a place."""
    yield f'<path class="line" d="{path}" marker-end="url(#tip)"/>'
    yield from (text(x, y + 17 * number, line, "small") for number, line in enumerate(lines))


def rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    """A rectangle of a kind."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" rx="1" class="{kind}"/>'


def bar(x: float, y: float, row: Row, more: str = "") -> Iterator[str]:
    """A row: as wide as it has tokens, and how it begins."""
    kind = "handover" if row.count > 1 else row.messages[0].role
    words = row.messages[0].text
    yield f'<g class="{more}">'
    yield rect(x, y, 6 + 0.6 * row.tokens, 24, kind)
    yield text(x + 52, y + 16, words if len(words) <= 46 else f"{words[:41]} …", "small")
    yield "</g>"


def stacked(x: float, y: float, scale: float, kinds: Counter[str]) -> Iterator[str]:
    """A bar of all kinds, and their sum behind it."""
    total = kinds.total()
    for kind in KINDS:
        yield rect(x, y, kinds[kind] * scale, 26, kind)
        x += kinds[kind] * scale
    yield text(x + 8, y + 18, f"{total:,}", "small")


def column(x: float, y: float, scale: float, new: int, old: int) -> Iterator[str]:
    """A request: what is read again below, what is new above."""
    yield rect(x, y - old * scale, 4.6, old * scale, "cached")
    yield rect(x, y - (old + new) * scale, 4.6, new * scale, "new")


def legend(x: float, y: float, kinds: dict[str, str]) -> Iterator[str]:
    """What the colours mean."""
    for kind, words in kinds.items():
        yield rect(x, y, 14, 14, kind)
        yield text(x + 20, y + 12, words, "small")
        x += 40 + 6.6 * len(words)


PICTURES = {"flow": draw_flow, "log": draw_log, "reduction": draw_reduction, "cache": draw_cache}

if __name__ == "__main__":
    main()
