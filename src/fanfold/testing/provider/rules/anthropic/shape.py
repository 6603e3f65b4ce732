"""Anthropic's rules on messages and their content."""

import re

from fanfold.testing.provider.rejection import JudgeTerms, Refusals, Rejection, Rule, collector
from fanfold.testing.provider.rules.anthropic.conversation import (
    ASKS,
    SERVER_TOOLS,
    blocks,
    each_block,
    is_prefilled,
    prompt,
)
from fanfold.testing.provider.wire import Wire, objects, with_places

RULES: list[Rule] = []
rule = collector(RULES)

TAGS = {
    "text",
    "image",
    "document",
    "search_result",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "tool_result",
}
TAGS |= {"server_tool_use", "mcp_tool_use", "mcp_tool_listing", "container_upload", "compaction", "fallback"}
TAGS |= {"tool_addition", "tool_removal"}
TAGS |= {f"{name}_tool_result" for name in SERVER_TOOLS}
FIELDS = {"text": ("text",), "tool_use": ("id", "name", "input"), "tool_result": ("tool_use_id",)}
FIELDS |= {"thinking": ("thinking", "signature"), "redacted_thinking": ("data",), "image": ("source",)}
FIELDS |= {"document": ("source",)}
WITH_SYSTEM = re.compile(r"(opus-4-[89]|(opus|sonnet|haiku|fable|mythos)-([5-9]|\d\d)(?!\d))")
WITHOUT_PREFILL = re.compile(WITH_SYSTEM.pattern + r"|(opus|sonnet|haiku)-4-[6-9]")


@rule
def model_is_given(body: Wire, terms: JudgeTerms) -> Refusals:
    """A request names its model."""
    if not terms.model:
        yield Rejection("model: Field required")


@rule
def ceiling_is_given(body: Wire, terms: JudgeTerms) -> Refusals:
    """`max_tokens` is required and at least 1."""
    ceiling = body.get("max_tokens")
    if not isinstance(ceiling, int):
        yield Rejection("max_tokens: Field required")
    elif ceiling < 1:
        yield Rejection("max_tokens: must be greater than or equal to 1")


@rule
def messages_are_given(body: Wire, terms: JudgeTerms) -> Refusals:
    """A request has an array of at least one message."""
    messages = body.get("messages")
    if messages is None:
        yield Rejection("messages: Field required")
    elif not isinstance(messages, list):
        yield Rejection("messages: Input should be a valid list")
    elif not messages:
        yield Rejection("messages: at least one message is required")


@rule
def messages_are_objects(body: Wire, terms: JudgeTerms) -> Refusals:
    """A message is an object with nothing but a role and content; one of the system may set the effort, too."""
    for at, message in enumerate(body["messages"]):
        if not isinstance(message, dict):
            yield Rejection(f"messages.{at}: Input should be a valid dictionary")
        known = ("role", "content", *(("output_config",) if message.get("role") == "system" else ()))
        extra = next((key for key in message if key not in known), None)
        if extra is not None:
            yield Rejection(f"messages.{at}.{extra}: Extra inputs are not permitted")


@rule
def roles_are_known(body: Wire, terms: JudgeTerms) -> Refusals:
    """A message's role is user, assistant or, where the model knows it, system."""
    for at, message in with_places(body["messages"]):
        if message.get("role") not in ("user", "assistant", "system"):
            yield Rejection(f"messages.{at}.role: Input should be 'user' or 'assistant'")


@rule
def content_is_text_or_blocks(body: Wire, terms: JudgeTerms) -> Refusals:
    """Content is a string or an array of blocks, each with its type."""
    for at, message in with_places(body["messages"]):
        content = message.get("content")
        if not isinstance(content, str | list):
            yield Rejection(f"messages.{at}.content: Input should be a valid list")
        for nth, block in enumerate(content if isinstance(content, list) else ()):
            if not isinstance(block, dict) or not isinstance(block.get("type"), str):
                yield Rejection(f"messages.{at}.content.{nth}: Input should be a valid dictionary")


@rule
def block_types_are_known(body: Wire, terms: JudgeTerms) -> Refusals:
    """A block is of a known type."""
    for place, _message, block in each_block(body):
        if block["type"] not in TAGS:
            yield Rejection(
                f"{place}: Input tag '{block['type']}' found using 'type' does not match any of the expected "
                "tags: " + ", ".join(f"'{tag}'" for tag in sorted(TAGS))
            )


