"""Tools: what a call does, told by its name and its arguments, whichever client offered the tool.

The table is data. A tool that is not in it is recognised by the shape of its arguments: a path and a text are a write,
a command is a shell. Users add their own names (`auto(tools={"run_sql": "shell"})`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from fanfold.core.errors import BadArguments, BadSetting
from fanfold.core.message import Call
from fanfold.text.json_text import to_json
from fanfold.text.patterns import pattern

KINDS = (
    "shell", "read", "write", "edit", "patch", "delete", "move", "search", "plan", "fetch", "agent", "ask", "think",
    "other",
)  # fmt: skip

_NAMES: dict[str, str] = {
    # Claude Code, Codex, Gemini CLI, opencode, OpenHands, SWE-agent, Copilot, Cline and Roo, MCP servers for files.
    "shell": "bash shell exec exec_command run_shell_command run_in_terminal terminal execute_bash execute_command "
    "local_shell run_command cmd run_terminal_cmd bash_output write_stdin powershell execute_ipython_cell "
    "python_interpreter python ipython run_code execute_code sandbox_exec container_exec",
    "read": "read read_file read_many_files view open cat view_file open_file get_file_contents read_text_file "
    "read_multiple_files notebook_read inspect_file_as_text goto scroll_up scroll_down view_image read_media_file",
    "write": "write write_file create create_file write_to_file save_file new_file create_or_update_file",
    "edit": "edit replace multi_edit multiedit edit_file str_replace insert append notebook_edit replace_in_file "
    "insert_edit_into_file replace_string_in_file search_replace insert_content apply_diff edit_notebook_file",
    "patch": "apply_patch patch applypatch",
    "delete": "delete delete_file remove remove_file",
    "move": "move move_file rename rename_file",
    "search": "grep glob search rg find ls list list_directory list_dir list_files search_files grep_search "
    "search_file_content file_search semantic_search codebase_search find_file search_dir search_file directory_tree "
    "list_code_usages find_on_page_ctrl_f codesearch search_code web_search websearch google_web_search tool_search",
    "plan": "todo_write todowrite update_plan write_todos task_create task_update update_todo_list manage_todo_list "
    "todo task_tracker set_plan exit_plan_mode plan_exit task_list task_get todo_read todoread",
    "fetch": "web_fetch webfetch fetch fetch_webpage visit_page web_browser_go browser_navigate http_request",
    "agent": "task agent delegate spawn_agent runsubagent sub_agent dispatch_agent call_agent skill",
    "ask": "ask_user_question question ask_followup_question request_user_input ask_user",
    "think": "think sequentialthinking sequential_thinking",
}
_PLAIN = pattern(r"[^a-z0-9]")
_SERVER = pattern(r".*(?:__|[./:])")
"""What stands before the name of a server's tool."""
TABLE: Mapping[str, str] = {
    _PLAIN.sub("", name): kind for kind, names in _NAMES.items() for name in names.split()
}
"""The kind of a tool by its name, in small letters and digits only."""

