"""Every strategy there is, and conversations to try them on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fanfold import Ask, drop_oldest, either, elide, when
from fanfold.strategies.auto import auto
from fanfold.strategies.extract import extract
from fanfold.strategies.handover.layers import digest
from fanfold.strategies.importance import importance
from fanfold.strategies.native import native
from fanfold.strategies.old_reads import shorten_reads
from fanfold.strategies.repeats import shorten_repeats
from fanfold.strategies.rolling import rolling
from fanfold.strategies.shortening import shorten_arguments, shorten_outputs
from fanfold.strategies.summarize import summarize
from fanfold.strategies.thinking import drop_thinking
from fanfold.strategies.truncate import truncate
from fanfold.testing import called, replied, returned, said

STRATEGIES = {
    "drop_oldest": drop_oldest(),
    "elide": elide(),
    "auto": auto(),
    "auto, thrifty": auto(thrift=1).trim,
    "digest": digest(),
    "importance": importance(),
    "rolling": rolling(threshold=3, turns=2),
    "summarize": summarize(),
    "summarize as snapshot": summarize(style="snapshot", keep=0.3, acknowledge=True),
    "summarize in sections": summarize(style="sections", keep_messages=3),
    "summarize with retain": summarize(retain=True, keep_turns=1),
    "summarize at turns": summarize(split="turn", keep_first=False),
    "truncate": truncate(),
    "extract": extract(),
    "shorten_outputs": shorten_outputs(),
    "shorten_arguments": shorten_arguments(),
    "drop_thinking": drop_thinking(),
    "shorten_reads": shorten_reads(keep=1, edits=True),
    "shorten_repeats": shorten_repeats(keep=1, alike=3, same=2),
    "native, then digest": either(native(), digest()),
    "elide when told to, then drop_oldest": either(
        when(lambda view, budget: len(view.rows) > 90, elide()), drop_oldest()
    ),
}
NATIVE = {
    "digest": digest(),
    "drop_oldest": drop_oldest(),
    "auto": auto(),
    "truncate": truncate(),
    "rolling": rolling(),
}
"""What may stand behind `native`."""
RULE = "Never touch the vendor folder."
GOAL = f"Mend the parser in src/parse/lexer.py until the tests pass.\n{RULE}"


def summary(question: Ask) -> str:
    """What a fair model writes in answer to any of the prompts."""
    if "JSON object" in question.prompt:
        return '{"goal": "Mend the parser."}'
    body = "The lexer reads a token too far; test_lexer fails with IndexError. Next: mend advance()."
    return (
        f"<scratchpad>Let me think.</scratchpad><retain>commit 9f31c2e7</retain>"
        f"<summary>{body}</summary><state_snapshot>{body}</state_snapshot>"
    )


def steps(first: int, count: int, words: int = 60) -> Iterator[Any]:
    """Some steps of one tool loop, two calls each."""
    for number in range(first, first + count):
        ids = (f"c{number}a", f"c{number}b")
        yield replied(f"Step {number}.", *(called(id, "read", path=f"src/part{number}.py") for id in ids))
        for id in ids:
            yield returned(id, f"part {number} " + "token queue value " * (words // 3))


def turns(first: int, count: int, words: int = 60) -> Iterator[Any]:
    """Some turns of a conversation, with a step each."""
    for number in range(first, first + count):
        yield said(f"Now part {number}, please. " + "Look at it closely. " * 4)
        yield from steps(number, 1, words)
        yield replied(f"Part {number} is done. " + "All is well. " * 6)


def provider_steps(dialect: str, first: int, count: int) -> Iterator[Any]:
    """Some steps of a tool loop in the form of a provider that compacts by itself."""
    for number in range(first, first + count):
        id, text = f"c{number}", "token queue value " * 30
        if dialect == "anthropic":
            call = {"type": "tool_use", "id": id, "name": "read", "input": {}}
            yield {"role": "assistant", "content": [call]}
            result = {"type": "tool_result", "tool_use_id": id, "content": text}
            yield {"role": "user", "content": [result]}
        else:
            yield {"type": "function_call", "call_id": id, "name": "read", "arguments": "{}"}
            yield {"type": "function_call_output", "call_id": id, "output": text}


def provider_item(dialect: str, seal: str) -> Iterator[Any]:
    """A compaction of the provider's, with what the model says behind it."""
    if dialect == "anthropic":
        block = {"type": "compaction", "content": "They looked for it.", "encrypted_content": seal}
        yield {"role": "assistant", "content": [block, {"type": "text", "text": "Going on."}]}
    else:
        yield {"type": "compaction", "id": f"cmp_{seal}", "encrypted_content": seal}
        text = {"type": "output_text", "text": "Going on."}
        yield {"type": "message", "role": "assistant", "content": [text]}
