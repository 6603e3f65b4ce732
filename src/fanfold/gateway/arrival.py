"""Outputs that arrive in a conversation that is being reduced.

Until its first edit nothing of a conversation is shaped. From then on its window is known to be too small for it. An
output that alone takes more than a fifth of what the client's own prompt leaves free would push out everything else,
and the provider's prompt cache with it. It is shown in part, as in the library, and the model can read on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from fanfold.core.view import View
from fanfold.outputs.filters import clip_within
from fanfold.outputs.filters.clip import SIZE, SMALLEST, Clip
from fanfold.strategies.framing import framing

_BYTES = 4
"""Bytes of a token, as `clip_within` reckons; some models have more tokens for the same text."""
_PART, _LEAST = 16, 2_048
"""The part of the limit that is shown of a longer output, and the bytes of it that are shown at least."""


class ArrivalClip:
    """A filter that clips only while it has a clip: one for each session, set before a history is merged."""

    name = "clip"
    shortens = True

    def __init__(self) -> None:
        self._clip: Clip | None = None

    def __call__(self, text: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """What is shown of an output; None for all of it."""
        return self._clip(text, tool, arguments) if self._clip is not None else None

    @property
    def together(self) -> float:
        """The share of the room for outputs that arrive together."""
        return self._clip.together if self._clip is not None else 0.0

    def within(self, tokens: float, density: float, *, least: int = SMALLEST) -> Clip:
        """What clips an output to so many tokens, and to no fewer bytes than `least`."""
        return (self._clip or Clip()).within(tokens, density, least=least)

    def fit(self, view: View, room: int) -> None:
        """Clip what takes more than about a fifth of what instructions and tools leave of the room.

        Clients page through long outputs by themselves, and their instructions and tools leave little room. If as much
        were shown as the limit, every other request would be reduced, and half of each prompt billed as new.
        """
        density = min(1.0, view.size / max(1, _BYTES * view.tokens))
        clip = clip_within(int(max(0, room - framing(view)) * density))
        shown = min(clip.size, max(_LEAST, clip.size // _PART)) if clip.size < SIZE else None
        self._clip = replace(clip, shown=shown)

    def rest(self) -> None:
        """Leave what arrives as it is."""
        self._clip = None
