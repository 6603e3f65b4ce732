"""What operators start: the application in a server of their own, the unit of systemd, the container's steps."""

import configparser
import json
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest

from fanfold.gateway.app import Gateway, app
from fanfold.gateway.settings import ServeSettings, check_settings
from fanfold.testing.provider import Provider, Turn
from tests.gateway.gate import Upstream

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
BODY = json.dumps(
    {
        "model": "gpt-5.2",
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "grep", "parameters": {"type": "object"}}}],
    }
)


def ask(port, method="POST", path="/v1/chat/completions"):
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, BODY if method == "POST" else None, {"content-type": "application/json"})
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


def wait_for(port, process):
    for _ in range(600):
        assert process.poll() is None, "it ended"
        try:
            return ask(port, "GET", "/healthz")
        except OSError:
            time.sleep(0.05)
    raise TimeoutError("it does not answer")


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def test_an_engine_copies_the_application_to_its_workers_and_each_begins_anew(tmp_path):
    given = ServeSettings(store=f"sqlite:{tmp_path}/agent.db")
    gateway = Gateway(given)
    copied, from_file = pickle.loads(pickle.dumps((gateway, app)))
    assert copied.settings == given
    assert copied.conversations is not None
    assert copied.conversations is not gateway.conversations
    assert from_file.conversations is None, "its settings are read where it serves"


@pytest.mark.slow
def test_any_server_imports_the_application_and_its_workers_share_a_store(tmp_path, port):
    with Provider(Turn("Yes.")) as provider:
        told = f'[serve]\nstore = "sqlite:agent.db"\nwindow = 32_000\n[serve.upstreams]\nopenai = "{provider.url}"\n'
        (tmp_path / "fanfold.toml").write_text(told)
        command = [
            sys.executable,
            "-m",
            "uvicorn",
            "fanfold.gateway.app:app",
            "--port",
            str(port),
            "--workers",
            "2",
        ]
        process = subprocess.Popen([*command, "--log-level", "warning"], cwd=tmp_path)
        try:
            wait_for(port, process)
            answers = [ask(port) for _ in range(12)]
        finally:
            process.terminate()
            process.wait(60)
    assert {status for status, _, _ in answers} == {200}
    assert all("x-fanfold-session" in headers for _, headers, _ in answers)
    assert (tmp_path / "agent.db").exists()


def test_the_application_reads_its_settings_where_no_server_says_that_it_starts(tmp_path, monkeypatch):
    """Some engines do not run the lifespan of an application."""
    import asyncio

    (tmp_path / "fanfold.toml").write_text('[serve]\nstore = "memory"\nport = 4999\n')
    monkeypatch.chdir(tmp_path)
    app, sent = Gateway(), []

    async def call():
        scope = {"type": "http", "method": "GET", "path": "/healthz", "query_string": b""}

        async def send(event):
            sent.append(event)

        async def receive():
            return {"type": "http.request", "body": b""}

        await app({**scope, "headers": [(b"host", b"127.0.0.1")]}, receive, send)

    asyncio.run(call())
    assert sent[0]["status"] == 200
    assert app.settings.port == 4999


@pytest.mark.slow
def test_settings_are_read_again_and_running_replies_end(tmp_path, port):
    settings = tmp_path / "fanfold.toml"
    pieces = [b'data: {"n": %d}\n\n' % n for n in range(30)]
    with Upstream(pieces, headers={"content-type": "text/event-stream"}, delay=0.1) as upstream:
        told = f'[serve]\nport = {port}\nstore = "memory"\nupstreams = {{openai = "{upstream.url}"}}\n'
        settings.write_text(told)
        process = subprocess.Popen([sys.executable, "-m", "fanfold", "serve"], cwd=tmp_path)
        try:
            wait_for(port, process)
            assert called(port, "team.internal") == 421
            settings.write_text(told + 'hosts = ["team.internal"]\n')
            process.send_signal(signal.SIGHUP)
            for _ in range(100):
                time.sleep(0.05)
                if called(port, "team.internal") == 200:
                    break
            assert called(port, "team.internal") == 200
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("POST", "/v1/chat/completions", BODY, {"content-type": "application/json"})
            answer = connection.getresponse()
            begun = answer.read(10)
            process.send_signal(signal.SIGTERM)
            assert begun + answer.read() == b"".join(pieces)
            process.wait(60)
            with pytest.raises(ConnectionRefusedError):
                called(port, "127.0.0.1")
        finally:
            process.kill()


@pytest.mark.parametrize("broken", ["[serve", "[serve]\nwindow = 5\n", "no such thing", 'window = "x"\n'])
def test_a_settings_file_that_is_being_broken_changes_nothing(tmp_path, port, broken):
    settings, log = tmp_path / "fanfold.toml", tmp_path / "log"
    reply = b'{"id":"r","choices":[{"index":0,"message":{"role":"assistant","content":"Hi."}}]}'
    with Upstream([reply]) as upstream, open(log, "wb") as told:
        settings.write_text(f'[serve]\nport = {port}\nupstreams = {{openai = "{upstream.url}"}}\n')
        process = subprocess.Popen([sys.executable, "-m", "fanfold", "serve"], cwd=tmp_path, stderr=told)
        try:
            wait_for(port, process)
            settings.write_text(broken)
            assert ask(port)[1]["x-fanfold-edits"] == "0", "it is managed while the file is wrong"
            process.send_signal(signal.SIGHUP)
            until = time.monotonic() + 30
            while b"so the old ones hold" not in log.read_bytes():
                assert time.monotonic() < until
                time.sleep(0.05)
            assert ask(port)[1]["x-fanfold-edits"] == "0"
        finally:
            process.kill()


def called(port, host):
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/healthz", headers={"host": host})
    return connection.getresponse().status


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not there")
def test_systemd_takes_the_unit(tmp_path):
    program = "/opt/fanfold/bin/fanfold"
    unit = (DEPLOY / "fanfold.service").read_text()
    assert program in unit
    copy = tmp_path / "fanfold.service"
    copy.write_text(unit.replace(program, "/bin/true"))
    told = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True)
    assert "fanfold.service" not in told.stderr, told.stderr


def test_the_unit_drains_and_reloads_as_the_gateway_does():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "fanfold.service")
    from fanfold.gateway.server import DRAIN

    assert int(unit["Service"]["TimeoutStopSec"]) > DRAIN
    assert "-HUP" in unit["Service"]["ExecReload"]


def test_the_settings_of_the_container_are_right(monkeypatch):
    import tomllib

    import msgspec

    for name in ("TEAM_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "0123456789abcdef")
    told = tomllib.loads((DEPLOY / "fanfold.toml").read_text())
    check_settings(msgspec.convert(told["serve"], ServeSettings))


@pytest.mark.slow
def test_the_steps_of_the_container_file_make_a_gateway(tmp_path):
    ran = subprocess.run(
        [sys.executable, ROOT / "scripts" / "run_container.py", tmp_path], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "healthy; without a key 401, with one 200; ended with" in ran.stdout
