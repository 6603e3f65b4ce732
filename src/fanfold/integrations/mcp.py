"""A session as an MCP server, for agents and clients that are not written with fanfold (extra `fanfold[mcp]`).

    fanfold mcp run-42 --store sqlite:agent.db
    fanfold mcp run-42 --store sqlite:agent.db --write

Tools read and search what was trimmed; with `write`, others look at the view and change what is shown. Resources are
the view and the outputs. What others write to the session is seen at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fanfold.core.edit import GREP, READ, SEARCH
from fanfold.core.errors import BadInput, FanfoldError, StoreFailed
from fanfold.core.message import Call
from fanfold.integrations.requirement import require
from fanfold.outputs import recall as tools
from fanfold.session.session import Session
from fanfold.session.threads import SEARCHES
from fanfold.text.json_text import sendable_text, to_json, write_json

if TYPE_CHECKING:
    from mcp.server import Server

VIEW, OUTPUTS = "fanfold://view", "fanfold://outputs/"
PAGE = 100
"""So many resources are listed at a time."""
_INSTRUCTIONS = (
    "The conversation of one agent session, kept by fanfold. Outputs and messages that were trimmed have a reference "
    "such as o12 (ref=o12): read it by lines, or search."
)
_TITLES = {
    READ: "Read a trimmed output",
    GREP: "Search one output",
    SEARCH: "Search all outputs",
}
_ENTRY = {"type": "string", "description": "The id of a row in the view, or of an edit such as e3."}
_THROUGH = {"type": "boolean", "description": "Also undo the later edits that cover it."}
_WRITE: tuple[dict[str, Any], ...] = (
    {
        "name": "view",
        "title": "Look at the view",
        "description": "What the model sees of this conversation, row by row: id, tokens, how it begins, its edit.",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {
        "name": "why",
        "title": "Say why",
        "description": "What happened to an entry or an edit.",
        "inputSchema": {"type": "object", "properties": {"entry": _ENTRY}, "required": ["entry"]},
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {
        "name": "undo",
        "title": "Undo an edit",
        "description": "Take an edit back, so that what it hid is shown again; by default the last one.",
        "inputSchema": {"type": "object", "properties": {"edit": _ENTRY, "through": _THROUGH}},
        "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
    },
    {
        "name": "pin",
        "title": "Pin something",
        "description": "Keep a row, or lines of text, verbatim in view.",
        "inputSchema": {
            "type": "object",
            "properties": {"what": {"type": "string", "description": "The id of a row, or the text."}},
            "required": ["what"],
        },
        "annotations": {
            "readOnlyHint": False,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    },
)


def server(chat: Session, *, write: bool = False) -> Server[Any]:
    """An MCP server that answers from a session. It sees at once what others write to that session."""
    require("mcp", "2", "mcp")
    from mcp import types
    from mcp.server import Server
    from mcp.shared.exceptions import MCPError

    import fanfold  # late: the version is asked of the installed package

    served = _Served(chat, write, types, MCPError)
    return Server(
        "fanfold",
        version=str(fanfold.__version__),
        title="fanfold",
        instructions=_INSTRUCTIONS,
        on_list_tools=served.list_tools,
        on_call_tool=served.call_tool,
        on_list_resources=served.list_resources,
        on_list_resource_templates=served.list_templates,
        on_read_resource=served.read_resource,
    )


class _Served:
    """What a client asks for; `types` and `error` are MCP's own, which is an extra."""

    def __init__(self, chat: Session, write: bool, types: Any, error: Any) -> None:
        self._chat, self._types, self._error = chat, types, error
        self._tools = definitions(write=write)

    async def list_tools(self, _context: Any, _params: Any) -> Any:
        return self._types.ListToolsResult(tools=[self._types.Tool(**tool) for tool in self._tools])

    async def call_tool(self, _context: Any, params: Any) -> Any:
        offered = sorted(tool["name"] for tool in self._tools)
        if params.name not in offered:
            message = f"There is no tool {params.name[:80]!r} here; there are {', '.join(offered)}."
            raise self._error(code=self._types.INVALID_PARAMS, message=sendable_text(message))
        # Beside the event loop: a search may take its time.
        text, failed = await SEARCHES.run(_answer, self._chat, params.name, params.arguments or {})
        content = [self._types.TextContent(type="text", text=text)]
        return self._types.CallToolResult(content=content, is_error=failed)

    async def list_resources(self, _context: Any, params: Any) -> Any:
        cursor = (params.cursor if params else None) or "0"
        page, following = await SEARCHES.run(_resources, self._chat, cursor)
        listed = [self._types.Resource(**resource) for resource in page]
        return self._types.ListResourcesResult(resources=listed, next_cursor=following)

    async def list_templates(self, _context: Any, _params: Any) -> Any:
        output = self._types.ResourceTemplate(
            name="output",
            title="An output",
            uri_template=OUTPUTS + "{ref}",
            description="The beginning of a tool's output, by its reference.",
            mime_type="text/plain",
        )
        return self._types.ListResourceTemplatesResult(resource_templates=[output])

    async def read_resource(self, _context: Any, params: Any) -> Any:
        uri = str(params.uri)
        try:
            text = await SEARCHES.run(_resource, self._chat, uri)
        except FanfoldError as error:
            code = self._types.INVALID_PARAMS
            raise self._error(code=code, message=str(error), data={"uri": uri}) from error
        contents = self._types.TextResourceContents(uri=params.uri, mime_type="text/plain", text=text)
        return self._types.ReadResourceResult(contents=[contents])


