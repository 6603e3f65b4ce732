"""fanfold keeps an LLM agent's conversation inside its model's context window and loses nothing."""

from typing import TYPE_CHECKING

from fanfold import errors, meter, models, strategies
from fanfold.budget import Budget
from fanfold.codecs.codec import Reply
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
    UnknownModel,
)
from fanfold.fitting import fit
from fanfold.hooks import Hooks
from fanfold.log import Entry
from fanfold.message import Call, Document, Image, Message, Opaque, Result, Text, Thinking
from fanfold.opening import aopen, open
from fanfold.outputs.output import Output
from fanfold.passes import binary, clip, prune
from fanfold.plan import Answer, Ask, Outcome, ask, either, when
from fanfold.record import Frame
from fanfold.session import Session
from fanfold.stores.memory import Memory
from fanfold.stores.store import Store, Tenants
from fanfold.strategies.elide import elide
from fanfold.strategies.window import window
from fanfold.talk.collecting import Garbage
from fanfold.talk.looking import Diff, Why
from fanfold.talk.merging import Merged
from fanfold.talk.pressure import Pressure
from fanfold.usage import TokenUsage
from fanfold.view import Block, Row, Span, View

if TYPE_CHECKING:
    from fanfold.async_session import AsyncSession
    from fanfold.examining import Finding, Report, doctor
    from fanfold.exporting import export_session
    from fanfold.importing import import_session
    from fanfold.stores.postgres import Postgres
    from fanfold.stores.sqlite import SQLite

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
    "strategies",
    "when",
    "window",
]

_LATE = {
    "AsyncSession": "fanfold.async_session",
    "Finding": "fanfold.examining",
    "Postgres": "fanfold.stores.postgres",
    "Report": "fanfold.examining",
    "SQLite": "fanfold.stores.sqlite",
    "doctor": "fanfold.examining",
    "export_session": "fanfold.exporting",
    "import_session": "fanfold.importing",
}
"""Names that most programs never use: their modules are imported when they do."""


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    if name in ("replay", "asking", "loop", "presets", "systems", "testing", "transcripts"):
        return import_module(f"fanfold.{name}")
    raise AttributeError(f"module 'fanfold' has no attribute {name!r}")
