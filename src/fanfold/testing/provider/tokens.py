"""The server's own token count: each text by its model's vocabulary, and a little for every block."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from math import ceil
from typing import Any

from .wire import Wire, canonical, without

Count = Callable[[str], int]

OVERHEAD = 4
"""Tokens that every block costs beside its text."""
MEDIA = 1_600
"""Tokens of an image, a file or a recording, whatever its size."""

VOCABULARIES = (
    ("gemini", "gemma3", 1.0),
    (r"claude-[a-z]+-(5|4-[78])|claude-mythos", "o200k_base", 1.55),
    ("claude", "o200k_base", 1.2),
    ("deepseek", "deepseek_v3", 1.0),
    ("qwen", "qwen3", 1.0),
    ("llama", "llama3", 1.0),
    ("mistral", "mistral_v3", 1.0),
    ("kimi", "kimi_k2", 1.0),
    ("glm", "glm4.5", 1.0),
    (r"gpt-4-|gpt-3\.5", "cl100k_base", 1.0),
    ("", "o200k_base", 1.0),
)
"""By a pattern in the model's name, the first that fits: the vocabulary, and how many times its tokens are billed.

Claude's vocabulary is not public: it takes about a fifth more tokens than o200k, since 4.7 half as many more.
"""

SILENT = {"type", "id", "role", "status", "signature", "thoughtSignature", "thought_signature"}
SILENT |= {"call_id", "tool_use_id", "tool_call_id", "cache_control", "detail", "phase"}
STRUCTURED = {"input", "args", "parameters", "parametersJsonSchema", "input_schema", "response", "schema"}
SEALED = {"encrypted_content", "data"}
"""Reasoning that only the provider reads: billed by its length, not letter by letter."""
PICTURES = {"image", "image_url", "input_image", "input_file", "input_audio", "file"}


@dataclass(frozen=True)
class PricedBlock:
    """One piece of the prompt in the order the provider reads it: tools, system, messages."""

    text: str
    tokens: int
    mark: str | None = None
    """How long Anthropic is asked to remember the prompt up to here: `5m`, `1h` or not at all."""


def counting(model: str) -> Count:
    """How this model's provider counts a text."""
    name = model.lower()
    vocabulary, times = next((row[1], row[2]) for row in VOCABULARIES if re.search(row[0], name))
    return _counter(vocabulary, times)


@cache
def _counter(vocabulary: str, times: float) -> Count:
    from splintr import Tokenizer  # late: loads a vocabulary

    encode = Tokenizer.from_pretrained(vocabulary).encode_ordinary

    @lru_cache(4_096)  # a conversation is sent again and again
    def count(text: str) -> int:
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return ceil(len(encode(whole)) * times)

    return count


def quarter(text: str) -> int:
    """A quarter of the text's UTF-8 bytes, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


def block(value: Any, count: Count) -> PricedBlock:
    """A block of the prompt, weighed; its `cache_control` is its mark and not part of its text."""
    if not isinstance(value, dict):
        return PricedBlock(canonical(value), count(str(value)) + OVERHEAD)
    bare = without(value, "cache_control")
    return PricedBlock(canonical(bare), weigh(bare, count) + OVERHEAD, _mark(value))


def definition(value: Wire, count: Count) -> PricedBlock:
    """A tool's definition: its schema counts with its keys and brackets."""
    bare = without(value, "cache_control")
    return PricedBlock(canonical(bare), count(canonical(bare)) + OVERHEAD, _mark(value))


def weigh(value: Any, count: Count) -> int:
    """Tokens of all texts in a value; structured arguments count as JSON, media at a flat rate."""
    if isinstance(value, str):
        return count(value)
    if isinstance(value, list):
        return sum(weigh(item, count) for item in value)
    if not isinstance(value, dict):
        return 0
    if _is_media(value):
        return MEDIA
    return sum(_weigh_field(key, item, count) for key, item in value.items() if key not in SILENT)


def _weigh_field(key: str, value: Any, count: Count) -> int:
    if key in SEALED and isinstance(value, str):
        return quarter(value)
    if key in STRUCTURED and isinstance(value, dict):
        return count(canonical(value))
    return weigh(value, count)


def _is_media(value: Wire) -> bool:
    if str(value.get("type")) in PICTURES or not value.keys().isdisjoint({"inlineData", "inline_data"}):
        return True
    source = value.get("source")
    return value.get("type") == "document" and isinstance(source, dict) and source.get("type") != "text"


def _mark(value: Wire) -> str | None:
    control = value.get("cache_control")
    if not isinstance(control, dict):
        return None
    return str(control.get("ttl") or "5m")
