"""The lines of a Claude Code session as the tree they form, and the path through it that the API saw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from fanfold.transcripts.conversation import Wire
from fanfold.transcripts.values import inner, listing, mapping, mappings, strings, text

TALK = ("user", "assistant")
NOTED = ("uuid", "parentUuid", "logicalParentUuid", "sessionId", "session_id", "timestamp", "cwd", "version")
NOTED_TOO = ("gitBranch", "subtype", "isCompactSummary", "compactMetadata", "isSidechain", "agentId", "slug")


class ClaudeLine(Struct):
    """One line that has a place in the tree."""

    order: int
    uuid: str
    parent: str | None
    follows: bool
    """Its parent is simply the line before (the stream form, and lines whose parent was cut away)."""
    side: str | None
    """The side chain it belongs to."""
    raw: Wire
    """What else the line says."""
    message: Wire | None = None
    piece_of: str | None = None
    """The line whose uuid this one has too, though it says something else."""

    @property
    def is_summary(self) -> bool:
        return bool(self.raw.get("isCompactSummary"))

    @property
    def is_boundary(self) -> bool:
        return self.raw.get("subtype") == "compact_boundary"

    def blocks(self, kind: str) -> list[Wire]:
        """The content blocks of one type."""
        content = mappings(self.message and self.message.get("content"))
        return [block for block in content if block.get("type") == kind]


class ClaudeSession:
    """All lines of one file."""

    def __init__(self) -> None:
        self.read: list[tuple[Wire, Wire | None]] = []
        """What lines say, and their messages, until it is known which uuids name a line."""
        self.kinds: dict[str, str] = {}
        """The type of the first line that has a uuid."""
        self.hidden: set[str] = set()
        """Uuids that lines of several types have: they were put there in the place of others."""
        self.lines: list[ClaudeLine] = []
        self.known: dict[str, ClaudeLine] = {}
        self.roots: dict[str, str] = {}
        self.titles: list[str] = []
        self.other: Counter[str] = Counter()

    def add(self, raw: Wire) -> None:
        """Take one line in; what has no place in the tree is only counted."""
        kind = text(raw, "type") or "unknown"
        message = mapping(raw.pop("message", None)) if kind in TALK else None
        if message and (raw.get("isApiErrorMessage") or message.get("model") == "<synthetic>"):
            message, kind = None, "error"  # the tool wrote this itself, to tell the user of a failed request
        if kind == "summary":
            self.titles.append(text(raw, "summary"))
        if not message and raw.get("subtype") != "compact_boundary":
            self.other[kind] += 1
        if message or "uuid" in raw:
            self.read.append((_note(raw), message or None))
            uuid = text(raw, "uuid")
            if self.kinds.setdefault(uuid, text(raw, "type")) != text(raw, "type"):
                self.hidden.add(uuid)

    def place(self) -> None:
        """Give every line that was read its place in the tree."""
        for raw, message in self.read:
            uuid = self._naming(text(raw, "uuid"))
            known = self.known.get(uuid or "")
            if known is None:
                self._place(raw, message, uuid)
            elif left := _unsaid(message, known.message):
                self._place(raw, left, None, piece_of=uuid)
            else:
                self.other["duplicate"] += 1
        self.read.clear()

    def _naming(self, uuid: str) -> str | None:
        """The uuid, if it names a line."""
        return uuid if uuid and uuid not in self.hidden else None

    def _place(self, raw: Wire, message: Wire | None, uuid: str | None, piece_of: str | None = None) -> None:
        order = len(self.lines)
        name = uuid or f"line {order}"
        told = text(raw, "parentUuid", "logicalParentUuid")
        parent = self._naming(told)
        is_hidden = bool(told) or (uuid is None and piece_of is None)
        compacted = bool(raw.get("isCompactSummary") or raw.get("subtype") == "compact_boundary")
        follows = "parentUuid" not in raw or (parent is None and (compacted or is_hidden))
        side = self._side(raw, name, parent, follows)
        if piece_of and not follows:
            parent = piece_of
        line = ClaudeLine(
            order=order,
            uuid=name,
            parent=parent,
            follows=follows,
            side=side,
            raw=raw,
            message=message,
            piece_of=piece_of,
        )
        self.lines.append(line)
        self.known[name] = line

    def _side(self, raw: Wire, uuid: str, parent: str | None, follows: bool) -> str | None:
        """The name of the line's side chain: its agent, the call it serves, or its first line."""
        if not raw.get("isSidechain"):
            return text(raw, "parent_tool_use_id") or None
        before = next(reversed(self.roots.values()), uuid) if follows else uuid
        self.roots[uuid] = self.roots.get(parent or "", before)
        return text(raw, "agentId") or self.roots[uuid]

    def chains(self) -> dict[str | None, list[ClaudeLine]]:
        """Lines by side chain, the main one first."""
        found: dict[str | None, list[ClaudeLine]] = {None: []}
        for line in self.lines:
            found.setdefault(line.side, []).append(line)
        return found


