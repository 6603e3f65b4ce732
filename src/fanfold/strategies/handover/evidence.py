"""Evidence: how a call ended, as far as something shows it.

An error flag, an exit code, a status field and the answer of a known tool are evidence; a word in a text is none. What
is not known stays unknown: most outputs do not say how they ended, and nothing is said of those.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from fanfold.core.message import Result
from fanfold.strategies.handover.tools import Use
from fanfold.text.cutting import short
from fanfold.text.patterns import pattern

_ENDS = 600
"""Characters of an answer, from each end, where tools say how they ended."""
_CODE = pattern(
    r"^(?:Error: )?Exit code:? (-?\d+)\s*$|^Process exited with code (-?\d+)\s*$|^Exit Code: (-?\d+)\s*$|"
    r"^\[?The command completed with exit code (-?\d+)\.?\]?\s*$|^\[Command finished with exit code (-?\d+)\]\s*$|"
    r"^<returncode>(-?\d+)</returncode>\s*$|^<exited with exit code (-?\d+)>\s*$|"
    r"^Command (?:exited|failed) with (?:exit )?code:? (-?\d+)\s*$",
    8 | 2,
)
_REFUSED = pattern(
    r"\A(?:<tool_use_error>|The user doesn't want to (?:proceed|take this action)|\[Request interrupted by user|"
    r"String to replace not found|No replacement was performed|Permission to use \S+ (?:with|has been denied)|"
    r"Error(?: executing| calling| editing| writing| reading)?\b.{0,40}:|MCP error |InputValidationError|"
    r"Failed to (?:edit|apply|find|read|write|execute|create)\b|apply_patch verification failed|"
    r"(?:File|Directory|Path) (?:does not exist|not found)|Request failed with status code \d|Entity not found)"
)
_SAID = "the user said:"
_WORDS = pattern(rf"{_SAID}\s*(\S[^\0]*)", 2)
"""What a client puts before the words with which a person refuses a call."""
_LONGEST = 1_500
"""Characters of an answer that may be nothing but a refusal."""
_DONE = pattern(
    r"\A(?:The file \S.{0,300}? has been (?:updated|created|edited)|File (?:created|written|edited|updated)|"
    r"Success(?:fully)?\b|Applied\b|Wrote\b|Todos have been modified|Plan updated|Task #\d+ created|Updated task #\d+|"
    r"Edit applied|Done!|Exit code: 0\b|Created\b|Replaced\b)"
)
_CHECK = pattern(
    r"(?:^|[\s;&|(])((?:\S*/)?(?:pytest|py\.test|tox|nox|jest|vitest|mocha|ava|karma|cypress|playwright|tsc|vue-tsc|"
    r"eslint|biome|oxlint|mypy|pyright|ruff|flake8|pylint|rspec|phpunit|rubocop|golangci-lint|ctest|shellcheck)\b|"
    r"python[\d.]* -m (?:pytest|unittest|mypy|ruff)\b|"
    r"(?:npm|pnpm|yarn|bun|deno|npx|bunx|uv|poetry|pdm|hatch|mise|just|make|task|rake|composer)"
    r"(?: (?!install\b|i\b|add\b|ci\b)[\w@:./=-]+){0,4}? "
    r"[\w:.-]*(?:test|tests|build|lint|typecheck|type-check|check|compile|verify|pytest|jest|vitest|tsc|ruff|mypy)\b|"
    r"cargo (?:\+\S+ )?(?:test|build|check|clippy|fmt|nextest)|go (?:test|build|vet)|"
    r"(?:mvn|\./mvnw|gradle|\./gradlew|dotnet|swift|bazel|sbt|zig|flutter|mix) [\w: -]{0,30}?"
    r"(?:test|build|check|verify|compile|package))"
)
_COUNTS = (
    (
        pattern(r"\b\d+ (?:passed|failed|errors?)\b.*\bin [\d.:]+ ?(?:s|ms|m|seconds)\b|^test result: "),
        ("passed", "failed", "error", "test result: "),
    ),
    (pattern(r"^\s*(?:Tests?|Test Files|Test Suites)\s*:?\s+.*\d"), ("Test",)),
    (
        pattern(r"^(?:FAIL|ok|FAILED|OK)\b[\s(:].*|^(?:OK|FAIL|PASS)\s*$|^Ran \d+ tests?"),
        ("FAIL", "ok", "OK", "PASS", "Ran "),
    ),
    (
        pattern(
            r"\bFound \d+ (?:errors?|warnings?|problems?|issues?)|All checks passed|no issues found|"
            r"\d+ problems? \("
        ),
        ("Found ", "All checks passed", "no issues found", "problem"),
    ),
    (
        pattern(
            r"^\W*\d+ (?:pass(?:ed|ing)?|fail(?:ed|ing|ures?)?|tests?|specs?|examples?|errors?|warnings?|issues?|件)\b"
        ),
        ("pass", "fail", "test", "spec", "example", "error", "warning", "issue", "件"),
    ),
    (
        pattern(
            r"\berror TS\d+|^error(?:\[\w+\])?:|\bBUILD (?:SUCCESS|FAIL)\w*|Compiled successfully|\bbuilt in \d|"
            r"^Checked \d+ files? in |: Exited with code \d+$"
        ),
        ("error", "BUILD ", "Compiled", "built in ", "Checked ", "Exited"),
    ),
)
"""What checks write about how they ended, the clearest first; each with words of which one is in it: to look for
those first is quick."""
_BAD = pattern(
    r"\b([1-9]\d*) (?:failed|failing|failures?|errors?|fail)\b|^(?:FAIL|FAILED)\b|\berror TS\d+|BUILD FAIL|"
    r"^[1-9]\d* issues?\b|: Exited with code [1-9]"
)
_GOOD = pattern(
    r"\b\d+ (?:passed|passing|pass)\b|^test result: ok|^(?:OK|ok|PASS)\b|All checks passed|no issues found|"
    r"BUILD SUCCESS|Compiled successfully|^0 issues\.?$|^Checked \d+ files? in .*No fixes applied|: Exited with code 0$"
)
_APART = pattern(r"^\s*(\d+) fail(?:ed)?\s*$", 8)
"""How a runner that says on a line of its own how many tests it ran says how many failed."""
_SAVES = pattern(r"\bgit\b[^|;&\n]{0,80}\b(?:commit|push|merge)\b")
"""A command that records what was finished."""
_SAVED = pattern(
    r"^\[[^\]\n]{1,200} [0-9a-f]{7,40}\] \S|^\s+(?:[0-9a-f]{7,40}\.\.[0-9a-f]{7,40}|\* \[new branch\])\s+\S+ -> \S+",
    8,
)
"""What git writes when it did so; where it fails, it writes neither."""
_ERROR = pattern(
    r"error|fail|fatal|exception|panic|cannot|can't|could not|not found|no such|denied|invalid|undefined|unexpected|"
    r"unknown|missing|conflict|timed? ?out|refused|unable|エラー|失敗|見つかりません|できません",
    2,
)
"""What stands in the line that says what went wrong; it is looked for only where something did."""
_BESIDE = pattern(r"(?:Error: )?Exit code|[$>] |\(pass\)|✓|✔|PASS\b|ok\b|Tests?:|Test Suites:")
"""Lines around a failure: its code, the command repeated, what went well, and the counts."""
ANSI = pattern(r"\x1b\[[0-9;?]*[A-Za-z]")
_HEADER = pattern(
    r"\A(?:(?:Chunk ID|Wall time|Process (?:exited|running)|Original token count|Exit code|Total output lines|"
    r"Error: Exit code)\b.*\n|Output:\n)+"
)
_WIDTH = 200


class Ended(msgspec.Struct, frozen=True, gc=False):
    """How a call ended, as far as it is known."""

    ok: bool | None = None
    code: int | None = None
    line: str = ""
    """A line of the output, verbatim, that says how it ended."""
    check: str = ""
    """The test, build or lint run that it was, if it was one."""
    counted: bool = False
    """Whether only the check's own count says so: behind a pipe, the exit code is that of another program."""
    error: str = ""
    """The line that says what went wrong."""


