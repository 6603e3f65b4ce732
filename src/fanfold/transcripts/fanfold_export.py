"""What `fanfold export` writes: everything that was said on the way to where the session stands, and no edit of it.

To go on with a session, its edits included, import it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from fanfold.dialects.registry import DialectName
from fanfold.session.importing import import_session
from fanfold.session.open import open_aside
from fanfold.session.stored import as_request_without_edits
from fanfold.session.summarize import ANY_WINDOW
from fanfold.stores.memory import Memory
from fanfold.text.json_text import to_json
from fanfold.transcripts.conversation import Conversation, Teller
from fanfold.transcripts.recording import Recording
from fanfold.transcripts.values import mapping


def fits(value: Any) -> bool:
    head = mapping(value)
    return head.get("kind") == "session" and {"format", "name"} <= head.keys()


def read(recording: Recording) -> Iterator[Conversation]:
    store, teller = Memory(), Teller()
    lines = (f"{to_json(row.value)}\n".encode() for row in recording.rows())
    name = import_session(store, lines)
    with open_aside(name, store=store, window=ANY_WINDOW, meter="characters/4") as chat:
        whole = as_request_without_edits(chat)
    for message, time in zip(whole.messages, whole.times, strict=True):
        teller.add(message, time)
    dialect = cast(DialectName, whole.dialect)
    yield teller.finish(name, recording.name, dialect, model=whole.model, frame=whole.frame)
