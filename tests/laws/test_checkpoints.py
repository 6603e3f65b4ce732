"""checkpoints: opened from a checkpoint or read from the start, a session does the same, whatever the verb (19.3)."""

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import FanfoldError, Memory, Session
from fanfold.core.message import assistant
from fanfold.session.undo import standing_edits
from fanfold.stores.checkpoint import Checkpoint
from fanfold.stores.coding import Coding
from fanfold.testing import FakeModel, called, replied, response, returned, said
from fanfold.testing.generators import broken_conversations, conversations
from laws import holds
from laws.hostile import summarizes
from laws.world import occurred

Verb = Callable[[Session], Any]
ANYTHING = 'Nothing, or "everything". ' * 4
DIALECTS = ("openai.chat", "anthropic")


class Checking(Memory):
    """A store in memory that keeps checkpoints as others do: as bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.coding = Coding()
        self.kept: dict[str, tuple[int, bytes]] = {}

    def checkpoint(self, tenant: str, session: str) -> tuple[int, Checkpoint] | None:
        kept = self.kept.get(session)
        return (kept[0], self.coding.read_checkpoint(kept[1])) if kept else None

    def keep_checkpoint(self, tenant: str, session: str, seq: int, checkpoint: Checkpoint) -> None:
        self.kept[session] = (seq, self.coding.checkpoint(checkpoint))

    def erase(self, *args: Any, **rest: Any) -> None:
        super().erase(*args, **rest)
        self.kept.clear()

    def copy(self, *, checkpoints: bool) -> "Checking":
        """The same sessions in a store of their own, with or without the checkpoints."""
        other = Checking()
        other._records = {key: list(lines) for key, lines in self._records.items()}
        other._entries, other._blobs = dict(self._entries), dict(self._blobs)
        other.kept = dict(self.kept) if checkpoints else {}
        return other


def opened(store: Checking, dialect: str = "openai.chat", summarizer: FakeModel | None = None) -> Session:
    return fanfold.open(
        "run",
        window=1_500,
        dialect=dialect,
        store=store,
        strategy=summarizes,
        summarizer=summarizer or FakeModel("A summary."),
        system="Be brief.",
        recall=True,
        meter="characters/4",
        clock=lambda: 0.0,
    )


def rows_of(chat: Session) -> list[str]:
    return [row.id for row in chat.view().rows] or ["nobody"]


def path_of(chat: Session) -> list[str]:
    return holds.path_of(chat) or ["nobody"]


def a_call(chat: Session) -> str:
    return next(iter(chat._state.open_calls), "nobody")


def a_pin(chat: Session) -> str:
    return next((id for id, _ in chat._state.log.pins()), "nothing")


def an_edit(chat: Session) -> str:
    """Any edit that a person can see in the view, or knows the number of."""
    return next((row.why[-1] for row in chat.view().rows if row.why), "e1")


def forked(chat: Session, **how: Any) -> Any:
    with chat.fork("fork", **how) as fork:
        return holds.fingerprint(fork._state.view()), holds.log_of(fork).records


def spawned(chat: Session) -> Any:
    with chat.spawn(a_call(chat)) as child:
        return child.name


def heard(chat: Session) -> Any:
    with chat.listen([]) as stream:
        return list(stream)


def merged(chat: Session) -> Any:
    """A client sends all again, and one more; it makes it up where the history is another dialect's."""
    return chat.merge([said("Go on with everything."), replied("Yes.")])


def resent(chat: Session, at: int = 0) -> Any:
    """A client sends the history again, one message in other words, as far as it said it."""
    wires = [chat._state.log.message(id).wire for id in holds.path_of(chat)]
    bodies = [wire.body for wire in wires if wire is not None and wire.dialect == chat._state.dialect.name]
    if len(bodies) < 2:
        return None
    bodies[at] = {**bodies[at], "content": "In other words."}
    return chat.merge(bodies)


def said_and_erased(chat: Session) -> None:
    """Something is said, in other words too, erased, and left behind."""
    chat.add(said("my words"))
    chat.add(replied("Yes."))
    head = chat.head
    resent(chat, -2)
    chat.forward(head)
    chat.erase(path_of(chat)[-2], "asked for")
    chat.rewind(-3)


