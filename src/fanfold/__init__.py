"""fanfold keeps an LLM agent's conversation inside its model's context window and loses nothing."""

from typing import TYPE_CHECKING

from fanfold.core import errors
from fanfold.core.budget import Budget
from fanfold.core.edit import Decision, Drop, Elide, Fold, Note, Pin, Repair, Undo
from fanfold.core.errors import (
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
from fanfold.core.message import Call, Document, Image, Message, Opaque, Result, Text, Thinking
from fanfold.core.plan import Answer, Ask, Outcome, ask
from fanfold.core.record import Frame, TokenUsage
from fanfold.core.tree import Entry
from fanfold.core.view import Block, Row, Span, View
from fanfold.tokens import meter, models

if TYPE_CHECKING:
    from fanfold import strategies
    from fanfold.config.events import Hooks
    from fanfold.dialects.dialect import Reply
    from fanfold.inspector.serve import inspect
    from fanfold.outputs.filters.binary import binary
    from fanfold.outputs.filters.clip import clip
    from fanfold.outputs.filters.filter import shortens
    from fanfold.outputs.filters.prune import prune
    from fanfold.outputs.output import Output
    from fanfold.session.async_session import AsyncSession
    from fanfold.session.cache import CacheUse
    from fanfold.session.fit import fit
    from fanfold.session.gc import Garbage, Hidden
    from fanfold.session.importing import import_session
    from fanfold.session.ledger import Ledger
    from fanfold.session.look import Diff, Why
    from fanfold.session.merge import Merged
    from fanfold.session.open import aopen, open
    from fanfold.session.pool import Pool
    from fanfold.session.session import Session
    from fanfold.stores.doctor import Finding, Report, doctor
    from fanfold.stores.export import export_session
    from fanfold.stores.memory import Memory
    from fanfold.stores.postgres import Postgres
    from fanfold.stores.sqlite import SQLite
    from fanfold.stores.store import Store, Tenants
    from fanfold.strategies.combining import either, when
    from fanfold.strategies.drop_oldest import drop_oldest
    from fanfold.strategies.elide import elide
    from fanfold.tokens.pressure import Pressure

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
    "CacheUse",
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
    "Ledger",
    "Memory",
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
    "Pool",
    "Postgres",
    "Pressure",
    "Repair",
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
    "drop_oldest",
    "either",
    "elide",
    "errors",
    "export_session",
    "fit",
    "import_session",
    "inspect",
    "meter",
    "models",
    "open",
    "prune",
    "shortens",
    "strategies",
    "when",
]

_LATE = {
    "AsyncSession": "fanfold.session.async_session",
    "CacheUse": "fanfold.session.cache",
    "Diff": "fanfold.session.look",
    "Finding": "fanfold.stores.doctor",
    "Garbage": "fanfold.session.gc",
    "Hidden": "fanfold.session.gc",
    "Hooks": "fanfold.config.events",
    "Ledger": "fanfold.session.ledger",
    "Memory": "fanfold.stores.memory",
    "Merged": "fanfold.session.merge",
    "Output": "fanfold.outputs.output",
    "Pool": "fanfold.session.pool",
    "Postgres": "fanfold.stores.postgres",
    "Pressure": "fanfold.tokens.pressure",
    "Reply": "fanfold.dialects.dialect",
    "Report": "fanfold.stores.doctor",
    "SQLite": "fanfold.stores.sqlite",
    "Session": "fanfold.session.session",
    "Store": "fanfold.stores.store",
    "Tenants": "fanfold.stores.store",
    "Why": "fanfold.session.look",
    "aopen": "fanfold.session.open",
    "asking": "fanfold.asking",
    "binary": "fanfold.outputs.filters.binary",
    "clip": "fanfold.outputs.filters.clip",
    "doctor": "fanfold.stores.doctor",
    "drop_oldest": "fanfold.strategies.drop_oldest",
    "either": "fanfold.strategies.combining",
    "elide": "fanfold.strategies.elide",
    "export_session": "fanfold.stores.export",
    "fit": "fanfold.session.fit",
    "import_session": "fanfold.session.importing",
    "inspect": "fanfold.inspector.serve",
    "loop": "fanfold.session.loop",
    "open": "fanfold.session.open",
    "presets": "fanfold.systems.presets",
    "prune": "fanfold.outputs.filters.prune",
    "replay": "fanfold.replay",
    "shortens": "fanfold.outputs.filters.filter",
    "strategies": "fanfold.strategies",
    "systems": "fanfold.systems",
    "testing": "fanfold.testing",
    "transcripts": "fanfold.transcripts",
    "when": "fanfold.strategies.combining",
}
"""What works on the values above, and the module where it lives or which it is: imported when a program names it."""


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version  # late: it is slow, and few programs ask

        try:
            value: object = version("fanfold")
        except PackageNotFoundError:  # run from a checkout that was not installed
            value = "0+unknown"
    elif name in _LATE:
        from importlib import import_module

        module = import_module(_LATE[name])
        value = module if module.__name__ == f"fanfold.{name}" else getattr(module, name, module)
    else:
        raise AttributeError(f"module 'fanfold' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATE, "__version__"})