def ended(result: Result, use: Use | None) -> Ended:
    """How a call ended."""
    text = ANSI.sub("", result.text) if "\x1b" in result.text[:4_000] else result.text
    fields = _fields(text)
    code = _code(text, fields) if use is None or use.kind in ("shell", "patch", "other") else None
    failed = (
        result.error
        or _refuses(text, use)
        or (code is not None and code != 0)
        or fields.get("failed") is True
    )
    check = check_of(use.subject) if use is not None and use.kind == "shell" else ""
    if check:
        return _check_ended(check, body(text), code, failed, use.subject if use else "")
    if failed:
        return Ended(False, code, error=error_line(body(text)))
    done = (
        code == 0
        or (is_saving(use) and _SAVED.search(text[-4_000:]) is not None)
        or fields.get("failed") is False
        or (use is not None and _changes(use) and bool(_DONE.match(text)))
    )
    return Ended(True if done else None, code)


def is_refusal(how: Ended) -> bool:
    """Whether a person refused a call and said why."""
    return how.error.startswith(_SAID)


def refusal(how: Ended) -> str:
    """Why a person refused a call."""
    return how.error.removeprefix(_SAID).strip()


def is_saving(use: Use | None) -> bool:
    """Whether a call is to commit or push something."""
    return use is not None and use.kind == "shell" and _SAVES.search(use.subject) is not None


