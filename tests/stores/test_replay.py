"""Law `replay`: whatever happened, a session read back from its file shows what it showed before."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import fanfold
from builders import asks, says
from fanfold import FanfoldError, Memory, Session, SQLite
from fanfold.stores.store import Store
from fanfold.testing.generators import conversations, texts
from laws import holds

VERBS = (
    "say",
    "compact",
    "request",
    "undo",
    "redo",
    "rewind",
    "forward",
    "note",
    "erase",
    "merge",
    "pin",
    "reset",
)
STEPS = st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 9), texts(most=60)), max_size=14)


def opened(store: Store) -> Session:
    now = iter(range(1, 10**6))
    return fanfold.open(
        "run",
        window=1_500,
        store=store,
        system="Be brief.",
        meter="characters/4",
        clock=lambda: float(next(now)),
    )


def step(chat: Session, verb: str, pick: int, text: str) -> str:
    """One thing that happens; gives back how it ended."""
    path = holds.path_of(chat)
    arguments: dict[str, tuple[Any, ...]] = {
        "say": (text,),
        "rewind": (path[pick % len(path)],) if path else (0,),
        "note": ("state", text),
        "erase": (path[pick % len(path)] if path else "x", "asked for"),
        "merge": ([asks(text), says("Ok."), asks("And?")],),
        "pin": (path[pick % len(path)] if path else "x",),
    }
    try:
        getattr(chat, verb)(*arguments.get(verb, ()))
    except FanfoldError as error:
        return type(error).__name__
    return "done"


@given(conversations(turns=3, most=80), STEPS)
def test_a_file_gives_back_what_memory_would_have_kept(bodies: list[Any], steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory, disk = opened(Memory()), opened(SQLite(Path(folder) / "a.db"))
        for chat in (memory, disk):
            chat.merge(bodies)
        for verb, pick, text in steps:
            assert step(memory, verb, pick, text) == step(disk, verb, pick, text), verb
            assert holds.fingerprint(memory.view()) == holds.fingerprint(disk.view()), verb
        again = opened(SQLite(Path(folder) / "a.db"))
        assert holds.fingerprint(again.view()) == holds.fingerprint(disk.view())
        assert repr(again.view().messages) == repr(memory.view().messages)
        disk.close()
        resumed = opened(SQLite(Path(folder) / "a.db"))
        assert holds.fingerprint(resumed.view()) == holds.fingerprint(memory.view())
        assert step(resumed, "say", 0, "And now?") == step(memory, "say", 0, "And now?")
        assert holds.fingerprint(resumed.view()) == holds.fingerprint(memory.view())
        assert fanfold.doctor(Path(folder) / "a.db").healthy


def test_a_body_that_a_client_changed_stays_changed_however_often_the_session_is_opened(
    tmp_path: Path,
) -> None:
    bodies = [asks("As it was."), says("Yes."), asks("Go on.")]
    for number in range(4):
        with fanfold.open("run", window=9_000, store=f"sqlite:{tmp_path}/agent.db") as chat:
            if not number:
                chat.merge(bodies)
                assert chat.merge([asks("As it is."), *bodies[1:]]).replaced == 1
            chat.say(f"Again {number}.")
            assert [message.text for message in chat.view().messages][:2] == ["As it is.", "Yes."]


def test_an_output_that_a_client_changed_is_found_as_it_was_whenever_the_session_is_opened(
    tmp_path: Path,
) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    bodies = [
        asks("Run it."),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "as it was"},
        says("Done."),
    ]
    for number in range(3):
        with fanfold.open("run", window=9_000, store=f"sqlite:{tmp_path}/agent.db") as chat:
            if not number:
                chat.merge(bodies)
                changed = {**bodies[2], "content": "as it is"}
                assert chat.merge([*bodies[:2], changed, bodies[3]]).replaced == 1
            assert list(chat.output("o1").lines()) == ["as it was"]
            assert chat.view().messages[2].results[0].text == "as it is"
            chat.say(f"Again {number}.")
