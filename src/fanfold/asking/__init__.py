"""Asking models: what a model is, asking it with care, and the official SDKs as models."""

from fanfold.asking.careful import Breaker, Careful
from fanfold.asking.model import Completion, Model
from fanfold.asking.sdks import Anthropic, Gemini, OpenAI, Responses

__all__ = ["Anthropic", "Breaker", "Careful", "Completion", "Gemini", "Model", "OpenAI", "Responses"]
