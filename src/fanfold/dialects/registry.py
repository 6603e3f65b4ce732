"""The one table of dialects, and what is found through it.

Everything about a dialect stands in the folder that its name ends in: `facts.py` tells it from the others, `tools.py`
reads and writes its tool definitions, `dialect.py` is the dialect itself. Each file is imported when first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from fanfold.core.errors import unknown
from fanfold.plugins import names, plugin
from fanfold.tokens import model_names, models

if TYPE_CHECKING:
    from fanfold.dialects.dialect import Dialect
    from fanfold.dialects.tools import Form

DialectName = Literal["openai.chat", "openai.responses", "anthropic", "gemini"]
"""The table: whoever adds a dialect adds its name here."""
DIALECTS: tuple[DialectName, ...] = get_args(DialectName)
CHAT: DialectName = "openai.chat"
"""What routers and local servers speak, and what plain messages are taken for."""
Body = Mapping[str, Any]


class Facts(NamedTuple):
    """What is known of a dialect before any of its code is needed: its limits, and what gives it away."""

    field: str
    """The name under which a request has its messages."""
    frame: tuple[str, ...]
    """The names under which a request has its system prompt and its tools."""
    most_bytes: int
    """How long a request may be, whatever its tokens."""
    is_reply: Callable[[Body], bool]
    """Whether this is a reply, or an event of a stream of replies."""
    is_message: Callable[[Body], bool] = lambda body: False
    """Whether a message can be nobody else's, whatever else somebody recorded in it."""
    request: tuple[str, ...] = ()
    """Fields of a request that only this dialect has."""
    likely: tuple[str, ...] = ()
    """Fields that hosts of other dialects have copied: they count where nothing else tells."""
    message: tuple[str, ...] = ()
    """Fields of a message that only this dialect has."""
    blocks: tuple[str, ...] = ()
    """Types of content blocks that only this dialect has."""
    block_fields: tuple[str, ...] = ()
    """Fields of a content block that only this dialect has."""
    parts: tuple[str, ...] = ()
    """All fields of a part, where a part may stand alone in the place of a message."""


def facts(dialect: DialectName) -> Facts:
    """What is known of a built-in dialect."""
    found: Facts = module_of(dialect, "facts").FACTS
    return found


def form(dialect: str) -> Form:
    """How a built-in dialect reads and writes tool definitions."""
    found: Form = module_of(dialect, "tools").FORM
    return found


@cache
def module_of(dialect: str, name: str) -> Any:
    """A file of a built-in dialect's folder, imported when first needed."""
    return import_module(f"fanfold.dialects.{dialect.rpartition('.')[2]}.{name}")


@cache
def frame_fields() -> tuple[str, ...]:
    """The names under which a request of any dialect has its system prompt and its tools."""
    return tuple(dict.fromkeys(name for dialect in DIALECTS for name in facts(dialect).frame))


@cache
def request_fields() -> frozenset[str]:
    """The names under which a request of any dialect has its messages, its system prompt and its tools."""
    return frozenset({*frame_fields(), *(facts(dialect).field for dialect in DIALECTS)})


def most_bytes(dialect: str | None) -> int | None:
    """How long a request may be, whatever its tokens; None for the dialect of a plug-in."""
    return next((facts(name).most_bytes for name in DIALECTS if name == dialect), None)


def dialect_for(model: str | None) -> str:
    """The dialect in which a model is asked at home."""
    found = None if model is None or model_names.is_routed(model) else models.kin(model)
    if found is None:
        return CHAT
    if found.provider == "gemini" and not model_names.key(str(model)).startswith("gemini"):
        return CHAT  # open weights, which others serve too
    if found.provider == "openai" and "responses_only" in found.quirks:
        return "openai.responses"
    return found.provider if found.provider in DIALECTS else CHAT


def dialect_named(name: str, model: str | None = None) -> Dialect:
    """The dialect of this name, told what is known about the model."""
    make = module_of(name, "dialect").DIALECT if name in DIALECTS else plugin("dialects", name)
    if make is None:
        raise unknown("dialect", name, (*DIALECTS, *names("dialects")))
    dialect: Dialect = make(models.kin(model))
    return dialect
