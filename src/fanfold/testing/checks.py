"""Checks for those who write a strategy or a dialect: an AssertionError says what is wrong."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from itertools import pairwise
from logging import getLogger
from pathlib import Path
from traceback import extract_tb
from types import GeneratorType
from typing import Any

import fanfold
from fanfold.asking.drive import GREW, REFUSED, Asker
from fanfold.config.options import value_of
from fanfold.core.budget import Budget
from fanfold.core.edit import Note
from fanfold.core.errors import DoesNotFit
from fanfold.core.message import Call, Image, Message, Result, Text, assistant, result, text_of, user
from fanfold.core.plan import Outcome, Strategy, name_of, run
from fanfold.core.view import Row, View
from fanfold.dialects.dialect import Dialect, bare_row, decode, encode
from fanfold.session.open import open
from fanfold.session.session import Session
from fanfold.stores.memory import Memory
from fanfold.testing.checking import sure
from fanfold.testing.models import FakeModel
from fanfold.testing.talks import Body, called, replied, returned, said, talk

_GROWING = 30
"""So many steps a conversation has that grows."""
_SLIGHT = 20
"""An edit may lose one token in so many of the window: what a few words are replaced by is often longer than they."""
_SHAPES: dict[str, list[Body]] = {
    "several turns": [
        said("Task 0: make the parser faster.\nNever touch the vendor folder."),
        *talk(6, 2)[1:],
    ],
    "one long run of tools": [*talk(1, 20)[:-1]],
    "words only": talk(12, 0),
    "one huge output": [said("Go."), replied(None, called("c1")), returned("c1", "line of words " * 3_000)],
    "one message": [said("Hello.")],
}

_EXAMPLE = " ".join(_SHAPES["several turns"][2]["content"].split()[:3])


def check_strategy(
    strategy: Strategy | str, *, summarizer: Asker | None = None, window: int = 2_000, keep_first: bool = True
) -> str:
    """Let a strategy reduce conversations of several shapes, and see that it keeps every promise.

    A strategy that never does anything breaks none, so the sentence says what it did, and how often something else had
    to reduce in its place. `keep_first=False` is for one that may drop the user's first request. A name will do, too.
    """
    (tried,) = value_of("strategy", (strategy,))
    logger, made, larger = getLogger("fanfold"), list[str](), list[str]()
    disabled, logger.disabled = logger.disabled, True  # what it warns of is said in the error
    try:
        _try_shapes(tried, summarizer, window, made, larger, keep_first)
        grown = _try_growing(tried, summarizer, window)
    finally:
        logger.disabled = disabled
    sure(
        bool(made) or not larger,
        f"{name_of(tried)} never makes the view smaller: all its edits were refused, the first because "
        f"{''.join(larger[:1])}. What an edit shows has to be shorter than what it covers.",
    )
    left = _say_left(name_of(tried), grown)
    if not made and left:
        none = f"{name_of(tried)} never did anything: it changed none of {len(_SHAPES)} conversations"
        return f"{none}, whose outputs look like {_EXAMPLE!r}. So nothing is known about its promises. {left}"
    if not made:
        return f"{name_of(tried)} keeps every promise, but changed none of {len(_SHAPES)} conversations at first sight."
    named = ", ".join(dict.fromkeys(made))
    done = f"it shortened {len(set(made))} of {len(_SHAPES)} conversations ({named})"
    told = f"{name_of(tried)} keeps every promise: {done}, and left the others alone."
    return " ".join(filter(None, (told, left)))


def _say_left(name: str, grown: Sequence[Outcome]) -> str:
    """How often a conversation that grew was too long, and something else had to reduce it; nothing where none had."""
    others = [one.strategy for one in grown if one.strategy not in (name, None)]
    if not others:
        return ""
    own, asked = sum(one.strategy == name for one in grown), f"{len(grown):,} times"
    did = f"it reduced only {own:,} of the {asked}" if own else f"it did nothing at any of the {asked}"
    steps = f"{len(others):,} times" if len(others) > 1 else "once"
    why = " What its edits left comes back in `view.offered`, as rows of the kinds 'drop' and 'fold'." * bool(
        own
    )
    return (
        f"In a conversation that grew, {did} that the view was over its trigger: "
        f"{' and '.join(dict.fromkeys(map(str, others)))} had to reduce in its place {steps}.{why}"
    )


def _try_shapes(
    strategy: Strategy,
    summarizer: Asker | None,
    window: int,
    made: list[str],
    larger: list[str],
    keep_first: bool,
) -> None:
    """Reduce every conversation twice, and see that the same is decided."""
    for shape, bodies in _SHAPES.items():
        first = _reduce(strategy, summarizer, window, shape, bodies, made, larger, keep_first)
        second = _reduce(strategy, summarizer, window, shape, bodies, [], [], keep_first)
        sure(
            [decision.edit for decision in first.decisions]
            == [decision.edit for decision in second.decisions],
            f"{name_of(strategy)} decides differently each time ({shape}): nothing but the view may count.",
        )


def _try_growing(strategy: Strategy, summarizer: Asker | None, window: int) -> list[Outcome]:
    """Let a conversation grow until it was reduced several times, and see that the strategy still finds what to do."""
    told, store = list[Outcome](), Memory()
    asked = summarizer or FakeModel()
    with open(
        "check",
        window=window,
        strategy=strategy,
        summarizer=asked,
        filters=(),
        store=store,
        on_edit=told.append,
    ) as chat:
        bodies = talk(1, _GROWING)[:-1]
        for body, following in pairwise([*bodies, {}]):
            chat.merge([body]) if chat.head is None else chat.add(body)
            # While a call has no result yet, nobody asks: the session would repair that, and show the repair.
            if body["role"] != "assistant" and following.get("role") != "tool":
                with suppress(
                    DoesNotFit
                ):  # a window for which the check is too long says nothing of a strategy
                    chat.request()
    name, own = name_of(strategy), 0
    for outcome in told:
        own += outcome.strategy == name
        refused = str(outcome.error).partition(f"{name}: {REFUSED}: ")[2]
        sure(
            not own or not refused or outcome.strategy == name,
            f"{name} (a conversation that grows) shortened it, but at a later reduction all its edits were refused: "
            f"{refused}. {outcome.strategy or 'Nothing'} did it instead. What earlier edits left comes back in "
            "`view.offered`, as rows of the kinds 'drop' and 'fold': cover them together with more, or leave them out.",
        )
    return told


def _reduce(
    strategy: Strategy,
    summarizer: Asker | None,
    window: int,
    shape: str,
    bodies: Sequence[Body],
    made: list[str],
    larger: list[str],
    keep_first: bool,
) -> Outcome:
    refused, raised = list[str](), list[Exception]()
    asked, watched = summarizer or FakeModel(), _watch(strategy, refused, raised, lambda: made.append(shape))
    store = Memory()  # never the one of the settings
    with open("check", window=window, strategy=watched, summarizer=asked, filters=(), store=store) as chat:
        chat.merge(bodies)
        before = chat.view().messages
        outcome = chat.compact(force=True)
        where = f"{name_of(strategy)} ({shape})"
        if raised:
            raise AssertionError(f"{where} failed: {outcome.error}{_place_of(raised[0])}") from raised[0]
        sure(not _is_failure(outcome), f"{where} failed: {outcome.error}")
        larger += filter(_loss, refused)
        refused = _mistakes(refused, window, tried=shape in made)
        more = f" ({len(refused) - 1:,} more were refused)" if len(refused) > 1 else ""
        sure(not refused, f"{where} made an edit that was refused: {refused[:1] and refused[0]}{more}")
        noted = any(isinstance(decision.edit, Note) for decision in outcome.decisions)
        sure(noted or outcome.after <= outcome.before, f"{where} made the view larger.")
        sure(
            not keep_first or _is_told(bodies[0]["content"], chat.view()),
            f"{where} drops the user's first request, and with it the task and its rules. Let it stay: give "
            "`view.oldest` also `but=[row for row in view.rows if row.is_request][:1]`, or quote it in what you show. "
            "If it may go, check with `keep_first=False`.",
        )
        chat.request()
        sure(_brought_back(chat) == before, f"{where}: undoing its edits does not give the view before back.")
    return outcome


def _is_told(words: str, view: View) -> bool:
    """Whether these words are in view, in their place or quoted; lines may be broken otherwise."""
    shown = " ".join(text_of(message, unescaped=True) for message in view.messages)
    return " ".join(words.split()) in " ".join(shown.split())


def _is_failure(outcome: Outcome) -> bool:
    """Whether something failed; what was refused is judged apart, and may only have saved too little."""
    return outcome.error is not None and REFUSED not in outcome.error and GREW not in outcome.error


def _place_of(error: Exception) -> str:
    """The line at which a strategy failed, the last one outside of fanfold; nothing where there is none."""
    return _place([(line.filename, line.lineno or 0) for line in extract_tb(error.__traceback__)])


def _place_in(made: object, strategy: Strategy) -> str:
    """The line at which a generator stands; of a function that returned a list, the line where it begins."""
    if not isinstance(made, GeneratorType):
        code = getattr(strategy, "__code__", None)
        return _place([(code.co_filename, code.co_firstlineno)]) if code else ""
    lines = list[tuple[str, int]]()
    while isinstance(made, GeneratorType) and made.gi_frame:
        lines.append((made.gi_code.co_filename, made.gi_frame.f_lineno))
        made = made.gi_yieldfrom
    return _place(lines)


def _place(lines: Sequence[tuple[str, int]]) -> str:
    """The last of these lines that is outside of fanfold, to be read after a sentence; nothing where there is none."""
    inside = str(Path(fanfold.__file__).parent)
    line = next((line for line in reversed(lines) if not line[0].startswith(inside)), None)
    return f" ({Path(line[0]).name}, line {line[1]})" if line else ""


def _mistakes(refused: Sequence[str], window: int, *, tried: bool) -> list[str]:
    """The refusals to tell of: not that an edit makes the view a little larger, or was only tried before another."""
    return [
        reason
        for reason in refused
        if not (loss := _loss(reason)) or (loss > window // _SLIGHT and not tried)
    ]


def _loss(refused: str) -> int:
    """By how many tokens a refused edit would have made the view larger."""
    found = re.match(r"it makes the view larger by ([\d,]+) token", refused)
    return int(found[1].replace(",", "")) if found else 0


def _watch(
    strategy: Strategy, refused: list[str], raised: list[Exception], edited: Callable[[], object]
) -> Strategy:
    """The same strategy, every refusal noted but that an edit saves little or nothing: that is no mistake."""

    def watch(view: View, budget: Budget) -> Generator[Any, Any, None]:
        made: object = None

        def begin(view: View, budget: Budget) -> Any:
            nonlocal made
            made = strategy(view, budget)
            return made

        steps = run(begin, view, budget)
        got: Any = None
        while True:
            try:
                step = steps.send(got)
            except StopIteration:
                return
            except Exception as error:  # told with its line, which an outcome does not keep
                raised.append(error)
                raise
            place = _place_in(made, strategy)
            got = yield step
            if (
                isinstance(got, View)
                and got.refused
                and (_loss(got.refused) or not got.refused.startswith("it saves"))
            ):
                refused.append(f"{got.refused}{place}")
            elif isinstance(got, View) and not got.refused:
                edited()

    watch.__name__ = name_of(strategy)
    return watch


def _brought_back(chat: Session) -> tuple[Message, ...]:
    standing = [row for row in chat.view().rows if row.why and row.kind != "mend"]
    while standing:
        chat.undo(standing[-1].why[-1], through=True)
        standing = [row for row in chat.view().rows if row.why and row.kind != "mend"]
    return chat.view().messages


_CALL = Call("c1", "run", '{"x": 1}')
_PLAIN: tuple[Message, ...] = (
    user("Hello."),
    user(""),
    user("漢字 🙂 \ud800"),
    Message("user", (Text("Look:"), Image(media="image/png", data="AA=="))),
    assistant("Words."),
    assistant("", _CALL),
    assistant("Both.", _CALL, Call("c2", "run", '{"x": NaN}')),
    result("c1", "out"),
    result("c1", "", error=True),
    Message("tool", (Result("c1", (Text("a"),)), Result("c2", (Text("b"),)))),
)
_LATE = "What came late."
_BROKEN: dict[str, tuple[Message, ...]] = {
    "a result without its call": (user("Hi."), result("c1", "out")),
    "a call without its result": (user("Hi."), assistant("", _CALL), user("And?")),
    "a call at the end": (user("Hi."), assistant("", _CALL)),
    "two calls with one id": (user("Hi."), assistant("", _CALL, _CALL), result("c1", "a"), result("c1", "b")),
    "a result too many": (user("Hi."), assistant("", _CALL), result("c1", "a"), result("c1", "b")),
}


_LEGAL = (user("Hi."), assistant("", _CALL), result("c1", "out"), assistant("Done."), user("And?"))


def check_dialect(dialect: Dialect, *requests: Any) -> None:
    """See that a dialect loses nothing of these wire requests, and that it sees and repairs what no provider takes."""
    for request in requests:
        given = copy.deepcopy(request)
        frame, messages, params = decode(dialect, request)
        sure(repr(request) == repr(given), f"{dialect.name} changes what it is handed.")
        back = encode(dialect, frame, messages, params)
        sure(
            repr(_sort(back)) == repr(_sort(given)),
            f"{dialect.name} does not return {given!r}: {back!r}",
        )
    for message in _PLAIN:
        once = normal(dialect, message)
        sure(
            normal(dialect, *once) == once,
            f"{dialect.name} reads {message!r} differently the second time.",
        )
    faults = dialect.check(_rows(dialect, _LEGAL), {})
    sure(not faults, f"{dialect.name} finds fault with a legal request: {'; '.join(map(str, faults))}")
    for what, messages in _BROKEN.items():
        _repairs(dialect, what, messages)
    _covers(dialect)


def normal(dialect: Dialect, *messages: Message) -> tuple[Message, ...]:
    """Messages as a dialect can say them: written to its wire and read again, without the wire form."""
    bodies = [body for message in messages for body in dialect.wire(message)]
    return tuple(Message(read.role, read.parts) for read in map(dialect.message, bodies))


def _repairs(dialect: Dialect, what: str, messages: Sequence[Message]) -> None:
    rows = _rows(dialect, messages)
    sure(bool(dialect.check(rows, {})), f"{dialect.name} does not see {what}.")
    repaired = _repair(dialect, rows)
    left = dialect.check(repaired, {})
    sure(not left, f"{dialect.name} does not repair {what}: {'; '.join(map(str, left))}")
    sure(_is_paired(repaired), f"{dialect.name} does not repair {what}, and does not see it.")
    sure(not dialect.repair(repaired, {}), f"{dialect.name} repairs {what} again after it was repaired.")


def _covers(dialect: Dialect) -> None:
    """Every repair covers all that it shows: an erasure looks for what was made from a message by that."""
    waiting = _repair(dialect, _rows(dialect, (user("Hi."), assistant("", _CALL), user("And now?"))))
    said = [message for row in waiting for message in row.messages]
    rows = _rows(dialect, (*said, result("c1", _LATE)))
    for covers, shows in dialect.repair(rows, {}):
        sure(
            _LATE not in _words(shows) or rows[-1].id in covers,
            f"{dialect.name} repairs a result that came late by a row that shows it and does not cover it.",
        )


def _words(messages: Sequence[Message]) -> str:
    """All words of some messages."""
    return " ".join(text_of(part) for message in messages for part in message.parts)


def _rows(dialect: Dialect, messages: Sequence[Message]) -> list[Row]:
    return [bare_row(dialect, message, i) for i, message in enumerate(messages)]


def _is_paired(rows: Sequence[Row]) -> bool:
    """Whether every call has an id of its own and one result after it: judged apart from the dialect's own rules."""
    waiting: set[str] = set()
    known: set[str] = set()
    for part in (part for row in rows for message in row.messages for part in message.parts):
        if isinstance(part, Call):
            if part.id in known:
                return False
            known.add(part.id)
            waiting.add(part.id)
        elif isinstance(part, Result):
            if part.call not in waiting:
                return False
            waiting.remove(part.call)
    return not waiting


def _repair(dialect: Dialect, rows: Sequence[Row]) -> list[Row]:
    shown: dict[str, Sequence[Message]] = {row.id: row.messages for row in rows}
    for covers, shows in dialect.repair(rows, {}):
        shown.update(dict.fromkeys(covers, ()) | {covers[0]: shows})
    return _rows(dialect, [message for messages in shown.values() for message in messages])


def _sort(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sort(value[key]) for key in sorted(value)}
    return [_sort(item) for item in value] if isinstance(value, list | tuple) else value
