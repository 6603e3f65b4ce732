"""Gemini's generateContent: as a REST body, and as the keyword arguments of google-genai."""
