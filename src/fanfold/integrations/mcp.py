"""The recall tools as an MCP server, for agents that are not written with fanfold (extra `fanfold[mcp]`).

fanfold mcp run-42 --store sqlite:agent.db
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.json import encode

from fanfold.core.errors import MissingExtra, StoreFailed
from fanfold.core.message import Call
from fanfold.dialects.weigh import sendable
from fanfold.outputs import recall as tools
from fanfold.session.session import Session
from fanfold.session.threads import SEARCHES
from fanfold.tokens.vocabulary import sendable as sendable_text

if TYPE_CHECKING:
    from mcp.server import Server


def server(chat: Session) -> Server[Any]:
    """An MCP server that answers from a session; what others write to it is seen at once."""
    try:
        from mcp import types
        from mcp.server import Server
    except ImportError as error:
        raise MissingExtra("The MCP server needs the package mcp: install `fanfold[mcp]`.") from error

    async def listed(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(**tool) for tool in definitions()])

    async def called(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        # Beside the event loop: a search may take its time.
        text = await SEARCHES.run(answer, chat, params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    return Server("fanfold", on_list_tools=listed, on_call_tool=called)


def definitions() -> list[dict[str, Any]]:
    """The tools as MCP describes them."""
    return [
        {"name": tool["name"], "description": tool["description"], "inputSchema": tool["input_schema"]}
        for tool in tools.definitions("anthropic")
    ]


def answer(chat: Session, name: str, arguments: dict[str, Any]) -> str:
    """What a recall tool answers, as of now; that the store is away is an answer, too."""
    try:
        chat.refresh()
    except StoreFailed as error:
        return str(error)
    return sendable_text(chat.recall(Call("mcp", name, encode(sendable(arguments)).decode())))


async def serve(chat: Session) -> None:
    """Serve one client over standard input and output."""
    made = server(chat)
    from mcp.server.stdio import stdio_server  # late: `server` says what is missing

    async with stdio_server() as (reading, writing):
        await made.run(reading, writing, made.create_initialization_options())
