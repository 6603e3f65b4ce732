"""remembered: what strategies keep of a session changes nothing that is sent, and keeps nothing that was erased."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import Ask, FanfoldError, Memory, Session
from fanfold.dialects.chat.dialect import OpenAIChat
from fanfold.strategies import summarize
from fanfold.strategies.handover.past import past_of
from fanfold.strategies.handover.tools import Tools
from fanfold.testing import called, replied, returned, said
from laws import fewer
from laws.world import occurred

DIALECTS = ("openai.chat", "openai.responses", "anthropic", "gemini")
HUSH = "hush-4711"
"""What the caller's filter takes out of outputs."""
FILLER = "the lexer reads a token too far and puts it back into the queue "


def redact(text: str, tool: str, arguments: Any) -> str:
    """The caller's own filter."""
    return text.replace(HUSH, "[taken out]")


def work(kind: str, n: int, mark: str) -> tuple[Any, Any]:
    """A call and its output, with a word of its own in each."""
    out = mark.replace("quagga", "okapi")
    made: dict[str, tuple[str, dict[str, Any], str]] = {
        "read": ("read", {"path": f"/app/src/{mark}.py"}, f"def {out}(): pass\n"),
        "edit": ("edit", {"path": f"src/{mark}.py", "old_string": "a", "new_string": f"{mark}_b"}, "Done."),
        "check": (
            "bash",
            {"command": f"pytest tests/{mark}.py"},
            f"FAILED tests/{out}.py - KeyError\n1 failed",
        ),
        "fails": ("bash", {"command": f"make {mark}"}, f"Error: {out} is missing\nexit code 2"),
        "plan": ("todo_write", {"todos": [{"content": f"Mend {mark}.", "status": "pending"}]}, f"{out}"),
        "begin": ("exec_command", {"cmd": f"serve {mark}"}, f"Process running with session ID 7 {out}"),
        "wait": ("write_stdin", {"session_id": 7, "chars": ""}, f"FAILED {out} - ValueError\nexit code 1"),
    }
    name, arguments, output = made[kind]
    return (
        replied(f"I decided to look at {mark} because it fails.", called(f"c{n}", name, **arguments)),
        returned(f"c{n}", f"{output}\n{HUSH} " + FILLER * (n % 4)),
    )


WORK = ("read", "edit", "check", "fails", "plan", "begin", "wait")
DEEDS = (
    *(
        "say",
        "say",
        "request",
        "request",
        "request",
        "compact",
        "erase",
        "erase output",
        "replace",
        "replace",
    ),
    *("undo", "redo", "rewind", "forward", "fold", "fork", "reopen", "note"),
)
STEPS = st.lists(
    st.sampled_from((*WORK, *WORK, *DEEDS)),
    min_size=10,
    max_size=45,
)


