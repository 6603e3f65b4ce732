"""What a caller's own filter returns is all that models ever get of an output; the original is for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold import Call, Hooks
from fanfold.config.events import FilterFailed
from fanfold.core.message import Document, Image, Message, Result, Text, assistant, text_of
from fanfold.outputs.filters import binary, clip
from fanfold.strategies.elide import elide
from fanfold.strategies.handover.layers import digest
from fanfold.strategies.summarize import summarize
from fanfold.testing import FakeModel, called, replied, returned, said

SECRET = "hunter2"
SHORT = f"user: admin\npassword: {SECRET}\nThe login worked."
LONG = f"/srv/app/deploy/keys.py failed\npassword: {SECRET}\n" + "a line of the log\n" * 4_000
HUGE = "".join(f"line {n} of the dump\n" for n in range(100_000)) + f"password: {SECRET}\nthe end\n"
OUTPUTS = {"short": SHORT, "long": LONG, "more than a mebibyte": HUGE}


def redact(text: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
    """The password as asterisks, which are longer than it is."""
    return text.replace(SECRET, "*" * 40) if SECRET in text else None


def told(chat: fanfold.Session, output: Any = SHORT, turns: int = 1) -> fanfold.Session:
    for turn in range(turns):
        chat.say(f"Try to log in, for the time number {turn}.")
        chat.add(Message("assistant", (Call(f"c{turn}", "login", "{}"),)))
        chat.answer(f"c{turn}", output)
        chat.add(assistant(f"That was number {turn}."))
    return chat


def looked_up(chat: fanfold.Session) -> str:
    """All that a model can look up: every output by its reference, and what a search finds."""
    refs = [output.ref for output in chat.outputs()]
    asked = [("tool_output_cache", {"ref_id": ref, "limit": 2_000}) for ref in refs]
    asked += [("tool_output_cache_grep", {"ref_id": ref, "pattern": "password|hunter"}) for ref in refs]
    asked += [("tool_output_cache_search", {"pattern": "password|hunter"})]
    return "\n".join(chat.recall(Call("r", name, json.dumps(given))) for name, given in asked)


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
@pytest.mark.parametrize(
    "filters", [[redact], [redact, clip()], [clip(), redact], [binary(), redact, clip()]]
)
@pytest.mark.parametrize("dialect", ["openai.chat", "openai.responses", "anthropic", "gemini"])
def test_a_redactor_whose_text_is_longer_has_its_way_everywhere(
    output: str, filters: list[Any], dialect: str
) -> None:
    """(19.15)"""
    with fanfold.open("run", window=2_000_000, filters=filters, dialect=dialect, model="x") as chat:
        told(chat, output)
        request = str(chat.request(max_tokens=1_000))
        assert SECRET not in request
        assert "*****" in request or output is not SHORT
        assert SECRET not in looked_up(chat)
        assert chat.output("o1").text() == output


def test_what_came_over_the_wire_is_redacted_too() -> None:
    """(19.15)"""
    with fanfold.open("run", window=100_000, filters=[redact]) as chat:
        talk = [said("Go."), replied(None, called("c1")), returned("c1", SHORT), replied("Yes.")]
        chat.merge([*talk, said("On.")])
        assert SECRET not in str(chat.request())
        other = returned("c1", SHORT + " Twice.")
        chat.merge([*talk[:2], other, talk[3], said("On."), replied("Yes."), said("Go on.")])
        assert SECRET not in str(chat.request())
        assert "Twice." in str(chat.request())
        assert SECRET not in looked_up(chat)
        assert chat.output("o2").text() == other["content"]


def test_words_beside_a_picture_are_redacted_and_the_picture_stays() -> None:
    """(19.15)"""
    picture = Image("image/png", data="iVBORw0KGgo=")
    with fanfold.open("run", window=100_000, filters=[redact, clip()]) as chat:
        told(chat, [Text(SHORT), picture])
        assert chat.view().messages[2].results[0].parts[1] == picture
        assert SECRET not in text_of(chat.view().messages[2])
        assert SECRET not in looked_up(chat)


DOCUMENT = Document(media="text/plain", name="keys.txt", text=f"The keys.\npassword: {SECRET}")
MIXED: dict[str, list[Any]] = {
    "a document": [DOCUMENT],
    "text and a document": [Text(SHORT), DOCUMENT],
    "a document between pictures": [Image("image/png", data="iVBORw0KGgo="), DOCUMENT, Text("Done.")],
    "much text and a document": [Text(LONG), DOCUMENT],
    "a long document": [Text("Here:"), Document(text=LONG)],
}


@pytest.mark.parametrize("output", MIXED.values(), ids=MIXED)
@pytest.mark.parametrize("filters", [[redact], [redact, clip()], [clip(), redact]])
@pytest.mark.parametrize("dialect", ["openai.chat", "openai.responses", "anthropic", "gemini"])
def test_the_words_of_documents_are_redacted_too(output: list[Any], filters: list[Any], dialect: str) -> None:
    """(19.15)"""
    options: dict[str, Any] = {"window": 2_000_000, "filters": filters, "dialect": dialect, "model": "x"}
    with fanfold.open("answered", **options) as chat:
        told(chat, output)
        chat.say("Go on.")
        assert SECRET not in json.dumps(chat.request())
        assert SECRET not in looked_up(chat)
        assert SECRET in chat.output("o1").text()
        pictures = [part for part in output if isinstance(part, Image)]
        assert [
            part for part in chat.view().messages[2].results[0].parts if isinstance(part, Image)
        ] == pictures
        with chat.fork("forked") as fork:
            assert SECRET not in json.dumps(fork.request())
    with fanfold.open("added", **options) as chat:
        chat.say("Try to log in.")
        chat.add(Message("assistant", (Call("c1", "login", "{}"),)))
        chat.add(Message("tool", (Result("c1", tuple(output)),)))
        assert SECRET not in json.dumps(chat.request())
        assert SECRET not in looked_up(chat)


def test_the_words_of_a_document_that_came_over_the_wire_are_redacted_too() -> None:
    """(19.15)"""
    source = {"type": "text", "media_type": "text/plain", "data": SHORT}
    content = [{"type": "text", "text": SHORT}, {"type": "document", "source": source}]
    talk = [
        said("Log in."),
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "login", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": content}]},
    ]
    options: dict[str, Any] = {"window": 100_000, "dialect": "anthropic", "model": "x", "filters": [redact]}
    with fanfold.open("merged", **options) as chat:
        chat.merge(talk)
        assert SECRET not in json.dumps(chat.request())
        assert SECRET not in looked_up(chat)
    with fanfold.open("added", **options) as chat:
        for body in talk:
            chat.add(body)
        assert SECRET not in json.dumps(chat.request())


def test_a_document_that_no_filter_changes_is_sent_as_a_document() -> None:
    """(19.15)"""
    for filters in ([], [clip()], [lambda text, tool, arguments: None]):
        with fanfold.open("run", window=100_000, filters=filters) as chat:
            told(chat, [Text(SHORT), DOCUMENT])
            assert chat.view().messages[2].results[0].parts == (Text(SHORT), DOCUMENT)


PARTS = [Image("image/png", data="iVBORw0KGgo="), Document("application/pdf", data="JVBERi0xLjQK")]


@pytest.mark.parametrize("output", [[*PARTS], [Text(SHORT), *PARTS], [Text(LONG), *PARTS]])
def test_what_no_filter_can_be_given_is_warned_of_once_for_a_tool(
    output: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """(19.15)"""
    with fanfold.open("run", window=100_000, filters=[redact]) as chat:
        told(chat, output, turns=3)
        [record] = [one for one in caplog.records if one.name == "fanfold"]
        assert record.levelname == "WARNING"
        assert "login" in record.getMessage()
        assert "document, image" in record.getMessage()
        assert SECRET not in record.getMessage()
        chat.say("And now look.")
        chat.add(Message("assistant", (Call("d", "look", "{}"),)))
        chat.answer("d", output)
        assert len([one for one in caplog.records if one.name == "fanfold"]) == 2
    caplog.clear()
    with fanfold.open("ours", window=100_000, filters=[clip(), binary()]) as chat:
        told(chat, output)
        assert caplog.records == []


@pytest.mark.parametrize("strategy", [digest(), digest(refs=True), elide(keep=0, share=10), None])
@pytest.mark.parametrize("output", [SHORT * 40, LONG], ids=["short", "long"])
def test_no_digest_and_no_placeholder_gives_the_password_back(strategy: Any, output: str) -> None:
    """(19.15)"""
    options: dict[str, Any] = {"window": 12_000, "filters": [redact, clip(size=4_096)], "strategy": strategy}
    with fanfold.open("run", **options, recall=True) as chat:
        told(chat, output, turns=8)
        assert chat.compact(force=True).status == "reduced"
        assert SECRET not in str(chat.request(max_tokens=500))
        assert SECRET not in looked_up(chat)
        assert "*****" in looked_up(chat)


def test_no_summary_is_asked_for_with_the_password() -> None:
    """(19.15)"""
    model = FakeModel("They tried to log in, again and again, and it worked each time.")
    with fanfold.open(
        "run", window=6_000, filters=[redact, clip()], strategy=summarize(), summarizer=model
    ) as chat:
        told(chat, SHORT * 20, turns=8)
        assert chat.compact(force=True).status == "reduced"
        assert SECRET not in str(model.asked)
        assert "*****" in str(model.asked)


def test_what_a_fold_hides_is_looked_up_as_filters_left_it_and_by_people_as_it_was() -> None:
    """(19.15)"""
    with fanfold.open("run", window=100_000, filters=[redact]) as chat:
        told(chat)
        rows = chat.view().rows
        chat.fold(tuple(row.id for row in rows[1:3]), "[they logged in; ref={ref}]")
        assert SECRET not in chat.recall(Call("r", "tool_output_cache", '{"ref_id": "m1"}'))
        assert SECRET in chat.output("m1").text()


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
def test_it_holds_in_a_session_that_is_opened_again_forked_or_moved(output: str, tmp_path: Path) -> None:
    """(19.15)"""
    place = f"sqlite:{tmp_path / 'a.db'}"
    with fanfold.open("run", window=1_000_000, filters=[redact, clip()], store=place) as chat:
        told(chat, output)
    with open(tmp_path / "run.jsonl", "wb") as file:
        fanfold.export_session(place, "run", file)
    moved = fanfold.Memory()
    with open(tmp_path / "run.jsonl", "rb") as file:
        fanfold.import_session(moved, file)
    for store in (place, moved):
        with fanfold.open("run", window=1_000_000, filters=[], store=store) as chat:
            for one in (chat, chat.fork("with"), chat.fork("afresh", edits=False)):
                assert SECRET not in str(one.request())
                assert SECRET not in looked_up(one)
                assert one.output("o1").text() == output
                one.close()


def test_of_an_output_too_large_for_filters_models_get_its_ends_as_filters_left_them(tmp_path: Path) -> None:
    """(19.15)"""
    vast = f"password: {SECRET}\n" + "x" * 200 + "\n" + "a line of the dump\n" * 900_000 + f"{SECRET}\n"
    place = f"sqlite:{tmp_path / 'a.db'}"
    with fanfold.open("run", window=100_000, filters=[redact, clip()], store=place) as chat:
        told(chat, vast)
        assert SECRET not in str(chat.request())
        assert SECRET not in looked_up(chat)
        assert chat.output("o1").size == len(vast)


def test_of_an_output_too_large_for_filters_no_tool_is_named_that_would_give_no_more() -> None:
    """(19.15, 19.17) The recall tools are there, and have nothing but the ends that the caller's filters have seen."""
    vast = "a line of the dump\n" * 900_000
    run = {"type": "function", "function": {"name": "login", "parameters": {"type": "object"}}}
    for filters, named in (([redact, clip()], False), ([clip()], True)):
        with fanfold.open("run", window=100_000, filters=filters, tools=[run]) as chat:
            shown = told(chat, vast).view().messages[2].results[0].text
        assert "of 900,000 lines shown" in shown
        assert ("tool_output_cache" in shown) is named


