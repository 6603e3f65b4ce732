"""Playing the task three times: unmanaged, with a plain sliding window, with fanfold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

import fanfold
from fanfold.config.defaults import meter_for
from fanfold.core.message import Message
from fanfold.core.view import Row, View
from fanfold.demo import library, script
from fanfold.demo.account import RunAccount
from fanfold.stores.sqlite import SQLite
from fanfold.tokens.meter import Meter

MODEL = "gpt-5.2"
WINDOW = 32_000
REPLY = 2_000
SEARCHED = "o2"
"""The output of the second step, in which the model looks something up at the end."""
KINDS = ("system", "tools", "pinned", "summary", "outputs", "talk")


class Moment(msgspec.Struct, frozen=True):
    """One moment of the run, for the picture."""

    step: int
    steps: int
    kinds: dict[str, int]
    """Tokens in the window by kind."""
    account: RunAccount
    event: str = ""
    """What was just done to the view."""


class DemoRun(msgspec.Struct, frozen=True):
    """What is left of a whole run."""

    accounts: tuple[RunAccount, ...]
    messages: tuple[Message, ...]
    """Everything that was said, in order."""
    outputs: tuple[str, ...]
    """What the tools gave back, as they gave it."""
    place: str
    """The file whose places the model wanted back at the end."""
    recalled: str
    """What it found."""


def play(chat: fanfold.Session, steps: int, seen: Callable[[Moment], None]) -> DemoRun:
    """Run the task to its end."""
    ours, meter, outputs = RunAccount("fanfold", MODEL), meter_for(None, MODEL), []
    chat.pin(chat.say(f"{script.REQUEST}\n{script.RULE}").id)
    for number, (said, tool, arguments) in enumerate(script.steps(steps), 1):
        before = chat.view()
        _ask(chat, ours)
        seen(
            Moment(
                step=number,
                steps=steps,
                kinds=kinds_of(chat.view(), meter),
                account=ours,
                event=event(before, chat.view()),
            )
        )
        (call,) = chat.receive(script.reply(number, said, tool, arguments)).calls
        outputs.append(library.run(call.name, call.args))
        chat.answer(call, outputs[-1])
    place = outputs[1].partition(":")[0]
    recalled = _look_back(chat, ours, place, steps)
    seen(Moment(step=steps, steps=steps, kinds=kinds_of(chat.view(), meter), account=ours, event=""))
    messages, frame = everything(chat), chat.view().frame.tokens
    return DemoRun(
        accounts=(*_others(messages, frame, meter), ours),
        messages=messages,
        outputs=tuple(outputs),
        place=place,
        recalled=recalled,
    )


def _look_back(chat: fanfold.Session, ours: RunAccount, place: str, steps: int) -> str:
    """The model looks something up that left the window long ago; `receive` answers it."""
    _ask(chat, ours)
    chat.receive(script.reply(steps + 1, *script.looking_back(SEARCHED, place)))
    found = chat.view().messages[-1].results[0].text
    _ask(chat, ours)
    chat.receive(script.last_reply("Done: every place is read, and named as path:line."))
    return found


def _ask(chat: fanfold.Session, account: RunAccount) -> None:
    """Make the next request, and count it as the provider would."""
    chat.request(max_tokens=REPLY)
    rows = (chat.view().frame, *chat.view().rows)
    account.take([row.weight.digest for row in rows], [row.tokens for row in rows])


def event(before: View, after: View) -> str:
    """What a request did to the view, in a few words."""
    if after.tokens >= before.tokens:
        return ""
    new = [row for row in after.rows if before.row(row.id) is None and row.kind != "entry"]
    elided = sum(row.was is not None for row in after.rows) - sum(row.was is not None for row in before.rows)
    what = [f"{row.count} messages → 1 {row.kind}" for row in new]
    what += [f"{elided} outputs → placeholders"] if elided > 0 else []
    return f"{', '.join(what) or 'reduced'}: {before.tokens:,} → {after.tokens:,} tokens"


def kinds_of(view: View, meter: Meter) -> dict[str, int]:
    """The tokens of a view by kind."""
    kinds = dict.fromkeys(KINDS, 0)
    kinds["system"] = sum(map(meter.message, view.frame.messages))
    kinds["tools"] = view.frame.tokens - kinds["system"]
    for row in view.rows:
        kinds[_kind(row)] += row.tokens
    return kinds


def _kind(row: Row) -> str:
    if row.pinned:
        return "pinned"
    if row.kind in ("fold", "drop", "note"):
        return "summary"
    return "outputs" if row.results else "talk"


def everything(chat: fanfold.Session) -> tuple[Message, ...]:
    """All that was said, from the log."""
    with chat.fork("everything", window=10**9, edits=False) as whole:
        return whole.view().messages


def _others(messages: tuple[Message, ...], frame: int, meter: Meter) -> Iterator[RunAccount]:
    """What the same task costs unmanaged, and with a plain sliding window."""
    weights = list(map(meter.message, messages))
    yield _sliding("unmanaged", messages, weights, frame, None)
    yield _sliding("sliding window", messages, weights, frame, WINDOW - REPLY)


def _sliding(
    name: str, messages: tuple[Message, ...], weights: list[int], frame: int, room: int | None
) -> RunAccount:
    """Send the newest messages that fit before every reply; without a room, all of them until the window is full."""
    account = RunAccount(name, MODEL)
    for end in [i for i, message in enumerate(messages) if message.role == "assistant"]:
        start = 0 if room is None else _first(messages, weights, end, room - frame)
        tokens = [frame, *weights[start:end]]
        if sum(tokens) + REPLY > WINDOW:
            account.failed = account.requests + 1
            return account
        account.take(["frame", *range(start, end)], tokens)
        if start and account.forgot is None:
            account.forgot = account.requests
    return account


def _first(messages: tuple[Message, ...], weights: list[int], end: int, room: int) -> int:
    """The first message that still fits, and does not answer a call that no longer does."""
    start = end
    while start and room - weights[start - 1] >= 0:
        start -= 1
        room -= weights[start]
    while start < end and messages[start].results:
        start += 1
    return start


def open_session(folder: Path) -> fanfold.Session:
    """The session of the demo, kept in a file of its own."""
    return fanfold.open(
        "audit",
        model=MODEL,
        window=WINDOW,
        system=script.SYSTEM,
        tools=library.TOOLS,
        store=SQLite(folder / "demo.db"),
    )
