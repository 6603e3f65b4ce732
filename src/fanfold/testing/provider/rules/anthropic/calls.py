"""Anthropic's rules on calls and results."""

import re
from collections.abc import Iterator

from fanfold.testing.provider.rejection import JudgeTerms, Refusals, Rejection, Rule, collector
from fanfold.testing.provider.wire import Wire, objects, references, with_places

from .conversation import ASKS, blocks, each_block, is_results, is_server_result, turns, waiting

RULES: list[Rule] = []
rule = collector(RULES)

LOADS_LATER = r"claude-((opus|sonnet)-(4-[5-9]|[5-9])|fable|mythos)"
OWN_TOOLS = (None, "custom", "mcp_toolset")
BY_ASSISTANTS = ASKS | {"tool_use", "thinking", "redacted_thinking"}
ID = "^[a-zA-Z0-9_-]+$"
NAME = "^[a-zA-Z0-9_-]{1,128}$"


@rule
def calls_come_from_assistants(body: Wire, terms: JudgeTerms) -> Refusals:
    """Calls and thinking stand in assistant messages only."""
    for place, message, block in each_block(body):
        if message["role"] != "assistant" and (block["type"] in BY_ASSISTANTS or is_server_result(block)):
            spot = place.split(".content")[0]
            yield Rejection(f"{spot}: `{block['type']}` blocks can only be in `assistant` messages")


@rule
def results_come_from_users(body: Wire, terms: JudgeTerms) -> Refusals:
    """Results stand in user messages only."""
    for place, message, _block in each_block(body, "tool_result"):
        if message["role"] != "user":
            yield Rejection(
                f"{place.split('.content')[0]}: `tool_result` blocks can only be in `user` messages"
            )


@rule
def call_ids_are_plain(body: Wire, terms: JudgeTerms) -> Refusals:
    """A call's id is made of letters, digits, underscores and dashes."""
    for place, _message, block in each_block(body, "tool_use"):
        if not re.match(ID, block["id"]):
            yield Rejection(f"{place}.tool_use.id: String should match pattern '{ID}'")


@rule
def call_names_are_short(body: Wire, terms: JudgeTerms) -> Refusals:
    """A call's name has between one and 200 characters."""
    for place, _message, block in each_block(body, "tool_use"):
        if not 0 < len(block["name"]) <= 200:
            bound = "at most 200 characters" if block["name"] else "at least 1 character"
            yield Rejection(f"{place}.tool_use.name: String should have {bound}")


@rule
def call_ids_are_unique(body: Wire, terms: JudgeTerms) -> Refusals:
    """No two calls of a conversation have the same id."""
    seen: set[str] = set()
    for place, _message, block in each_block(body, "tool_use"):
        if block["id"] in seen:
            yield Rejection(f"{place}: `tool_use` ids must be unique")
        seen.add(block["id"])


@rule
def results_have_calls(body: Wire, terms: JudgeTerms) -> Refusals:
    """A result's call is in the assistant message right before it."""
    for _start, place, block, called in _results(body):
        if block["tool_use_id"] not in called:
            yield Rejection(
                f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {block['tool_use_id']}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )


@rule
def calls_have_one_result(body: Wire, terms: JudgeTerms) -> Refusals:
    """No call has two results."""
    seen: set[tuple[int, str]] = set()
    for start, place, block, _called in _results(body):
        if (start, block["tool_use_id"]) in seen:
            text = "each tool_use must have a single result. Found multiple `tool_result` blocks with id"
            yield Rejection(f"{place}: {text}: {block['tool_use_id']}")
        seen.add((start, block["tool_use_id"]))


@rule
def calls_have_results(body: Wire, terms: JudgeTerms) -> Refusals:
    """The user message right behind the calls begins with the results of all of them."""
    joined = turns(body)
    for (at, message), after in zip(joined, [*joined[1:], (0, {})], strict=True):
        ids = [block["id"] for block in blocks(message) if block["type"] == "tool_use"]
        answered = _leading_results(after[1])
        missing = [each for each in ids if each not in answered]
        if missing:
            yield Rejection(
                f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block "
                "in the next message."
            )


@rule
def server_results_have_uses(body: Wire, terms: JudgeTerms) -> Refusals:
    """The result of a server's tool comes after its use."""
    used: set[str] = set()
    for place, _message, block in each_block(body):
        used |= {str(block.get("id"))} if block["type"] in ASKS else set()
        if is_server_result(block) and block.get("tool_use_id") not in used:
            yield Rejection(
                f"{place}: unexpected `tool_use_id` found in `{block['type']}` blocks: "
                f"{block.get('tool_use_id')}. Each `{block['type']}` block must have a corresponding "
                "`server_tool_use` block before it."
            )


@rule
def server_uses_have_results(body: Wire, terms: JudgeTerms) -> Refusals:
    """The use of a server's tool has its result before the user says more than results."""
    for at, running in _exchanges(body):
        for block in waiting(running):
            name = block.get("name", "server tool")
            text = f"`{name}` tool use with id `{block.get('id')}` was found without a corresponding"
            yield Rejection(f"messages.{at}: {text} result block")


