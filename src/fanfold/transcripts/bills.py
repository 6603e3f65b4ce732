"""Usage as the provider bills it, from recorders that wrote it in their own words."""

from __future__ import annotations

from fanfold.dialects.registry import DialectName
from fanfold.transcripts.conversation import Wire
from fanfold.transcripts.values import mapping, number

GEMINI = {
    "input": "promptTokenCount",
    "output": "candidatesTokenCount",
    "cached": "cachedContentTokenCount",
    "thoughts": "thoughtsTokenCount",
    "tool": "toolUsePromptTokenCount",
    "total": "totalTokenCount",
}
"""Gemini CLI's names and those of the API's `usageMetadata`."""


def gemini_cli_bill(tokens: Wire) -> Wire | None:
    """Gemini CLI's `tokens` as `usageMetadata`."""
    return {GEMINI[name]: number(tokens[name]) for name in GEMINI if name in tokens} or None


def opencode_bill(tokens: Wire, dialect: DialectName) -> Wire | None:
    """OpenCode's `tokens`, whose `input` leaves the cached ones out.

    Newer versions leave reasoning out of `output`, older ones do not; `total`, where given, tells.
    """
    if not tokens:
        return None
    cache = mapping(tokens.get("cache"))
    fresh, read, written = number(tokens.get("input")), number(cache.get("read")), number(cache.get("write"))
    output, reasoning = number(tokens.get("output")), number(tokens.get("reasoning"))
    output = max(output, number(tokens.get("total")) - fresh - read - written)
    if dialect == "anthropic":
        return _anthropic(fresh, read, written, output)
    return _chat(fresh + read + written, read, output, reasoning)


def inspect_bill(usage: Wire) -> Wire | None:
    """Inspect's `usage`, whose `input_tokens` leaves the cached ones out unless the total says otherwise."""
    if not usage:
        return None
    fresh, output = number(usage.get("input_tokens")), number(usage.get("output_tokens"))
    read = number(usage.get("input_tokens_cache_read"))
    cached = read + number(usage.get("input_tokens_cache_write"))
    is_whole = fresh + output == number(usage.get("total_tokens"))
    prompt = fresh if is_whole else fresh + cached
    return _chat(prompt, read, output, number(usage.get("reasoning_tokens")))


def langchain_bill(usage: Wire) -> Wire | None:
    """LangChain's `usage_metadata`, whose `input_tokens` counts the cached ones too."""
    if not usage:
        return None
    fresh, output = number(usage.get("input_tokens")), number(usage.get("output_tokens"))
    read = number(mapping(usage.get("input_token_details")).get("cache_read"))
    return _chat(fresh, read, output, number(mapping(usage.get("output_token_details")).get("reasoning")))


def _anthropic(fresh: int, read: int, written: int, output: int) -> Wire:
    cached = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    return {"input_tokens": fresh, **cached, "output_tokens": output}


def _chat(prompt: int, read: int, output: int, reasoning: int) -> Wire:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": {"cached_tokens": read},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }
