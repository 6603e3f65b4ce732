"""The steps of deploy/Containerfile, run in a clean folder: for machines without a container engine.

    python scripts/run_container.py [folder]

Builds in the folder what the container would have in its WORKDIR, starts it, waits until its HEALTHCHECK passes, sees
that a request without a key is refused and that one with a key reaches its upstream, and ends it. Not done, because
that takes a container: FROM (this machine's Python is used), USER, VOLUME and EXPOSE.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path

from fanfold.testing.provider import Provider, Turn

ROOT = Path(__file__).parent.parent
FILE = ROOT / "deploy" / "Containerfile"
KEY = "a-key-for-the-container"
TERMINATED = 128 + signal.SIGTERM
"""What every command ends with that is told to terminate; `deploy/fanfold.service` calls it a success."""
PATIENCE = 60
LEFT_OUT = ("FROM", "USER", "VOLUME", "EXPOSE")


class Container:
    """A folder that stands for a container's WORKDIR."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._inside = folder, ""
        secrets = {"TEAM_KEY": KEY, "OPENAI_API_KEY": "sk-openai", "ANTHROPIC_API_KEY": "sk-anthropic"}
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self.environment = {**kept, **secrets}
        self.entry: list[str] = []
        self.health = ""

    def do(self, line: str) -> None:
        """Do one step of the file."""
        verb, _, rest = line.partition(" ")
        match verb:
            case "WORKDIR":
                self._inside = rest
            case "COPY":
                *sources, target = shlex.split(rest)
                self._copy(sources, target)
            case "RUN":
                # Whoever is not root cannot give a folder away, and need not here.
                command = rest.replace("chown 10001", "ls -d")
                subprocess.run(["sh", "-c", command], cwd=self.folder, env=self.environment, check=True)
            case "ENV":
                name, _, value = rest.partition("=")
                self.environment[name] = os.path.expandvars(value.replace(self._inside, str(self.folder)))
            case "HEALTHCHECK":
                self.health = rest.removeprefix("CMD ")
            case "ENTRYPOINT":
                self.entry = json.loads(rest)
            case _ if verb not in LEFT_OUT:
                raise SystemExit(f"{FILE.name}: nobody here knows how to do {verb}")

    def _copy(self, sources: list[str], target: str) -> None:
        for source in sources:
            to = self.folder / target / source if target.endswith("/") else self.folder / target
            to.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, to, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
            else:
                shutil.copy(ROOT / source, to)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start it, as `docker run image ARGUMENTS` does."""
        program = shutil.which(self.entry[0], path=self.environment["PATH"])
        assert program is not None
        command = [program, *self.entry[1:], *arguments]
        return subprocess.Popen(command, cwd=self.folder, env=self.environment)

    def is_healthy(self, port: int) -> bool:
        """Whether the HEALTHCHECK passes."""
        check = self.health.replace("4141", str(port))
        ran = subprocess.run(
            ["sh", "-c", check], cwd=self.folder, env=self.environment, capture_output=True, check=False
        )
        return ran.returncode == 0


def steps() -> list[str]:
    """The steps of the file, one a line."""
    lines = (line.strip() for line in FILE.read_text().replace("\\\n", " ").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def ask(port: int, key: str) -> int:
    """The status of a small request."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    body = {"model": "gpt-5.2", "messages": [{"role": "user", "content": "hi"}]}
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def main(folder: Path) -> None:
    """Build, start, ask, end."""
    container = Container(folder)
    for line in steps():
        print(line[:100], flush=True)
        container.do(line)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Provider(Turn("Yes."), key="sk-openai") as provider:
        process = container.start("--port", str(port), "--upstream", f"openai={provider.url}")
        try:
            until = time.monotonic() + PATIENCE
            while not container.is_healthy(port):
                if process.poll() is not None or time.monotonic() > until:
                    raise SystemExit("the container is not healthy")
                time.sleep(0.2)
            told = ask(port, "no-such-key"), ask(port, KEY)
        finally:
            process.terminate()
            ended = process.wait(40)
    print(f"healthy; without a key {told[0]}, with one {told[1]}; ended with {ended}")
    if (
        told != (401, 200)
        or ended != TERMINATED
        or provider.requests[0].headers["authorization"] != "Bearer sk-openai"
    ):
        raise SystemExit("that is not what a gateway does")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]).resolve())
    else:
        with tempfile.TemporaryDirectory(prefix="fanfold-container-") as name:
            main(Path(name))
