"""Recognise a provider's "too long" among its errors, with the figures it gives.

A limit per minute or on the output is no refusal: sending less of the conversation does not help there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Literal

from msgspec import Struct

CUT = 4_000
"""An error's text is read so far; errors can be huge, and hostile."""

PIECES = 60
"""So many texts of one error are looked at."""


class Refusal(Struct, frozen=True):
    """A request that was too long for its model, in tokens, or for its provider, in bytes."""

    kind: Literal["tokens", "bytes"]
    text: str
    limit: int | None = None
    """What the provider accepts: of prompt and reserve together if it names a reserve."""
    asked: int | None = None
    """The prompt's size, as the provider counted it."""
    reserve: int | None = None
    """The output tokens that were asked for with it."""
    over: int | None = None
    """By how much it was too long, said or worked out."""
    provider: str = ""
    """Whose wording it is: a hint, for providers copy one another."""


class Wording(Struct, frozen=True):
    """One way to say it; its groups are limit, asked, reserve, total (asked + reserve) and over."""

    provider: str
    pattern: re.Pattern[str]
    kind: Literal["tokens", "bytes"] = "tokens"


def refusal(error: object) -> Refusal | None:
    """What a text, a body or an SDK's exception says about length, or None if it is about something else."""
    text = _text(error)
    if _status(error) in NOT_LENGTH or RATE.search(text):
        return None
    for wording in WORDINGS:
        found = wording.pattern.search(text)
        if found:
            return _refusal(wording, found, text)
    return Refusal("bytes", text) if _status(error) == 413 else None


UNREAD = frozenset({"headers", "responsemetadata", "request", "config"})
"""Headers name rate limits in every answer; a request repeats what the user said."""

NOT_LENGTH = frozenset({401, 402, 403, 429})
"""No key, no money, no right, too often."""

RATE = re.compile(
    r"tokens[ _-]per[ _-](?:min|day|hour)|\b(?:TPM|TPD|RPM)\b|rate[ _-]?limit|throttl|too many requests"
    r"|resource_exhausted|quota|please wait before|can only afford",
    re.IGNORECASE,
)


def _say(provider: str, pattern: str, kind: Literal["tokens", "bytes"] = "tokens") -> Wording:
    """A wording, where <limit> and the like stand for a number, and GAP for a few words."""
    pattern = re.sub(r"<(\w+)>", r"(?P<\1>\\d[\\d,]{0,14})", pattern).replace("GAP", "[^<>{}]{0,80}?")
    return Wording(provider, re.compile(pattern, re.IGNORECASE), kind)


