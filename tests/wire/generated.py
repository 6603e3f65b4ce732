"""Conversations made up from a seed, in the wire form of each dialect, whole ones and broken ones."""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WORDS = ("parse", "token", "window", "error", "stack", "value", "cache", "module", "queue", "ünï", "漢字")


@dataclass(frozen=True)
class Use:
    """A call and what came back."""

    id: str
    name: str
    args: Mapping[str, Any]
    output: str
    picture: bool


@dataclass(frozen=True)
class Said:
    """A person's message, or a reply with its calls."""

    text: str
    by_user: bool = False
    picture: bool = False
    thought: str = ""
    uses: tuple[Use, ...] = ()


def conversation(seed: int, dialect: str) -> list[Body]:
    """A conversation of some turns, broken in one to four places for two seeds of three."""
    rng = random.Random(f"{seed} {dialect}")
    told = list(_told(rng))
    bodies = [body for number, said in enumerate(told) for body in WRITTEN[dialect](said, number)]
    for _ in range(rng.randint(1, 4) if seed % 3 else 0):
        _break(rng, bodies)
    return bodies


def _prose(rng: random.Random, words: int) -> str:
    return " ".join(
        rng.choice(WORDS) + (f":{rng.randrange(999)}" if n % 5 == 0 else "") for n in range(words)
    )


def _told(rng: random.Random) -> Iterator[Said]:
    number = 0
    for _ in range(rng.randint(2, 3)):
        yield Said(_prose(rng, rng.randint(5, 60)), by_user=True, picture=rng.random() < 0.4)
        thinks = rng.choice((0.0, 0.5, 1.0))
        for _ in range(rng.randint(3, 9)):
            uses = tuple(_use(rng, number + nth) for nth in range(rng.choice((1, 1, 2, 3))))
            number += len(uses)
            text = _prose(rng, 12) if rng.random() < 0.6 else ""
            yield Said(text, thought=_prose(rng, 20) if rng.random() < thinks else "", uses=uses)
        yield Said(_prose(rng, 30), thought=_prose(rng, 20) if rng.random() < thinks else "")


def _use(rng: random.Random, number: int) -> Use:
    size = int(rng.expovariate(1 / 250)) + 1
    args = {"path": _prose(rng, 2), "limit": rng.randrange(90)}
    name = rng.choice(("read", "grep"))
    return Use(f"call_{number}", name, args, _prose(rng, size), rng.random() < 0.1)


def _chat(said: Said, number: int) -> Iterator[Body]:
    if said.by_user:
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
        parts = [{"type": "text", "text": said.text}, picture]
        yield {"role": "user", "content": parts if said.picture else said.text}
        return
    body: Body = {"role": "assistant", "content": said.text or None}
    body |= {"reasoning_content": said.thought} if said.thought else {}
    calls = [
        {"id": use.id, "type": "function", "function": {"name": use.name, "arguments": json.dumps(use.args)}}
        for use in said.uses
    ]
    yield {**body, "tool_calls": calls} if calls else body
    for use in said.uses:
        yield {"role": "tool", "tool_call_id": use.id, "content": use.output}


def _responses(said: Said, number: int) -> Iterator[Body]:
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}
    if said.by_user:
        parts: list[Body] = [{"type": "input_text", "text": said.text}, *([picture] if said.picture else [])]
        yield {"type": "message", "role": "user", "content": parts}
        return
    if said.thought:
        summary = [{"type": "summary_text", "text": said.thought}]
        sealed = {"encrypted_content": f"gAAAA{number}"} if number % 4 else {}
        yield {"type": "reasoning", "id": f"rs_{number}", "summary": summary, **sealed}
    if said.text:
        content = [{"type": "output_text", "text": said.text, "annotations": []}]
        head = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
        yield {**head, "content": content}
    for use in said.uses:
        called = {"call_id": use.id, "name": use.name, "arguments": json.dumps(use.args)}
        yield {"type": "function_call", "id": f"fc_{use.id}", **called, "status": "completed"}
    for use in said.uses:
        shown: Any = [{"type": "input_text", "text": use.output}, picture] if use.picture else use.output
        yield {"type": "function_call_output", "call_id": use.id, "output": shown}


