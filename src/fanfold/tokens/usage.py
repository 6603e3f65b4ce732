"""What a request was billed: the many ways providers say it, and what it costs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from fanfold.core.errors import BadInput
from fanfold.core.record import TokenUsage, checked_tokens
from fanfold.tokens.models import Model

DEPTH = 4
"""So deep is a usage looked for in what was handed in."""

WRAPPERS = ("usage", "usage_metadata", "usageMetadata", "x_groq", "response", "message", "metadata")
"""Where a whole response or a stream's event keeps its usage."""


def usage_of(bill: object) -> TokenUsage:
    """The usage in a provider's dict or SDK object; a whole response will do, too."""
    if isinstance(bill, TokenUsage):
        return bill
    figures = dict(_figures(_innermost(bill), checked_tokens))
    for shape in SHAPES:
        if any(mark in figures for mark in shape.marks):
            return _usage_in(shape, figures)
    raise BadInput(
        f"This {type(bill).__name__} holds no usage that fanfold knows: "
        "give the usage object of a provider's response, or its dict."
    )


def billed_usage(bill: object) -> TokenUsage | None:
    """The usage that came with a reply, or None: a reply is not lost because its bill cannot be read.

    Figures that no request can have, such as fewer tokens than none, are a bill for nothing.
    """
    try:
        return usage_of(bill) if bill else None
    except BadInput:
        named = any(_figures(_innermost(bill), lambda name, value: 1))
        return TokenUsage() if named else None


def cost(usage: TokenUsage, model: Model) -> float:
    """What this usage costs in dollars by the model's list prices."""
    if model.prices is None:
        raise BadInput(
            f"No prices are known for {model.name!r}: register it with prices=Prices(input=…, output=…)."
        )
    prices = model.prices.at(usage.prompt)
    read = prices.input if prices.cache_read is None else prices.cache_read
    write = prices.input if prices.cache_write_5m is None else prices.cache_write_5m
    hour = write if prices.cache_write_1h is None else prices.cache_write_1h
    short = usage.cache_write - usage.cache_write_1h
    cached = usage.cache_read * read + short * write + usage.cache_write_1h * hour
    return (usage.input * prices.input + usage.output * prices.output + cached) / 1_000_000


def bill_everything(whole: int, before: int, billed: TokenUsage, *, caches: bool) -> TokenUsage:
    """What a request with everything in it would be billed. There is no other definition of the cost without fanfold.

    Such requests only grow: what the one before had, too, comes from the provider's cache, if it `caches` what the
    client itself sends. If it does not, all of it is paid in full each time, and nothing for writing it to the cache.
    """
    read = min(before, whole) if caches else 0
    new = whole - read
    written = new if caches and billed.cache_write else 0
    hour = round(new * billed.cache_write_1h / billed.cache_write) if written else 0
    return TokenUsage(
        input=new - written,
        output=billed.output,
        cache_read=read,
        cache_write=written,
        cache_write_1h=hour,
        reasoning=billed.reasoning,
    )


class Shape(Struct, frozen=True, kw_only=True):
    """Where one family of providers puts its figures; of several paths the first one present counts."""

    marks: tuple[str, ...]
    prompt: tuple[str, ...]
    output: tuple[str, ...]
    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    hour: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    """Prompt tokens that `prompt` leaves out."""
    total: tuple[str, ...] = ()
    inclusive: bool = True
    """Whether `prompt` counts the cached tokens, too."""
    apart: bool = False
    """Whether `output` leaves the reasoning out, where `total` does not tell."""


_INPUT = Shape(  # OpenAI Responses, Codex, LangChain, Vercel AI SDK, pydantic-ai
    marks=("input_tokens", "output_tokens"),
    prompt=("input_tokens",),
    output=("output_tokens",),
    read=(
        "input_tokens_details.cached_tokens",
        "input_token_details.cached_tokens",
        "input_token_details.cache_read",
        "cached_input_tokens",
        "cache_read_tokens",
    ),
    written=(
        "input_tokens_details.cache_write_tokens",
        "input_tokens_details.cache_creation_tokens",
        "input_token_details.cache_creation",
        "cache_write_tokens",
    ),
    reasoning=(
        "output_tokens_details.reasoning_tokens",
        "output_token_details.reasoning",
        "reasoning_output_tokens",
        "reasoning_tokens",
    ),
    total=("total_tokens",),
)

