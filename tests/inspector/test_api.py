"""The JSON API of the inspector: what it tells, and what it changes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import fanfold
from fanfold.cli.app import fanfold as command
from fanfold.inspector.changes import change
from fanfold.inspector.desk import Seat
from fanfold.inspector.inquiry import Inquiry
from fanfold.inspector.reads import export
from fanfold.inspector.values import brief_call
from fanfold.session.preview import Preview
from fanfold.session.session import Session
from fanfold.stores.sqlite import SQLite
from fanfold.strategies.elide import elide
from fanfold.testing import called, replied, response
from tests.inspector.world import ROWS, Page, Visitor, open_handed_over, open_worked


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLite]:
    kept = SQLite(tmp_path / "agent.db")
    yield kept
    kept.close()


def printed(store: SQLite, *arguments: str) -> Any:
    """What a command prints with --json."""
    done = CliRunner().invoke(command, [*arguments, "--json", "--store", f"sqlite:{store.file}"])
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def elided(visitor: Visitor) -> dict[str, Any]:
    return next(one for one in visitor.ask("sessions/run/edits") if one["kind"] == "elide")


def test_it_tells_what_the_commands_print(store: SQLite) -> None:
    open_worked(store).close()
    with Page(store) as page:
        visitor = page.enter()
        (one,) = visitor.ask("sessions")
        (other,) = printed(store, "ls")
        assert {key: one[key] for key in other if key != "last"} == {
            k: v for k, v in other.items() if k != "last"
        }
        assert visitor.ask("sessions/run/view?full=1") == printed(store, "show", "run")
        assert visitor.ask("sessions/run/view?full=1&request=2") == printed(
            store, "show", "run", "--request", "2"
        )
        edit = elided(visitor)
        assert visitor.ask(f"sessions/run/entries/{edit['entry']}")["why"] == printed(
            store, "why", "run", edit["entry"]
        )
        cat = printed(store, "cat", "run", "o1", "--limit", "7")
        output = visitor.ask("sessions/run/outputs/o1?limit=7")
        assert {key: output[key] for key in cat} == cat
        assert visitor.ask("sessions/run/grep?pattern=row+39&ref=o1") == printed(
            store, "grep", "run", "row 39", "o1"
        )
        differs = visitor.ask("sessions/run/requests/3")["diff"]
        differs.pop("rows")
        assert differs == printed(store, "diff", "run", "2", "3")
        assert visitor.ask("search?words=hums")["hits"] == printed(store, "search", "hums", "-m", "200")
        uses = printed(store, "cache", "run", "--all")
        assert [each["cache"] for each in visitor.ask("sessions/run/requests")] == uses
        assert visitor.ask("sessions/run/requests/3")["cache"] == uses[3]


def test_an_export_is_the_file_that_the_command_writes_and_is_sent_in_pieces(
    store: SQLite, tmp_path: Path
) -> None:
    with open_worked(store) as chat:
        chat.say("A long story. " * 30_000)
    file = tmp_path / "run.jsonl"
    assert printed(store, "export", "run", "-o", str(file))["file"] == str(file)
    with Page(store) as page:
        visitor = page.enter()
        _, headers, body = page.send("GET", "/inspector/api/sessions/run/export", cookie=visitor.cookie)
        assert body == file.read_bytes()
        assert headers["transfer-encoding"] == "chunked"
        visitor.ask("sessions/nobody/export", 404)
    pieces = list(export(page.inspector.desk, Inquiry(tenant="default", name="run")))
    assert b"".join(pieces) == body
    assert len(pieces) > 1


def test_a_session_whose_name_is_a_folder_to_browsers_is_named_behind_the_path(store: SQLite) -> None:
    for name in (".", ".."):
        fanfold.open(name, store=store, model="gpt-5.2").say(f"I am {name}")
    with Page(store) as page:
        visitor = page.enter()
        assert visitor.ask("sessions/_?name=..")["name"] == ".."
        assert visitor.ask("sessions/_/view?name=.")["rows"][0]["text"] == "I am ."


def test_the_tokens_that_are_hidden_are_those_that_come_back(store: SQLite) -> None:
    chat = open_worked(store)
    before = chat.view().tokens
    rows = [row.id for row in chat.view().rows]
    chat.fold(tuple(rows[1:5]), "Looked at two disks.")
    with Page(store) as page:
        visitor = page.enter()
        told = visitor.ask("sessions/run")
        edits = visitor.ask("sessions/run/edits")
        assert {one["fate"] for one in edits} == {"stands", "covered"}
        chat.undo()
        while standing := [one.decision.id for one in chat.edits() if one.fate == "stands"]:
            chat.undo(standing[-1])
        assert told["hidden_tokens"] == chat.view().tokens - told["stats"]["tokens"] > before
        assert visitor.ask("sessions/run")["hidden_tokens"] == 0


def test_what_the_model_reads_in_the_place_of_a_message_is_told(store: SQLite) -> None:
    chat = open_worked(store)
    rows = [row.id for row in chat.view().rows]
    shortened = next(row.id for row in chat.view().rows if row.was is not None)
    made = chat.fold(tuple(rows[3:5]), "Looked at a disk.")
    with Page(store) as page:
        visitor = page.enter()

        def instead(id: str) -> Any:
            return visitor.ask(f"sessions/run/entries/{id}")["instead"]

        assert instead(rows[3]) == {"says": "In its place the model reads:", "texts": ["Looked at a disk."]}
        assert "[tool output trimmed; ref=o1" in instead(shortened)["texts"][0]
        assert instead(rows[0]) is None
        chat.undo(made.id)
        (undone,) = visitor.ask(f"sessions/run/rows/{rows[3]}")["brought_back_from"]
        assert (undone["id"], undone["fate"], undone["free"]) == (made.id, "undone", False)
        assert visitor.ask(f"sessions/run/entries/{rows[3]}")["brought_back_from"] == [undone]


def test_the_summary_is_quoted_where_it_tells_of_a_message(store: SQLite) -> None:
    chat, edit = open_handed_over(store)
    line = chat.why(edit).lines[-1]
    with Page(store) as page:
        visitor = page.enter()
        told = visitor.ask(f"sessions/run/entries/{line.entries[0]}")["instead"]
        assert told["says"] == "The summary says of it:"
        assert line.text[:400] in told["texts"]


def test_what_a_release_and_a_step_back_do_is_said_in_plain_words(store: SQLite) -> None:
    chat = open_worked(store)
    undone = chat.undo()[0].edit.edit  # type: ignore[union-attr]
    rows = [row.id for row in chat.view().rows]
    with Page(store) as page:
        visitor = page.enter()
        says = visitor.tell("run", "release", edit=undone, dry_run=True)["says"]
        assert "Nothing changes at once" in says[0]
        assert not any("never what you brought back" in line for line in says)
        says = visitor.tell("run", "rewind", to=rows[-3], dry_run=True)["says"]
        assert says[-1].startswith("The 2 messages after it are no longer shown to the model.")
        assert visitor.ask("sessions/run")["ahead"] is None
        head = chat.head
        visitor.tell("run", "rewind", to=rows[-3])
        assert visitor.ask("sessions/run")["ahead"] == head
        visitor.tell("run", "forward")
        assert (chat.head, visitor.ask("sessions/run")["ahead"]) == (head, None)


def test_every_row_says_why_it_is_as_it_is(store: SQLite) -> None:
    chat = open_worked(store)
    chat.pin(chat.view().rows[0].id)
    chat.say("And now?")
    chat.note("plan", "look on")
    with Page(store) as page:
        visitor = page.enter()
        rows = visitor.ask("sessions/run/view")["rows"]
        assert rows[0]["because"].startswith("Pinned")
        assert any("Shortened by" in row["because"] and "the whole is kept" in row["because"] for row in rows)
        assert any(row["because"].startswith("New:") for row in rows)
        assert [row["text"] for row in rows if row["kind"] == "note"] == ["[note: plan] look on"]
        told = visitor.ask("sessions/run")
        assert [one["entry"] for one in told["pins"]] == [chat.view().rows[0].id]
        assert told["notes"][0]["text"] == "look on"
        assert sum(told["picture"].values()) == chat.view().tokens


def test_a_page_of_rows_is_a_part_of_all(store: SQLite) -> None:
    open_worked(store).close()
    with Page(store) as page:
        visitor = page.enter()
        whole = visitor.ask("sessions/run/view")
        part = visitor.ask("sessions/run/view?offset=3&limit=4")
        assert part["rows"] == whole["rows"][3:7]
        assert part["total"] == len(whole["rows"])


def test_an_edit_has_before_and_after(store: SQLite) -> None:
    chat = open_worked(store)
    rows = [row.id for row in chat.view().rows[1:5]]
    made = chat.fold(tuple(rows), "Looked at two disks.")
    with Page(store) as page:
        visitor = page.enter()
        told = visitor.ask(f"sessions/run/edits/{made.id}")
        assert [one["id"] for one in told["covered"]] == rows
        assert told["covered"][1]["message"]["parts"][0]["parts"][0]["text"].endswith(ROWS[-20:])
        assert told["shows"][0]["parts"][0]["text"] == "Looked at two disks."
        under = next(one for one in visitor.ask("sessions/run/edits") if one["under"])
        assert under["under"] == made.id


def test_a_request_has_the_body_that_went_out(store: SQLite) -> None:
    chat = open_worked(store)
    chat.say("And now?")
    sent = dict(chat.request(max_tokens=500))
    with Page(store) as page:
        visitor = page.enter()
        told = visitor.ask("sessions/run/requests/-1?widest=4000000")
        assert told["exact"]
        assert json.loads("".join(told["lines"])) == sent
        assert told["same"] > 0
        assert told["diff"]["came"]
        assert visitor.ask("sessions/run/bodies/-1")["body"] == sent


def test_the_next_body_is_what_the_dry_run_said_for_a_live_session(store: SQLite) -> None:
    chat = open_worked(store, window=60_000)
    chat.fold(tuple(row.id for row in chat.view().rows[1:5]), "Looked.")
    with Page(store) as page:
        visitor = page.enter()
        edit = next(one for one in visitor.ask("sessions/run/edits") if one["kind"] == "fold")
        dry = visitor.tell("run", "undo", edit=edit["id"], dry_run=True)
        assert chat.view().tokens == dry["before"]
        assert dry["says"][0].startswith("The next request ")
        done = visitor.tell("run", "undo", edit=edit["id"])
        assert done["after"] == dry["after"] == chat.view().tokens
        promised = visitor.ask("sessions/run/next")["body"]
        assert dict(chat.request(max_tokens=500)) == promised


class Shared(Session):
    """A session in which somebody else always says something between a preview and the change."""

    def preview(self, verb: str | None = None, *args: Any, **options: Any) -> Preview:
        told = super().preview(verb, *args, **options)
        self.note("theirs", "made meanwhile")
        return told


def test_what_is_taken_back_is_the_change_itself_and_not_what_somebody_else_made(store: SQLite) -> None:
    chat = open_worked(store)
    state = store.tenant("default").states["run"]
    asked = Inquiry(tenant="default", name="run", verb="pin", body={"what": chat.view().rows[0].id})
    (made,) = change(Seat(Shared(state), state), asked)["decisions"]
    assert made.id == next(iter(chat.pins()))


class Busy(Session):
    """A session in which another process says something while a preview is made."""

    def preview(self, verb: str | None = None, *args: Any, **options: Any) -> Preview:
        told = super().preview(verb, *args, **options)
        self.other.note("theirs", f"made at {told.before}")
        return told

    other: Session


def test_a_change_is_made_in_a_session_that_moved_on_during_its_preview(store: SQLite) -> None:
    chat = open_worked(store, on_moved="raise")
    state = store.tenant("default").states["run"]
    busy = Busy(state)
    busy.other = fanfold.open("run", store=SQLite(store.file), model="gpt-5.2")
    asked = Inquiry(tenant="default", name="run", verb="note", body={"name": "plan", "text": "look on"})
    assert change(Seat(busy, state), asked)["decisions"]
    assert [one.kind for one in chat.edits()[-2:]] == ["note", "note"]


def test_that_nothing_fits_is_said_before_a_change_and_a_taken_name_before_a_fork(store: SQLite) -> None:
    chat = open_worked(store, window=9_000)
    with Page(store) as page:
        visitor = page.enter()
        dry = visitor.tell("run", "note", name="plan", text="look on, " * 9_000, dry_run=True)
        assert dry["due"]
        assert dry["stops"]
        assert dry["says"][-1] == f"The next request could not be sent then. {dry['problem']}"
        refused = visitor.tell("run", "note", status=400, name="plan", text="look on, " * 9_000)
        assert "anyway" in refused["error"]
        assert visitor.ask("sessions/run")["notes"] == []
        visitor.tell("run", "note", name="plan", text="look on, " * 9_000, anyway=True)
        assert len(visitor.ask("sessions/run")["notes"]) == 1
        assert not visitor.tell("run", "pin", what=chat.view().rows[0].id, dry_run=True)["stops"]
        chat.fork("taken").close()
        for name in ("taken", "run"):
            for dry_run in (True, False):
                assert (
                    "already" in visitor.tell("run", "fork", status=400, name=name, dry_run=dry_run)["error"]
                )


def test_a_session_that_was_closed_and_opened_again_is_looked_at_as_it_is(store: SQLite) -> None:
    chat = open_worked(store)
    with Page(store) as page:
        visitor = page.enter()
        assert visitor.ask("sessions/run")["live"]
        chat.close()
        chat = fanfold.open("run", store=store)
        chat.say("Said after it was opened again.")
        told = visitor.ask("sessions/run")
        assert (told["live"], told["head"]) == (True, chat.head)
        chat.close()
        assert not visitor.ask("sessions/run")["live"]


def test_a_fork_an_erasure_and_an_export(store: SQLite) -> None:
    chat = open_worked(store)
    entry = chat.view().rows[0].id
    chat.close()
    with Page(store) as page:
        visitor = page.enter()
        assert visitor.tell("run", "fork", name="run/2", dry_run=True)["says"]
        visitor.tell("run", "fork", name="run/2")
        assert {one["name"] for one in visitor.ask("sessions")} == {"run", "run/2"}
        assert visitor.ask("sessions/run%2F2")["name"] == "run/2"
        _, headers, body = page.send("GET", "/inspector/api/sessions/run/export", cookie=visitor.cookie)
        assert json.loads(body.splitlines()[0])["kind"] == "session"
        assert headers["content-disposition"] == 'attachment; filename="run.jsonl"'
        dry = visitor.tell("run", "erase", entry=entry, reason="a secret", dry_run=True)
        visitor.tell("run", "erase", entry=entry, reason="a secret", status=400)
        visitor.tell("run", "erase", entry=entry, reason="a secret", sentence=dry["sentence"])
        assert "Watch the disk" not in json.dumps(visitor.ask("sessions/run/view?full=1"))


@pytest.mark.parametrize("place", [0, 2], ids=["in view", "in a summary"])
def test_what_an_erasure_does_to_the_window_is_said_before_it_is_done(store: SQLite, place: int) -> None:
    chat = open_worked(store, window=400_000, strategy="auto")
    rows = [row.id for row in chat.view().rows]
    chat.fold(tuple(rows[1:5]), "Looked at two disks, and both of them were as they had been before.")
    chat.close()
    with Page(store) as page:
        visitor = page.enter()
        asked = {"entry": rows[place], "reason": "a secret"}
        dry = visitor.tell("run", "erase", dry_run=True, **asked)
        assert "It cannot be undone, and nobody can bring it back." in dry["says"]
        assert any(line.startswith("The next request ") for line in dry["says"])
        visitor.tell("run", "erase", sentence=dry["sentence"], **asked)
        assert dry["after"] < dry["before"]
        assert visitor.ask("sessions/run/view")["tokens"] == dry["after"]


@pytest.mark.parametrize("fresh", [False, True])
def test_what_a_fork_begins_with_is_said_before_it_is_made(store: SQLite, fresh: bool) -> None:
    chat = open_worked(store, window=400_000, strategy="auto")
    chat.fold(tuple(row.id for row in chat.view().rows[1:5]), "Looked at two disks.")
    chat.close()
    with Page(store) as page:
        visitor = page.enter()
        first, own, price = visitor.tell("run", "fork", name="run-2", fresh=fresh, dry_run=True)["says"]
        made = visitor.tell("run", "fork", name="run-2", fresh=fresh)
        assert f" {made['tokens']:,} tokens in its window" in first
        assert own.startswith("run itself is not changed")
        assert "at list prices" in price


def test_rows_and_edits_say_which_call_they_answer(store: SQLite) -> None:
    open_worked(store).close()
    with Page(store) as page:
        visitor = page.enter()
        rows = visitor.ask("sessions/run/view")["rows"]
        assert rows[1]["calls"] == ["look"]
        assert rows[2]["answers"] == ["look"]
        told = elided(visitor)
        assert told["answers"] == ["look"]
        assert told["hides"].startswith("disk ")
        assert told["request"] in range(7)
        frame = visitor.ask("sessions/run")["frame"]
        assert all(tool["name"] and tool["text"] for tool in frame["tools"])


def test_a_call_is_told_by_its_tool_and_what_it_was_given() -> None:
    given = json.dumps({"limit": 3, "path": "src/a.py", "mode": "fast"})
    assert brief_call(fanfold.Call("c1", "read", given)) == "read src/a.py"
    assert brief_call(fanfold.Call("c1", "read", json.dumps({"path": "x" * 200}))) == f"read {'x' * 60}…"
    assert brief_call(fanfold.Call("c1", "read", "no JSON")) == "read"
    assert brief_call(fanfold.Call("c1", "read", "[1]")) == "read"


def test_what_was_shortened_and_then_folded_is_brought_back_at_once(store: SQLite) -> None:
    chat = fanfold.open("run", store=store, model="gpt-5.2", window=4_000, strategy=elide(keep=1))
    chat.say("Watch the disk.")
    for step in range(9):
        chat.receive(
            response(replied("", called(f"c{step}", "look", "{}")), prompt=chat.request().sent.tokens)
        )
        chat.answer(f"c{step}", f"disk {step}\n" + "\n".join(ROWS.splitlines()[-30:]))
    chat.request()
    rows = chat.view().rows[1:5]
    output = rows[1].id
    assert chat.edits()[0].decision.by == "auto"
    made = chat.fold(tuple(row.id for row in rows), "Looked.")
    chat.close()
    with Page(store) as page:
        visitor = page.enter()
        dry = visitor.tell("run", "undo", edit=made.id, dry_run=True)
        assert dry["says"][-1].startswith("2 of these messages were shortened earlier")
        assert visitor.ask(f"sessions/run/edits/{made.id}")["shortened"] == 2
        told = visitor.ask(f"sessions/run/entries/{output}")
        assert (told["hidden_by"], told["back"]) == (made.id, {"edit": output})
        visitor.tell("run", "undo", **told["back"])
        told = visitor.ask(f"sessions/run/entries/{output}")
        assert (told["hidden_by"], told["back"]) == (None, None)
        assert "row 399" in str(visitor.ask(f"sessions/run/rows/{output}")["messages"])


def test_what_filled_the_window_is_told_of_past_requests(store: SQLite) -> None:
    chat = open_worked(store)
    with Page(store) as page:
        found = page.enter().ask("sessions/run/pictures?requests=0,3")
        assert [one["number"] for one in found] == [0, 3]
        for one in found:
            assert sum(one["picture"].values()) == one["tokens"] == chat.sent(one["number"])[1].tokens
        assert found[1]["picture"]["output"] > found[0]["picture"].get("output", 0)


def test_what_filled_the_last_window_is_asked_for_by_its_number(store: SQLite) -> None:
    open_worked(store).close()
    with Page(store) as page:
        assert "numbers" in page.enter().ask("sessions/run/pictures?requests=-1", 400)["error"]


def test_what_is_found_is_cut_where_it_stands_whatever_its_letters(store: SQLite) -> None:
    with fanfold.open("run", store=store, model="gpt-5.2") as chat:
        chat.say("ß" * 300 + " The needle is here.")
    with Page(store) as page:
        (found,) = page.enter().ask("sessions/run/search?words=NEEDLE")
        assert found["text"] == "ß" * 75 + " The needle is here."


def test_one_message_is_told_as_one(store: SQLite) -> None:
    chat = open_worked(store, window=400_000, strategy="auto")
    chat.fold((chat.view().rows[0].id,), "Asked to watch the disk.")
    with Page(store) as page:
        row = page.enter().ask("sessions/run/view?limit=1")["rows"][0]
        assert row["because"].startswith("Stands for 1 message, folded by you")


def test_search_finds_what_is_hidden(store: SQLite) -> None:
    open_worked(store).close()
    with Page(store) as page:
        visitor = page.enter()
        found = visitor.ask("sessions/run/search?words=row+399")
        assert len(found) == 6
        assert any(one["hidden_by"] for one in found)


def test_a_picture_is_shown_and_an_address_is_not_fetched(store: SQLite) -> None:
    dot = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
    with fanfold.open("pictures", store=store, model="gpt-5.2") as chat:
        chat.say(
            "Look.", fanfold.Image("image/png", dot), fanfold.Image(url="https://elsewhere.example/x.png")
        )
        row = chat.view().rows[0].id
    with Page(store) as page:
        parts = page.enter().ask(f"sessions/pictures/rows/{row}")["messages"][0]["parts"]
        assert [part.get("src") for part in parts] == [None, f"data:image/png;base64,{dot}", None]
        assert parts[2]["url"] == "https://elsewhere.example/x.png"


def test_what_another_process_writes_is_told(store: SQLite) -> None:
    chat = open_worked(store)
    with Page(SQLite(store.file)) as page:
        visitor = page.enter()
        with visitor.follow("run") as stream:
            first = stream.readline()
            stream.readline()
            chat.note("plan", "look on")
            second = stream.readline()
        assert first.startswith(b"data: ")
        assert json.loads(second[6:])["seq"] > json.loads(first[6:])["seq"]
        assert visitor.ask("sessions/run")["notes"][0]["text"] == "look on"


def test_what_is_not_there_is_said_in_a_sentence(store: SQLite) -> None:
    open_worked(store).close()
    with Page(store) as page:
        visitor = page.enter()
        assert "no session" in visitor.ask("sessions/nobody", 404)["error"]
        nothing = "There is nothing here by this name."
        assert visitor.ask("sessions/run/edits/e999", 404)["error"] == "There is no edit 'e999' here."
        assert visitor.ask("sessions/run/requests/x", 400)["error"] == "A request has a number, not 'x'."
        output = visitor.ask("sessions/run/outputs/o999", 404)["error"]
        assert output.startswith("There is no output 'o999' in this conversation; o1, o2, ")
        pattern = visitor.ask("sessions/run/grep?pattern=(", 400)["error"]
        assert pattern.startswith("The pattern '(' cannot be used (missing ): (). ")
        assert visitor.ask("sessions/run/melt", 404)["error"] == nothing
        assert visitor.ask("sessions/run/rows%2F%7B%7D", 404)["error"] == nothing
        assert visitor.tell("run", "melt", status=404)["error"] == nothing
        undo = visitor.tell("run", "undo", status=404, edit="e999")["error"]
        assert undo.startswith("There is no edit 'e999' in this session; ")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("view?limit=-1", "limit"),
        ("view?offset=-1", "offset"),
        ("rows/{row}?most=-1", "most"),
        ("entries/{row}?most=-5", "most"),
        ("edits/e1?limit=-1", "limit"),
        ("requests/0?limit=-1", "limit"),
        ("requests/0?widest=0", "widest"),
        ("requests?from=-2", "from"),
        ("outputs/o1?offset=-1", "offset"),
        ("outputs/o1?limit=-1", "limit"),
    ],
)
def test_a_number_below_what_it_can_be_is_refused_in_a_sentence(store: SQLite, path: str, name: str) -> None:
    with open_worked(store) as chat:
        row = chat.view().rows[0].id
    with Page(store) as page:
        told = page.enter().ask(f"sessions/run/{path.format(row=row)}", 400)
        least = 1 if name == "widest" else 0
        assert told["error"] == f"{name} is at least {least}."


def test_a_row_that_is_gone_is_told_and_one_that_never_was_is_not_found(store: SQLite) -> None:
    chat = open_worked(store, window=400_000, strategy="auto")
    row = chat.view().rows[1].id
    chat.fold((row, chat.view().rows[2].id), "Looked.")
    with Page(store) as page:
        visitor = page.enter()
        assert visitor.ask(f"sessions/run/rows/{row}") == {"id": row, "gone": True}
        told = visitor.ask(f"sessions/run/entries/{row}")
        assert told["hidden_by"] == chat.edits()[-1].decision.id
        assert told["says"].startswith("It is one of 2 messages that you (")
        assert told["says"].endswith("folded into a summary. Nothing of it is lost.")
        assert told["hidden_with"] == 2
        visitor.ask("sessions/run/rows/" + "0" * 40, 404)


def test_streams_end_when_the_server_is_about_to(store: SQLite) -> None:
    open_worked(store).close()
    with Page(store) as page:
        visitor = page.enter()
        with visitor.follow("run") as stream:
            assert stream.readline().startswith(b"data: ")
            page.server.should_exit = True
            assert stream.read().strip() == b""


def test_a_message_comes_back_whole_though_two_edits_shortened_it(store: SQLite) -> None:
    chat = fanfold.open(
        "run",
        store=store,
        dialect="anthropic",
        model="claude-sonnet-4-5",
        window=4_000,
        strategy=elide(keep=1),
    )
    said: list[Any] = [{"role": "user", "content": "Begin."}]
    for step in range(5):
        ids = (f"a{step}", f"b{step}")
        calls = [{"type": "tool_use", "id": id, "name": "look", "input": {"at": id}} for id in ids]
        rows = {id: "\n".join(f"row {n} of {id}: the disk hums" for n in range(40)) for id in ids}
        found = [{"type": "tool_result", "tool_use_id": id, "content": rows[id]} for id in ids]
        said += [{"role": "assistant", "content": calls}, {"role": "user", "content": found}]
        chat.merge(said)
        chat.request(max_tokens=300)
    with Page(store) as page:
        visitor = page.enter()
        row = next(one for one in visitor.ask("sessions/run/view")["rows"] if len(one["edits"]) > 1)
        back = visitor.ask(f"sessions/run/entries/{row['id']}")["back"]
        assert visitor.ask(f"sessions/run/rows/{row['id']}")["back"] == back
        dry = visitor.tell("run", "undo", **back, dry_run=True)
        made = visitor.tell("run", "undo", **back)
        assert len(made["decisions"]) == 2
        assert visitor.ask("sessions/run/view")["tokens"] == dry["after"]
        assert visitor.ask(f"sessions/run/entries/{row['id']}")["hidden_by"] is None


def test_an_erased_row_says_that_it_was_erased(store: SQLite) -> None:
    chat = open_worked(store)
    first = chat.view().rows[0].id
    chat.erase(first, "asked for")
    with Page(store) as page:
        told = page.enter().ask(f"sessions/run/rows/{first}")
        assert told["because"].startswith("Erased: ")


def test_what_a_client_changed_says_so_and_is_found_by_its_first_words(store: SQLite) -> None:
    chat = fanfold.open("run", store=store, model="gpt-5.2")
    said = [{"role": "user", "content": "The word is hunter2."}, {"role": "assistant", "content": "Sure."}]
    said += [{"role": "user", "content": "Go on."}]
    chat.merge(said)
    chat.request()
    said[0] = {"role": "user", "content": "The word is hidden."}
    chat.merge([*said, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And?"}])
    with Page(store) as page:
        visitor = page.enter()
        first = visitor.ask("sessions/run/view")["rows"][0]
        assert first["because"].startswith("The client changed it: ")
        (hit,) = visitor.ask("sessions/run/search?words=hunter2")
        assert (hit["entry"], hit["earlier"]) == (first["id"], True)
        (before,) = visitor.ask(f"sessions/run/entries/{first['id']}")["earlier"]
        assert before["parts"][0]["text"] == "The word is hunter2."
        assert [one["earlier"] for one in visitor.ask("sessions/run/search?words=hidden")] == [False]


def test_an_edit_that_another_tab_undid_is_refused_in_words_for_the_page(store: SQLite) -> None:
    chat = open_worked(store)
    edit = next(one.decision.id for one in chat.edits() if one.kind == "elide" and one.fate == "stands")
    chat.undo(edit)
    with Page(store) as page:
        refused = page.enter().tell("run", "undo", status=400, edit=edit, dry_run=True)
        assert refused["error"] == f"{edit} was undone meanwhile: the model sees again what it hid."


def test_only_the_row_at_which_the_conversation_stands_is_the_last_one(store: SQLite) -> None:
    chat = open_worked(store)
    with Page(store) as page:
        visitor = page.enter()
        rows = [row.id for row in chat.view().rows]
        found = [visitor.ask(f"sessions/run/rows/{id}")["last"] for id in (rows[0], rows[-1])]
        assert found == [False, True]


def test_only_notes_that_the_model_sees_are_listed(store: SQLite) -> None:
    chat = fanfold.open("run", store=store, model="gpt-5.2", window=4_000)
    chat.say("Begin.")
    for step, plan in enumerate(("first", "second", "second")):
        chat.receive(response(replied("I look.", called(f"c{step}", "look", "{}")), prompt=50))
        chat.answer(f"c{step}", "\n".join(f"row {n} of file {step}: the disk hums" for n in range(50)))
        if step < 2:
            chat.note("plan", f"{plan} plan")
    chat.compact(force=True)
    with Page(store) as page:
        listed = page.enter().ask("sessions/run")["notes"]
        seen = [row.id for row in chat.view().rows if row.kind == "note"]
        assert [one["id"] for one in listed] == seen
        assert len(seen) == 1