class Talk:
    """A session with its fork; a cold one forgets before every step what strategies keep."""

    def __init__(self, dialect: str, store: Any, *, cold: bool, strategy: Any) -> None:
        self.asked: list[Ask] = []
        self.cold = cold
        self._open = lambda: fanfold.open(
            "run",
            window=2_000,
            dialect=dialect,
            store=store,
            meter="characters/4",
            filters=(redact,),
            clock=lambda: 0.0,
            recall=True,
            **({} if strategy is None else {"strategy": strategy, "summarizer": self._answer}),
        )
        self.chat = self._open()
        self.other: Session | None = None
        self.told: list[tuple[str, Any, str]] = []
        """The entry, the body and the marks of each message on the path, the newest mark last."""
        self.gone: set[str] = set()
        """The marks that were erased."""
        self.sent: list[Any] = []
        self.count = 0

    def _answer(self, question: Ask) -> str:
        self.asked.append(question)
        return "They mend the lexer."

    def do(self, step: str, which: int) -> None:
        for chat in filter(None, (self.chat, self.other) if self.cold else ()):
            chat._state.projection.memory.clear()
            chat._state.log._behind.clear()
        if step in WORK:
            call, output = work(step, self.count, f"quagga{self.count:03}")
            self._tell(call, f"quagga{self.count:03}")
            self._tell(output, f"okapi{self.count:03}")
            self.count += 1
        else:
            with suppress(FanfoldError):
                getattr(self, f"_{step.replace(' ', '_')}")(which)

    def _tell(self, body: Any, mark: str) -> None:
        self.told.append((self.chat.add(OpenAIChat().message(body)).id, body, mark))

    def _say(self, which: int) -> None:
        mark = f"zebu{self.count:03}"
        self._tell(said(f"Never touch {mark}.py, and keep {mark} as it is. " + FILLER * (which % 3)), mark)
        self.count += 1

    def _request(self, which: int) -> None:
        for chat in filter(None, (self.chat, self.other)):
            self.sent.append(json.dumps(chat.request(max_tokens=50)))

    def _compact(self, which: int) -> None:
        self.chat.compact(force=True)
        self._request(which)

    def _erase(self, which: int) -> None:
        if self.told:
            by = self.other if self.other is not None and which % 2 else self.chat
            self._erased(by, self.told[which % len(self.told)][0])

    def _erase_output(self, which: int) -> None:
        if outputs := [output.ref for output in self.chat.outputs() if output.ref.startswith("o")]:
            self._erased(self.chat, outputs[which % len(outputs)])

    def _erased(self, by: Session, name: str) -> None:
        entry = by.erase(name, "asked for")
        logs = [chat._state.log for chat in (self.chat, self.other) if chat is not None]
        # Where a client sent the same words in another place too, they stay there.
        left = str([log.bodies(id) for log in logs for id in log.tree.entries if id != entry])
        marks = [mark for id, _, marks in self.told if id == entry for mark in marks.split()]
        self.gone.update(mark for mark in marks if mark not in left)

    def _replace(self, which: int) -> None:
        """A client sends its history again, with one early message changed."""
        if len(self.told) < 3 or self.chat._state.dialect.name != "openai.chat":
            return
        at = which % (len(self.told) - 1)
        id, body, mark = self.told[at]
        new = f"gnu{self.count:03}"
        self.count += 1
        self.told[at] = (id, json.loads(json.dumps(body).replace(mark.split()[-1], new)), f"{mark} {new}")
        self.chat.merge([body for _, body, _ in self.told])
        old, self.told = (
            self.told,
            [
                (now, body, marks)
                for now, (_, body, marks) in zip(self.chat._state.path, self.told, strict=True)
            ],
        )
        for (was, _, marks), (now, _, _) in zip(old, self.told, strict=True):
            if was != now or was == id:  # in another place, or with other words, it is said anew
                self.gone.difference_update(marks.split())

    def _undo(self, which: int) -> None:
        self.chat.undo()

    def _redo(self, which: int) -> None:
        self.chat.redo()

    def _rewind(self, which: int) -> None:
        self.chat.rewind(self.told[max(0, len(self.told) - 1 - which % 6)][0])
        self._follow()

    def _forward(self, which: int) -> None:
        self.chat.forward()
        self._follow()

    def _follow(self) -> None:
        path = set(self.chat._state.path)
        self.told = [one for one in self.told if one[0] in path]

    def _fold(self, which: int) -> None:
        rows = [row.id for row in self.chat.view().rows if row.kind == "entry"]
        self.chat.fold(tuple(rows[which % 4 : which % 4 + 3]), "By hand.")

    def _fork(self, which: int) -> None:
        if self.other is None:
            self.other = self.chat.fork("other", edits=bool(which % 2))

    def _reopen(self, which: int) -> None:
        self.chat.close()
        assert not self.chat._state.projection.memory
        self.chat = self._open()

    def _note(self, which: int) -> None:
        self.chat.note("state", f"red {which}")


@contextmanager
def stores(kind: str) -> Iterator[Any]:
    """Two stores of a kind."""
    if kind == "memory":
        yield Memory(), Memory()
        return
    with tempfile.TemporaryDirectory() as folder:
        yield tuple(f"sqlite:{Path(folder) / name}.db" for name in ("warm", "cold"))


