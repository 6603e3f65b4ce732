"""The dialect for `gemini`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fanfold.core.message import Message
from fanfold.core.record import Frame
from fanfold.core.view import Row, Violation
from fanfold.dialects.dialect import Allowed, Assembly, Marks, ProviderDialect, Reply, Split
from fanfold.dialects.gemini import forms, replies, rules
from fanfold.dialects.gemini import read as reading
from fanfold.dialects.gemini import repair as repairing
from fanfold.dialects.gemini import sign as signing
from fanfold.dialects.gemini import write as writing
from fanfold.dialects.gemini.facts import FACTS
from fanfold.dialects.gemini.names import DIALECT as DIALECT_NAME
from fanfold.dialects.gemini.turns import contents, turns, with_context
from fanfold.dialects.rules import Patch, faults
from fanfold.dialects.tools import told_apart, well_named
from fanfold.tokens.models import Model


class Gemini(ProviderDialect):
    """The dialect for `gemini`."""

    name = DIALECT_NAME
    field = FACTS.field
    tool_like = "`functionDeclarations`"
    tool_rules = (well_named, told_apart)

    def __init__(self, model: Model | None = None) -> None:
        super().__init__(model)
        self._newer = model is not None and "thought_signatures" in model.quirks
        """From Gemini 3 on: calls are signed, and responses may carry pictures."""

    def split(self, request: Any) -> Split:
        """Take a REST body, the SDK's keyword arguments, or a bare list of contents apart."""
        return forms.split(request)

    def read_system(self, body: Any, where: str) -> Message:
        """A text, a part or a content."""
        return forms.read_system(body, where)

    def message(self, body: Any, where: str = "message") -> Message:
        """Read one content."""
        return reading.message(body, where)

    def patch(self, was: Message, message: Message) -> Any:
        """The content as received, with exactly those parts changed that were elided."""
        return writing.patched(was, message)

    def write(self, message: Message) -> Iterable[Any]:
        """A message that did not come over this wire; results and words are two contents."""
        return writing.written(message, media=self._newer)

    def limit(self, tokens: int | None, default: int) -> dict[str, Any]:
        """Where the limit of the reply stands depends on the request's form; `encode` puts it there."""
        return {} if tokens is None else {forms.LIMIT: tokens}

    def allow(self, rows: Sequence[Row], params: Mapping[str, Any]) -> Allowed:
        """Unsigned calls are sent with the documented placeholder where the model wants signatures."""
        return signing.allowed(rows, params)

    def encode(
        self,
        frame: Frame,
        rows: Sequence[Row],
        params: Mapping[str, Any],
        *,
        context: str | None = None,
        marks: Marks | None = None,
    ) -> dict[str, Any]:
        """The keyword arguments for `client.models.generate_content`, or a REST body if it came as one."""
        sent = contents(rows)
        return forms.assembled(
            frame.system, self.tools(frame), with_context(sent, context) if context else sent, params
        )

    def reply(self, response: Any) -> Reply:
        """Read a whole `GenerateContentResponse`, as a dict or an SDK object."""
        return replies.reply(response)

    def assembly(self) -> Assembly:
        """A place to collect a stream of chunks."""
        return replies.Chunks()

    def faults(self, message: Message) -> tuple[Violation, ...]:
        """The rules that a content breaks by itself."""
        if rules.is_plain(message):
            return faults(message, (rules.signed,)) if self._newer else ()
        return faults(message, rules.NEWER if self._newer else rules.MESSAGE)

    def check(self, rows: Sequence[Row], params: Mapping[str, Any], settled: int = 0) -> list[Violation]:
        """The rules of generateContent that these rows break."""
        alone = [fault for row in rows if row.weight.faults for fault in row.weight.faults]
        found = turns(rows)
        return alone + [violation for rule in rules.ORDER for violation in rule(found)]

    def repair(self, rows: Sequence[Row], params: Mapping[str, Any]) -> list[Patch]:
        """The smallest repairs that make these rows legal."""
        return repairing.repair(rows)


DIALECT = Gemini