WORDINGS: tuple[Wording, ...] = (
    # Bytes first: 413 is said in both senses.
    _say("anthropic", r"request_too_large|request exceeds the maximum size", "bytes"),
    _say("gemini", r"request payload size exceeds the limit(?:: <limit> bytes)?", "bytes"),
    _say("bedrock", r"value at 'body' failedGAPlength less than or equal to <limit>", "bytes"),
    _say("openai", r"string too longGAPmaximum length (?=\d{7})<limit>GAPlength <asked>", "bytes"),
    _say("", r"(?:request entity|payload|content|request body) too large", "bytes"),
    _say("", r"maximum request body size <limit> exceeded", "bytes"),
    # OpenAI's sentence, which Azure, DeepSeek, Groq, vLLM and most others repeat.
    _say(
        "vllm",
        r"maximum context length is <limit> tokensGAPrequested <reserve> output tokens"
        r"GAP(?:at least )?<asked> input tokens",
    ),
    _say(
        "vllm",
        r"is too large: <reserve>\. ThisGAPmaximum context length is <limit> tokens"
        r" and your request has <asked> input",
    ),
    _say(
        "openrouter",
        r"endpoint.{0,2}s maximum context length is <limit> tokensGAPrequested about <total> tokens"
        r"(?: \(GAP<reserve> in the output)?",
    ),
    _say(
        "openai",
        r"maximum context length is <limit> tokensGAPrequested <total> tokens"
        r"(?: \(GAP<reserve> (?:in|for) the completion)?",
    ),
    _say("openai", r"maximum context length is <limit> tokensGAPresulted in <asked> tokens"),
    _say("vllm", r"maximum context length is <limit> tokensGAPrequest has <asked> input tokens"),
    _say(
        "openai",
        r"input tokens exceed the configured limit(?: of <limit>)?(?: tokensGAPresulted in <asked>)?",
    ),
    _say(
        "sglang",
        r"maximum context length of <limit> tokensGAPtotal of <total> tokens(?:: <asked>GAP<reserve>)?",
    ),
    _say("openai", r"(?:your|the) (?:input|request|prompt) exceeds the context window"),
    # Anthropic, also on Bedrock and Vertex.
    _say("anthropic", r"prompt is too long: <asked> tokens > <limit> max"),
    _say("anthropic", r"exceed context limit: <asked> (?:\+ )?<reserve> > <limit>"),
    _say("anthropic", r"request size exceeds model context window"),
    _say(
        "gemini",
        r"input token count (?:\(<asked>\) )?exceeds the maximum number of tokens allowed(?: \(<limit>\))?",
    ),
    _say("gemini", r"input token count is <asked> but model only supports up to <limit>"),
    _say("bedrock", r"too many input tokens\. max input tokens: <limit>, request input token count: <asked>"),
    _say(
        "bedrock", r"input is too long for (?:the )?requested model|validationexceptionGAPinput is too long"
    ),
    _say("bedrock", r"number of input tokens exceeds maximum length|exceeds the max input token limit"),
    _say(
        "mistral", r"prompt contains <asked> tokensGAPtoo large for model with <limit> maximum context length"
    ),
    _say("mistral", r"too large for model with <limit> maximum context length"),
    _say("xai", r"maximum prompt length is <limit>(?: but the request contains <asked>)?"),
    _say("cerebras", r"current length is <asked> while limit is <limit>"),
    _say("groq", r"reduce the length of the messages or completion"),
    _say("moonshot", r"exceeded model token limit(?:: <limit>)?(?: \(requested: <asked>)?"),
    _say("minimax", r"context window exceeds limit"),
    _say("qwen", r"range of input length should be \[\d+, ?<limit>\]"),
    _say("zai", r"prompt exceeds max length"),
    _say("cohere", r"tokens in the prompt cannot exceed <limit>(?: - received <asked>)?"),
    _say("cohere", r"total tokens exceeds the model'?s max(?: of <limit>)?"),
    _say("github", r"prompt token count of <asked> exceeds the limit of <limit>"),
    _say("fireworks", r"prompt is too long: <asked>, model maximum context length: <limit>"),
    # Local servers.
    _say("llama.cpp", r"request \(<asked> tokens\) exceeds the available context size \(<limit> tokens\)"),
    _say("llama.cpp", r"n_prompt_tokens\W{1,4}<asked>\W{1,8}n_ctx\W{1,4}<limit>"),
    _say("llama.cpp", r"exceeds the available context size|exceed_context_size_error"),
    _say("llama.cpp", r"requested tokens \(<asked>\) exceed context window of <limit>"),
    _say("lmstudio", r"keep the first <asked> tokensGAPoverflowsGAPcontext length of only <limit>"),
    _say("lmstudio", r"input length <asked> exceeds context length <limit>"),
    _say("lmstudio", r"tokens to keep from the initial prompt is greater than the context length"),
    _say("lmstudio", r"n_keep \(<asked>\) >= n_ctx \(<limit>\)"),
    _say("ollama", r"exceeded max context length(?: by <over> tokens)?"),
    _say("ollama", r"input (?:length )?exceeds (?:the |maximum )?context length"),
    _say("sglang", r"input \(<asked> tokens\) is longer than the model.{0,2}s context length \(<limit>"),
    _say("sglang", r"input length \(<asked> tokens\) exceeds the maximum allowed length \(<limit>"),
    _say("tgi", r"`max_new_tokens` must be <= <limit>\. given: <asked> `inputs` tokens and <reserve>"),
    _say("tgi", r"`inputs` must have less than <limit> tokens\. given: <asked>"),
    _say("vllm", r"prompt \(total length <asked>\) is too longGAPcontext length <limit>"),
    _say("vllm", r"input prompt \(<asked> tokens\) is too long and exceeds limit of <limit>"),
    _say(
        "",
        r"input length \(?<asked>\)? exceedsGAPmaximum (?:allowed input|context) length \(?(?:of )?<limit>",
    ),
    _say("", r"prompt has <asked> tokens, but the configured context size is <limit>"),
    # Codes and stock phrases without figures.
    _say("", r"maximum context length(?: is)?(?: (?:of )?<limit>)?"),
    _say("", r"(?:^|\W)413(?: status code)? \(no body\)", "bytes"),
    _say("", r"tokens in (?:the )?request more than max(?:imum)? tokens allowed"),
    _say("", r"input token countGAPexceeds the maximum(?: of <limit>)?"),
    _say("", r"exceeds (?:the )?maximum allowed input length(?: of <limit>)?"),
    _say("", r"(?:prompt|input|context|messages?)\bGAPexceeds the limit of <limit> tokens?"),
    _say(
        "", r"input length\bGAPexceedsGAPcontext length|longer than the maximum model length(?: of <limit>)?"
    ),
    _say("", r"context length is only <limit> tokens|greater than the context length"),
    _say("", r"(?:^|\W)(?<!output )(?<!completion )(?:too many (?:input )?tokens|token limit exceeded)"),
    _say("", r"reduce the length of the (?:messages|prompt|input)"),
    _say("", r"prompt (?:is )?too long(?:: <asked> tokens)?"),
    _say(
        "",
        r"context[_ ](?:length|window)[_ ](?:was )?exceeded|contextwindowexceeded"
        r"|model_max_prompt_tokens_exceeded|longer than the model.{0,2}s context length"
        r"|exceeds? (?:the )?(?:model.{0,2}s )?context (?:window|length)",
    ),
)
"""Read from the top, the first that fits counts."""


