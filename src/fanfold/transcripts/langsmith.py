"""LangSmith exports: runs, one a line, in a list, under `runs`, or nested as `child_runs`.

Each run of type `llm` holds what one request sent and what came back. Requests that only grew at their end make one
conversation; without such runs, the outermost ones that hold messages or texts are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from fanfold.transcripts.conversation import Conversation, Teller, Wire
from fanfold.transcripts.langchain import bill_of, kind_of, model_of, wire_of
from fanfold.transcripts.plain import dialect_of, is_message
from fanfold.transcripts.recording import Recording
from fanfold.transcripts.values import inner, listing, mapping, mappings, seconds, some, text

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
    return bool(text(record, "run_type")) and bool({"inputs", "outputs"} & set(record))


def read(recording: Recording) -> Iterator[Conversation]:
    runs = [run for row in recording.rows() for run in _runs(row.value)]
    runs.sort(key=lambda run: (text(run, "start_time"), text(run, "dotted_order")))
    asking = [run for run in runs if run.get("run_type") == "llm" and any(_exchange(run))]
    threads: list[_RunThread] = []
    for run in asking or (run for run in runs if not run.get("parent_run_id")):
        sent, got = _exchange(run)
        grown = [thread for thread in threads if thread.precedes(sent)]
        thread = max(grown, key=lambda one: len(one.messages)) if grown else _RunThread(run)
        threads += [] if grown else [thread]
        thread.take(run, sent, got)
    for number, thread in enumerate((thread for thread in threads if thread.messages), 1):
        yield thread.tell(recording.name, number)


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


class _RunThread(Teller):
    """Requests that grew at their end."""

    def __init__(self, run: Wire) -> None:
        super().__init__()
        self.first = self.run = run

    def precedes(self, said: list[_Said]) -> bool:
        """Whether messages begin with everything that was said here."""
        return [one.wire for one in said[: len(self.messages)]] == self.messages

    def take(self, run: Wire, sent: list[_Said], got: list[_Said]) -> None:
        """Append what a request sent that is new, and what came back: an answer, or all messages again."""
        for one in sent[len(self.messages) :]:
            self.add(one.wire, seconds(run.get("start_time")), bill_of(one.value))
        known = len(self.messages) if self.precedes(got) else 0
        for one in got[known:]:
            self.add(one.wire, seconds(run.get("end_time")), bill_of(one.value))
            self.model = model_of(one.value) or self.model
        self.run = run

    def tell(self, source: str, number: int) -> Conversation:
        """The conversation; what stands beside its messages is that of its last request."""
        inputs, metadata = inner(self.run, "inputs"), inner(self.run, "extra", "metadata")
        params = inner(self.run, "extra", "invocation_params")
        named = text(metadata, "ls_model_name") or text(params, "model", "model_name")
        model = self.model or named or text(inputs, "model")
        name = text(metadata, "thread_id", "session_id") or text(self.first, "trace_id", "id") or source
        return self.finish(
            name + (f"#{number}" if number > 1 else ""),
            source,
            "anthropic" if inputs.get("system") else dialect_of(self.messages, model),
            model=model,
            frame=some(params, "tools") | some(inputs, "tools", "system", "instructions"),
            meta=some(self.run, "name", "trace_id", "session_name", "status", "error", "tags"),
        )


def _exchange(run: Wire) -> tuple[list[_Said], list[_Said]]:
    """What a run was given, and what it gave."""
    given, got = run.get("inputs"), run.get("outputs")
    return list(_messages(given, INPUTS, "user")), list(_messages(got, OUTPUTS, "assistant"))


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
