"""A small framework of the tests' own: messages are objects, threads keep them, hooks see what is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from openai import AsyncOpenAI, OpenAI

from fanfold.core.edit import RECALL
from fanfold.core.message import Call, Message, Result
from fanfold.core.record import TokenUsage
from fanfold.integrations.adapter import Adapted, Adapter, Heard, Outgoing, as_function, session_name
from fanfold.testing.integrations import Trial

MODEL = "gpt-4o"


@dataclass(frozen=True)
class Leaf:
    """A message of the framework."""

    kind: str
    text: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()
    """Id, name and arguments of each call."""
    answers: str = ""
    extra: object = field(default_factory=object, compare=False)
    """Something that no dialect knows, and that goes along."""


class Converted:
    """Leaves in the form of Chat Completions."""

    dialect = "openai.chat"

    def body(self, message: Leaf) -> dict[str, Any]:
        body: dict[str, Any] = {"role": message.kind, "content": message.text or None}
        if message.calls:
            body["tool_calls"] = [
                {"id": id, "type": "function", "function": {"name": name, "arguments": raw}}
                for id, name, raw in message.calls
            ]
        if message.answers:
            body |= {"tool_call_id": message.answers, "content": message.text}
        return body

    def build(self, shown: Message, wire: Any, was: Leaf | None) -> Leaf:
        result = next((part for part in shown.parts if isinstance(part, Result)), None)
        calls = tuple((part.id, part.name, part.raw) for part in shown.parts if isinstance(part, Call))
        text = shown.text if result is None else result.text
        made = was or Leaf(shown.role)
        return replace(made, text=text, calls=calls, answers=result.call if result else "")


class Pad:
    """An agent with threads: it asks the model and runs tools until nothing is called."""

    def __init__(self, base_url: str, tools: dict[str, Callable[..., str]], hook: Hook | None) -> None:
        self.threads: dict[str, list[Leaf]] = {}
        self._tools, self._hook = tools, hook
        self.client = OpenAI(base_url=base_url, api_key="any", max_retries=0)
        self.awaited = AsyncOpenAI(base_url=base_url, api_key="any", max_retries=0)
        self.sent: list[list[Leaf]] = []

    @property
    def offered(self) -> list[dict[str, Any]]:
        number = {"type": "object", "properties": {"number": {"type": "integer"}}}
        own = [{"type": "function", "function": {"name": name, "parameters": number}} for name in self._tools]
        return own + (self._hook.tools if self._hook else [])

    def run(self, thread: str, text: str, mode: str = "run") -> str:
        if mode == "arun":
            return asyncio.run(self._arun(thread, text))
        leaves = self._begin(thread, text)
        while True:
            reply = self._hook.call(self, thread) if self._hook else self.ask(leaves)[0]
            leaves.append(reply)
            if not reply.calls:
                return reply.text
            leaves.extend(self._answers(thread, reply))

    async def _arun(self, thread: str, text: str) -> str:
        leaves = self._begin(thread, text)
        async with self.awaited:
            while True:
                made = self._hook.acall(self, thread) if self._hook else self.aask(leaves)
                reply = await made
                reply = reply[0] if isinstance(reply, tuple) else reply
                leaves.append(reply)
                if not reply.calls:
                    self.awaited = AsyncOpenAI(base_url=self.client.base_url, api_key="any", max_retries=0)
                    return reply.text
                leaves.extend(self._answers(thread, reply))

    def _begin(self, thread: str, text: str) -> list[Leaf]:
        leaves = self.threads.setdefault(thread, [])
        leaves.append(Leaf("user", text))
        return leaves

    def _answers(self, thread: str, reply: Leaf) -> list[Leaf]:
        return [
            Leaf("tool", self._answer(thread, name, json.loads(raw)), (), id) for id, name, raw in reply.calls
        ]

    def _answer(self, thread: str, name: str, arguments: dict[str, Any]) -> str:
        if self._hook is not None and name in RECALL:
            return self._hook.recall(thread, name, arguments)
        return self._tools[name](**arguments)

    def ask(self, leaves: list[Leaf]) -> tuple[Leaf, Any]:
        self.sent.append(leaves)
        return self._read(self.client.chat.completions.create(**self._body(leaves)))

    async def aask(self, leaves: list[Leaf]) -> tuple[Leaf, Any]:
        self.sent.append(leaves)
        return self._read(await self.awaited.chat.completions.create(**self._body(leaves)))

    def _body(self, leaves: list[Leaf]) -> dict[str, Any]:
        system = [{"role": "system", "content": "You read."}]
        messages = [*system, *map(Converted().body, leaves)]
        return {"model": MODEL, "messages": messages, "tools": self.offered}

    @staticmethod
    def _read(response: Any) -> tuple[Leaf, Any]:
        said = response.choices[0].message
        calls = tuple((one.id, one.function.name, one.function.arguments) for one in said.tool_calls or ())
        return Leaf("assistant", said.content or "", calls), response.usage

    def history(self, thread: str) -> str:
        return "\n".join(leaf.text for leaf in self.threads[thread])

    def close(self) -> None:
        if self._hook is not None:
            self._hook.adapter.close()


class Hook:
    """fanfold in this framework: the whole integration."""

    def __init__(self, store: str | None = None, **options: Any) -> None:
        self.adapter = Adapter(store, **options)
        self.adapted: list[Adapted[Leaf]] = []

    @property
    def tools(self) -> list[dict[str, Any]]:
        return [as_function(tool) for tool in self.adapter.recall_tools]

    def outgoing(self, pad: Pad, thread: str) -> Outgoing[Leaf]:
        return Outgoing(
            session=session_name(thread, "pad"),
            messages=list(pad.threads[thread]),
            converter=Converted(),
            system="You read.",
            tools=pad.offered,
            options={"model": MODEL},
        )

    def call(self, pad: Pad, thread: str) -> Leaf:
        return self.adapter.call(
            self.outgoing(pad, thread), lambda adapted: self._send(pad, adapted), self._heard
        )[0]

    async def acall(self, pad: Pad, thread: str) -> Leaf:
        async def send(adapted: Adapted[Leaf]) -> tuple[Leaf, Any]:
            self.adapted.append(adapted)
            return await pad.aask(adapted.messages)

        return (await self.adapter.acall(self.outgoing(pad, thread), send, self._heard))[0]

    def _send(self, pad: Pad, adapted: Adapted[Leaf]) -> tuple[Leaf, Any]:
        self.adapted.append(adapted)
        return pad.ask(adapted.messages)

    def recall(self, thread: str, name: str, arguments: dict[str, Any]) -> str:
        return self.adapter.recall(session_name(thread, "pad"), name, arguments)

    @staticmethod
    def _heard(reply: tuple[Leaf, Any]) -> Heard[Leaf]:
        leaf, bill = reply
        read = bill.prompt_tokens_details.cached_tokens if bill.prompt_tokens_details else 0
        usage = TokenUsage(input=bill.prompt_tokens - read, cache_read=read, output=bill.completion_tokens)
        return Heard(messages=[leaf], usage=usage)


def make_pad(trial: Trial) -> Pad:
    """An agent for a trial."""
    hook = Hook(trial.store, window=trial.window) if trial.store else None
    return Pad(trial.openai_base_url, dict(trial.tools), hook)
