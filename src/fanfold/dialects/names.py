"""The names of the dialects: whoever adds one begins here, and a test names every table that does not know it yet."""

from __future__ import annotations

from typing import Literal, get_args

DialectName = Literal["openai.chat", "openai.responses", "anthropic", "gemini"]
CHAT: DialectName = "openai.chat"
RESPONSES: DialectName = "openai.responses"
ANTHROPIC: DialectName = "anthropic"
GEMINI: DialectName = "gemini"
DIALECTS: tuple[DialectName, ...] = get_args(DialectName)

FIELDS: dict[DialectName, str] = {
    CHAT: "messages",
    RESPONSES: "input",
    ANTHROPIC: "messages",
    GEMINI: "contents",
}
"""Under what name a request has its messages."""
FRAME = ("system", "instructions", "systemInstruction", "system_instruction", "tools")
"""Under what names a request of any dialect has its system prompt and its tools."""
