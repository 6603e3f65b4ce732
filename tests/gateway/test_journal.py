"""Every request leaves a line: who asked, what was sent, what it cost, what went wrong."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from fanfold.cli.app import fanfold
from fanfold.gateway.journal import Exchanged, Journal, journal_path, read_journal
from fanfold.testing.provider import Provider, Turn
from tests.gateway.gate import Gate
from tests.gateway.test_loops import outputs
from tests.provider.test_sdks import Chat

STEPS = 16


def script(request):
    if request.number == 12:
        return Turn("", calls=[("tool_output_cache", {"ref_id": "o1"})])
    if request.number > STEPS:
        return Turn("Found it.")
    return Turn("", calls=[("grep", {"pattern": f"x{request.number}"})])


@pytest.fixture
def path(tmp_path):
    """The journal of a loop with one look-up, and of one request that was not to be managed."""
    path = tmp_path / "lines.jsonl"
    with (
        Provider(script, window=16_000) as provider,
        Gate(provider.url, window=16_000, journal=str(path)) as gate,
    ):
        talk, texts = Chat(gate), outputs()
        for _ in range(STEPS + 1):
            talk.output = next(texts)
            talk.take(talk.ask(True))
        body = b'{"model": "gpt-5.2", "messages": [{"role": "user", "content": "my secret"}]}'
        gate.post("/v1/chat/completions", body, x_fanfold_bypass="1", authorization="Bearer sk-mine")
    return path


def test_a_line_has_what_was_sent_and_what_it_cost(path):
    *loop, aside = read_journal(path)
    assert len(loop) == STEPS + 1
    assert {one.status for one in loop} == {200}
    assert len({one.session for one in loop}) == 1
    last = loop[-1]
    assert last.edits > 0
    assert last.whole > 2 * last.tokens
    assert last.whole_cost > last.cost > 0
    assert 0 < last.cached < last.prompt
    assert 0 < last.own <= last.first <= last.total
    assert sum(one.hidden for one in loop) == 1
    assert aside.bypassed == "asked for"


def test_nothing_that_was_said_and_no_key_is_in_it(path):
    text = path.read_text()
    assert "secret" not in text
    assert "sk-mine" not in text
    assert "found" not in text


def test_a_command_lists_them(path):
    ran = CliRunner().invoke(fanfold, ["requests", "--journal", str(path), "--last", "3", "--json"])
    told = json.loads(ran.output)
    assert [one.get("bypassed", "") for one in told] == ["", "", "asked for"]
    shown = CliRunner().invoke(fanfold, ["requests", "--journal", str(path)]).output
    assert "1 hidden" in shown
    assert "passed on: asked for" in shown


def test_a_command_says_how_many_it_left_out(path):
    newest = CliRunner().invoke(fanfold, ["requests", "--journal", str(path), "--last", "3"]).output
    assert newest.splitlines()[-2] == f"{STEPS - 1} older: --last {STEPS + 2}"
    assert "older" not in CliRunner().invoke(fanfold, ["requests", "--journal", str(path)]).output


def test_the_last_line_has_the_sums_of_all_requests_those_that_are_not_listed_too(path):
    every = read_journal(path)
    tokens, cost = sum(one.tokens for one in every), sum(one.cost or 0 for one in every)
    cached = sum(one.cached for one in every) / sum(one.prompt for one in every)
    for last in ("1", "50"):
        ran = CliRunner().invoke(fanfold, ["requests", "--journal", str(path), "--last", last])
        total = ran.output.splitlines()[-1]
        assert total.startswith(f"In all {STEPS + 2} requests: {tokens:,} tokens sent (")
        assert f", {cached:.0%} of what was billed from the cache, ${cost:,.4f} ($" in total
        over = sum(one.over for one in every)
        assert over
        told = f"Without fanfold, {over} of them would not have fitted the window."
        assert total.endswith(f" whole, 1 without a price). {told}")
    path.write_text("")
    assert "In all" not in CliRunner().invoke(fanfold, ["requests", "--journal", str(path)]).output


def test_a_torn_line_is_left_out_and_a_missing_journal_is_said(path, tmp_path):
    with open(path, "ab") as file:
        file.write(b'{"time": 1.0, "cli')
    assert len(read_journal(path)) == STEPS + 2
    assert read_journal(path, session="other") == []
    assert CliRunner().invoke(fanfold, ["requests", "--journal", str(tmp_path / "no")]).exception is not None


def test_it_stands_beside_the_store():
    assert str(journal_path("sqlite:run/agent.db", None)) == "run/agent.requests.jsonl"
    assert str(journal_path("sqlite:/var/agent.db", None)) == "/var/agent.requests.jsonl"
    assert str(journal_path("postgresql://db/x", None)) == "fanfold.requests.jsonl"
    assert journal_path("memory", None) is None
    assert journal_path("sqlite:agent.db", "") is None


def test_a_line_that_nobody_billed_costs_nothing():
    assert Exchanged().cost is None


def test_half_a_character_in_the_name_of_a_model_breaks_no_line(tmp_path):
    """A client may write anything; the line is written after its reply, and must not fail then."""
    journal = Journal(tmp_path / "lines.jsonl")
    journal.write(Exchanged(model="gpt-\ud83d", session="run"))
    journal.close()
    (line,) = read_journal(tmp_path / "lines.jsonl")
    assert (line.model, line.session) == ("gpt-\ufffd", "run")


def test_only_its_owner_can_read_it_also_where_others_could(tmp_path):
    """(43.14) Like the store beside it; an earlier release, or another program, let everybody read it."""
    new, known = tmp_path / "new.jsonl", tmp_path / "known.jsonl"
    known.write_bytes(b"")
    known.with_suffix(".old.jsonl").write_bytes(b"")
    for path in (known, known.with_suffix(".old.jsonl")):
        path.chmod(0o644)
    before = os.umask(0o022)
    try:
        for path in (new, known):
            journal = Journal(path)
            journal.write(Exchanged(session="run"))
            journal.close()
    finally:
        os.umask(before)
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()} == {
        "new.jsonl": "0o600",
        "known.jsonl": "0o600",
        "known.old.jsonl": "0o600",
    }
    assert len(read_journal(known)) == 1


def test_a_journal_that_is_a_device_is_written_and_left_as_it_is():
    before = os.stat(os.devnull).st_mode
    journal = Journal(Path(os.devnull))
    journal.write(Exchanged(session="run"))
    journal.close()
    assert os.stat(os.devnull).st_mode == before


def test_a_file_that_became_too_long_is_the_old_one_from_then_on(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.touch()
    os.truncate(path, (64 << 20) + 1)
    for session in ("one", "two"):
        journal = Journal(path)
        journal.write(Exchanged(session=session))
        journal.close()
    assert path.with_suffix(".old.jsonl").stat().st_size == (64 << 20) + 1
    assert [json.loads(line)["session"] for line in path.read_text().splitlines()] == ["one", "two"]
