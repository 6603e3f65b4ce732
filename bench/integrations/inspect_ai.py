"""The compaction strategies of Inspect AI, and fanfold's."""

from __future__ import annotations

from tempfile import mkdtemp
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.model import CompactionEdit, CompactionSummary, CompactionTrim, get_model
from inspect_ai.tool import ToolDef

from bench.integrations.run import MODEL, WINDOW, Run, look, main
from fanfold.integrations.inspect_ai import FanfoldCompaction
from fanfold.testing.provider import Provider

AT = int(WINDOW * 0.75)


async def read(number: int) -> str:
    """Look at a page."""
    return look(number)


async def quarter(text: str) -> int:
    """Four characters a token; Inspect would fetch the table of a tokenizer."""
    return len(text) // 4


def agent(strategy: Any) -> Run:
    """A run of an agent with a strategy."""

    def run(provider: Provider) -> str:
        model: Any = get_model(
            f"openai/{MODEL}",
            base_url=provider.openai_base_url,
            api_key="any",
            memoize=False,
            responses_api=False,
            max_retries=0,
        )
        model.api.count_text_tokens = quarter
        recall = strategy.tools() if isinstance(strategy, FanfoldCompaction) else []
        tool = ToolDef(read, name="look", parameters={"number": "Which page."})
        made = react(prompt="You read.", tools=[tool, *recall], compaction=strategy, submit=False)
        task = Task(dataset=[Sample(input="Read every page.")], solver=made)
        log = eval(task, model=model, log_dir=mkdtemp(), display="none")[0]
        if log.error is not None:
            raise RuntimeError(log.error.message)
        return "\n".join(message.text for message in log.samples[0].messages)

    return run


if __name__ == "__main__":
    main(
        "Inspect AI",
        {
            "none": agent(None),
            "CompactionEdit": agent(CompactionEdit(threshold=AT)),
            "CompactionTrim": agent(CompactionTrim(threshold=AT)),
            "CompactionSummary": agent(CompactionSummary(threshold=AT)),
            "fanfold": agent(FanfoldCompaction(window=WINDOW)),
        },
    )
