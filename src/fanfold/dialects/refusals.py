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


_TABLE = r"""
# Bytes first: 413 is said in both senses.
anthropic bytes: request_too_large|request exceeds the maximum size
gemini bytes: request payload size exceeds the limit(?:: <limit> bytes)?
bedrock bytes: value at 'body' failed…length less than or equal to <limit>
openai bytes: string too long…maximum length (?=\d{7})<limit>…length <asked>
any bytes: (?:request entity|payload|content|request body) too large
any bytes: maximum request body size <limit> exceeded
# OpenAI's sentence, which Azure, DeepSeek, Groq, vLLM and most others repeat.
vllm: maximum context length is <limit> tokens…requested <reserve> output tokens…(?:at least )?<asked> input tokens
vllm: is too large: <reserve>\. This…maximum context length is <limit> tokens and your request has <asked> input
openrouter: endpoint.{0,2}s maximum context length is <limit> tokens…requested about <total> tokens(?: \(
    …<reserve> in the output)?
openai: maximum context length is <limit> tokens…requested <total> tokens(?: \(…<reserve> (?:in|for) the completion)?
openai: maximum context length is <limit> tokens…resulted in <asked> tokens
vllm: maximum context length is <limit> tokens…request has <asked> input tokens
openai: input tokens exceed the configured limit(?: of <limit>)?(?: tokens…resulted in <asked>)?
sglang: maximum context length of <limit> tokens…total of <total> tokens(?:: <asked>…<reserve>)?
openai: (?:your|the) (?:input|request|prompt) exceeds the context window
# Anthropic, also on Bedrock and Vertex.
anthropic: prompt is too long: <asked> tokens > <limit> max
anthropic: exceed context limit: <asked> (?:\+ )?<reserve> > <limit>
anthropic: request size exceeds model context window
gemini: input token count (?:\(<asked>\) )?exceeds the maximum number of tokens allowed(?: \(<limit>\))?
gemini: input token count is <asked> but model only supports up to <limit>
bedrock: too many input tokens\. max input tokens: <limit>, request input token count: <asked>
bedrock: input is too long for (?:the )?requested model|validationexception…input is too long
bedrock: number of input tokens exceeds maximum length|exceeds the max input token limit
mistral: prompt contains <asked> tokens…too large for model with <limit> maximum context length
mistral: too large for model with <limit> maximum context length
xai: maximum prompt length is <limit>(?: but the request contains <asked>)?
cerebras: current length is <asked> while limit is <limit>
groq: reduce the length of the messages or completion
moonshot: exceeded model token limit(?:: <limit>)?(?: \(requested: <asked>)?
minimax: context window exceeds limit
qwen: range of input length should be \[\d+, ?<limit>\]
zai: prompt exceeds max length
cohere: tokens in the prompt cannot exceed <limit>(?: - received <asked>)?
cohere: total tokens exceeds the model'?s max(?: of <limit>)?
github: prompt token count of <asked> exceeds the limit of <limit>
fireworks: prompt is too long: <asked>, model maximum context length: <limit>
# Local servers.
llama.cpp: request \(<asked> tokens\) exceeds the available context size \(<limit> tokens\)
llama.cpp: n_prompt_tokens\W{1,4}<asked>\W{1,8}n_ctx\W{1,4}<limit>
llama.cpp: exceeds the available context size|exceed_context_size_error
llama.cpp: requested tokens \(<asked>\) exceed context window of <limit>
lmstudio: keep the first <asked> tokens…overflows…context length of only <limit>
lmstudio: input length <asked> exceeds context length <limit>
lmstudio: tokens to keep from the initial prompt is greater than the context length
lmstudio: n_keep \(<asked>\) >= n_ctx \(<limit>\)
ollama: exceeded max context length(?: by <over> tokens)?
ollama: input (?:length )?exceeds (?:the |maximum )?context length
sglang: input \(<asked> tokens\) is longer than the model.{0,2}s context length \(<limit>
sglang: input length \(<asked> tokens\) exceeds the maximum allowed length \(<limit>
tgi: `max_new_tokens` must be <= <limit>\. given: <asked> `inputs` tokens and <reserve>
tgi: `inputs` must have less than <limit> tokens\. given: <asked>
vllm: prompt \(total length <asked>\) is too long…context length <limit>
vllm: input prompt \(<asked> tokens\) is too long and exceeds limit of <limit>
any: input length \(?<asked>\)? exceeds…maximum (?:allowed input|context) length \(?(?:of )?<limit>
any: prompt has <asked> tokens, but the configured context size is <limit>
# Codes and stock phrases without figures.
any: maximum context length(?: is)?(?: (?:of )?<limit>)?
any bytes: (?:^|\W)413(?: status code)? \(no body\)
any: tokens in (?:the )?request more than max(?:imum)? tokens allowed
any: input token count…exceeds the maximum(?: of <limit>)?
any: exceeds (?:the )?maximum allowed input length(?: of <limit>)?
any: (?:prompt|input|context|messages?)\b…exceeds the limit of <limit> tokens?
any: input length\b…exceeds…context length|longer than the maximum model length(?: of <limit>)?
any: context length is only <limit> tokens|greater than the context length
any: (?:^|\W)(?<!output )(?<!completion )(?:too many (?:input )?tokens|token limit exceeded)
any: reduce the length of the (?:messages|prompt|input)
any: prompt (?:is )?too long(?:: <asked> tokens)?
any: context[_ ](?:length|window)[_ ](?:was )?exceeded|contextwindowexceeded|model_max_prompt_tokens_exceeded
    |longer than the model.{0,2}s context length|exceeds? (?:the )?(?:model.{0,2}s )?context (?:window|length)
"""
"""Who says it, and how: `<limit>` and the like stand for a number, `…` for a few words. The first that fits counts."""


def _wordings() -> Iterator[Wording]:
    joined = _TABLE.replace("\n    ", "")
    for line in joined.splitlines():
        who, colon, pattern = line.partition(": ")
        if colon and not line.startswith("#"):
            provider, _, kind = who.partition(" ")
            pattern = re.sub(r"<(\w+)>", r"(?P<\1>\\d[\\d,]{0,14})", pattern).replace("…", "[^<>{}]{0,80}?")
            compiled = re.compile(pattern, re.IGNORECASE)
            yield Wording(provider if provider != "any" else "", compiled, "bytes" if kind else "tokens")


WORDINGS = tuple(_wordings())


def _refusal(wording: Wording, found: re.Match[str], text: str) -> Refusal:
    figures = {name: int(value.replace(",", "")) for name, value in found.groupdict().items() if value}
    limit, asked, reserve, over = map(figures.get, ("limit", "asked", "reserve", "over"))
    if "total" in figures:
        asked = max(figures["total"] - (reserve or 0), 0)
    if limit is not None and asked is not None:
        over = max(asked + (reserve or 0) - limit, 0)
    sizes = {"limit": limit, "asked": asked, "reserve": reserve, "over": over}
    return Refusal(wording.kind, text, provider=wording.provider, **sizes)


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