@rule
def tools_are_known(body: Wire, terms: JudgeTerms) -> Refusals:
    """A tool is the caller's own, or one of Anthropic's with a dated type."""
    for at, tool in with_places(body.get("tools")):
        kind = tool.get("type")
        if kind not in OWN_TOOLS and not re.search(r"_\d{8}$", str(kind)):
            text = f"Input tag '{kind}' found using 'type' does not match any of the expected tags"
            yield Rejection(f"tools.{at}: {text}: 'bash_20250124', 'custom', 'text_editor_20250728'")


@rule
def tools_have_schemas(body: Wire, terms: JudgeTerms) -> Refusals:
    """The caller's own tool says what it takes, as the schema of an object."""
    for at, tool in with_places(body.get("tools")):
        if tool.get("type") not in (None, "custom"):
            continue
        schema = tool.get("input_schema")
        if not isinstance(schema, dict):
            yield Rejection(f"tools.{at}.custom.input_schema: Field required")
        elif schema.get("type") != "object":
            yield Rejection(f"tools.{at}.custom.input_schema.type: Input should be 'object'")


@rule
def tools_have_names(body: Wire, terms: JudgeTerms) -> Refusals:
    """A tool has a name of letters, digits, underscores and dashes."""
    for at, tool in with_places(body.get("tools")):
        if tool.get("type") != "mcp_toolset" and not re.match(NAME, str(tool.get("name", ""))):
            yield Rejection(f"tools.{at}.custom.name: String should match pattern '{NAME}'")


@rule
def tool_names_are_unique(body: Wire, terms: JudgeTerms) -> Refusals:
    """No two tools have the same name."""
    names = [tool.get("name") for tool in objects(body.get("tools")) if tool.get("name")]
    if len(names) != len(set(names)):
        yield Rejection("tools: Tool names must be unique.")


def _waits(tool: Wire) -> bool:
    return tool.get("defer_loading") is True


@rule
def waiting_tools_are_known(body: Wire, terms: JudgeTerms) -> Refusals:
    """Only newer models load tools later (tool search: model compatibility)."""
    for at, tool in with_places(body.get("tools")):
        if _waits(tool) and not re.search(LOADS_LATER, terms.model):
            yield Rejection(
                f"tools.{at}.custom.defer_loading: '{terms.model}' does not support deferred tools."
            )


@rule
def waiting_tools_carry_no_mark(body: Wire, terms: JudgeTerms) -> Refusals:
    """A tool that waits is no part of the prompt, so there is nothing to cache."""
    for tool in filter(_waits, objects(body.get("tools"))):
        if tool.get("cache_control"):
            text = f"Tool '{tool.get('name')}' cannot have both defer_loading=true and cache_control set."
            yield Rejection(f"{text} Tools with defer_loading cannot use prompt caching.")


@rule
def some_tool_is_there(body: Wire, terms: JudgeTerms) -> Refusals:
    """Not all tools wait: one of them has to find the others."""
    tools = objects(body.get("tools"))
    if tools and all(map(_waits, tools)):
        yield Rejection("At least one tool must have defer_loading=false.")


@rule
def references_have_tools(body: Wire, terms: JudgeTerms) -> Refusals:
    """A `tool_reference` names a tool of the request."""
    names = {tool.get("name") for tool in objects(body.get("tools"))}
    for name in references(body):
        if name not in names:
            yield Rejection(f"Tool reference '{name}' has no corresponding tool definition.")


@rule
def choice_is_there(body: Wire, terms: JudgeTerms) -> Refusals:
    """The tool that the model has to call is defined and does not wait."""
    choice = body.get("tool_choice")
    name = choice.get("name") if isinstance(choice, dict) and choice.get("type") == "tool" else None
    there = [tool.get("name") for tool in objects(body.get("tools")) if not _waits(tool)]
    if name is not None and name not in there:
        yield Rejection(f"tool_choice.tool.name: Tool '{name}' not found in provided tools")


@rule
def choice_needs_tools(body: Wire, terms: JudgeTerms) -> Refusals:
    """`tool_choice` comes with tools to choose from."""
    if body.get("tool_choice") is not None and not body.get("tools"):
        yield Rejection("tool_choice: tool_choice may only be specified while providing tools.")


def _exchanges(body: Wire) -> Iterator[tuple[int, Wire]]:
    """All that the assistant said between two words of the user, as one message; what runs still is left out.

    Results of calls may come between: code that the server runs waits for those of the calls it makes.
    """
    start, said = 0, list[Wire]()
    for at, message in turns(body):
        if message["role"] == "assistant":
            start, said = (start if said else at), said + blocks(message)
        elif message["role"] == "user" and not is_results(message):
            yield start, {"role": "assistant", "content": said}
            said = []


def _leading_results(message: Wire) -> set[str]:
    found: set[str] = set()
    for block in blocks(message) if message.get("role") == "user" else []:
        if block["type"] != "tool_result":
            break
        found.add(block["tool_use_id"])
    return found


def _results(body: Wire) -> Iterator[tuple[int, str, Wire, set[str]]]:
    """Each result with the place of its message, its own, and the ids called right before."""
    called: set[str] = set()
    for at, message in turns(body):
        if message["role"] == "assistant":
            called = {block["id"] for block in blocks(message) if block["type"] == "tool_use"}
            continue
        for nth, block in enumerate(blocks(message)):
            if block["type"] == "tool_result":
                yield at, f"messages.{at}.content.{nth}", block, called
        called = set()
