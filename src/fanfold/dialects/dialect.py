"""What a dialect is: the one door between fanfold's messages and a provider's wire format."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from fanfold.core.errors import BadMessage
from fanfold.core.ids import digest
from fanfold.core.message import Call, Message, Opaque, Part, Role, Thinking
from fanfold.core.record import Frame, TokenUsage
from fanfold.core.view import Row, Violation, Weight
from fanfold.dialects.rules import Params, Patch, Rows, breaches
from fanfold.dialects.tools import ToolRule, translate
from fanfold.text.plain import copy_plain, plain_text, text
from fanfold.tokens.models import Model


class SplitRequest(msgspec.Struct, frozen=True):
    """A request taken apart, nothing read yet."""

    system: tuple[Any, ...]
    messages: Sequence[Any]
    tools: tuple[Any, ...]
    params: dict[str, Any]
    """Everything else, an empty `tools` or `system` included, so that nothing is lost."""


class Reply(msgspec.Struct, frozen=True):
    """What the model answered."""

    messages: tuple[Message, ...]
    """One, where a reply is one wire message; one per item in the Responses dialect."""
    usage: TokenUsage | None = None
    stop: str | None = None
    """Why it stopped, in the provider's word; `cut` for a stream that broke off."""
    id: str | None = None
    """The provider's name for this reply."""
    recalled: tuple[str, ...] = ()
    """The calls that the session answered itself, because they only look something up again."""
    missed: str = ""
    """Why the provider says that its prompt cache missed, in its word, where it was asked for that."""

    @property
    def text(self) -> str:
        """Its words."""
        return "\n".join(message.text for message in self.messages if message.text)

    @property
    def calls(self) -> tuple[Call, ...]:
        """The tools it wants run by the caller."""
        return tuple(
            call for message in self.messages for call in message.calls if call.id not in self.recalled
        )

    @property
    def done(self) -> bool:
        """Whether it asked for nothing more; a reply that was cut or paused is not done.

        Anthropic pauses for its own tools (`pause_turn`) and after its own compaction (`compaction`): send again.
        """
        return not self.calls and not self.recalled and self.stop not in ("cut", "pause_turn", "compaction")


class Allowed(msgspec.Struct, frozen=True):
    """Rows and parameters as one request may carry them."""

    rows: Rows
    params: Params
    left_out: tuple[str, ...] = ()
    """What these parameters forbid and so is not sent: parts (`entry#part`), or a parameter with the reason."""
    put_in: Mapping[str, int] = {}
    """Words that the rows do not have and the provider wants, and how often they are sent."""


class Assembly(Protocol):
    """A stream of events on its way to a reply."""

    def feed(self, event: Any) -> None:
        """Take in one event, as a dict or an SDK object."""

    @property
    def complete(self) -> bool:
        """Whether the provider said that this was the end."""

    def reply(self) -> Reply:
        """What came so far. A stream that broke off gives a reply whose `stop` is `cut`.

        Incomplete calls and unsigned thinking are in it as `Opaque` parts of the dialect `cut`: recorded, never sent.
        """


Context = str | None
"""Words that stand behind the rows in one request only, if any."""
Memory = tuple[Sequence[Message], Mapping[str, int]]
"""The conversation so far, and after how many of its messages each reply had ended, by the reply's id."""


class Marks(msgspec.Struct, frozen=True):
    """What a dialect needs to make the provider's prompt cache hit."""

    key: str
    """The same for every request of a session."""
    previous: str | None = None
    """The row at which the last request ended."""


class Dialect(Protocol):
    """Messages ⇄ one provider's wire format, lossless and pure."""

    @property
    def name(self) -> str:
        """The name of the wire format."""

    @property
    def field(self) -> str:
        """Under what name a request has its messages."""

    def split(self, request: Any) -> SplitRequest:
        """Take a request (or a bare list of messages) apart."""

    def whole(self, request: Any, memory: Callable[[], Memory]) -> Any:
        """The request with everything in it that it leaves to the server's memory; most leave nothing."""

    def frame(self, system: Iterable[Any], tools: Iterable[Any]) -> Frame:
        """System prompt and tools as a frame; a system prompt may be a plain text."""

    def message(self, body: Any, where: str = "message") -> Message:
        """Read one wire message."""

    def wire(self, message: Message, was: Message | None = None) -> tuple[Any, ...]:
        """One message in wire form; `was` is the message before parts of it were elided."""

    def lost(self, message: Message) -> tuple[str, ...]:
        """The parts that cannot carry over into this dialect, by number; or what of a part cannot."""

    def limit(self, tokens: int | None, default: int) -> dict[str, Any]:
        """The parameter that bounds the reply; `default` where the provider demands one."""

    def allow(self, rows: Rows, params: Params) -> Allowed:
        """What this request's parameters permit of these rows."""

    def encode(
        self, frame: Frame, rows: Rows, params: Params, *, context: Context = None, marks: Marks | None = None
    ) -> dict[str, Any]:
        """The keyword arguments for the provider's SDK."""

    def reply(self, response: Any) -> Reply:
        """Read a whole response."""

    def assembly(self) -> Assembly:
        """A place to collect a stream of events."""

    def faults(self, message: Message) -> tuple[Violation, ...]:
        """The provider's rules that a message breaks by itself."""

    def check(self, rows: Rows, params: Params, settled: int = 0) -> list[Violation]:
        """The provider's rules that a request of these rows breaks.

        So many of the first rows were found legal before, as a request of their own; a dialect may make use of it.
        """

    def check_frame(self, frame: Frame, params: Mapping[str, Any]) -> list[Violation]:
        """The provider's rules that the tools of a request break; only its caller can repair them."""

    def repair(self, rows: Rows, params: Params) -> list[Patch]:
        """The smallest repairs that make these rows legal: what each covers, and what it shows of that."""


