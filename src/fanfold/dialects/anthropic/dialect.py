"""The dialect `anthropic`; how it reads, writes and judges stands beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fanfold.core.errors import BadMessage
from fanfold.core.message import Message, Text, Wire
from fanfold.core.record import Frame
from fanfold.dialects.anthropic import message_rules, rules, thinking
from fanfold.dialects.anthropic import read as reading
from fanfold.dialects.anthropic import write as writing
from fanfold.dialects.anthropic.facts import FACTS
from fanfold.dialects.anthropic.join import Joint, with_context
from fanfold.dialects.anthropic.marks import mark
from fanfold.dialects.anthropic.stream import MessageEvents
from fanfold.dialects.dialect import Context, Marks, ProviderDialect, Reply, SplitRequest, messages_of, plain
from fanfold.dialects.rules import Params, Rows
from fanfold.dialects.tools import chosen_from, told_apart, well_named
from fanfold.tokens.usage import billed_usage

MOST_UNSTREAMED = 21_333
"""Where nobody gave a limit. The SDK raises for a reply that is not streamed and may take longer than ten minutes, and
it reckons with 128,000 tokens an hour (`_calculate_nonstreaming_timeout`, anthropic 0.70 and later)."""


class AnthropicMessages(ProviderDialect):
    """The dialect for `anthropic`; its rules go by the model that each request names."""

    name = reading.DIALECT
    field = FACTS.field
    tool_like = "`name` and `input_schema`"
    tool_rules = (well_named, told_apart, chosen_from)
    message = staticmethod(reading.read)
    patch = staticmethod(writing.patch)
    write = staticmethod(writing.write)
    faults = staticmethod(message_rules.message_faults)
    allow = staticmethod(thinking.allow)
    check = staticmethod(rules.check)
    repair = staticmethod(rules.repair)
    assembly = staticmethod(MessageEvents)

    def split(self, request: Any) -> SplitRequest:
        """Take a request (or a bare list of messages) apart."""
        body = request if isinstance(request, Mapping) else {"messages": request}
        messages = messages_of(body)
        told, tools = body.get("system"), _frame_items(body.get("tools"))
        system = (told,) if isinstance(told, str) and told else _frame_items(told)
        framed = {"messages", *(("system",) if system else ()), *(("tools",) if tools else ())}
        return SplitRequest(system, messages, tools, {key: body[key] for key in body if key not in framed})

    def frame(self, system: Iterable[Any], tools: Iterable[Any]) -> Frame:
        """System prompt (a text or blocks) and tools as a frame."""
        return super().frame((system,) if isinstance(system, str) else system, tools)

    def read_system(self, body: Any, where: str) -> Message:
        """A text, or a block."""
        if isinstance(body, str):
            return Message("system", (Text(body),), Wire(self.name, body))
        block = plain(body, where)
        if not isinstance(block, dict):
            kind = type(block).__name__
            raise BadMessage(f"{where} is {kind}; a system prompt is a text or a list of blocks.")
        if "type" not in block and "content" in block:
            return Message("system", reading.parts(block["content"]))
        return Message("system", (reading.part(block),), Wire(self.name, block))

    def limit(self, tokens: int | None, default: int) -> dict[str, Any]:
        """Anthropic demands a limit of the reply."""
        return {"max_tokens": min(default, MOST_UNSTREAMED) if tokens is None else tokens}

    def encode(
        self, frame: Frame, rows: Rows, params: Params, *, context: Context = None, marks: Marks | None = None
    ) -> dict[str, Any]:
        """The keyword arguments for `client.messages.create`."""
        joint, previous = Joint(), None
        for row in rows:
            joint.add(row)
            if marks is not None and row.id == marks.previous:
                previous = joint.end
        request = {**params, **_system(frame), **self.tools(frame), "messages": joint.messages}
        end = with_context(joint.messages, context) if context else joint.end
        if marks is not None:
            mark(request, end, previous)
        return request

    def reply(self, response: Any) -> Reply:
        """Read a whole response: a `message`, as a dict or an SDK object."""
        body = plain(response, "response")
        content = body.get("content") if isinstance(body, dict) else None
        if not isinstance(content, list):
            raise BadMessage("The response has no `content`: give what messages.create returned.")
        for block in content:
            if isinstance(block, dict):
                block.pop("parsed_output", None)  # the SDK adds it, and the provider does not take it back
        message = reading.read({"role": "assistant", "content": content}, "response")
        usage, stop = billed_usage(body.get("usage")), body.get("stop_reason")
        return Reply((message,), usage, stop, missed=reading.read_miss(body))


def _frame_items(items: Any) -> tuple[Any, ...]:
    """Blocks or tools as a frame takes them; what it does not understand stays among the parameters."""
    if not isinstance(items, list | tuple):
        return ()
    known = all(isinstance(item, Mapping) or hasattr(item, "model_dump") for item in items)
    return tuple(items) if known else ()


def _system(frame: Frame) -> dict[str, Any]:
    """The system prompt as it came; a text by itself stays a text."""
    items: list[Any] = []
    for message in frame.system:
        if message.wire is not None and reading.is_own(message):
            items.append(message.wire.body)
        else:
            texts = (part.text for part in message.parts if isinstance(part, Text))
            items += [writing.text_block(text) for text in texts if text.strip()]
    if len(items) == 1 and isinstance(items[0], str) and items[0]:
        return {"system": items[0]}
    blocks = [writing.text_block(item) if isinstance(item, str) else item for item in items]
    return {"system": blocks} if blocks else {}


DIALECT = AnthropicMessages
