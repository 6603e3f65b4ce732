"""The rules of OpenAI's Chat Completions, and of makers who speak it."""

import re
from collections.abc import Iterator
from typing import Any

from fanfold.testing.provider.rejection import JudgeTerms, Refusals, Rejection, Rule, collector
from fanfold.testing.provider.rules import openai
from fanfold.testing.provider.wire import Wire, objects, section, with_places

RULES: list[Rule] = []
rule = collector(RULES)

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
PARTS = {"user": ("text", "image_url", "input_audio", "file"), "assistant": ("text", "refusal")}


@rule
def model_is_given(body: Wire, terms: JudgeTerms) -> Refusals:
    """A request names its model."""
    if not terms.model:
        yield Rejection("you must provide a model parameter")


@rule
def messages_are_given(body: Wire, terms: JudgeTerms) -> Refusals:
    """A request has an array of at least one message."""
    messages = body.get("messages")
    if messages is None:
        yield openai.missing("messages")
    if not isinstance(messages, list):
        yield openai.wrong_type("messages", "an array of objects", messages)
    if not messages:
        yield openai.empty("messages")


@rule
def messages_are_objects(body: Wire, terms: JudgeTerms) -> Refusals:
    """Every message is an object."""
    for at, message in enumerate(body["messages"]):
        if not isinstance(message, dict):
            yield openai.wrong_type(f"messages[{at}]", "an object", message)


@rule
def roles_are_known(body: Wire, terms: JudgeTerms) -> Refusals:
    """A message's role is one of six."""
    for at, message in with_places(body["messages"]):
        if message.get("role") not in ROLES:
            yield openai.unknown_value(f"messages[{at}].role", message.get("role"), *ROLES)


@rule
def content_is_given(body: Wire, terms: JudgeTerms) -> Refusals:
    """Only an assistant message with calls or a refusal goes without content."""
    for at, message in with_places(body["messages"]):
        excused = message["role"] == "assistant" and _speaks_otherwise(message)
        if message.get("content") is None and not excused:
            text = "Invalid value for 'content': expected a string, got null."
            yield Rejection(text, param=f"messages.[{at}].content")


@rule
def content_is_text_or_parts(body: Wire, terms: JudgeTerms) -> Refusals:
    """Content is a string or an array of objects."""
    for at, message in with_places(body["messages"]):
        content = message.get("content")
        parts = isinstance(content, list) and all(isinstance(part, dict) for part in content)
        if not (content is None or isinstance(content, str) or parts):
            yield openai.wrong_type(f"messages[{at}].content", "one of a string or array of objects", content)


@rule
def part_arrays_have_parts(body: Wire, terms: JudgeTerms) -> Refusals:
    """An array of content parts is not empty."""
    for at, message in with_places(body["messages"]):
        if message.get("content") == []:
            yield openai.empty(f"messages[{at}].content")


@rule
def images_come_from_users(body: Wire, terms: JudgeTerms) -> Refusals:
    """Image parts stand in user messages only."""
    for at, message in with_places(body["messages"]):
        if message["role"] != "user" and any(part.get("type") == "image_url" for part in _parts(message)):
            yield Rejection(
                f"Invalid 'messages[{at}]'. Image URLs are only allowed for messages with role 'user', "
                f"but this message with role '{message['role']}' contains an image URL.",
                param=f"messages[{at}]",
                code="invalid_value",
            )


@rule
def parts_are_known(body: Wire, terms: JudgeTerms) -> Refusals:
    """A content part is of a type its role may use."""
    for at, message in with_places(body["messages"]):
        known = PARTS.get(message["role"], ("text",))
        for nth, part in enumerate(_parts(message)):
            if part.get("type") not in known:
                place = f"messages[{at}].content[{nth}].type"
                yield openai.unknown_value(place, part.get("type"), *known, *known[:1])


@rule
def text_parts_have_text(body: Wire, terms: JudgeTerms) -> Refusals:
    """A text part carries a string."""
    for at, message in with_places(body["messages"]):
        for nth, part in enumerate(_parts(message)):
            if part["type"] == "text" and not isinstance(part.get("text"), str):
                yield openai.missing(f"messages[{at}].content[{nth}].text")


@rule
def parts_carry_something(body: Wire, terms: JudgeTerms) -> Refusals:
    """A part of any other kind carries its content under the name of its type."""
    for at, message in with_places(body["messages"]):
        for nth, part in enumerate(_parts(message)):
            if part.get(part["type"]) is None:
                yield openai.missing(f"messages[{at}].content[{nth}].{part['type']}")


@rule
def strings_are_short_enough(body: Wire, terms: JudgeTerms) -> Refusals:
    """No content string is longer than ten mebibytes of characters."""
    for at, message in with_places(body["messages"]):
        texts = [message.get("content"), *(part.get("text") for part in _parts(message))]
        longest = max((len(text) for text in texts if isinstance(text, str)), default=0)
        if longest > terms.limits.text:
            yield openai.too_long(f"messages[{at}].content", terms.limits.text, longest)


