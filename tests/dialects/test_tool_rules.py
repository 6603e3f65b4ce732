"""Tools that a provider would refuse are refused before they are sent."""

from __future__ import annotations

from typing import Any

import pytest

import fanfold
from fanfold import BadInput
from fanfold.testing.provider import Provider

MODELS = {
    "openai.chat": "gpt-5.2",
    "openai.responses": "gpt-5.2",
    "anthropic": "claude-opus-4-6",
    "gemini": "gemini-3-pro-preview",
}
JUDGE = Provider([])


def tool(dialect: str, name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}}
    return {
        "openai.chat": {"type": "function", "function": {"name": name, "parameters": schema}},
        "openai.responses": {"type": "function", "name": name, "parameters": schema},
        "anthropic": {"name": name, "input_schema": schema},
        "gemini": {"functionDeclarations": [{"name": name, "parametersJsonSchema": schema}]},
    }[dialect]


def asked(dialect: str, *names: str, model: str | None = None, **params: Any) -> dict[str, Any]:
    tools = [tool(dialect, name) for name in names]
    with fanfold.open(
        "run", model=model or MODELS[dialect], dialect=dialect, tools=tools, window=64_000
    ) as chat:
        chat.say("Hello.")
        return chat.request(max_tokens=99, **params)


@pytest.mark.parametrize("dialect", MODELS)
def test_a_name_that_the_provider_does_not_take_is_refused(dialect: str) -> None:
    with pytest.raises(BadInput, match="names that the provider does not take: 'a b'"):
        asked(dialect, "read", "a b")


@pytest.mark.parametrize("dialect", ["anthropic", "gemini"])
def test_two_tools_of_one_name_are_refused(dialect: str) -> None:
    with pytest.raises(BadInput, match="offered twice: 'read'"):
        asked(dialect, "read", "read")


@pytest.mark.parametrize("dialect", ["openai.chat", "openai.responses"])
def test_more_tools_than_openai_takes_are_refused_and_others_may_take_them(dialect: str) -> None:
    many = [f"tool_{number}" for number in range(129)]
    with pytest.raises(BadInput, match="129 are offered, 128 are taken"):
        asked(dialect, *many)
    assert len(asked(dialect, *many[1:])["tools"]) == 128, (
        "no recall tools, for there is no room for them (19.17)"
    )
    assert len(asked(dialect, *many[4:])["tools"]) == 128, "with the three recall tools"
    assert len(asked(dialect, *many, model="mistral-large-latest")["tools"]) == 129 + 3


@pytest.mark.parametrize(("dialect", "choice"), [("openai.chat", "auto"), ("anthropic", {"type": "auto"})])
def test_a_choice_among_no_tools_is_refused(dialect: str, choice: Any) -> None:
    with pytest.raises(BadInput, match="tool_choice: it is given, and no tool is offered"):
        asked(dialect, tool_choice=choice)
    request = asked(dialect, "read", tool_choice=choice)
    assert JUDGE.check(dialect.rpartition(".")[2], request) is None
