"""Tools that the caller marks with `defer_loading` itself: what 0.1 made of them was refused, or did not fit."""

from __future__ import annotations

from typing import Any

import fanfold
from fanfold.testing.provider.rejection import JudgeTerms
from fanfold.testing.provider.rules import check

from .everyday import define, tools

MODEL = "claude-opus-4-5"
FINDER = {
    "name": "ToolSearch",
    "description": "Finds tools.",
    "input_schema": {"type": "object", "properties": {}},
}


def waiting(count: int) -> list[dict[str, Any]]:
    return [{**define(one, "anthropic"), "defer_loading": True} for one in tools(count)]


def opened(count: int, **more: Any) -> fanfold.Session:
    return fanfold.open(
        "run", **{"model": MODEL, "tools": [FINDER, *waiting(count)], "recall": False, **more}
    )


def use(id: str, name: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": id, "name": name, "input": {"path": "x"}}],
    }


def result(id: str, *content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": list(content)}]}


def legal(request: Any) -> None:
    assert check("anthropic", dict(request), JudgeTerms(MODEL)) is None


def test_no_cache_mark_is_set_on_a_tool_that_waits() -> None:
    with opened(3) as chat:
        chat.say("Go.")
        request = chat.request(max_tokens=100)
        legal(request)
        assert [bool(tool.get("cache_control")) for tool in request["tools"]] == [True, False, False, False]


def test_the_callers_own_mark_on_such_a_tool_is_not_sent() -> None:
    marked = [{**tool, "cache_control": {"type": "ephemeral"}} for tool in waiting(1)]
    with opened(1, tools=[FINDER, *marked]) as chat:
        chat.say("Go.")
        legal(chat.request(max_tokens=100))


def test_schemas_that_wait_are_not_counted_until_they_are_referred_to() -> None:
    with opened(400, window=20_000) as chat:
        chat.say("Go.")
        request = chat.request(max_tokens=100)
        assert len(request["tools"]) == 401
        before = chat.view().frame.tokens
        assert before < 1_000
        chat.add(use("t1", "ToolSearch"))
        name = tools(1)[0].name
        chat.add(result("t1", {"type": "tool_reference", "tool_name": name}))
        legal(chat.request(max_tokens=100))
        assert 100 < chat.view().frame.tokens - before < 1_000


def test_a_tool_whose_reference_was_folded_away_is_there_while_calls_to_it_are() -> None:
    name = tools(1)[0].name
    with opened(3) as chat:
        chat.say("Go.")
        chat.add(use("t1", "ToolSearch"))
        chat.add(result("t1", {"type": "tool_reference", "tool_name": name}))
        chat.add(use("t2", name))
        chat.add(result("t2", {"type": "text", "text": "done"}))
        rows = chat.view().rows
        before = chat.request(max_tokens=100)
        assert [tool["name"] for tool in before["tools"] if not tool.get("defer_loading")] == ["ToolSearch"]
        chat.fold((rows[1].id, rows[2].id), "A tool was found.")
        after = chat.request(max_tokens=100)
        legal(after)
        assert [tool["name"] for tool in after["tools"] if not tool.get("defer_loading")] == [
            "ToolSearch",
            name,
        ]
        assert "tool_reference" not in str(after["messages"])
