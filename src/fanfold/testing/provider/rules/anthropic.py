"""The rules of Anthropic's Messages: shape, content, tools; those on thinking are in `thinking`."""

import re
from collections.abc import Iterator
from typing import Any

from fanfold.testing.provider.rejection import Rejection, Rule, Terms, collector
from fanfold.testing.provider.wire import Wire, enumerated, objects

from . import thinking
from .conversation import blocks, each_block, turns

RULES: list[Rule] = []
rule = collector(RULES)

SERVER_RESULTS: tuple[str, ...] = (
    "web_search",
    "web_fetch",
    "code_execution",
    "bash_code_execution",
    "advisor",
)
SERVER_RESULTS += ("text_editor_code_execution", "tool_search", "mcp")
ASKS = {"server_tool_use", "mcp_tool_use"}
TAGS: tuple[str, ...] = (
    "bash_code_execution_tool_result",
    "code_execution_tool_result",
    "compaction",
    "container_upload",
)
TAGS += ("document", "image", "mcp_tool_result", "mcp_tool_use", "redacted_thinking", "search_result")
TAGS += ("server_tool_use", "text", "text_editor_code_execution_tool_result", "thinking", "tool_result")
TAGS += ("tool_search_tool_result", "tool_use", "web_fetch_tool_result", "web_search_tool_result")
TAGS += ("advisor_tool_result", "tool_addition", "tool_removal", "mcp_tool_listing", "fallback")
FIELDS = {"text": ("text",), "tool_use": ("id", "name", "input"), "tool_result": ("tool_use_id",)}
FIELDS |= {"thinking": ("thinking", "signature"), "redacted_thinking": ("data",), "image": ("source",)}
WITH_SYSTEM = re.compile(r"(opus-4-[89]|(opus|sonnet|haiku|fable|mythos)-([5-9]|\d\d)(?!\d))")
WITHOUT_PREFILL = re.compile(
    r"((opus|sonnet|haiku)-4-[6-9]|(opus|sonnet|haiku|fable|mythos)-([5-9]|\d\d)(?!\d))"
)
ID = "^[a-zA-Z0-9_-]+$"
NAME = "^[a-zA-Z0-9_-]{1,128}$"


@rule
def model_is_given(body: Wire, terms: Terms) -> Rejection | None:
    """A request names its model."""
    return None if terms.model else Rejection("model: Field required")


@rule
def ceiling_is_given(body: Wire, terms: Terms) -> Rejection | None:
    """`max_tokens` is required and at least 1."""
    ceiling = body.get("max_tokens")
    if not isinstance(ceiling, int):
        return Rejection("max_tokens: Field required")
    return None if ceiling >= 1 else Rejection("max_tokens: must be greater than or equal to 1")


@rule
def messages_are_given(body: Wire, terms: Terms) -> Rejection | None:
    """A request has an array of at least one message."""
    messages = body.get("messages")
    if messages is None:
        return Rejection("messages: Field required")
    if not isinstance(messages, list):
        return Rejection("messages: Input should be a valid list")
    return None if messages else Rejection("messages: at least one message is required")


@rule
def messages_are_objects(body: Wire, terms: Terms) -> Rejection | None:
    """A message is an object with nothing but a role and content."""
    for at, message in enumerate(body["messages"]):
        if not isinstance(message, dict):
            return Rejection(f"messages.{at}: Input should be a valid dictionary")
        extra = next((key for key in message if key not in ("role", "content")), None)
        if extra is not None:
            return Rejection(f"messages.{at}.{extra}: Extra inputs are not permitted")
    return None


@rule
def roles_are_known(body: Wire, terms: Terms) -> Rejection | None:
    """A message's role is user, assistant or, where the model knows it, system."""
    for at, message in enumerated(body["messages"]):
        if message.get("role") not in ("user", "assistant", "system"):
            return Rejection(f"messages.{at}.role: Input should be 'user' or 'assistant'")
    return None


@rule
def content_is_text_or_blocks(body: Wire, terms: Terms) -> Rejection | None:
    """Content is a string or an array of blocks, each with its type."""
    for at, message in enumerated(body["messages"]):
        content = message.get("content")
        if isinstance(content, str):
            continue
        if not isinstance(content, list):
            return Rejection(f"messages.{at}.content: Input should be a valid list")
        wrong = next((n for n, block in enumerate(content) if not _is_block(block)), None)
        if wrong is not None:
            return Rejection(f"messages.{at}.content.{wrong}: Input should be a valid dictionary")
    return None


