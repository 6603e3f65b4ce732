"""OpenAI Responses, and everything that speaks it."""
