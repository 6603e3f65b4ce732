"""OpenAI's Responses."""

from collections.abc import Iterator, Sequence

from fanfold.testing.provider.rejection import Rejection
from fanfold.testing.provider.request import Received
from fanfold.testing.provider.tokens import Count, PricedBlock, block, definition
from fanfold.testing.provider.wire import Wire, canonical, objects, pieces, section

from .openai import charge as charge
from .openai import error as error
from .openai import refuse_large as refuse_large
from .openai import unreadable as unreadable
from .order import CREATED, Order, event, total
from .order import model as model
from .order import streams as streams
from .order import usage as usage

CUT_SHORT = {"length": "max_output_tokens", "refusal": "content_filter"}


def blocks(body: Wire, count: Count) -> list[PricedBlock]:
    """Tools, then instructions, then the input's items."""
    tools = [definition(tool, count) for tool in objects(body.get("tools"))]
    system = [block(body["instructions"], count)] if body.get("instructions") else []
    given = body.get("input")
    items = (
        [block(given, count)] if isinstance(given, str) else [block(item, count) for item in objects(given)]
    )
    return tools + system + items


def refuse_long(blocks: Sequence[PricedBlock], body: Wire, window: int) -> Rejection | None:
    """The input has to fit the window; output is cut to what is left."""
    if total(blocks) <= window:
        return None
    text = "Your input exceeds the context window of this model. Please adjust your input and try again."
    return Rejection(text, param="input", code="context_length_exceeded")


def word_count(tokens: int) -> Wire:
    return {"object": "response.input_tokens", "input_tokens": tokens}


def reply(order: Order) -> Wire:
    short, items = CUT_SHORT.get(order.turn.why), _items(order)
    head = {"id": order.name.reply("resp_"), "object": "response", "created_at": CREATED}
    state: Wire = {"status": "incomplete" if short else "completed", "error": None}
    state["incomplete_details"] = {"reason": short} if short else None
    asked = (
        "instructions",
        "max_output_tokens",
        "metadata",
        "previous_response_id",
        "reasoning",
        "temperature",
    )
    kept = {key: order.request.body.get(key) for key in asked}
    tools = {"tools": order.request.body.get("tools", []), "tool_choice": "auto", "parallel_tool_calls": True}
    tail = {"model": order.request.model, "output": items, "usage": _usage(order, items)}
    return {**head, **state, **kept, **tools, **tail, "store": order.request.body.get("store", True)}


def events(reply: Wire, request: Received) -> Iterator[bytes]:
    """The same reply as a stream, every event numbered."""
    for number, data in enumerate(_story(reply)):
        yield event({**data, "sequence_number": number}, data["type"])


def error_event(rejection: Rejection, name: str) -> bytes:
    told = error(rejection, name)["error"]
    data = {"type": "error", "code": told["code"] or told["type"], "message": told["message"], "param": None}
    return event({**data, "sequence_number": 0}, "error")


def _items(order: Order) -> list[Wire]:
    """Reasoning first; everything after it is bound to it by its id."""
    turn, thinks = order.turn, bool(order.turn.thinking or order.turn.hidden)
    items = [_reasoning(order)] if thinks else []
    bound = 0 if thinks else None
    if turn.text or not turn.calls:
        items.append(_message(order, len(items), bound))
    for nth in range(len(turn.calls)):
        items.append(_call(order, nth, len(items), bound))
    return items


def _reasoning(order: Order) -> Wire:
    name, body = order.name.item("rs", 0), order.request.body
    told = order.turn.thinking if section(body, "reasoning").get("summary") else ""
    item: Wire = {"id": name, "type": "reasoning"}
    item["summary"] = [{"type": "summary_text", "text": told}] if told else []
    if "reasoning.encrypted_content" in (body.get("include") or []):
        item["encrypted_content"] = order.seal.close(item=name, text=order.turn.thinking + order.turn.hidden)
    return item


def _message(order: Order, place: int, bound: int | None) -> Wire:
    text = {"type": "output_text", "text": order.turn.text, "annotations": [], "logprobs": []}
    head = {"id": order.name.item("msg", place, bound), "type": "message", "role": "assistant"}
    return {**head, "status": "completed", "content": [text]}