@rule
def files_are_addresses(body: Wire, terms: JudgeTerms) -> Refusals:
    """The bytes of a file come as a `data:` address, not as bare base64."""
    for at, message in with_places(body["messages"]):
        for nth, part in enumerate(_parts(message)):
            data = section(part, "file").get("file_data")
            if data is not None and not str(data).startswith("data:"):
                place = f"messages[{at}].content[{nth}].file.file_data"
                yield Rejection(
                    f"Invalid '{place}'. Expected a base64-encoded data URL, "
                    "but got a value without the 'data:' prefix.",
                    param=place,
                    code="invalid_value",
                )


def _parts(message: Wire) -> list[Wire]:
    return objects(message.get("content"))


def _speaks_otherwise(message: Wire) -> bool:
    return any(message.get(key) for key in ("tool_calls", "function_call", "refusal", "audio"))


NAME = "^[a-zA-Z0-9_-]{1,64}$"
THINKING = re.compile(r"deepseek-(reasoner|v3\.2|v[4-9])|kimi-k(2-thinking|2\.[5-9]|[3-9])")
"""Models of other makers that want their reasoning back (DeepSeek: thinking mode, tool calls)."""


@rule
def call_arrays_have_calls(body: Wire, terms: JudgeTerms) -> Refusals:
    """`tool_calls`, where given, is an array of at least one object."""
    for at, message in with_places(body["messages"]):
        calls = message.get("tool_calls")
        if calls is None:
            continue
        if not isinstance(calls, list) or len(objects(calls)) != len(calls):
            yield openai.wrong_type(f"messages[{at}].tool_calls", "an array of objects", calls)
        if not calls:
            yield openai.empty(f"messages[{at}].tool_calls")


@rule
def calls_have_ids(body: Wire, terms: JudgeTerms) -> Refusals:
    """Every call carries an id."""
    for place, call in _calls(body):
        if not isinstance(call.get("id"), str):
            yield openai.missing(f"{place}.id")


@rule
def call_ids_are_short(body: Wire, terms: JudgeTerms) -> Refusals:
    """A call's id has at most 40 characters."""
    for place, call in _calls(body):
        if len(call["id"]) > 40:
            yield openai.too_long(f"{place}.id", 40, len(call["id"]))


@rule
def calls_name_a_function(body: Wire, terms: JudgeTerms) -> Refusals:
    """A called function's name is made of letters, digits, underscores and dashes."""
    for place, call in _calls(body):
        name = function_of(call).get("name")
        if call.get("type", "function") == "function" and not is_name(name):
            yield openai.wrong_pattern(f"{place}.function.name", NAME)


@rule
def arguments_are_text(body: Wire, terms: JudgeTerms) -> Refusals:
    """A call's arguments are JSON in a string, not an object."""
    for place, call in _calls(body):
        arguments = function_of(call).get("arguments")
        if call.get("type", "function") == "function" and not isinstance(arguments, str):
            yield openai.wrong_type(f"{place}.function.arguments", "a string", arguments)


@rule
def call_ids_are_unique(body: Wire, terms: JudgeTerms) -> Refusals:
    """The calls of one message have different ids."""
    for at, message in with_places(body["messages"]):
        ids = [call["id"] for call in objects(message.get("tool_calls"))]
        twice = next((each for each in ids if ids.count(each) > 1), None)
        if twice is not None:
            text = f"Invalid parameter: Duplicate value for 'id' of '{twice}', in messages[{at}].tool_calls."
            yield Rejection(text, param=f"messages.[{at}].tool_calls")


@rule
def results_follow_calls(body: Wire, terms: JudgeTerms) -> Refusals:
    """A tool message stands behind an assistant message with calls, among its other answers."""
    for at, _message, caller, _answers in _results(body):
        if caller is None:
            yield Rejection(
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                "with 'tool_calls'.",
                param=f"messages.[{at}].role",
            )


@rule
def results_answer_a_call(body: Wire, terms: JudgeTerms) -> Refusals:
    """A tool message's id is that of a call it stands behind."""
    for at, message, caller, _answers in _results(body):
        mine = message.get("tool_call_id")
        if mine not in [call["id"] for call in objects((caller or {}).get("tool_calls"))]:
            text = f"Invalid parameter: 'tool_call_id' of '{mine}' not found in 'tool_calls'"
            yield Rejection(f"{text} of previous message.", param=f"messages.[{at}].tool_call_id")


@rule
def calls_are_answered_once(body: Wire, terms: JudgeTerms) -> Refusals:
    """No call has two answers."""
    for at, message, _caller, answers in _results(body):
        if message["tool_call_id"] in answers:
            yield Rejection(
                f"Invalid parameter: Duplicate value for 'tool_call_id' of '{message['tool_call_id']}', "
                f"in messages[{answers[message['tool_call_id']]}] and messages[{at}].",
                param=f"messages.[{at}].tool_call_id",
            )


