"""Steps: each call of a tool with what came of it, and how it ended as far as there is evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from fanfold.core.message import Call, Message, Result
from fanfold.replay.trail import acts

_HEAD = re.compile(r"\A(?:Chunk ID: |Exit code: |Wall time: )[^\0]{0,400}?^Output:\n?", re.M)
"""What Codex writes above an output."""
_CODE = re.compile(
    r"\A(?:Error: )?[Ee]xit [Cc]ode:? (\d+)|\A(?:[^\n]*\n){0,4}Process exited with code (\d+)\n"
    r"|^Exit Code: (\d+)$|exit code (\d+)\.?\]\s*\Z|\"exit_code\":\s*(\d+)",
    re.M,
)
_FAILED = re.compile(
    r"\A\s*(?:<tool_use_error>|Error:|ERROR:|error: |apply_patch verification failed|Call id: \S+\s+Error:"
    r"|Ran into \[Errno|Invalid `\w+` parameter|Failed to |String to replace not found|File has not been read)"
)
_DONE = re.compile(
    r"has been (?:updated|created|modified)|created successfully|Success\. Updated"
    r"|(?i:modified successfully|successfully modified)|\A(?:completed|Plan updated)\s*\Z|\A\s*\d+(?:→|\t)"
)
_REFUSED = re.compile(r"\A(?:The user doesn't want to|\[Request interrupted|User rejected)")
_PIPED = re.compile(r"[^|]\|[^|]|\|\| *(?:true|:|echo)|;")
_SESSION = re.compile(r"running with session ID (\d+)")
_CUTTING = re.compile(r"</?tool_use_error>|<system-reminder>.*?</system-reminder>", re.S)


class Step(msgspec.Struct, frozen=True):
    """A call, and its result."""

    number: int
    """That of the message in which the result came, else the call."""
    call: Call
    args: acts.Args
    output: str
    """Without what a client writes around it."""
    ended: bool | None = None
    """Whether it went well; None if there is no evidence."""
    command: str | None = None
    """What it ran, or what it goes on to wait for."""


def steps(messages: Sequence[Message]) -> list[Step]:
    """The calls that were answered, in the order of their results."""
    calls: dict[str, Call] = {}
    running: dict[str, str] = {}
    found: list[Step] = []
    for number, message in enumerate(messages):
        calls.update({call.id: call for call in message.calls})
        for result in message.results:
            if call := calls.get(result.call):
                found.append(_step(number, call, result, running))
    return _by_their_fellows(found)


def _step(number: int, call: Call, result: Result, running: dict[str, str]) -> Step:
    args, text = acts.arguments(call), result.text
    command = acts.command(args)
    if command is None and "session_id" in args:
        command = running.get(str(args["session_id"]))
    if command and (waiting := _SESSION.search(text[:400])):
        running[waiting[1]] = command
    ended = _end_of(call.name, args, result)
    output = _CUTTING.sub("", _HEAD.sub("", text, count=1)).strip()
    return Step(
        number=number,
        call=call,
        args=args,
        output=output,
        ended=None if ended and _hides(command) else ended,
        command=command,
    )


def _hides(command: str | None) -> bool:
    """Whether the exit code is that of `tail` and its like, and tells nothing about what was run."""
    return command is not None and _PIPED.search(command) is not None


def _end_of(name: str, args: acts.Args, result: Result) -> bool | None:
    """By an error flag, an exit code, or the shape of a known answer; never by a word in a text."""
    text = result.text
    if _REFUSED.match(text):
        return None
    if result.error:
        return False
    if (code := _exit_code(text, args)) is not None:
        return code == 0
    if _FAILED.match(text):
        return False
    if _DONE.search(text[:300]) or (text.strip() and acts.reads(name, args) and not acts.command(args)):
        return True
    return None


def _exit_code(text: str, args: acts.Args) -> int | None:
    """What a client wrote above or below the output of a command; the output of a read may hold anything."""
    ran = acts.command(args) is not None or "session_id" in args or "input" in args
    ends = f"{text[:600]}\n{text[-600:]}" if len(text) > 1_200 else text
    found = _CODE.search(ends) if ran else None
    return int(next(code for code in found.groups() if code)) if found else None


def _by_their_fellows(found: list[Step]) -> list[Step]:
    """Where a tool's failures begin with their exit code, what does not went well."""
    telling = {
        step.call.name for step in found if step.ended is False and step.output.startswith("Exit code ")
    }
    return [
        msgspec.structs.replace(step, ended=True)
        if step.ended is None
        and step.call.name in telling
        and not _REFUSED.match(step.output)
        and not _hides(step.command)
        else step
        for step in found
    ]