def said_and_left(chat: Session) -> None:
    """Something is said and folded there, and the session goes back to before it."""
    head = chat.head
    chat.say("Left behind.")
    chat.fold(tuple(rows_of(chat)[:2]), "Left behind, too.")
    chat.add(replied("Yes."))
    chat.rewind(head) if head is not None else chat.reset()


VERBS: dict[str, tuple[Verb, ...]] = {
    "say": (
        lambda chat: chat.say(ANYTHING),
        lambda chat: chat.say("word " * 3_000),
        lambda chat: chat.say("Left behind."),
    ),
    "add": (
        lambda chat: chat.add(assistant(ANYTHING)),
        lambda chat: chat.add(said("my words"), again=True),
        lambda chat: chat.add(said("my words")),
    ),
    "receive": (
        lambda chat: chat.receive(fanfold.Reply((assistant(ANYTHING),), None)),
        lambda chat: chat.receive(response(replied(ANYTHING), prompt=90)),
    ),
    "listen": (heard,),
    "answer": (lambda chat: chat.answer(a_call(chat), "line\n" * 200),),
    "merge": (merged, resent),
    "aside": (
        lambda chat: chat.aside([{"role": "user", "content": ANYTHING}]),
        lambda chat: chat.aside([assistant("Beside."), {"role": "user", "content": ANYTHING}]),
    ),
    "count": (lambda chat: chat.count([{"role": "user", "content": ANYTHING}]),),
    "request": (
        lambda chat: chat.request(),
        lambda chat: chat.request(context="It is late.", max_tokens=200),
    ),
    "refused": (lambda chat: chat.refused(ValueError("maximum context length is 900 tokens")),),
    "compact": (lambda chat: chat.compact(), lambda chat: chat.compact(force=True)),
    "settle": (lambda chat: chat.settle(),),
    "view": (lambda chat: holds.fingerprint(chat.view()),),
    "pressure": (lambda chat: chat.pressure(),),
    "stats": (lambda chat: chat.stats(),),
    "ledger": (lambda chat: chat.ledger(),),
    "cache": (lambda chat: chat.cache() if chat._state.log.requests else None,),
    "sent": (lambda chat: chat.sent()[0], lambda chat: chat.sent(0)[0]),
    "diff": (lambda chat: chat.diff(0, -1),),
    "body": (lambda chat: chat.body(), lambda chat: chat.body(0)),
    "requests": (lambda chat: chat.requests(),),
    "edits": (lambda chat: chat.edits(),),
    "preview": (
        lambda chat: chat.preview(),
        lambda chat: chat.preview("undo"),
        lambda chat: chat.preview("undo", an_edit(chat), through=True),
    ),
    "why": (lambda chat: chat.why(path_of(chat)[0]),),
    "fold": (
        lambda chat: chat.fold(tuple(rows_of(chat)[:1]), "By hand."),
        lambda chat: chat.fold(tuple(rows_of(chat)[:-1]), "By hand."),
    ),
    "undo": (lambda chat: chat.undo(), lambda chat: chat.undo(an_edit(chat), through=True)),
    "redo": (lambda chat: chat.redo(),),
    "release": (lambda chat: [chat.release(id) for id in list(chat._state.log.undone())],),
    "rewind": (lambda chat: chat.rewind(0), lambda chat: chat.rewind(turns=1)),
    "forward": (lambda chat: chat.forward(),),
    "refresh": (lambda chat: chat.refresh(),),
    "reset": (lambda chat: chat.reset(),),
    "pin": (lambda chat: chat.pin(rows_of(chat)[-1]), lambda chat: chat.pin("words")),
    "pins": (lambda chat: chat.pins(),),
    "unpin": (lambda chat: chat.unpin(a_pin(chat)),),
    "note": (lambda chat: chat.note("state", "green"),),
    "erase": (
        lambda chat: chat.erase(path_of(chat)[0], "asked for"),
        lambda chat: chat.erase(path_of(chat)[-1], "asked for"),
    ),
    "output": (lambda chat: chat.output("o1").text(), lambda chat: chat.output("m1").text()),
    "outputs": (lambda chat: [output.text() for output in chat.outputs()],),
    "tools": (lambda chat: chat.tools(),),
    "find_tool": (lambda chat: chat.find_tool(fanfold.Call("f1", "find_tool", "{}")),),
    "recall": (
        lambda chat: chat.recall(fanfold.Call("r1", "tool_output_cache", '{"ref": "o1"}')),
        lambda chat: chat.recall(fanfold.Call("r1", "tool_output_cache_grep", '{"pattern": "word"}')),
    ),
    "gc": (lambda chat: chat.gc(), lambda chat: chat.gc(delete=True, hidden=True)),
    "fork": (forked, lambda chat: forked(chat, edits=False)),
    "spawn": (spawned,),
    "close": (lambda chat: chat.close(),),
    "name": (lambda chat: chat.name,),
    "head": (lambda chat: chat.head,),
    "branches": (lambda chat: chat.branches,),
}
"""Every verb, in a few ways."""
CASES = [(name, number) for name, verbs in VERBS.items() for number in range(len(verbs))]
IN_TURN = [
    pytest.param(*case, dialect, marks=() if (at + nth) % 2 == 0 else pytest.mark.slow)
    for at, case in enumerate(CASES)
    for nth, dialect in enumerate(DIALECTS)
]
"""Each in one dialect, and then in the other; `make test-all` has both for each."""
BEFORE: dict[str, Verb] = {
    "fold": lambda chat: chat.fold(tuple(rows_of(chat)[1:3]), "By hand."),
    "fold again": lambda chat: chat.fold(tuple(rows_of(chat)[:2]), "Again."),
    "request": lambda chat: chat.request(),
    "compact": lambda chat: chat.compact(force=True),
    "note": lambda chat: chat.note("state", "red"),
    "pin": lambda chat: chat.pin(rows_of(chat)[0]),
    "pin words": lambda chat: chat.pin("words"),
    "unpin": lambda chat: chat.unpin(a_pin(chat)),
    "undo": lambda chat: chat.undo(),
    "redo": lambda chat: chat.redo(),
    "release": lambda chat: chat.release("e1"),
    "rewind": lambda chat: chat.rewind(turns=1),
    "rewind far": lambda chat: chat.rewind(1),
    "rewind a little": lambda chat: chat.rewind(-2),
    "forward": lambda chat: chat.forward(),
    "resend": resent,
    "say and erase": said_and_erased,
    "say and leave": said_and_left,
    "call": lambda chat: chat.add(assistant("", fanfold.Call("c98", "bash", "{}"))),
    "answer": lambda chat: chat.answer(a_call(chat), "words of a tool\n" * 200),
    "say": lambda chat: chat.say("more words " * 20),
    "reply": lambda chat: chat.add(assistant("some words " * 20)),
    "erase": lambda chat: chat.erase(path_of(chat)[0], "asked for"),
}
"""What happens before the session is closed and opened again."""
DONE: Counter[str] = Counter()
"""The verbs that were done, and not refused, in a session opened from a checkpoint."""


