"""What the demo's agent does: it looks for places that swallow every error, and reads each of them.

The agent is scripted: what it calls next follows from what its tools found on this machine, not from a model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from fanfold.core.edit import GREP
from fanfold.demo import library

SYSTEM = "You audit code. You have tools to list, search and read the files of Python's standard library."
REQUEST = (
    "Which places of the standard library swallow every error? Read each one, and say whether it is right."
)
RULE = "Never change a file, and name every place as path:line."
SWALLOWS = r"^\s*except(\s+(Base)?Exception)?\s*:"
AROUND = 110
"""Lines read around a place."""


def steps(count: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """What the agent says, the tool it calls and its arguments, step by step."""
    yield "First I look at what there is.", "list", {"path": "."}
    yield "Now every place that catches everything.", "grep", {"pattern": SWALLOWS, "path": "."}
    places = library.hits(SWALLOWS, ".")
    stride = max(1, len(places) // count)
    for number, (path, line, text) in enumerate(places[::stride][: count - 2], 3):
        first = max(1, line - AROUND // 2)
        if number % 12 == 0:
            yield f"How often does {path} raise?", "grep", {"pattern": r"\braise\b", "path": path}
        else:
            said = f"Step {number}: {path}:{line} says `{text.strip()}`. I read around it."
            yield said, "read", {"path": path, "first": first, "count": AROUND}


def looking_back(ref: str, path: str) -> tuple[str, str, dict[str, Any]]:
    """The last step: something from the second step is needed again, long after it left the window."""
    return (
        f"For the report I need the places in {path} again, as the search gave them.",
        GREP,
        {"ref_id": ref, "pattern": f"^{re.escape(path)}:", "limit": 20},
    )


def reply(number: int, said: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A reply as OpenAI's SDK would give it."""
    call = {"name": tool, "arguments": json.dumps(arguments)}
    return _response(
        {
            "role": "assistant",
            "content": said,
            "tool_calls": [{"id": f"call_{number}", "type": "function", "function": call}],
        },
        "tool_calls",
    )


def last_reply(text: str) -> dict[str, Any]:
    """The reply that ends the task."""
    return _response({"role": "assistant", "content": text}, "stop")


def _response(message: dict[str, Any], reason: str) -> dict[str, Any]:
    return {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }
