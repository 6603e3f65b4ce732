"""What a call of a tool does, told by the shape of its arguments: clients call the same tool by many names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from fanfold.core.errors import BadArguments
from fanfold.core.message import Call

Args = dict[str, Any]

_PATHS = (
    "file_path",
    "filepath",
    "path",
    "filename",
    "file_name",
    "file",
    "notebook_path",
    "target_file",
    "uri",
)
_TEXTS = (
    "new_string", "newString", "new_str", "newText", "new_text", "content", "contents", "file_text", "insert_text",
    "replacement_text", "replacement", "replace", "new_source", "code_edit", "text",
)  # fmt: skip
_COMMANDS = ("command", "cmd", "code", "script", "bash_command", "commandLine")
_LOOKING = ("pattern", "query", "regex", "glob", "search_string", "include_pattern", "question")
"""Who has one of these looks for something, and does not read a file."""
_NOT_READING = re.compile(
    r"list|(?:^|_)ls|glob|grep|search|find|delete|remove|mkdir|move|rename|write|create", re.I
)
_ITEMS = ("content", "step", "title", "subject", "task", "description", "name", "text")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\+\+\+ (?:b/)?(\S+)", re.M)
_HEREDOC = re.compile(
    r"(?:\bcat|\btee)\s+(?:-a\s+)?(?:>{1,2}\s*)?(?P<path>[^\s<>|;&]+)\s*<<-?\s*['\"]?(?P<end>\w+)['\"]?[^\n]*\n"
    r"(?P<text>.*?)^\s*(?P=end)\s*$",
    re.M | re.S,
)
_IN_PLACE = re.compile(r"\bsed\s+-i\S*\s+(?:-\S+\s+)*(?:'[^']*'|\"[^\"]*\")\s+([^\s|;&<>]+)")
_WRAPPED = re.compile(r"\A(?:\S*/)?(?:ba|z)?sh\s+-l?c\s+(['\"])(.*)\1\s*\Z", re.S)
_SHOWING = re.compile(
    r"(?:^|&&|\|\||;|\n)\s*(?:cat|nl|bat|less|more|head|tail|sed\s+-n)\b([^|;&<>\n]*)(?![^|;&\n]*<<)"
)
_WORD = re.compile(r"'([^']*)'|\"([^\"]*)\"|(\S+)")


class FileChange(NamedTuple):
    """A file that a call creates or changes, and the text that it writes."""

    path: str
    text: str


def arguments(call: Call) -> Args:
    """The arguments, or none if the model wrote something else than an object."""
    try:
        return call.args
    except BadArguments:
        return {"input": call.raw}


def command(args: Args) -> str | None:
    """The command that a call runs in a shell, or the code in an interpreter."""
    if any(isinstance(args.get(key), str) for key in (*_PATHS, "file_text")):
        return None  # an editor, whose `command` is `view` or `create`
    for key in _COMMANDS:
        match args.get(key):
            case str(text) if text.strip():
                return text
            case [*words] if words and all(isinstance(word, str) for word in words):
                return words[-1] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    return None


def bare(text: str) -> str:
    """A command without the shell that it was wrapped in."""
    found = _WRAPPED.match(text)
    return found[2] if found else text


def changes(name: str, args: Args) -> list[FileChange]:
    """The files that a call changes."""
    patches = [text for text in args.values() if isinstance(text, str) and _is_patch(text)]
    if patches:
        return [change for text in patches for change in _read_patch(text)]
    if listed := args.get("changes"):
        return [FileChange(path, "") for path in _paths_in(listed)]
    path = next((args[key] for key in _PATHS if isinstance(args.get(key), str)), None)
    texts = [args[key] for key in _TEXTS if isinstance(args.get(key), str)]
    if isinstance(args.get("edits"), list):
        texts += [text for edit in args["edits"] if isinstance(edit, dict) for text in _first(edit, _TEXTS)]
    if path is not None:
        makes = texts or re.match(r"(?i)create|write", name)
        return [FileChange(path, texts[0] if texts else "")] if makes else []
    ran = command(args)
    if ran is None:
        return [FileChange("", texts[0])] if texts and re.match(r"(?i)edit|insert|replace", name) else []
    return list(_by_shell(bare(ran)))


def _is_patch(text: str) -> bool:
    return "*** Begin Patch" in text or (
        "\n+++ " in text and "\n@@" in text and text.startswith(("---", "diff"))
    )


def _read_patch(text: str) -> Iterator[FileChange]:
    heads = list(_PATCHED.finditer(text))
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        body = text[head.end() : after.start() if after else None]
        added = [
            line[1:] for line in body.splitlines() if line.startswith("+") and not line.startswith("+++")
        ]
        yield FileChange((head[1] or head[2]).strip(), "\n".join(added))


def _paths_in(listed: Any) -> Iterable[str]:
    if isinstance(listed, dict):
        return [str(path) for path in listed]
    return [one["path"] for one in listed if isinstance(one, dict) and isinstance(one.get("path"), str)]


def _by_shell(text: str) -> Iterator[FileChange]:
    made = [FileChange(found["path"].strip("'\""), found["text"]) for found in _HEREDOC.finditer(text)]
    made += [FileChange(found[1].strip("'\""), "") for found in _IN_PLACE.finditer(text)]
    yield from (one for one in made if "$" not in one.path)  # nobody knows what a variable stands for


def reads(name: str, args: Args) -> list[str]:
    """The files that a call shows."""
    ran = command(args)
    if ran is not None:
        return [path for found in _SHOWING.finditer(bare(ran)) for path in _files(found[1])]
    if changes(name, args) or any(args.get(key) for key in _LOOKING) or _NOT_READING.search(name):
        return []
    return [args[key] for key in _PATHS if isinstance(args.get(key), str)][:1]


def _files(words: str) -> Iterator[str]:
    """What looks like the name of a file among the words behind a command."""
    for quoted, double, plain in _WORD.findall(words):
        word = quoted or double or plain
        if (
            re.search(r"[./]", word)
            and not re.match(r"-|\d|\$|2>", word)
            and " " not in word
            and "*" not in word
        ):
            yield word


def plan(args: Args) -> list[str] | None:
    """The items of a whole plan: a list of things that each have a text and a state."""
    for value in args.values():
        if isinstance(value, list) and value and all(map(_has_state, value)):
            return [text for one in value for text in _first(one, _ITEMS)] or None
    return None


def _has_state(one: Any) -> bool:
    return isinstance(one, dict) and ("status" in one or "state" in one)


def task(name: str, args: Args) -> str | None:
    """The one item that a call adds to a plan."""
    added = re.search(r"(?i)task|todo", name) and "prompt" not in args and "status" not in args
    return next(iter(_first(args, ("subject", "title"))), None) if added else None


def _first(args: Args, keys: Iterable[str]) -> list[str]:
    """The first text that stands under one of these keys."""
    return [args[key] for key in keys if isinstance(args.get(key), str) and args[key].strip()][:1]