class ProviderDialect(Dialect):
    """What the built-in dialects have in common. Each says in its own folder how it reads, writes and judges."""

    field = ""
    tool_like = ""
    """What a tool definition has in it, for whoever gave something else."""
    tool_rules: tuple[ToolRule, ...] = ()

    def __init__(self, model: Model | None = None) -> None:
        self._model = model

    @abstractmethod
    def read_system(self, body: Any, where: str) -> Message:
        """Read one piece of the system prompt."""

    @abstractmethod
    def patch(self, was: Message, message: Message) -> Any:
        """The wire form as received, with exactly those parts changed that were elided."""

    @abstractmethod
    def write(self, message: Message) -> Iterable[Any]:
        """The wire form of a message that did not come over this wire."""

    def whole(self, request: Any, memory: Callable[[], Memory]) -> Any:
        """Nothing is ever left to the server's memory."""
        return request

    def frame(self, system: Iterable[Any], tools: Iterable[Any]) -> Frame:
        """System prompt and tools as a frame."""
        told = tuple(self.read_system(plain_text(body), f"system[{i}]") for i, body in enumerate(system))
        bodies = tuple(plain(tool, f"tools[{i}]") for i, tool in enumerate(tools))
        odd = next((i for i, body in enumerate(bodies) if not isinstance(body, dict)), None)
        if odd is not None:
            raise BadMessage(f"tools[{odd}] is no tool definition: give a dict with {self.tool_like}.")
        return Frame(told, bodies, self.name)

    def tools(self, frame: Frame) -> dict[str, Any]:
        """The frame's tools as the parameter of a request; nothing where there are none."""
        return {"tools": list(translate(frame, self.name)[0].tools)} if frame.tools else {}

    def wire(self, message: Message, was: Message | None = None) -> tuple[Any, ...]:
        """One message in wire form: as it came over this wire, patched where it was elided, or written anew."""
        if was is not None and was.wire is not None and was.wire.dialect == self.name:
            return (self.patch(was, message),)
        if message.wire is not None and message.wire.dialect == self.name:
            return (message.wire.body,)
        return tuple(self.write(message))

    def lost(self, message: Message) -> tuple[str, ...]:
        """Thinking and signatures that came over another wire: no provider takes another one's."""
        if message.wire is not None and message.wire.dialect == self.name:
            return ()
        lost: list[str] = []
        signed = _signed_parts(message.wire.body) if message.wire and message.wire.dialect == "gemini" else ()
        for i, part in enumerate(message.parts):
            if isinstance(part, Thinking):
                lost.append(str(i))
            elif i in signed:
                lost.append(f"{i}: thought signature")
        return tuple(lost)

    def allow(self, rows: Rows, params: Params) -> Allowed:
        """Nothing depends on the parameters."""
        return Allowed(rows, params)

    def check_frame(self, frame: Frame, params: Params) -> list[Violation]:
        """The rules that these tools break."""
        if not frame.tools and params.get("tool_choice") is None:
            return []  # no rule on tools asks for any
        return breaches(self.tool_rules, frame, self.name, params)


def _signed_parts(body: Any) -> set[int]:
    """The parts that Gemini signed: words and calls, which go elsewhere without."""
    if not isinstance(body, dict):
        return set()
    parts = body["parts"] if isinstance(body.get("parts"), list) else [body]
    signatures = {"thoughtSignature", "thought_signature"}
    return {i for i, part in enumerate(parts) if isinstance(part, dict) and signatures & part.keys()}


CUT = "cut"
"""The dialect of parts that a broken stream left incomplete: recorded, never sent."""


def cut_call(body: Any) -> Opaque:
    """A call that a broken stream left incomplete."""
    return Opaque(CUT, {"call": body})


def cut_thinking(text: str) -> Opaque:
    """Thinking that a broken stream left unsigned."""
    return Opaque(CUT, {"thinking": text})


def is_sent(part: Part) -> bool:
    """Whether a part is ever sent: not what a broken stream left incomplete, and not another wire's thinking."""
    return not isinstance(part, Thinking) and not (isinstance(part, Opaque) and part.dialect == CUT)


def leaves_out(before: Part, after: Part) -> bool:
    """Whether an edit left a part out, so that nothing is sent in its place: only thinking can go so."""
    return after == Thinking() and before != after


