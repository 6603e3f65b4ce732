"""Asking models: what a model is, asking it with care, and the official SDKs as models."""

from typing import TYPE_CHECKING

from fanfold.asking.careful import Breaker, Careful
from fanfold.asking.model import AskableModel as Model
from fanfold.asking.model import Completion

if TYPE_CHECKING:
    from fanfold.asking.sdks import Anthropic, Gemini, OpenAI, Responses

__all__ = ["Anthropic", "Breaker", "Careful", "Completion", "Gemini", "Model", "OpenAI", "Responses"]


def __getattr__(name: str) -> object:
    """The SDKs, imported by whoever uses one."""
    if name in __all__:
        from fanfold.asking import sdks

        return getattr(sdks, name)
    raise AttributeError(f"module 'fanfold.asking' has no attribute {name!r}")
