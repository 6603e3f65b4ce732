"""pin, unpin, note, rewind, forward, fork, erase."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import fanfold
from conftest import Run, talk
from fanfold.testing import called, replied, said


def test_pins_and_notes(run: Run, store: str) -> None:
    assert run("pin", "run", "Never touch vendor/.").code == 0
    assert run("unpin", "run", "Never touch vendor/.").code == 0
    assert run("note", "run", "plan", "1. mend").code == 0
    assert "[note: plan] 1. mend" in run("show", "run").out


def test_pins_are_listed_in_words(run: Run, store: str) -> None:
    assert run("pin", "run").out == "Nothing is pinned.\n"
    (first,) = (
        line.split()[0] for line in run("show", "run", "--ids").out.splitlines() if "Find the" in line
    )
    run("pin", "run", first)
    run("pin", "run", "Never touch vendor/.")
    assert [line.split(maxsplit=2) for line in run("pin", "run").out.splitlines()] == [
        ["e1", first, "Find the error. Never touch vendor/."],
        ["e2", "text", "Never touch vendor/."],
    ]


def test_that_a_pinned_entry_is_shortened_is_said(run: Run, shortened: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    remark = run("pin", "run", ids[2]).out.splitlines()[1]
    assert remark == (
        f"{ids[2]} is shortened by e1, and pinned as the model sees it. To bring it back: fanfold undo run {ids[2]}"
    )
    assert len(run("pin", "run", ids[0]).out.splitlines()) == 1


def test_what_undo_brings_back_above_the_room_is_said(run: Run, shortened: str) -> None:
    told = run("undo", "run", "--window", "810").out.splitlines()[2]
    assert told.startswith("The next request cannot be sent so: 316 tokens, 310 fit ")
    assert run("redo", "run").code == 0
    assert len(run("undo", "run").out.splitlines()) == 2


def test_what_the_next_request_shortens_after_an_undo_is_said(run: Run, store: str) -> None:
    with fanfold.open("talk", window=3_000, store=fanfold.SQLite(store.removeprefix("sqlite:"))) as chat:
        for n in range(12):
            chat.say(f"Point {n}: " + "we talk of the disk. " * 40)
            chat.add({"role": "assistant", "content": f"Noted {n}. " + "It hums. " * 20})
            chat.request(max_tokens=300)
        chat.say("And now? " * 60)
    tried, told = run("undo", "talk", "--dry-run").out, run("undo", "talk").out.splitlines()[-1]
    assert told.endswith(" above 2,295 tokens: something else is shortened, not what you brought back.")
    assert told in tried


def test_what_another_edit_still_shortens_after_an_undo_is_said(run: Run, shortened: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fold", "run", ids[1], ids[2], "They looked.").code == 0
    assert run("undo", "run", "e2").out.splitlines()[-1] == (
        f"1 of these 2 messages was shortened before and still is. To bring it back: fanfold undo run {ids[2]}"
    )
    assert "still" not in run("undo", "run", "e1").out


def test_a_command_that_is_proposed_names_the_store_that_was_given(run: Run, shortened: str) -> None:
    told = run("why", "run", "o1", "--store", shortened).out.splitlines()
    assert told[-1] == f"To bring it back: fanfold undo run {told[0][:8]} --store {shortened}"


def test_one_message_is_brought_back_by_its_id_and_what_was_hidden_with_it_is_not(
    run: Run, shortened: str
) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fold", "run", ids[0], ids[2], "They looked.").code == 0
    assert " is hidden by e2 " in run("why", "run", "o1").out
    tried = run("undo", "run", "o1", "--dry-run").out
    assert tried.startswith("e2, e1 would be undone: ")
    assert "what was hidden with it would stay hidden: 1 row would be folded again. " in tried
    assert tried.endswith(" Nothing was changed.\n")
    assert " is hidden by e2 " in run("why", "run", "o1").out
    hidden = run("show", "run", "--ids").out.splitlines()[1:]
    made, told, held, back = run("undo", "run", "o1").out.splitlines()
    assert made.split("   ")[-1] == tried.split(": ")[1].partition(".")[0]
    assert told == "The message is back; what was hidden with it stays hidden by e5."
    shown = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert shown == ["e5", *ids[1:]]
    assert run("undo", "run", ids[2]).err.startswith("fanfold: No edit hides or shortens ")
    assert held == "Automatic edits leave it alone until: fanfold release run o1"
    assert back == "To hide it again: fanfold redo run e2"
    tried = run("undo", "run", "--dry-run").out
    assert tried.startswith("e5, e4, e3 would be undone: ")
    assert " e2 and e1 would stand again. " in tried
    assert run("release", "run", "o1").code == 0
    assert run("redo", "run", "e2").out.splitlines()[1:] == [
        "e2 and e1 stand again. 2 messages are hidden again."
    ]
    assert run("show", "run", "--ids").out.splitlines()[1:] == hidden


def test_a_message_under_a_fold_of_a_fold_is_hidden_again_by_the_commands_that_undo_names(
    run: Run, shortened: str
) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fold", "run", ids[1], ids[2], "They looked.").code == 0
    assert run("fold", "run", ids[0], "e2", "They looked at it all.").code == 0
    hidden = run("show", "run", "--ids").out.splitlines()[1:]
    assert run("undo", "run", "o1").out.splitlines()[-1] == "To hide it again: fanfold redo run e3"
    assert run("show", "run", "--ids").out.splitlines()[1:] != hidden
    assert run("redo", "run", "e3").code == 0
    assert run("show", "run", "--ids").out.splitlines()[1:] == hidden


def test_a_message_that_several_edits_shortened_is_shortened_again_by_one_command(
    run: Run, store: str
) -> None:
    def both(view: fanfold.View, budget: fanfold.Budget) -> list[fanfold.Elide]:
        return [fanfold.Elide(f"{view.rows[0].id}#{part}", "[left out; ref={ref}]") for part in (0, 1)]

    with fanfold.open("two", window=8_000, store=store, strategy=both) as chat:
        parts = [{"type": "text", "text": f"{name}: " + "the disk hums. " * 60} for name in ("One", "Two")]
        entry = chat.add({"role": "user", "content": parts}).id
        chat.add({"role": "assistant", "content": "Noted."})
        chat.say("Go on.")
        assert len(chat.compact(force=True).decisions) == 2
    hidden = run("show", "two").out.splitlines()[1:]
    back = run("undo", "two", entry[:8]).out.splitlines()[-1].removeprefix("To hide it again: ")
    assert back == "fanfold redo two e1"
    assert run("show", "two").out.splitlines()[1:] != hidden
    assert run(*back.split()[1:]).code == 0
    assert run("show", "two").out.splitlines()[1:] == hidden


def test_a_message_that_was_only_shortened_is_shortened_again_by_one_command(
    run: Run, shortened: str
) -> None:
    hidden = run("show", "run").out.splitlines()[1:]
    assert run("undo", "run", "o1").out.splitlines()[1:] == [
        "The message is back.",
        "Automatic edits leave it alone until: fanfold release run o1",
        "To hide it again: fanfold redo run e1",
    ]
    assert run("redo", "run", "e1").code == 0
    assert run("show", "run").out.splitlines()[1:] == hidden


def test_a_message_out_of_an_automatic_hand_over_is_hidden_again_by_one_command(run: Run, store: str) -> None:
    with fanfold.open("talk", window=3_000, store=fanfold.SQLite(store.removeprefix("sqlite:"))) as chat:
        ids = []
        for n in range(12):
            ids.append(chat.say(f"Point {n}: " + "we talk of the disk. " * 40).id)
            chat.add({"role": "assistant", "content": f"Noted {n}. " + "It hums. " * 20})
            chat.request(max_tokens=300)
        fold = next(row.id for row in chat.view().rows if row.kind == "fold")
        under = next(id for id in ids[1:] if chat.why(id).shown_by == fold)
    hidden = run("show", "talk", "--ids").out.splitlines()[1:]
    back = run("undo", "talk", under[:8]).out.splitlines()[-1]
    assert back == f"To hide it again: fanfold redo talk {fold}"
    assert run(*back.removeprefix("To hide it again: ").split()[1:]).code == 0
    assert run("show", "talk", "--ids").out.splitlines()[1:] == hidden


def test_four_letters_of_an_id_are_enough_to_pin_a_message_or_to_bring_it_back(
    run: Run, shortened: str
) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("undo", "run", ids[2][:4]).code == 0
    assert run("pin", "run", ids[2][:4]).out.startswith(f"e3 pinned {ids[2][:6]}")
    assert run("unpin", "run", ids[2][:4]).code == 0
    assert "stands nowhere in the view" in run("pin", "run", "zzzz").err


def test_a_command_is_done_after_what_the_agent_wrote_meanwhile(
    run: Run, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(23) Commands use a pool: that somebody else wrote first is no error."""
    append, first = fanfold.SQLite.append, [True]

    def beside(self: fanfold.SQLite, *words: Any, **rest: Any) -> Any:
        if first and first.pop():
            with fanfold.open("run", window=9_000, store=fanfold.SQLite(self.file)) as agent:
                agent.say("Meanwhile.")
        return append(self, *words, **rest)

    monkeypatch.setattr(fanfold.SQLite, "append", beside)
    assert run("note", "run", "plan", "1. mend").code == 0
    shown = run("show", "run").out
    assert "Meanwhile." in shown
    assert "[note: plan] 1. mend" in shown


