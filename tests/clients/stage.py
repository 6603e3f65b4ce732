"""A stage for real clients: the scripted provider, `fanfold serve` before it, and a folder to work in."""

import json
import os
import random
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from http.client import HTTPConnection

import fanfold
from fanfold.testing.provider import Provider, Turn

WINDOW = 32_000
OUTPUT = 28 * 1024
FILES = 64
PATIENCE = 600
STEMS, ENDINGS = (
    ("par", "lex", "tok", "bind", "scan", "emit", "fold", "log"),
    ("ser", "er", "_one", "file", "map", "tree"),
)
WORDS = [stem + ending for stem in STEMS for ending in ENDINGS]
RECALL = "tool_output_cache"


def output(n):
    """28 KB that no other step has, as a search prints it."""
    chosen, lines, size = random.Random(n), [f"file number {n}"], 0
    while size < OUTPUT:
        words = " ".join(chosen.choices(WORDS, k=8))
        lines.append(f"src/{chosen.choice(WORDS)}/{chosen.choice(WORDS)}.py:{chosen.randrange(900)}: {words}")
        size += len(lines[-1]) + 1
    return "\n".join(lines)[:OUTPUT]


class Play:
    """What the model does: so many steps, one look at each file, with what goes wrong on the way."""

    def __init__(self, steps, step, trouble=None, side=None, last="All done."):
        self.steps, self.step, self.trouble, self.side, self.last = (
            steps,
            step,
            dict(trouble or {}),
            side,
            last,
        )
        self.done = 0
        self.recalled = []

    def __call__(self, request):
        if self.side and (aside := self.side(request)) is not None:
            return aside
        if not offers(request.body, ""):
            return Turn("A title")
        wrong = self.trouble.pop(self.done, None)
        if wrong == "recall" and not offers(request.body, RECALL):
            self.trouble[self.done + 1] = wrong  # the tools come with the first edit
            wrong = None
        if wrong == "recall":
            self.recalled.append(request)
            return Turn("", calls=[(RECALL, {"ref_id": "o1"})], thinking="What was it?")
        if wrong is not None:
            return wrong(self._turn(request)) if callable(wrong) else wrong
        turn = self._turn(request)
        self.done += 1
        return turn

    def _turn(self, request):
        if self.done >= self.steps:
            return Turn(self.last, thinking="So.")
        return Turn("", calls=[self.step(f"cat out{self.done}.txt", request)], thinking="The next one.")


def offers(body, name):
    """Whether the model has a tool of this name; any, for none."""
    tools = list(body.get("tools") or [])
    items = body.get("input") if isinstance(body.get("input"), list) else []
    tools += [tool for item in items if item.get("type") == "additional_tools" for tool in item["tools"]]
    tools += [declared for tool in tools for declared in tool.get("functionDeclarations") or ()]
    tools += [tool["function"] for tool in tools if "function" in tool]
    return bool(tools) and (not name or name in [tool.get("name") for tool in tools])


class Stage:
    """What one test has: where the client works, whom it talks to, and what came upstream."""

    def __init__(self, folder, provider, url):
        self.folder, self.provider, self.url = folder, provider, url
        self.work = folder / "work"

    def run(self, program, *arguments, **settings):
        """Run a client to its end, and see that it ends well."""
        bin = os.environ["FANFOLD_CLIENTS"]
        known = {"PATH": f"{bin}:{os.environ['PATH']}", "HOME": str(self.folder), "TERM": "dumb"}
        ran = subprocess.run(
            [program, *arguments],
            cwd=self.work,
            env={**known, **settings},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
        )
        assert ran.returncode == 0, (ran.stdout[-3000:], ran.stderr[-3000:], self.verdicts())
        return ran.stdout

    def verdicts(self):
        """What became of each request, in short."""
        return [(each.verdict, each.status, each.reason[:200]) for each in self.provider.requests[-5:]]

    @property
    def asked(self):
        """The requests that the provider answered."""
        return [each for each in self.provider.requests if each.verdict == "accepted"]

    def check(self, rejected=0, cached=None):
        """Every body upstream is legal and inside the window; so much of all was read from the cache."""
        refused = [(each.rule, each.reason) for each in self.provider.rejected if each.rule]
        assert len(refused) == rejected, refused
        assert max(each.tokens for each in self.asked) <= WINDOW
        share = sum(each.cached for each in self.asked) / sum(each.tokens for each in self.asked)
        print(
            f"{len(self.asked)} requests, cached {share:.1%}, most {max(each.tokens for each in self.asked):,}"
        )
        assert cached is None or share >= cached, f"{share:.1%} of all tokens came from the cache"

    @contextmanager
    def session(self, some=0):
        """One of the sessions that the gateway recorded, the longest first."""
        store = f"sqlite:{self.folder}/agent.db"
        names = sorted(self.names(), key=lambda name: -len(self._entries(store, name)))
        with fanfold.open(names[some], store=store, window=WINDOW) as chat:
            yield chat

    def names(self):
        """All sessions that the gateway recorded."""
        with fanfold.Pool(f"sqlite:{self.folder}/agent.db") as pool:
            return list(pool.store.sessions("default"))

    def _entries(self, store, name):
        with fanfold.open(name, store=store, window=WINDOW) as chat:
            return chat.log.path(chat.head) if hasattr(chat, "log") else chat.view().rows


@contextmanager
def stage(folder, play, **provider):
    """Provider and gateway, until the client is done."""
    (folder / "work").mkdir(parents=True)
    for n in range(FILES):
        (folder / "work" / f"out{n}.txt").write_text(output(n))
    with Provider(play, window=200_000, **provider) as upstream, serving(folder, upstream.url) as url:
        yield Stage(folder, upstream, url)


@contextmanager
def serving(folder, upstream, *options):
    """`fanfold serve` as a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    upstreams = [f"--upstream={name}={upstream}" for name in ("openai", "anthropic", "gemini")]
    chosen = ["--port", str(port), "--window", str(WINDOW), "--store", f"sqlite:{folder}/agent.db", *options]
    command = [sys.executable, "-m", "fanfold", "serve", *chosen, *upstreams]
    with open(folder / "serve.log", "ab") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(40)


def wait_for(port, process):
    """Until it answers."""
    for _ in range(600):
        assert process.poll() is None, "fanfold serve ended"
        try:
            connection = HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("fanfold serve does not answer")


def json_lines(text):
    """What a client printed, line by line."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]
