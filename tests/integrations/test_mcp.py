"""The recall tools over MCP, asked by the official SDK's client."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
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
from mcp.shared.exceptions import MCPError


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


def test_arguments_that_are_nested_without_end_are_answered() -> None:
    nested: Any = "x"
    for _ in range(2_000):
        nested = [nested]
    chat = recorded(fanfold.open("run", window=90_000))
    assert answer(chat, "tool_output_cache", {"ref_id": nested}).endswith("Give texts and numbers.")


def listed(target: Any) -> dict[str, Any]:
    async def main() -> dict[str, Any]:
        async with Client(target) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    return asyncio.run(main())


def folded(chat: fanfold.Session) -> fanfold.Session:
    """A session with a fold of its first two rows."""
    for number in range(4):
        chat.say(f"request {number}: " + "words " * 50)
        chat.add(Message("assistant", (fanfold.Text(f"reply {number}"),)))
    chat.fold([row.id for row in chat.view().rows[:2]], "They began.")
    return chat


def test_a_client_is_told_the_version_and_what_is_behind_the_tools() -> None:
    async def main() -> Any:
        async with Client(server(fanfold.open("run", window=9_000))) as client:
            return client.server_info, client.instructions

    info, told = asyncio.run(main())
    assert (info.name, info.version) == ("fanfold", fanfold.__version__)
    assert "ref=o12" in told


def test_tools_that_change_something_are_offered_only_when_asked_for() -> None:
    chat = fanfold.open("run", window=9_000)
    reading, writing = listed(server(chat)), listed(server(chat, write=True))
    assert reading.keys() == fanfold.outputs.recall.RECALL
    assert writing.keys() - reading.keys() == {"view", "why", "undo", "pin"}
    marks = {name: tool.annotations.read_only_hint for name, tool in writing.items()}
    assert {name for name, reads in marks.items() if not reads} == {"undo", "pin"}
    assert all(tool.title and tool.description for tool in writing.values())

    async def main() -> None:
        async with Client(server(chat)) as client:
            with pytest.raises(MCPError, match="There is no tool 'undo' here"):
                await client.call_tool("undo", {})

    asyncio.run(main())


def test_a_client_looks_asks_why_undoes_and_pins() -> None:
    chat = folded(fanfold.open("run", window=90_000))
    made = server(chat, write=True)
    view = asyncio.run(asked(made, "view", {}))
    assert "They began." in view
    assert view.splitlines()[1].startswith(chat.view().rows[0].id[:8])
    edit = chat.view().rows[0].id
    assert "fold" in asyncio.run(asked(made, "why", {"entry": edit}))
    assert "request 0" in asyncio.run(asked(made, "undo", {"edit": edit}))
    assert "They began." not in str(chat.view())
    below = chat.fold([row.id for row in chat.view().rows[:2]], "They began again.").id
    chat.fold([row.id for row in chat.view().rows[:2]], "Much happened.")
    assert "request 0" in asyncio.run(asked(made, "undo", {"edit": below, "through": True}))
    asyncio.run(asked(made, "pin", {"what": "reply 3"}))
    assert "reply 3" in str(chat.pins())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("why", {"entry": "nothing"}), ("undo", {"edit": "e99"}), ("pin", {}), ("pin", {"what": 7})],
)
def test_what_cannot_be_done_is_an_error_of_the_tool_with_a_sentence(name: str, arguments: Any) -> None:
    async def main() -> Any:
        async with Client(server(folded(fanfold.open("run", window=90_000)), write=True)) as client:
            return await client.call_tool(name, arguments)

    result = asyncio.run(main())
    assert result.is_error
    assert result.content[0].text.endswith((".", "?"))


def test_view_and_outputs_are_resources() -> None:
    chat = recorded(fanfold.open("run", window=90_000))

    async def main() -> tuple[list[str], list[str], list[str]]:
        async with Client(server(chat)) as client:
            uris = [str(one.uri) for one in (await client.list_resources()).resources]
            templates = (await client.list_resource_templates()).resource_templates
            texts = [(await client.read_resource(uri)).contents[0].text for uri in uris]
            return uris, [one.uri_template for one in templates], texts

    uris, templates, texts = asyncio.run(main())
    assert uris == ["fanfold://view", "fanfold://outputs/o1"]
    assert templates == ["fanfold://outputs/{ref}"]
    assert "go" in texts[0]
    assert texts[1].startswith("     1\tline 1\n")


def test_many_resources_come_in_pages() -> None:
    chat = fanfold.open("run", window=900_000)
    chat.say("go")
    for number in range(130):
        call = fanfold.Call(f"c{number}", "bash", "{}")
        chat.add(Message("assistant", (call,)))
        chat.answer(call, f"output {number}")

    async def main() -> list[int]:
        async with Client(server(chat)) as client:
            first = await client.list_resources()
            second = await client.list_resources(cursor=first.next_cursor)
            assert second.next_cursor is None
            odd = await client.list_resources(cursor="²")
            assert len(odd.resources) == len(first.resources)
            return [len(first.resources), len(second.resources)]

    assert asyncio.run(main()) == [101, 30]


@pytest.mark.parametrize("uri", ["fanfold://outputs/o99", "fanfold://nothing", "file:///etc/passwd"])
def test_a_resource_that_is_not_there_is_an_error_of_the_protocol(uri: str) -> None:
    async def main() -> None:
        async with Client(server(recorded(fanfold.open("run", window=90_000)))) as client:
            with pytest.raises(MCPError, match="There is no"):
                await client.read_resource(uri)

    asyncio.run(main())


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


@pytest.mark.parametrize(("asked_for", "known"), [("2024-11-05", True), ("1999-01-01", False)])
def test_a_client_of_another_version_of_the_protocol_is_served_too(
    asked_for: str, known: bool, tmp_path: Path
) -> None:
    """Message by message: a version that is known is spoken, instead of one that is not, the newest."""
    store = f"sqlite:{tmp_path}/agent.db"
    with fanfold.open("run-42", window=90_000, store=store) as chat:
        recorded(chat)
    client = {"protocolVersion": asked_for, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    told: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "tools/call", "params": {"name": "view", "arguments": {}}},
    ]
    command = [sys.executable, "-m", "fanfold", "mcp", "run-42", "--store", store, "--write"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdin is not None
        assert served.stdout is not None
        answers = []
        for one in told:
            served.stdin.write(json.dumps({"jsonrpc": "2.0", "params": {}, **one}) + "\n")
            served.stdin.flush()
            if "id" in one:
                answers.append(json.loads(served.stdout.readline())["result"])
        served.stdin.close()
        assert served.wait(60) == 0
    begun, tools, view = answers
    assert (begun["protocolVersion"] == asked_for) is known
    assert begun["serverInfo"]["version"] == fanfold.__version__
    assert begun["capabilities"].keys() == {"tools", "resources"}
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", tool["name"]) for tool in tools["tools"])
    assert view["content"][0]["text"].startswith("run-42 @ ")


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
