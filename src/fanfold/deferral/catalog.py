"""The tools of a frame that may wait: their definitions, their index, and the search for them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from msgspec.structs import replace

from fanfold.core.edit import RECALL
from fanfold.core.message import Message, Text
from fanfold.core.record import Frame
from fanfold.deferral.meanings import is_verb
from fanfold.deferral.search import ToolSearch
from fanfold.dialects.registry import DIALECTS
from fanfold.dialects.tools import Function, Tool, functions, write
from fanfold.text.cutting import short
from fanfold.tokens.meter import Meter

FIND = "find_tool"
NATIVE = "tool_search"
"""The name of a call of OpenAI's own search for tools, where the client runs it."""
FINDING = frozenset((FIND, NATIVE))
FLAG = "defer_loading"
"""The field with which Anthropic and OpenAI mark a tool that waits."""
_SENTENCE = 90
"""Characters of a description that stand in the index at most."""
_LOADED = 5
"""At most so many tools are loaded by one query; by name, all that were named."""
_ROOM = 1 / 8
"""The share of the window that the index takes at most, as far as it can be told in brief."""
_FIRST, _NEAR, _NEARER = 3, 0.25, 0.5
"""The first three tools are loaded if they score at least a quarter of the best one, the others if they score half."""
_HEADING = (
    "Besides the tools that you have, there are those in this list. Load one before you call it, with "
    f'{FIND}(name="…"), or describe what it should do with {FIND}(query="…"). Then call it like any other tool.'
)
_BRIEF = (
    "Besides the tools that you have, there are those of the servers below, too many to list. Describe what a tool "
    f'should do with {FIND}(query="…"), and what is found is loaded. Then call it like any other tool.'
)
_OTHERS = "others"
_SERVER = re.compile(r"(?:mcp__)?(.+?)(?:__|[./:])")
_LIST = re.compile(r"[\s,;]+")
_NAME = re.compile(r"[\w./:-]+")
_TEXT = {"type": "string"}
DEFINITION = Function(
    FIND,
    "Load tools from the list in the system prompt, by name or by what they should do.",
    {"type": "object", "properties": {"query": _TEXT, "name": _TEXT}},
)


FindTools = Callable[[str, Mapping[str, str]], Iterable[str]]
"""A search of the user's own: a query, and descriptions by the names of tools; returns names, the best first."""


class ToolBody(NamedTuple):
    """One tool as a dialect defines it."""

    tool: Tool | None
    """None where a definition holds none, or several that belong together."""
    body: Any
    around: str | None = None
    """The field of an object in which it stands with others."""


class Catalog:
    """The tools of one frame, in the form of the dialect that is spoken."""

    def __init__(self, frame: Frame, dialect: str, *, every: bool) -> None:
        self.frame = frame
        """The frame as it is without deferral."""
        self.dialect = dialect
        self.pieces = split_tools(frame, dialect)
        self.searches = any(_is_search(piece.body) for piece in self.pieces)
        """Whether the caller brought a search for tools of its own."""
        self.every = every and not self.searches
        """Whether all tools wait; else only those that the caller marked."""
        known = Counter(piece.tool.name for piece in self.pieces if piece.tool)
        alone = (piece for piece in self.pieces if piece.tool and known[piece.tool.name] == 1)
        self.waiting = {piece.tool.name: piece for piece in alone if piece.tool and self._waits(piece)}
        """The tools that wait, by name. Nobody could say which one of the same name to load, so those do not."""
        self._index: Message | None = None

    def _waits(self, piece: ToolBody) -> bool:
        flag = piece.body.get(FLAG) if isinstance(piece.body, Mapping) else None
        if not isinstance(piece.tool, Function) or piece.tool.name in RECALL | FINDING:
            return False
        return flag is True or (self.every and flag is not False)

    @property
    def functions(self) -> list[Function]:
        """The tools that wait."""
        return [piece.tool for piece in self.waiting.values() if isinstance(piece.tool, Function)]

    def index(self, room: int, meter: Meter) -> Message:
        """The list that stands in the system prompt: name and one sentence each, by server.

        Where that takes more than its share of the room, it has names only; and where these do, how many there are.
        """
        if self._index is None:
            self._index = self._write_index(_ROOM * room, meter)
        return self._index

    def _write_index(self, room: float, meter: Meter) -> Message:
        grouped = self._by_server()
        for lines in (_sentences(grouped), _names(grouped)):
            told = _system((_HEADING, *lines))
            if meter.message(told) <= room:
                return told
        return _system((_BRIEF, "", *_counts(grouped)))

    def _by_server(self) -> dict[str, list[Function]]:
        """The tools that wait, in the order of their names; those of no server last."""
        servers, grouped = servers_of(self.waiting), dict[str, list[Function]]()
        for tool in sorted(self.functions, key=lambda tool: tool.name):
            grouped.setdefault(servers[tool.name], []).append(tool)
        return dict(sorted(grouped.items(), key=lambda group: (not group[0], group[0])))

    @cached_property
    def search(self) -> ToolSearch:
        """The search over these tools."""
        return ToolSearch(self.functions)

    def find(self, arguments: Mapping[str, Any], own: FindTools | None = None) -> tuple[str, ...]:
        """The tools that a call of `find_tool` asks for, the best first: those it names, else what a search finds.

        A search of the user's `own` comes first; where it finds nothing, ours is asked.
        """
        asked = [arguments.get(key) for key in ("name", "query", "names", "tool", "paths")]
        words = [one for given in asked for one in (given if isinstance(given, list) else [given])]
        texts = [text for text in words if isinstance(text, str) and text.strip()]
        named = [name for text in texts for name in self._named(text)]
        if named:
            return tuple(dict.fromkeys(named))
        if own is not None and texts:
            told = own(" ".join(texts), {tool.name: tool.description or "" for tool in self.functions})
            if chosen := tuple(dict.fromkeys(name for name in told if name in self.waiting))[:_LOADED]:
                return chosen
        found = self.search.find(" ".join(texts))
        least = [(_NEAR if at < _FIRST else _NEARER) * found[0][1] for at in range(min(_LOADED, len(found)))]
        return tuple(name for (name, score), enough in zip(found, least, strict=False) if score >= enough)

    def _named(self, text: str) -> list[str]:
        """The tools that a text names: all its words are names, or the ends of names; or whole names among others."""
        found = [self.name_of(word) for word in _LIST.split(text.strip()) if word]
        if all(found):
            return [name for name in found if name]
        return [word for word in _NAME.findall(text) if word in self.waiting and not word.isalpha()]

    def name_of(self, word: str) -> str | None:
        """The name of a tool that is called so, or the only one whose name ends so."""
        if word in self.waiting:
            return word
        ends = [name for name in self.waiting if re.fullmatch(rf".*[_./:-]{re.escape(word)}", name, re.I)]
        same = [name for name in self.waiting if name.lower() == word.lower()]
        return same[0] if same else ends[0] if len(ends) == 1 else None

    def rebuild(self, pieces: Iterable[ToolBody], *more: Message) -> Frame:
        """The frame with these tools, and more system prompt."""
        return replace(self.frame, system=(*self.frame.system, *more), tools=tuple(join_tools(pieces)))

    @cached_property
    def finder(self) -> list[ToolBody]:
        """`find_tool` as this dialect defines it."""
        return list(_pieces(Frame((), write((DEFINITION,), self.dialect)[0], self.dialect), self.dialect))