@rule
def block_types_are_known(body: Wire, terms: Terms) -> Rejection | None:
    """A block is of a known type."""
    for place, _message, block in each_block(body):
        if block["type"] not in TAGS:
            text = (
                f"{place}: Input tag '{block['type']}' found using 'type' does not match any of the expected "
                "tags: " + ", ".join(f"'{tag}'" for tag in TAGS)
            )
            return Rejection(text)
    return None


@rule
def blocks_are_complete(body: Wire, terms: Terms) -> Rejection | None:
    """A block has the fields of its type, and those that are text are strings."""
    for place, _message, block in each_block(body):
        for name in FIELDS.get(block["type"], ()):
            if block.get(name) is None:
                return Rejection(f"{place}.{block['type']}.{name}: Field required")
            if name not in ("input", "source") and not isinstance(block[name], str):
                return Rejection(f"{place}.{block['type']}.{name}: Input should be a valid string")
    return None


@rule
def inputs_are_objects(body: Wire, terms: Terms) -> Rejection | None:
    """The input of a call is an object, not JSON in a string."""
    for place, _message, block in each_block(body, "tool_use"):
        if not isinstance(block["input"], dict):
            return Rejection(f"{place}.tool_use.input: Input should be a valid dictionary")
    return None


@rule
def users_come_first(body: Wire, terms: Terms) -> Rejection | None:
    """The first message is the user's."""
    if body["messages"][0]["role"] == "assistant":
        return Rejection('messages: first message must use the "user" role')
    return None


@rule
def system_role_is_supported(body: Wire, terms: Terms) -> Rejection | None:
    """Only newer models take system messages among the others."""
    if WITH_SYSTEM.search(terms.model) or not any(m["role"] == "system" for m in body["messages"]):
        return None
    text = (
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
        'not "system" as an input message role.'
    )
    return Rejection(text)


@rule
def system_messages_are_in_place(body: Wire, terms: Terms) -> Rejection | None:
    """A system message follows the user or a server tool's use, and the assistant or nothing follows it."""
    messages = objects(body["messages"])
    for at, message in enumerate(messages):
        if message["role"] != "system":
            continue
        if at == 0 or not _may_precede_system(messages[at - 1]):
            return Rejection(f"messages.{at}: a `system` message must immediately follow a `user` message")
        if at + 1 < len(messages) and messages[at + 1]["role"] != "assistant":
            text = f"messages.{at}: a `system` message must be last or be followed by an `assistant` message"
            return Rejection(text)
    return None


@rule
def content_is_not_empty(body: Wire, terms: Terms) -> Rejection | None:
    """Every message but a final assistant message has content."""
    last = len(body["messages"]) - 1
    for at, message in enumerated(body["messages"]):
        if not message["content"] and not (at == last and message["role"] == "assistant"):
            text = "all messages must have non-empty content except for the optional final assistant message"
            return Rejection(f"messages.{at}: {text}")
    return None


@rule
def marked_texts_are_not_empty(body: Wire, terms: Terms) -> Rejection | None:
    """`cache_control` stands on no empty text."""
    for place, block in _prompt(body):
        if block.get("type") == "text" and block.get("cache_control") and not block.get("text"):
            return Rejection(f"{place}.text: cache_control cannot be set for empty text blocks")
    return None


@rule
def texts_are_not_empty(body: Wire, terms: Terms) -> Rejection | None:
    """No text block is empty."""
    for place, block in _prompt(body):
        if block.get("type") == "text" and not block.get("text"):
            return Rejection(f"{place.split('.')[0]}: text content blocks must be non-empty")
    return None


@rule
def texts_are_not_blank(body: Wire, terms: Terms) -> Rejection | None:
    """A message with text has some that is not whitespace."""
    for message in objects(body["messages"]):
        texts = [block["text"] for block in blocks(message) if block["type"] == "text"]
        if texts and not any(text.strip() for text in texts):
            return Rejection("messages: text content blocks must contain non-whitespace text")
    return None


@rule
def prefill_ends_in_ink(body: Wire, terms: Terms) -> Rejection | None:
    """A final assistant message does not end in whitespace."""
    last = objects(body["messages"])[-1]
    tail = (blocks(last) or [{}])[-1]
    if last["role"] == "assistant" and str(tail.get("text", "")) != str(tail.get("text", "")).rstrip():
        return Rejection("messages: final assistant content cannot end with trailing whitespace")
    return None


