"""The rules of OpenAI's Chat Completions."""

import re
from collections.abc import Iterator
from typing import Any

from fanfold.testing.provider.rejection import Rejection, Rule, Terms, collector
from fanfold.testing.provider.wire import Wire, enumerated, objects

from . import openai

RULES: list[Rule] = []
rule = collector(RULES)

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
PARTS = {"user": ("text", "image_url", "input_audio", "file"), "assistant": ("text", "refusal")}
NAME = "^[a-zA-Z0-9_-]{1,64}$"
REASONING = re.compile(r"^(o\d|gpt-([5-9]|\d\d))")


@rule
def model_is_given(body: Wire, terms: Terms) -> Rejection | None:
    """A request names its model."""
    return None if terms.model else Rejection("you must provide a model parameter")


@rule
def messages_are_given(body: Wire, terms: Terms) -> Rejection | None:
    """A request has an array of at least one message."""
    messages = body.get("messages")
    if messages is None:
        return openai.missing("messages")
    if not isinstance(messages, list):
        return openai.mistyped("messages", "an array of objects", messages)
    return None if messages else openai.empty("messages")


@rule
def messages_are_objects(body: Wire, terms: Terms) -> Rejection | None:
    """Every message is an object."""
    for at, message in enumerate(body["messages"]):
        if not isinstance(message, dict):
            return openai.mistyped(f"messages[{at}]", "an object", message)
    return None


@rule
def roles_are_known(body: Wire, terms: Terms) -> Rejection | None:
    """A message's role is one of six."""
    for at, message in enumerated(body["messages"]):
        if message.get("role") not in ROLES:
            return openai.unsupported(f"messages[{at}].role", message.get("role"), *ROLES)
    return None


@rule
def content_is_given(body: Wire, terms: Terms) -> Rejection | None:
    """Only an assistant message with calls or a refusal goes without content."""
    for at, message in enumerated(body["messages"]):
        excused = message["role"] == "assistant" and _speaks_otherwise(message)
        if message.get("content") is None and not excused:
            text = "Invalid value for 'content': expected a string, got null."
            return Rejection(text, param=f"messages.[{at}].content")
    return None


@rule
def content_is_text_or_parts(body: Wire, terms: Terms) -> Rejection | None:
    """Content is a string or an array of objects."""
    for at, message in enumerated(body["messages"]):
        content = message.get("content")
        parts = isinstance(content, list) and all(isinstance(part, dict) for part in content)
        if not (content is None or isinstance(content, str) or parts):
            return openai.mistyped(f"messages[{at}].content", "one of a string or array of objects", content)
    return None


@rule
def part_arrays_have_parts(body: Wire, terms: Terms) -> Rejection | None:
    """An array of content parts is not empty."""
    for at, message in enumerated(body["messages"]):
        if message.get("content") == []:
            return openai.empty(f"messages[{at}].content")
    return None


@rule
def images_come_from_users(body: Wire, terms: Terms) -> Rejection | None:
    """Image parts stand in user messages only."""
    for at, message in enumerated(body["messages"]):
        if message["role"] != "user" and any(part.get("type") == "image_url" for part in _parts(message)):
            text = (
                f"Invalid 'messages[{at}]'. Image URLs are only allowed for messages with role 'user', "
                f"but this message with role '{message['role']}' contains an image URL."
            )
            return Rejection(text, param=f"messages[{at}]", code="invalid_value")
    return None


@rule
def parts_are_known(body: Wire, terms: Terms) -> Rejection | None:
    """A content part is of a type its role may use."""
    for at, message in enumerated(body["messages"]):
        known = PARTS.get(message["role"], ("text",))
        for nth, part in enumerate(_parts(message)):
            if part.get("type") not in known:
                place = f"messages[{at}].content[{nth}].type"
                return openai.unsupported(place, part.get("type"), *known, *known[:1])
    return None


@rule
def text_parts_have_text(body: Wire, terms: Terms) -> Rejection | None:
    """A text part carries a string."""
    for at, message in enumerated(body["messages"]):
        for nth, part in enumerate(_parts(message)):
            if part["type"] == "text" and not isinstance(part.get("text"), str):
                return openai.missing(f"messages[{at}].content[{nth}].text")
    return None


@rule
def strings_are_short_enough(body: Wire, terms: Terms) -> Rejection | None:
    """No content string is longer than ten mebibytes of characters."""
    for at, message in enumerated(body["messages"]):
        texts = [message.get("content"), *(part.get("text") for part in _parts(message))]
        longest = max((len(text) for text in texts if isinstance(text, str)), default=0)
        if longest > terms.limits.text:
            return openai.too_long(f"messages[{at}].content", terms.limits.text, longest)
    return None


