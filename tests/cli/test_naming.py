"""How things are named on the command line, and what is said of a name that means nothing or several things."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

import pytest

import fanfold
from conftest import Run
from fanfold.gateway.journal import Journal, begin, journal_path


@pytest.fixture
def named(store: str) -> str:
    """The same store, with two sessions more that begin alike."""
    for name in ("walk-one", "walk-two", "walk"):
        with fanfold.open(name, model="gpt-4o", store=store) as chat:
            chat.say(f"I am {name}.")
    return store


def test_a_session_is_named_by_how_its_name_begins(run: Run, named: str) -> None:
    for command in (("show",), ("export",), ("cache",), ("cat", "o1"), ("pin",)):
        verb, *rest = command
        whole, begun = run(verb, "run", *rest), run(verb, "ru", *rest)
        assert (whole.code, whole.out, whole.err) == (0, begun.out, begun.err)
    assert run("rewind", "ru", "--turns", "1").out.startswith("run stands at ")
    assert run("search", "walk-two", "--session", "walk-t").out.startswith("walk-two:")
    assert run("stats", "--cost", "ru").code == 0


def test_an_exact_name_wins(run: Run, named: str) -> None:
    assert "I am walk." in run("show", "walk").out


def test_a_name_that_several_begin_with_says_which_they_are(run: Run, named: str) -> None:
    told = run("show", "wal")
    assert told.code == 2
    assert told.err == "fanfold: More than one session here begins with 'wal': walk, walk-one, walk-two.\n"
    assert run("show", "").err.startswith("fanfold: There is no session '' here;")


def test_a_command_on_the_beginning_of_a_name_makes_no_session(run: Run, named: str) -> None:
    run("note", "walk-t", "plan", "go")
    assert [one["name"] for one in json.loads(run("ls", "--json").out)] == [
        "run", "walk", "walk-one", "walk-two",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["nope", "ma"])
def test_requests_of_no_session_are_said_to_be_of_none(run: Run, store: str, name: str) -> None:
    journal = Journal(journal_path(store, None))
    for session in ("main", "mail"):
        line = begin()
        line.session = session
        journal.write(line)
    journal.close()
    assert run("requests", "mai").code == 2
    assert run("requests", "main", "--json").code == run("requests", "mail", "--json").code == 0
    told = run("requests", name)
    assert (told.code, told.out) == (2, "")
    none = "The journal has no request of a session 'nope'; it has those of mail, main."
    kind = none if name == "nope" else "More than one session here begins with 'ma'"
    assert kind in told.err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("e999", "There is no edit 'e999' in this session"),
        ("o77", "There is no output 'o77' in this session"),
        ("zzz", "Nothing here is named 'zzz': no edit, no output, and no message's id begins so"),
    ],
)
def test_undo_says_what_is_not_there(run: Run, shortened: str, name: str, words: str) -> None:
    told = run("undo", "run", name)
    assert told.code == 2
    assert words in told.err


def test_why_says_what_is_not_there(run: Run, shortened: str) -> None:
    assert "There is no edit 'e999' in this session" in run("why", "run", "e999").err
    assert "There is no output 'o77' in this session" in run("why", "run", "o77").err


def test_the_beginning_of_several_ids_names_them(run: Run, store: str) -> None:
    with fanfold.open("many", model="gpt-4o", store=store) as chat:
        ids = [chat.say(f"Point {n}.").id for n in range(40)]
    first = next(id[0] for id in ids if sum(one[0] == id[0] for one in ids) > 1)
    told = run("why", "many", first)
    assert told.code == 2
    assert f"More than one entry here begins with '{first}': " in told.err
    assert any(id[:8] in told.err for id in ids)


def test_cat_says_how_long_an_output_is_when_it_begins_behind_the_end(run: Run, store: str) -> None:
    told = run("cat", "run", "o1", "--offset", "9999")
    assert (told.code, told.out) == (2, "")
    assert told.err == "fanfold: o1 has 40 lines; there is no line 9,999.\n"
    assert run("cat", "run", "o1", "--offset", "40").out == "line 40: ok\n"


def test_words_to_search_for_are_one_argument(run: Run, store: str) -> None:
    told = run("search", "never", "touch")
    assert told.code == 2
    assert "To search for several words, quote them: fanfold search 'never touch'" in told.err


@pytest.mark.parametrize("port", ["99999", "-1"])
def test_a_port_that_is_none_is_wrong_usage(run: Run, store: str, port: str) -> None:
    told = run("inspect", store, "--port", port)
    assert told.code == 2
    assert "0<=x<=65535" in told.err


def test_a_used_port_is_said_with_a_way_out(store: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        for command in (("inspect", store), ("serve", "--store", store)):
            ran = subprocess.run(
                [sys.executable, "-m", "fanfold", *command, "--port", str(port)],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert ran.returncode == 2, ran.stderr
            (line,) = ran.stderr.splitlines()
            assert line.startswith(f"fanfold: Port {port} cannot be used: Address already in use.")
            assert "--port" in line


def test_one_is_no_plural(run: Run, store: str) -> None:
    assert "has 1 turn;" in run("rewind", "run", "--turns", "9").err.replace("2 turns", "1 turn")
    assert "1 session, " in run("doctor", "--store", store).out


def test_folding_half_a_pair_names_the_partner(run: Run, store: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    call, result = ids[1], ids[2]
    told = run("fold", "run", ids[0], call, "It looked.").err
    assert f"{call} and {result}" in told
