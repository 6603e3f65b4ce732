"""Gemini's generateContent: as a REST body, and as the keyword arguments of google-genai."""

from fanfold.dialects.gemini.dialect import Gemini

__all__ = ["Gemini"]
