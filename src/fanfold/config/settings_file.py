"""The settings file (`fanfold.toml` in the working folder, or what FANFOLD_CONFIG names) and the models it names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import local
from typing import Any, ClassVar

import msgspec

from fanfold.core.errors import BadSetting, unknown
from fanfold.text.patterns import pattern
from fanfold.text.sizes import with_numbers
from fanfold.tokens import models
from fanfold.tokens.models import Model

NAME = "fanfold.toml"
_HEAD = pattern(r"^\s*\[{1,2}(.+?)\]{1,2}\s*(?:#.*)?$")
_NAME = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_KEY = pattern(rf"^\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=")
_INNER = pattern(rf"[{{,]\s*({_NAME})\s*=")
_PART = pattern(r""""([^"]*)"|'([^']*)'|([\w-]+)""")


class File(msgspec.Struct, frozen=True):
    """What a settings file says, and its text, so that a mistake can be shown in its line."""

    name: str
    text: str
    content: Mapping[str, Any]

    def table(self, name: str) -> Mapping[str, Any]:
        """A table of the file; empty where it has none."""
        table = self.content.get(name, {})
        if not isinstance(table, Mapping):
            raise self.wrong(f"{name} is a table: [{name}].", name)
        return table

    def wrong(self, message: str, *keys: str, earlier: int = 0) -> BadSetting:
        """The error for a mistake at a key, which is named with the tables around it.

        In a list of tables, `earlier` ones may have the same key.
        """
        ends = (keys[:end] for end in range(len(keys), 0, -1))
        found = ([line for path, line in _places(self.text) if path == end] for end in ends)
        lines = next(filter(None, found), [])
        line = lines[min(earlier, len(lines) - 1)] if lines else None
        return BadSetting(f"{self.name}{f', line {line}' if line else ''}: {message}")


class _KeptFile(local):
    """The file that a server keeps to: for all of its threads, and for the one that is about to take over another."""

    for_all: ClassVar[list[File | None]] = []
    file: File | None = None
    is_new = False


_KEPT = _KeptFile()


def keep_file() -> None:
    """Keep to the file as it is now: a server opens sessions all the time, also while somebody writes into it."""
    _KEPT.for_all[:] = [_read_file()]


@contextmanager
def taking_over() -> Iterator[None]:
    """Read the file anew; where another one was kept, keep to this from here on, unless an error says it is wrong."""
    _KEPT.file, _KEPT.is_new = _read_file(), True
    try:
        yield
        if _KEPT.for_all:
            _KEPT.for_all[:] = [_KEPT.file]
    finally:
        _KEPT.file, _KEPT.is_new = None, False


def read_file() -> File | None:
    """The settings file, or None where there is none."""
    if _KEPT.is_new:
        return _KEPT.file
    return _KEPT.for_all[0] if _KEPT.for_all else _read_file()


def _read_file() -> File | None:
    named = os.environ.get("FANFOLD_CONFIG")
    path = named or NAME
    if not named and not os.path.exists(path):
        return None
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    import tomllib  # late: most programs have no settings file

    try:
        return File(os.path.basename(path), text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: Exception) -> BadSetting:
    name = os.path.basename(path)
    return BadSetting(f"{name} cannot be read: {error}. Correct the file, or name another in FANFOLD_CONFIG.")


def find_model(name: str) -> Model:
    """What is known about a model: from the settings file, from code, or from the table; else `UnknownModel`."""
    register_models()
    return models.find(name)


def register_models() -> None:
    """Make the models of the settings file known."""
    file = read_file()
    if file is not None:
        register(file)


def register(file: File) -> None:
    """Make the models of this file known; they go before the table."""
    for name, fields in file.table("models").items():
        model = _model(file, name, fields)
        if models.lookup(name) != model:
            models.register(model)


def _model(file: File, name: str, fields: Any) -> Model:
    known = [field for field in Model.__struct_fields__ if field != "name"]
    if not isinstance(fields, Mapping):
        raise file.wrong(f'"{name}" is a table: [models."{name}"].', "models", name)
    for field in fields:
        if field not in known:
            raise file.wrong(str(unknown("setting of a model", field, known)), "models", name, field)
    try:
        return msgspec.convert({"name": name, **with_numbers(fields)}, Model)
    except ValueError as error:
        found = re.search(r"at `\$\.(\w+)`", str(error))
        message = f'[models."{name}"]: {str(error).rstrip(".")}.'
        raise file.wrong(message, "models", name, *(found.groups() if found else ())) from error


def _places(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Every key of a TOML text, with the tables around it, and its line."""
    table: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        head, key = _HEAD.match(line), _KEY.match(line)
        if head:
            path = table = _parts(head[1])
            yield table, number
            continue
        if key:
            path = (*table, *_parts(key[1]))
            yield path, number
        yield from (((*path, *_parts(inner)), number) for inner in _INNER.findall(line))


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple("".join(found) for found in _PART.findall(dotted))