SHAPES: tuple[Shape, ...] = (
    Shape(  # Gemini, AI Studio and Vertex
        marks=("prompt_token_count", "candidates_token_count"),
        prompt=("prompt_token_count",),
        output=("candidates_token_count", "response_token_count"),
        read=("cached_content_token_count",),
        reasoning=("thoughts_token_count",),
        beside=("tool_use_prompt_token_count",),
        total=("total_token_count",),
        apart=True,
    ),
    Shape(  # Gemini, Interactions
        marks=("total_input_tokens", "total_output_tokens"),
        prompt=("total_input_tokens",),
        output=("total_output_tokens",),
        read=("total_cached_tokens",),
        reasoning=("total_thought_tokens", "total_reasoning_tokens"),
        beside=("total_tool_use_tokens",),
        total=("total_tokens",),
        apart=True,
    ),
    Shape(  # OpenAI Chat, Azure, DeepSeek, Mistral, xAI, Groq, OpenRouter, Kimi, vLLM, LiteLLM
        marks=("prompt_tokens", "completion_tokens"),
        prompt=("prompt_tokens",),
        output=("completion_tokens",),
        read=(
            "prompt_tokens_details.cached_tokens",
            "prompt_token_details.cached_tokens",
            "prompt_cache_hit_tokens",
            "cache_read_input_tokens",
            "num_cached_tokens",
            "cached_tokens",
        ),
        written=(
            "prompt_tokens_details.cache_write_tokens",
            "prompt_tokens_details.cache_creation_tokens",
            "cache_creation_input_tokens",
        ),
        hour=("prompt_tokens_details.cache_creation_token_details.ephemeral_1h_input_tokens",),
        reasoning=("completion_tokens_details.reasoning_tokens", "reasoning_tokens"),
        total=("total_tokens",),
    ),
    Shape(  # codelia: nobody else says `cache_creation_tokens` beside its figures
        marks=("cache_creation_tokens",),
        prompt=("input_tokens",),
        output=("output_tokens",),
        read=("cache_read_tokens",),
        written=("cache_creation_tokens",),
        inclusive=False,
    ),
    replace(_INPUT, marks=(*_INPUT.read[:4], *_INPUT.written[:3])),
    Shape(  # Anthropic; Bedrock's Converse says the same in its own words
        marks=(
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "cache_write_input_tokens",
            "cache_read_input_token_count",
            "cache_write_input_token_count",
        ),
        prompt=("input_tokens",),
        output=("output_tokens",),
        read=("cache_read_input_tokens", "cache_read_input_token_count"),
        written=(
            "cache_creation_input_tokens",
            "cache_write_input_tokens",
            "cache_write_input_token_count",
        ),
        hour=("cache_creation.ephemeral_1h_input_tokens", "cache_details.1h.input_tokens"),
        reasoning=("output_tokens_details.thinking_tokens",),
        inclusive=False,
    ),
    _INPUT,
    Shape(  # Ollama
        marks=("prompt_eval_count", "eval_count"), prompt=("prompt_eval_count",), output=("eval_count",)
    ),
    Shape(  # Cohere
        marks=("tokens.input_tokens", "tokens.output_tokens"),
        prompt=("tokens.input_tokens",),
        output=("tokens.output_tokens",),
        read=("cached_tokens",),
    ),
)
"""In the order they are tried: what tells Responses from Anthropic stands before both."""

PATHS = frozenset(
    path for shape in SHAPES for paths in asdict(shape).values() if isinstance(paths, tuple) for path in paths
)


def _usage_in(shape: Shape, figures: Mapping[str, int]) -> TokenUsage:
    prompt, read, written = (_pick(figures, paths) for paths in (shape.prompt, shape.read, shape.written))
    fresh = prompt - read - written if shape.inclusive else prompt
    if fresh < 0:
        raise BadInput(f"A prompt of {prompt} tokens cannot have {read + written} cached ones.")
    reasoning = _pick(figures, shape.reasoning)
    return TokenUsage(
        input=fresh + _pick(figures, shape.beside),
        output=_pick(figures, shape.output) + (reasoning if _apart(shape, figures) else 0),
        cache_read=read,
        cache_write=written,
        cache_write_1h=_pick(figures, shape.hour),
        reasoning=reasoning,
    )


def _apart(shape: Shape, figures: Mapping[str, int]) -> bool:
    """Whether reasoning comes on top of the output; the total tells (xAI adds it, OpenAI includes it)."""
    paths = (shape.prompt, shape.beside, shape.output)
    rest = _pick(figures, shape.total) - sum(_pick(figures, each) for each in paths)
    if rest == 0:
        return False
    return shape.apart or rest == _pick(figures, shape.reasoning)


def _pick(figures: Mapping[str, int], paths: tuple[str, ...]) -> int:
    """The largest figure: routers repeat a figure under several names, and leave some at zero."""
    return max((figures[path] for path in paths if path in figures), default=0)


def _innermost(bill: object) -> object:
    """The usage inside a response or an event."""
    for _ in range(DEPTH):
        inner = next((found for key in WRAPPERS if _is_nested(found := _member(bill, key))), None)
        if inner is None:
            return bill
        bill = inner
    return bill


def _figures(
    bill: object, check: Callable[[str, object], int], path: str = "", depth: int = 0
) -> Iterator[tuple[str, int]]:
    """The figures that some shape asks for, under their dotted paths in snake case."""
    for key, value in _members(bill):
        name = path + _snake(key)
        if _is_nested(value) and depth < DEPTH:
            yield from _figures(value, check, f"{name}.", depth + 1)
        elif name in PATHS and value is not None:
            yield name, check(name, value)


def _snake(key: object) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", str(key)).lower()


def _is_nested(value: object) -> bool:
    return isinstance(value, Mapping) or _members_of(value) is not None


def _member(bill: object, key: str) -> object:
    return bill.get(key) if isinstance(bill, Mapping) else getattr(bill, key, None)


def _members(bill: object) -> list[tuple[object, object]]:
    if isinstance(bill, Mapping):
        return [(key, _by_ttl(value) if key == "cacheDetails" else value) for key, value in bill.items()]
    listed = _members_of(bill)
    return list(listed().items()) if listed else []


def _by_ttl(details: object) -> object:
    """Bedrock lists its cache writes; here each is found under its lifetime."""
    if not isinstance(details, list):
        return details
    return {entry["ttl"]: entry for entry in details if isinstance(entry, Mapping) and "ttl" in entry}


def _members_of(value: object) -> Callable[[], Any] | None:
    """How an SDK object gives its fields: pydantic, protobuf, msgspec, or any plain object."""
    if value is None or isinstance(value, str | bytes | int | float | list | tuple | type):
        return None
    if isinstance(value, Struct):
        return lambda: {field: getattr(value, field) for field in value.__struct_fields__}
    for name in ("model_dump", "to_dict", "_asdict"):
        dump: Callable[[], Any] | None = getattr(value, name, None)
        if callable(dump):
            return dump
    return (lambda: vars(value)) if hasattr(value, "__dict__") else None
