"""What the scripted model says, in no provider's dialect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Stop = Literal["end", "calls", "length", "refusal", "pause"]


@dataclass(frozen=True)
class Turn:
    """One reply of the model; each API renders it whole or streamed."""

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    thinking: str = ""
    hidden: str = ""
    """Thinking that Anthropic would show redacted; elsewhere it is billed and not shown."""
    stop: Stop | None = None

    @property
    def why(self) -> Stop:
        """Why the reply ends: as told, else for its calls, else because it is done."""
        return self.stop or ("calls" if self.calls else "end")
