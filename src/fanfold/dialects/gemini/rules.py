"""The rules of Gemini's generateContent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fanfold.core.message import Call, Message, Result
from fanfold.core.view import Violation
from fanfold.dialects.gemini.names import DIALECT, spelled
from fanfold.dialects.gemini.read import listed
from fanfold.dialects.gemini.sign import unsigned
from fanfold.dialects.gemini.turns import Turn
from fanfold.dialects.gemini.wellformed import has_data, is_call, is_response
from fanfold.dialects.rules import MessageRule, calls_by_assistant, distinct, results_by_tools

TurnRule = Callable[[Sequence[Turn]], Iterator[Violation]]


def some_parts(message: Message) -> str | None:
    """A content has at least one part."""
    body = _body(message)
    return "there are no parts" if isinstance(body, dict) and not listed(body) else None


def parts_have_data(message: Message) -> str | None:
    """A part carries exactly one thing; a text is empty only beside a thought signature."""
    bad = next((i for i, part in enumerate(_parts(message)) if not has_data(part)), None)
    return None if bad is None else f"parts[{bad}] carries nothing, or more than one thing"


def calls_well_formed(message: Message) -> str | None:
    """A call names its function and has an object of arguments."""
    bad = next((call for call in _fields(message, "functionCall") if not is_call(call)), None)
    return None if bad is None else f"a call without a good name or an object of arguments: {str(bad)[:80]}"


def responses_well_formed(message: Message) -> str | None:
    """A response names its function and is an object."""
    bad = next((given for given in _fields(message, "functionResponse") if not is_response(given)), None)
    return None if bad is None else f"a response without a good name or an object: {str(bad)[:80]}"


def responses_alone(message: Message) -> str | None:
    """A content with responses holds nothing else."""
    results = sum(isinstance(part, Result) for part in message.parts)
    mixed = _body(message) is not None and 0 < results < len(message.parts)
    return "responses mixed with something else" if mixed else None


def whole(message: Message) -> str | None:
    """A content has a list of parts; the SDK puts bare texts and parts among whole contents in another order."""
    body = _body(message)
    if isinstance(body, str):
        return "a bare text"
    return "parts is no list" if isinstance(body, dict) and not isinstance(body.get("parts"), list) else None


def signed(message: Message) -> str | None:
    """From Gemini 3 on, the first call of each step of the current turn carries its thought signature."""
    if message.role != "assistant" or not any(isinstance(part, Call) for part in message.parts):
        return None
    body = _body(message)
    return "an unsigned call" if body is None or unsigned(body) is not None else None


def some_content(turns: Sequence[Turn]) -> Iterator[Violation]:
    """There is at least one content."""
    if not turns:
        yield Violation("some_content", "contents", "there is no content at all")


def user_first(turns: Sequence[Turn]) -> Iterator[Violation]:
    """The first content is the user's."""
    if turns and turns[0].speaker == "model":
        yield Violation("user_first", "contents[0]", "the model speaks first")


def user_last(turns: Sequence[Turn]) -> Iterator[Violation]:
    """The last content is the user's, or responses."""
    if turns and turns[-1].speaker == "model":
        yield Violation("user_last", f"contents[{len(turns) - 1}]", "the model speaks last")


def calls_after_user(turns: Sequence[Turn]) -> Iterator[Violation]:
    """A content with calls comes right after a user's content or after responses."""
    before: Turn | None = None
    for i, turn in enumerate(turns):
        if turn.calls and before is not None and before.speaker == "model":
            yield Violation("calls_after_user", f"contents[{i}]", "a call right after the model spoke")
        before = turn


def answered(turns: Sequence[Turn]) -> Iterator[Violation]:
    """A content with calls is followed at once by one content with the responses to exactly these calls."""
    open: tuple[str, ...] = ()
    for i, turn in enumerate(turns):
        if open != turn.results and sorted(open) != sorted(turn.results):
            yield Violation("answered", f"contents[{i}]", _mismatch(open, turn.results))
        open = turn.calls
    if open:
        yield Violation("answered", "the end", f"calls without a response: {', '.join(open)}")


def _mismatch(calls: tuple[str, ...], results: tuple[str, ...]) -> str:
    return f"calls before it: {', '.join(calls) or 'none'}; responses in it: {', '.join(results) or 'none'}"


MESSAGE: tuple[MessageRule, ...] = (
    some_parts,
    parts_have_data,
    calls_well_formed,
    responses_well_formed,
    responses_alone,
    distinct,
    calls_by_assistant,
    results_by_tools,
    whole,
)
NEWER: tuple[MessageRule, ...] = (*MESSAGE, signed)
ORDER: tuple[TurnRule, ...] = (some_content, user_first, user_last, calls_after_user, answered)


def is_plain(message: Message) -> bool:
    """Whether a glance shows words, calls of the model or responses: no rule but `signed` can be broken then.

    Nearly all contents are so, and none of the rules needs to look at them.
    """
    body = _body(message)
    parts = body.get("parts") if isinstance(body, dict) else None
    if not isinstance(parts, list) or not parts:
        return False
    if message.role == "tool":
        return all(map(_is_answer, parts))
    plain = all(map(_is_said if message.role == "assistant" else _is_words, parts))
    return plain and distinct(message) is None


def _is_answer(part: Any) -> bool:
    return isinstance(part, dict) and len(part) == 1 and is_response(part.get("functionResponse"))


def _is_words(part: Any) -> bool:
    if not isinstance(part, dict) or not part.keys() <= _WORDS:
        return False
    text = part.get("text")
    return isinstance(text, str) and text != ""


def _is_said(part: Any) -> bool:
    return _is_words(part) or (
        isinstance(part, dict) and part.keys() <= _CALL and is_call(part.get("functionCall"))
    )


_WORDS = frozenset({"text", "thought", "thoughtSignature"})
_CALL = frozenset({"functionCall", "thoughtSignature"})


def _body(message: Message) -> Any:
    return message.wire.body if message.wire is not None and message.came_over(DIALECT) else None


def _parts(message: Message) -> list[Any]:
    body = _body(message)
    return listed(body) if isinstance(body, dict) else [{"text": body}] if isinstance(body, str) else []


def _fields(message: Message, name: str) -> Iterator[Any]:
    for part in _parts(message):
        value = spelled(part, name) if isinstance(part, dict) else None
        if value is not None:
            yield value