def done(chat: Session, verb: Verb) -> Any:
    try:
        return verb(chat)
    except FanfoldError as error:
        return type(error).__name__, str(error)


def prepared(bodies: list[Any], steps: list[str], dialect: str) -> Checking:
    """A session in which this happened, closed."""
    store = Checking()
    with opened(store) as chat:
        chat.merge(bodies)
    with opened(store, dialect) as chat:
        for step in steps:
            done(chat, BEFORE[step])
    return store


def came_of(store: Checking, verb: Verb, dialect: str) -> dict[str, Any]:
    """Everything that a verb does to a session that was just opened."""
    with opened(store, dialect) as chat:
        came = done(chat, verb)
        seen = {
            "came": came,
            "view": holds.fingerprint(chat._state.view()),
            "calls": dict(chat._state.open_calls),
            "records": store.load("default", "run").records,
        }
        if not chat._state._closed:
            seen["request"] = done(chat, lambda chat: chat.request())
    with opened(store.copy(checkpoints=False), dialect) as chat:
        seen["later"] = holds.fingerprint(chat._state.view())
        seen["standing"] = [decision.id for decision in standing_edits(chat._state)]
    return seen


def the_same_is_done(store: Checking, name: str, number: int, dialect: str) -> None:
    verb = VERBS[name][number]
    fast, whole = (came_of(store.copy(checkpoints=some), verb, dialect) for some in (True, False))
    refused = isinstance(fast["came"], tuple) and fast["came"][:1] and isinstance(fast["came"][0], str)
    DONE[name] += not refused
    for what, there in whole.items():
        assert fast[what] == there, f"after `{name}` ({number}), another {what}"


