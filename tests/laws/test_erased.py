"""erased: after `erase` the content is nowhere, in any dialect, in whatever order things came."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fanfold
from fanfold import Call, FanfoldError, Memory, Repair, Session
from fanfold.core.message import Image, Text, assistant
from laws import holds
from laws.world import occurred

DIALECTS = ("openai.chat", "openai.responses", "anthropic", "gemini")
STEPS = st.lists(
    st.sampled_from(
        (
            "say",
            "say",
            "reply",
            "call",
            "two calls",
            "answer",
            "late answer",
            "picture",
            "note",
            "request",
            "request",
            "fold",
        )
    ),
    min_size=4,
    max_size=14,
)


class Marked:
    """A session in which every message has a word of its own."""

    def __init__(self, dialect: str) -> None:
        self.store = Memory()
        self.chat = fanfold.open(
            "run", window=100_000, dialect=dialect, store=self.store, strategy=None, meter="characters/4"
        )
        self.marks: dict[str, str] = {}
        """The word of each entry."""
        self.calls = 0

    def do(self, step: str) -> None:
        mark = f"quagga-{len(self.marks)}-mark"
        entry = getattr(self, f"_{step.replace(' ', '_')}")(f"It is {mark} here.")
        if entry is not None:
            self.marks[entry.id] = mark

    def _say(self, text: str) -> Any:
        return self.chat.say(text)

    def _reply(self, text: str) -> Any:
        return self.chat.add(assistant(text))

    def _call(self, text: str, count: int = 1) -> Any:
        calls = [Call(f"c{self.calls + number}", "run", '{"at": 1}') for number in range(count)]
        self.calls += count
        return self.chat.add(assistant(text, *calls))

    def _two_calls(self, text: str) -> Any:
        return self._call(text, 2)

    def _answer(self, text: str, which: int = 0) -> Any:
        waiting = list(self.chat._state.open_calls)
        return self.chat.answer(waiting[which], text) if waiting else None

    def _late_answer(self, text: str) -> Any:
        """The call that waited least is answered first."""
        return self._answer(text, -1)

    def _picture(self, text: str) -> Any:
        waiting = list(self.chat._state.open_calls)
        image = Image("image/png", "iVBORw0KGgo=")
        return self.chat.answer(waiting[0], [Text(text), image]) if waiting else None

    def _note(self, text: str) -> None:
        self.chat.note("state", "red")

    def _request(self, text: str) -> None:
        requested(self.chat)

    def _fold(self, text: str) -> None:
        rows = [row.id for row in self.chat.view().rows if row.kind != "note"]
        refused(lambda: self.chat.fold(tuple(rows[:2]), "By hand."))


def refused(verb: Any) -> Any:
    try:
        return verb()
    except FanfoldError:
        return None


def requested(chat: Session) -> Any:
    return refused(lambda: chat.request(max_tokens=100))


def repairs_cover_what_they_show(world: Marked) -> None:
    log = holds.log_of(world.chat)
    for decision in log.decisions.values():
        if isinstance(decision.edit, Repair):
            shown = {id for id, mark in world.marks.items() if mark in str(decision.edit.shows)}
            assert shown <= log.leaves(decision.edit.covers), f"{decision.id} shows what it does not cover"


def nothing_is_left(world: Marked, mark: str) -> None:
    assert mark not in str(requested(world.chat)), f"{mark} is sent"
    records = [world.store.load("default", name).records for name in world.store.sessions("default")]
    assert mark not in str(records), f"{mark} is in a record"
    assert mark not in str(world.store._entries), f"{mark} is in an entry"


@settings(max_examples=4 * settings.default.max_examples)
@given(st.sampled_from(DIALECTS), STEPS, st.data())
def test_after_an_erasure_the_content_is_nowhere(dialect: str, steps: list[str], data: st.DataObject) -> None:
    """(19.4) Where a result came late, Anthropic's repairs showed it in a row that did not cover it."""
    world = Marked(dialect)
    for step in ("say", "call", *steps, "request"):
        world.do(step)
    repairs_cover_what_they_show(world)
    occurred("mended", any(row.kind == "mend" for row in world.chat.view().rows))
    for id in data.draw(st.permutations(list(world.marks)), label="erased")[:3]:
        world.chat.erase(id, "asked for")
        nothing_is_left(world, world.marks[id])


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "steps",
    [
        ("say", "call", "say", "request", "answer", "request"),
        ("say", "two calls", "late answer", "say", "request", "answer", "say", "request"),
        ("say", "call", "note", "say", "request", "picture", "request"),
    ],
)
def test_a_result_that_came_late_is_erased_wherever_it_is_shown(dialect: str, steps: tuple[str, ...]) -> None:
    """(19.4) A call unanswered, a request, the answer, a request, and the erasure."""
    world = Marked(dialect)
    for step in steps:
        world.do(step)
    repairs_cover_what_they_show(world)
    for id, mark in list(world.marks.items()):
        world.chat.erase(id, "asked for")
        nothing_is_left(world, mark)
