"""Gemini's generateContent: as a REST body, and as the keyword arguments of google-genai."""

from fanfold.codecs.gemini.codec import Gemini

__all__ = ["Gemini"]
