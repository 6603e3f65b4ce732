"""Short ways to make a session with outputs in it."""

from __future__ import annotations

from typing import Any

import fanfold
from fanfold import Call, Session
from fanfold.core.message import Message, Result, assistant


def opened(window: int = 400_000, **options: Any) -> Session:
    options = {"meter": "characters/4", "clock": lambda: 0.0, **options}
    return fanfold.open(options.pop("name", "run"), window=window, **options)


def ask(chat: Session, id: str, tool: str = "bash", arguments: str = '{"cmd": "ls"}') -> Call:
    """The model calls a tool."""
    call = Call(id, tool, arguments)
    chat.add(assistant("", call))
    return call


def give(chat: Session, id: str, output: Any, tool: str = "bash", arguments: str = '{"cmd": "ls"}') -> Any:
    """The model calls a tool, and gets an answer."""
    return chat.answer(ask(chat, id, tool, arguments), output)


def shown(chat: Session, row: int = -1) -> str:
    """What the view shows of a result."""
    return result_of(chat.view().rows[row].messages[0]).text


def result_of(message: Message) -> Result:
    return message.results[0]


def numbered(lines: int, words: str = "line") -> str:
    return "".join(f"{words} {i}\n" for i in range(1, lines + 1))
