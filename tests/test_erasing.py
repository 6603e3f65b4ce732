"""An erasure reaches what was made from the content, and nothing else."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fanfold
from builders import asks, opened, says, tell
from fanfold import Call, Decision, Fold, Memory, Message, Note, Repair, Result, Session, Text
from fanfold.core.message import assistant, user
from fanfold.core.record import Edited
from fanfold.stores.erasures import add_lines, erasures_file, read_lines
from fanfold.stores.store import Batch, Stored
from fanfold.strategies import extract, updated
from fanfold.strategies.elide import elide
from fanfold.testing import FakeModel, replied, said

SECRET = "The password is hunter2-SECRET."
STUB = "[erased: a secret]"


def state(question: Any) -> str:
    return json.dumps({"goal": "log in with hunter2-SECRET"})


def noting(summarizer: Any = state, **rest: Any) -> Session:
    """A session in which a strategy keeps a state up to date as a note."""
    return opened(3_000, strategy=extract(), summarizer=summarizer, **rest)


def is_left(*chats: Session) -> bool:
    """Whether the secret is in a record, in an entry, or in a request."""
    logs = [chat._state.log for chat in chats]
    told = [(log.records, log.tree.entries, chat.request()) for log, chat in zip(logs, chats, strict=True)]
    return "hunter2" in str(told)


def notes_of(chat: Session) -> list[str]:
    return [row.messages[0].text.partition("\n")[2] for row in chat.view().rows if row.kind == "note"]


def test_a_note_that_a_strategy_made_is_erased_with_what_it_was_made_from() -> None:
    chat = noting()
    entry = chat.say(SECRET)
    chat.add(replied("Done."))
    chat.settle()
    other = chat.fork("other")
    chat.erase(entry.id, "a secret")
    assert notes_of(chat) == notes_of(other) == [STUB]
    assert not is_left(chat, other)


def test_a_note_that_a_strategy_made_before_stays() -> None:
    chat = noting(FakeModel('{"goal": "mend the build"}'))
    chat.say("Mend the build.")
    chat.add(replied("Done."))
    chat.settle()
    entry = chat.say(SECRET)
    before = notes_of(chat)
    chat.erase(entry.id, "a secret")
    assert before
    assert notes_of(chat) == before


def test_a_state_that_came_along_with_a_fork_is_erased_with_all_that_was_made_from_it() -> None:
    """A client takes its first words back; the note stands on the new path, and the next one is made from it."""
    chat = noting(FakeModel(state, '{"current_phase": "waiting"}'))
    chat.merge([said(SECRET), replied("Done.")])
    first = chat.view().rows[0].id
    chat.settle()
    chat.merge([said("Nothing."), replied("Fine."), said("And now?"), replied("We wait.")])
    chat.settle()
    assert all("hunter2" in note for note in notes_of(chat))
    assert "waiting" in notes_of(chat)[-1]
    chat.erase(first, "a secret")
    assert not is_left(chat)


def test_a_state_that_a_person_brought_up_to_date_is_erased_with_it() -> None:
    chat = noting()
    entry = chat.say(SECRET)
    chat.add(replied("Done."))
    chat.settle()
    chat.note("snapshot", updated(chat.view(), current_phase="tests"))
    chat.erase(entry.id, "a secret")
    assert not is_left(chat)


def test_a_persons_own_note_stays_but_for_lines_that_quote() -> None:
    chat = opened(3_000)
    entry = chat.say(SECRET)
    chat.note("todo", f"Mend the build.\nThey said: {SECRET}\nis\nis")
    chat.note("word", "password is hunter2-SECRET")
    chat.erase(entry.id, "a secret")
    assert notes_of(chat) == [f"Mend the build.\n{STUB}\nis\nis", STUB]


def test_a_note_whose_plan_asks_while_its_source_is_erased_is_not_made() -> None:
    def erasing(question: Any) -> str:
        if not chat._state.log.erasures:
            chat.erase(entry.id, "a secret")
        return state(question)

    chat = noting(erasing)
    entry = chat.say(SECRET)
    chat.add(replied("Done."))
    outcome = chat.settle()
    assert outcome is not None
    assert outcome.status == "failed"
    assert not is_left(chat)


def test_an_answer_that_a_plan_asked_for_after_a_fold_of_its_own_is_erased() -> None:
    """The plan fails: its answers are kept, and its fold is not."""

    def fails(view: Any, budget: Any) -> Any:
        old = view.oldest(leaving=0)
        view = yield Fold(old.covers, "They spoke of hunter2.")
        yield from fanfold.ask(view.messages, "Sum up.")
        raise RuntimeError("after all")

    chat = opened(3_000, strategy=fails, summarizer=FakeModel("hunter2"), store=Memory())
    entry = chat.say(SECRET * 20)
    chat.add(replied("words " * 20))
    chat.say("Go on.")
    chat.compact(force=True)
    assert "hunter2" in str(chat._state.log.answers)
    chat.erase(entry.id, "a secret")
    assert not is_left(chat)


def test_a_note_of_any_strategy_is_erased() -> None:
    def notes(view: Any, budget: Any) -> Any:
        yield Note("told", view.messages[0].text)

    chat = opened(3_000, strategy=notes)
    entry = chat.say(SECRET)
    chat.add(replied("Done."))
    chat.compact(force=True)
    assert notes_of(chat) == [SECRET]
    chat.erase(entry.id, "a secret")
    assert not is_left(chat)


@pytest.mark.parametrize("shows", ["Both.", (user("Both."), assistant("Well."))], ids=["text", "messages"])
def test_a_pinned_line_that_a_fold_took_over_from_a_note_is_erased(shows: Any) -> None:
    """The older note of a name leaves when something before it is folded, and its pinned lines stand in the fold."""
    chat = opened(3_000, strategy=lambda view, budget: [Fold(view.oldest(leaving=0).covers[1:3], shows)])
    entry = chat.say(SECRET)
    tell(chat, says("words " * 50), asks("Go on. " * 50))
    chat.note("told", SECRET)
    tell(chat, says("Done."), asks("And now?"))
    chat.note("told", "Nothing.")
    chat.pin("hunter2-SECRET")
    assert chat.compact(force=True).status == "reduced"
    assert "hunter2" in str(chat.view().rows[1].messages)
    chat.erase(entry.id, "a secret")
    assert not is_left(chat)


PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


@pytest.mark.parametrize("before", [[], [{"type": "text", "text": "Here."}]], ids=["as sent", "mended"])
def test_the_picture_of_an_output_stays_when_its_call_is_erased(before: list[Any]) -> None:
    chat = opened(100_000, dialect="anthropic")
    shot = {"type": "tool_use", "id": "c1", "name": "shot", "input": {"path": "hunter2.png"}}
    words = {"type": "text", "text": "line of words\n" * 20_000}
    output = {"type": "tool_result", "tool_use_id": "c1", "content": [words, PICTURE]}
    chat.merge(
        [
            said("Look."),
            {"role": "assistant", "content": [shot]},
            {"role": "user", "content": [*before, output]},
        ]
    )
    assert str(PICTURE) in str(chat.request())
    chat.erase(chat.view().rows[1].id, "a secret")
    sent = chat.request()["messages"][2]["content"][0]["content"]
    assert sent[1:] == [PICTURE]
    assert sent[0]["text"].startswith("line of words\nline of words\n")
    assert chat.output("o1").lines(1, 1) == ["line of words"]
    assert not is_left(chat)


def called(arguments: str, output: str, **options: Any) -> tuple[Session, str, str]:
    """A session in which a call was answered, the id of the call's message, and what is shown of the output."""
    chat = opened(16_000, **options)
    chat.say("Go.")
    call = chat.add(assistant("For Berta.", Call("c1", "look_up", arguments)))
    chat.answer("c1", output)
    chat.add(replied("It is done."))
    chat.request()
    return chat, call.id, output_shown(chat)


