"""Anthropic's rules on thinking, and on numbers and sizes."""

from collections.abc import Iterator
from typing import Any

from fanfold.testing.provider.rejection import JudgeTerms, Refusals, Rejection, Rule, collector
from fanfold.testing.provider.seal import fingerprint
from fanfold.testing.provider.wire import Wire, with_places

from .conversation import blocks, each_block, is_prefilled, loop, prompt, turns

RULES: list[Rule] = []
rule = collector(RULES)

THOUGHTS = ("thinking", "redacted_thinking")
DOCUMENTATION = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"


@rule
def budget_is_large_enough(body: Wire, terms: JudgeTerms) -> Refusals:
    """A thinking budget is at least 1,024 tokens."""
    if _is_on(body) and _budget(body) < 1024:
        yield Rejection("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")


@rule
def budget_is_below_ceiling(body: Wire, terms: JudgeTerms) -> Refusals:
    """A thinking budget is smaller than `max_tokens`."""
    if _is_on(body) and _budget(body) >= body["max_tokens"]:
        text = (
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
        )
        yield Rejection(text + DOCUMENTATION)


@rule
def temperature_is_one(body: Wire, terms: JudgeTerms) -> Refusals:
    """With thinking on, the temperature is 1 or not given."""
    if _is_on(body) and body.get("temperature") not in (None, 1):
        yield Rejection("`temperature` may only be set to 1 when thinking is enabled.")


@rule
def choice_is_free(body: Wire, terms: JudgeTerms) -> Refusals:
    """With thinking on, no tool is forced."""
    choice = body.get("tool_choice")
    forced = isinstance(choice, dict) and choice.get("type") in ("any", "tool")
    if _is_on(body) and forced:
        yield Rejection("Thinking may not be enabled when tool_choice forces tool use.")


@rule
def thinkers_are_not_prefilled(body: Wire, terms: JudgeTerms) -> Refusals:
    """With thinking on, the last message is not the assistant's, but for a turn that was paused."""
    if _is_on(body) and is_prefilled(body):
        yield Rejection("Prefilling assistant responses is not supported when `thinking` is enabled.")


@rule
def loop_begins_with_thinking(body: Wire, terms: JudgeTerms) -> Refusals:
    """With thinking on, the running loop begins with thinking."""
    running = loop(body)
    if not _is_on(body) or not running:
        return
    at, message = running[0]
    first = (blocks(message) or [{"type": "nothing"}])[0]["type"]
    if first in THOUGHTS:
        return
    text = (
        f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. "
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block "
        "(preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include "
        "thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please "
        "consult our documentation at "
    )
    yield Rejection(text + DOCUMENTATION)


@rule
def loop_without_thinking_has_none(body: Wire, terms: JudgeTerms) -> Refusals:
    """With thinking off, the running loop contains none."""
    if _mode(body) in ("enabled", "adaptive"):
        return
    for at, message in loop(body):
        for nth, block in enumerate(blocks(message)):
            if block["type"] in THOUGHTS:
                yield Rejection(
                    f"messages.{at}.content.{nth}: When thinking is disabled, an `assistant` message in the "
                    f"final position cannot contain `{block['type']}`. To use thinking blocks, enable "
                    "`thinking` in your request."
                )


@rule
def signatures_verify(body: Wire, terms: JudgeTerms) -> Refusals:
    """A thinking block comes back with the signature that this server gave for its text."""
    for place, _message, block in each_block(body, *THOUGHTS):
        sealed = _seal_of(block)
        if terms.foreign and terms.seal.foreign(sealed):
            continue
        opened = terms.seal.open(sealed)
        if opened is None or opened["text"] != fingerprint(block.get("thinking", "")):
            name = "signature" if block["type"] == "thinking" else "data"
            yield Rejection(f"{place}: Invalid `{name}` in `{block['type']}` block")


@rule
def latest_thinking_is_whole(body: Wire, terms: JudgeTerms) -> Refusals:
    """The latest assistant message has all the thinking of its reply, in the order it came."""
    spoken = [(at, message) for at, message in turns(body) if message["role"] == "assistant"]
    for at, message in spoken[-1:]:
        thoughts = [
            terms.seal.open(_seal_of(block)) for block in blocks(message) if block["type"] in THOUGHTS
        ]
        if not _are_whole([thought for thought in thoughts if thought]):
            yield Rejection(
                f"messages.{at}.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant "
                "message cannot be modified. These blocks must remain as they were in the original response."
            )


