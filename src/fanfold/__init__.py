"""fanfold keeps an LLM agent's conversation inside its model's context window and loses nothing."""

from typing import TYPE_CHECKING

from fanfold import errors, meter, models
from fanfold.budget import Budget
from fanfold.edit import Decision, Drop, Elide, Fold, Mend, Note, Pin, Undo
from fanfold.errors import (
    AskFailed,
    BadArguments,
    BadBudget,
    BadEdit,
    BadInput,
    BadMessage,
    BadSetting,
    BrokenGrammar,
    Busy,
    Closed,
    Corrupt,
    Covered,
    DoesNotFit,
    FanfoldError,
    Full,
    Gone,
    MissingExtra,
    Moved,
    NotFound,
    PartlyCovered,
    Sealed,
    StoreFailed,
    TooSlow,
    UnknownModel,
)
from fanfold.message import Call, Document, Image, Message, Opaque, Result, Text, Thinking
from fanfold.plan import Answer, Ask, Outcome, ask, either, when
from fanfold.record import Frame
from fanfold.tree import Entry
from fanfold.usage import TokenUsage
from fanfold.view import Block, Row, Span, View

if TYPE_CHECKING:
    from fanfold import strategies
    from fanfold.async_session import AsyncSession
    from fanfold.codecs.codec import Reply
    from fanfold.examining import Finding, Report, doctor
    from fanfold.exporting import export_session
    from fanfold.fitting import fit
    from fanfold.hooks import Hooks
    from fanfold.importing import import_session
    from fanfold.opening import aopen, open
    from fanfold.outputs.output import Output
    from fanfold.passes.binary import binary
    from fanfold.passes.clip import clip
    from fanfold.passes.passing import shortens
    from fanfold.passes.prune import prune
    from fanfold.session import Session
    from fanfold.stores.memory import Memory
    from fanfold.stores.postgres import Postgres
    from fanfold.stores.sqlite import SQLite
    from fanfold.stores.store import Store, Tenants
    from fanfold.strategies.elide import elide
    from fanfold.strategies.window import window
    from fanfold.talk.collecting import Garbage, Hidden
    from fanfold.talk.looking import Diff, Why
    from fanfold.talk.merging import Merged
    from fanfold.talk.pressure import Pressure

__all__ = [
    "Answer",
    "Ask",
    "AskFailed",
    "AsyncSession",
    "BadArguments",
    "BadBudget",
    "BadEdit",
    "BadInput",
    "BadMessage",
    "BadSetting",
    "Block",
    "BrokenGrammar",
    "Budget",
    "Busy",
    "Call",
    "Closed",
    "Corrupt",
    "Covered",
    "Decision",
    "Diff",
    "Document",
    "DoesNotFit",
    "Drop",
    "Elide",
    "Entry",
    "FanfoldError",
    "Finding",
    "Fold",
    "Frame",
    "Full",
    "Garbage",
    "Gone",
    "Hidden",
    "Hooks",
    "Image",
    "Memory",
    "Mend",
    "Merged",
    "Message",
    "MissingExtra",
    "Moved",
    "NotFound",
    "Note",
    "Opaque",
    "Outcome",
    "Output",
    "PartlyCovered",
    "Pin",
    "Postgres",
    "Pressure",
    "Reply",
    "Report",
    "Result",
    "Row",
    "SQLite",
    "Sealed",
    "Session",
    "Span",
    "Store",
    "StoreFailed",
    "Tenants",
    "Text",
    "Thinking",
    "TokenUsage",
    "TooSlow",
    "Undo",
    "UnknownModel",
    "View",
    "Why",
    "aopen",
    "ask",
    "binary",
    "clip",
    "doctor",
    "either",
    "elide",
    "errors",
    "export_session",
    "fit",
    "import_session",
    "meter",
    "models",
    "open",
    "prune",
    "shortens",
    "strategies",
    "when",
    "window",
]

_LATE = {
    "AsyncSession": "fanfold.async_session",
    "Diff": "fanfold.talk.looking",
    "Finding": "fanfold.examining",
    "Garbage": "fanfold.talk.collecting",
    "Hidden": "fanfold.talk.collecting",
    "Hooks": "fanfold.hooks",
    "Memory": "fanfold.stores.memory",
    "Merged": "fanfold.talk.merging",
    "Output": "fanfold.outputs.output",
    "Postgres": "fanfold.stores.postgres",
    "Pressure": "fanfold.talk.pressure",
    "Reply": "fanfold.codecs.codec",
    "Report": "fanfold.examining",
    "SQLite": "fanfold.stores.sqlite",
    "Session": "fanfold.session",
    "Store": "fanfold.stores.store",
    "Tenants": "fanfold.stores.store",
    "Why": "fanfold.talk.looking",
    "aopen": "fanfold.opening",
    "binary": "fanfold.passes.binary",
    "clip": "fanfold.passes.clip",
    "doctor": "fanfold.examining",
    "elide": "fanfold.strategies.elide",
    "export_session": "fanfold.exporting",
    "fit": "fanfold.fitting",
    "import_session": "fanfold.importing",
    "open": "fanfold.opening",
    "prune": "fanfold.passes.prune",
    "shortens": "fanfold.passes.passing",
    "window": "fanfold.strategies.window",
}
"""What works on the values above, and where it lives: imported when a program first names it."""

_MODULES = ("replay", "asking", "loop", "presets", "strategies", "systems", "testing", "transcripts")


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"fanfold.{name}")
    if name not in _LATE:
        raise AttributeError(f"module 'fanfold' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LATE[name]), name)
    return value