def _changes(use: Use) -> bool:
    return bool(use.changes) or use.kind in ("write", "edit", "patch", "plan", "delete", "move")


def _check_ended(check: str, text: str, code: int | None, failed: bool, command: str) -> Ended:
    """How a check ended: its own count says so; behind a pipe the exit code is somebody else's."""
    line = count_line(text)
    hidden = code is None or (code == 0 and any(sign in command for sign in ("|", ";")))
    if failed:
        return Ended(False, code, line, check, error=error_line(text))
    apart = _APART.search(text[-2_000:]) if line.startswith("Ran ") else None
    bad, good = bool(line and _BAD.search(line)), bool(line and _GOOD.search(line))
    if apart is not None:
        bad, good = apart[1] != "0", apart[1] == "0"
    if bad or good:
        error = error_line(text) if bad else ""
        return Ended(not bad, None if hidden else code, line, check, counted=hidden, error=error)
    return Ended(None if hidden else True, None if hidden else code, line, check)


def check_of(command: str) -> str:
    """The part of a command that runs a test, a build or a lint, by which two runs are told to be the same check."""
    head = command[:1_000].partition("<<")[0]
    found = _CHECK.search(head)
    if found is None:
        return ""
    rest = head[found.start(1) :]
    for sign in ("\n", " | ", " 2>", " && ", "; ", " || ", " >"):
        rest = rest.partition(sign)[0]
    return short(rest.replace(" -- ", " ").strip().rstrip("|&;\"'"), 80)


def body(text: str) -> str:
    """What a command wrote, without what its client wrote before it."""
    return text[_HEADER.match(text).end() :] if _HEADER.match(text) else text  # type: ignore[union-attr]


def count_line(text: str) -> str:
    """The last line in which a check says how many passed or failed; of several parts, one that failed says more."""
    lines = [line.strip() for line in text[-20_000:].splitlines() if line.strip()][-400:]
    whole = "\n".join(lines)
    for shape, words in _COUNTS:
        some = [word for word in words if word in whole]
        may_tell = [line for line in lines if any(map(line.__contains__, some))] if some else []
        if found := [line for line in may_tell if shape.search(line[:400])]:
            return short(
                next((line for line in reversed(found) if _BAD.search(line)), found[-1]).strip("= "), _WIDTH
            )
    return ""


def error_line(text: str) -> str:
    """The line of a failed output that says what went wrong: the first that tells of it, of a traceback the last."""
    inner = text.replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    if _REFUSED.match(text):
        words = _WORDS.search(inner[:_LONGEST])
        return short(words[0] if words else inner.strip().partition("\n")[0], _WIDTH)
    lines = [line.strip() for line in (*inner[:8_000].splitlines(), *inner[8_000:][-8_000:].splitlines())]
    lines = [line for line in lines if len(line) > 3 and not _BESIDE.match(line)]
    found = [line for line in lines if _ERROR.search(line[:400])]
    trace = any(line.startswith("Traceback (most recent") for line in lines)
    line = (found[-1] if trace else found[0]) if found else (lines[-1] if lines else "")
    return short(line, _WIDTH)


def _refuses(text: str, use: Use | None) -> bool:
    """Whether an answer is nothing but a tool's own refusal; a shell's output may begin with any words."""
    if use is None or len(text) > _LONGEST or not _REFUSED.match(text):
        return False
    return use.kind != "shell" or text.startswith(
        ("<tool_use_error>", "The user doesn't want to", "[Request interrupted")
    )


def _code(text: str, fields: dict[str, Any]) -> int | None:
    """The exit code that a client wrote before or behind an output."""
    if isinstance(fields.get("code"), int):
        return int(fields["code"])
    found = _codes(text[:_ENDS])[:1] or _codes(text[-_ENDS:])[-1:]
    return found[0] if found else None


def _codes(text: str) -> list[int]:
    """The exit codes that a text tells of; most tell of none, which is quick to see."""
    found = _CODE.findall(text) if "code" in text.lower() else []
    return [int("".join(groups)) for groups in found]


def _fields(text: str) -> dict[str, Any]:
    """What the fields of an answer say about its end, where it is a JSON object of a tool's own."""
    if text[:1] != "{" or len(text) > 200_000:
        return {}
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return {}
    return dict(_said(value)) if isinstance(value, dict) else {}


def _said(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    meta = value.get("metadata")
    for some in (value, meta if isinstance(meta, dict) else {}):
        code = some.get("exit_code", some.get("exitCode", some.get("returncode")))
        if isinstance(code, int) and not isinstance(code, bool):
            yield "code", code
        if some.get("success") is False or some.get("isError") is True or some.get("ok") is False:
            yield "failed", True
        elif some.get("success") is True or some.get("ok") is True:
            yield "failed", False
