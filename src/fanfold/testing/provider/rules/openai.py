"""The words in which both of OpenAI's APIs refuse a value."""

from typing import Any

from fanfold.testing.provider.rejection import Rejection
from fanfold.testing.provider.wire import a_kind


def missing(param: str) -> Rejection:
    """A required value is not there."""
    return Rejection(
        f"Missing required parameter: '{param}'.", param=param, code="missing_required_parameter"
    )


def mistyped(param: str, expected: str, value: Any) -> Rejection:
    """A value has the wrong JSON type."""
    text = f"Invalid type for '{param}': expected {expected}, but got {a_kind(value)} instead."
    return Rejection(text, param=param, code="invalid_type")


def unsupported(param: str, value: Any, *supported: str) -> Rejection:
    """A value is none of those that are known."""
    known = ", ".join(f"'{item}'" for item in supported[:-1]) + f", and '{supported[-1]}'"
    return Rejection(
        f"Invalid value: '{value}'. Supported values are: {known}.", param=param, code="invalid_value"
    )


def empty(param: str) -> Rejection:
    """An array that needs an entry has none."""
    text = f"Invalid '{param}': empty array. Expected an array with minimum length 1, but got an empty array"
    return Rejection(f"{text} instead.", param=param, code="empty_array")


def too_many(param: str, most: int, found: int) -> Rejection | None:
    """An array is too long, if it is."""
    if found <= most:
        return None
    text = (
        f"Invalid '{param}': array too long. "
        f"Expected an array with maximum length {most}, but got an array with length {found} instead."
    )
    return Rejection(text, param=param, code="array_above_max_length")


def too_long(param: str, most: int, found: int) -> Rejection:
    """A string is too long."""
    text = (
        f"Invalid '{param}': string too long. "
        f"Expected a string with maximum length {most}, but got a string with length {found} instead."
    )
    return Rejection(text, param=param, code="string_above_max_length")


def too_short(param: str) -> Rejection:
    """A string that needs a character has none."""
    text = (
        f"Invalid '{param}': empty string. Expected a string with minimum length 1, but got an empty string"
    )
    return Rejection(f"{text} instead.", param=param, code="empty_string")


def mismatched(param: str, pattern: str) -> Rejection:
    """A string does not match its pattern."""
    text = f"Invalid '{param}': string does not match pattern. Expected a string that matches the pattern"
    return Rejection(f"{text} '{pattern}'.", param=param, code="invalid_value")