@rule
def call_arrays_have_calls(body: Wire, terms: Terms) -> Rejection | None:
    """`tool_calls`, where given, is an array of at least one object."""
    for at, message in enumerated(body["messages"]):
        calls = message.get("tool_calls")
        if calls is None:
            continue
        if not isinstance(calls, list) or len(objects(calls)) != len(calls):
            return openai.mistyped(f"messages[{at}].tool_calls", "an array of objects", calls)
        if not calls:
            return openai.empty(f"messages[{at}].tool_calls")
    return None


@rule
def calls_have_ids(body: Wire, terms: Terms) -> Rejection | None:
    """Every call carries an id."""
    for place, call in _calls(body):
        if not isinstance(call.get("id"), str):
            return openai.missing(f"{place}.id")
    return None


@rule
def call_ids_are_short(body: Wire, terms: Terms) -> Rejection | None:
    """A call's id has at most 40 characters."""
    for place, call in _calls(body):
        if len(call["id"]) > 40:
            return openai.too_long(f"{place}.id", 40, len(call["id"]))
    return None


@rule
def calls_name_a_function(body: Wire, terms: Terms) -> Rejection | None:
    """A called function's name is made of letters, digits, underscores and dashes."""
    for place, call in _calls(body):
        name = _called(call).get("name")
        if call.get("type", "function") == "function" and not _is_name(name):
            return openai.mismatched(f"{place}.function.name", NAME)
    return None


@rule
def arguments_are_text(body: Wire, terms: Terms) -> Rejection | None:
    """A call's arguments are JSON in a string, not an object."""
    for place, call in _calls(body):
        arguments = _called(call).get("arguments")
        if call.get("type", "function") == "function" and not isinstance(arguments, str):
            return openai.mistyped(f"{place}.function.arguments", "a string", arguments)
    return None


@rule
def call_ids_are_unique(body: Wire, terms: Terms) -> Rejection | None:
    """The calls of one message have different ids."""
    for at, message in enumerated(body["messages"]):
        ids = [call["id"] for call in objects(message.get("tool_calls"))]
        twice = next((each for each in ids if ids.count(each) > 1), None)
        if twice is not None:
            text = f"Invalid parameter: Duplicate value for 'id' of '{twice}', in messages[{at}].tool_calls."
            return Rejection(text, param=f"messages.[{at}].tool_calls")
    return None


@rule
def results_follow_calls(body: Wire, terms: Terms) -> Rejection | None:
    """A tool message stands behind an assistant message with calls, among its other answers."""
    for at, _message, caller, _answers in _results(body):
        if caller is None:
            text = (
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                "with 'tool_calls'."
            )
            return Rejection(text, param=f"messages.[{at}].role")
    return None


@rule
def results_answer_a_call(body: Wire, terms: Terms) -> Rejection | None:
    """A tool message's id is that of a call it stands behind."""
    for at, message, caller, _answers in _results(body):
        mine = message.get("tool_call_id")
        if mine not in [call["id"] for call in objects((caller or {}).get("tool_calls"))]:
            text = f"Invalid parameter: 'tool_call_id' of '{mine}' not found in 'tool_calls'"
            return Rejection(f"{text} of previous message.", param=f"messages.[{at}].tool_call_id")
    return None


@rule
def calls_are_answered_once(body: Wire, terms: Terms) -> Rejection | None:
    """No call has two answers."""
    for at, message, _caller, answers in _results(body):
        if message["tool_call_id"] in answers:
            text = (
                f"Invalid parameter: Duplicate value for 'tool_call_id' of '{message['tool_call_id']}', "
                f"in messages[{answers[message['tool_call_id']]}] and messages[{at}]."
            )
            return Rejection(text, param=f"messages.[{at}].tool_call_id")
    return None


@rule
def calls_are_answered(body: Wire, terms: Terms) -> Rejection | None:
    """Every call is answered before any other message."""
    messages = objects(body["messages"])
    for at, message in enumerate(messages):
        answered = {answer.get("tool_call_id") for answer in _answers_to(messages, at)}
        ids = [call["id"] for call in objects(message.get("tool_calls")) if call["id"] not in answered]
        if ids:
            text = (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                "'tool_call_id'. The following tool_call_ids did not have response messages: "
                + ", ".join(ids)
            )
            return Rejection(text, param=f"messages.[{at + len(answered) + 1}].role")
    return None


