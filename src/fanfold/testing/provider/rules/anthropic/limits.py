"""Anthropic's rules on numbers and sizes."""

from collections.abc import Iterator

from fanfold.testing.provider.rejection import JudgeTerms, Rejection, Rule, collector
from fanfold.testing.provider.wire import Wire, enumerated

from .conversation import each_block, prompt

RULES: list[Rule] = []
rule = collector(RULES)


@rule
def images_are_few(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """A request has at most 100 images, those in results included."""
    found = sum(1 for _place, _image in _images(body))
    if found <= terms.limits.images:
        return None
    return Rejection(f"Too much media: 0 document pages + {found} images > {terms.limits.images}")


@rule
def images_are_small(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """An image in base64 has at most five mebibytes."""
    for place, image in _images(body):
        source = image.get("source")
        size = len(str(source.get("data", ""))) if isinstance(source, dict) else 0
        if size > terms.limits.image_bytes:
            most = terms.limits.image_bytes
            text = f"image exceeds {most // 1024 // 1024} MB maximum: {size} bytes > {most} bytes"
            return Rejection(f"{place}.image.source.base64: {text}")
    return None


@rule
def marks_are_few(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """At most four blocks carry `cache_control`."""
    found = sum(1 for _place, block in prompt(body) if block.get("cache_control"))
    if found <= terms.limits.marks:
        return None
    return Rejection(
        f"A maximum of {terms.limits.marks} blocks with cache_control may be provided. Found {found}."
    )


@rule
def long_marks_come_first(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """A mark for an hour does not stand behind one for five minutes."""
    short = False
    for place, block in prompt(body):
        control = block.get("cache_control")
        if not isinstance(control, dict):
            continue
        if short and control.get("ttl") == "1h":
            text = (
                f"{place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. Note that blocks are processed in the following order: "
                "`tools`, `system`, `messages`."
            )
            return Rejection(text)
        short = control.get("ttl") != "1h"
    return None


def _images(body: Wire) -> Iterator[tuple[str, Wire]]:
    for place, _message, block in each_block(body):
        if block["type"] == "image":
            yield place, block
        for nth, inner in enumerated(block.get("content")):
            if inner.get("type") == "image":
                yield f"{place}.tool_result.content.{nth}", inner
