"""The words in which both of OpenAI's APIs refuse a value."""

from typing import Any

from fanfold.testing.provider.rejection import Rejection
from fanfold.testing.provider.wire import a_kind


def missing(param: str) -> Rejection:
    """A required value is not there."""
    return _refuse(param, "missing_required_parameter", f"Missing required parameter: '{param}'.")


def wrong_type(param: str, expected: str, value: Any) -> Rejection:
    """A value has the wrong JSON type."""
    text = f"Invalid type for '{param}': expected {expected}, but got {a_kind(value)} instead."
    return _refuse(param, "invalid_type", text)


def unknown_value(param: str, value: Any, *supported: str) -> Rejection:
    """A value is none of those that are known."""
    known = ", ".join(f"'{item}'" for item in supported[:-1]) + f", and '{supported[-1]}'"
    return _refuse(param, "invalid_value", f"Invalid value: '{value}'. Supported values are: {known}.")


def empty(param: str) -> Rejection:
    """An array that needs an entry has none."""
    return _refuse_size(param, "empty_array", "empty array", "minimum length 1", "an empty array")


def too_many(param: str, most: int, found: int) -> Rejection:
    """An array is too long."""
    limit, size = f"maximum length {most}", f"an array with length {found}"
    return _refuse_size(param, "array_above_max_length", "array too long", limit, size)


def too_long(param: str, most: int, found: int) -> Rejection:
    """A string is too long."""
    limit, size = f"maximum length {most}", f"a string with length {found}"
    return _refuse_size(param, "string_above_max_length", "string too long", limit, size)


def too_short(param: str) -> Rejection:
    """A string that needs a character has none."""
    return _refuse_size(param, "empty_string", "empty string", "minimum length 1", "an empty string")


def wrong_pattern(param: str, pattern: str) -> Rejection:
    """A string does not match its pattern."""
    text = f"Invalid '{param}': string does not match pattern. Expected a string that matches the pattern"
    return _refuse(param, "invalid_value", f"{text} '{pattern}'.")


def _refuse_size(param: str, code: str, problem: str, limit: str, size: str) -> Rejection:
    kind = "an array" if "array" in problem else "a string"
    text = f"Invalid '{param}': {problem}. Expected {kind} with {limit}, but got {size} instead."
    return _refuse(param, code, text)


def _refuse(param: str, code: str, text: str) -> Rejection:
    return Rejection(text, param=param, code=code)
