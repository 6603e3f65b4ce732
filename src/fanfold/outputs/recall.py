"""The recall tools, with which a model looks up what it no longer sees: their schemas and their answers.

Their names, and the placeholder that refers to them, are in `core/edit.py`, because the view has to know a call of
theirs. An answer is bounded and says how to get more; whatever a model asks for, it gets a text that it can act on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from fanfold.core.edit import GREP, READ, RECALL, SEARCH
from fanfold.core.errors import BadInput, FanfoldError, TooSlow, unknown
from fanfold.core.message import Call
from fanfold.dialects.registry import DIALECTS
from fanfold.dialects.tools import Function
from fanfold.dialects.tools import write as write_tools
from fanfold.outputs.grep import TIMEOUT, Hit, Patience
from fanfold.outputs.output import Output
from fanfold.text.cutting import bytes_of

T = TypeVar("T")
MOST_BYTES = 24 * 1024
"""An answer stays below the size at which outputs are clipped."""
WIDTH = 2_000
LINES, HITS, FOUND = 200, 50, 30
MOST_LINES, MOST_CONTEXT = 2_000, 50
COUNTED = 10_000
"""At most this many hits beyond those that are shown are counted."""
SECONDS = TIMEOUT
"""A search takes no longer; then it answers with what it found so far, and says so."""

_TEXT, _WHOLE = {"type": "string"}, {"type": "integer"}


def _tool(name: str, text: str, properties: dict[str, Any], required: list[str]) -> Function:
    return Function(name, text, {"type": "object", "properties": properties, "required": required})


# They stand in every request, so they say no more than a model needs to begin: answers and errors tell the rest. What
# is not offered is understood all the same: `limit` everywhere, `before`, `after` and `ignore_case` of a search.
FUNCTIONS = (
    _tool(
        READ,
        "Read lines of what was trimmed from this conversation, by its ref.",
        {"ref_id": _TEXT, "offset": _WHOLE, "limit": _WHOLE},
        ["ref_id"],
    ),
    _tool(
        GREP, "Search one ref for an RE2 pattern.", {"ref_id": _TEXT, "pattern": _TEXT}, ["ref_id", "pattern"]
    ),
    _tool(SEARCH, "Search all refs.", {"pattern": _TEXT, "offset": _WHOLE}, ["pattern"]),
)


def definitions(dialect: str = "openai.chat") -> tuple[dict[str, Any], ...]:
    """The tools as a dialect defines them: `openai.chat`, `openai.responses`, `anthropic`, `gemini`."""
    if dialect not in DIALECTS:
        raise unknown("dialect", dialect, DIALECTS)
    return write_tools(FUNCTIONS, dialect)[0]


def answer(
    name: str,
    arguments: Mapping[str, Any],
    find: Callable[[str], Output],
    every: Callable[[], Iterable[Output]],
) -> str:
    """What a tool answers; never an exception for anything that a model asks."""
    try:
        if name == READ:
            return _read(_find_text(find, arguments), arguments)
        if name == GREP:
            return _grep(_find_text(find, arguments), arguments)
        if name == SEARCH:
            return _search(every(), arguments)
    except FanfoldError as error:
        return str(error)
    return f"There is no tool {name[:80]!r} here; there are {', '.join(sorted(RECALL))}."


def is_search(call: object) -> bool:
    """Whether a call asks for a search, which may take its time."""
    return isinstance(call, Call) and call.name in (GREP, SEARCH)


def ref_of(arguments: Mapping[str, Any]) -> str:
    """The reference that a model gave."""
    ref = arguments.get("ref_id")
    if not isinstance(ref, str) or not ref.strip():
        raise BadInput(f'Say which output with ref_id, for example {READ}(ref_id="o1").')
    return ref.strip().removeprefix("ref=")


def _find_text(find: Callable[[str], Output], arguments: Mapping[str, Any]) -> Output:
    """The output that a model asks for, if it is text."""
    output = find(ref_of(arguments))
    if not output.is_text:
        raise BadInput(
            f"{output.ref} is {output.media} of {output.size:,} bytes, no text: it cannot be read or searched here. "
            "If you need what is in it, run a tool that turns it into text."
        )
    return output


def _number(arguments: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    """A number that a model gave, perhaps as text, kept within bounds."""
    value = arguments.get(name)
    if value is None:
        return default
    try:
        number = int(float(value)) if isinstance(value, str) else int(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{name} is a whole number, not {str(value)[:40]!r}.") from None
    if number < least:
        raise BadInput(
            f"{name} is {str(number)[:40]}; it must be at least {least}. Leave it out for {default}."
        )
    return min(number, most)


def _read(output: Output, arguments: Mapping[str, Any]) -> str:
    offset = _number(arguments, "offset", 1, 1, 1 << 62)
    limit = _number(arguments, "limit", LINES, 1, MOST_LINES)
    if not output.size:
        return f"{output.ref} is empty: it has 0 lines."
    if offset > output.line_count:
        last = max(1, output.line_count - limit + 1)
        return f"{output.ref} has {output.line_count:,} lines; offset={last} reads the last ones."
    shown, room = list[str](), MOST_BYTES
    for number, line in enumerate(output.lines(offset, limit, longest=4 * (WIDTH + 1)), offset):
        cut = f"{line[:WIDTH]} [… line cut; search it with {GREP}]" if len(line) > WIDTH else line
        room -= bytes_of(f"{number:>6}\t{cut}") + 1
        if room < 0 and shown:
            break
        shown.append(f"{number:>6}\t{cut}")
    end = offset + len(shown) - 1
    more = f"; offset={end + 1} reads on" if end < output.line_count else ""
    return "\n".join([*shown, f"[{output.ref}: lines {offset:,} to {end:,} of {output.line_count:,}{more}]"])


def _grep(output: Output, arguments: Mapping[str, Any]) -> str:
    limit = _number(arguments, "limit", HITS, 1, MOST_LINES)
    before, after = (_number(arguments, name, 0, 0, MOST_CONTEXT) for name in ("before", "after"))
    pattern, ignore_case = _pattern(arguments)
    late: list[str] = []
    found = output.grep(
        pattern, before, after, limit + 1, ignore_case, width=WIDTH, timeout=Patience(SECONDS)
    )
    lines = _list_hits(output, _in_time(found, late), limit, before, after)
    if late:
        return "\n".join([*lines[:-1], f"[{output.ref}: {len(lines[:-1]):,} lines found so far. {late[0]}]"])
    return (
        "\n".join(lines) or f"Nothing in {output.ref} ({output.line_count:,} lines) matches.{_hint(pattern)}"
    )


def _in_time(hits: Iterator[T], late: list[str]) -> Iterator[T]:
    """The hits that are found while there is time; what to say if it ended first is put into `late`."""
    try:
        yield from hits
    except TooSlow as error:
        late.append(str(error))


def _hint(pattern: str) -> str:
    """Why a pattern can find nothing."""
    return " A match lies within one line." if "\n" in pattern or "\\n" in pattern else ""


def _list_hits(output: Output, hits: Iterable[Hit], limit: int, before: int, after: int) -> list[str]:
    """The hits as lines, and a last line that says how many there are; nothing where there are none."""
    shown: list[str] = []
    room, found, last, until = MOST_BYTES, 0, 0, 0
    for hit in hits:
        line = f"{hit.line}{':' if hit.match else '-'}{hit.text}"
        room -= bytes_of(line) + 1
        beyond = found == limit and (hit.match or hit.line > until)
        if beyond or (room < 0 and shown):
            higher = "raise limit, " if room >= 0 and limit < MOST_LINES else ""
            more = (
                f"[{output.ref}: the first {found:,} hits, there is more after line {last:,}: make the pattern "
                f'narrower, {higher}or read on with {READ}(ref_id="{output.ref}", offset={last + 1})]'
            )
            return [*shown, more]
        if (before or after) and last and hit.line > last + 1:
            shown.append("--")
        shown.append(line)
        found, last = found + hit.match, hit.line
        until = hit.line + after if hit.match else until
    return [*shown, f"[{output.ref}: {found:,} hits in {output.line_count:,} lines]"] if shown else []


def _pattern(arguments: Mapping[str, Any]) -> tuple[str, bool]:
    """What a model looks for, and whether it ignores case."""
    pattern = arguments.get("pattern")
    if not isinstance(pattern, str) or not pattern:
        raise BadInput("Say what to look for with pattern, a regular expression.")
    return pattern, str(arguments.get("ignore_case", "")).lower() in ("true", "1", "yes")


def _search(every: Iterable[Output], arguments: Mapping[str, Any]) -> str:
    limit = _number(arguments, "limit", FOUND, 1, MOST_LINES)
    offset = _number(arguments, "offset", 1, 1, 1 << 62)
    pattern, ignore_case = _pattern(arguments)
    data, late = list[str](), list[str]()
    hits = _in_time(_search_all(every, pattern, ignore_case, data), late)
    before = sum(1 for _ in islice(hits, offset - 1))
    shown: list[str] = []
    room, more = MOST_BYTES, 0
    for line in hits:
        room -= bytes_of(line) + 1
        if len(shown) == limit or (room < 0 and shown):
            more = 1 + sum(1 for _ in islice(hits, COUNTED))
            break
        shown.append(line)
    unread = f" {', '.join(data[:12])}: no text, not searched." if data else ""
    if late:
        return "\n".join([*shown, f"[{len(shown):,} hits so far as ref:line:text. {late[0]}{unread}]"])
    if not shown and before:
        return f"There are {before:,} hits; offset={offset} is past the last of them.{unread}"
    if not shown:
        return f"Nothing in the outputs of this conversation matches.{_hint(pattern)}{unread}"
    return "\n".join([*shown, f"[{_count(before, len(shown), more)}. {READ} shows what is around.{unread}]"])


def _search_all(every: Iterable[Output], pattern: str, ignore_case: bool, data: list[str]) -> Iterator[str]:
    """The hits in all outputs, as text; the references of those that are none are put into `data`."""
    patience = Patience(SECONDS)
    for output in every:
        if not output.is_text:
            data.append(output.ref)
            continue
        for hit in output.grep(pattern, ignore_case=ignore_case, width=WIDTH // 4, timeout=patience):
            yield f"{output.ref}:{hit.line}:{hit.text}"


def _count(before: int, shown: int, more: int) -> str:
    """Which hits are shown, how many there are, and how to get the others."""
    first, last = before + 1, before + shown
    if not before and not more:
        return f"{shown:,} hits as ref:line:text"
    total = f"{last + more:,}" if more <= COUNTED else f"more than {last + COUNTED:,}"
    way_out = f"; offset={last + 1} shows the next, a narrower pattern fewer" if more else ""
    return f"hits {first:,} to {last:,} of {total} as ref:line:text{way_out}"