def _anthropic(said: Said, number: int) -> Iterator[Body]:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    text = [{"type": "text", "text": said.text}] if said.text else []
    if said.by_user:
        yield {"role": "user", "content": [*text, picture] if said.picture else said.text}
        return
    thought = {"type": "thinking", "thinking": said.thought, "signature": f"sig{number}"}
    calls = [{"type": "tool_use", "id": use.id, "name": use.name, "input": use.args} for use in said.uses]
    yield {"role": "assistant", "content": [*([thought] if said.thought else []), *text, *calls]}
    results = [
        {
            "type": "tool_result",
            "tool_use_id": use.id,
            "content": [{"type": "text", "text": use.output}, picture] if use.picture else use.output,
        }
        for use in said.uses
    ]
    if results:
        yield {"role": "user", "content": results}


def _gemini(said: Said, number: int) -> Iterator[Body]:
    text = [{"text": said.text}] if said.text else []
    if said.by_user:
        picture = [{"inlineData": {"mimeType": "image/png", "data": PIXEL}}] if said.picture else []
        yield {"role": "user", "parts": [*text, *picture]}
        return
    ids = number % 2 == 0
    calls: list[Body] = [
        {"functionCall": {**({"id": use.id} if ids else {}), "name": use.name, "args": use.args}}
        for use in said.uses
    ]
    if calls and said.thought:
        calls[0]["thoughtSignature"] = f"sig{number}"
    thought = [{"text": said.thought, "thought": True}] if said.thought else []
    yield {"role": "model", "parts": [*thought, *text, *calls]}
    results = [
        {
            "functionResponse": {
                **({"id": use.id} if ids else {}),
                "name": use.name,
                "response": {"output": use.output},
            }
        }
        for use in said.uses
    ]
    if results:
        yield {"role": "user", "parts": results}


WRITTEN: Mapping[str, Callable[[Said, int], Iterator[Body]]] = {
    "openai.chat": _chat,
    "openai.responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}


def _break(rng: random.Random, bodies: list[Body]) -> None:
    """Lose, repeat, move or blank something: orphans, open calls, ids twice, thoughts that lead nowhere."""
    at = rng.randrange(len(bodies))
    match rng.choice(("lose", "lose", "twice", "swap", "blank", "part", "end")):
        case "lose" if len(bodies) > 2:
            del bodies[at]
        case "twice":
            bodies.insert(rng.randrange(len(bodies)), bodies[at])
        case "swap" if at:
            bodies[at - 1], bodies[at] = bodies[at], bodies[at - 1]
        case "blank":
            bodies[at] = _blank(bodies[at], rng.choice(("", " ", "\n")))
        case "part":
            bodies[at] = _lessened(rng, bodies[at])
        case "end" if len(bodies) > 6:
            del bodies[-rng.randint(1, 3) :]


def _blank(value: Any, text: str) -> Any:
    """The same with nothing in its texts."""
    if isinstance(value, dict):
        blanked = {"text", "content", "thinking", "signature", "output", "thoughtSignature"}
        return {
            key: text if key in blanked and isinstance(item, str) else _blank(item, text)
            for key, item in value.items()
        }
    return [_blank(item, text) for item in value] if isinstance(value, list) else value


def _lessened(rng: random.Random, body: Body) -> Body:
    """The same without one of its parts or calls."""
    for key in ("tool_calls", "content", "parts", "summary"):
        items = body.get(key)
        if isinstance(items, Sequence) and not isinstance(items, str) and items:
            gone = rng.randrange(len(items))
            return {**body, key: [item for nth, item in enumerate(items) if nth != gone]}
    return body
