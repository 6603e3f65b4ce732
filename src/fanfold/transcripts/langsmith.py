"""LangSmith exports: runs, one a line, in a list, under `runs`, or nested as `child_runs`.

Each run of type `llm` holds what one request sent and what came back. Requests that only grew at their end make one
conversation; without such runs, the outermost ones that hold messages or texts are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from fanfold.transcripts.conversation import Conversation, Recorded, Wire
from fanfold.transcripts.dialects import dialect_of, is_message
from fanfold.transcripts.formats import Format
from fanfold.transcripts.langchain import bill_of, kind_of, model_of, wire_of
from fanfold.transcripts.rows import Recording
from fanfold.transcripts.values import first_string, listing, mapping, mappings, seconds, some, string

NAME = "langsmith"
INPUTS = ("messages", "input", "inputs", "chat_history", "prompts", "prompt", "question", "query")
OUTPUTS = ("messages", "generations", "choices", "message", "output", "outputs", "text", "answer")
DEEPEST = 8
"""So many wrappings of a message are taken off."""


class _Said(NamedTuple):
    """A message as it was recorded, and in a provider's form."""

    value: Any
    wire: Wire


def fits(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], dict) and fits(value[0])
    record = mapping(value)
    return _is_run(record) or any(_is_run(run) for run in mappings(record.get("runs"))[:8])


def _is_run(record: Wire) -> bool:
    return string(record.get("run_type")) is not None and bool({"inputs", "outputs"} & set(record))


def read(recording: Recording) -> Iterator[Conversation]:
    runs = [run for row in recording.rows() for run in _runs(row.value)]
    runs.sort(key=lambda run: (string(run.get("start_time")) or "", string(run.get("dotted_order")) or ""))
    asking = [run for run in runs if run.get("run_type") == "llm" and (_inputs_of(run) or _outputs_of(run))]
    threads: list[_RunThread] = []
    for run in asking or (run for run in runs if not run.get("parent_run_id")):
        sent, got = _inputs_of(run), _outputs_of(run)
        grown = [thread for thread in threads if thread.precedes(sent)]
        thread = max(grown, key=lambda one: len(one.draft.messages)) if grown else _RunThread(run)
        threads += [] if grown else [thread]
        thread.take(run, sent, got)
    for number, thread in enumerate((thread for thread in threads if thread.draft.messages), 1):
        yield thread.finish(recording.name, number)


def _runs(value: Any) -> Iterator[Wire]:
    """Every run in a value, those within runs too; without recursion."""
    open_ends = [value]
    while open_ends:
        here = open_ends.pop()
        if isinstance(here, list):
            open_ends += reversed(here)
            continue
        record = mapping(here)
        if _is_run(record):
            yield record
        open_ends += reversed([*listing(record.get("runs")), *listing(record.get("child_runs"))])


class _RunThread:
    """Requests that grew at their end."""

    def __init__(self, run: Wire) -> None:
        self.draft = Recorded()
        self.first = run
        self.run = run
        self.model: str | None = None

    def precedes(self, said: list[_Said]) -> bool:
        """Whether messages begin with everything that was said here."""
        known = self.draft.messages
        return len(said) >= len(known) and all(
            one.wire == wire for one, wire in zip(said, known, strict=False)
        )

    def take(self, run: Wire, sent: list[_Said], got: list[_Said]) -> None:
        """Append what a request sent that is new, and what came back: an answer, or all messages again."""
        for one in sent[len(self.draft.messages) :]:
            self.draft.add(one.wire, seconds(run.get("start_time")), bill_of(one.value))
        known = len(self.draft.messages) if self.precedes(got) else 0
        for one in got[known:]:
            self.draft.add(one.wire, seconds(run.get("end_time")), bill_of(one.value))
            self.model = model_of(one.value) or self.model
        self.run = run

    def finish(self, source: str, number: int) -> Conversation:
        """The conversation; what stands beside its messages is that of its last request."""
        extra, inputs = mapping(self.run.get("extra")), mapping(self.run.get("inputs"))
        metadata, params = mapping(extra.get("metadata")), mapping(extra.get("invocation_params"))
        named = first_string(metadata, "ls_model_name") or first_string(params, "model", "model_name")
        model = self.model or named or first_string(inputs, "model")
        name = first_string(metadata, "thread_id", "session_id") or first_string(self.first, "trace_id", "id")
        return self.draft.finish(
            (name or source) + (f"#{number}" if number > 1 else ""),
            source,
            NAME,
            "anthropic" if inputs.get("system") else dialect_of(self.draft.messages, model),
            model=model,
            frame=some(params, "tools") | some(inputs, "tools", "system", "instructions"),
            meta=some(self.run, "name", "trace_id", "session_name", "status", "error", "tags"),
        )


def _inputs_of(run: Wire) -> list[_Said]:
    return list(_messages(run.get("inputs"), INPUTS, "user"))


def _outputs_of(run: Wire) -> list[_Said]:
    return list(_messages(run.get("outputs"), OUTPUTS, "assistant"))


def _messages(value: Any, names: tuple[str, ...], role: str, depth: int = DEEPEST) -> Iterator[_Said]:
    """The messages in what a run was given or gave, however its tracer wrapped them; a bare text is one."""
    if isinstance(value, str) and value:
        yield _Said({}, {"role": role, "content": value})
    elif (kind_of(value) or is_message(mapping(value))) and (wire := wire_of(value)):
        yield _Said(value, wire)
    elif isinstance(value, list) and depth:
        for one in value:
            yield from _messages(one, names, role, depth - 1)
    elif isinstance(value, dict) and depth:
        held = (list(_messages(value[name], names, role, depth - 1)) for name in names if name in value)
        yield from next((found for found in held if found), [])


FORMAT = Format(NAME, fits, read)
