"""The dialect `openai.responses`; how it reads, writes and judges stands beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fanfold.core.errors import BadMessage
from fanfold.core.message import Message, Text, Wire
from fanfold.core.record import Frame
from fanfold.core.view import Violation
from fanfold.dialects.dialect import Assembly, Context, Marks, Reply, SplitRequest, plain, told_miss
from fanfold.dialects.openai import OpenAIDialect
from fanfold.dialects.responses import references, rules
from fanfold.dialects.responses.facts import FACTS
from fanfold.dialects.responses.read import NAME, read, read_said, without_parsed
from fanfold.dialects.responses.stream import ResponseEvents
from fanfold.dialects.responses.write import patch, with_context, write
from fanfold.dialects.rules import Params, Rows
from fanfold.dialects.tools import few, well_named
from fanfold.tokens.usage import billed_usage

_LEAST_REPLY = 16
_OTHERS = {"messages": "Chat Completions or Anthropic", "contents": "Gemini"}


class OpenAIResponses(OpenAIDialect):
    """The dialect for `openai.responses`."""

    name = NAME
    field = FACTS.field
    tool_like = "`type` and `name`"
    tool_rules = (well_named, few)
    message = staticmethod(read)
    patch = staticmethod(patch)
    write = staticmethod(write)
    whole = staticmethod(references.whole)
    allow = staticmethod(rules.allow)
    check = staticmethod(rules.check)
    repair = staticmethod(rules.repair)

    def split(self, request: Any) -> SplitRequest:
        """Take a request (or a bare list of items) apart; `instructions` are the frame's, all items are messages."""
        params = dict(request) if isinstance(request, Mapping) else {"input": request}
        messages = _items(params)
        tools, spoken = params.get("tools"), params.get("instructions")
        framed = tuple(params.pop("tools")) if isinstance(tools, list | tuple) and tools else ()
        system = (params.pop("instructions"),) if isinstance(spoken, str) and spoken else ()
        return SplitRequest(system, messages, framed, params)

    def read_system(self, body: Any, where: str) -> Message:
        """Instructions as a text, or a message that stands before all others."""
        text = isinstance(body, str)
        return Message("system", (Text(body),), Wire(self.name, body)) if text else read(body, where)

    def limit(self, tokens: int | None, default: int) -> dict[str, Any]:
        """The server takes no limit below sixteen tokens."""
        return {} if tokens is None else {"max_output_tokens": max(tokens, _LEAST_REPLY)}

    def encode(
        self, frame: Frame, rows: Rows, params: Params, *, context: Context = None, marks: Marks | None = None
    ) -> dict[str, Any]:
        """The keyword arguments for `client.responses.create`."""
        texts: list[str] = []
        items: list[Any] = []
        for message in frame.system:  # plain words are instructions, messages of this wire the first items
            body = message.wire.body if message.wire and message.came_over(self.name) else message.text
            (texts if isinstance(body, str) else items).append(body)
        instructions = {"instructions": "\n\n".join(texts)} if texts else {}
        items += [body for row in rows for body in row.weight.wire]
        if context:
            items = with_context(_as_items(items), context)
        sent = items[0] if len(items) == 1 and isinstance(items[0], str) else _as_items(items)
        request = {**params, **instructions, **self.tools(frame), **({"input": sent} if items else {})}
        return request | self.cache_key(marks, params)

    def reply(self, response: Any) -> Reply:
        """Read a whole response, as a dict or an SDK object: one message for each item of its output."""
        body = plain(response, "response")
        output = body.get("output") if isinstance(body, dict) else None
        if not isinstance(output, list):
            raise BadMessage("The response has no `output`: give what responses.create returned.")
        items = (without_parsed(item) if isinstance(item, dict) else item for item in output)
        messages = tuple(read_said(item, f"response.output[{i}]") for i, item in enumerate(items))
        id, status, details = body.get("id"), body.get("status"), body.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        stop = reason or (status if isinstance(status, str) else None)
        usage, found = billed_usage(body.get("usage")), body.get("prompt_cache_diagnostics")
        told = found if isinstance(found, dict) and found.get("type") == "cache_miss" else {}
        missed = told_miss(told.get("reason"), told.get("cache_missed_tokens"))
        return Reply(messages, usage, stop, id if isinstance(id, str) else None, missed=missed)

    def assembly(self) -> Assembly:
        """A place to collect a stream of events."""
        return ResponseEvents(self.reply)

    def faults(self, message: Message) -> tuple[Violation, ...]:
        """The rules that the items of a message break by themselves."""
        return rules.item_faults(self.wire(message))


def _items(params: dict[str, Any]) -> Sequence[Any]:
    """The input as a list, taken out of the parameters unless it is empty."""
    given = params.get("input")
    if given is None or (isinstance(given, list | tuple) and not given):
        for key, whose in _OTHERS.items():
            if key in params and "input" not in params:
                raise BadMessage(
                    f"This is a request of {whose}, with `{key}`: Responses has `input`. Name its dialect."
                )
        return ()
    del params["input"]
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        raise BadMessage("`input` is a text or a list of items, or the request is no request.")
    if isinstance(given, tuple) and len(given) == 1:
        return given  # as `split` itself gives a text
    stray = next((i for i, item in enumerate(given) if isinstance(item, str)), None)
    if stray is not None:
        raise BadMessage(f"input[{stray}] is str, not an item: give a dict with a type, or role and content.")
    return given


def _as_items(items: Sequence[Any]) -> list[Any]:
    """A plain text stands for a user's message; beside others it has to be one."""
    return [{"role": "user", "content": item} if isinstance(item, str) else item for item in items]


DIALECT = OpenAIResponses