def _call(order: Order, nth: int, place: int, bound: int | None) -> Wire:
    name, args = order.turn.calls[nth]
    if name == "tool_search":
        head = {"id": order.name.item("tsc", place, bound), "type": "tool_search_call", "execution": "client"}
        call = {"call_id": order.name.call("call_", nth), "arguments": dict(args), "status": "completed"}
        return {**head, **call}
    where, tool = _defined(order.request.body, name)
    custom = tool.get("type") == "custom"
    prefix, kind = ("ctc", "custom_tool_call") if custom else ("fc", "function_call")
    head = {"id": order.name.item(prefix, place, bound), "type": kind}
    said = {"input": str(args.get("input", ""))} if custom else {"arguments": canonical(dict(args))}
    call = {"call_id": order.name.call("call_", nth), "name": name, **said, "status": "completed"}
    return {**head, **call, **({"namespace": where} if where else {})}


def _defined(body: Wire, name: str) -> tuple[str, Wire]:
    """The namespace and the definition of a tool: among the request's, or those that an item of the input adds."""
    added = [tool for item in objects(body.get("input")) for tool in objects(item.get("tools"))]
    listed = [*objects(body.get("tools")), *added]
    spaces = [("", listed)] + [(str(space.get("name")), objects(space.get("tools"))) for space in listed]
    found = ((where, tool) for where, tools in spaces for tool in tools if tool.get("name") == name)
    return next(found, ("", {}))


def _usage(order: Order, items: list[Wire]) -> Wire:
    called = [item["name"] + item["arguments"] for item in items if item["type"] == "function_call"]
    called += [canonical(item["arguments"]) for item in items if item["type"] == "tool_search_call"]
    called += [item["name"] + item["input"] for item in items if item["type"] == "custom_tool_call"]
    output = order.spoken_tokens(order.turn.text, *called) + order.thought_tokens
    return {
        "input_tokens": order.bill.total,
        "input_tokens_details": {"cached_tokens": order.bill.read, "cache_write_tokens": 0},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": order.thought_tokens},
        "total_tokens": order.bill.total + output,
    }


def _story(reply: Wire) -> Iterator[Wire]:
    begun = {**reply, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for place, item in enumerate(reply["output"]):
        yield from _item_story(place, item)
    yield {"type": f"response.{reply['status']}", "response": reply}


def _item_story(place: int, item: Wire) -> Iterator[Wire]:
    where = {"item_id": item["id"], "output_index": place}
    tell = TOLD_AS[item["type"]]
    blank: Wire = {
        "reasoning": {"summary": []},
        "message": {"content": []},
        "function_call": {"arguments": ""},
        "custom_tool_call": {"input": ""},
        "tool_search_call": {},
    }
    opened = {**item, **blank[item["type"]]}
    if "status" in item:
        opened["status"] = "in_progress"
    opened.pop("encrypted_content", None)
    yield {"type": "response.output_item.added", "output_index": place, "item": opened}
    yield from tell(where, item)
    yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _reasoning_story(where: Wire, item: Wire) -> Iterator[Wire]:
    for nth, part in enumerate(item["summary"]):
        here, text = {**where, "summary_index": nth}, part["text"]
        empty = {"type": "summary_text", "text": ""}
        yield {"type": "response.reasoning_summary_part.added", **here, "part": empty}
        for piece in pieces(text):
            yield {"type": "response.reasoning_summary_text.delta", **here, "delta": piece}
        yield {"type": "response.reasoning_summary_text.done", **here, "text": text}
        yield {"type": "response.reasoning_summary_part.done", **here, "part": part}


def _message_story(where: Wire, item: Wire) -> Iterator[Wire]:
    here, part = {**where, "content_index": 0}, item["content"][0]
    yield {"type": "response.content_part.added", **here, "part": {**part, "text": ""}}
    for piece in pieces(part["text"]):
        yield {"type": "response.output_text.delta", **here, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **here, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **here, "part": part}


def _call_story(where: Wire, item: Wire) -> Iterator[Wire]:
    for piece in pieces(item["arguments"]):
        yield {"type": "response.function_call_arguments.delta", **where, "delta": piece}
    told = {"name": item["name"], "arguments": item["arguments"]}
    yield {"type": "response.function_call_arguments.done", **where, **told}


def _custom_story(where: Wire, item: Wire) -> Iterator[Wire]:
    for piece in pieces(item["input"]):
        yield {"type": "response.custom_tool_call_input.delta", **where, "delta": piece}
    yield {"type": "response.custom_tool_call_input.done", **where, "input": item["input"]}


def _search_story(where: Wire, item: Wire) -> Iterator[Wire]:
    """A search for tools comes whole."""
    yield from ()


TOLD_AS = {"reasoning": _reasoning_story, "message": _message_story, "function_call": _call_story}
TOLD_AS |= {"tool_search_call": _search_story, "custom_tool_call": _custom_story}