def test_every_verb_is_tried() -> None:
    assert set(VERBS) == {name for name in dir(Session) if not name.startswith("_")}


TALK = [
    said("Mend the build, in few words. " * 6),
    replied("Looking. " * 20, called("c1")),
    returned("c1", "some words of a tool\n" * 40),
    replied("It is the lexer. " * 20),
    said("Then mend the lexer. " * 6),
    replied("Looking again. " * 20, called("c2")),
    returned("c2", "other words of a tool\n" * 40),
    replied("Done, in other words. " * 20),
    said("And now? " * 20),
]
EVERYTHING = [
    "request",
    "note",
    "fold",
    "pin",
    "pin words",
    "compact",
    "undo",
    "say",
    "reply",
    "request",
    "fold again",
]
SENT = ["say", "request", "reply", "request", "rewind a little"]
ERASED = ["resend", "fold", "say and erase"]
LEFT = ["request", "fold", "pin", "unpin", "rewind", "note", "call", "request"]


@cache
def prepared_talk(steps: tuple[str, ...], dialect: str) -> Checking:
    """The same for every verb; each works on a copy."""
    return prepared(TALK, list(steps), dialect)


@pytest.mark.parametrize(("name", "number", "dialect"), IN_TURN)
def test_a_verb_does_the_same_from_a_checkpoint_and_from_the_start(
    name: str, number: int, dialect: str
) -> None:
    """(19.3) `unpin` forgot every fold of a session that was opened from a checkpoint."""
    for steps in (EVERYTHING, LEFT, SENT, ERASED, ["fold", "pin"], ["say and leave"]):
        the_same_is_done(prepared_talk(tuple(steps), dialect), name, number, dialect)


@given(
    conversations() | broken_conversations(),
    st.lists(st.sampled_from(list(BEFORE)), max_size=8),
    st.lists(st.sampled_from(CASES), min_size=4, max_size=4),
    st.sampled_from(DIALECTS),
)
def test_whatever_happened_before_a_verb_does_the_same(
    bodies: list[Any], steps: list[str], cases: list[tuple[str, int]], dialect: str
) -> None:
    """(19.3) The same for sessions of all kinds."""
    store = prepared(bodies, steps, dialect)
    occurred("opened from a checkpoint", bool(store.kept))
    for name, number in cases:
        the_same_is_done(store, name, number, dialect)


def test_a_question_that_was_answered_before_a_checkpoint_is_not_asked_again() -> None:
    """(19.3) A summary was paid for twice, where its fold was left behind in between."""
    store = Checking()
    with opened(store) as chat:
        chat.merge(TALK)
        chat.compact(force=True)
        chat.undo()
        chat.release("e1")
    model = FakeModel("Another summary.")
    with opened(store, summarizer=model) as chat:
        assert chat._state.log.resumed_at
        assert chat.compact(force=True).decisions
    assert not model.asked


def test_a_request_has_the_same_cache_marks_from_a_checkpoint() -> None:
    """(19.3) Asked for again, it had lost the mark where the request before it ended."""
    store = Checking()
    with opened(store, "anthropic") as chat:
        chat.say("Mend the build.")
        chat.request()
        chat.add(assistant("It is mended."))
        chat.say("And now?")
        before = chat.request()
    with opened(store, "anthropic") as chat:
        assert chat._state.log.resumed_at
        assert chat.request() == before
    assert "cache_control" in before["messages"][0]["content"][-1]