def definitions(*, write: bool = False) -> list[dict[str, Any]]:
    """The tools as MCP describes them."""
    reading = [
        {
            "name": tool["name"],
            "title": _TITLES[tool["name"]],
            "description": tool["description"],
            "inputSchema": tool["input_schema"],
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }
        for tool in tools.definitions("anthropic")
    ]
    return [*reading, *_WRITE] if write else reading


def answer(chat: Session, name: str, arguments: dict[str, Any]) -> str:
    """What a tool answers now. If the store cannot be reached, the answer says so."""
    return _answer(chat, name, arguments)[0]


async def serve(chat: Session, *, write: bool = False) -> None:
    """Serve one client over standard input and output."""
    made = server(chat, write=write)
    from mcp.server.stdio import stdio_server  # late: `server` says what is missing

    async with stdio_server() as (reading, writing):
        await made.run(reading, writing, made.create_initialization_options())


def _answer(chat: Session, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    """What a tool answers, and whether it failed."""
    try:
        chat.refresh()
        verb = _VERBS.get(name)
        if verb is not None:
            return sendable_text(verb(chat, arguments)), False
        return sendable_text(chat.recall(Call("mcp", name, write_json(arguments).decode()))), False
    except StoreFailed as error:
        return str(error), True
    except FanfoldError as error:
        return sendable_text(str(error)), True
    except RecursionError:
        return f"The arguments of {name} are nested too deeply. Give texts and numbers.", True


def _look(chat: Session, _arguments: dict[str, Any]) -> str:
    """The view, with the id of each row in front of it."""
    view = chat.view()
    lines = str(view).splitlines()
    rows = lines[len(lines) - len(view.rows) :]
    numbered = [f"{row.id[:8]:<8}{line}" for row, line in zip(view.rows, rows, strict=True)]
    return "\n".join([*lines[: len(lines) - len(view.rows)], *numbered])


def _say_why(chat: Session, arguments: dict[str, Any]) -> str:
    return str(chat.why(_word(arguments, "entry")))


def _undo(chat: Session, arguments: dict[str, Any]) -> str:
    edit = _word(arguments, "edit") if arguments.get("edit") else None
    undone = chat.undo(edit, through=arguments.get("through") is True)
    return f"{', '.join(each.id for each in undone)}: done.\n{chat.view()}"


def _pin(chat: Session, arguments: dict[str, Any]) -> str:
    pinned = chat.pin(_word(arguments, "what"))
    return f"{pinned.id}: pinned."


_VERBS: dict[str, Callable[[Session, dict[str, Any]], str]] = {
    "view": _look,
    "why": _say_why,
    "undo": _undo,
    "pin": _pin,
}


def _word(arguments: dict[str, Any], name: str) -> str:
    given = arguments.get(name)
    if not isinstance(given, str) or not given.strip():
        raise BadInput(f"Say {name}: it is a text.")
    return given.strip()


def _resources(chat: Session, cursor: str) -> tuple[list[dict[str, Any]], str | None]:
    """A page of resources, and where the next one begins."""
    chat.refresh()
    start = int(cursor) if cursor.isdecimal() else 0
    outputs = chat.outputs()
    view = {"name": "view", "title": "The view", "uri": VIEW, "mimeType": "text/plain"}
    listed = [
        {
            "name": output.ref,
            "uri": f"{OUTPUTS}{output.ref}",
            "description": str(output),
            "mimeType": "text/plain",
        }
        for output in outputs[start : start + PAGE]
    ]
    following = start + PAGE
    return [*([view] if start == 0 else []), *listed], str(following) if following < len(outputs) else None


def _resource(chat: Session, uri: str) -> str:
    """The text of a resource; of an output, what the model is shown of it first."""
    chat.refresh()
    if uri == VIEW:
        return sendable_text(_look(chat, {}))
    ref = uri.removeprefix(OUTPUTS)
    if not uri.startswith(OUTPUTS) or not ref:
        raise BadInput(f"There is no resource {uri[:80]!r}; there are {VIEW} and {OUTPUTS}REF.")
    chat.output(ref)  # raises where there is none
    return sendable_text(chat.recall(Call("mcp", READ, to_json({"ref_id": ref}))))
