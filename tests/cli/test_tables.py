"""Every table fits the terminal, whatever stands in it, and says what it left out."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import fanfold
from conftest import Run
from fanfold.cli import saying, views
from fanfold.gateway.journal import Exchanged, Journal
from fanfold.testing import called, replied, response, returned, said
from fanfold.text.lines import columns_of

WIDTHS = (60, 80, 100, 120, 200)
LONG = "support/2026-11-20/europe-west/desk-7/ticket-000123456789-with-a-name-that-goes-on-and-on"
TOOL = "a_tool_whose_name_is_as_long_as_those_of_servers"
POLICY = "elide+shorten_arguments+shorten_outputs+shorten_repeats+drop_oldest"


@pytest.fixture
def crowded(run: Run, store: str, tmp_path: Path) -> str:
    """A store, a journal and a conversation in which all names are long."""
    bodies = [said("Mend it. " * 40)]
    for number in range(12):
        bodies += [replied(None, called(f"c{number}", TOOL)), returned(f"c{number}", "消せません。 " * 200)]
    (tmp_path / f"{LONG[-30:]}.json").write_text(json.dumps({"model": "gpt-4o", "messages": bodies}))
    with fanfold.open(LONG, model="gpt-4o", store=store, labels={"client": "claude-code/1.2.3"}) as chat:
        for number, body in enumerate(bodies):
            if body["role"] == "assistant":
                prompt = chat.request(max_tokens=500).sent.tokens
                chat.receive(response(body, prompt=prompt))
            else:
                chat.add(body)
            if number == 9:
                chat.fold((chat.view().rows[0].id,), "It hums.")
        chat.request(max_tokens=500)
    journal = Journal(tmp_path / "agent.requests.jsonl")
    figures = {"tokens": 1_234_567, "whole": 9_876_543, "prompt": 1_234_567, "cached": 999_999, "edits": 30}
    for _ in range(30):
        journal.write(
            Exchanged(
                time=time.time(),
                client="claude-code/1.2.3 (external, cli)",
                session=LONG,
                **figures,
                refused=2,
            )
        )
    return store


TABLES = [
    ("ls",),
    ("show", LONG, "--ids"),
    ("why", LONG, "e1"),
    ("diff", LONG, "0", "5"),
    ("cache", LONG, "--all"),
    ("requests", "--journal", "agent.requests.jsonl"),
    ("models",),
    ("stats", f"{LONG[-30:]}.json"),
    ("stats", "--cost", LONG),
    ("replay", f"{LONG[-30:]}.json", "--window", "8k", "--workers", "1", "--policy", f"{POLICY},drop_oldest"),
    ("pin", LONG),
]


WITHOUT_COLUMNS = ("show", "why", "diff", "pin", "requests")
"""Lines that are cut or broken. The sums below the requests are broken, too."""


@pytest.mark.parametrize("command", TABLES, ids=lambda words: words[0])
def test_a_table_fits_every_terminal(
    run: Run, crowded: str, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    whole = run(*command)
    assert whole.code == 0, whole.err
    for width in WIDTHS:
        for module in (saying, views):
            monkeypatch.setattr(module, "terminal_width", lambda width=width: width)
        ran = run(*command)
        widest = max(ran.out.splitlines(), key=columns_of)
        assert columns_of(widest) <= width, (width, widest)
        if command[0] not in WITHOUT_COLUMNS and max(map(columns_of, whole.out.splitlines())) > width:
            assert "Left out, because the terminal is narrow: " in ran.out


def test_a_long_name_leaves_room_for_the_other_columns(
    run: Run, crowded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saying, "terminal_width", lambda: 80)
    head, *rows, told, _ = run("ls").out.splitlines()
    assert head.split()[:3] == ["session", "messages", "requests"]
    assert any(row.startswith(f"{LONG[:38]} …  ") for row in rows)
    assert told.startswith("Left out, because the terminal is narrow: the ends of long names, ")


def test_a_table_without_headings_names_its_columns_by_what_they_are(
    run: Run, crowded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saying, "terminal_width", lambda: 60)
    told = " ".join(run("stats", f"{LONG[-30:]}.json").out.split())
    assert "narrow: beginnings. A wider" in told
