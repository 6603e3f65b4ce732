"""Sources: each line of a hand-over records the entries and outputs that it was made from (issue 21)."""

from __future__ import annotations

from pathlib import Path

import msgspec

import fanfold
from fanfold import Fold, Session
from fanfold.core.ids import pack, unpack
from fanfold.strategies import digest
from tests.builders import asks, calls, says


def talked(store: str | None = None) -> Session:
    """A session in which a hand-over stands."""
    chat = fanfold.open(
        "run", window=3_000, store=store, strategy=digest(keep_first=False), filters=(), recall=True
    )
    chat.merge([asks("Mend the parser."), says("Which one?"), asks("That of the lexer.")])
    for number in range(14):
        arguments = f'{{"command": "make part-{number}"}}'
        chat.add(calls(f"c{number}", text=f"I make part {number}.", name="bash", arguments=arguments))
        chat.answer(f"c{number}", f"built part {number}\n" + "all is well here\n" * 30)
        chat.request()
    chat.add(says("All parts are made."))
    return chat


def fold_of(chat: Session) -> tuple[str, Fold]:
    made = [(id, one.edit) for id, one in chat._state.log.decisions.items() if isinstance(one.edit, Fold)]
    id, edit = made[-1]
    assert isinstance(edit, Fold)
    return id, edit


def test_why_says_what_each_line_of_a_hand_over_was_made_from() -> None:
    with talked() as chat:
        id, edit = fold_of(chat)
        lines = {line.text: line for line in chat.why(id).lines}
        step = next(line for text, line in lines.items() if text.startswith("- $ make part-4 "))
        entry = chat._state.log.tree[step.entries[0]].message
        assert "built part 4\n" in entry.results[0].text
        assert step.outputs
        assert "built part 4\n" in chat.output(step.outputs[0]).text()
        asked = next(line for text, line in lines.items() if "Mend the parser." in text)
        assert chat._state.log.tree[asked.entries[0]].message.text.startswith("Mend the parser.")
        assert all(line.entries or line.speakers for line in lines.values())
        assert edit.words.split("\n")[step.number - 1] == step.text


def test_a_line_that_tells_of_a_call_names_the_tool_that_was_called() -> None:
    with talked() as chat:
        id, _ = fold_of(chat)
        lines = {line.text: line for line in chat.why(id).lines}
        step = next(line for text, line in lines.items() if text.startswith("- $ make part-4 "))
        assert step.calls == ("bash",)
        assert f"(the agent's call of bash, from {step.outputs[0]})" in str(step)
        words = next(line for text, line in lines.items() if "I make part" in text)
        assert (words.calls, words.speakers) == ((), ("agent",))
        assert "(said by the agent, from " in str(words)
        asked = next(line for text, line in lines.items() if "Mend the parser." in text)
        assert "(said by the person, from " in str(asked)


def test_why_of_an_entry_names_the_lines_that_tell_of_it() -> None:
    with talked() as chat:
        id, _ = fold_of(chat)
        line = chat.why(id).lines[-1]
        told = chat.why(line.entries[0]).lines
        assert line in told
        assert f"{id}, line {line.number}: {line.text[:20]}" in str(chat.why(line.entries[0]))


def test_sources_are_kept_with_the_edit_and_take_little_room(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'a.db'}"
    with talked(store) as chat:
        id, edit = fold_of(chat)
        before = chat.why(id).lines
        assert len(pack(edit.sources)) < 0.5 * len(edit.words.encode())
    with fanfold.open("run", window=3_000, store=store) as again:
        assert again.why(id).lines == before


def test_a_fold_of_an_earlier_release_has_no_sources_and_is_read() -> None:
    old = unpack(pack(Fold(("a", "b"), "told", "m1")))
    assert "sources" not in old
    assert msgspec.convert(old, Fold) == Fold(("a", "b"), "told", "m1")
