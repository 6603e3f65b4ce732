"""All operations of a session in random order, with strategies that mean well and ones that do not."""

from typing import Any

import pytest
from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from fanfold import Budget, drop_oldest, elide
from fanfold.core.message import text_of
from fanfold.strategies.auto import auto
from fanfold.strategies.extract import extract
from fanfold.strategies.handover.layers import digest
from fanfold.strategies.importance import importance
from fanfold.strategies.rolling import rolling
from fanfold.strategies.summarize import summarize
from fanfold.strategies.truncate import truncate
from fanfold.testing import called, replied, response, returned, said
from fanfold.testing.generators import arguments, replies, requests, results, texts
from fanfold.testing.models import gist
from laws import holds
from laws.hostile import HOSTILE, summarizes
from laws.world import World, happened


def answers(world: World, question: Any) -> str:
    return gist(question)


def fails(world: World, question: Any) -> str:
    raise ConnectionError("no line")


def says_nothing(world: World, question: Any) -> str:
    return " "


def says_too_much(world: World, question: Any) -> str:
    return "word " * 3_000


def is_interrupted(world: World, question: Any) -> str:
    world.chat.say("By the way, meanwhile…")
    return gist(question)


def is_rewound(world: World, question: Any) -> str:
    world.chat.rewind(0)
    return gist(question)


def fills_in(world: World, question: Any) -> str:
    return f'{{"goal": "mend it", "current_phase": "{len(question.messages)}"}}'


MODELS = (answers, fills_in, fails, says_nothing, says_too_much, is_interrupted, is_rewound)
KIND = (
    None,
    drop_oldest(keep_first=False),
    elide(),
    digest(),
    auto(thrift=1.0),
    importance(),
    rolling(),
    summarize(),
    truncate(),
    extract(),
    summarizes,
    [elide(), drop_oldest(), summarizes],
)
BUDGETS = (
    Budget(window=300, reserve=50),
    Budget(window=700),
    Budget(window=1_500, trigger=0.5, target=0.2),
    Budget(window=4_000, trigger=0.3, target=0.1),
    Budget(window=3_000, max_bytes=2_500),
)
NAMES = (None, "gpt-4o", "deepseek-chat")
"""Models: one whose provider wants a key for its cache, one that wants its reasoning back."""
PICK = st.integers(0, 200)
SHORT = texts(most=60)


