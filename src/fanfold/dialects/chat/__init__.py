"""OpenAI Chat Completions, and everything that speaks it."""

from fanfold.dialects.chat.dialect import OpenAIChat

__all__ = ["OpenAIChat"]
