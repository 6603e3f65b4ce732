"""The recall tools over MCP, asked by the official SDK's client."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold.core.message import Message
from fanfold.integrations.mcp import answer, server

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters


def recorded(chat: fanfold.Session) -> fanfold.Session:
    chat.say("go")
    call = fanfold.Call("c1", "bash", "{}")
    chat.add(Message("assistant", (call,)))
    chat.answer(call, "".join(f"line {i}\n" for i in range(1, 100_001)))
    return chat


async def asked(target: Any, name: str, arguments: dict[str, Any]) -> str:
    async with Client(target) as client:
        result = await client.call_tool(name, arguments)
        return str(result.content[0].text)


def test_a_client_finds_all_three_tools_with_their_schemas() -> None:
    async def main() -> list[Any]:
        with fanfold.open("run", window=9_000) as chat:
            async with Client(server(chat)) as client:
                return list((await client.list_tools()).tools)

    listed = asyncio.run(main())
    assert {tool.name for tool in listed} == fanfold.outputs.recall.RECALL
    assert all("pattern" in str(tool) or "ref_id" in str(tool) for tool in listed)


def test_a_client_reads_lines_of_an_output() -> None:
    chat = recorded(fanfold.open("run", window=90_000))
    arguments = {"ref_id": "o1", "offset": 50_000, "limit": 1}
    text = asyncio.run(asked(server(chat), "tool_output_cache", arguments))
    assert text.startswith(" 50000\tline 50000\n")


def test_a_client_that_asks_for_nonsense_gets_a_text() -> None:
    chat = recorded(fanfold.open("run", window=90_000))
    text = asyncio.run(asked(server(chat), "tool_output_cache_grep", {"ref_id": "o1", "pattern": "("}))
    assert "cannot be used" in text


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("", {"ref_id": "\ud800"}, "There is no output"),
        ("_grep", {"ref_id": "o1", "pattern": "x\ud800"}, "Nothing in o1"),
        ("_search", {"pattern": "x\ud800", "\udfff": [float("nan")]}, "Nothing in the outputs"),
        ("_\ud800", {}, "There is no tool"),
    ],
)
def test_a_lone_surrogate_in_what_a_client_asks_is_answered(
    name: str, arguments: dict[str, Any], says: str
) -> None:
    chat = recorded(fanfold.open("run", window=90_000))
    text = answer(chat, f"tool_output_cache{name}", arguments)
    assert text.startswith(says)
    assert text.encode().decode() == text


def test_a_stored_session_is_served_over_standard_input_and_output(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/agent.db"
    with fanfold.open("run-42", window=90_000, store=store) as chat:
        recorded(chat)
    arguments = ["-m", "fanfold", "mcp", "run-42", "--store", store]
    started = StdioServerParameters(command=sys.executable, args=arguments)
    text = asyncio.run(asked(started, "tool_output_cache_grep", {"ref_id": "o1", "pattern": "line 9999$"}))
    assert text == "9999:line 9999\n[o1: 1 hits in 100,000 lines]"


def test_what_another_process_adds_is_seen_at_once(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with fanfold.open("run", window=90_000, store=fanfold.SQLite(path)) as agent:
        agent.say("go")
        with fanfold.open("run", window=90_000, store=fanfold.SQLite(path)) as watcher:
            made = server(watcher)
            call = fanfold.Call("c1", "bash", "{}")
            agent.add(Message("assistant", (call,)))
            agent.answer(call, "fresh")
            assert "fresh" in asyncio.run(asked(made, "tool_output_cache", {"ref_id": "o1"}))


def test_a_store_that_is_away_is_told_and_asked_again_later(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    store = fanfold.SQLite(tmp_path / "there" / "agent.db")
    made = server(recorded(fanfold.open("run", window=90_000, store=store)))
    store.close()
    (tmp_path / "there").rename(tmp_path / "away")
    arguments = {"ref_id": "o1", "offset": 5, "limit": 1}
    assert "cannot be used" in asyncio.run(asked(made, "tool_output_cache", arguments))
    (tmp_path / "away").rename(tmp_path / "there")
    assert asyncio.run(asked(made, "tool_output_cache", arguments)).startswith("     5\tline 5\n")


def test_a_search_for_a_client_runs_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one of the threads for searches, which are bounded in number (19.18)."""
    threads: list[str] = []
    find = fanfold.outputs.recall.answer

    def watched(*arguments: Any) -> str:
        threads.append(threading.current_thread().name)
        return find(*arguments)

    monkeypatch.setattr(fanfold.outputs.recall, "answer", watched)
    chat = recorded(fanfold.open("run", window=90_000))
    asyncio.run(asked(server(chat), "tool_output_cache_grep", {"ref_id": "o1", "pattern": "line 7"}))
    assert [name.rpartition("_")[0] for name in threads] == ["fanfold-search"]