def kept_by(chat: Session) -> str:
    return str(chat._state.projection.memory)


@pytest.mark.parametrize("kind", [pytest.param("memory", marks=pytest.mark.slow), "sqlite"])
@fewer(10)  # each is a long life of two sessions in files
@given(
    dialect=st.sampled_from(DIALECTS),
    strategy=st.sampled_from((None, None, summarize())),
    steps=STEPS,
    data=st.data(),
)
def test_what_is_kept_changes_nothing_and_holds_nothing_erased(
    kind: str, dialect: str, strategy: Any, steps: list[str], data: st.DataObject
) -> None:
    with stores(kind) as (one, two):
        warm = Talk(dialect, one, cold=False, strategy=strategy)
        cold = Talk(dialect, two, cold=True, strategy=strategy)
        for step in ("say", *WORK, *WORK, "request", *steps, *WORK, "request", "compact"):
            which = data.draw(st.integers(0, 60), label=step) if step not in (*WORK, "request") else 0
            asked, sent = len(warm.asked), len(warm.sent)
            for talk in (warm, cold):
                talk.do(step, which)
            assert warm.sent[sent:] == cold.sent[sent:], f"after {step}"
            assert warm.asked[asked:] == cold.asked[asked:], f"after {step}"
            told = str((warm.sent[sent:], warm.asked[asked:]))
            assert HUSH not in told
            for mark in warm.gone:
                assert mark not in told, f"{mark} after {step}"
                assert not any(mark in kept_by(chat) for chat in (warm.chat, warm.other) if chat), mark
        occurred("erased", bool(warm.gone))
        occurred("folded", any(row.kind == "fold" for row in warm.chat.view().rows))
        occurred("replaced", bool(warm.chat._state.log.replaced))
        for chat in filter(None, (warm.chat, cold.chat, warm.other, cold.other)):
            chat.close()


def history(name: str) -> list[Any]:
    """Some steps; the fourth call is about a file of this name."""
    names = ["part0", "part1", "part2", name, "part4", "part5", "part6", "part7"]
    bodies = [said("Mend the lexer until the tests pass.")]
    for n, file in enumerate(names):
        bodies.append(replied(f"Step {n}.", called(f"c{n}", "edit", path=f"src/{file}.py", old_string="a")))
        bodies.append(returned(f"c{n}", f"Done {n}. " + FILLER * 2))
    return bodies


def test_an_output_is_told_with_its_call_as_the_client_last_sent_it() -> None:
    """The output is as it was: what was kept of it named the file of the old call."""
    with fanfold.open("run", window=2_000) as chat:
        chat.merge(history("quagga"))
        assert "quagga" in str(chat.compact(force=True, dry_run=True).decisions)
        chat.merge([*history("okapi"), said("Go on.")])
        assert len(chat._state.log.replaced) == 1
        chat.compact(force=True)
        sent = str(chat.request())
        assert "okapi" in sent
        assert "quagga" not in sent


def test_what_is_kept_goes_with_the_session() -> None:
    chat = fanfold.open("run", window=2_000)
    chat.merge(history("quagga"))
    chat.compact(force=True)
    assert "quagga" in kept_by(chat)
    chat.close()
    assert not chat._state.projection.memory


def test_a_plan_at_work_while_its_words_are_erased_leaves_nothing_behind() -> None:
    """Another thread erases while a plan reads: what the plan keeps after that is for nobody."""
    with fanfold.open("run", window=2_000) as chat:
        chat.merge(history("quagga"))
        view = chat._state.view()
        call = next(row.id for row in view.rows if "quagga" in str(row.messages))
        chat.erase(call, "asked for")
        past_of(view, Tools())
        assert "quagga" in str(view.memory)
        assert "quagga" not in kept_by(chat)
        chat.compact(force=True)
        assert "quagga" not in str(chat.request())