@rule
def thinking_is_not_last(body: Wire, terms: JudgeTerms) -> Refusals:
    """An assistant message does not end with thinking."""
    for at, message in turns(body):
        if message["role"] == "assistant" and (blocks(message) or [{"type": ""}])[-1]["type"] in THOUGHTS:
            yield Rejection(f"messages.{at}: The final block in an assistant message cannot be `thinking`.")


@rule
def thinking_is_not_marked(body: Wire, terms: JudgeTerms) -> Refusals:
    """`cache_control` does not stand on thinking."""
    for place, _message, block in each_block(body, *THOUGHTS):
        if "cache_control" in block:
            yield Rejection(f"{place}.{block['type']}.cache_control: Extra inputs are not permitted")


@rule
def images_are_few(body: Wire, terms: JudgeTerms) -> Refusals:
    """A request has at most 100 images, those in results included."""
    found = sum(1 for _place, _image in _images(body))
    if found > terms.limits.images:
        yield Rejection(f"Too much media: 0 document pages + {found} images > {terms.limits.images}")


@rule
def images_are_small(body: Wire, terms: JudgeTerms) -> Refusals:
    """An image in base64 has at most five mebibytes."""
    for place, image in _images(body):
        source = image.get("source")
        size = len(str(source.get("data", ""))) if isinstance(source, dict) else 0
        if size > terms.limits.image_bytes:
            most = terms.limits.image_bytes
            text = f"image exceeds {most // 1024 // 1024} MB maximum: {size} bytes > {most} bytes"
            yield Rejection(f"{place}.image.source.base64: {text}")


@rule
def marks_are_few(body: Wire, terms: JudgeTerms) -> Refusals:
    """At most four blocks carry `cache_control`."""
    found = sum(1 for _place, block in prompt(body) if block.get("cache_control"))
    if found > terms.limits.marks:
        yield Rejection(
            f"A maximum of {terms.limits.marks} blocks with cache_control may be provided. Found {found}."
        )


@rule
def long_marks_come_first(body: Wire, terms: JudgeTerms) -> Refusals:
    """A mark for an hour does not stand behind one for five minutes."""
    short = False
    for place, block in prompt(body):
        control = block.get("cache_control")
        if not isinstance(control, dict):
            continue
        if short and control.get("ttl") == "1h":
            yield Rejection(
                f"{place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. Note that blocks are processed in the following order: "
                "`tools`, `system`, `messages`."
            )
        short = control.get("ttl") != "1h"


def _mode(body: Wire) -> str:
    settings = body.get("thinking")
    return str(settings.get("type")) if isinstance(settings, dict) else "disabled"


def _is_on(body: Wire) -> bool:
    """Whether thinking is on with a budget; adaptive thinking is checked less strictly."""
    return _mode(body) == "enabled"


def _budget(body: Wire) -> int:
    budget = body["thinking"].get("budget_tokens")
    return budget if isinstance(budget, int) else 0


def _seal_of(block: Wire) -> str:
    return str(block.get("signature", block.get("data", "")))


def _are_whole(thoughts: list[dict[str, Any]]) -> bool:
    """Whether the thoughts of each reply are all there, in order."""
    replies = list(dict.fromkeys(thought["reply"] for thought in thoughts))
    wanted = [(reply, place) for reply in replies for place in range(_of(thoughts, reply))]
    return [(thought["reply"], thought["place"]) for thought in thoughts] == wanted


def _of(thoughts: list[dict[str, Any]], reply: str) -> int:
    return next(int(thought["of"]) for thought in thoughts if thought["reply"] == reply)


def _images(body: Wire) -> Iterator[tuple[str, Wire]]:
    for place, _message, block in each_block(body):
        if block["type"] == "image":
            yield place, block
        for nth, inner in with_places(block.get("content")):
            if inner.get("type") == "image":
                yield f"{place}.tool_result.content.{nth}", inner