@rule
def blocks_are_complete(body: Wire, terms: JudgeTerms) -> Refusals:
    """A block has the fields of its type, and those that are text are strings."""
    for place, _message, block in each_block(body):
        for name in FIELDS.get(block["type"], ()):
            if block.get(name) is None:
                yield Rejection(f"{place}.{block['type']}.{name}: Field required")
            if name not in ("input", "source") and not isinstance(block[name], str):
                yield Rejection(f"{place}.{block['type']}.{name}: Input should be a valid string")


@rule
def inputs_are_objects(body: Wire, terms: JudgeTerms) -> Refusals:
    """The input of a call is an object, not JSON in a string."""
    for place, _message, block in each_block(body, "tool_use"):
        if not isinstance(block["input"], dict):
            yield Rejection(f"{place}.tool_use.input: Input should be a valid dictionary")


@rule
def users_come_first(body: Wire, terms: JudgeTerms) -> Refusals:
    """The first message is the user's, or begins with a compaction of all that came before."""
    first = objects(body["messages"])[0]
    compacted = [block["type"] for block in blocks(first)[:1]] == ["compaction"]
    if first["role"] == "assistant" and not compacted:
        yield Rejection('messages: first message must use the "user" role')


@rule
def system_role_is_supported(body: Wire, terms: JudgeTerms) -> Refusals:
    """Only newer models take system messages among the others."""
    if WITH_SYSTEM.search(terms.model) or not any(m["role"] == "system" for m in body["messages"]):
        return
    yield Rejection(
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
        'not "system" as an input message role.'
    )


@rule
def system_messages_are_in_place(body: Wire, terms: JudgeTerms) -> Refusals:
    """A system message follows the user or a server tool's use, and the assistant or nothing follows it."""
    messages = objects(body["messages"])
    for at, message in enumerate(messages):
        if message["role"] != "system":
            continue
        if at == 0 or not _may_precede_system(messages[at - 1]):
            yield Rejection(f"messages.{at}: a `system` message must immediately follow a `user` message")
        if at + 1 < len(messages) and messages[at + 1]["role"] != "assistant":
            text = f"messages.{at}: a `system` message must be last or be followed by an `assistant` message"
            yield Rejection(text)


@rule
def content_is_not_empty(body: Wire, terms: JudgeTerms) -> Refusals:
    """Every message but a final assistant message has content, or sets something."""
    last = len(body["messages"]) - 1
    for at, message in with_places(body["messages"]):
        if (
            not message["content"]
            and "output_config" not in message
            and not (at == last and message["role"] == "assistant")
        ):
            text = "all messages must have non-empty content except for the optional final assistant message"
            yield Rejection(f"messages.{at}: {text}")


@rule
def marked_texts_are_not_empty(body: Wire, terms: JudgeTerms) -> Refusals:
    """`cache_control` stands on no empty text."""
    for place, block in prompt(body):
        if block.get("type") == "text" and block.get("cache_control") and not block.get("text"):
            yield Rejection(f"{place}.text: cache_control cannot be set for empty text blocks")


@rule
def texts_are_not_empty(body: Wire, terms: JudgeTerms) -> Refusals:
    """No text block is empty."""
    for place, block in prompt(body):
        if block.get("type") == "text" and not block.get("text"):
            yield Rejection(f"{place.split('.')[0]}: text content blocks must be non-empty")


@rule
def texts_are_not_blank(body: Wire, terms: JudgeTerms) -> Refusals:
    """A message with text has some that is not whitespace."""
    for message in objects(body["messages"]):
        texts = [block["text"] for block in blocks(message) if block["type"] == "text"]
        if texts and not any(text.strip() for text in texts):
            yield Rejection("messages: text content blocks must contain non-whitespace text")


@rule
def prefill_ends_in_ink(body: Wire, terms: JudgeTerms) -> Refusals:
    """A final assistant message does not end in whitespace."""
    last = objects(body["messages"])[-1]
    tail = (blocks(last) or [{}])[-1]
    if last["role"] == "assistant" and str(tail.get("text", "")) != str(tail.get("text", "")).rstrip():
        yield Rejection("messages: final assistant content cannot end with trailing whitespace")


@rule
def prefill_is_supported(body: Wire, terms: JudgeTerms) -> Refusals:
    """Newer models do not continue an assistant message."""
    if is_prefilled(body) and WITHOUT_PREFILL.search(terms.model):
        text = "This model does not support assistant message prefill. "
        yield Rejection(text + "The conversation must end with a user message.")


def _may_precede_system(message: Wire) -> bool:
    tail = (blocks(message) or [{}])[-1]
    served = message["role"] == "assistant" and str(tail.get("type", "")) in ASKS
    return message["role"] == "user" or served
