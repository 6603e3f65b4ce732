"""Which tools a request offers: those that do not wait, and of the others those that its rows need.

A tool is loaded while the rows show that it was found or called. So a schema stays through a reduction while calls to
it are in view, leaves with the reduction that hides the last trace of it, and comes back when that is undone, or when
the tool is found or called again. What was found and is not called leaves with a reduction as well: an edit shows the
answer of its search without it. Nothing has to be remembered beside the rows.

Where a provider loads tools itself, what waits is marked (Anthropic) or comes with the answer (OpenAI), and the
beginning of the prompt stays as it is. A tool whose reference was hidden while its calls stay is sent like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from fanfold.core.errors import BadArguments
from fanfold.core.message import Call, Message, Opaque, Result, Text
from fanfold.core.record import Frame
from fanfold.core.view import Row
from fanfold.deferral.catalog import DEFINITION, FINDING, FLAG, NATIVE, Catalog, FindTools, ToolBody, misfit
from fanfold.dialects.dialect import Dialect
from fanfold.dialects.registry import DIALECTS
from fanfold.dialects.tools import Function
from fanfold.dialects.weigh import Offer, framed
from fanfold.text.json_text import from_json, to_json
from fanfold.tokens.meter import Meter
from fanfold.tokens.models import has

ANTHROPIC, RESPONSES = "anthropic", "openai.responses"
_KEPT = 4
"""Offers and catalogs that are kept at hand."""
_CHANCES = 5
"""So many calls after a search, a tool that it found and that none of them called is not needed."""
_NOTHING = "No tool was found. The list in the system prompt has all of them: load one by its name."


class DeferralTerms(msgspec.Struct, frozen=True):
    """When tools wait."""

    share: float | None
    """The share of the window that schemas may take before they wait; None: only those that the caller marked."""
    window: int
    model: str | None
    find: FindTools | None = None
    """A search of the user's own."""