def test_what_a_filter_that_only_shortens_leaves_out_can_be_looked_up() -> None:
    """(19.15)"""

    @fanfold.shortens
    def head(text: str, tool: str, arguments: Mapping[str, Any]) -> str:
        return text[:20] + " [more: ref={ref}]"

    heard: list[Any] = []
    options: dict[str, Any] = {"window": 100_000, "hooks": Hooks(on_event=heard.append)}
    with fanfold.open("run", filters=[redact, head], **options) as chat:
        told(chat, SHORT)
        assert chat.view().messages[2].results[0].text == "user: admin\npassword [more: ref=o1]"
        assert "The login worked." in looked_up(chat)
        assert SECRET not in looked_up(chat)
        told_of = [decision.why for decision in chat.why(chat.view().rows[2].id).edits]
        assert told_of == ["redact", "redact, head"]
        chat.undo()
        assert "*****" in chat.view().messages[2].results[0].text
    with fanfold.open("other", filters=[head], **options) as chat:
        told(chat, "ok")
        assert chat.view().messages[2].results[0].text == "ok"
    error = "NotShorter: what it returned is not shorter, so it was left out"
    assert heard == [FilterFailed("o1", "login", "head", error)]


def test_undo_without_a_name_leaves_what_a_filter_keeps_from_models() -> None:
    """(19.15)"""
    with fanfold.open("run", window=100_000, filters=[redact]) as chat:
        told(chat)
        with pytest.raises(fanfold.NotFound):
            chat.undo()
        chat.undo("e1")
        assert SECRET in str(chat.request())