_PATHS = (
    "file_path", "path", "filePath", "filename", "file", "target_file", "notebook_path", "absolute_path",
    "relative_path", "file_name", "relative_workspace_path", "TargetFile", "AbsolutePath", "uri", "source",
)  # fmt: skip
_TEXTS = (
    "content", "file_text", "new_string", "newString", "new_str", "replacement", "replace", "text", "contents",
    "code_edit", "insert_text", "new_source", "CodeContent",
)  # fmt: skip
_OLDS = ("old_string", "oldString", "old_str", "search", "old_text", "oldText", "TargetContent")
_COMMANDS = ("command", "cmd", "script", "CommandLine", "code", "commands")
_QUERIES = (
    "pattern", "query", "regex", "search_term", "q", "search_string", "search_query", "keyword", "queries",
)  # fmt: skip
_SESSIONS = ("session_id", "bash_id", "shell_id")
_LISTS = ("todos", "plan", "items", "tasks", "todoList", "todo_list", "task_list")
_ITEM = ("content", "step", "title", "subject", "description", "text", "task", "name")
_WORDS = ("description", "prompt", "question", "task", "goal", "skill", "message", "thought", "questions")
_VERBS = {
    "view": "read", "create": "write", "str_replace": "edit", "insert": "edit", "undo_edit": "edit", "edit": "edit",
    "write": "write", "read": "read",
}  # fmt: skip
"""What the `command` of an editor with several of them says."""
_INSIDE = pattern(r"\A(?:/\S*/)?(?:bash|sh|zsh)\s+-l?c\s+(.*)\Z", 16)
_PATCHED = pattern(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$|^\*\*\* Move to: (.+?)\s*$", 8)
_MOST = 6_000
"""Characters of a text that are looked at for what it changes."""


class FileEdit(msgspec.Struct, frozen=True, gc=False):
    """What a call does to one file."""

    path: str
    verb: str
    """created, written, changed, deleted or moved."""
    new: str = ""
    """The text that is new, as far as it is looked at."""
    to: str = ""


class Use(msgspec.Struct, frozen=True, gc=False):
    """What a call does."""

    kind: str
    tool: str
    subject: str
    """What it is about: a command, a path, a pattern, an address, a question."""
    changes: tuple[FileEdit, ...] = ()
    plan: tuple[tuple[str, str], ...] = ()
    """The items of a plan, and the state of each, where it has one."""
    session: str = ""
    """The running command that it waits for or types into, by its number."""
    task: tuple[str, str, str] | None = None
    """One task of a list that is kept piece by piece: its number, what it is, its state."""
    at: str = ""
    """Where the call stands that changes files: `entry#part`."""

    def asks_for(self, handle: str) -> bool:
        """Whether it is about something that runs on."""
        return self.session == handle or handle in self.subject.split(", ")

    @property
    def path(self) -> str:
        """The file that is read or changed, if it is one."""
        return self.changes[0].path if self.changes else self.subject if self.kind == "read" else ""


class Tools(msgspec.Struct, frozen=True):
    """Names of tools that users add to the table, each with its kind."""

    added: tuple[tuple[str, str], ...] = ()

    def use(self, call: Call) -> Use:
        """What a call does."""
        try:
            args: Mapping[str, Any] = call.args
        except BadArguments:
            args = {"input": call.raw}
        kind = kind_of(call.name, self.added)
        verb = args.get("command")
        if isinstance(verb, str) and verb in _VERBS and _first(args, _PATHS):
            kind = _VERBS[verb]  # an editor with several commands
        return _use(kind or _shape(args), call.name, args)


@lru_cache(maxsize=256)  # a session has few tools, and calls them often
def kind_of(name: str, added: tuple[tuple[str, str], ...] = ()) -> str | None:
    """The kind of a tool, if its name is known: a server's name before it does not count."""
    plain = _PLAIN.sub("", name.lower())
    own = dict(added)
    last = _PLAIN.sub("", _SERVER.sub("", name.lower()))
    known = TABLE.get(plain) or TABLE.get(last)
    if known == "ask" and _SERVER.match(name.lower()):
        known = "other"  # only a client can ask the person: what a server answers is not the person's
    return own.get(plain) or own.get(last) or known


def is_clients_own(name: str) -> bool:
    """Whether a tool is one of a client, and not one of a server that was added to it."""
    return _SERVER.match(name.lower()) is None


def tools_with(added: Mapping[str, str] | None) -> Tools:
    """The table with names of a user's own."""
    for name, kind in (added or {}).items():
        if kind not in KINDS:
            raise BadSetting(f"The tool {name!r} is called {kind!r}; a kind is one of {', '.join(KINDS)}.")
    return Tools(tuple((_PLAIN.sub("", name.lower()), kind) for name, kind in (added or {}).items()))


def _shape(args: Mapping[str, Any]) -> str:
    """The kind of an unknown tool, by what it takes."""
    path, text = _first(args, _PATHS), _first(args, _TEXTS)
    if path and (_first(args, _OLDS) or text):
        return "edit" if _first(args, _OLDS) else "write"
    if any(_items(args.get(key)) for key in _LISTS):
        return "plan"
    if isinstance(args.get("url"), str):
        return "fetch"
    if _first(args, _QUERIES):
        return "search"
    return "shell" if _command(args) and not path else "other"


def _use(kind: str, tool: str, args: Mapping[str, Any]) -> Use:
    match kind:
        case "shell":
            return _shell(tool, args)
        case "write" | "edit" | "patch" | "delete" | "move":
            changes = tuple(_changes(kind, args))
            subject = ", ".join(dict.fromkeys(change.path for change in changes))
            return Use(kind, tool, subject or _told(args), changes)
        case "read":
            return Use(kind, tool, _first(args, _PATHS) or _told(args))
        case "search":
            where = _first(args, ("path", "dir", "directory", "include", "glob", "file_pattern"))
            said = _first(args, _QUERIES) or _first(args, ("file_name", "filename")) or ""
            return Use(kind, tool, " in ".join(filter(None, (said, where))) or _told(args))
        case "plan":
            return _planned(tool, args)
        case "fetch":
            return Use(kind, tool, _first(args, ("url", "uri")) or _told(args))
        case "agent" | "ask" | "think":
            return Use(kind, tool, _first(args, _WORDS) or _asked(args) or _told(args))
        case _:
            return Use("other", tool, _told(args))


def _shell(tool: str, args: Mapping[str, Any]) -> Use:
    command = _command(args) or ""
    if "*** Begin Patch" in command:
        changes = tuple(_patched(command))
        return Use("patch", tool, ", ".join(change.path for change in changes), changes)
    session = next((str(args[key]) for key in _SESSIONS if key in args), "")
    if not command and session:
        return Use("shell", tool, str(args.get("chars") or "").strip(), session=session)
    return Use("shell", tool, command)


def _command(args: Mapping[str, Any]) -> str:
    """The command of a shell, without the shell that runs it."""
    value = next((args[key] for key in _COMMANDS if args.get(key)), "")
    if isinstance(value, Sequence) and not isinstance(value, str):
        words = [str(word) for word in value]
        value = words[-1] if len(words) > 2 and words[1] in ("-c", "-lc") else " ".join(words)
    inside = _INSIDE.match(value) if isinstance(value, str) else None
    return (inside[1].strip().strip("\"'") if inside else value) if isinstance(value, str) else ""


def _changes(kind: str, args: Mapping[str, Any]) -> Iterator[FileEdit]:
    path = _first(args, _PATHS) or ""
    if kind == "patch" or "*** Begin Patch" in str(args.get("input") or args.get("patch") or ""):
        yield from _patched(
            next((str(args[key]) for key in ("input", "patch", "patchText", "diff") if args.get(key)), "")
        )
        yield from _listed(args.get("changes"))
    elif kind == "delete":
        yield FileEdit(path, "deleted")
    elif kind == "move":
        to = _first(args, ("destination", "to", "new_path", "target")) or ""
        yield FileEdit(path, "moved", to=to)
    elif kind == "write":
        yield FileEdit(path, "written", (_first(args, _TEXTS) or "")[:_MOST])
    elif path:
        edits = args.get("edits")
        some = [one for one in edits if isinstance(one, Mapping)] if isinstance(edits, list) else [args]
        new = "\n".join(_first(one, _TEXTS) or "" for one in some)
        yield FileEdit(path, "changed", new[:_MOST])


def _listed(changes: object) -> Iterator[FileEdit]:
    """The changes of a patch that names its files in a list or as the keys of an object."""
    if isinstance(changes, Mapping):
        verbs = {"add": "written", "update": "changed", "delete": "deleted", "create": "written"}
        for path, what in changes.items():
            kinds = what if isinstance(what, Mapping) else {}
            verb = next(
                (verbs[key] for key in kinds if key in verbs), verbs.get(str(kinds.get("type")), "changed")
            )
            yield FileEdit(str(path), verb, str(kinds.get("content") or "")[:_MOST])
    elif isinstance(changes, list):
        for one in changes:
            if isinstance(one, Mapping) and _first(one, _PATHS):
                verb = {"add": "written", "delete": "deleted"}.get(
                    str(one.get("kind") or one.get("type")), "changed"
                )
                yield FileEdit(_first(one, _PATHS) or "", verb, str(one.get("diff") or "")[:_MOST])


def _patched(patch: str) -> Iterator[FileEdit]:
    """The files of a patch, each with the lines that it adds."""
    verbs = {"Add": "written", "Update": "changed", "Delete": "deleted"}
    heads = list(_PATCHED.finditer(patch))
    for at, head in enumerate(heads):
        if head[3]:
            continue
        following = heads[at + 1] if at + 1 < len(heads) else None
        to = following[3] if following is not None and following[3] else ""
        end = following.start() if following is not None and not to else len(patch)
        if to and at + 2 < len(heads):
            end = heads[at + 2].start()
        body = patch[head.end() : end].split("\n")
        new = "\n".join(line[1:] for line in body if line.startswith("+"))
        yield FileEdit(head[2], verbs[head[1]] if not to else "moved", new[:_MOST], to or "")


def _planned(tool: str, args: Mapping[str, Any]) -> Use:
    for key in _LISTS:
        found = _items(args.get(key))
        if found:
            return Use("plan", tool, "", plan=tuple(found))
    number = str(args.get("taskId") or args.get("task_id") or args.get("id") or "")
    what = _first(args, ("subject", "title", "content")) or ""
    if number or what:
        return Use("plan", tool, what, task=(number, what, str(args.get("status") or "")))
    text = _first(args, ("plan", "todos", "task_list", "content")) or ""
    return Use(
        "plan",
        tool,
        "",
        plan=tuple((line.strip(" -*"), "") for line in text.splitlines() if line.strip())[:40],
    )


def _items(value: object) -> list[tuple[str, str]]:
    """The items of a list, each with its state, if it looks like a plan."""
    if not isinstance(value, list) or not value or not all(isinstance(one, Mapping) for one in value):
        return []
    return [(_first(one, _ITEM) or "", str(one.get("status") or one.get("state") or "")) for one in value]


def _asked(args: Mapping[str, Any]) -> str:
    """The first question of a list of them."""
    asked = args.get("questions")
    first = asked[0] if isinstance(asked, list) and asked else None
    return (_first(first, ("question", "header")) or "") if isinstance(first, Mapping) else ""


def _told(args: Mapping[str, Any]) -> str:
    """The values of a call, in short."""
    values = (value if isinstance(value, str) else to_json(value) for value in args.values())
    return ", ".join(value[:120] for value in values if value)[:400]


def _first(args: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    """The first of these values that is a text."""
    for key in keys:
        if key in args and (value := args[key]) and isinstance(value, str):
            return value
    return None
