"""The dialect `gemini`; how it reads, writes and judges stands beside it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fanfold.core.message import Message
from fanfold.core.record import Frame
from fanfold.core.view import Violation
from fanfold.dialects.dialect import GEMINI_LIMIT, Context, Marks, ProviderDialect
from fanfold.dialects.gemini import forms, rules
from fanfold.dialects.gemini import read as reading
from fanfold.dialects.gemini import write as writing
from fanfold.dialects.gemini.facts import FACTS
from fanfold.dialects.gemini.names import DIALECT as NAME
from fanfold.dialects.gemini.stream import GeminiChunks, reply
from fanfold.dialects.rules import Params, Rows
from fanfold.dialects.tools import told_apart, well_named
from fanfold.tokens.models import Model


class GeminiContents(ProviderDialect):
    """The dialect for `gemini`."""

    name = NAME
    field = FACTS.field
    tool_like = "`functionDeclarations`"
    tool_rules = (well_named, told_apart)
    split = staticmethod(forms.split)
    read_system = staticmethod(forms.read_system)
    message = staticmethod(reading.message)
    patch = staticmethod(writing.patch)
    allow = staticmethod(rules.allow)
    check = staticmethod(rules.check)
    repair = staticmethod(rules.repair)
    reply = staticmethod(reply)
    assembly = staticmethod(GeminiChunks)

    def __init__(self, model: Model | None = None) -> None:
        super().__init__(model)
        self._newer = model is not None and "thought_signatures" in model.quirks
        """From Gemini 3 on: calls are signed, and responses may carry pictures."""

    def write(self, message: Message) -> Iterable[Any]:
        """A message that did not come over this wire; results and words are two contents."""
        return writing.write(message, media=self._newer)

    def limit(self, tokens: int | None, default: int) -> dict[str, Any]:
        """Where the limit of the reply stands depends on the request's form; `encode` puts it there."""
        return {} if tokens is None else {GEMINI_LIMIT: tokens}

    def encode(
        self, frame: Frame, rows: Rows, params: Params, *, context: Context = None, marks: Marks | None = None
    ) -> dict[str, Any]:
        """The keyword arguments for `client.models.generate_content`, or a REST body if it came as one."""
        sent = writing.contents(rows)
        sent = writing.with_context(sent, context) if context else sent
        return forms.assemble(frame.system, self.tools(frame), sent, params)

    def faults(self, message: Message) -> tuple[Violation, ...]:
        """The rules that a content breaks by itself."""
        return rules.faults_of(message, newer=self._newer)


DIALECT = GeminiContents
