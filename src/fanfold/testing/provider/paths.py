"""Which API a path belongs to."""

import re
from dataclasses import dataclass

from .apis import anthropic, chat, gemini, responses
from .apis.order import ProviderApi

APIS: dict[str, ProviderApi] = {
    "chat": chat,
    "responses": responses,
    "anthropic": anthropic,
    "gemini": gemini,
}

GEMINI = re.compile(r"/v1(?:beta|alpha)?/models/[^/:]+:(\w+)")
FIXED = {
    "/v1/chat/completions": ("chat", False),
    "/v1/responses": ("responses", False),
    "/v1/responses/input_tokens": ("responses", True),
    "/v1/messages": ("anthropic", False),
    "/v1/messages/count_tokens": ("anthropic", True),
}
METHODS = {"generateContent": False, "streamGenerateContent": False, "countTokens": True}


@dataclass(frozen=True)
class Door:
    """Where a request goes in."""

    name: str
    api: ProviderApi
    counts: bool = False
    """Whether only tokens are to be counted."""
    known: bool = True


def find(path: str) -> Door:
    """The door of a path; an unknown one belongs to the API it looks like."""
    if path in FIXED:
        name, counts = FIXED[path]
        return Door(name, APIS[name], counts)
    match = GEMINI.fullmatch(path)
    if match and match[1] in METHODS:
        return Door("gemini", gemini, METHODS[match[1]])
    name = "gemini" if "/models/" in path else "anthropic" if "messages" in path else "chat"
    return Door(name, APIS[name], known=False)
