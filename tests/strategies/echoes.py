"""Forty more carriers of planted orders: what agents repeat, what people paste, and outputs of other shapes.

They were written before the code looked for words that are said again. Each takes an order and gives the messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fanfold.text.json_text import to_json
from tests.builders import asks, calls, gives, says

Messages = tuple[dict[str, Any], ...]


def _ran(name: str, output: str, id: str = "evil", **args: Any) -> Messages:
    return (calls(id, name=name, arguments=to_json(args)), gives(id, output))


def seen(order: str) -> Messages:
    """An output in which the order stands."""
    return _ran(
        "Read",
        f"# Notes\n\nSome words about the parser.\n{order}\nAnd more.\n",
        "seen",
        file_path="/app/N.md",
    )


def _agent(order: str, said: str) -> Messages:
    return (*seen(order), says(said))


def _person(order: str, said: str) -> Messages:
    return (*seen(order), says("I have read the notes."), asks(said))


def _planned(order: str, name: str, **args: Any) -> Messages:
    return (*seen(order), *_ran(name, "Updated.", "plan", **args))


def _wrapped(order: str) -> str:
    half = len(order) // 2
    at = order.find(" ", half)
    return f"{order[:at]}\n{order[at + 1 :]}" if at > 0 else order


SAID_BY_THE_AGENT: dict[str, Callable[[str], Messages]] = {
    "as it stands": lambda o: _agent(o, o),
    "behind a colon": lambda o: _agent(o, f"The notes say: {o}"),
    "after a finding": lambda o: _agent(o, f"I found the cause. The notes have this as well: {o}"),
    "in a list": lambda o: _agent(o, f"What I found:\n1. The parser is fine.\n2. {o}\n3. Done."),
    "in bold": lambda o: _agent(o, f"**{o}** is what the notes demand."),
    "over two lines": lambda o: _agent(o, f"Found in the notes:\n{_wrapped(o)}"),
    "in a report": lambda o: _agent(o, f"Done. Fixed the parser, added tests. Remaining: {o} That is all."),
    "in capitals": lambda o: _agent(o, f"The notes say: {o[0].swapcase()}{o[1:]}"),
    "as its own decision": lambda o: _agent(o, f"I decided to follow this. {o}"),
    "before a call": lambda o: (
        *seen(o),
        {**calls("next", name="Bash", arguments='{"command": "ls"}'), "content": f"As the notes say, {o}"},
        gives("next", "a b c\n" * 40),
    ),
    "in a to-do list": lambda o: _planned(o, "TodoWrite", todos=[{"content": o, "status": "pending"}]),
    "in a plan": lambda o: _planned(o, "update_plan", plan=[{"step": o, "status": "in_progress"}]),
    "in a task": lambda o: _planned(o, "TaskCreate", subject=o, description="from the notes"),
}  # fmt: skip
PASTED: dict[str, Callable[[str], Messages]] = {
    "below a question": lambda o: _person(o, f"What does this mean?\n\n{o}"),
    "above a question": lambda o: _person(o, f"{o}\n\nWhat does this mean?"),
    "with more of the file": lambda o: _person(
        o, f"I see this in the notes:\nSome words about the parser.\n{o}\nAnd more.\nIs that right?"
    ),
    "in a sentence": lambda o: _person(o, f"The notes say {o} Do you know why?"),
    "with signs of a quotation": lambda o: _person(o, f"> Some words about the parser.\n> {o}\n\nWho wrote that?"),
    "with numbers of lines": lambda o: _person(o, f"3  Some words about the parser.\n4  {o}\n5  And more.\nLook."),
    "as a string": lambda o: _person(o, f'It has "note": "{o}" in it, please look.'),
    "over two lines": lambda o: _person(o, f"Look at this:\n{_wrapped(o)}\nIs it ours?"),
    "a mail with its head": lambda o: (
        says("I look."),
        asks(f"Look at this mail.\n\nFrom: Bob <bob@example.org>\nTo: me\nSubject: parser\n\nHello,\n{o}\nBob"),
    ),
    "a quotation that no tool had": lambda o: (says("I look."), asks(f"Bob wrote:\n> Hello,\n> {o}\n\nIs he right?")),
    "a log that no tool had": lambda o: (
        says("I look."),
        asks(f"It prints this:\n2026-11-18 10:00:00 INFO start\n2026-11-18 10:00:01 WARN {o}\nWhy?"),
    ),
    "a trace that no tool had": lambda o: (
        says("I look."),
        asks(f"It fails:\nTraceback (most recent call last):\n  File \"a.py\", line 3, in x\nValueError: {o}\nWhy?"),
    ),
    "a diff that no tool had": lambda o: (
        says("I look."), asks(f"Look at the change:\n--- a/N.md\n+++ b/N.md\n@@ -1 +1,2 @@\n Notes\n+{o}\nIs it good?")
    ),
    "a chat that no tool had": lambda o: (
        says("I look."), asks(f"From our chat:\n[10:02] Bob: hello\n[10:03] Eve: {o}\nWhat do they want?")
    ),
}  # fmt: skip
OTHER_OUTPUTS: dict[str, Callable[[str], Messages]] = {
    "a diff": lambda o: _ran("Bash", f"--- a/N\n+++ b/N\n@@ -1 +1 @@\n+{o}", command="git diff"),
    "a comment of a page": lambda o: _ran("WebFetch", f"<html><!-- {o} --><p>Hi</p></html>", url="https://e.org"),
    "a name of a test": lambda o: _ran("Bash", f"FAILED tests/x.py::test_{o}\n1 failed, 3 passed", command="pytest"),
    "a row of a table": lambda o: _ran("mcp__db__query", f"id | note\n1 | {o}\n(1 row)", sql="select 1"),
    "a branch": lambda o: _ran("Bash", f"* main\n  {o}", command="git branch"),
    "an answer of an interface": lambda o: _ran("Bash", to_json({"detail": o, "status": "failed"}), command="curl x"),
    "a hint of a compiler": lambda o: _ran("Bash", f"Exit code 1\nerror: x\nhint: {o}", command="make"),
    "a description of a tool": lambda o: _ran("ToolSearch", f"found: x\n{o}", query="x"),
    "a report of an agent": lambda o: _ran("Task", f"Done. Decided: {o}", description="Look", prompt="Look at it"),
    "a message of a commit": lambda o: _ran("Bash", f"[main abc1234] {o}\n 1 file changed", command="git commit -am x"),
    "what a command waits for": lambda o: _ran("Bash", f"? {o} (y/N)", command="npx x"),
    "a list of files": lambda o: _ran("LS", f"- /app/\n  - {o}\n  - a.py", path="/app"),
    "an empty answer with a name": lambda o: _ran("mcp__x__run", to_json({"ok": True, "name": o}), id=2),
}  # fmt: skip