@rule
def prefill_is_supported(body: Wire, terms: Terms) -> Rejection | None:
    """Newer models do not continue an assistant message."""
    if body["messages"][-1]["role"] != "assistant" or not WITHOUT_PREFILL.search(terms.model):
        return None
    text = "This model does not support assistant message prefill. "
    return Rejection(text + "The conversation must end with a user message.")


@rule
def calls_come_from_assistants(body: Wire, terms: Terms) -> Rejection | None:
    """Calls and thinking stand in assistant messages only."""
    for place, message, block in each_block(
        body, "tool_use", "thinking", "redacted_thinking", "server_tool_use"
    ):
        if message["role"] != "assistant":
            spot = place.split(".content")[0]
            return Rejection(f"{spot}: `{block['type']}` blocks can only be in `assistant` messages")
    return None


@rule
def results_come_from_users(body: Wire, terms: Terms) -> Rejection | None:
    """Results stand in user messages only."""
    for place, message, _block in each_block(body, "tool_result"):
        if message["role"] != "user":
            return Rejection(
                f"{place.split('.content')[0]}: `tool_result` blocks can only be in `user` messages"
            )
    return None


@rule
def call_ids_are_plain(body: Wire, terms: Terms) -> Rejection | None:
    """A call's id is made of letters, digits, underscores and dashes."""
    for place, _message, block in each_block(body, "tool_use"):
        if not re.match(ID, block["id"]):
            return Rejection(f"{place}.tool_use.id: String should match pattern '{ID}'")
    return None


@rule
def call_ids_are_unique(body: Wire, terms: Terms) -> Rejection | None:
    """No two calls of a conversation have the same id."""
    seen: set[str] = set()
    for place, _message, block in each_block(body, "tool_use"):
        if block["id"] in seen:
            return Rejection(f"{place}: `tool_use` ids must be unique")
        seen.add(block["id"])
    return None


