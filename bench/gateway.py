"""What it costs to stand between: the gateway beside a bare pass-through on the same stack, in CPU per request.

Both get the same requests in turns: a body of 100 KB that is answered whole, and one that is answered by 41 events.
The upstream is a process of its own. Bodies are written without spaces, as all SDKs do. Every history is new to the
gateway once, and grows by two messages a request.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import uvicorn

EVENTS = 41
REQUESTS = 60
ROUNDS = 5
WHOSE = ((0, 0), (0, 1), (1, 0), (1, 1))
"""CPU and first byte of the bare pass-through, then those of the gateway."""
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
    """Be one of the three processes."""
    app: Any = upstream if what == "upstream" else Bare(address) if what == "bare" else gateway(address)
    uvicorn.run(app, port=port, http="httptools", ws="none", log_level="error", access_log=False)


def gateway(address: str) -> Any:
    """The gateway, with a store in a file as usual."""
    from fanfold.gateway.app import Gateway  # late: the others do not pay for it
    from fanfold.gateway.settings import ServeSettings

    return Gateway(ServeSettings(store=f"sqlite:{mkdtemp()}/bench.db", upstreams={"openai": address}))


@contextmanager
def process(what: str, address: str = "") -> Iterator[tuple[int, int]]:
    """A server in a process of its own: its id and its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    file = str(Path(__file__).resolve())
    started = subprocess.Popen([sys.executable, file, "serve", what, str(port), address])
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        yield started.pid, port
    finally:
        started.terminate()
        started.wait()


def cpu(pid: int) -> float:
    """Milliseconds of CPU that the threads of a process have used; all of them live as long as it does."""
    times = [file.read_text().split()[0] for file in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(map(int, times)) / 1e6


def ask(port: int, history: list[Any], streams: bool) -> float:
    """One request; returns the milliseconds until the first byte of its answer."""
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
    return first


def measure(pid: int, port: int, streams: bool, seed: str) -> tuple[float, float]:
    """CPU and time to the first byte, in milliseconds a request."""
    history: list[Any] = [{"role": "user", "content": f"{seed} {'x y z ' * 40}{n}"} for n in range(400)]
    ask(port, history, streams)
    before, firsts = cpu(pid), []
    for number in range(REQUESTS):
        said = {"role": "assistant", "content": SAID if streams else "Yes."}
        history += [said, {"role": "user", "content": f"And {number}?"}]
        firsts.append(ask(port, history, streams))
    return (cpu(pid) - before) / REQUESTS, sorted(firsts)[REQUESTS // 2]


def memory(pid: int) -> float:
    """Megabytes that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Print the figures."""
    with process("upstream") as (_, source):
        address = f"http://127.0.0.1:{source}"
        with process("bare", address) as bare, process("gateway", address) as ours:
            idle = memory(bare[0]), memory(ours[0])
            for streams, what in ((False, "json"), (True, "stream")):
                pairs = [
                    (measure(*bare, streams, f"b{n}"), measure(*ours, streams, f"{what}{n}"))
                    for n in range(ROUNDS)
                ]
                # Whatever else runs on the machine only adds: the least is the nearest to the truth.
                plain, first, cost, our_first = (
                    min(pair[who][what_of] for pair in pairs) for who, what_of in WHOSE
                )
                print(
                    f"gateway {what:6}  {cost:5.1f} ms CPU a request, {cost / plain:4.1f} × a bare pass-through; "
                    f"first byte {our_first:.1f} ms, bare {first:.1f} ms"
                )
            print(f"gateway idle    {idle[1]:.0f} MB, bare {idle[0]:.0f} MB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        main()
