"""stats --cost: what each thing in a session of a store has cost."""

import json
from pathlib import Path

import fanfold
from conftest import Run, talk
from fanfold.testing import replied, response


def billed(folder: Path, model: str | None = "gpt-4o") -> str:
    """A store with a session of three requests, two of them billed."""
    store = f"sqlite:{folder / 'agent.db'}"
    told = {"model": model} if model else {"window": 8_000, "dialect": "openai.chat"}
    with fanfold.open("run", store=store, system="You are brief.", **told) as chat:
        chat.merge(talk())
        for n in range(3):
            chat.say(f"Go on, {n}.")
            chat.request(max_tokens=500)
            chat.receive(response(replied("Done."), prompt=chat.sent()[0].tokens if n else None))
    return store


def test_the_most_expensive_things_are_listed_with_what_eliding_them_would_have_spared(
    run: Run, tmp_path: Path
) -> None:
    store = billed(tmp_path)
    head, names, first, *_ = run("stats", "--cost", "run", "--store", store).out.splitlines()
    assert head == "728 tokens in 2 requests, $0.0020"
    assert names.split() == ["tokens", "cost", "requests", "spare", "kind", "id", "what"]
    assert first.split()[2:5] == ["2", "191", "output"]
    assert first.endswith("read log.txt")


def test_the_ledger_is_printed_for_programs(run: Run, tmp_path: Path) -> None:
    ledger = json.loads(run("stats", "--cost", "run", "--store", billed(tmp_path), "--json").out)
    assert ledger["requests"] == 2
    assert sum(line["output"] for line in ledger["lines"]) == ledger["usage"]["output"] == 20


def test_a_price_that_nobody_knows_is_a_dash(run: Run, tmp_path: Path) -> None:
    assert (
        run("stats", "--cost", "run", "--store", billed(tmp_path, None)).out.splitlines()[0].endswith(", –")
    )


def test_a_session_without_bills_says_so(run: Run, store: str) -> None:
    told = run("stats", "--cost", "run", "--store", store).out
    assert told == "No request of this session was billed (2 requests without a bill).\n"


def test_without_files_and_without_a_session_it_is_said_what_to_name(run: Run) -> None:
    ran = run("stats")
    assert ran.code == 2
    assert (
        "Name files with conversations, or a session of a store; --cost SESSION tells what it cost."
        in ran.err
    )