class Deferral:
    """The tools of a session that come when they are needed."""

    def __init__(self, dialect: Dialect, meter: Meter, terms: DeferralTerms) -> None:
        self.dialect = dialect
        self.meter = meter
        self.terms = terms
        self.native = dialect.name in (ANTHROPIC, RESPONSES) and has(terms.model, NATIVE)
        """Whether the provider of this model loads tools itself."""
        self._catalogs: dict[str, tuple[Catalog, tuple[str, ...]]] = {}
        self._offers: dict[Any, Offer] = {}

    def catalog(self, frame: Frame) -> Catalog:
        """The tools of a recorded frame."""
        return self._read(frame)[0]

    def _read(self, frame: Frame) -> tuple[Catalog, tuple[str, ...]]:
        if frame.id not in self._catalogs:
            if len(self._catalogs) >= _KEPT:
                self._catalogs.clear()
            sent, left_out = framed(frame, self.dialect)
            self._catalogs[frame.id] = (self._made(sent), left_out)
        return self._catalogs[frame.id]

    def _made(self, frame: Frame) -> Catalog:
        name = self.dialect.name
        if name not in DIALECTS:  # nobody knows how a plug-in's dialect defines tools
            return Catalog(Frame(), name, every=False)
        catalog = Catalog(frame, name, every=self.terms.share is not None)
        return catalog if self._pays(catalog) else Catalog(frame, name, every=False)

    def _pays(self, catalog: Catalog) -> bool:
        """Whether the schemas take more than they may, and more than what stands in their place."""
        if not catalog.every or self.terms.share is None:
            return True
        schemas = self.meter.frame(catalog.rebuild(catalog.waiting.values()))
        index = self.meter.frame(catalog.rebuild(catalog.finder, self._index(catalog)))
        return schemas > max(index, self.terms.share * self.terms.window)

    def _index(self, catalog: Catalog) -> Message:
        return catalog.index(self.terms.window, self.meter)

    def offer(self, frame: Frame, rows: Sequence[Row], forced: str | None = None) -> Offer | None:
        """What a request of these rows offers; None where no tool waits.

        The tool that a request forces the model to call is loaded for it.
        """
        if not frame.tools:
            return None
        catalog, left_out = self._read(frame)
        if not catalog.waiting:
            return None
        referenced = tuple(name for name in self._references(rows) if name in catalog.waiting)
        needed = (*referenced, *_traces(rows), *([forced] if forced else []))
        loaded = tuple(dict.fromkeys(name for name in needed if name in catalog.waiting))
        key = (frame.id, loaded, referenced)
        if key not in self._offers:
            if len(self._offers) >= _KEPT:
                self._offers.clear()
            sent, counted = self._frames(catalog, loaded, referenced)
            self._offers[key] = Offer(sent, counted, left_out, loaded)
        return self._offers[key]

    def unneeded(self, frame: Frame, rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
        """The answers of searches that load tools which nothing calls, each with what it says without them.

        A reduction shows them so, as edits that can be undone; a schema is sent no longer than it is needed.
        """
        if not self.is_ours(frame):
            return
        waiting, made = self.catalog(frame).waiting, [list(_calls(row)) for row in rows]
        searches = {call.id for calls in made for call in calls if call.name in FINDING}
        needed = {call.name for calls in made for call in calls}
        later = sum(map(len, made)) - len(searches)
        for row, calls in zip(rows, made, strict=True):
            later -= sum(call.name not in FINDING for call in calls)
            for number, part in enumerate(row.messages[0].parts if row.kind == "entry" else ()):
                if isinstance(part, Result) and part.call in searches and later >= _CHANCES:
                    found = [name for name in _results(part, True) if name in waiting]
                    if not needed.issuperset(found):
                        kept = [name for name in found if name in needed]
                        yield f"{row.id}#{number}", to_json({"loaded": kept})

    def is_ours(self, frame: Frame) -> bool:
        """Whether the session has an index of its own and answers `find_tool`."""
        catalog = self.catalog(frame)
        return catalog.every and bool(catalog.waiting)

    # What is sent, and what of it the model reads

    def _frames(
        self, catalog: Catalog, loaded: Sequence[str], referenced: Sequence[str]
    ) -> tuple[Frame, Frame]:
        plain = [catalog.waiting[name] for name in loaded if name not in referenced]
        if not catalog.every:
            return self._marked_by_caller(catalog, plain, referenced)
        ready = [piece for piece in catalog.pieces if not _waits(piece, catalog)]
        shown, index = [*ready, *catalog.finder, *map(_unmark, plain)], self._index(catalog)
        if not self.native:
            both = catalog.rebuild(
                [*shown, *(catalog.waiting[name] for name in dict.fromkeys(referenced))], index
            )
            return both, both
        if self.dialect.name == RESPONSES:
            found = [*ready, ToolBody(None, _search_tool()), *map(_unmark, plain)]
            return catalog.rebuild(found, index), catalog.rebuild(shown, index)
        asleep = [_mark(piece) for piece in catalog.waiting.values() if piece not in plain]
        read = [*shown, *(catalog.waiting[name] for name in referenced)]
        return catalog.rebuild([*shown, *asleep], index), catalog.rebuild(read, index)

    def _marked_by_caller(
        self, catalog: Catalog, plain: Sequence[ToolBody], referenced: Sequence[str]
    ) -> tuple[Frame, Frame]:
        """The caller's own order, with the mark taken from what the rows use without a reference."""
        sent, read = list[ToolBody](), list[ToolBody]()
        for piece in catalog.pieces:
            if not _waits(piece, catalog):
                sent.append(piece)
                read.append(piece)
            elif piece in plain:
                sent.append(_unmark(piece))
                read.append(_unmark(piece))
            else:
                sent.append(_mark(piece))
                read += [_headline(piece)] if self.dialect.name == RESPONSES else []
        read += [catalog.waiting[name] for name in referenced if self.dialect.name == ANTHROPIC]
        return catalog.rebuild(sent), catalog.rebuild(read)

    def _references(self, rows: Iterable[Row]) -> Iterator[str]:
        """The tools that the rows load by themselves, as they are sent in this dialect."""
        if self.dialect.name not in (ANTHROPIC, RESPONSES):
            return
        for row in rows:
            for body in row.weight.wire:
                if isinstance(body, Mapping):
                    yield from _references_in(body)

    # What `find_tool` answers

    def answer(self, frame: Frame, call: Call) -> Message:
        """The message that answers a call of `find_tool`, and by that loads what it finds."""
        catalog = self.catalog(frame)
        names = catalog.find(_arguments(call) or {"query": call.raw}, self.terms.find)
        if call.name == NATIVE and self.dialect.name == RESPONSES:
            tools = [_mark(catalog.waiting[name]).body for name in names]
            head = {"type": "tool_search_output", "call_id": call.id, "execution": "client"}
            return self.dialect.message({**head, "status": "completed", "tools": tools})
        parts: tuple[Text | Opaque, ...] = (Text(to_json({"loaded": list(names)})),)
        if not names:
            parts = (Text(_NOTHING),)
        elif self.native and self.dialect.name == ANTHROPIC:
            references = ({"type": "tool_reference", "tool_name": name} for name in names)
            parts = tuple(Opaque(ANTHROPIC, body) for body in references)
        return Message("tool", (Result(call.id, parts, False, call.name),))

    def answer_early(self, frame: Frame, call: Call, loaded: Iterable[str]) -> Message | None:
        """The message that answers a call of a tool that was not loaded, unless it can be run as it is.

        A model may remember a tool, and not what it takes. By the call the tool is loaded, so it is called again.
        """
        piece = self.catalog(frame).waiting.get(call.name)
        if piece is None or call.name in loaded or not isinstance(piece.tool, Function):
            return None
        given = _arguments(call)
        why = "they are no JSON object" if given is None else misfit(piece.tool, given)
        if not why:
            return None
        text = f"{call.name} was not loaded, and these arguments do not fit ({why}). It is loaded now: call it again."
        return Message("tool", (Result(call.id, (Text(text),), False, call.name),))


def _arguments(call: Call) -> Mapping[str, Any] | None:
    """What a call was given; None where the model wrote something else than an object."""
    try:
        return call.args
    except BadArguments:
        return None


def _waits(piece: ToolBody, catalog: Catalog) -> bool:
    return piece.tool is not None and catalog.waiting.get(piece.tool.name) is piece


def _mark(piece: ToolBody) -> ToolBody:
    """The tool as one that waits. It cannot carry a cache mark: the provider refuses both at once."""
    body = {key: value for key, value in piece.body.items() if key != "cache_control"}
    return piece._replace(body={**body, FLAG: True})


def _unmark(piece: ToolBody) -> ToolBody:
    if not isinstance(piece.body, Mapping) or FLAG not in piece.body:
        return piece
    return piece._replace(body={key: value for key, value in piece.body.items() if key != FLAG})


def _headline(piece: ToolBody) -> ToolBody:
    """What OpenAI shows of a tool that waits: its name and its description."""
    kept = ("type", "name", "description")
    return piece._replace(body={key: piece.body[key] for key in kept if key in piece.body})


def _search_tool() -> dict[str, Any]:
    """OpenAI's own search for tools, run by the client."""
    told = {"description": DEFINITION.description, "parameters": DEFINITION.schema}
    return {"type": NATIVE, "execution": "client", **told}


def _references_in(body: Mapping[str, Any]) -> Iterator[str]:
    """The tools that a wire message loads: Anthropic's references, or the definitions in OpenAI's answer."""
    if body.get("type") == "tool_search_output":
        yield from _names(body.get("tools"))
        return
    content = body.get("content")
    for block in content if isinstance(content, list) else ():
        yield from _block_references(block)


def _block_references(block: Any) -> Iterator[str]:
    match block:
        case {"type": "tool_reference", "tool_name": str(name)}:
            yield name
        case {"type": "tool_search_tool_result", "content": {"tool_references": list(found)}}:
            for one in found:
                yield from _block_references(one)
        case {"type": "tool_result", "content": list(inner)}:
            for one in inner:
                yield from _block_references(one)


def _calls(row: Row) -> Iterator[Call]:
    return (part for message in row.messages for part in message.parts if isinstance(part, Call))


def _traces(rows: Iterable[Row]) -> Iterator[str]:
    """The tools that rows show as called or found, in whatever dialect that was."""
    searches: set[str] = set()
    for row in rows:
        for message in row.messages:
            for part in message.parts:
                if isinstance(part, Call):
                    yield part.name
                    if part.name in FINDING:
                        searches.add(part.id)
                elif isinstance(part, Result):
                    yield from _results(part, part.call in searches)


def _results(result: Result, is_found: bool) -> Iterator[str]:
    """The tools that an answer of a search names."""
    for part in result.parts:
        if isinstance(part, Opaque):
            yield from _block_references(part.body)
        elif isinstance(part, Text) and is_found:
            found = from_json(part.text) if part.text[:1] in ("[", "{") else None
            yield from _names(found.get("loaded") if isinstance(found, Mapping) else found)


def _names(found: Any) -> Iterator[str]:
    for one in found if isinstance(found, list) else ():
        name = one.get("name") if isinstance(one, Mapping) else one
        if isinstance(name, str):
            yield name
