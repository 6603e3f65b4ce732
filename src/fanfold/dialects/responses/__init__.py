"""OpenAI Responses, and everything that speaks it."""

from fanfold.dialects.responses.dialect import OpenAIResponses

__all__ = ["OpenAIResponses"]
