"""OpenAI Chat Completions, and everything that speaks it."""

from fanfold.codecs.openai_chat.codec import OpenAIChat

__all__ = ["OpenAIChat"]