def test_a_fold_outlives_a_pin_that_is_let_go(run: Run, store: str) -> None:
    """(19.3) Every command opens the session anew, from its checkpoint."""
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fold", "run", ids[1], ids[2], "It looked.").code == 0
    before = run("show", "run").out
    assert run("pin", "run", "Never touch vendor/.").code == 0
    assert run("unpin", "run", "Never touch vendor/.").code == 0
    assert run("show", "run").out.splitlines()[1:] == before.splitlines()[1:]
    assert "It looked." in before


def test_back_and_forward(run: Run, store: str) -> None:
    assert "stands at" in run("rewind", "run", "--turns", "1").out
    assert "Mend it." not in run("show", "run").out
    assert run("forward", "run").code == 0
    assert "Mend it." in run("show", "run").out
    first = run("show", "run", "--ids").out.splitlines()[2].split()[0]
    assert run("rewind", "run", first).out == f"run stands at {first}: 1 row, 23 tokens\n"


def test_a_fork_is_a_session_of_its_own(run: Run, store: str) -> None:
    assert run("fork", "run", "again").code == 0
    assert "again" in run("ls").out
    assert run("rewind", "again", "--turns", "1").code == 0
    assert "Mend it." in run("show", "run").out


def test_what_is_erased_is_nowhere(run: Run, store: str, tmp_path: Path) -> None:
    assert run("erase", "run", "o1", "--reason", "secret", "--yes").code == 0
    assert run("cat", "run", "o1").code != 0 or "ERROR" not in run("cat", "run", "o1").out
    assert b"line 7: ERROR" not in (tmp_path / "agent.db").read_bytes()