@rule
def calls_are_answered(body: Wire, terms: JudgeTerms) -> Refusals:
    """Every call is answered before any other message."""
    messages = objects(body["messages"])
    for at, message in enumerate(messages):
        answered = {answer.get("tool_call_id") for answer in _answers_to(messages, at)}
        ids = [call["id"] for call in objects(message.get("tool_calls")) if call["id"] not in answered]
        if ids:
            yield Rejection(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                "'tool_call_id'. The following tool_call_ids did not have response messages: "
                + ", ".join(ids),
                param=f"messages.[{at + len(answered) + 1}].role",
            )


@rule
def reasoning_comes_back(body: Wire, terms: JudgeTerms) -> Refusals:
    """While they think, models of other makers want a message that called back with its reasoning."""
    if not THINKING.search(terms.model) or body.get("thinking") == {"type": "disabled"}:
        return
    for message in objects(body["messages"]):
        if message.get("tool_calls") and not message.get("reasoning_content"):
            yield Rejection("The `reasoning_content` in the thinking mode must be passed back to the API.")


def function_of(call: Wire) -> Wire:
    """The function in a call or a definition."""
    function = call.get("function")
    return function if isinstance(function, dict) else {}


def is_name(name: Any) -> bool:
    """Whether a function may be called so."""
    return isinstance(name, str) and re.match(NAME, name) is not None


def _calls(body: Wire) -> Iterator[tuple[str, Wire]]:
    for at, message in with_places(body["messages"]):
        for nth, call in with_places(message.get("tool_calls")):
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
    for at, message in with_places(body["messages"]):
        if message["role"] != "tool":
            caller, answers = (message if message.get("tool_calls") else None), {}
            continue
        yield at, message, caller, answers
        answers = {**answers, str(message.get("tool_call_id")): at}


REASONING = re.compile(r"^(o\d|gpt-([5-9]|\d\d))")


@rule
def tools_are_few(body: Wire, terms: JudgeTerms) -> Refusals:
    """A request offers between one and 128 tools, or leaves `tools` out."""
    tools = body.get("tools")
    if tools is None:
        return
    if not isinstance(tools, list):
        yield openai.wrong_type("tools", "an array of objects", tools)
    elif not tools:
        yield openai.empty("tools")
    elif len(tools) > terms.limits.tools:
        yield openai.too_many("tools", terms.limits.tools, len(tools))


@rule
def tools_have_types(body: Wire, terms: JudgeTerms) -> Refusals:
    """A tool says which of the two kinds it is, and stands in an object of that name."""
    for at, tool in with_places(body.get("tools")):
        kind = tool.get("type")
        if kind is None:
            yield openai.missing(f"tools[{at}].type")
        elif kind not in ("function", "custom"):
            yield openai.unknown_value(f"tools[{at}].type", kind, "function", "custom")
        elif not isinstance(tool.get(kind), dict):
            yield openai.missing(f"tools[{at}].{kind}")


@rule
def tools_have_names(body: Wire, terms: JudgeTerms) -> Refusals:
    """A function tool has a name of letters, digits, underscores and dashes."""
    for at, tool in with_places(body.get("tools")):
        if tool.get("type") == "function" and not is_name(function_of(tool).get("name")):
            yield openai.wrong_pattern(f"tools[{at}].function.name", NAME)


@rule
def choice_is_there(body: Wire, terms: JudgeTerms) -> Refusals:
    """The function that the model has to call is among the tools."""
    choice = body.get("tool_choice")
    name = function_of(choice).get("name") if isinstance(choice, dict) else None
    there = [function_of(tool).get("name") for tool in objects(body.get("tools"))]
    if name is not None and there and name not in there:
        yield Rejection(f"Tool choice '{name}' not found in 'tools' parameter.", param="tool_choice")


@rule
def choice_needs_tools(body: Wire, terms: JudgeTerms) -> Refusals:
    """`tool_choice` comes with tools to choose from."""
    if body.get("tool_choice") is not None and not body.get("tools"):
        text = "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
        yield Rejection(text, param="tool_choice")


@rule
def parallel_needs_tools(body: Wire, terms: JudgeTerms) -> Refusals:
    """`parallel_tool_calls` comes with tools to call."""
    if body.get("parallel_tool_calls") is not None and not body.get("tools"):
        yield Rejection(
            "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are "
            "specified.",
            param="parallel_tool_calls",
        )


@rule
def reasoning_models_name_their_ceiling(body: Wire, terms: JudgeTerms) -> Refusals:
    """Reasoning models take `max_completion_tokens`, not `max_tokens`."""
    if body.get("max_tokens") is not None and REASONING.match(terms.model):
        yield Rejection(
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        )


@rule
def ceilings_are_numbers(body: Wire, terms: JudgeTerms) -> Refusals:
    """`max_tokens` and `max_completion_tokens` are integers."""
    for name in ("max_tokens", "max_completion_tokens"):
        if not isinstance(body.get(name), int | None):
            yield openai.wrong_type(name, "an integer", body[name])


@rule
def ceiling_is_one(body: Wire, terms: JudgeTerms) -> Refusals:
    """`max_tokens` and `max_completion_tokens` are not given together."""
    if None not in (body.get("max_tokens"), body.get("max_completion_tokens")):
        yield Rejection("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
