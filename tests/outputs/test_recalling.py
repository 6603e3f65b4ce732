"""The tools for the model: in every dialect, bounded, and never an exception (A6)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from output_builders import ask, give, numbered, opened, shown

import fanfold
from fanfold import Call
from fanfold.core.message import assistant
from fanfold.outputs import recall as tools


def recall(chat: fanfold.Session, name: str, **arguments: Any) -> str:
    return chat.recall(Call("r", f"tool_output_cache{name}", json.dumps(arguments)))


@pytest.fixture
def chat() -> fanfold.Session:
    chat = opened()
    give(chat, "c1", numbered(30_000))
    return chat


def test_reading_answers_with_numbered_lines_and_says_how_to_read_on(chat: fanfold.Session) -> None:
    text = recall(chat, "", ref_id="o1", offset=10, limit=2)
    assert text == "    10\tline 10\n    11\tline 11\n[o1: lines 10 to 11 of 30,000; offset=12 reads on]"


def test_grep_answers_with_line_numbers_and_context(chat: fanfold.Session) -> None:
    text = recall(chat, "_grep", ref_id="o1", pattern="line 2999[89]$", before=1)
    assert text == ("29997-line 29997\n29998:line 29998\n29999:line 29999\n[o1: 2 hits in 30,000 lines]")


def test_groups_of_hits_are_parted_by_a_rule(chat: fanfold.Session) -> None:
    text = recall(chat, "_grep", ref_id="o1", pattern="^line (5|50)$", after=1)
    assert text.split("\n")[:5] == ["5:line 5", "6-line 6", "--", "50:line 50", "51-line 51"]


def test_groups_are_parted_by_what_was_asked_not_by_what_stands_in_them() -> None:
    chat = opened()
    give(chat, "c1", "one\nx-y hit\nthree\nfour\nfive hit\n")
    assert recall(chat, "_grep", ref_id="o1", pattern="hit").split("\n")[:2] == ["2:x-y hit", "5:five hit"]
    lines = recall(chat, "_grep", ref_id="o1", pattern="hit", before=1).split("\n")
    assert lines[:5] == ["1-one", "2:x-y hit", "--", "4-four", "5:five hit"]


def test_the_lines_before_a_hit_beyond_the_limit_are_not_shown() -> None:
    chat = opened()
    give(chat, "c1", "one\nhit\nthree\nfour\nfive\nsix\nhit\n")
    text = recall(chat, "_grep", ref_id="o1", pattern="hit", before=2, after=1, limit=1)
    assert text.startswith("1-one\n2:hit\n3-three\n[o1: the first 1 hits, there is more after line 3:")


def test_a_limit_that_cannot_be_raised_is_not_advised() -> None:
    chat = opened()
    give(chat, "c1", "a\n" * 5_000)
    assert "raise limit" in recall(chat, "_grep", ref_id="o1", pattern="a", limit=1_999)
    assert "raise limit" not in recall(chat, "_grep", ref_id="o1", pattern="a", limit=2_000)


def test_an_empty_output_is_said_to_be_empty() -> None:
    chat = opened()
    give(chat, "c1", "")
    assert recall(chat, "", ref_id="o1") == "o1 is empty: it has 0 lines."


@pytest.mark.parametrize("character", ["😀", "日", "é", "a"])
def test_a_long_line_is_said_to_be_cut_in_any_script(character: str) -> None:
    chat = opened()
    give(chat, "c1", f"{character * 2_001}\n{character * 2_000}\n")
    first, second, _ = recall(chat, "", ref_id="o1").split("\n")
    assert first.startswith(f"     1\t{character * 2_000} [… line cut")
    assert second == f"     2\t{character * 2_000}"


@pytest.mark.parametrize("name", ["tool_output_cache", "tool_output_cache_grep"])
def test_a_search_finds_an_output_whose_calls_id_came_again(name: str) -> None:
    chat = opened()
    give(chat, "x1", "needle here")
    looked_up = ask(chat, "x1", name, '{"ref_id": "o1", "pattern": "needle"}')
    chat.answer(looked_up, chat.recall(looked_up))
    text = recall(chat, "_search", pattern="needle")
    assert text.startswith("o1:1:needle here\n[1 hits")


def test_grep_says_when_there_are_more_hits(chat: fanfold.Session) -> None:
    text = recall(chat, "_grep", ref_id="o1", pattern="line", limit=3)
    assert text.startswith("1:line 1\n2:line 2\n3:line 3\n[o1: the first 3 hits, there is more after line 3")


def test_a_search_goes_through_all_outputs_newest_first(chat: fanfold.Session) -> None:
    give(chat, "c2", "LINE 77 again")
    text = recall(chat, "_search", pattern="line 77\\b", ignore_case=True)
    assert text.split("\n")[:2] == ["o2:1:LINE 77 again", "o1:77:line 77"]


def test_a_search_that_is_cut_says_how_many_more_there_are_and_how_to_get_them() -> None:
    chat = opened()
    give(chat, "c1", "".join(f"{i} {'é' * 900}\n" for i in range(1, 501)))
    seen: list[str] = []
    offset = 1
    for _ in range(40):
        *lines, last = recall(chat, "_search", pattern="é", offset=offset, limit=400).split("\n")
        seen += (line.split(":")[1] for line in lines)
        assert last.startswith(f"[hits {offset} to {len(seen)} of 500 as ref:line:text")
        if "offset=" not in last:
            break
        offset = int(last.partition("offset=")[2].partition(" ")[0])
    assert seen == [str(i) for i in range(1, 501)]


def test_a_search_that_shows_all_hits_says_so(chat: fanfold.Session) -> None:
    text = recall(chat, "_search", pattern="line 1234.$")
    assert text.endswith("\n[10 hits as ref:line:text. tool_output_cache shows what is around.]")


def test_a_search_counts_no_more_hits_than_help(chat: fanfold.Session) -> None:
    text = recall(chat, "_search", pattern="line")
    assert "[hits 1 to 30 of more than 10,030 as" in text
    assert recall(chat, "_search", pattern="line 1234.$", offset=11).startswith(
        "There are 10 hits; offset=11"
    )


DATA = {"o1": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20, "o2": b"needle " + b"\0" * 600}


@pytest.mark.parametrize("ref", DATA)
def test_data_that_is_no_text_can_be_neither_read_nor_searched_and_that_is_said(ref: str) -> None:
    chat = opened()
    for i, data in enumerate(DATA.values()):
        give(chat, f"c{i}", data)
    assert all(len(shown(chat, row)) < 80 for row in (1, 3))
    for name in ("", "_grep"):
        assert "no text: it cannot be read or searched" in recall(chat, name, ref_id=ref, pattern="needle")
    assert recall(chat, "_search", pattern="needle").endswith("matches. o2, o1: no text, not searched.")


ODD = ["needle \0 and words", "needle \ud800", b"needle caf\xe9", b"needle\0", b"\0\1needle\xff"]


@pytest.mark.parametrize("output", ODD)
def test_what_is_shown_as_text_can_be_read_and_searched(output: str | bytes) -> None:
    chat = opened()
    give(chat, "c1", output)
    assert "needle" in shown(chat)
    for name in ("", "_grep", "_search"):
        assert "needle" in recall(chat, name, ref_id="o1", pattern="needle").split("\n")[0]


@pytest.mark.parametrize("name", ["", "_grep", "_search"])
def test_answers_are_bounded(name: str) -> None:
    chat = opened()
    give(chat, "c1", ("x" * 1_500 + "\n") * 5_000)
    text = recall(chat, name, ref_id="o1", pattern="x", limit=2_000)
    assert len(text) < 26 * 1024


def test_a_gigantic_line_is_cut_and_shown_around_a_hit() -> None:
    chat = opened()
    give(chat, "c1", "a" * 3_000_000 + "needle" + "b" * 100)
    assert len(recall(chat, "", ref_id="o1")) < 3_000
    assert "needle" in recall(chat, "_grep", ref_id="o1", pattern="needle")


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("", {}, "ref_id"),
        ("", {"ref_id": 7}, "ref_id"),
        ("", {"ref_id": "o99"}, "There is no output 'o99' in this conversation; o1 are the newest"),
        ("", {"ref_id": "o1", "offset": 40_000}, "o1 has 30,000 lines; offset=29801 reads the last ones"),
        ("", {"ref_id": "o1", "offset": -3}, "offset is -3; it must be at least 1"),
        ("", {"ref_id": "o1", "limit": -1}, "limit is -1; it must be at least 1"),
        ("", {"ref_id": "o1", "limit": "many"}, "limit is a whole number, not 'many'"),
        ("", {"ref_id": "o1", "offset": "30000"}, "30000\tline 30000"),
        ("_grep", {"ref_id": "o1"}, "Say what to look for with pattern"),
        ("_grep", {"ref_id": "o1", "pattern": "(?<=a)b"}, "Look-around"),
        ("_grep", {"ref_id": "o1", "pattern": "(a)\\1"}, "Backreferences"),
        ("_grep", {"ref_id": "o1", "pattern": "nothing here"}, "Nothing in o1 (30,000 lines) matches"),
        ("_search", {"pattern": "nothing here"}, "Nothing in the outputs"),
        ("_grep", {"ref_id": "o1", "pattern": "line 1\nline 2"}, "matches. A match lies within one line."),
        ("_search", {"pattern": r"line 1\nline 2"}, "matches. A match lies within one line."),
        ("_grep", {"ref_id": "o1", "pattern": r"(?:\pL{1,200}){3}"}, "Repeat less"),
        ("_other", {}, "There is no tool 'tool_output_cache_other' here"),
    ],
)
def test_whatever_a_model_asks_for_it_gets_a_text_to_act_on(
    chat: fanfold.Session, name: str, arguments: dict[str, Any], says: str
) -> None:
    assert says in recall(chat, name, **arguments)


def test_arguments_that_are_no_json_are_told_to_be_so(chat: fanfold.Session) -> None:
    assert "no JSON object" in chat.recall(Call("r", "tool_output_cache", "o1 please"))


def test_another_sessions_reference_is_unknown_here() -> None:
    store = fanfold.Memory()
    one, other = opened(name="one", store=store), opened(name="other", store=store)
    give(one, "c1", "secret")
    assert "there are none yet" in recall(other, "", ref_id="o1")


@pytest.mark.parametrize("dialect", ["openai.chat", "openai.responses", "anthropic", "gemini"])
def test_the_tools_are_in_the_frame_of_every_dialect_from_the_first_request(dialect: str) -> None:
    chat = opened(dialect=dialect, model="x", recall=True, system="Be brief.")
    chat.say("hello")
    text = json.dumps(chat.request(max_tokens=100))
    assert all(text.count(f'"{name}"') == 1 for name in tools.RECALL)


def test_tools_are_offered_beside_the_callers_own() -> None:
    mine = {
        "type": "function",
        "function": {"name": "bash", "parameters": {"type": "object", "properties": {}}},
    }
    chat = opened(recall=True, tools=[mine])
    chat.say("hello")
    names = [tool["function"]["name"] for tool in chat.request()["tools"]]
    assert names == ["bash", "tool_output_cache", "tool_output_cache_grep", "tool_output_cache_search"]


def response(*calls: Call) -> dict[str, Any]:
    made = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw}}
        for call in calls
    ]
    message = {"role": "assistant", "content": None, "tool_calls": made}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


READ = Call("r1", "tool_output_cache", '{"ref_id": "o1", "limit": 1}')


def test_receive_answers_the_recall_tools_itself() -> None:
    chat = opened(recall=True)
    give(chat, "c1", "the first line\nthe second")
    reply = chat.receive(response(READ, Call("c2", "bash", "{}")))
    assert [call.id for call in reply.calls] == ["c2"]
    assert not reply.done
    assert "the first line" in shown(chat)


def test_a_reply_that_only_looks_something_up_is_not_done() -> None:
    chat = opened(recall=True)
    give(chat, "c1", "text")
    reply = chat.receive(response(READ))
    assert (reply.calls, reply.done) == ((), False)
    chat.request()


def test_without_recall_the_calls_are_the_callers() -> None:
    chat = opened()
    give(chat, "c1", "text")
    (call,) = chat.receive(response(READ)).calls
    chat.answer(call, chat.recall(call))
    assert "1\ttext" in shown(chat)


def test_a_fold_can_be_looked_up_by_the_reference_in_its_text() -> None:
    chat = opened()
    first = chat.say("the secret word is xyzzy " + "and more " * 100)
    second = chat.add(assistant("noted " * 50))
    chat.say("go on")
    chat.add(assistant("ok"))
    chat.fold((first.id, second.id), "[summary; ref={ref}]")
    assert "ref=m1" in chat.view().rows[0].messages[0].text
    assert "xyzzy" in recall(chat, "_grep", ref_id="m1", pattern="secret word")


def test_what_any_edit_hides_can_be_looked_up_by_the_edits_id() -> None:
    chat = opened()
    first = chat.say("the secret word is xyzzy " + "and more " * 100)
    chat.add(assistant("noted"))
    chat.say("go on")
    decision = chat.fold((first.id,), "[summary]")
    assert "xyzzy" in chat.output(decision.id).text()


def test_an_unknown_dialect_is_an_error() -> None:
    with pytest.raises(fanfold.BadSetting):
        tools.definitions("cobol")


def test_a_call_left_open_does_not_stop_recalling(chat: fanfold.Session) -> None:
    ask(chat, "c2")
    assert "line 1" in recall(chat, "", ref_id="o1")


@pytest.mark.parametrize("pattern", ["(" + "a" * 100_000, "(?P<" + "n" * 100_000 + ">x", "*" * 100_000])
@pytest.mark.parametrize("tool", ["_grep", "_search"])
def test_the_answer_to_a_long_wrong_pattern_is_short(chat: fanfold.Session, tool: str, pattern: str) -> None:
    text = recall(chat, tool, ref_id="o1", pattern=pattern)
    assert "cannot be used" in text
    assert len(text) < 1_000


def test_the_answer_to_a_long_unknown_name_is_short(chat: fanfold.Session) -> None:
    text = recall(chat, "n" * 100_000)
    assert text.endswith("there are tool_output_cache, tool_output_cache_grep, tool_output_cache_search.")
    assert len(text) < 500


@pytest.mark.parametrize(
    "arguments", ["[" + "1," * 100_000, '{"ref_id": "o1", "offset": -1' + "0" * 4_000 + "}"]
)
def test_the_answer_to_long_wrong_arguments_is_short(chat: fanfold.Session, arguments: str) -> None:
    assert len(chat.recall(Call("r", "tool_output_cache", arguments))) < 1_000