def test_several_are_erased_though_one_takes_another_along_and_all_stay_erased(
    run: Run, tmp_path: Path
) -> None:
    store = f"sqlite:{tmp_path / 'several.db'}"
    with fanfold.open("person", store=store, window=8_000, recall=False) as chat:
        said = chat.say("Write to ana@example.com, please.")
        pin = chat.pin("ana@example.com")
        chat.request(context="Logged in: ana@example.com")
        chat.add({"role": "assistant", "content": None, "tool_calls": [called("c1", "look")]})
        chat.answer("c1", "login: ana\nmail ana@example.com\n")
        chat.request()
    old = run("export", "person", "--store", store).out
    found = json.loads(run("search", "Logged in", "--store", store, "--json").out)
    names = (said.id, "o1", pin.id, *(one["entry"] for one in found))
    erased = run("erase", "person", *names, "--reason", "asked", "--yes", "--store", store)
    assert (erased.code, erased.err) == (0, "")
    assert len(erased.out.splitlines()) == len(names)
    (tmp_path / "old.jsonl").write_text(old)
    assert run("search", "ana@example.com", "--store", store).code == 1
    assert run("import", str(tmp_path / "old.jsonl"), "--name", "again", "--store", store).code == 0
    assert run("search", "ana@example.com", "--store", store).code == 1


