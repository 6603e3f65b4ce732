"""Bills that recorders wrote in their own words count the same tokens as the provider's."""

from __future__ import annotations

import pytest

from fanfold.tokens.usage import usage_of
from fanfold.transcripts import gemini_cli, inspect_logs, opencode
from fanfold.transcripts.conversation import DialectName, Wire


def test_gemini_clis_tokens_are_the_apis() -> None:
    tokens = {"input": 100, "output": 10, "cached": 60, "thoughts": 5, "tool": 0, "total": 115}
    bill = usage_of(gemini_cli.bill_of(tokens))
    assert (bill.prompt, bill.cache_read, bill.output) == (100, 60, 15)


@pytest.mark.parametrize("dialect", ["anthropic", "openai.chat"])
def test_opencodes_input_leaves_the_cached_tokens_out(dialect: DialectName) -> None:
    tokens = {"input": 10, "output": 7, "reasoning": 0, "cache": {"read": 60, "write": 30}}
    bill = usage_of(opencode.bill_of(tokens, dialect))
    assert (bill.prompt, bill.cache_read, bill.output) == (100, 60, 7)


def test_opencodes_total_tells_that_reasoning_stands_apart() -> None:
    tokens = {"input": 10, "output": 7, "reasoning": 5, "cache": {"read": 0, "write": 0}, "total": 22}
    assert usage_of(opencode.bill_of(tokens, "openai.chat")).output == 12


@pytest.mark.parametrize(("cached", "total", "prompt"), [(60, 110, 100), (30, 50, 40)])
def test_inspects_total_tells_whether_the_input_holds_the_cached_tokens(
    cached: int, total: int, prompt: int
) -> None:
    usage: Wire = {"input_tokens": 40, "output_tokens": 10, "total_tokens": total}
    usage["input_tokens_cache_read"] = cached
    assert usage_of(inspect_logs.bill_of(usage)).prompt == prompt


def test_no_tokens_are_no_bill() -> None:
    assert gemini_cli.bill_of({}) is opencode.bill_of({}, "anthropic") is inspect_logs.bill_of({}) is None