def output_shown(chat: Session) -> str:
    return next(result.text for message in chat.view().messages for result in message.results)


def is_foretold(chat: Session, call: str) -> bool:
    """Whether an erasure leaves what was foretold."""
    told = chat.preview("erase", call, "a secret").after
    chat.erase(call, "a secret")
    return told == chat.view().tokens


def test_the_clip_of_an_output_stays_as_it_is_when_only_its_call_is_erased() -> None:
    """(43.4) The whole output was blanked, though nothing in it tells of the call."""
    chat, call, before = called('{"who": "Berta", "lines": 4711}', "alpha beta\n" * 3_000)
    assert "[output clipped: " in before
    assert is_foretold(chat, call)
    assert output_shown(chat) == before
    assert "Berta" not in str((chat._state.log.records, chat._state.log.tree.entries, chat.request()))


@pytest.mark.parametrize(
    "arguments", ['{"who": "Berta; 12 lines, 1 kB; Roe"}', '{"who": "Berta Roe"}', "Berta ("]
)
@pytest.mark.parametrize("beginning", ["Traceback: no Berta; 7 lines", "E: fatal error"])
def test_a_placeholder_loses_the_words_of_the_erased_call_only(arguments: str, beginning: str) -> None:
    output = f"{beginning}\n" + "alpha beta\n" * 400
    chat, call, before = called(arguments, output, strategy=elide(keep=0, share=100))
    assert "look_up(Berta" in before
    assert is_foretold(chat, call)
    after = output_shown(chat)
    assert after.startswith("[tool output trimmed; ref=o1; 401 lines, ")
    assert after.endswith("; alpha beta]")
    assert "look_up" not in after
    assert ("Berta" in after) <= ("Berta" in output)
    assert "Roe" not in str((chat._state.log.records, chat._state.log.tree.entries, chat.request()))


