"""Fingerprints: a hash over every request that a conversation leads to, to see that a change changes none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import fanfold
from fanfold import BrokenGrammar, DoesNotFit
from fanfold.testing.replaying import MODELS

Body = Mapping[str, Any]
REPLY = 1_500


def fingerprint(bodies: Sequence[Body], *, dialect: str, window: int, merging: bool, **options: Any) -> str:
    """How many requests a conversation led to, and the hash of them all: one before every reply.

    It is recorded message by message, or by merging the whole history each time, as a client of a gateway sends it.
    """
    hashed, requests = hashlib.blake2b(digest_size=8), 0
    with fanfold.open("run", dialect=dialect, model=MODELS[dialect], window=window, **options) as chat:
        recorded = 0
        for end in (*asked_before(bodies), len(bodies)):
            if merging:
                chat.merge([dict(body) for body in bodies[:end]])
            else:
                for body in bodies[recorded:end]:
                    chat.add(dict(body))
            recorded = end
            if end < len(bodies):
                hashed.update(_asked(chat))
                requests += 1
    return f"{requests} {hashed.hexdigest()}"


def asked_before(bodies: Sequence[Body]) -> list[int]:
    """Where the model was asked: before each reply that follows something else."""
    spoken = [is_reply(body) for body in bodies]
    return [at for at in range(1, len(bodies)) if spoken[at] and not spoken[at - 1]]


def is_reply(body: Body) -> bool:
    """Whether the model said it."""
    replies = ("reasoning", "function_call", "compaction")
    return body.get("role") in ("assistant", "model") or body.get("type") in replies


def _asked(chat: fanfold.Session) -> bytes:
    try:
        request = chat.request(max_tokens=REPLY)
    except (DoesNotFit, BrokenGrammar) as error:
        return type(error).__name__.encode()
    return json.dumps(request, sort_keys=True).encode()
