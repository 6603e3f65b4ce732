"""Conversations in a few words, in the form of Chat Completions.

[said("Repair the build."), replied("", called("c1", "grep", pattern="x")), returned("c1", "3 hits")]
"""

from __future__ import annotations

import json
from typing import Any

Body = dict[str, Any]
_WORDS = ("parse", "token", "window", "error", "stack", "value", "cache", "module", "queue", "branch")


def said(*content: str | Body) -> Body:
    """A person speaks: a text, or several parts."""
    if len(content) == 1 and isinstance(content[0], str):
        return {"role": "user", "content": content[0]}
    return {"role": "user", "content": [_part(part) for part in content]}


def _part(part: str | Body) -> Body:
    return {"type": "text", "text": part} if isinstance(part, str) else part


def picture(data: str = "iVBORw0KGgo=") -> Body:
    """A picture, as a part of what is said."""
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def called(id: str, name: str = "run", raw: str | None = None, **args: Any) -> Body:
    """A call, as a part of a reply; `raw` for arguments that are no JSON."""
    arguments = json.dumps(args) if raw is None else raw
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def replied(text: str | None = None, *calls: Body, **fields: Any) -> Body:
    """The model speaks, calls tools, or both."""
    body: Body = {"role": "assistant", "content": text}
    if calls:
        body["tool_calls"] = list(calls)
    return {**body, **fields}


def returned(id: str, output: str = "done") -> Body:
    """What a tool gave back."""
    return {"role": "tool", "tool_call_id": id, "content": output}


def response(message: Body, *, prompt: int | None = None, output: int = 10) -> Body:
    """A whole response around a reply; `prompt` is what the provider bills for the request."""
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
    }
    body: Body = {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice]}
    if prompt is not None:
        total = prompt + output
        body["usage"] = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": total}
    return body


def talk(turns: int = 3, steps: int = 2, *, words: int = 40, parallel: int = 2) -> list[Body]:
    """A legal conversation: every turn is a request, some steps of parallel calls, and a closing reply."""
    bodies: list[Body] = []
    for turn in range(turns):
        bodies.append(said(f"Task {turn}: {_prose(turn, 8)}"))
        for step in range(steps):
            ids = [f"c{turn}-{step}-{n}" for n in range(parallel)]
            bodies.append(replied(_prose(step, 6), *(called(id, "read", path=f"{id}.py") for id in ids)))
            bodies.extend(returned(id, _prose(turn + step + n, words)) for n, id in enumerate(ids))
        bodies.append(replied(f"Task {turn} is done."))
    return bodies


def _prose(seed: int, count: int) -> str:
    return " ".join(_WORDS[(seed * 7 + i * 3 + i // 5) % len(_WORDS)] for i in range(count))
