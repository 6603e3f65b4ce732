"""What of a view no reduction is about: the frame, and the client's instructions beside it."""

from __future__ import annotations

from fanfold.core.view import View


def framing(view: View) -> int:
    """Tokens of the frame, and of what clients say beside it before the model first speaks."""
    return view.frame.tokens + sum([row.tokens for row in view.rows if row.instructs])
