"""The recall tools as an MCP server, for agents that are not written with fanfold (extra `fanfold[mcp]`).

python -m fanfold.integrations.mcp --store sqlite:agent.db --session run-42
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.json import encode

from fanfold import tools
from fanfold.errors import MissingExtra
from fanfold.message import Call
from fanfold.opening import open
from fanfold.session import Session
from fanfold.talk.state import State

if TYPE_CHECKING:
    from mcp.server import Server

_ANY_WINDOW = 1 << 40
"""A session that is only looked at is never reduced."""


def server(chat: Session) -> Server[Any]:
    """An MCP server that answers from a session; what others write to it is seen at once."""
    try:
        from mcp import types
        from mcp.server import Server
    except ImportError as error:
        raise MissingExtra("The MCP server needs the package mcp: install `fanfold[mcp]`.") from error

    async def listed(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(**_defined(tool)) for tool in tools.definitions("anthropic")]
        )

    async def called(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = answered(chat, params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    return Server("fanfold", on_list_tools=listed, on_call_tool=called)


def _defined(tool: dict[str, Any]) -> dict[str, Any]:
    return {"name": tool["name"], "description": tool["description"], "inputSchema": tool["input_schema"]}


def answered(chat: Session, name: str, arguments: dict[str, Any]) -> str:
    """What a recall tool answers, as of now."""
    chat._do(State.catch_up)
    return chat.recall(Call("mcp", name, encode(arguments).decode()))


async def serve(chat: Session) -> None:
    """Serve one client over standard input and output."""
    from mcp.server.stdio import stdio_server

    made = server(chat)
    async with stdio_server() as (reading, writing):
        await made.run(reading, writing, made.create_initialization_options())


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve a stored session until the client leaves."""
    import asyncio

    parser = argparse.ArgumentParser(prog="fanfold-mcp", description="Look up the outputs of a session.")
    parser.add_argument("--store", required=True, help="where the session is kept, such as sqlite:agent.db")
    parser.add_argument("--session", required=True, help="its name")
    parser.add_argument("--tenant", default="default", help="whose it is")
    given = parser.parse_args(arguments)
    with open(given.session, store=given.store, tenant=given.tenant, window=_ANY_WINDOW) as chat:
        asyncio.run(serve(chat))


if __name__ == "__main__":
    main()