def _refusal(wording: Wording, found: re.Match[str], text: str) -> Refusal:
    figures = {name: int(value.replace(",", "")) for name, value in found.groupdict().items() if value}
    limit, asked, reserve = (figures.get(name) for name in ("limit", "asked", "reserve"))
    if "total" in figures:
        asked = max(figures["total"] - (reserve or 0), 0)
    over = figures.get("over")
    if limit is not None and asked is not None:
        over = max(asked + (reserve or 0) - limit, 0)
    return Refusal(
        kind=wording.kind,
        text=text,
        limit=limit,
        asked=asked,
        reserve=reserve,
        over=over,
        provider=wording.provider,
    )


def _text(error: object) -> str:
    """All that an error says, in one line, cut."""
    pieces = islice(_pieces(error, 0), PIECES)
    return " ".join(" ".join(piece[:CUT] for piece in pieces)[: 2 * CUT].split())[:CUT]


def _pieces(error: object, depth: int) -> Iterator[str]:
    """The texts in an error: its own, its body's, and those of what caused it."""
    match error:
        case str():
            yield error[:CUT]
        case bytes():
            yield error[:CUT].decode("utf-8", "replace")
        case int() | float():
            yield repr(error)[:40]
        case _ if depth < 7 and error is not None:
            for inner in _inside(error):
                yield from _pieces(inner, depth + 1)


def _inside(error: object) -> Iterator[object]:
    match error:
        case Mapping():
            read = (item for item in islice(error.items(), PIECES) if str(item[0]).lower() not in UNREAD)
            yield from (part for item in read for part in item)
        case list() | tuple():
            yield from islice(error, PIECES)
        case BaseException():
            yield type(error).__name__
            yield _message_of(error)
            yield from (_get(error, name) for name in ("message", "code", "type", "body", "details"))
            yield _get(_get(error, "response"), "text") or _get(error, "response")
            yield error.__cause__
        case _:
            yield from (_get(error, name) for name in ("message", "code", "type", "body", "text"))


def _message_of(error: BaseException) -> str:
    try:
        return str(error)[:CUT]
    except Exception:  # an exception whose text fails says nothing
        return ""


def _get(thing: object, name: str) -> object:
    """A member that is plain data; whatever else it is, or raises, is not looked at."""
    try:
        member = thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
    except Exception:  # httpx: the text of a response that was never read
        return None
    plain = isinstance(member, (str, bytes, int, Mapping, list))
    return member if plain or name == "response" else None


def _status(error: object) -> int | None:
    """The HTTP status, where the error has one."""
    for holder in (error, _get(error, "response"), _get(error, "error")):
        for name in ("status_code", "status", "http_status", "code"):
            value = _get(holder, name)
            if isinstance(value, int) and 100 <= value < 600:
                return value
    return None
