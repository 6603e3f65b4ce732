"""The forms that a tool definition can have: which dialect's it is, told by its fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanfold.dialects.names import ANTHROPIC, CHAT, GEMINI, RESPONSES
from fanfold.dialects.schemas import camel
from fanfold.text.patterns import pattern

BARE = "bare"
"""No dialect's own: a declaration alone, with its name, and its schema if it takes anything."""
_DATED = pattern(r".*_20\d{6}")
_OPENAIS = frozenset(
    {
        "apply_patch",
        "code_interpreter",
        "computer_use_preview",
        "file_search",
        "image_generation",
        "local_shell",
        "mcp",
        "shell",
        "tool_search",
        "web_search",
        "web_search_preview",
    }
)
_GOOGLES = frozenset(
    {
        "codeExecution",
        "computerUse",
        "fileSearch",
        "googleMaps",
        "googleSearch",
        "googleSearchRetrieval",
        "retrieval",
        "urlContext",
    }
)
_SCHEMAS = ("parameters", "parametersJsonSchema", "parameters_json_schema", "inputSchema")
_SCHEMALESS = frozenset({"type", "name", "description", "strict", "cache_control", *_SCHEMAS})
"""Fields of a declaration of a function that takes nothing; those of a schema have no value there."""


def shape(tool: Mapping[str, Any]) -> str | None:
    """The dialect in whose form a tool is defined, or `BARE`; None where its form tells nothing."""
    return _of_function(tool) or _of_built_in(tool)


def is_foreign(tool: Any, dialect: str) -> bool:
    """Whether a tool is to be written anew for this dialect.

    Many hosts speak OpenAI's dialects and have tools of their own: what only a provider can run is left to them there,
    unless it is certain that it is Anthropic's or Google's.
    """
    if not isinstance(tool, Mapping):
        return False
    found = _of_function(tool)
    if found is None:
        found = _of_built_in(tool)
        if found == RESPONSES:
            return dialect not in (CHAT, RESPONSES)
    return found is not None and found != dialect


def _of_function(tool: Mapping[str, Any]) -> str | None:
    """The form of a tool that the caller runs."""
    named = isinstance(tool.get("name"), str)
    match tool:
        case {"functionDeclarations": list()} | {"function_declarations": list()}:
            return GEMINI
        case {"function": {"name": str()}} | {"custom": {"name": str()}}:
            return CHAT
        case {"input_schema": _} if named:
            return ANTHROPIC
        case {"type": "function"} | {"type": "custom", "format": _} if named:
            return RESPONSES
        case {"type": "namespace", "tools": list()}:
            return RESPONSES
        case _ if named and tool.get("type") is None and (has_schema(tool) or _takes_nothing(tool)):
            return BARE
    return None


def has_schema(tool: Mapping[str, Any]) -> bool:
    """Whether a bare declaration says what the function takes."""
    return any(isinstance(tool.get(key), dict) for key in _SCHEMAS)


def _takes_nothing(tool: Mapping[str, Any]) -> bool:
    """Whether a bare declaration is of a function without parameters: it says nothing that a function does not."""
    return tool.keys() <= _SCHEMALESS and all(tool.get(key) is None for key in _SCHEMAS)


def _of_built_in(tool: Mapping[str, Any]) -> str | None:
    """The dialect of a tool that only its provider runs."""
    kind = tool.get("type")
    if isinstance(kind, str):
        if _DATED.fullmatch(kind):
            return ANTHROPIC
        return RESPONSES if kind in _OPENAIS else None
    return GEMINI if tool and all(camel(key) in _GOOGLES for key in tool) else None