@pytest.mark.parametrize(
    "header",
    [
        "# for Berta Roe",
        "# BERTA",
        "LookupBertaNow",
        "Customer 4711: Roe",
        "Ber",
        "ベルタの記録",
        "gamma beta",
    ],
)
def test_what_a_filter_wrote_of_the_erased_call_is_erased_and_the_rest_of_the_output_stays(
    header: str,
) -> None:
    def with_header(text: str, tool: str, arguments: Any) -> str:
        return f"# an output\n{header}\n{text}\n{header}"

    asked = '{"who": "Berta Roe", "number": 4711, "also": "ベルタ", "more": "gamma beta"}'
    chat, call, before = called(asked, "alpha beta\ngamma delta", filters=[with_header])
    assert before.count(header) == 2
    assert is_foretold(chat, call)
    assert output_shown(chat) == "# an output\n[erased: a secret; ref=o1]\nalpha beta\ngamma delta"
    assert header not in str((chat._state.log.records, chat._state.log.tree.entries, chat.request()))


@pytest.mark.parametrize("context", ["Known: PIN 4711, key zx-9", "PIN 4711"])
def test_a_context_that_holds_a_line_of_the_content_or_is_a_piece_of_it_is_erased(context: str) -> None:
    chat = opened(3_000)
    entry = chat.say("PIN 4711, key zx-9")
    chat.request(context=context)
    chat.request(context="It rains.")
    chat.erase(entry.id, "a secret")
    assert [sent.context for sent in chat._state.log.sent] == [STUB, "It rains."]


def test_a_repair_of_an_earlier_release_that_shows_what_it_does_not_cover_is_erased_too() -> None:
    """(19.4) A late result stood in the row of the words before it; so it is in files that were written then."""
    chat = opened(9_000, dialect="anthropic")
    chat.say("Go.")
    chat.add(assistant("", Call("c1", "run", "{}")))
    words = chat.say("Hurry.")
    late = chat.answer("c1", SECRET)
    repairs = (
        Repair((words.id,), (Message("user", (Result("c1", (Text(SECRET),)), Text("Hurry."))),)),
        Repair((late.id,), ()),
    )
    decided = (Decision(f"e{n}", late.id, repair, "mend") for n, repair in enumerate(repairs, 1))
    chat._do(lambda state: state.write(Edited(tuple(decided))))
    assert "hunter2" in str(chat.request(max_tokens=100))
    chat.erase(late.id, "a secret")
    assert "hunter2" not in str((chat._state.log.records, chat.request(max_tokens=100)))
    assert "Hurry." in str(chat.request(max_tokens=100))


def test_a_session_with_half_a_character_in_its_name_is_erased_and_known_to_gateways(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    with fanfold.open("run-\ud83d", window=3_000, store=f"sqlite:{file}") as chat:
        entry = chat.say(SECRET).id
        chat.erase(entry, "a secret")
        assert chat.view().rows[0].messages[0].text == STUB
    assert read_lines(erasures_file(file)) == {("default", "run-\ud83d")}


@pytest.mark.parametrize(
    "tell",
    [
        lambda chat: chat.fold(tuple(row.id for row in chat.view().rows), SECRET),
        lambda chat: chat.pin(SECRET),
        lambda chat: chat.request(context=f"Remember: {SECRET}"),
    ],
    ids=["fold", "pin", "request"],
)
def test_what_others_erase_while_a_fork_is_made_is_not_in_the_fork(tell: Callable[[Session], object]) -> None:
    class Meanwhile(Memory):
        """Somebody else erases the message just before the fork is written."""

        def append(self, tenant: str, session: str, batch: Batch, *, expect: int | None) -> Stored:
            if session == "fork" and not erased:
                erased.append(entry)
                other.erase(entry, "a secret")
            return super().append(tenant, session, batch, expect=expect)

    store, erased = Meanwhile(), list[str]()
    chat, other = (opened(3_000, name=name, store=store) for name in ("run", "other"))
    entry = chat.say(SECRET).id
    assert other.say(SECRET).id == entry
    chat.add(says("Noted. " * 20))
    tell(chat)
    fork = chat.fork("fork")
    assert erased
    assert not is_left(fork)


def test_no_more_people_can_read_what_was_erased_where_than_can_read_the_store(tmp_path: Path) -> None:
    """Names of sessions may be names of people."""
    store, file = tmp_path / "a.db", tmp_path / "a.db.erased.jsonl"
    with fanfold.open("run", window=9_000, store=f"sqlite:{store}") as chat:
        chat.erase(chat.say(SECRET).id, "asked")
    assert stat.S_IMODE(file.stat().st_mode) == stat.S_IMODE(store.stat().st_mode) == 0o600
    file.chmod(0o644)  # as earlier releases left it
    add_lines(file, [("default", "run")])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_half_written_line_of_a_process_that_was_killed_hides_no_later_erasure(tmp_path: Path) -> None:
    file = tmp_path / "a.db.erased.jsonl"
    file.write_bytes(b'\n["default","one"]\n\n["defau')
    add_lines(file, [("default", "two")])
    assert read_lines(file) == {("default", "one"), ("default", "two")}
