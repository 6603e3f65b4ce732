"""Trajectories of SWE-agent (`history`, `trajectory`, `info`) and mini-swe-agent (`messages`, `info`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fanfold.core.errors import BadInput
from fanfold.transcripts.conversation import Conversation, Recorded, Wire
from fanfold.transcripts.formats import Format
from fanfold.transcripts.parsing import parse
from fanfold.transcripts.rows import Recording
from fanfold.transcripts.values import first_string, listing, mapping, mappings, seconds, some, string

NAME = "swe-agent"
WIRE = ("content", "tool_calls", "tool_call_id", "name", "thinking_blocks", "cache_control")


def fits(value: Any) -> bool:
    record = mapping(value)
    if string(record.get("trajectory_format")):
        return True
    steps, history = mappings(record.get("trajectory")), mappings(record.get("history"))
    return any("observation" in step or "action" in step for step in steps) or any(
        "message_type" in item or "agent" in item for item in history
    )


def read(recording: Recording) -> Iterator[Conversation]:
    for number, row in enumerate(recording.rows(), 1):
        record = mapping(row.value)
        draft = Recorded()
        history = mappings(record.get("history")) or mappings(record.get("messages"))
        for item in history or _tell(mappings(record.get("trajectory"))):
            _add(draft, item)
        if draft.messages:
            yield _finish(draft, record, recording.name, number)


def _tell(steps: list[Wire]) -> Iterator[Wire]:
    """What the steps tell, where there is no history: the answer, then what came of it."""
    for step in steps:
        yield {"role": "assistant", "content": first_string(step, "response", "thought", "action") or ""}
        yield {"role": "user", "content": string(step.get("observation")) or ""}


def _add(draft: Recorded, item: Wire) -> None:
    extra = mapping(item.get("extra"))
    usage = mapping(mapping(extra.get("response")).get("usage")) or None
    message = {"role": string(item.get("role")) or "user", **some(item, *WIRE)}
    message.setdefault("content", item.get("content"))
    ids = [id for id in listing(item.get("tool_call_ids")) if isinstance(id, str)]
    if message["role"] == "tool" and ids:
        message.setdefault("tool_call_id", ids[0])
    draft.add(message, seconds(extra.get("timestamp")), usage)


def _finish(draft: Recorded, record: Wire, source: str, number: int) -> Conversation:
    info = mapping(record.get("info"))
    name = first_string(record, "instance_id", "environment") or source
    return draft.finish(
        name if number == 1 else f"{name}#{number}",
        source,
        NAME,
        "openai.chat",
        model=_model(record, info),
        meta=some(info, "exit_status", "model_stats", "submission", "swe_agent_version"),
    )


def _model(record: Wire, info: Wire) -> str | None:
    """From the replay configuration (a JSON text), or from the configuration noted in `info`."""
    config = record.get("replay_config")
    try:
        told = parse(config.encode("utf-8", "surrogatepass")) if isinstance(config, str) else config
    except BadInput:
        told = None
    model = mapping(mapping(mapping(told).get("agent")).get("model"))
    noted = mapping(mapping(info.get("config")).get("model"))
    return first_string(model, "name") or first_string(noted, "model_name", "name")


FORMAT = Format(NAME, fits, read)
