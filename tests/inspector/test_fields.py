"""docs/inspector-api.md names every field of every answer; a table leads to another by a link."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanfold.inspector.routes import READS
from fanfold.stores.memory import Memory
from fanfold.testing.provider import Provider
from tests.gateway.gate import Gate
from tests.gateway.looping import run, script
from tests.inspector.world import Page, Visitor, open_handed_over, trial_ended

PAGE = (Path(__file__).parents[2] / "docs" / "inspector-api.md").read_text()
SECTIONS = {part.partition("\n")[0]: part for part in re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]}
ANCHORS = {re.sub(r"[^a-z ]", "", title.lower()).replace(" ", "-"): title for title in SECTIONS}
UNLISTED = {"sessions/{name}/export"}
"""Not JSON."""
ADDED = {
    "sessions/{name}/rows/{id}": "A row",
    "sessions/{name}/edits": "An edit",
    "sessions/{name}/edits/{id}": "An edit",
    "sessions/{name}/requests/{n}": "sessions/{name}/requests",
    "sessions/{name}/next": "A preview",
    "A change": "A preview",
}
"""What these say besides."""


def fields(title: str) -> dict[str, str]:
    """The fields that a section names, each with what is said of it."""
    rows = re.findall(r"^\| (`.+?`) \| (.+) \|$", SECTIONS[title], re.MULTILINE)
    own = {name: says for names, says in rows for name in re.findall(r"`(\w+)`", names)}
    return {**(fields(ADDED[title]) if title in ADDED else {}), **own}


def missing(value: Any, title: str) -> Iterator[str]:
    """The fields of an answer that the page does not name."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from missing(one, title)
    elif isinstance(value, dict):
        known = fields(title)
        for name, inner in value.items():
            if name not in known:
                yield f"{title}: {name}"
            else:
                yield from missing_inside(inner, name, f"{title}: {name}", known[name])


def missing_inside(inner: Any, name: str, place: str, says: str) -> Iterator[str]:
    """The same for what a field holds: another table, or keys that somebody else names."""
    links = [ANCHORS[one] for one in re.findall(r"\(#([a-z-]+)\)", says)]
    holds = isinstance(inner, dict) or (isinstance(inner, list) and any(isinstance(x, dict) for x in inner))
    if not holds or "keys are" in says or "Why" in links:
        return
    if not links:
        yield f"{place} leads nowhere"
        return
    found = [set(missing(inner, link)) for link in links]
    yield from min(found, key=len)


@pytest.fixture(scope="module")
def worked() -> Iterator[tuple[Visitor, dict[str, str]]]:
    """A session in which everything happened, and what stands for the names in a path."""
    store = Memory()
    chat, edit = open_handed_over(store)
    hidden = chat.why(edit).hides[0]
    chat.pin(chat.view().rows[0].id)
    chat.note("plan", "Look on.")
    left = chat.say("Something that is left.")
    chat.rewind([row.id for row in chat.view().rows if row.kind == "entry"][-2])
    chat.say(f"Went on without it. {left.id}")
    names = {"{name}": "run", "{n}": "-1", "{ref}": "o1", "edit": edit, "hidden": hidden}
    names["row"] = next(row.id for row in chat.view().rows if row.was is not None or row.kind == "fold")
    with Page(store) as page:
        visitor = page.enter()
        visitor.tell("run", "try", window=6_000)
        trial_ended(visitor)
        yield visitor, names


QUERY = {
    "search": "?words=column",
    "sessions/{name}/search": "?words=column",
    "sessions/{name}/grep": "?pattern=column",
    "sessions/{name}/pictures": "?requests=0",
}


def test_every_answer_has_its_section() -> None:
    assert {*READS} - UNLISTED <= {*SECTIONS}
    assert {*ADDED} <= {*SECTIONS}


@pytest.mark.parametrize("path", sorted({*READS} - UNLISTED - {"health"}))
def test_every_field_of_an_answer_is_named(path: str, worked: tuple[Visitor, dict[str, str]]) -> None:
    visitor, names = worked
    ids = {"rows/{id}": "row", "entries/{id}": "hidden", "edits/{id}": "edit"}
    asked = path
    for end, kind in ids.items():
        asked = asked.replace(end, end.replace("{id}", names[kind]))
    for name in ("{name}", "{n}", "{ref}"):
        asked = asked.replace(name, names[name])
    told = visitor.ask(asked + QUERY.get(path, ""))
    assert told
    assert sorted(set(missing(told, path))) == []


def test_every_field_of_a_change_is_named(worked: tuple[Visitor, dict[str, str]]) -> None:
    visitor, names = worked
    entry = visitor.ask("sessions/run/view")["rows"][0]["id"]
    changes: list[tuple[str, dict[str, Any]]] = [
        ("undo", {"edit": names["edit"]}),
        ("fork", {"name": "two"}),
        ("erase", {"entry": entry, "reason": "asked for"}),
    ]
    for verb, given in changes:
        told = visitor.tell("run", verb, dry_run=True, **given)
        assert sorted(set(missing({**told, "back": None}, "A change"))) == []


def test_every_figure_of_health_is_named() -> None:
    with Provider(script, window=32_000) as provider, Gate(provider.url, window=32_000) as gate:
        run(gate, 2)
        link = f"/?token={gate.gateway.inspection.token()}"
        _, headers, _ = gate.send("GET", link, headers={"accept": "text/html"})
        cookie = headers["set-cookie"].partition(";")[0]
        _, _, body = gate.send("GET", "/inspector/api/health", headers={"cookie": cookie})
        assert sorted(set(missing(json.loads(body), "health"))) == []
