"""Replays recorded conversations through sessions with small windows, in every dialect.

    python bench/grammar.py FOLDER [--windows 8000,16000] [--dialects own,anthropic] [--limit 20]

Every request is judged twice: by fanfold's own rules, and by the scripted provider's, which were stated anew from
the providers' documentation. It counts requests, violations, requests over the budget and `DoesNotFit`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import fanfold
from fanfold import transcripts
from fanfold.message import Message, Thinking
from fanfold.registry import CODECS, codec_named
from fanfold.talk import recording
from fanfold.testing.provider import Provider
from fanfold.transcripts import Conversation

MODELS = {
    "openai.chat": "gpt-4.1",
    "openai.responses": "gpt-5.2",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-3-pro-preview",
}
APIS = {"openai.chat": "chat", "openai.responses": "responses", "anthropic": "anthropic", "gemini": "gemini"}
WRAPPED = {"gemini": "config"}


def replay(conversation: Conversation, dialect: str, window: int) -> Counter[str]:
    """One conversation in one dialect and window: a request wherever a model call was recorded."""
    count: Counter[str] = Counter(conversations=1)
    source = codec_named(conversation.dialect, conversation.model)
    model = MODELS[dialect]
    chat = fanfold.open("replay", model=model, window=window, dialect=dialect)
    judge = Provider([], foreign_signatures=True)
    spoken = False
    for body in conversation.messages:
        message = source.message(body)
        if message.role == "assistant" and not spoken and chat.head is not None:
            count += asked(chat, dialect, judge, conversation)
        spoken = message.role == "assistant"
        own = message if dialect == conversation.dialect else foreign(message)
        chat._do(recording.append, own)
    chat.close()
    return count


def foreign(message: Message) -> Message:
    """The message as another provider recorded it."""
    return message


def asked(chat: fanfold.Session, dialect: str, judge: Provider, conversation: Conversation) -> Counter[str]:
    """One request, judged."""
    params = thinking(chat) if dialect == "anthropic" else {}
    try:
        request = chat.request(max_tokens=1_000 if dialect != "anthropic" else 2_000, **params)
    except fanfold.DoesNotFit:
        return Counter(requests=1, does_not_fit=1)
    except fanfold.BrokenGrammar as error:
        print(f"{conversation.id} {dialect}: {error}", file=sys.stderr)
        return Counter(requests=1, violations=1)
    found: Counter[str] = Counter(requests=1)
    refused = judge.check(APIS[dialect], rest(dialect, request), model=MODELS[dialect])
    if refused is not None:
        print(f"{conversation.id} {dialect}: {refused.rule}: {refused.message[:300]}", file=sys.stderr)
        found["refused"] += 1
    pressure = chat.pressure(max_tokens=1_000)
    found["over"] += pressure.tokens > pressure.room
    return found


def rest(dialect: str, request: dict[str, Any]) -> dict[str, Any]:
    """The request as its REST body."""
    body = json.loads(json.dumps(request, default=str))
    if dialect == "gemini" and "config" in body:
        config = body.pop("config")
        body["generationConfig"] = {
            k: v for k, v in config.items() if k not in ("system_instruction", "tools")
        }
    return body


def thinking(chat: fanfold.Session) -> dict[str, Any]:
    """Thinking on where the running loop begins with thinking, else off."""
    loop = chat.view().loop.messages
    first = next((message for message in loop if message.role == "assistant"), None)
    begins = first is not None and bool(first.parts) and isinstance(first.parts[0], Thinking)
    return {"thinking": {"type": "enabled", "budget_tokens": 1_024}} if begins else {}


def jobs(
    folder: Path, windows: list[int], dialects: list[str], limit: int | None
) -> Iterator[tuple[Any, ...]]:
    """Every conversation in every dialect and window."""
    for number, conversation in enumerate(transcripts.read(folder)):
        if limit is not None and number >= limit:
            return
        for dialect in dialects:
            named = conversation.dialect if dialect == "own" else dialect
            for window in windows:
                yield conversation, named, window


def run(job: tuple[Any, ...]) -> tuple[str, str, int, Counter[str]]:
    """One job, for a worker process."""
    conversation, dialect, window = job
    return conversation.dialect, dialect, window, replay(conversation, dialect, window)


def main() -> None:
    """Print one row per dialect and window."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--windows", default="8000,16000,32000,64000")
    parser.add_argument("--dialects", default=",".join(CODECS))
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    windows = [int(size) for size in args.windows.split(",")]
    totals: dict[tuple[str, str, int], Counter[str]] = {}
    start = time.time()
    with ProcessPoolExecutor() as pool:
        work = jobs(args.folder, windows, args.dialects.split(","), args.limit)
        for source, dialect, window, count in pool.map(run, work, chunksize=4):
            totals.setdefault((source, dialect, window), Counter()).update(count)
    columns = ("conversations", "requests", "violations", "refused", "over", "does_not_fit")
    print(f"{'recorded as':<18} {'sent as':<18} {'window':>7} " + " ".join(f"{name:>13}" for name in columns))
    for (source, dialect, window), count in sorted(totals.items()):
        print(
            f"{source:<18} {dialect:<18} {window:>7,} " + " ".join(f"{count[name]:>13,}" for name in columns)
        )
    print(f"{time.time() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
