"""What it costs to stand between: the gateway beside a bare pass-through on the same stack, in CPU per request.

All get the same requests in turns: a body of 100 KB that is answered whole, and one that is answered by 41 events.
The upstream is a process of its own. Bodies are written without spaces, as all SDKs do. Every history is new to the
gateway once, and grows by two messages a request. CPU is that of the server's threads, in user space and in the kernel.
Of many short rounds the medians count, of each ratio, too: what else runs on the machine meets all servers of a round.

    python bench/gateway.py                  # beside a bare pass-through
    python bench/gateway.py peers            # and beside LiteLLM and Headroom, in environments of their own
    python bench/gateway.py stages           # CPU of each stage of a request, in this process
    python bench/gateway.py growth 100000    # memory while so many requests pass, and by how much it grows
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import linear_regression, median
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn

ROOT = Path(__file__).resolve().parent.parent
EVENTS = 41
REQUESTS = 25
ROUNDS = 12
AT_ONCE = 200
MEMORY = 8 << 20
"""What live sessions may take while growth is measured: so little that it is full soon."""
PEERS = {"litellm": "litellm[proxy]", "headroom": "headroom-ai[proxy]"}
SAID = "".join(f"word {number} " for number in range(EVENTS - 1))
"""What a stream says; a client sends it again as it heard it."""


def chunk(number: int) -> bytes:
    delta = {"role": "assistant", "content": f"word {number} "}
    stop = "stop" if number == EVENTS - 2 else None
    choice = {"index": 0, "delta": delta, "finish_reason": stop}
    return (
        b"data: "
        + json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [choice]}).encode()
        + b"\n\n"
    )


STREAM = [*map(chunk, range(EVENTS - 1)), b"data: [DONE]\n\n"]
WHOLE = json.dumps(
    {
        "id": "c",
        "object": "chat.completion",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
        ],
    }
).encode()


async def upstream(scope: Any, receive: Any, send: Any) -> None:
    """A provider that knows its answer."""
    if scope["type"] != "http":
        return
    body = b""
    while True:
        event = await receive()
        body += event.get("body", b"")
        if not event.get("more_body"):
            break
    streams = b'"stream":true' in body[-200:]
    kind = b"text/event-stream" if streams else b"application/json"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
    for piece in STREAM if streams else [WHOLE]:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


class Bare:
    """A pass-through and nothing else: what the stack itself costs."""

    def __init__(self, address: str) -> None:
        self._address, self._client = address, None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        import aiohttp

        if scope["type"] != "http":
            return
        self._client = self._client or aiohttp.ClientSession(auto_decompress=False)
        body = b""
        while True:
            event = await receive()
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        headers = {"content-type": "application/json"}
        async with self._client.post(self._address + scope["path"], data=body, headers=headers) as response:
            told = [(b"content-type", response.headers["content-type"].encode())]
            await send({"type": "http.response.start", "status": response.status, "headers": told})
            async for piece in response.content.iter_any():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def serve(what: str, port: int, address: str) -> None:
    """Be one of the servers."""
    app: Any = upstream if what == "upstream" else Bare(address)
    uvicorn.run(app, port=port, http="httptools", ws="none", log_level="error", access_log=False)


def command_of(what: str, port: int, address: str, folder: Path) -> list[str]:
    """How a server is started; the gateway as everybody starts it."""
    if what in ("upstream", "bare"):
        return [sys.executable, str(Path(__file__).resolve()), "serve", what, str(port), address]
    if what.startswith("gateway"):
        (folder / "fanfold.toml").write_text(
            f"[serve]\nmemory = {MEMORY}\n" if what == "gateway-small" else ""
        )
        told = [
            "--port",
            str(port),
            "--store",
            f"sqlite:{folder}/bench.db",
            "--upstream",
            f"openai={address}",
        ]
        window = ["--window", "32k"] if what == "gateway-32k" else []
        return [sys.executable, "-m", "fanfold", "serve", *told, *window]
    bin = ROOT / ".venv-peers" / f"gateway-{what}" / "bin"
    if what == "litellm":
        listed = {
            "model_name": "gpt-5.2",
            "litellm_params": {"model": "openai/gpt-5.2", "api_base": f"{address}/v1"},
        }
        listed["litellm_params"]["api_key"] = "none"
        loose = {"dangerously_permit_weak_or_unset_master_key": True}  # it is asked from this machine only
        (folder / "config.yaml").write_text(json.dumps({"model_list": [listed], "general_settings": loose}))
        return [
            str(bin / "litellm"),
            "--config",
            str(folder / "config.yaml"),
            "--port",
            str(port),
            "--telemetry",
            "False",
        ]
    told = ["--port", str(port), "--openai-api-url", f"{address}/v1", "--no-rate-limit", "--no-telemetry"]
    return [str(bin / "headroom"), "proxy", *told]


class Served:
    """A server in a process of its own."""

    def __init__(self, pid: int, port: int, up: float) -> None:
        self.pid, self.port = pid, port
        self.up = up
        """Seconds until it answered."""
        self.costs: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
        """CPU and first byte of each round, in milliseconds a request; whole and streamed."""

    def cost(self, streams: bool) -> float:
        """CPU milliseconds a request."""
        return median(cost for cost, _ in self.costs[streams])

    def first(self, streams: bool) -> float:
        """Milliseconds to the first byte."""
        return median(first for _, first in self.costs[streams])

    def ratio(self, other: Served, streams: bool) -> float:
        """How much more CPU it takes than another one."""
        rounds = zip(self.costs[streams], other.costs[streams], strict=True)
        return median(mine / others for (mine, _), (others, _) in rounds)


@contextmanager
def process(what: str, address: str = "") -> Iterator[Served]:
    """A server, until it is no longer needed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with TemporaryDirectory() as folder:
        began = time.perf_counter()
        command = command_of(what, port, address, Path(folder))
        quiet = (
            {}
            if what in ("upstream", "bare")
            else {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        )
        started = subprocess.Popen(command, cwd=folder, env={**os.environ, "HOME": folder}, **quiet)  # type: ignore[call-overload]
        try:
            while True:
                try:
                    answers(port)
                    break
                except OSError:
                    if started.poll() is not None:
                        raise RuntimeError(f"{what} ended with {started.returncode}") from None
                    time.sleep(0.01)
            yield Served(started.pid, port, time.perf_counter() - began)
        finally:
            started.terminate()
            started.wait()


def answers(port: int) -> None:
    """Ask for anything; OSError where nobody answers. One may already listen who is not ready to serve."""
    connection = HTTPConnection("127.0.0.1", port)
    try:
        connection.request("GET", "/healthz")
        connection.getresponse().read()
    finally:
        connection.close()


def cpu(pid: int) -> float:
    """Milliseconds of CPU that the threads of a process have used; all of them live as long as it does."""
    times = [file.read_text().split()[0] for file in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(map(int, times)) / 1e6


def ask(port: int, history: list[Any], streams: bool, *, edited: bool = False) -> float:
    """One request, which may be `edited` or not; returns the milliseconds until the first byte of its answer."""
    tool = {"type": "function", "function": {"name": "grep", "parameters": {"type": "object"}}}
    body = json.dumps(
        {"model": "gpt-5.2", "messages": history, "tools": [tool], "stream": streams}, separators=(",", ":")
    )
    connection = HTTPConnection("127.0.0.1", port)
    began = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
    answer = connection.getresponse()
    answer.read(1)
    first = 1_000 * (time.perf_counter() - began)
    answer.read()
    connection.close()
    assert answer.status == 200
    assert edited or answer.getheader("x-fanfold-edits") in (None, "0")
    return first


def measure(served: Served, streams: bool, seed: str) -> tuple[float, float]:
    """CPU and time to the first byte, in milliseconds a request."""
    history: list[Any] = [{"role": "user", "content": f"{seed} {'x y z ' * 40}{n}"} for n in range(400)]
    ask(served.port, history, streams)
    before, firsts = cpu(served.pid), []
    for number in range(REQUESTS):
        said = {"role": "assistant", "content": SAID if streams else "Yes."}
        history += [said, {"role": "user", "content": f"And {number}?"}]
        firsts.append(ask(served.port, history, streams))
    return (cpu(served.pid) - before) / REQUESTS, sorted(firsts)[REQUESTS // 2]


def compare(servers: dict[str, Served]) -> None:
    """Measure all servers in turns."""
    for streams in (False, True):
        for n in range(ROUNDS):
            for name, served in servers.items():
                served.costs[streams].append(measure(served, streams, f"{name}{streams}{n}"))


def memory(pid: int) -> float:
    """Megabytes that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def at_once(port: int, count: int) -> tuple[int, float]:
    """So many streams at the same time: how many went wrong, and the seconds that all took."""
    import aiohttp

    tool = {"type": "function", "function": {"name": "grep", "parameters": {"type": "object"}}}
    whole = b"".join(STREAM)

    async def one(client: Any, number: int) -> bool:
        said = [{"role": "user", "content": f"stream {number} {'x y z ' * 400}"}]
        body = {"model": "gpt-5.2", "messages": said, "tools": [tool], "stream": True}
        data, kind = json.dumps(body, separators=(",", ":")), {"content-type": "application/json"}
        address = f"http://127.0.0.1:{port}/v1/chat/completions"
        async with client.post(address, data=data, headers=kind) as answer:
            return bool(answer.status == 200 and await answer.read() == whole)

    async def every() -> list[Any]:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
            return await asyncio.gather(
                *(one(client, number) for number in range(count)), return_exceptions=True
            )

    began = time.perf_counter()
    told = asyncio.run(every())
    return sum(each is not True for each in told), time.perf_counter() - began


def edited(served: Served) -> tuple[float, float]:
    """CPU milliseconds a request where every one is reduced: of the gateway, and of merge and request alone."""
    import fanfold

    outputs = [
        "\n".join(f"src/m{n}_{line}.py:{line}: found {n * line}" for line in range(400)) for n in range(60)
    ]
    tool = {"type": "function", "function": {"name": "grep", "parameters": {"type": "object"}}}
    history: list[Any] = [{"role": "user", "content": "Where is the bug?"}]
    ours, alone, count = 0.0, 0.0, 0
    with (
        TemporaryDirectory() as folder,
        fanfold.open(
            "alone", model="gpt-5.2", window=32_000, store=f"sqlite:{folder}/alone.db", tools=[tool]
        ) as chat,
    ):
        for n, output in enumerate(outputs):
            call = {
                "id": f"call_{n}",
                "type": "function",
                "function": {"name": "grep", "arguments": f'{{"n":{n}}}'},
            }
            history += [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"call_{n}", "content": output},
            ]
            before, began = cpu(served.pid), time.process_time()
            ask(served.port, history, False, edited=True)
            spent, began = cpu(served.pid) - before, time.process_time()
            chat.merge({"model": "gpt-5.2", "messages": history, "tools": [tool]})
            chat.request()
            if n >= 20:
                ours, alone, count = ours + spent, alone + 1_000 * (time.process_time() - began), count + 1
    return ours / count, alone / count


def growth(requests: int) -> None:
    """Memory of the gateway while very many requests pass, of ever new conversations.

    Half of them fill what is kept on purpose. By how much memory grows is seen in the other half.
    """
    with process("upstream") as source, process("gateway-small", f"http://127.0.0.1:{source.port}") as ours:
        done, marks = 0, list[tuple[int, float]]()
        while done < requests:
            history: list[Any] = [{"role": "user", "content": f"conversation {done} {'x y z ' * 100}"}]
            for number in range(20):
                ask(ours.port, history, bool(number % 2))
                said = {"role": "assistant", "content": SAID if number % 2 else "Yes."}
                history += [said, {"role": "user", "content": f"And {number}?"}]
                done += 1
            if done % max(20, requests // 20) < 20:
                marks.append((done, memory(ours.pid)))
                print(f"gateway growth  {done:>7,} requests  {marks[-1][1]:.1f} MB", flush=True)
        late = [mark for mark in marks if 2 * mark[0] >= requests]
        slope = 1_000 * linear_regression(*zip(*late, strict=True)).slope if len(late) > 1 else 0.0
        print(f"gateway growth  {slope:+.3f} MB for each 1,000 requests of the second half")


def stages() -> None:
    """CPU of each stage of a request in which nothing is edited: read as a whole, and where only the end is read."""
    from fanfold.dialects.http.request import read_request
    from fanfold.gateway.conversations import Conversations
    from fanfold.gateway.course import Courses, place_of
    from fanfold.gateway.keys import Holder

    path, holder, spent = "/v1/chat/completions", Holder(), dict[str, float]()
    place = place_of(holder.tenant, path, "", [], "")
    tool = {"type": "function", "function": {"name": "grep", "parameters": {"type": "object"}}}

    def timed(stage: str, work: Any, *given: Any) -> Any:
        began = time.thread_time()
        try:
            return work(*given)
        finally:
            spent[stage] = spent.get(stage, 0.0) + time.thread_time() - began

    with TemporaryDirectory() as folder:
        talks, courses = Conversations(f"sqlite:{folder}/bench.db"), Courses()
        talks.warm()
        for whole in (True, False):
            history: list[Any] = [
                {"role": "user", "content": f"{whole} {'x y z ' * 40}{n}"} for n in range(400)
            ]
            for number in range(REQUESTS + 1):
                told = {"model": "gpt-5.2", "messages": history, "tools": [tool], "stream": False}
                data = json.dumps(told, separators=(",", ":")).encode()
                known = None if whole else timed("find by bytes", courses.find, place, holder, [], data)
                if known is not None:
                    managed, course = timed("follow", talks.follow, known)
                else:
                    asked = timed("read", read_request, "POST", path, {}, data)
                    name = timed("find", talks.find, [], holder, asked)
                    managed = timed("prepare", talks.prepare, name, holder, asked)
                    course = None if whole else talks.chart(managed, place, data)
                if course is not None:
                    courses.keep(course)
                timed("record", talks.receive, managed, json.loads(WHOLE))
                if not number:
                    spent.clear()  # the first request of a history is new as a whole
                history += [
                    {"role": "assistant", "content": "Yes."},
                    {"role": "user", "content": f"And {number}?"},
                ]
            kind = "read as a whole" if whole else "only the end is read"
            listed = ", ".join(f"{stage} {1_000 * took / REQUESTS:.2f}" for stage, took in spent.items())
            total = 1_000 * sum(spent.values()) / REQUESTS
            print(f"gateway stages  {kind}: {total:.2f} ms CPU a request ({listed})")
        talks.close()


def main() -> None:
    """Print the figures."""
    with ExitStack() as stack:
        source = stack.enter_context(process("upstream"))
        address = f"http://127.0.0.1:{source.port}"
        servers = {
            name: stack.enter_context(process(name, address)) for name in ("bare", "gateway", *wanted())
        }
        bare, ours = servers["bare"], servers["gateway"]
        idle = {name: memory(served.pid) for name, served in servers.items()}
        compare({"direct": source, **servers})
        for streams, what in ((False, "json"), (True, "stream")):
            for name, served in servers.items():
                cost, first = served.cost(streams), served.first(streams)
                more = first - source.first(streams)
                print(
                    f"{name:8} {what:6}  {cost:5.2f} ms CPU a request, {served.ratio(bare, streams):4.2f} × a bare "
                    f"pass-through; first byte {first:.1f} ms, {more:.1f} more than direct"
                )
        print(f"machine  load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        for name, served in servers.items():
            wrong, took = at_once(served.port, AT_ONCE)
            print(f"{name:8} {AT_ONCE} streams at once: {wrong} went wrong, {took:.1f} s")
        for name, served in servers.items():
            print(
                f"{name:8} idle {idle[name]:.0f} MB, up after {served.up:.1f} s ({served.up - bare.up:+.1f} s)"
            )
        reduced, alone = edited(stack.enter_context(process("gateway-32k", address)))
        print(
            f"gateway  edited  {reduced:5.1f} ms CPU a request; merge and request alone {alone:.1f} ms, "
            f"so {reduced - alone:.1f} ms more"
        )
        assert ours.pid


def wanted() -> list[str]:
    """The peers to measure, each in an environment that is made here once."""
    if sys.argv[1:2] != ["peers"]:
        return []
    for name, package in PEERS.items():
        place = ROOT / ".venv-peers" / f"gateway-{name}"
        if not (place / ".installed").exists():
            subprocess.run([sys.executable, "-m", "venv", place], check=True)
            subprocess.run([place / "bin" / "pip", "install", "--quiet", package], check=True)
            (place / ".installed").touch()
    return list(PEERS)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", what, port, address]:
            serve(what, int(port), address)
        case ["stages"]:
            stages()
        case ["growth", *count]:
            growth(int(*count) if count else 2_000)
        case _:
            main()
