"""Reading and writing a whole request in every dialect, beside msgspec parsing the same bytes into plain objects."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from generate import steps

from fanfold.dialects.dialect import Dialect, decode, encode
from fanfold.dialects.reading import parse
from fanfold.dialects.registry import DIALECTS, dialect_named

SIZE = 5_000_000
MESSAGES = 2_000
Body = dict[str, Any]


def chat(session: list[Body]) -> Body:
    """The session as it is."""
    return {"model": "gpt-5.2", "messages": session}


def responses(session: list[Body]) -> Body:
    """One item for a message, a call or an output."""
    return {"model": "gpt-5.2", "input": [item for message in session for item in _items(message)]}


def _items(message: Body) -> Iterator[Body]:
    if message["role"] == "tool":
        yield {
            "type": "function_call_output",
            "call_id": message["tool_call_id"],
            "output": message["content"],
        }
        return
    yield {"role": message["role"], "content": message["content"]}
    for call in message.get("tool_calls", ()):
        yield {"type": "function_call", "call_id": call["id"], **call["function"]}


def anthropic(session: list[Body]) -> Body:
    """Calls and results as content blocks."""
    return {"model": "claude-sonnet-4-5", "max_tokens": 4_000, "messages": _grouped(session, _blocks)}


def _blocks(message: Body) -> tuple[str, list[Body]]:
    if message["role"] == "tool":
        result = {
            "type": "tool_result",
            "tool_use_id": message["tool_call_id"],
            "content": message["content"],
        }
        return "user", [result]
    calls = [_tool_use(call) for call in message.get("tool_calls", ())]
    return message["role"], [{"type": "text", "text": message["content"]}, *calls]


def _tool_use(call: Body) -> Body:
    given = msgspec.json.decode(call["function"]["arguments"])
    return {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": given}


def gemini(session: list[Body]) -> Body:
    """Calls and responses as parts."""
    names = {
        call["id"]: call["function"]["name"] for message in session for call in message.get("tool_calls", ())
    }

    def parts(message: Body) -> tuple[str, list[Body]]:
        if message["role"] == "tool":
            id = message["tool_call_id"]
            answer = {"id": id, "name": names[id], "response": {"output": message["content"]}}
            return "user", [{"functionResponse": answer}]
        calls = [{"functionCall": _function_call(call)} for call in message.get("tool_calls", ())]
        role = "model" if message["role"] == "assistant" else "user"
        return role, [{"text": message["content"]}, *calls]

    grouped = _grouped(session, parts)
    return {"contents": [{"role": each["role"], "parts": each["content"]} for each in grouped]}


def _function_call(call: Body) -> Body:
    given = msgspec.json.decode(call["function"]["arguments"])
    return {"id": call["id"], "name": call["function"]["name"], "args": given}


def _grouped(session: list[Body], read: Callable[[Body], tuple[str, list[Body]]]) -> list[Body]:
    """Neighbours with the same role as one message."""
    found: list[Body] = []
    for message in session:
        role, blocks = read(message)
        if found and found[-1]["role"] == role:
            found[-1]["content"].extend(blocks)
        else:
            found.append({"role": role, "content": blocks})
    return found


MADE: dict[str, Callable[[list[Body]], Body]] = {
    "openai.chat": chat,
    "openai.responses": responses,
    "anthropic": anthropic,
    "gemini": gemini,
}


def beside(work: Callable[[], object], raw: Callable[[], object], times: int = 25) -> float:
    """Processor time of some work over that of other work, the median of several pairs; the collector rests."""
    gc.collect()
    gc.disable()
    pairs = [(_seconds(raw), _seconds(work)) for _ in range(times)]
    gc.enable()
    return statistics.median(taken / alone for alone, taken in pairs)


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def both_ways(dialect: Dialect, request: Any) -> Body:
    """The request read and written again."""
    return encode(dialect, *decode(dialect, request))


def ratios(dialect: str, session: list[Body]) -> tuple[float, float, float, int]:
    """Objects, compact bytes and spaced bytes, each over parsing alone; and the bytes of the request."""
    dialect, request = dialect_named(dialect), MADE[dialect](session)
    data = msgspec.json.encode(request)
    spaced = msgspec.json.format(data, indent=1)
    assert both_ways(dialect, parse(data)) == request
    objects = beside(lambda: both_ways(dialect, request), lambda: msgspec.json.decode(data))
    compact = beside(lambda: both_ways(dialect, parse(data)), lambda: msgspec.json.decode(data))
    wide = beside(lambda: both_ways(dialect, parse(spaced)), lambda: msgspec.json.decode(spaced))
    return objects, compact, wide, len(data)


def main() -> None:
    """Print every figure as a ratio, measured side by side in this run."""
    session = [message for step in steps(MESSAGES, int(SIZE / 4.1)) for message in step]
    print(f"a request of {len(session):,} messages, over msgspec parsing it (bars 5 and 8)")
    print("dialect             bytes   as objects   from bytes   from spaced bytes")
    for dialect in DIALECTS:
        objects, compact, wide, size = ratios(dialect, session)
        print(f"{dialect:<16} {size:>8,} {objects:>12.2f} {compact:>12.2f} {wide:>19.2f}")


if __name__ == "__main__":
    main()
