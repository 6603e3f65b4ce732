"""OpenAI Responses, and everything that speaks it."""

from fanfold.codecs.openai_responses.codec import OpenAIResponses

__all__ = ["OpenAIResponses"]
