"""Anthropic's rules on one message, checked once when it is weighed."""

from __future__ import annotations

from fanfold.core.message import Message, Opaque, Part, Result, Text, Thinking
from fanfold.dialects.anthropic.read import DIALECT, READ, kind, own, served
from fanfold.dialects.dialect import is_sent
from fanfold.dialects.rules import MessageRule, calls_by_assistant, results_by_tools

LONGEST_NAME = 200
"""How long a name that the model called may be; the name of a tool may not be that long."""
_ELSEWHERE = frozenset({"image_url", "input_text", "input_image", "output_text", "function_call", "file"})
"""Types of blocks that other providers know, and Anthropic does not."""


def assistants_own(message: Message) -> str | None:
    """Only the assistant thinks and uses the server's tools."""
    if message.role == "assistant" or not any(map(_by_assistant, message.parts)):
        return None
    return f"thinking or a server's tool in a {message.role} message" if own(message) else None


def _by_assistant(part: Part) -> bool:
    return isinstance(part, Thinking) or (isinstance(part, Opaque) and served(part.body)[1] is not None)


def results_first(message: Message) -> str | None:
    """In a message, results come before everything else."""
    answers = [isinstance(part, Result) for part in message.parts if own(message) or is_sent(part)]
    return "a result behind other content" if answers != sorted(answers, reverse=True) else None


def no_blank_text(message: Message) -> str | None:
    """No text is empty, and where there is text, some of it is more than whitespace."""
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    if not texts or ("" not in texts and any(map(str.strip, texts))):
        return None
    return "a text of nothing but whitespace"


def no_empty_text_in_result(message: Message) -> str | None:
    """No text block within a result is empty."""
    empty = own(message) and any(Text("") in result.parts for result in message.results)
    return "an empty text in a result" if empty else None


def whole_blocks(message: Message) -> str | None:
    """Every block is an object with a type that Anthropic knows and the fields of that type."""
    odd = [part.body for part in message.parts if isinstance(part, Opaque) and malformed(part)]
    return f"a malformed block ({kind(odd[0]) or type(odd[0]).__name__})" if odd else None


def malformed(part: Opaque) -> bool:
    """Whether this is a broken block, not one that fanfold does not know."""
    if part.dialect != DIALECT:
        return False
    name = kind(part.body)
    if name in ("image", "document"):
        return not isinstance(part.body.get("source"), dict)
    return not name or name in READ or name in _ELSEWHERE


def content_given(message: Message) -> str | None:
    """Content is a text or a list of blocks."""
    if not own(message) or message.wire is None:
        return None
    content = message.wire.body.get("content")
    return None if isinstance(content, str | list) else f"content is {type(content).__name__}"


def object_inputs(message: Message) -> str | None:
    """The input of a call is an object."""
    odd = own(message) and any(not call.raw.startswith("{") for call in message.calls)
    return "the input of a call is no object" if odd else None


def named_calls(message: Message) -> str | None:
    """A call has a name, of at most 200 characters."""
    odd = own(message) and any(not 0 < len(call.name) <= LONGEST_NAME for call in message.calls)
    return "a call without a name, or with too long a one" if odd else None


def signed(message: Message) -> str | None:
    """Thinking comes back with the signature that its provider gave."""
    bare = own(message) and any(isinstance(part, Thinking) and not part.signature for part in message.parts)
    return "thinking without a signature" if bare else None


def says_something(message: Message) -> str | None:
    """A message has content, a final assistant message excepted."""
    return "no content" if own(message) and not message.parts else None


def thinking_goes_on(message: Message) -> str | None:
    """The assistant's turn does not end with thinking."""
    last = message.parts[-1] if message.parts and own(message) else None
    return "nothing behind the thinking" if isinstance(last, Thinking) else None


def server_pairs(message: Message) -> str | None:
    """What a server's tool was asked and what it gave come in pairs."""
    pairs = [served(part.body) for part in message.parts if isinstance(part, Opaque)]
    asked = {id for id, asks in pairs if asks}
    given = {id for id, asks in pairs if asks is False}
    return "a server tool's use or result without the other" if asked != given else None


MESSAGE: tuple[MessageRule, ...] = (
    calls_by_assistant,
    results_by_tools,
    assistants_own,
    results_first,
    no_blank_text,
    no_empty_text_in_result,
    whole_blocks,
    content_given,
    object_inputs,
    named_calls,
    signed,
    says_something,
    thinking_goes_on,
    server_pairs,
)