@rule
def results_have_calls(body: Wire, terms: Terms) -> Rejection | None:
    """A result's call is in the assistant message right before it."""
    for _start, place, block, called in _results(body):
        if block["tool_use_id"] not in called:
            text = (
                f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {block['tool_use_id']}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
            return Rejection(text)
    return None


@rule
def calls_have_one_result(body: Wire, terms: Terms) -> Rejection | None:
    """No call has two results."""
    seen: set[tuple[int, str]] = set()
    for start, place, block, _called in _results(body):
        if (start, block["tool_use_id"]) in seen:
            text = "each tool_use must have a single result. Found multiple `tool_result` blocks with id"
            return Rejection(f"{place}: {text}: {block['tool_use_id']}")
        seen.add((start, block["tool_use_id"]))
    return None


@rule
def calls_have_results(body: Wire, terms: Terms) -> Rejection | None:
    """The user message right behind the calls begins with the results of all of them."""
    joined = turns(body)
    for (at, message), after in zip(joined, [*joined[1:], (0, {})], strict=True):
        ids = [block["id"] for block in blocks(message) if block["type"] == "tool_use"]
        answered = _leading_results(after[1])
        missing = [each for each in ids if each not in answered]
        if missing:
            text = (
                f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block "
                "in the next message."
            )
            return Rejection(text)
    return None


@rule
def server_results_have_uses(body: Wire, terms: Terms) -> Rejection | None:
    """The result of a server's tool comes after its use."""
    used: set[str] = set()
    for place, _message, block in each_block(body):
        used |= {str(block.get("id"))} if block["type"] in ASKS else set()
        if _is_server_result(block) and block.get("tool_use_id") not in used:
            text = (
                f"{place}: unexpected `tool_use_id` found in `{block['type']}` blocks: "
                f"{block.get('tool_use_id')}. Each `{block['type']}` block must have a corresponding "
                "`server_tool_use` block before it."
            )
            return Rejection(text)
    return None


@rule
def server_uses_have_results(body: Wire, terms: Terms) -> Rejection | None:
    """The use of a server's tool has its result in the same turn, unless the turn is still running."""
    joined = turns(body)
    for at, message in joined[:-1]:
        given = {block.get("tool_use_id") for block in blocks(message) if _is_server_result(block)}
        for block in blocks(message):
            if block["type"] in ASKS and block.get("id") not in given:
                name = block.get("name", "server tool")
                text = f"`{name}` tool use with id `{block.get('id')}` was found without a corresponding"
                return Rejection(f"messages.{at}: {text} result block")
    return None


RULES.extend(thinking.RULES)


@rule
def images_are_few(body: Wire, terms: Terms) -> Rejection | None:
    """A request has at most 100 images, those in results included."""
    found = sum(1 for _place, _image in _images(body))
    if found <= terms.limits.images:
        return None
    return Rejection(f"Too much media: 0 document pages + {found} images > {terms.limits.images}")


@rule
def images_are_small(body: Wire, terms: Terms) -> Rejection | None:
    """An image in base64 has at most five mebibytes."""
    for place, image in _images(body):
        source = image.get("source")
        size = len(str(source.get("data", ""))) if isinstance(source, dict) else 0
        if size > terms.limits.image_bytes:
            most = terms.limits.image_bytes
            text = f"image exceeds {most // 1024 // 1024} MB maximum: {size} bytes > {most} bytes"
            return Rejection(f"{place}.image.source.base64: {text}")
    return None


@rule
def marks_are_few(body: Wire, terms: Terms) -> Rejection | None:
    """At most four blocks carry `cache_control`."""
    found = sum(1 for _place, block in _prompt(body) if block.get("cache_control"))
    if found <= terms.limits.marks:
        return None
    return Rejection(
        f"A maximum of {terms.limits.marks} blocks with cache_control may be provided. Found {found}."
    )


@rule
def long_marks_come_first(body: Wire, terms: Terms) -> Rejection | None:
    """A mark for an hour does not stand behind one for five minutes."""
    short = False
    for place, block in _prompt(body):
        control = block.get("cache_control")
        if not isinstance(control, dict):
            continue
        if short and control.get("ttl") == "1h":
            text = (
                f"{place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. Note that blocks are processed in the following order: "
                "`tools`, `system`, `messages`."
            )
            return Rejection(text)
        short = control.get("ttl") != "1h"
    return None


@rule
def tools_have_names(body: Wire, terms: Terms) -> Rejection | None:
    """A tool has a name of letters, digits, underscores and dashes."""
    for at, tool in enumerated(body.get("tools")):
        if tool.get("type") != "mcp_toolset" and not re.match(NAME, str(tool.get("name", ""))):
            return Rejection(f"tools.{at}.custom.name: String should match pattern '{NAME}'")
    return None


@rule
def tool_names_are_unique(body: Wire, terms: Terms) -> Rejection | None:
    """No two tools have the same name."""
    names = [tool.get("name") for tool in objects(body.get("tools")) if tool.get("name")]
    return Rejection("tools: Tool names must be unique.") if len(names) != len(set(names)) else None


@rule
def choice_needs_tools(body: Wire, terms: Terms) -> Rejection | None:
    """`tool_choice` comes with tools to choose from."""
    if body.get("tool_choice") is None or body.get("tools"):
        return None
    return Rejection("tool_choice: tool_choice may only be specified while providing tools.")


def _is_block(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(block.get("type"), str)


def _is_server_result(block: Wire) -> bool:
    return str(block["type"]) in {f"{name}_tool_result" for name in SERVER_RESULTS}


def _may_precede_system(message: Wire) -> bool:
    tail = (blocks(message) or [{}])[-1]
    served = message["role"] == "assistant" and str(tail.get("type", "")) in ASKS
    return message["role"] == "user" or served


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


def _images(body: Wire) -> Iterator[tuple[str, Wire]]:
    for place, _message, block in each_block(body):
        if block["type"] == "image":
            yield place, block
        for nth, inner in enumerated(block.get("content")):
            if inner.get("type") == "image":
                yield f"{place}.tool_result.content.{nth}", inner


def _prompt(body: Wire) -> Iterator[tuple[str, Wire]]:
    """Every block that may carry a mark, in the order the provider reads them."""
    for at, tool in enumerated(body.get("tools")):
        yield f"tools.{at}", tool
    for at, block in enumerated(body.get("system")):
        yield f"system.{at}", block
    for place, _message, block in each_block(body):
        yield place, block
        for nth, inner in enumerated(block.get("content")):
            yield f"{place}.tool_result.content.{nth}", inner