@rule
def tools_are_few(body: Wire, terms: Terms) -> Rejection | None:
    """A request offers between one and 128 tools, or leaves `tools` out."""
    tools = body.get("tools")
    if tools is None:
        return None
    if not isinstance(tools, list):
        return openai.mistyped("tools", "an array of objects", tools)
    if not tools:
        return openai.empty("tools")
    return (
        openai.too_many("tools", terms.limits.tools, len(tools)) if len(tools) > terms.limits.tools else None
    )


@rule
def tools_have_types(body: Wire, terms: Terms) -> Rejection | None:
    """A tool says which of the two kinds it is, and stands in an object of that name."""
    for at, tool in enumerated(body.get("tools")):
        kind = tool.get("type")
        if kind is None:
            return openai.missing(f"tools[{at}].type")
        if kind not in ("function", "custom"):
            return openai.unsupported(f"tools[{at}].type", kind, "function", "custom")
        if not isinstance(tool.get(kind), dict):
            return openai.missing(f"tools[{at}].{kind}")
    return None


@rule
def tools_have_names(body: Wire, terms: Terms) -> Rejection | None:
    """A function tool has a name of letters, digits, underscores and dashes."""
    for at, tool in enumerated(body.get("tools")):
        if tool.get("type") == "function" and not _is_name(_called(tool).get("name")):
            return openai.mismatched(f"tools[{at}].function.name", NAME)
    return None


@rule
def choice_needs_tools(body: Wire, terms: Terms) -> Rejection | None:
    """`tool_choice` comes with tools to choose from."""
    if body.get("tool_choice") is None or body.get("tools"):
        return None
    text = "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
    return Rejection(text, param="tool_choice")


@rule
def parallel_needs_tools(body: Wire, terms: Terms) -> Rejection | None:
    """`parallel_tool_calls` comes with tools to call."""
    if body.get("parallel_tool_calls") is None or body.get("tools"):
        return None
    text = (
        "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are "
        "specified."
    )
    return Rejection(text, param="parallel_tool_calls")


@rule
def reasoning_models_name_their_ceiling(body: Wire, terms: Terms) -> Rejection | None:
    """Reasoning models take `max_completion_tokens`, not `max_tokens`."""
    if body.get("max_tokens") is None or not REASONING.match(terms.model):
        return None
    text = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead."
    )
    return Rejection(text, param="max_tokens", code="unsupported_parameter")


@rule
def ceilings_are_numbers(body: Wire, terms: Terms) -> Rejection | None:
    """`max_tokens` and `max_completion_tokens` are integers."""
    for name in ("max_tokens", "max_completion_tokens"):
        if not isinstance(body.get(name), int | None):
            return openai.mistyped(name, "an integer", body[name])
    return None


@rule
def ceiling_is_one(body: Wire, terms: Terms) -> Rejection | None:
    """`max_tokens` and `max_completion_tokens` are not given together."""
    if body.get("max_tokens") is None or body.get("max_completion_tokens") is None:
        return None
    return Rejection("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")


def _parts(message: Wire) -> list[Wire]:
    return objects(message.get("content"))


def _speaks_otherwise(message: Wire) -> bool:
    return any(message.get(key) for key in ("tool_calls", "function_call", "refusal", "audio"))


def _called(call: Wire) -> Wire:
    function = call.get("function")
    return function if isinstance(function, dict) else {}


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and re.match(NAME, name) is not None


def _calls(body: Wire) -> Iterator[tuple[str, Wire]]:
    for at, message in enumerated(body["messages"]):
        for nth, call in enumerated(message.get("tool_calls")):
            yield f"messages[{at}].tool_calls[{nth}]", call


def _answers_to(messages: list[Wire], at: int) -> Iterator[Wire]:
    for message in messages[at + 1 :]:
        if message["role"] != "tool":
            return
        yield message


def _results(body: Wire) -> Iterator[tuple[int, Wire, Wire | None, dict[Any, int]]]:
    """Each tool message with its place, the message that called, and the places of earlier answers."""
    caller: Wire | None = None
    answers: dict[Any, int] = {}
    for at, message in enumerated(body["messages"]):
        if message["role"] != "tool":
            caller, answers = (message if message.get("tool_calls") else None), {}
            continue
        yield at, message, caller, answers
        answers = {**answers, str(message.get("tool_call_id")): at}