class Conversation(RuleBasedStateMachine):
    """Whatever is done to a session, the laws hold after every step."""

    @initialize(
        strategy=st.sampled_from(KIND),
        budget=st.sampled_from(BUDGETS),
        model=st.sampled_from(MODELS),
        name=st.sampled_from(NAMES),
    )
    def begin(self, strategy: Any, budget: Budget, model: Any, name: str | None) -> None:
        self.world = World(strategy, budget=budget, summarizer=model, model=name)
        self.number = 0
        self.world.do("add", said("Mend the build. Never touch the vendor folder."))

    def _ids(self, count: int) -> tuple[str, ...]:
        self.number += 1
        return tuple(f"c{self.number}-{n}" for n in range(count))

    @rule(body=requests(most=200))
    def say(self, body: Any) -> None:
        self.world.do("add", body)

    @rule(text=SHORT)
    def say_words(self, text: str) -> None:
        self.world.do("say", text)

    @rule(data=st.data(), count=st.integers(0, 3))
    def receive(self, data: Any, count: int) -> None:
        body = data.draw(replies(self._ids(count), most=100))
        last = self.world.log.sent[-1].tokens if self.world.log.sent else 0
        prompt = data.draw(st.sampled_from((None, None, last, int(last * 1.3) + 5)))
        self.world.do("receive", response(body, prompt=prompt))

    @rule(
        data=st.data(), count=st.integers(1, 3), raw=arguments(), output=texts(most=300), late=st.booleans()
    )
    def step(self, data: Any, count: int, raw: str, output: str, late: bool) -> None:
        ids = self._ids(count)
        self.world.do("add", replied("On it.", *(called(id, "run", raw) for id in ids)))
        apart = [returned(id, output) for id in ids[: count - late]]
        for message in data.draw(st.just(apart) | results(ids, most=200)):
            self.world.do("add", message)

    @rule(pick=PICK, output=texts(most=300), error=st.booleans())
    def answer(self, pick: int, output: str, error: bool) -> None:
        waiting = list(self.world.chat._state.open_calls)
        if waiting:
            self.world.do("answer", waiting[pick % len(waiting)], output, error=error)

    @rule(output=SHORT)
    def answer_nobody(self, output: str) -> None:
        assert self.world.do("add", returned("nobody", output)) is None

    @rule(pick=PICK)
    def merge_the_same(self, pick: int) -> None:
        self.world.merge(self.world.transcript(pick))

    @rule(data=st.data(), orphan=st.booleans(), open=st.booleans())
    def merge_more(self, data: Any, orphan: bool, open: bool) -> None:
        more = [data.draw(requests(most=100))]
        if orphan:
            event("an orphaned result")
            more.insert(data.draw(st.integers(0, 1)), returned("c-nobody", data.draw(SHORT)))
        ids = self._ids(2)
        more.append(data.draw(replies(ids, most=100)))
        more += [returned(id, data.draw(texts(most=200))) for id in ids[: 1 if open else 2]]
        self.world.merge([*self.world.transcript(), *more])

    @rule(pick=PICK, text=SHORT)
    def merge_replaced(self, pick: int, text: str) -> None:
        self.world.replace(pick, text)

    @rule(
        pick=PICK, other=PICK, text=SHORT, then=st.sampled_from(("request", "fold", "pin", "compact", "fork"))
    )
    def replace_and_erase(self, pick: int, other: int, text: str, then: str) -> None:
        at = self.world.replace(pick, text)
        if at is None:
            return
        self.the_laws_hold()
        quote = self.world.transcript()[at]["content"].splitlines()[-1]
        match then:
            case "request":
                self.world.request(context=quote)
            case "fold":
                self.fold(at, 2)
            case "pin":
                self.world.do("pin", quote)
            case "compact":
                self.world.compact(force=True)
            case "fork" if len(self.world.sessions) < 4:
                self.world.fork(edits=True)
        self.world.erase(at)
        self.the_laws_hold()
        self.world.merge([*self.world.transcript(other)[: at + 1], said("Something else.")])

    @rule(pick=PICK)
    def merge_without_thoughts(self, pick: int) -> None:
        bodies = [
            {**{key: value for key, value in body.items() if not key.startswith("reasoning")}, "audio": None}
            for body in self.world.transcript()
        ]
        merged = self.world.merge(bodies)
        assert merged is not None

    @rule(pick=PICK, how=st.sampled_from(("cut", "change", "lose", "insert")), text=SHORT)
    def merge_forked(self, pick: int, how: str, text: str) -> None:
        bodies = self.world.transcript()
        at = pick % len(bodies) if bodies else 0
        match how:
            case "cut":
                bodies = [*bodies[:at], said(text)]
            case "change" if bodies:
                bodies[-1] = said(f"{text} instead")
            case "lose" if bodies:
                del bodies[at]
            case _:
                bodies.insert(at, said(text))
        self.world.merge(bodies)

    @rule(
        max_tokens=st.sampled_from((None, None, None, 20)),
        context=st.sampled_from((None, None, "It rains.", "\ud800 x" * 40)),
    )
    def request(self, max_tokens: int | None, context: str | None) -> None:
        self.world.request(max_tokens=max_tokens, context=context)

    @rule(another=st.booleans())
    def plain_request(self, another: bool) -> None:
        self.world.request()
        if another:
            self.world.do("say", "And then?")
            self.world.request()

    @rule(force=st.booleans())
    def compact(self, force: bool) -> None:
        self.world.compact(force=force)

    @rule()
    def settle(self) -> None:
        self.world.settle()

    @rule(pick=PICK)
    def undo_under_a_cover(self, pick: int) -> None:
        self.world.undo_under_a_cover(pick)

    @rule(pick=PICK, through=st.booleans())
    def undo(self, pick: int, through: bool) -> None:
        self.world.undo(pick, through=through)

    @rule(pick=PICK)
    def bring_back_and_reduce(self, pick: int) -> None:
        self.world.go_on()
        rows = self.world.chat.view().rows
        self.world.do("fold", tuple(row.id for row in rows[pick % len(rows) :][:2]), "By hand.")
        self.world.undo(-1)
        self.world.go_on()
        self.world.compact(force=True)

    @rule(pick=PICK)
    def undo_and_redo(self, pick: int) -> None:
        self.world.undo_and_redo(pick)

    @rule()
    def redo(self) -> None:
        self.world.redo()

    @rule(pick=PICK)
    def release(self, pick: int) -> None:
        self.world.release(pick)

    @rule(pick=PICK, inclusive=st.booleans())
    def rewind(self, pick: int, inclusive: bool) -> None:
        path = holds.path_of(self.world.chat)
        if path:
            self.world.do("rewind", pick % len(path), inclusive=inclusive)

    @rule(turns=st.integers(1, 2), inclusive=st.booleans())
    def rewind_turns(self, turns: int, inclusive: bool) -> None:
        self.world.rewind_turns(turns, inclusive=inclusive)

    @rule(pick=PICK)
    def rewind_and_forward(self, pick: int) -> None:
        self.world.rewind_and_forward(pick)

    @rule()
    def forward(self) -> None:
        self.world.forward()

    @rule(first=PICK, then=PICK)
    def rewind_twice_and_forward_at_once(self, first: int, then: int) -> None:
        path = holds.path_of(self.world.chat)
        if path:
            self.world.do("rewind", first % len(path))
            self.world.do("rewind", then % (first % len(path) + 1))
            self.world.do("forward", path[-1])
            self.world.forward()

    @rule(pick=PICK)
    def forward_to(self, pick: int) -> None:
        self.world.forward(pick)

    @rule(pick=PICK)
    def pin_entry(self, pick: int) -> None:
        path = holds.path_of(self.world.chat)
        rows = [row.id for row in self.world.chat.view().rows if row.kind == "mend"]
        repaired = [id for row in rows for id in self.world.log.rows_repaired_by(row) if id in path]
        if path:
            entries = repaired or path
            self.world.pin(entries[pick % len(entries)])

    @rule(pick=PICK)
    def pin_text(self, pick: int) -> None:
        messages = self.world.chat.view().messages
        lines = [
            line
            for message in messages
            for line in text_of(message, unescaped=True).splitlines()
            if line.strip()
        ]
        if lines:
            self.world.do("pin", lines[pick % len(lines)][:80])

    @rule(pick=PICK)
    def unpin(self, pick: int) -> None:
        pins = [id for id, _ in self.world.log.pins()]
        if pins:
            self.world.unpin(pins[pick % len(pins)])

    @rule(name=st.sampled_from(("todo", "state")), text=SHORT)
    def note(self, name: str, text: str) -> None:
        self.world.do("note", name, text)

    @rule(first=PICK, count=st.integers(1, 6))
    def fold(self, first: int, count: int) -> None:
        rows = self.world.chat.view().rows
        if rows:
            at = first % len(rows)
            self.world.do("fold", tuple(row.id for row in rows[at : at + count]), "By hand.")

    @rule(first=PICK)
    def fold_twice(self, first: int) -> None:
        self.world.go_on()
        rows = self.world.chat.view().rows
        at = first % len(rows)
        folded = self.world.do("fold", tuple(row.id for row in rows[at : at + 2]), "By hand.")
        if folded is not None and at:
            self.world.do("fold", (rows[at - 1].id, folded.id), "Once more.")

    @precondition(lambda self: len(self.world.sessions) < 4)
    @rule(edits=st.booleans())
    def fork(self, edits: bool) -> None:
        self.world.fork(edits=edits)

    @rule(pick=PICK)
    def switch(self, pick: int) -> None:
        self.world.switch(pick)

    @rule(pick=PICK, reason=st.sampled_from(("asked for", "half \ud800 pair")))
    def erase(self, pick: int, reason: str) -> None:
        self.world.erase(pick, reason)

    @rule()
    def reset(self) -> None:
        self.world.do("reset")

    @invariant()
    def the_laws_hold(self) -> None:
        if hasattr(self, "world"):
            self.world.check()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.finish()


class HostileConversation(Conversation):
    """The same with strategies that mean no good."""

    @initialize(
        strategy=st.sampled_from(HOSTILE),
        budget=st.sampled_from(BUDGETS),
        model=st.sampled_from(MODELS),
        name=st.sampled_from(NAMES),
    )
    def begin(self, strategy: Any, budget: Budget, model: Any, name: str | None) -> None:
        super().begin(strategy, budget, model, name)


REALLY = (
    "fold of folds",
    "undo",
    "undo chain",
    "fork",
    "forked merge",
    "re-dressed merge",
    "parallel results",
    "several results in one message",
    "mended row",
    "erase",
    "erase of a re-dressed body",
    "re-sent body of an erased entry",
    "prefix",
    "forward",
    "reduced beside what a person undid",
    "named a cover",
)


@pytest.mark.parametrize("machine", [Conversation, HostileConversation])
def test_whatever_is_done_to_a_session_the_laws_hold(machine: type[Conversation]) -> None:
    happened.clear()
    tries = settings.default.max_examples
    run_state_machine_as_test(machine, settings=settings(max_examples=tries * 4))
    rare = {what: happened[what] for what in REALLY if happened[what] < tries // 8}
    assert not rare, f"the machine hardly tried {rare}"
