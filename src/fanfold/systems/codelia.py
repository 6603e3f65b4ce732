"""codelia: tool outputs by reference, and compaction at 80 % (systems.md A), on its own dicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor
from typing import Any

from fanfold.core.budget import Budget
from fanfold.core.edit import GREP, READ, TRIMMED, with_ref
from fanfold.core.errors import NotFound
from fanfold.outputs.filters.clip import LINE, SIZE
from fanfold.outputs.output import Output
from fanfold.outputs.recall import answer
from fanfold.outputs.source import Held, encode
from fanfold.strategies.prompting import prompt, stripped, tagged, untagged, with_directives
from fanfold.text.json_text import to_json
from fanfold.tokens.models import find

Message = dict[str, Any]
THRESHOLD_RATIO = 0.8
RETAIN_LAST_TURNS = 1
SYSTEM = ("system", "developer")
"""The roles whose messages no compaction takes away."""
COUNTED = ("input_tokens", "output_tokens", "cache_creation_tokens", "cache_read_tokens")
"""The parts of a usage that are added up, where it has no total (A10)."""
TRIMMED_FOR_GOOD = "[tool output trimmed]"
REST = '[… the rest is kept: expand it with {tool}(ref_id="{ref}")]'


def estimate_tokens(text: str) -> int:
    """A quarter of the bytes, where there is no tokenizer (A1)."""
    return ceil(len(encode(text)) / 4)


def context_budget(context_window: int) -> int:
    """How many tokens tool outputs may take together: a quarter of the window, 20,000 to 60,000 (A1)."""
    return Budget(window=context_window).tool_share


def output_ref(id: str, content: str) -> dict[str, Any]:
    """The reference of an output (A2)."""
    lines = content.count("\n") + (not content.endswith("\n")) if content else 0
    return {"id": id, "byte_size": len(encode(content)), "line_count": lines}


def in_context_view(
    content: str, ref_id: str, *, max_message_bytes: int = SIZE, max_line_length: int = LINE
) -> str:
    """What is shown of an output: lines cut, the whole cut, and at the end where the rest is (A4)."""
    lines = "\n".join(line[:max_line_length] for line in content.split("\n"))
    data = encode(lines)
    shown = lines if len(data) <= max_message_bytes else data[:max_message_bytes].decode("utf-8", "ignore")
    if shown == content:
        return content
    return f"{shown}\n{REST.format(tool=READ, ref=ref_id)}"


def trim_tool_outputs(
    messages: Sequence[Message], budget: int, *, count: Callable[[str], int] = estimate_tokens
) -> list[Message]:
    """The messages with placeholders for the oldest outputs where together they exceed the budget (A5)."""
    kept: list[Message] = []
    spent = 0
    for message in reversed(messages):
        if message.get("role") == "tool":
            content = message.get("content") or ""
            spent += count(content if isinstance(content, str) else to_json(content))
            if spent > budget:
                message = {**message, "content": _placeholder(message.get("output_ref"))}
        kept.append(message)
    return kept[::-1]


def _placeholder(ref: Mapping[str, Any] | None) -> str:
    """What stands in the place of an output; one that has no reference cannot be expanded, and names none."""
    return with_ref(TRIMMED, ref["id"]) if ref else TRIMMED_FOR_GOOD


def tool_output_cache(
    outputs: Mapping[str, str], ref_id: str, offset: int | None = None, limit: int | None = None
) -> str:
    """Some lines of a kept output, with their numbers; lines are counted from 1 (A6)."""
    return _answer(outputs, READ, ref_id=ref_id, offset=offset, limit=limit)


def tool_output_cache_grep(
    outputs: Mapping[str, str],
    ref_id: str,
    pattern: str,
    *,
    before: int | None = None,
    after: int | None = None,
    limit: int | None = None,
    ignore_case: bool = False,
) -> str:
    """The lines of a kept output that match, with their numbers (A6)."""
    asked = {"before": before, "after": after, "limit": limit, "ignore_case": ignore_case}
    return _answer(outputs, GREP, ref_id=ref_id, pattern=pattern, **asked)


def _answer(outputs: Mapping[str, str], tool: str, **arguments: Any) -> str:
    def find_output(ref: str) -> Output:
        if ref not in outputs:
            raise NotFound(f"There is no output {ref!r}.")
        sized = output_ref(ref, outputs[ref])
        data = Held(encode(outputs[ref]))
        return Output(
            ref=ref, size=sized["byte_size"], line_count=sized["line_count"], media="text/plain", source=data
        )

    return answer(tool, arguments, find_output, lambda: map(find_output, outputs))


def context_limit(model: str, metadata: Mapping[str, Any] | None = None) -> int:
    """The input limit of a model: `max_input_tokens`, else `max_tokens`; `UnknownModel` without either (A11)."""
    for name in ("max_input_tokens", "max_tokens"):
        if metadata and metadata.get(name):
            return int(metadata[name])
    known = find(model)
    return known.max_input or known.window or 0


def threshold(limit: int, ratio: float = THRESHOLD_RATIO) -> int:
    """The usage at which a compaction is due (A11)."""
    return floor(limit * ratio)


def should_compact(
    usage: Mapping[str, int],
    context_limit: int,
    *,
    enabled: bool = True,
    auto: bool = True,
    threshold_ratio: float = THRESHOLD_RATIO,
) -> bool:
    """Whether a compaction is due (A12): `usage` has `total_tokens`, or the four it is the sum of (A10)."""
    if not enabled or not auto:
        return False
    total = usage.get("total_tokens")
    if total is None:
        total = sum(usage.get(name) or 0 for name in COUNTED)
    return total >= threshold(context_limit, threshold_ratio)


def prepare_for_summary(messages: Sequence[Message]) -> list[Message]:
    """The messages without unanswered calls at their end: a provider would refuse those with 400 (A14)."""
    if not messages or messages[-1].get("role") != "assistant" or not messages[-1].get("tool_calls"):
        return list(messages)
    last = {key: value for key, value in messages[-1].items() if key != "tool_calls"}
    return [*messages[:-1], *([last] if last.get("content") else [])]


def compact(
    messages: Sequence[Message],
    ask: Callable[[list[Message]], str],
    *,
    summary_prompt: str | None = None,
    summary_directives: Sequence[str] = (),
    retain_prompt: str | None = None,
    retain_directives: Sequence[str] = (),
    retain_last_turns: int = RETAIN_LAST_TURNS,
) -> list[Message]:
    """The new history: system messages, what to retain, the summary, and the last turns (A13, A16).

    `ask` gets the messages with the instructions behind them, and no tools; neither those nor its reply are kept.
    A reply without a word replaces nothing.
    """
    wanted = [with_directives(summary_prompt or prompt("summary"), summary_directives)]
    if retain_prompt or retain_directives:
        wanted.insert(0, with_directives(retain_prompt or prompt("retain"), retain_directives))
    interrupt = {"role": "user", "content": "\n\n".join(wanted)}
    reply = ask([*prepare_for_summary(messages), interrupt])
    found = [
        tagged(reply, "retain"),
        tagged(reply, "summary") or untagged(stripped(reply, "summary", "retain"), "summary", "retain"),
    ]
    kept = [{"role": "user", "content": text} for text in found if text]
    if not kept:
        return list(messages)
    system = [message for message in messages if message.get("role") in SYSTEM]
    talk = [message for message in messages if message.get("role") not in SYSTEM]
    return [*system, *kept, *_last_turns(talk, retain_last_turns)]


def _last_turns(messages: Sequence[Message], number: int) -> Sequence[Message]:
    starts = [index for index, message in enumerate(messages) if message.get("role") == "user"]
    return messages[starts[-number] if number <= len(starts) else 0 :] if number > 0 else ()
