"""An Anthropic conversation as its rules look at it."""

from collections.abc import Iterator

from fanfold.testing.provider.wire import Wire, objects, with_places

SERVER_TOOLS: tuple[str, ...] = (
    "web_search",
    "web_fetch",
    "code_execution",
    "bash_code_execution",
    "advisor",
    "mcp",
)
SERVER_TOOLS += ("text_editor_code_execution", "tool_search")


ASKS = {"server_tool_use", "mcp_tool_use"}


def blocks(message: Wire) -> list[Wire]:
    """A message's blocks; a string is one text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return objects(content)


def each_block(body: Wire, *types: str) -> Iterator[tuple[str, Wire, Wire]]:
    """The blocks of all messages, of these types only if any are named, with place and message."""
    for at, message in with_places(body["messages"]):
        for nth, block in enumerate(blocks(message)):
            if not types or block["type"] in types:
                yield f"messages.{at}.content.{nth}", message, block


def turns(body: Wire) -> list[tuple[int, Wire]]:
    """The messages with their places; an assistant's that follow each other count as one."""
    joined: list[tuple[int, Wire]] = []
    for at, message in with_places(body["messages"]):
        if joined and message["role"] == "assistant" == joined[-1][1]["role"]:
            start, before = joined.pop()
            message = {"role": "assistant", "content": [*blocks(before), *blocks(message)]}
            at = start
        joined.append((at, message))
    return joined


def is_server_result(block: Wire) -> bool:
    """Whether a block is what a server's tool gave."""
    return str(block["type"]) in {f"{name}_tool_result" for name in SERVER_TOOLS}


def waiting(message: Wire) -> list[Wire]:
    """The uses of a server's tools that have no result in the message."""
    given = {block.get("tool_use_id") for block in blocks(message) if is_server_result(block)}
    return [block for block in blocks(message) if block["type"] in ASKS and block.get("id") not in given]


def is_prefilled(body: Wire) -> bool:
    """Whether the model is to go on with words put into its mouth; a turn that was paused is not that.

    With the stop reason `pause_turn` the reply is sent back as it is, and the server goes on with its tool.
    """
    _, last = turns(body)[-1]
    return last["role"] == "assistant" and not waiting(last)


def loop(body: Wire) -> list[tuple[int, Wire]]:
    """The assistant's turns since the last message of the user that is more than results."""
    running: list[tuple[int, Wire]] = []
    for at, message in reversed(turns(body)):
        if message["role"] == "user" and not is_results(message):
            break
        if message["role"] == "assistant":
            running.insert(0, (at, message))
    return running


def is_results(message: Wire) -> bool:
    """Whether there is nothing but results in a message."""
    return all(block["type"] == "tool_result" for block in blocks(message))


def prompt(body: Wire) -> Iterator[tuple[str, Wire]]:
    """Every block that may carry a mark, in the order the marks stand: that of a result is at its end."""
    for at, tool in with_places(body.get("tools")):
        yield f"tools.{at}", tool
    for at, block in with_places(body.get("system")):
        yield f"system.{at}", block
    for place, _message, block in each_block(body):
        for nth, inner in with_places(block.get("content")):
            yield f"{place}.tool_result.content.{nth}", inner
        yield place, block
