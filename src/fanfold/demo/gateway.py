"""The same task behind the gateway: a plain loop with OpenAI's SDK, which knows nothing of fanfold.

    fanfold demo --gateway

Three processes as in real life: a scripted provider, `fanfold serve` before it, and the loop. No key, no network.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import fanfold
from fanfold.config.defaults import meter_for
from fanfold.core.edit import RECALL
from fanfold.core.errors import FanfoldError, MissingExtra
from fanfold.core.record import TokenUsage
from fanfold.core.view import View
from fanfold.demo import library, script
from fanfold.demo.account import RunAccount
from fanfold.demo.proving import Promise
from fanfold.demo.run import MODEL, REPLY, SEARCHED, WINDOW, Moment, event, kinds_of
from fanfold.testing.provider import Provider, Turn
from fanfold.testing.provider.request import Received
from fanfold.text.json_text import to_json, write_json
from fanfold.tokens import models
from fanfold.tokens.usage import cost

_PATIENCE = 30


def run_loop(url: str, seen: Callable[[], None]) -> list[dict[str, Any]]:
    """The agent: a loop as everybody writes it. Only its address is the gateway's."""
    try:
        import openai
    except ImportError as error:
        raise MissingExtra(
            "The loop of this demo needs OpenAI's SDK: pip install 'fanfold[openai]'"
        ) from error
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none")
    messages: list[Any] = [
        {"role": "system", "content": script.SYSTEM},
        {"role": "user", "content": f"{script.REQUEST}\n{script.RULE}"},
    ]
    while True:
        asked: Any = {
            "model": MODEL,
            "messages": messages,
            "tools": library.TOOLS,
            "max_completion_tokens": REPLY,
        }
        reply = client.chat.completions.create(**asked).choices[0].message
        messages.append(reply.to_dict())
        seen()
        if not reply.tool_calls:
            return messages
        for call in reply.tool_calls:
            function: Any = getattr(call, "function", None)
            output = library.run(function.name, json.loads(function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": output})


def model(count: int) -> Callable[[Received], Turn]:
    """What the scripted model does: the steps of the task, a look at something from long ago, the end."""
    path = library.grep(script.SWALLOWS, ".").partition(":")[0]
    said, tool, arguments = script.looking_back(SEARCHED, path)
    turns = [Turn(words, calls=[(name, given)]) for words, name, given in script.steps(count)]
    turns += [
        Turn(said, calls=[(tool, arguments)]),
        Turn("Done: every place is read, and named as path:line."),
    ]
    coming = iter(turns)
    return lambda request: next(coming)


@contextmanager
def serving(folder: Path, upstream: str) -> Iterator[str]:
    """`fanfold serve` in a process of its own, until it is no longer needed; its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    told = ["--port", str(port), "--window", str(WINDOW), "--store", f"sqlite:{folder / 'demo.db'}"]
    command = [sys.executable, "-m", "fanfold", "serve", *told, "--upstream", f"openai={upstream}"]
    with open(folder / "serve.log", "wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(process, url, folder / "serve.log")
        yield url
    finally:
        process.terminate()
        process.wait(_PATIENCE)


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None:
        try:
            urlopen(f"{url}/healthz", timeout=1).close()
            return
        except (URLError, OSError):
            time.sleep(0.05)
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    last = said[-1].removeprefix("fanfold: ") if said else "it said nothing"
    raise FanfoldError(f"The gateway did not start: {last}")


class Watching:
    """Whoever looks at the gateway's session from outside while the loop runs, as the inspector does."""

    def __init__(self, folder: Path, provider: Provider, steps: int, draw: Callable[[Moment], None]) -> None:
        self._pool = fanfold.Pool(f"sqlite:{folder / 'demo.db'}", remember=False)
        self._provider, self._steps, self._draw = provider, steps, draw
        self._before: View | None = None
        self._meter = meter_for(None, MODEL)
        self.account = RunAccount("behind the gateway", MODEL)

    def look(self) -> None:
        """Draw the window as it is after a reply."""
        for request in self._provider.requests[self.account.requests :]:
            bill(self.account, request)
        with self._pool.session(self.name, window=WINDOW) as chat:
            after = chat.view()
        happened = event(self._before, after) if self._before is not None else ""
        self._before = after
        step = min(self.account.requests, self._steps)
        kinds = kinds_of(after, self._meter)
        self._draw(Moment(step=step, steps=self._steps, kinds=kinds, account=self.account, event=happened))

    @property
    def name(self) -> str:
        """The one session that the gateway made of the loop."""
        (name,) = self._pool.store.sessions("default")
        return name

    def outputs(self) -> list[str]:
        """All outputs as the gateway has kept them."""
        with self._pool.session(self.name, window=WINDOW) as chat:
            return [chat.output(kept.ref).text() for kept in chat.outputs()]

    def close(self) -> None:
        """Look no more."""
        self._pool.close()


def bill(account: RunAccount, request: Received) -> None:
    """Count a request as the provider billed it."""
    account.requests += 1
    account.sent += request.tokens
    account.cached += request.cached
    account.largest = max(account.largest, request.tokens)
    usage = TokenUsage(input=request.tokens - request.cached, cache_read=request.cached)
    account.cost += cost(usage, models.find(MODEL))


def promises(
    provider: Provider, messages: list[dict[str, Any]], account: RunAccount, kept: list[str]
) -> tuple[Promise, ...]:
    """What the gateway promises, checked on what the provider and the loop have seen."""
    outputs = [message["content"] for message in messages if message["role"] == "tool"]
    heard = {call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    sizes = [len(request.raw) for request in provider.requests]
    whole = len(write_json(messages))
    first = to_json(provider.requests[-1].body["messages"][1])
    refused = [request for request in provider.requests if request.verdict != "accepted"]
    last = to_json(provider.requests[-1].body["messages"][-1])
    return (
        Promise(
            f"it always fits: the largest of {account.requests} requests has {account.largest:,} tokens",
            account.largest + REPLY <= WINDOW,
        ),
        Promise(
            f"the provider refused {len(refused) or 'none'} of them; the last has {sizes[-1] >> 10:,} KB of the "
            f"loop's {whole >> 10:,} KB",
            not refused,
        ),
        Promise("the first request and the rule are in the last one", script.RULE in first),
        Promise(
            f"step 2 is found again by the model ({SEARCHED}), and the loop never hears of it",
            outputs[1].partition(":")[0] in last and not heard & RECALL,
        ),
        Promise(
            f"nothing is lost: all {len(outputs)} outputs are in the store as their tools gave them",
            set(outputs) <= set(kept),
        ),
    )


def play(steps: int, draw: Callable[[Moment], None]) -> tuple[Watching, tuple[Promise, ...]]:
    """Play the whole task behind a gateway."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fanfold-demo-")))
        provider = stack.enter_context(Provider(model(steps), window=WINDOW))
        url = stack.enter_context(serving(folder, provider.url))
        watching = Watching(folder, provider, steps, draw)
        stack.callback(watching.close)
        messages = run_loop(url, watching.look)
        return watching, promises(provider, messages, watching.account, watching.outputs())
