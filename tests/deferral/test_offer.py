"""A session whose tools wait: what it offers, when a schema comes, and when it leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

import fanfold
from fanfold.testing import replied, response

from .everyday import define, tools

KNOWN = tools(94)
CHAT = [define(one, "openai.chat") for one in KNOWN]
MERGE, CLICK = "mcp__github__merge_pull_request", "mcp__playwright__browser_click"


def opened(**more: Any) -> fanfold.Session:
    told = {"model": "gpt-4.1", "system": "You help.", "tools": CHAT, "defer": True, "recall": False}
    return fanfold.open("run", **{**told, **more})


def names(request: Any) -> list[str]:
    return [tool["function"]["name"] for tool in request["tools"]]


def called(id: str, tool: str, /, **arguments: Any) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}


def finds(chat: fanfold.Session, id: str = "f1", **asked: str) -> Any:
    chat.request(max_tokens=100)
    return chat.receive(response(replied(None, called(id, "find_tool", **asked))))


def uses(chat: fanfold.Session, id: str, name: str, /, output: str = "done " * 50, **arguments: Any) -> Any:
    chat.request(max_tokens=100)
    reply = chat.receive(response(replied(None, called(id, name, **arguments))))
    for call in reply.calls:
        chat.answer(call, output)
    return reply


ARGUMENTS = {"owner": "me", "repo": "it", "number": 3}


def test_the_frame_has_an_index_and_one_tool() -> None:
    with opened() as chat:
        chat.say("Go.")
        request = chat.request(max_tokens=100)
        assert names(request) == ["find_tool"]
        index = "\n".join(one["content"] for one in request["messages"] if one["role"] == "system")
        assert "[github]\nmcp__github__add_issue_comment: Add a comment to an existing issue" in index
        assert index.count("\nmcp__") == 94


def test_the_frame_takes_an_eighth_of_the_schemas_at_most() -> None:
    for dialect in ("openai.chat", "openai.responses", "anthropic", "gemini"):
        given = [define(one, dialect) for one in KNOWN]
        frames = []
        for defer in (False, True):
            with opened(tools=given, dialect=dialect, defer=defer, system=None) as chat:
                chat.say("Go.")
                chat.request(max_tokens=100)
                frames.append(chat.view().frame.tokens)
        assert frames[1] <= 0.12 * frames[0], dialect


def test_what_is_found_is_loaded_and_the_session_answers_itself() -> None:
    with opened() as chat:
        chat.say("Merge it.")
        reply = finds(chat, name=MERGE)
        assert (reply.calls, reply.done, reply.recalled) == ((), False, ("f1",))
        request = chat.request(max_tokens=100)
        assert names(request) == ["find_tool", MERGE]
        assert json.loads(request["messages"][-1]["content"]) == {"loaded": [MERGE]}
        assert chat.sent()[0].loaded == (MERGE,)


def test_nothing_waits_where_schemas_take_less_than_their_share() -> None:
    with opened(defer=0.9, window=60_000) as chat:
        chat.say("Go.")
        assert len(chat.request(max_tokens=100)["tools"]) == 94
    with opened(defer=0.1, window=60_000) as chat:
        chat.say("Go.")
        assert names(chat.request(max_tokens=100)) == ["find_tool"]


def test_a_tool_that_says_so_does_not_wait() -> None:
    first = {**CHAT[0], "defer_loading": False}
    with opened(tools=[first, *CHAT[1:]]) as chat:
        chat.say("Go.")
        assert names(chat.request(max_tokens=100)) == [KNOWN[0].name, "find_tool"]


def test_a_schema_stays_while_calls_to_it_are_in_view_and_leaves_with_the_last() -> None:
    with opened() as chat:
        chat.say("Merge it.")
        finds(chat, query="pull requests")
        assert len(names(chat.request(max_tokens=100))) > 2
        uses(chat, "c1", MERGE, **ARGUMENTS)
        rows = chat.view().rows
        chat.fold((rows[1].id, rows[2].id), "A tool was found.")
        assert names(chat.request(max_tokens=100)) == ["find_tool", MERGE]
        chat.say("Thanks.")
        rows = chat.view().rows
        hidden = chat.fold(tuple(row.id for row in rows[1:-1]), "It was merged.")
        assert names(chat.request(max_tokens=100)) == ["find_tool"]
        chat.undo(hidden.id)
        assert names(chat.request(max_tokens=100)) == ["find_tool", MERGE]


def test_a_reduction_lets_go_of_what_it_hides() -> None:
    with opened(window=12_000) as chat:
        chat.say("Merge it.")
        finds(chat, name=MERGE)
        uses(chat, "c1", MERGE, **ARGUMENTS)
        finds(chat, "f2", name=CLICK)
        for n in range(40):
            uses(chat, f"d{n}", CLICK, ref=f"e{n}", title="x" * 200)
        chat.compact(force=True)
        request = chat.request(max_tokens=100)
        called_now = {
            call["function"]["name"] for one in request["messages"] for call in one.get("tool_calls", ())
        }
        assert MERGE not in called_now
        assert names(request) == ["find_tool", CLICK]


def test_what_was_found_and_never_called_leaves_with_the_next_reduction_and_comes_back_by_undo() -> None:
    with opened(strategy=[fanfold.elide(keep=1)], filters=()) as chat:
        chat.say("Merge it.")
        finds(chat, query="pull requests")
        for n in range(4):
            uses(chat, f"c{n}", MERGE, output="done " * 400, **ARGUMENTS)
        chat.compact(force=True)
        assert len(names(chat.request(max_tokens=100))) > 2  # it may yet be called
        for n in range(4, 8):
            uses(chat, f"c{n}", MERGE, output="done " * 400, **ARGUMENTS)
        before = names(chat.request(max_tokens=100))
        done = chat.compact(force=True)
        assert names(chat.request(max_tokens=100)) == ["find_tool", MERGE]
        (left,) = [one for one in done.decisions if one.why == "unload"]
        assert left.id in {one.decision.id for one in chat.edits() if one.fate == "stands"}
        chat.undo(left.id)
        assert names(chat.request(max_tokens=100)) == before
        chat.compact(force=True)
        assert names(chat.request(max_tokens=100)) == before  # what a person undid stays


def test_a_remembered_tool_is_run_and_loaded_by_its_use() -> None:
    with opened() as chat:
        chat.say("Merge it.")
        reply = uses(chat, "c1", MERGE, **ARGUMENTS)
        assert [call.name for call in reply.calls] == [MERGE]
        assert names(chat.request(max_tokens=100)) == ["find_tool", MERGE]


def test_a_call_that_does_not_fit_a_tool_that_waits_is_answered_by_loading_it() -> None:
    with opened() as chat:
        chat.say("Merge it.")
        reply = uses(chat, "c1", MERGE, pull=3)
        assert (reply.calls, reply.recalled) == ((), ("c1",))
        request = chat.request(max_tokens=100)
        assert names(request) == ["find_tool", MERGE]
        assert "missing: owner, repo; unknown: pull" in request["messages"][-1]["content"]
        assert "It is loaded now" in request["messages"][-1]["content"]


def test_once_it_is_loaded_a_wrong_call_is_the_callers() -> None:
    with opened() as chat:
        chat.say("Merge it.")
        finds(chat, name=MERGE)
        assert [call.name for call in uses(chat, "c1", MERGE, pull=3).calls] == [MERGE]


def test_whoever_runs_the_search_itself_adds_its_answer() -> None:
    with opened() as chat:
        chat.say("Merge it.")
        chat.add(replied(None, called("f1", "find_tool", name=MERGE)))
        message = chat.find_tool(fanfold.Call("f1", "find_tool", json.dumps({"name": MERGE})))
        chat.add(message)
        assert names(chat.request(max_tokens=100)) == ["find_tool", MERGE]


def test_a_search_of_the_users_own_comes_first_and_a_name_needs_none() -> None:
    asked: list[str] = []

    def find(query: str, tools: Mapping[str, str]) -> list[str]:
        asked.append(query)
        assert "Merge" in tools[MERGE]
        return [MERGE, "nobody"] if query == "land it" else []

    with opened(hooks=fanfold.Hooks(find_tools=find)) as chat:
        chat.say("Merge it.")
        finds(chat, "f1", query="land it")
        assert names(chat.request(max_tokens=100)) == ["find_tool", MERGE]
        finds(chat, "f2", query="create a branch")
        finds(chat, "f3", name="create_issue")
        assert "mcp__github__create_branch" in names(chat.request(max_tokens=100))
    assert asked == ["land it", "create a branch"]


def test_a_tool_that_a_request_forces_is_loaded_for_it() -> None:
    with opened() as chat:
        chat.say("Merge it.")
        forced = {"type": "function", "function": {"name": MERGE}}
        assert names(chat.request(max_tokens=100, tool_choice=forced)) == ["find_tool", MERGE]
        assert names(chat.request(max_tokens=100)) == ["find_tool"]


def test_a_fork_with_another_provider_has_the_same_tools_in_its_own_form() -> None:
    with opened() as chat:
        chat.say("Merge it.")
        finds(chat, name=MERGE)
        uses(chat, "c1", MERGE, **ARGUMENTS)
        with chat.fork("claude", model="claude-opus-4-5") as claude:
            claude.say("Go on.")
            tools = {tool["name"]: tool for tool in claude.request(max_tokens=100)["tools"]}
            assert len(tools) == 95
            there = [name for name, tool in tools.items() if not tool.get("defer_loading")]
            assert there == ["find_tool", MERGE]
        with chat.fork("gpt", model="gpt-5.5", dialect="openai.responses") as gpt:
            gpt.say("Go on.")
            sent = gpt.request(max_tokens=100)["tools"]
            assert [tool.get("name", tool["type"]) for tool in sent] == ["tool_search", MERGE]


def test_it_is_opened_again_as_it_was() -> None:
    store = fanfold.Memory()
    with opened(store=store) as chat:
        chat.say("Merge it.")
        finds(chat, name=MERGE)
    with fanfold.open("run", store=store, recall=False) as chat:
        assert names(chat.request(max_tokens=100)) == ["find_tool", MERGE]


def test_a_tool_of_the_callers_is_not_called_like_ours() -> None:
    own = {"type": "function", "function": {"name": "find_tool", "parameters": {"type": "object"}}}
    with pytest.raises(fanfold.BadInput, match="the session has a tool 'find_tool' itself"):
        opened(tools=[own])


@pytest.mark.parametrize("wrong", ["yes", 2, -3.0, [True]])
def test_what_defer_takes_is_said(wrong: Any) -> None:
    with pytest.raises(fanfold.BadSetting, match="defer is True, False, or the share"):
        opened(defer=wrong)


def test_a_setting_turns_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for told, there in (("true", 1), ("0.95", 94), ("false", 94)):
        monkeypatch.setenv("FANFOLD_DEFER", told)
        with opened(defer=None, window=60_000) as chat:
            chat.say("Go.")
            assert len(chat.request(max_tokens=100)["tools"]) == there


def test_what_was_found_and_called_stays_in_the_answer_of_its_search() -> None:
    """Else the model reads that its search found nothing, beside calls of what it found."""
    with opened(strategy=[fanfold.elide(keep=1)], filters=()) as chat:
        chat.say("Merge it.")
        finds(chat, query="pull requests")
        for n in range(8):
            uses(chat, f"c{n}", MERGE, output="done " * 400, **ARGUMENTS)
        chat.compact(force=True)
        found = next(row.messages[0] for row in chat.view().rows if row.results == ("f1",))
        assert json.loads(found.results[0].text) == {"loaded": [MERGE]}
