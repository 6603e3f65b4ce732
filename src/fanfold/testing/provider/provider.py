"""The scripted provider: a real HTTP server that plays four APIs by their rules."""

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice, repeat
from types import TracebackType
from typing import Any, Self

from . import rules
from .apis.order import Order, ProviderApi, total
from .cache import PromptCache
from .paths import Door, find
from .rejection import JudgeTerms, Limits, Rejection
from .request import Received
from .script import Close, Cut, Failure, Gibberish, Refuse, Slow, Turn
from .seal import Name, Seal
from .server import EVENTS, Scripted, Server
from .tokens import Count, PricedBlock, counting
from .wire import Wire, canonical

Step = Turn | Failure
Script = Turn | Iterable[Step] | Callable[[Received], Step]

DONE = Turn("Done.")
REFUSALS = {429: "Rate limit reached. Please try again later.", 529: "Overloaded"}
REFUSALS |= {500: "The server had an error while processing your request.", 503: "The model is overloaded."}


class Provider:
    """Plays OpenAI, Anthropic and Gemini on loopback, as the script says.

    A script is one turn for every request, a list of turns and failures for one request each, or a
    function of the request. Requests that break a rule are refused and use up nothing of the script.

    `window` is in tokens as `count` counts them in a text, by default with the vocabulary of the model that
    is asked: its bills are close to the real ones. `cache_minimum` is the shortest prompt that is
    remembered, by `clock`. With `foreign_signatures`, signed thinking from elsewhere passes unverified.
    With `key`, requests must bring it. With `port` 0, it listens on any that is free.
    """

    def __init__(
        self,
        script: Script = DONE,
        *,
        window: int = 200_000,
        count: Count | None = None,
        limits: Limits | None = None,
        cache_minimum: int = 1_024,
        foreign_signatures: bool = False,
        key: str | None = None,
        port: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.window = window
        self.requests: list[Received] = []
        self._script = _reader(script)
        self._given, self._limits, self._minimum = count, limits or Limits(), cache_minimum
        self._foreign, self._key, self._seal, self._port = foreign_signatures, key, Seal(), port
        self._cache, self._seen = PromptCache(clock), Counter[str]()
        self._lock = threading.Lock()
        self._server: Server | None = None

    def __enter__(self) -> Self:
        self._server = Server(self._respond, self._port)
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.stop()
        self._server = None

    @property
    def url(self) -> str:
        """Where it listens."""
        if self._server is None:
            raise RuntimeError("The provider is not running: use it as `with Provider(...) as provider:`.")
        return self._server.url

    @property
    def openai_base_url(self) -> str:
        """What `openai.OpenAI(base_url=…)` takes."""
        return self.url + "/v1"

    @property
    def anthropic_base_url(self) -> str:
        """What `anthropic.Anthropic(base_url=…)` takes."""
        return self.url

    @property
    def gemini_base_url(self) -> str:
        """What `genai.Client(http_options={"base_url": …})` takes."""
        return self.url

    @property
    def rejected(self) -> list[Received]:
        """The requests that broke a rule."""
        return [request for request in self.requests if request.verdict == "rejected"]

    def check(self, api: str, body: Wire, *, model: str | None = None) -> Rejection | None:
        """What the rules say of a body, without a request."""
        return rules.check(api, body, self._terms(model or str(body.get("model") or "")))

    def _terms(self, model: str) -> JudgeTerms:
        return JudgeTerms(model, self._limits, self._seal, self._foreign)

    def _count(self, model: str) -> Count:
        return self._given or counting(model)

    def _respond(self, method: str, target: str, headers: Mapping[str, str], raw: bytes) -> Scripted | None:
        """One request at a time, so that ids, bills and records do not depend on the threads."""
        path, _, query = target.partition("?")
        door = find(path)
        request = Received(api=door.name, method=method, path=path, query=query, headers=headers, raw=raw)
        with self._lock:
            try:
                return self._admit(door, request)
            except Exception as problem:
                return self._stumble(door.api, request, problem)

    def _admit(self, door: Door, request: Received) -> Scripted | None:
        refused = self._at_the_door(door, request)
        body = refused or _read(door.api, request.raw)
        if isinstance(body, Rejection):
            return self._refuse(door.api, request, body)
        model, stream = door.api.model(request.path, body), door.api.streams(request.path, body)
        return self._judge(door, replace(request, body=body, model=model, stream=stream))

    def _at_the_door(self, door: Door, request: Received) -> Rejection | None:
        if not door.known or request.method != "POST":
            return Rejection(f"Unknown request URL: {request.method} {request.path}.", status=404)
        if self._key is not None and self._key not in _keys(request):
            return Rejection("Incorrect API key provided.", status=401)
        return door.api.refuse_large(len(request.raw), self._limits)

    def _judge(self, door: Door, request: Received) -> Scripted | None:
        body = {"max_tokens": self.window, **request.body} if door.counts else request.body
        refused = rules.check(door.name, body, self._terms(request.model))
        if refused is not None:
            return self._refuse(door.api, request, refused)
        prompt = door.api.blocks(request.body, self._count(request.model))
        request = replace(request, tokens=total(prompt))
        if door.counts:
            self.requests.append(replace(request, status=200, verdict="counted"))
            return _whole(door.api.word_count(request.tokens), self._id(request))
        refused = door.api.refuse_long(prompt, request.body, self.window)
        if refused is not None:
            return self._refuse(door.api, request, refused)
        return self._play(door.api, request, prompt)

    def _play(self, api: ProviderApi, request: Received, prompt: list[PricedBlock]) -> Scripted | None:
        request = replace(request, number=sum(each.verdict == "accepted" for each in self.requests))
        match self._script(request):
            case Turn() as turn:
                return self._say(api, request, prompt, turn)
            case Slow(turn, delay):
                answer = self._say(api, request, prompt, turn)
                return replace(answer, delay=delay)
            case Cut() as cut:
                return self._cut(api, request, prompt, cut)
            case Refuse() as refusal:
                return self._fail(api, request, refusal)
            case Gibberish():
                return self._garble(request)
            case Close():
                self.requests.append(replace(request, verdict="failed", reason="closed"))
                return None
        raise TypeError("A script consists of turns and failures.")

    def _say(self, api: ProviderApi, request: Received, prompt: list[PricedBlock], turn: Turn) -> Scripted:
        bill = api.charge(self._cache, prompt, request, self._minimum)
        name = Name(self._digest(request))
        reply = api.reply(
            Order(
                request=request,
                turn=turn,
                name=name,
                bill=bill,
                seal=self._seal,
                count=self._count(request.model),
            )
        )
        billed = replace(request, status=200, verdict="accepted", usage=api.usage(reply), cached=bill.read)
        self.requests.append(billed)
        if not request.stream:
            return _whole(reply, self._id(request))
        return _stream(api.events(reply, request), request, self._id(request))

    def _cut(self, api: ProviderApi, request: Received, prompt: list[PricedBlock], cut: Cut) -> Scripted:
        answer = self._say(api, request, prompt, cut.turn)
        self.requests[-1] = replace(self.requests[-1], verdict="failed", reason="cut")
        if not request.stream:
            body = b"".join(answer.chunks)
            return replace(answer, chunks=[body[: len(body) // 2]], broken=True)
        kept = list(islice(answer.chunks, cut.after))
        if cut.said:
            return replace(answer, chunks=[*kept, api.error_event(_refusal(529), self._id(request))])
        return replace(answer, chunks=kept, broken=True)

    def _fail(self, api: ProviderApi, request: Received, refusal: Refuse) -> Scripted:
        rejection = _refusal(refusal.status)
        if request.api != "anthropic" and refusal.status == 529:
            rejection = replace(rejection, status=503)
        answer = self._refuse(api, request, rejection)
        self.requests[-1] = replace(self.requests[-1], verdict="failed")
        if refusal.retry_after is None:
            return answer
        return replace(answer, headers={**answer.headers, "retry-after": f"{refusal.retry_after:g}"})

    def _garble(self, request: Received) -> Scripted:
        self.requests.append(replace(request, status=200, verdict="failed", reason="garbage"))
        if request.stream:
            return Scripted(200, [b"data: <!doctype html>\n\n"], EVENTS, chunked=True)
        page = b"<!doctype html><title>502 Bad Gateway</title>"
        return Scripted(200, [page], headers={"content-length": str(len(page))})

    def _refuse(self, api: ProviderApi, request: Received, rejection: Rejection) -> Scripted:
        told = {"status": rejection.status, "reason": rejection.message, "rule": rejection.rule}
        self.requests.append(replace(request, verdict="rejected", **told))  # type: ignore[arg-type]
        answer = _whole(api.error(rejection, self._id(request)), self._id(request))
        return replace(answer, status=rejection.status)

    def _stumble(self, api: ProviderApi, request: Received, problem: Exception) -> Scripted:
        """A script that raises is told to the client as a 400, which no SDK tries again."""
        answer = self._refuse(api, request, Rejection(f"The script raised {problem!r}."))
        self.requests[-1] = replace(self.requests[-1], verdict="failed")
        return answer

    def _digest(self, request: Received) -> str:
        """A digest of the request and how often it came: the same run gives the same ids."""
        text = canonical([request.api, request.model, request.body])
        plain = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        self._seen[plain] += 1
        return hashlib.sha256(f"{plain} {self._seen[plain]}".encode()).hexdigest()

    def _id(self, request: Received) -> str:
        return f"req_{len(self.requests):08d}"


def _reader(script: Script) -> Callable[[Received], Step]:
    """The script as a function of the request."""
    if isinstance(script, Turn):
        return lambda request: script
    if callable(script):
        return script
    steps: Iterator[Step | None] = chain(iter(script), repeat(None))
    return lambda request: next(steps) or Refuse(410)


def _refusal(status: int) -> Rejection:
    if status == 410:
        return Rejection("The script is over: every turn of it was played.", status=400)
    return Rejection(REFUSALS.get(status, f"Error {status}"), status=status)


def _read(api: ProviderApi, raw: bytes) -> Any:
    """The body, or why it cannot be read."""
    try:
        body = json.loads(raw)
    except ValueError as problem:
        return api.unreadable(str(problem))
    return body if isinstance(body, dict) else api.unreadable("expected an object")


def _keys(request: Received) -> list[str]:
    headers = request.headers
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    asked = [pair.removeprefix("key=") for pair in request.query.split("&") if pair.startswith("key=")]
    return [bearer, headers.get("x-api-key", ""), headers.get("x-goog-api-key", ""), *asked]


def _whole(body: Wire, name: str) -> Scripted:
    data = canonical(body).encode("utf-8", "replace")
    headers = {"content-length": str(len(data)), "request-id": name, "x-request-id": name}
    return Scripted(200, [data], headers=headers)


def _stream(events: Iterator[bytes], request: Received, name: str) -> Scripted:
    kind = EVENTS if request.api != "gemini" or "alt=sse" in request.query else "application/json"
    return Scripted(200, list(events), kind, {"request-id": name, "x-request-id": name}, chunked=True)