def names_found(run: Run, store: str, *words: str) -> list[str]:
    """What a person takes from a search to give it to `erase`, as `cut -d: -f2` does."""
    lines = run("search", "-m", "1000", *words, "--store", store).out.splitlines()
    return [line.split(":")[1] for line in lines if line.startswith("berta:")]


def long_talk(store: str, turns: int) -> None:
    """A session about a person, in which old outputs became placeholders and old messages a hand-over."""
    with fanfold.open("berta", store=store, window=6_000, recall=False) as chat:
        for n in range(turns):
            chat.say(f"Ask for berta number {n}.")
            chat.add(
                {"role": "assistant", "content": None, "tool_calls": [called(f"c{n}", "look", who="berta")]}
            )
            chat.answer(f"c{n}", f"berta {n} is in\n" + f"line of {n}\n" * 200)
            chat.add({"role": "assistant", "content": f"Done with {n}."})
            chat.request(max_tokens=100)


def test_everything_that_a_search_found_is_erased_at_once(run: Run, tmp_path: Path) -> None:
    """(43.5) One automatic edit among the names, or the session's name, and nothing was erased."""
    store = f"sqlite:{tmp_path / 'all.db'}"
    long_talk(store, 16)
    names = names_found(run, store, "berta")
    assert "name" in names
    edits = [name for name in names if name[0] == "e" and name[1:].isdigit()]
    assert len(edits) > 1
    given = ("erase", "berta", *names, "--reason", "asked", "--store", store)
    dry = run(*given, "--dry-run")
    assert (dry.code, dry.err) == (0, "")
    assert max(map(len, dry.out.splitlines())) < 600, dry.out
    assert " more would be destroyed for good." in dry.out
    assert set(json.loads(run(*given, "--dry-run", "--json").out)["left_out"]) == {"name", *edits}
    done = run(*given, "--yes")
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) < 8, done.out
    assert f"{names[1][:8]}, " in done.out
    assert " more are erased: asked\n" in done.out
    assert " are automatic edits: what is erased there went along.\n" in done.out
    assert "The name of the session stays: no name can be erased.\n" in done.out
    assert names_found(run, store, "berta") == ["name"]


def test_what_has_some_words_is_erased_without_copying_ids(run: Run, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'found.db'}"
    long_talk(store, 6)
    with fanfold.open("other", store=store, window=6_000) as chat:
        chat.say("Also about berta.")
    given = ("erase", "berta", "--found", "BERTA", "--found", "is in", "--reason", "asked", "--store", store)
    dry = run(*given, "--dry-run")
    listed = [line for line in dry.out.splitlines() if line.startswith("berta:")]
    assert (dry.code, dry.err) == (0, "")
    assert len(listed) > 10
    assert any("Ask for berta number 3." in line for line in listed)
    told = json.loads(run(*given, "--dry-run", "--json").out)["entries"]
    done = run(*given, "--yes")
    assert (done.code, done.err) == (0, "")
    assert len(told) >= 12
    assert names_found(run, store, "berta") == ["name"]
    assert run("search", "is in", "--store", store, "--session", "berta").code == 1
    assert run("search", "Also about berta", "--store", store).code == 0
    again = run("erase", "other", "--found", "number 3", "--reason", "asked", "--yes", "--store", store)
    assert (again.code, again.err) == (1, "Nothing in other has these words.\n")
    assert run("erase", "other", "--reason", "asked", "--store", store).code == 2