def _system(lines: Iterable[str]) -> Message:
    return Message("system", (Text("\n".join(lines)),))


def _sentences(grouped: Mapping[str, Sequence[Function]]) -> Iterator[str]:
    for server, tools in grouped.items():
        yield from ("", f"[{server or _OTHERS}]")
        for tool in tools:
            about = first_sentence(tool.description or "")
            yield f"{tool.name}: {about}" if about else tool.name


def _names(grouped: Mapping[str, Sequence[Function]]) -> Iterator[str]:
    for server, tools in grouped.items():
        yield from ("", f"[{server or _OTHERS}]", ", ".join(tool.name for tool in tools))


def _counts(grouped: Mapping[str, Sequence[Function]]) -> Iterator[str]:
    for server, tools in grouped.items():
        yield f"{server or _OTHERS}: {len(tools):,} tools"


def _is_search(body: Any) -> bool:
    kind = body.get("type") if isinstance(body, Mapping) else None
    return isinstance(kind, str) and (kind == NATIVE or kind.startswith("tool_search_tool_"))


def split_tools(frame: Frame, dialect: str) -> list[ToolBody]:
    """The tools of a frame, each by itself."""
    return list(_pieces(frame, dialect)) if dialect in DIALECTS else []


def _pieces(frame: Frame, dialect: str) -> Iterator[ToolBody]:
    for body in frame.tools:
        around = _around(body)
        if around is None:
            tools = functions((body,), dialect)
            yield ToolBody(tools[0] if len(tools) == 1 else None, body)
            continue
        rest = {key: value for key, value in body.items() if key != around}
        if rest:
            yield ToolBody(None, rest)
        for one in body[around]:
            tools = functions(({around: [one]},), dialect)
            yield ToolBody(tools[0] if len(tools) == 1 else None, one, around)


def _around(body: Any) -> str | None:
    """The field in which Gemini has all functions together."""
    keys = ("functionDeclarations", "function_declarations") if isinstance(body, Mapping) else ()
    return next((key for key in keys if isinstance(body.get(key), list)), None)


def join_tools(pieces: Iterable[ToolBody]) -> Iterator[Any]:
    """Definitions as a request has them; what stands together in one object is put there again."""
    together: dict[str, list[Any]] = {}
    for piece in pieces:
        if piece.around is None:
            yield piece.body
        else:
            together.setdefault(piece.around, []).append(piece.body)
    yield from ({around: bodies} for around, bodies in together.items())


def first_sentence(text: str) -> str:
    """The first sentence of a description, in one line, cut where it is long."""
    line = " ".join(text.split())
    found = re.match(r".+?(?:[.!?](?=\s|$)|[。！？])", line)
    return short(found[0] if found else line, _SENTENCE).rstrip(".")


def servers_of(names: Iterable[str]) -> dict[str, str]:
    """The server that each tool is from, as its name says it; nothing where it does not."""
    names = list(names)
    heads = Counter(head for name in names if (head := _head(name)))
    return {name: _server(name, heads) for name in names}


def _server(name: str, heads: Counter[str]) -> str:
    if found := _SERVER.match(name):
        return found[1]
    head = _head(name)
    return head if heads[head] >= 3 and not is_verb(head) else ""


def _head(name: str) -> str:
    """The first word of a name that has several."""
    head, sign, _ = name.replace("-", "_").partition("_")
    return head.lower() if sign else ""


def misfit(tool: Function, arguments: Any) -> str:
    """Why arguments cannot be meant for a tool; nothing where they can."""
    schema = tool.schema if isinstance(tool.schema, Mapping) else {}
    given, known = arguments if isinstance(arguments, Mapping) else {}, schema.get("properties")
    required: Sequence[Any] = schema.get("required") or ()
    missing = [str(name) for name in required if name not in given]
    odd = [name for name in given if isinstance(known, Mapping) and known and name not in known]
    told = (
        f"{what}: {', '.join(names)}" for what, names in (("missing", missing), ("unknown", odd)) if names
    )
    return "; ".join(told)
