"""Messages and bills in OpenAI's chat form, for recorders that keep neither a provider's form nor one near to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fanfold.text.json_text import to_json
from fanfold.transcripts.conversation import Wire
from fanfold.transcripts.recording import BadJson
from fanfold.transcripts.values import listing, string


def make_call(id: str, name: str, arguments: Any) -> Wire:
    """A tool call; a text as arguments is kept as it is."""
    text = arguments if isinstance(arguments, str) else _encode({} if arguments is None else arguments)
    return {"id": id, "type": "function", "function": {"name": name, "arguments": text}}


def make_answer(text: Any, calls: Sequence[Wire] = (), thought: str = "") -> Wire:
    """What the model said, called and thought."""
    message: Wire = {"role": "assistant", "content": text if text or not calls else None}
    if thought:
        message["reasoning_content"] = thought
    if calls:
        message["tool_calls"] = list(calls)
    return message


def make_result(call: str, content: Any) -> Wire:
    """What a tool gave back."""
    return {"role": "tool", "tool_call_id": call, "content": content}


def make_image(url: str) -> Wire:
    """A block that shows an image."""
    return {"type": "image_url", "image_url": {"url": url}}


def make_bill(prompt: int, read: int, output: int, reasoning: int) -> Wire:
    """Usage; `prompt` counts the tokens that were read from the cache too, and `output` the reasoning."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": {"cached_tokens": read},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


def text_of(value: Any) -> str:
    """A value as the text of a result: a text as it is, blocks of text joined, anything else as JSON."""
    if isinstance(value, str) or value is None:
        return value or ""
    texts = [block.get("text") for block in listing(value) if isinstance(block, dict)]
    if texts and len(texts) == len(value) and all(isinstance(text, str) for text in texts):
        return "\n".join(map(string, texts))
    return _encode(value)


def join_texts(texts: Iterable[object]) -> str:
    """The texts among these values, each in a paragraph of its own."""
    return "\n\n".join(filter(None, map(string, texts)))


def _encode(value: Any) -> str:
    try:
        return to_json(value)
    except RecursionError:
        raise BadJson("nested too deeply") from None
