"""Each provider's rules, as small named checks of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fanfold.codecs.codec import Violation
from fanfold.message import Call, Image, Message, Result

Rule = Callable[[Sequence[Message]], Iterator[Violation]]


def answered(messages: Sequence[Message]) -> Iterator[Violation]:
    """Every call is answered, once, right after the message that made it, before anything else is said."""
    open: dict[str, str] = {}
    for i, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, Result):
                if open.pop(part.call, None) is None:
                    yield _broken("answered", i, f"a result for {part.call!r}, which no call before it asked for")
        if open and not message.results:
            yield _broken("answered", i, f"calls without a result before it: {', '.join(open)}")
            open = {}
        if message.role == "assistant":
            open.update((part.id, part.name) for part in message.parts if isinstance(part, Call))
    if open:
        yield _broken("answered", len(messages) - 1, f"calls without a result at the end: {', '.join(open)}")


def distinct(messages: Sequence[Message]) -> Iterator[Violation]:
    """The calls of one message have different ids."""
    for i, message in enumerate(messages):
        ids = [part.id for part in message.parts if isinstance(part, Call)]
        if len(ids) > 1 and len(set(ids)) < len(ids):
            yield _broken("distinct", i, "two calls with the same id")


def calls_by_assistant(messages: Sequence[Message]) -> Iterator[Violation]:
    """Only the assistant calls tools, and results are not mixed with other content."""
    for i, message in enumerate(messages):
        if message.role != "assistant" and message.calls:
            yield _broken("calls_by_assistant", i, f"a call in a {message.role} message")
        if message.role == "assistant" and message.results:
            yield _broken("calls_by_assistant", i, "a result in an assistant message")


def says_something(messages: Sequence[Message]) -> Iterator[Violation]:
    """An assistant message has content or calls, and there is at least one message."""
    if not messages:
        yield Violation("says_something", "messages", "there is no message at all")
    for i, message in enumerate(messages):
        if message.role == "assistant" and not message.parts and silent(message):
            yield _broken("says_something", i, "an assistant message with neither content nor calls")


def pictures_by_user(messages: Sequence[Message]) -> Iterator[Violation]:
    """Pictures stand in user messages only."""
    for i, message in enumerate(messages):
        if message.role != "user" and any(_has_image(part) for part in message.parts):
            yield _broken("pictures_by_user", i, f"a picture in a {message.role} message")


CHAT: tuple[Rule, ...] = (answered, distinct, calls_by_assistant, says_something, pictures_by_user)


def silent(message: Message) -> bool:
    """Whether an assistant message came over the wire with neither content nor calls."""
    if message.wire is None:
        return False
    body = message.wire.body
    return not any(body.get(key) for key in ("tool_calls", "function_call", "refusal", "audio")) and not isinstance(
        body.get("content"), str
    )


def _has_image(part: object) -> bool:
    if isinstance(part, Result):
        return any(isinstance(inner, Image) for inner in part.parts)
    return isinstance(part, Image)


def _broken(rule: str, at: int, text: str) -> Violation:
    return Violation(rule, f"messages[{at}]", text)
