"""Trajectories of SWE-agent (`history`, `trajectory`, `info`) and mini-swe-agent (`messages`, `info`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fanfold.transcripts.conversation import Conversation, Teller, Wire
from fanfold.transcripts.recording import Recording, parse_text
from fanfold.transcripts.values import inner, mapping, mappings, seconds, some, strings, text

WIRE = ("content", "tool_calls", "tool_call_id", "name", "thinking_blocks", "cache_control")


def fits(value: Any) -> bool:
    record = mapping(value)
    steps, history = mappings(record.get("trajectory")), mappings(record.get("history"))
    return (
        bool(text(record, "trajectory_format"))
        or any("observation" in step or "action" in step for step in steps)
        or any("message_type" in item or "agent" in item for item in history)
    )


def read(recording: Recording) -> Iterator[Conversation]:
    for number, row in enumerate(recording.rows(), 1):
        record = mapping(row.value)
        info, teller = mapping(record.get("info")), Teller()
        history = mappings(record.get("history")) or mappings(record.get("messages"))
        for item in history or _steps(mappings(record.get("trajectory"))):
            _add(teller, item)
        if teller.messages:
            name = text(record, "instance_id", "environment") or recording.name
            yield teller.finish(
                name if number == 1 else f"{name}#{number}",
                recording.name,
                "openai.chat",
                model=_model(record, info),
                meta=some(info, "exit_status", "model_stats", "submission", "swe_agent_version"),
            )


def _steps(steps: list[Wire]) -> Iterator[Wire]:
    """What the steps tell, where there is no history: the answer, then what came of it."""
    for step in steps:
        yield {"role": "assistant", "content": text(step, "response", "thought", "action")}
        yield {"role": "user", "content": text(step, "observation")}


def _add(teller: Teller, item: Wire) -> None:
    extra, ids = mapping(item.get("extra")), strings(item.get("tool_call_ids"))
    message = {"role": text(item, "role") or "user", **some(item, *WIRE)}
    message.setdefault("content", item.get("content"))
    if message["role"] == "tool" and ids:
        message.setdefault("tool_call_id", ids[0])
    teller.add(message, seconds(extra.get("timestamp")), inner(extra, "response", "usage") or None)


def _model(record: Wire, info: Wire) -> str:
    """From the replay configuration (a JSON text), or from the configuration noted in `info`."""
    config = record.get("replay_config")
    told = parse_text(config) if isinstance(config, str) else config
    return text(inner(told, "agent", "model"), "name") or text(
        inner(info, "config", "model"), "model_name", "name"
    )
