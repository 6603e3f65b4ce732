"""What to set in a client so that it talks to the gateway."""

from __future__ import annotations

import re
from functools import lru_cache

from fanfold.core.errors import unknown
from fanfold.gateway.headers import Headers, get

_LINES = {
    "claude-code": "ANTHROPIC_BASE_URL={url} claude",
    "codex": "codex -c openai_base_url='\"{url}/v1\"'",
    "gemini-cli": "GOOGLE_GEMINI_BASE_URL={url} gemini",
    "opencode": (
        "# in opencode.json\n"
        '{{"provider": {{"openai": {{"options": {{"baseURL": "{url}/v1"}}}},\n'
        '              "anthropic": {{"options": {{"baseURL": "{url}/v1"}}}}}}}}'
    ),
    "aider": "OPENAI_API_BASE={url}/v1 ANTHROPIC_API_BASE={url} aider",
    "openai": 'OPENAI_BASE_URL={url}/v1        # or openai.OpenAI(base_url="{url}/v1")',
    "anthropic": 'ANTHROPIC_BASE_URL={url}      # or anthropic.Anthropic(base_url="{url}")',
    "google-genai": ('GOOGLE_GEMINI_BASE_URL={url}  # or genai.Client(http_options={{"base_url": "{url}"}})'),
}
CLIENTS = tuple(_LINES)
_AGENTS = {
    "claude": "claude-code",
    "codex": "codex",
    "gemini": "gemini-cli",
    "opencode": "opencode",
    "aider": "aider",
}
"""How programs call themselves in `user-agent`, by how that begins."""


def client_named(headers: Headers) -> str:
    """The program that sent a request, as far as it says so; never with its version, which changes."""
    return _named(get(headers, b"user-agent") or "")


@lru_cache(64)
def _named(agent: str) -> str:
    found = re.match(r"[A-Za-z][\w.-]{0,40}", agent)
    told = found.group().lower() if found else ""
    return next((name for begin, name in _AGENTS.items() if told.startswith(begin)), told or "a client")


def lines_for(client: str, url: str) -> str:
    """The lines to paste."""
    if client not in _LINES:
        raise unknown("client", client, CLIENTS)
    return _LINES[client].format(url=url)