def _note(raw: Wire) -> Wire:
    """The fields that matter; `toolUseResult` often repeats whole files."""
    agent = inner(raw, "toolUseResult").get("agentId")
    kept = {key: raw[key] for key in (*NOTED, *NOTED_TOO, "parent_tool_use_id") if key in raw}
    return kept | ({"toolUseResult": {"agentId": agent}} if agent else {})


def _unsaid(message: Wire | None, known: Wire | None) -> Wire | None:
    """What a message says that the other line of its uuid does not; None if that is nothing."""
    content, before = mapping(message).get("content"), mapping(known).get("content")
    if message is None or not content or content == before:
        return None
    if not isinstance(content, list):
        return message
    left = [block for block in content if block not in listing(before)]
    return {**message, "content": left} if left else None


def path_of(lines: list[ClaudeLine], known: dict[str, ClaudeLine]) -> list[ClaudeLine]:
    """The lines that lead to the last message, with everything that belongs to them, in file order."""
    place = {line.uuid: number for number, line in enumerate(lines)}
    last = next((line for line in reversed(lines) if line.message), None)
    found: dict[str, ClaudeLine] = {}
    while last is not None and last.uuid not in found:
        found[last.uuid] = last
        last = _before(last, lines, place, known)
    for line in _belonging(lines, found):
        found[line.uuid] = line
    return sorted(found.values(), key=lambda line: line.order)


def _before(
    line: ClaudeLine, lines: list[ClaudeLine], place: dict[str, int], known: dict[str, ClaudeLine]
) -> ClaudeLine | None:
    parent = known.get(line.parent or "")
    if parent is not None and parent.side == line.side:
        return parent
    is_root = line.side is not None if parent else line.parent is None and not line.follows
    here = place[line.uuid]
    return None if is_root or here == 0 else lines[here - 1]


def _belonging(lines: list[ClaudeLine], path: dict[str, ClaudeLine]) -> Iterator[ClaudeLine]:
    """Lines beside the path that the API saw: parallel blocks, results, compactions that kept a tail."""
    answers = {text(line.message, "id") for line in path.values() if line.message} - {""}
    chunks = [line for line in lines if line.message and text(line.message, "id") in answers]
    chunks += [line for line in lines if line.piece_of in path]
    calls = {text(block, "id") for line in chunks for block in line.blocks("tool_use")} - {""}
    calls -= {key for line in path.values() for key in _answers_of(line)}
    yield from chunks
    for line in lines:
        keys = _answers_of(line)
        if line.uuid not in path and keys & calls:
            calls -= keys
            yield line
    kept = False
    for line in lines:  # compactions off the path: what came later hangs on a message that they kept
        if line.is_boundary:
            kept = line.uuid not in path and any(uuid in path for uuid in kept_uuids(line))
        if kept and (line.is_boundary or line.is_summary):
            yield line


def _answers_of(line: ClaudeLine) -> set[str]:
    return {text(block, "tool_use_id") for block in line.blocks("tool_result")} - {""}


def kept_uuids(boundary: ClaudeLine) -> list[str]:
    """The uuids of the messages that a compaction kept."""
    meta = mapping(boundary.raw.get("compactMetadata"))
    segment, messages = mapping(meta.get("preservedSegment")), mapping(meta.get("preservedMessages"))
    return strings([segment.get("headUuid"), segment.get("tailUuid"), *listing(messages.get("uuids"))])


def calls_of(lines: list[ClaudeLine]) -> dict[str, str]:
    """Which call started a side chain: by agent id, by prompt, by the uuid of the line with the call."""
    found: dict[str, str] = {}
    for line in lines:
        for block in line.blocks("tool_use"):
            found.setdefault(line.uuid, text(block, "id"))
            found[text(inner(block, "input"), "prompt") or line.uuid] = text(block, "id")
        agent = text(inner(line.raw, "toolUseResult"), "agentId")
        for block in line.blocks("tool_result") if agent else ():
            found[agent] = text(block, "tool_use_id")
    return found
