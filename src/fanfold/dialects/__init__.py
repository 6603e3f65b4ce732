"""Dialects: messages ⇄ one provider's wire format, lossless and pure."""
