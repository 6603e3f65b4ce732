"""Short ways to say what a test is about."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import fanfold
from fanfold import Hooks, Session
from fanfold.core.plan import Strategy

GOLDEN = Path(__file__).parent / "golden"


def opened(
    window: int | None = 1_000,
    *,
    name: str = "run",
    system: str | None = None,
    strategy: Strategy | list[Strategy] | None = None,
    hooks: Hooks | None = None,
    **rest: Any,
) -> Session:
    """A session whose tokens can be counted by hand: four characters are one, and time stands still."""
    rest = {"meter": "characters/4", "clock": lambda: 0.0, **rest}
    return fanfold.open(name, window=window, system=system, strategy=strategy, hooks=hooks, **rest)


def asks(text: str) -> dict[str, Any]:
    """A person's message."""
    return {"role": "user", "content": text}


def says(text: str) -> dict[str, Any]:
    """The model's words."""
    return {"role": "assistant", "content": text}


def calls(*ids: str, text: str | None = None, name: str = "read", arguments: str = "{}") -> dict[str, Any]:
    """The model calls a tool, once for each id."""
    made = [{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}} for id in ids]
    return {"role": "assistant", "content": text, "tool_calls": made}


def gives(id: str, text: str) -> dict[str, Any]:
    """What a tool gave back."""
    return {"role": "tool", "tool_call_id": id, "content": text}


def reply(body: dict[str, Any], prompt: int | None = None, stop: str = "stop") -> dict[str, Any]:
    """A response of Chat Completions, with its bill."""
    response: dict[str, Any] = {"choices": [{"index": 0, "message": body, "finish_reason": stop}]}
    if prompt is not None:
        response["usage"] = {"prompt_tokens": prompt, "completion_tokens": 5, "total_tokens": prompt + 5}
    return response


def tell(chat: Session, *bodies: dict[str, Any]) -> list[str]:
    """Record some messages; gives back their entries' ids."""
    return [chat.add(body).id for body in bodies]


def texts(chat: Session) -> list[str]:
    """What the view shows, in words."""
    return [message.text for message in chat.view().messages]


def long(text: str, tokens: int) -> str:
    """A text of so many tokens, by `characters/4`, that begins with these words."""
    return (text + " ").ljust(4 * tokens, "x")


def golden(name: str, text: str) -> None:
    """Compare with a file in tests/golden; FANFOLD_GOLDEN=write writes it instead."""
    path = GOLDEN / f"{name}.txt"
    path.parent.mkdir(exist_ok=True)
    if os.environ.get("FANFOLD_GOLDEN") == "write":
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")
