"""LiteLLM's own proxy, as its users start it, with the scripted provider behind it."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from fanfold.testing.provider import Provider

PATIENCE = 120
FOLD = """
from litellm.proxy._types import UserAPIKeyAuth
from fanfold.integrations.litellm import FanfoldLogger

fold = FanfoldLogger(store={store!r}, window={window})

async def check(request, api_key):
    return UserAPIKeyAuth(api_key=api_key)
"""


@contextmanager
def serving(folder: Path, provider: Provider, store: str, window: int) -> Iterator[str]:
    """The address of a proxy that has fanfold's callback, and takes every key."""
    (folder / "fold.py").write_text(FOLD.format(store=store, window=window))
    (folder / "config.yaml").write_text(json.dumps(_config(provider)))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = [
        Path(sys.executable).parent / "litellm",
        "--config",
        folder / "config.yaml",
        "--host",
        "127.0.0.1",
    ]
    with (folder / "log").open("w") as log:
        running = subprocess.Popen(
            [*command, "--port", str(port)], cwd=folder, stdout=log, stderr=log, env=_own_env()
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(url, running, folder / "log")
            yield url
        finally:
            running.terminate()
            running.wait()


def _config(provider: Provider) -> dict[str, object]:
    gpt = {"model": "openai/gpt-4o", "api_base": provider.openai_base_url, "api_key": "any"}
    claude = {
        "model": "anthropic/claude-sonnet-4-6",
        "api_base": provider.anthropic_base_url,
        "api_key": "any",
    }
    models = {"reader": gpt, "reader-again": gpt, "claude": claude}
    return {
        "model_list": [{"model_name": name, "litellm_params": params} for name, params in models.items()],
        "litellm_settings": {
            "callbacks": "fold.fold",
            "context_window_fallbacks": [{"reader": ["reader-again"]}],
        },
        "general_settings": {"custom_auth": "fold.check", "master_key": f"sk-{secrets.token_hex(32)}"},
    }


def _own_env() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "PORT")}


def _wait(url: str, running: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(PATIENCE):
        if running.poll() is not None:
            break
        try:
            if httpx.get(f"{url}/health/liveliness").is_success:
                return
        except httpx.HTTPError:
            time.sleep(1)
    raise AssertionError(f"The proxy did not start: {log.read_text()[-2000:]}")
