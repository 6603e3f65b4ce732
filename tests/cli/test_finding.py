"""cat, grep: outputs are found again."""

from __future__ import annotations

import json

import fanfold
from conftest import OUTPUT, Run
from fanfold.testing import called, replied, said


def test_an_output_is_printed_as_it_came(run: Run, store: str) -> None:
    assert run("cat", "run", "o1").out == OUTPUT
    assert run("cat", "run", "o1", "--offset", "7", "--limit", "1").out == "line 7: ERROR\n"
    assert json.loads(run("cat", "run", "o1", "--limit", "2", "--json").out)["lines"] == [
        "line 1: ok",
        "line 2: ok",
    ]


def test_outputs_are_searched(run: Run, store: str) -> None:
    assert run("grep", "run", "ERR").out == "o1:7:line 7: ERROR\n"
    assert run("grep", "run", "error", "o1", "-i", "-B", "1").out == "o1-6-line 6: ok\no1:7:line 7: ERROR\n"
    assert json.loads(run("grep", "run", "ERR", "--json").out)[0]["line"] == 7


def test_nothing_found_is_exit_code_1(run: Run, store: str) -> None:
    assert run("grep", "run", "nowhere").code == 1


def test_a_search_that_takes_too_long_is_stopped_and_says_so(run: Run, store: str) -> None:
    """(19.18)"""
    ran = run("grep", "run", "ERR", "--timeout", "0.0000001")
    assert (ran.code, ran.out) == (3, "")
    assert "The search took longer than 1e-07 s and was stopped." in ran.err


def test_a_reference_that_is_not_there_is_named(run: Run, store: str) -> None:
    ran = run("cat", "run", "o9")
    assert ran.code == 2
    assert "There is no output 'o9' in this conversation; o1 are the newest" in ran.err
    assert run("grep", "run", "(").code == 2


def test_a_wrong_pattern_is_told_though_there_is_nothing_to_search(run: Run, store: str) -> None:
    with fanfold.open("silent", store=store, window=8_000) as chat:
        chat.say("Hello.")
    ran = run("grep", "silent", "(")
    assert ran.code == 2
    assert ran.err.startswith("fanfold: ")


def test_an_output_that_is_named_is_searched_though_it_is_no_text(run: Run, store: str) -> None:
    with fanfold.open("odd", store=store, window=8_000) as chat:
        chat.merge([said("Read it."), replied("", called("c1", "read", "{}"))])
        chat.answer("c1", "ERROR \x01\x02\x03\x04\n" * 9)
    assert run("grep", "odd", "ERROR").code == 1
    assert run("grep", "odd", "ERROR", "o1", "-m", "1").out.startswith("o1:1:ERROR")


def test_a_message_is_printed_by_its_id(run: Run, shortened: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("cat", "run", ids[0]).out == "Find the error. Never touch vendor/."
    assert run("cat", "run", ids[2]).out == run("cat", "run", "o1").out


def test_the_beginning_of_an_id_is_enough_to_print_a_message(run: Run, shortened: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    for short in (ids[2][:4], ids[2][:5]):
        assert run("cat", "run", short).out == run("cat", "run", "o1").out


def test_the_beginning_of_several_ids_prints_none_and_names_them(run: Run, store: str) -> None:
    with fanfold.open("many", model="gpt-4o", store=store) as chat:
        ids = [chat.say(f"Point {n}.").id for n in range(40)]
    first = next(id[0] for id in ids if sum(one[0] == id[0] for one in ids) > 1)
    told = run("cat", "many", first)
    assert told.code == 2
    assert f"More than one entry here begins with '{first}': " in told.err


def test_that_a_search_stopped_at_its_limit_is_said(run: Run, store: str) -> None:
    assert run("search", "error", "-m", "1").err == "There are more than 1: give a larger -m.\n"
    assert run("search", "error").err == ""


def test_what_an_undone_edit_hid_is_found_last_and_said_to_be_undone(run: Run, store: str) -> None:
    with fanfold.open("far", window=6_000, store=store, recall=True) as chat:
        for number in range(24):
            chat.add(replied(f"I look at {number}.", called(f"c{number}", "bash", '{"command": "make"}')))
            chat.answer(f"c{number}", "needle\n" + "all is well\n" * 50)
            chat.add(replied("Found it. " + "A quoting bug. " * 20))
            chat.request(max_tokens=300)
        hidden = [output.ref for output in chat.outputs() if output.ref.startswith("m")]
        undone = next(row.why[0] for row in reversed(chat.view().rows) if row.kind == "fold")
    before = run("grep", "far", "needle", "-m", "1")
    assert before.out.startswith(hidden[0])
    assert before.err == ""
    assert run("undo", "far", undone).code == 0
    after = run("grep", "far", "needle", "-m", "1")
    assert sorted(after.out.splitlines()) == sorted(before.out.splitlines())
    assert after.out.splitlines()[-1].startswith(f"{hidden[0]}:")
    assert after.err == f"{hidden[0]} is what {undone} hid; that is undone, so it stands in the messages.\n"
    told = json.loads(run("grep", "far", "needle", "-m", "1", "--json").out)
    assert {one["ref"]: one["undone"] for one in told if one["undone"]} == {hidden[0]: undone}
