"""A server that says what a test wants it to say, and the official SDK of every dialect to hear it with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import anthropic
import openai
from google import genai

from fanfold.dialects.registry import DialectName
from fanfold.testing.provider.server import EVENTS, JSON, Scripted, Server

MODEL = "some-model"


class Speaker:
    """Says to every request what was last put into `answer`."""

    def __init__(self) -> None:
        self.answer = Scripted(200, [b"{}"])
        self.server = Server(self._respond)

    def _respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Scripted:
        return self.answer

    def say(self, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Answer with a whole body."""
        self.answer = Scripted(status, [body], JSON, {**(headers or {}), "content-length": str(len(body))})

    def stream(self, chunks: Sequence[bytes]) -> None:
        """Answer with a stream."""
        self.answer = Scripted(200, list(filter(None, chunks)), EVENTS, chunked=True)


@contextmanager
def speaker() -> Iterator[Speaker]:
    """A speaker that listens."""
    made = Speaker()
    made.server.start()
    try:
        yield made
    finally:
        made.server.stop()


Ask = Callable[[bool], Any]
"""Ask the SDK for something, streamed or not."""


def asking(dialect: DialectName, url: str) -> Ask:
    """The official SDK of a dialect, pointed at an address."""
    if dialect == "anthropic":
        messages = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0).messages
        return lambda stream: messages.create(  # type: ignore[call-overload]
            model=MODEL, max_tokens=9, messages=[{"role": "user", "content": "Hi"}], stream=stream
        )
    if dialect == "gemini":
        google = genai.Client(api_key="k", http_options={"base_url": url})
        return lambda stream: (
            google.models.generate_content_stream if stream else google.models.generate_content
        )(model=MODEL, contents="Hi")
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
    if dialect == "openai.chat":
        return lambda stream: client.chat.completions.create(  # type: ignore[call-overload]
            model=MODEL, messages=[{"role": "user", "content": "Hi"}], stream=stream
        )
    return lambda stream: client.responses.create(model=MODEL, input="Hi", stream=stream)  # type: ignore[call-overload]
