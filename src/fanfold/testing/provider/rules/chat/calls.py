"""The rules of Chat Completions on calls and results."""

import re
from collections.abc import Iterator
from typing import Any

from fanfold.testing.provider.rejection import JudgeTerms, Rejection, Rule, collector
from fanfold.testing.provider.rules import openai
from fanfold.testing.provider.wire import Wire, enumerated, objects

RULES: list[Rule] = []
rule = collector(RULES)

NAME = "^[a-zA-Z0-9_-]{1,64}$"
THINKING = re.compile(r"deepseek-(reasoner|v3\.2|v[4-9])|kimi-k(2-thinking|2\.[5-9]|[3-9])")
"""Models of other makers that want their reasoning back (DeepSeek: thinking mode, tool calls)."""


@rule
def call_arrays_have_calls(body: Wire, terms: JudgeTerms) -> Rejection | None:
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
def calls_have_ids(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """Every call carries an id."""
    for place, call in _calls(body):
        if not isinstance(call.get("id"), str):
            return openai.missing(f"{place}.id")
    return None


@rule
def call_ids_are_short(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """A call's id has at most 40 characters."""
    for place, call in _calls(body):
        if len(call["id"]) > 40:
            return openai.too_long(f"{place}.id", 40, len(call["id"]))
    return None


@rule
def calls_name_a_function(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """A called function's name is made of letters, digits, underscores and dashes."""
    for place, call in _calls(body):
        name = called(call).get("name")
        if call.get("type", "function") == "function" and not is_name(name):
            return openai.mismatched(f"{place}.function.name", NAME)
    return None


@rule
def arguments_are_text(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """A call's arguments are JSON in a string, not an object."""
    for place, call in _calls(body):
        arguments = called(call).get("arguments")
        if call.get("type", "function") == "function" and not isinstance(arguments, str):
            return openai.mistyped(f"{place}.function.arguments", "a string", arguments)
    return None


@rule
def call_ids_are_unique(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """The calls of one message have different ids."""
    for at, message in enumerated(body["messages"]):
        ids = [call["id"] for call in objects(message.get("tool_calls"))]
        twice = next((each for each in ids if ids.count(each) > 1), None)
        if twice is not None:
            text = f"Invalid parameter: Duplicate value for 'id' of '{twice}', in messages[{at}].tool_calls."
            return Rejection(text, param=f"messages.[{at}].tool_calls")
    return None


@rule
def results_follow_calls(body: Wire, terms: JudgeTerms) -> Rejection | None:
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
def results_answer_a_call(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """A tool message's id is that of a call it stands behind."""
    for at, message, caller, _answers in _results(body):
        mine = message.get("tool_call_id")
        if mine not in [call["id"] for call in objects((caller or {}).get("tool_calls"))]:
            text = f"Invalid parameter: 'tool_call_id' of '{mine}' not found in 'tool_calls'"
            return Rejection(f"{text} of previous message.", param=f"messages.[{at}].tool_call_id")
    return None


@rule
def calls_are_answered_once(body: Wire, terms: JudgeTerms) -> Rejection | None:
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
def calls_are_answered(body: Wire, terms: JudgeTerms) -> Rejection | None:
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
def reasoning_comes_back(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """While they think, models of other makers want a message that called back with its reasoning."""
    if not THINKING.search(terms.model) or body.get("thinking") == {"type": "disabled"}:
        return None
    for message in objects(body["messages"]):
        if message.get("tool_calls") and not message.get("reasoning_content"):
            return Rejection("The `reasoning_content` in the thinking mode must be passed back to the API.")
    return None


def called(call: Wire) -> Wire:
    """The function in a call or a definition."""
    function = call.get("function")
    return function if isinstance(function, dict) else {}


def is_name(name: Any) -> bool:
    """Whether a function may be called so."""
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