GEMINI_LIMIT = "gemini.max_output_tokens"
"""Gemini's limit, until it is known whether the request is a REST body or an SDK's keyword arguments."""
LIMITS = frozenset(
    {"max_completion_tokens", "max_tokens", "max_output_tokens", "maxOutputTokens", GEMINI_LIMIT}
)
"""The parameters that bound a reply."""
_NESTED = frozenset({"generationConfig", "generation_config", "config"})
_PROMPTED = frozenset({"functions", "response_format", "text", "output_format", "output_config"}) | frozenset(
    {"response_schema", "responseSchema", "response_json_schema", "responseJsonSchema"}
)


def reply_limit(params: Any) -> int | None:
    """The tokens that some parameters ask for as the most of a reply; None if they do not say.

    Of several limits the largest; what is no whole number is returned as it is, for the budget to refuse.
    """
    most = None
    for limit in _params_named(params, LIMITS).values():
        if not isinstance(limit, int):
            return limit  # type: ignore[no-any-return]
        most = limit if most is None else max(most, limit)
    return most


def told_miss(reason: Any, tokens: Any) -> str:
    """What a provider says about a miss of its cache: its reason, and how many tokens it concerns."""
    if not isinstance(reason, str):
        return ""
    return f"{reason}, {tokens:,} tokens" if isinstance(tokens, int) else reason


def prompt_params(params: Any) -> dict[str, Any]:
    """The parameters that a model reads like its tools: schemas of replies, functions of the old kind."""
    return _params_named(params, _PROMPTED)


def _params_named(params: Any, names: frozenset[str]) -> dict[str, Any]:
    """The parameters of these names, beside the others or among the settings of Gemini."""
    if not isinstance(params, Mapping):
        return {}
    found: dict[str, Any] = {}
    for place in (params, *map(params.get, _NESTED.intersection(params))):
        if isinstance(place, Mapping):
            found.update((name, place[name]) for name in names.intersection(place))
    return {name: value for name, value in found.items() if value is not None}


def decode(dialect: Dialect, request: Any) -> tuple[Frame, tuple[Message, ...], dict[str, Any]]:
    """A whole request read: its frame, its messages, its other parameters."""
    split = dialect.split(request)
    frame = dialect.frame(split.system, split.tools)
    messages = tuple(dialect.message(body, f"messages[{i}]") for i, body in enumerate(split.messages))
    return frame, messages, dict(split.params)


def encode(dialect: Dialect, frame: Frame, messages: Iterable[Message], params: Params) -> dict[str, Any]:
    """A whole request written. What was read by `decode` comes back as it was."""
    rows = [bare_row(dialect, message, i, judged=False) for i, message in enumerate(messages)]
    return dialect.encode(frame, rows, params)


def as_request(dialect: Dialect, rest: Params, bodies: Iterable[Any]) -> dict[str, Any]:
    """Wire messages as a request, with what else stands in it."""
    return {**rest, dialect.field: list(bodies)}


def bare_row(dialect: Dialect, message: Message, number: int = 0, *, judged: bool = True) -> Row:
    """A row for a message outside of any session, with the faults in it if it is to be judged."""
    faults, own = dialect.faults(message) if judged else (), message.came_over(dialect.name)
    weight = Weight(tokens=0, size=0, wire=dialect.wire(message), faults=faults, own=own)
    id = f"m{number}"
    return Row(id=id, kind="entry", messages=(message,), weight=weight, covers=(id,))


def plain(value: Any, where: str = "message") -> Any:
    """A deep copy in plain dicts, lists and strings; official SDK objects are taken too."""
    if type(value) is not dict and callable(getattr(value, "model_dump", None)):
        value = _dump(value)
    try:
        return copy_plain(value, _dump)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadMessage(
            f"{where} holds something that is no JSON: {error}. Give plain dicts or SDK objects."
        ) from error


def _dump(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", by_alias=True, exclude_unset=True) if callable(dump) else text(value)


def messages_of(body: Mapping[str, Any]) -> Sequence[Any]:
    """The messages of a request that has them under this name."""
    messages = body.get("messages")
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise BadMessage("A transcript is a list of messages, or a request with `messages` in it.")
    return messages


SPEAKERS: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
"""The roles that messages have in most dialects."""


def read_role(given: Any, roles: Mapping[str, Role], where: str) -> tuple[dict[str, Any], Role]:
    """A message with role and content in plain dicts, and whose it is."""
    body = plain(given, where)
    if not isinstance(body, dict):
        raise BadMessage(
            f"{where} is {type(body).__name__}, not a message: give a dict with role and content."
        )
    role = roles.get(str(body.get("role")))
    if role is None:
        raise BadMessage(f"{where} has the role {body.get('role')!r}; known roles are {', '.join(roles)}.")
    return body, role


def read_arguments(raw: str) -> Any:
    """What the arguments of a call say, NaN and Infinity as words; a text that is no JSON stays a text."""
    try:
        return json.loads(raw or "{}", parse_constant=str)
    except (ValueError, RecursionError):
        return raw


def id_digest(id: str) -> str:
    """A short name that is the same for the same id, for ids that a provider does not take."""
    return digest(id.encode("utf-8", "surrogatepass"))