def test_an_erasure_reaches_what_a_filter_left(tmp_path: Path) -> None:
    """(19.15)"""
    place = tmp_path / "a.db"
    with fanfold.open("run", window=1_000_000, filters=[redact, clip()], store=f"sqlite:{place}") as chat:
        for output in OUTPUTS.values():
            told(chat, output.replace("password", "passphrase"))
            chat.erase(chat.view().rows[-2].id, "asked to")
            chat.reset()
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"passphrase" not in file.read_bytes()


@pytest.mark.parametrize("lines", [1, 100_000])
def test_a_filter_sees_the_call_that_is_answered_though_another_had_its_id_when_the_output_began(
    lines: int,
) -> None:
    def hide(text: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
        return f"hidden, as {arguments['user']} may not see it" if tool == "login" else None

    with fanfold.open("run", window=100_000, filters=[hide]) as chat:
        first = chat.say("Look.")
        chat.add(Message("assistant", (Call("c0", "read", "{}"),)))

        def output() -> Iterator[str]:
            yield f"password: {SECRET}\n" * lines
            chat.rewind(first.id)
            chat.add(Message("assistant", (Call("c0", "login", '{"user":"ann"}'),)))

        chat.answer("c0", output())
        assert SECRET not in str(chat.request())
        assert "hidden, as ann may not see it" in str(chat.request())
