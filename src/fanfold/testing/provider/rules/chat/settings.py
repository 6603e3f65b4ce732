"""The rules of Chat Completions on tools and parameters."""

import re

from fanfold.testing.provider.rejection import JudgeTerms, Rejection, Rule, collector
from fanfold.testing.provider.rules import openai
from fanfold.testing.provider.wire import Wire, enumerated

from .calls import NAME, called, is_name

RULES: list[Rule] = []
rule = collector(RULES)

REASONING = re.compile(r"^(o\d|gpt-([5-9]|\d\d))")


@rule
def tools_are_few(body: Wire, terms: JudgeTerms) -> Rejection | None:
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
def tools_have_types(body: Wire, terms: JudgeTerms) -> Rejection | None:
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
def tools_have_names(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """A function tool has a name of letters, digits, underscores and dashes."""
    for at, tool in enumerated(body.get("tools")):
        if tool.get("type") == "function" and not is_name(called(tool).get("name")):
            return openai.mismatched(f"tools[{at}].function.name", NAME)
    return None


@rule
def choice_needs_tools(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """`tool_choice` comes with tools to choose from."""
    if body.get("tool_choice") is None or body.get("tools"):
        return None
    text = "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
    return Rejection(text, param="tool_choice")


@rule
def parallel_needs_tools(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """`parallel_tool_calls` comes with tools to call."""
    if body.get("parallel_tool_calls") is None or body.get("tools"):
        return None
    text = (
        "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are "
        "specified."
    )
    return Rejection(text, param="parallel_tool_calls")


@rule
def reasoning_models_name_their_ceiling(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """Reasoning models take `max_completion_tokens`, not `max_tokens`."""
    if body.get("max_tokens") is None or not REASONING.match(terms.model):
        return None
    text = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead."
    )
    return Rejection(text, param="max_tokens", code="unsupported_parameter")


@rule
def ceilings_are_numbers(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """`max_tokens` and `max_completion_tokens` are integers."""
    for name in ("max_tokens", "max_completion_tokens"):
        if not isinstance(body.get(name), int | None):
            return openai.mistyped(name, "an integer", body[name])
    return None


@rule
def ceiling_is_one(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """`max_tokens` and `max_completion_tokens` are not given together."""
    if body.get("max_tokens") is None or body.get("max_completion_tokens") is None:
        return None
    return Rejection("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
