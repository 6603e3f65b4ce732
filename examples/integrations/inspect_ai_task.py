"""A task of Inspect AI in which an agent reads forty pages in a small window. The provider is scripted: no key.

pip install ".[inspect-ai]" openai
"""

from tempfile import mkdtemp

from inspect_ai import Task, eval
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import includes
from inspect_ai.tool import Tool, tool

from fanfold.integrations.inspect_ai import FanfoldCompaction
from fanfold.testing.provider import Provider, Turn


@tool
def read_page() -> Tool:
    async def execute(number: int) -> str:
        """Read a page of the manual.

        Args:
            number: Which page.
        """
        return f"Page {number}: " + "the valve opens at three bar. " * 80

    return execute


async def quarter(text: str) -> int:
    """Inspect would fetch the table of a tokenizer; this example needs no network."""
    return len(text) // 4


steps = [Turn(calls=[("read_page", {"number": number})]) for number in range(40)]
with Provider([*steps, Turn("It opens at three bar.")], window=16_000) as provider:
    model = get_model("openai/gpt-4o", base_url=provider.openai_base_url, api_key="any", responses_api=False)
    model.api.count_text_tokens = quarter
    fold = FanfoldCompaction(window=16_000)
    task = Task(
        dataset=[Sample(input="When does the valve open?", target="three bar")],
        solver=react(tools=[read_page(), *fold.tools()], compaction=fold, submit=False),
        scorer=includes(),
    )
    log = eval(task, model=model, log_dir=mkdtemp(), display="none")[0]

assert log.samples
sample = log.samples[0]
print(sample.output.completion)
print(f"{len(sample.messages) - 1} messages in the log, and the system prompt")
most = max(request.tokens for request in provider.requests)
cached = sum(request.cached for request in provider.requests)
print(
    f"{most:,} tokens at most sent, {cached / sum(r.tokens for r in provider.requests):.0%} from the prompt cache"
)