def test_what_is_found_is_listed_before_it_is_asked_for(
    run: Run, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    refused = run("erase", "run", "--found", "vendor/", "--reason", "secret")
    assert (refused.code, refused.out) == (1, "Nothing was erased.\n")
    assert ": Find the error. Never touch vendor/." in refused.err


def test_a_note_that_was_undone_is_found_and_erased_like_any_other(run: Run, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'notes.db'}"
    with fanfold.open("run", store=store, window=6_000) as chat:
        entry = chat.say("Hello, Zoe.").id
        note = chat.note("who", "Zoe Quux")
        chat.undo(note.id)
    given = ("erase", "run", note.id, entry, "--reason", "asked", "--store", store)
    assert run(*given, "--dry-run").code == 0
    assert run(*given, "--yes").code == 0
    assert run("search", "Zoe", "--store", store).code == 1


def test_an_edit_that_does_not_go_along_with_the_rest_still_refuses_all(run: Run, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'all.db'}"
    long_talk(store, 16)
    names = names_found(run, store, "berta")
    first = next(name for name in names if name[0] == "e" and name[1:].isdigit())
    with fanfold.open("berta", store=store, window=6_000) as chat:
        last = chat.say("Berta is well.")
    refused = run("erase", "berta", first, last.id, "--reason", "asked", "--yes", "--store", store)
    assert refused.code == 2
    assert f"'{first}' is an edit: erase the messages that it was made from" in refused.err
    assert last.id[:8] in names_found(run, store, "Berta is well")


def test_the_context_of_a_request_is_erased_by_its_number(run: Run, tmp_path: Path) -> None:
    with fanfold.open("run", window=9_000, store=f"sqlite:{tmp_path / 'agent.db'}") as chat:
        chat.say("Who?")
        number = len(chat.requests())
        chat.request(context="Jane Roe-SECRET looks on")
    assert "roe-secret" in run("search", "roe-secret").out.lower()
    erased = run("erase", "run", f"request {number}", "--reason", "asked", "--yes")
    assert (erased.code, erased.out) == (0, f"request {number} is erased: asked\n")
    assert run("search", "roe-secret").code == 1


def test_an_erasure_says_before_and_after_which_summaries_go_with_it(run: Run, store: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fold", "run", ids[0], ids[3], "They looked.").code == 0
    tried = run("erase", "run", "o1", "--reason", "secret", "--dry-run").out
    whole = "The summary e1 of 4 messages {} with it, as a whole, because it was written from all of them together."
    assert whole.format("would go") in tried
    assert tried.endswith(" Nothing was erased.\n")
    assert "ERROR" in run("cat", "run", "o1").out
    assert whole.format("goes") in run("erase", "run", "o1", "--reason", "secret").err
    told = run("erase", "run", "o1", "--reason", "secret", "--yes").out
    assert whole.format("went") in told
    assert "`fanfold undo run e1` shows the other 3 again, `fanfold release run e1` lets" in told
    assert run("undo", "run", "e1").code == 0
    assert run("release", "run", "e1").code == 0
    shown = run("show", "run").out
    assert "Find the error" in shown
    assert "[erased: secret]" in shown
    assert "[erased" not in run("erase", "run", ids[4], "--reason", "secret", "--dry-run").out


def test_erasing_asks_first(run: Run, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())  # nobody there to say yes
    nobody = run("erase", "run", "o1", "--reason", "secret")
    assert (nobody.code, nobody.out) == (2, "")
    assert "fanfold: Nothing was erased: give --yes." in nobody.err
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    refused = run("erase", "run", "o1", "--reason", "secret")
    assert (refused.code, refused.out) == (1, "Nothing was erased.\n")
    assert "ERROR" in run("cat", "run", "o1").out


def test_a_fold_that_cannot_be_made_changes_nothing(run: Run, store: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    ran = run("fold", "run", ids[2], ids[3], "half a pair")
    assert ran.code == 2
    assert ran.err.startswith("fanfold: This fold cannot be made")
    ran = run("fold", "run", ids[3], ids[1], "backwards")
    assert "name the older one first" in ran.err
    with fanfold.open("run", model="gpt-4o", store=store) as chat:
        assert chat.stats()["edits"] == 0


def test_a_row_is_named_exactly_though_others_begin_with_its_name(run: Run, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'folds.db'}"
    with fanfold.open("run", store=store, window=6_000) as chat:
        for number in range(10):
            row = chat.say(f"The newest reading, number {number}. " * 9).id
            chat.fold((row,), f"Reading {number}.")
    assert run("fold", "run", "e1", "e2", "Two readings.", "--dry-run", "--store", store).code == 0


def test_an_edit_under_another_one_is_undone_by_an_option_of_the_command(run: Run, store: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fold", "run", ids[1], ids[2], "It looked.").code == 0
    assert run("fold", "run", ids[0], "e1", "It began.").code == 0
    assert run("undo", "run", "e1").err == (
        "fanfold: e1 is covered by e2. Undo that first, or give --through to undo both.\n"
    )
    assert run("undo", "run", "e1", "--through").code == 0


def test_a_forced_reduction_makes_a_small_session_smaller_that_was_just_imported(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(talk()))
    assert run("import", "talk.json").code == 0
    assert run("compact", "talk", "--force").out == "1 edit made: 312 → 77 tokens.\n"
    assert "[summary of 3 messages" in run("show", "talk").out


def test_a_reduction_by_command_is_the_one_that_the_agent_would_make(run: Run, store: str) -> None:
    with fanfold.open("drops", store=store, window=600, strategy="drop_oldest") as chat:
        for number in range(12):
            chat.add(replied(f"Step {number}. " + "It hums. " * 12))
            chat.say(f"Go on, {number}.")
    planned = json.loads(run("compact", "drops", "--dry-run", "--json").out)
    assert [one["why"] for one in planned["decisions"]] == ["drop_oldest"]


def test_a_reduction_that_cannot_fit_changes_nothing_and_says_so_in_words_of_the_command_line(
    run: Run, store: str
) -> None:
    shown = run("show", "run").out
    for more in ((), ("--dry-run",), ("--json",)):
        ran = run("compact", "run", "--window", "40", *more)
        assert (ran.code, ran.out) == (4, "")
        assert ran.err == (
            "fanfold: run cannot be made to fit: about 37 tokens would be left, and 36 fit beside 4 for the reply. "
            "Give a larger --window. Nothing was changed.\n"
        )
    assert run("show", "run").out == shown


def test_a_reduction_that_is_not_the_agents_own_says_so(run: Run, store: str) -> None:
    def mine(view: fanfold.View, budget: fanfold.Budget) -> list[fanfold.Edit]:
        return []

    with fanfold.open("own", store=store, window=3_000, strategy=mine) as chat:
        chat.merge(talk())
    with fanfold.open("own", store=store):
        pass  # an agent that forgets to give it again
    assert run("compact", "own", "--force", "--dry-run").out.splitlines()[1] == (
        "The session's own strategy (mine) is in its agent's code, so auto did this; --strategy names another."
    )
    named = run("compact", "own", "--force", "--dry-run", "--strategy", "drop_oldest", "--json").out
    assert json.loads(named)["strategy"] == "drop_oldest"
    assert len(run("compact", "own", "--force", "--strategy", "elide").out.splitlines()) == 1
    assert len(run("compact", "run", "--force").out.splitlines()) == 1


def test_a_forced_reduction_that_does_nothing_says_why_and_what_to_do(run: Run, store: str) -> None:
    with fanfold.open("tiny", store=store, window=8_000) as chat:
        chat.merge([said("Hi"), replied("Hello!")])
    assert "`fanfold fold` folds rows by hand" in run("compact", "tiny", "--force").out
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fold", "run", ids[0], ids[-1], "All of it.").code == 0
    assert run("undo", "run").code == 0
    held = "Nothing can be reduced: 5 rows that were brought back are left alone until you say so: {}\n"
    assert run("compact", "run", "--force").out == held.format("fanfold release run e1")


def test_a_rewind_to_nowhere_names_the_options(run: Run, store: str) -> None:
    told = run("rewind", "run").err
    assert told == "fanfold: Say where to go back to: ENTRY, --turns or --time, one of them.\n"


def test_an_undo_of_an_undo_says_what_is_hidden_again(run: Run, shortened: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fold", "run", ids[0], ids[2], "They looked.").code == 0
    undone = run("undo", "run", "e2").out.split()[0]
    assert run("undo", "run", undone, "--dry-run").out.split(". ")[1] == "e2 would stand again"
    assert run("undo", "run", undone).out.splitlines()[1:] == [
        "e2 stands again. 3 messages are hidden again."
    ]
    assert " is hidden by e2 " in run("why", "run", "o1").out


def test_undo_right_after_a_message_came_back_hides_it_again(run: Run, shortened: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fold", "run", ids[0], ids[2], "They looked.").code == 0
    hidden = run("show", "run", "--ids").out.splitlines()[1:]
    assert run("undo", "run", "o1").code == 0
    assert run("undo", "run", "--dry-run").out.split(". ")[1] == "e2 and e1 would stand again"
    told = run("undo", "run").out.splitlines()[1:]
    assert told == ["e2 and e1 stand again. 2 messages are hidden again."]
    assert run("show", "run", "--ids").out.splitlines()[1:] == hidden
    assert "the model sees" not in run("why", "run", "o1").out.splitlines()[0]
    assert run("undo", "run", "e2").code == 0
    assert "shortened by e1" in run("why", "run", "o1").out.splitlines()[0]


def test_undo_says_in_one_sentence_what_is_taken_back(run: Run, store: str) -> None:
    def halve(view: fanfold.View, budget: fanfold.Budget) -> list[fanfold.Elide]:
        return [fanfold.Elide(f"{row.id}#0", "[cut]") for row in view.rows if row.tokens > 40]

    with fanfold.open("talk", window=9_000, store=store, strategy=halve) as chat:
        chat.say("Go.")
        ids = [chat.add(replied(f"Point {number}: " + "the disk hums. " * 30)).id for number in range(5)]
        chat.add(replied("Done."))
        chat.compact(force=True)
    run("fold", "talk", ids[0], ids[1], "Two points.")
    run("note", "talk", "plan", "one")
    run("note", "talk", "plan", "two")
    run("pin", "talk", "two")
    told = [run("undo", "talk").out.splitlines()[:2] for _ in range(5)]
    assert [lines[1] for lines in told] == [
        "The pin e9 is taken back: what it kept may be reduced again.",
        "The note 'plan' (e8) is taken back: the one before it stands again.",
        "The note 'plan' (e7) is taken back: it is no longer shown.",
        "The fold e6 is taken back: 2 messages are in view again.",
        "The reduction e1 to e5 (5 edits) is taken back: 5 messages are shown whole again.",
    ]
    assert told[-1][0].startswith("e14 to e18 undid 5 edits   ")
    assert run("redo", "talk").out.splitlines()[1] == "e1 to e5 (5 edits) stand again."


def test_undo_that_makes_a_request_too_long_says_how_to_hide_it_again(run: Run, shortened: str) -> None:
    told = run("undo", "run", "--window", "810", "--store", shortened).out.splitlines()
    assert told[1] == "The reduction e1 is taken back: 1 message is shown whole again."
    assert told[2] == (
        "The next request cannot be sent so: 316 tokens, 310 fit beside a reply of 500. "
        f"To hide it again: fanfold redo run --store {shortened}"
    )
    assert len(told) == 3
