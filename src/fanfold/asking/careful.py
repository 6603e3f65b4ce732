"""Asking with care: a time limit, a bounded number of tries, and a breaker that spares a model that is down.

Functions are asked in the same way, with one try only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import msgspec

from fanfold.asking.aside import start_aside
from fanfold.asking.model import AskableModel, Completion, completion
from fanfold.asking.question import SYSTEM, as_text
from fanfold.core.errors import AskFailed, BadSetting
from fanfold.core.message import user
from fanfold.core.plan import Answer, Ask, name_of
from fanfold.core.record import TokenUsage
from fanfold.stores.locks import ThreadLock
from fanfold.tokens import models
from fanfold.tokens.usage import cost

if TYPE_CHECKING:
    from concurrent.futures import Future

_PASSING = frozenset((408, 409, 425, 429))
"""Status codes of failures that may be temporary. Errors of the server (5xx) may be, too."""


class Breaker:
    """A circuit breaker: it opens after some failures in a row, and after a rest lets one question through."""

    def __init__(self, failures: int = 3, rest: float = 60.0, clock: Callable[[], float] = time.monotonic):
        self.most = failures
        self.rest = rest
        self._clock = clock
        self._lock = ThreadLock()
        self._failed = 0
        self._until = 0.0

    def admits(self) -> bool:
        """Whether a question may be asked now. After the rest, only the first one may."""
        with self._lock:
            now = self._clock()
            if self._failed < self.most:
                return True
            if now < self._until:
                return False
            self._until = now + self.rest
            return True

    def note(self, *, failed: bool) -> None:
        """Record how a question ended."""
        with self._lock:
            self._failed = self._failed + 1 if failed else 0
            self._until = self._clock() + self.rest


class Pause(msgspec.Struct, frozen=True):
    """How long to wait before the next try."""

    seconds: float


Flow = Generator[Pause | None, Any, Answer]
"""Yields a pause, or None for a try; what the try returned is sent in."""
Got = Completion | Answer | Exception
"""What a try returned."""


class Careful:
    """A model or a function, asked with care. `open(summarizer=…)` wraps it in one; build one for other limits.

    Each try may take `timeout` seconds. If the failure may be temporary, up to `retries` more tries follow, each after
    a longer pause. Cancelling the session's request cancels the question. Models and functions that are not awaited run
    in their own thread.
    """

    def __init__(
        self,
        model: AskableModel | Callable[[Ask], Any],
        *,
        timeout: float = 120.0,
        retries: int = 2,
        pause: float = 0.5,
        breaker: Breaker | None = None,
        max_tokens: int | None = None,
    ) -> None:
        if timeout <= 0 or retries < 0 or pause < 0:
            raise BadSetting("A time limit is above zero; tries and pauses are zero or more.")
        self.model = model
        self.timeout = timeout
        self.retries = retries
        self.pause = pause
        self.breaker = breaker or Breaker()
        self.max_tokens = max_tokens
        """The longest answer, where the question does not say."""

    def __call__(self, question: Ask) -> Answer:
        """Ask, and wait for the answer."""
        flow: Flow = self._flow(self._name(question))
        got: Got | None = None
        while True:
            try:
                step = flow.send(got)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if step is not None:
                time.sleep(step.seconds)
            got = None if step else self._try(question)

    async def later(self, question: Ask) -> Answer:
        """Ask, and await the answer."""
        import asyncio

        flow: Flow = self._flow(self._name(question))
        got: Got | None = None
        while True:
            try:
                step = flow.send(got)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if step is not None:
                await asyncio.sleep(step.seconds)
            got = None if step else await self._try_later(question)

    def _flow(self, name: str) -> Flow:
        """Tries and pauses until there is an answer, or trying again cannot help: the same for both ways of asking."""
        if not self.breaker.admits():
            return Answer(error=f"{name} failed {self.breaker.most} times in a row and is not asked for now")
        got = yield None
        for number in range(self.retries):
            if not isinstance(got, Exception) or not may_pass(got):
                break
            yield Pause(self.pause * 2**number)
            got = yield None
        self.breaker.note(failed=isinstance(got, Exception))
        return _answer(got, name)

    def _name(self, question: Ask) -> str:
        asked = self._model_for(question)
        return asked.name if isinstance(asked, AskableModel) else name_of(asked)

    def _arguments(self, question: Ask) -> tuple[Any, ...]:
        return (user(as_text(question)),), SYSTEM, question.max_tokens or self.max_tokens

    def _model_for(self, question: Ask) -> AskableModel | Callable[[Ask], Any]:
        """The model that the question names, if this one can be called by another name."""
        renamed = getattr(self.model, "renamed", None)
        return renamed(question.model) if question.model and renamed else self.model

    def _try(self, question: Ask) -> Got:
        """One try, in a thread of its own, so that a model that hangs blocks nobody."""
        try:
            return _outcome(self._start(question).result(self.timeout))
        except TimeoutError:
            return self._timed_out()

    async def _try_later(self, question: Ask) -> Got:
        import asyncio

        try:
            # Unlike `wait_for`, this makes no task: an answer at hand is not waited for.
            async with asyncio.timeout(self.timeout):
                return await self._await(question)
        except TimeoutError:
            return self._timed_out()

    async def _await(self, question: Ask) -> Got:
        """What an awaited try returns; an error of the model is returned too."""
        import asyncio

        asked = self._model_for(question)
        later = getattr(asked, "acomplete", None)
        try:
            if later is not None:
                return _outcome(await later(*self._arguments(question)))
            if not isinstance(asked, AskableModel) and is_awaited(asked):
                return _outcome(await asked(question))
            got = await asyncio.wrap_future(self._start(question))
            return _outcome(await got if hasattr(got, "__await__") else got)
        except Exception as error:
            return error

    def _start(self, question: Ask) -> Future[Any]:
        """Start a try in a thread of its own; an error is returned as what it got."""
        return start_aside(lambda: self._call(question))

    def _call(self, question: Ask) -> Any:
        asked = self._model_for(question)
        try:
            if isinstance(asked, AskableModel):
                return asked.complete(*self._arguments(question))
            return asked(question)
        except Exception as error:
            return error

    def _timed_out(self) -> TimeoutError:
        return TimeoutError(f"no answer within {self.timeout:g} s")


def _outcome(got: Any) -> Got:
    """What a try returned, as a completion; a function may return an answer itself."""
    if isinstance(got, Answer | Exception):
        return got
    try:
        return completion(got)
    except AskFailed as error:
        return error


def is_awaited(function: object) -> bool:
    """Whether a function is a coroutine function, or an object that is called as one."""
    from inspect import iscoroutinefunction  # late: it takes its time

    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _answer(got: Got, name: str) -> Answer:
    """The answer of the model of this name."""
    if isinstance(got, Exception):
        return Answer(error=f"{name}: {type(got).__name__}: {got}")
    if isinstance(got, Answer):
        return got
    return Answer("" if got.fault else got.text, got.fault, got.usage, price(name, got.usage))


def may_pass(error: Exception) -> bool:
    """Whether a failure may be temporary: the network, the server or a rate limit, but not a bad question."""
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if isinstance(status, int):
        return status in _PASSING or status >= 500
    named = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, OSError | TimeoutError) or bool(
        named & {"APIConnectionError", "TransportError", "TimeoutException", "ConnectError", "NetworkError"}
    )


def price(name: str, usage: TokenUsage | None) -> float:
    """What this usage costs in dollars; zero where no prices are known."""
    known = models.lookup(name)
    return cost(usage, known) if usage is not None and known is not None and known.prices is not None else 0.0


def asker(ask: Any) -> Any:
    """What `open(summarizer=…)` was given, asked with care. A function is called once: it may try again itself."""
    if ask is None or isinstance(ask, Careful):
        return ask
    return Careful(ask) if isinstance(ask, AskableModel) else Careful(ask, retries=0)


def async_asker(ask: Any) -> Any:
    """The same for `aopen`."""
    careful = asker(ask)
    return careful.later if careful is not None else None


def window_of(ask: object) -> int | None:
    """The window of the model that is asked, where that is known."""
    model = ask.model if isinstance(ask, Careful) else ask
    return room_of(model.name) if isinstance(model, AskableModel) else None


def is_one_model(ask: object) -> bool:
    """Whether the same model is asked, whatever model a question names: it has no `renamed`."""
    model = ask.model if isinstance(ask, Careful) else ask
    return isinstance(model, AskableModel) and not hasattr(model, "renamed")


def room_of(name: str) -> int | None:
    """How many tokens a question to this model may have, where that is known."""
    known = models.lookup(name)
    return known.max_input or known.window if known is not None else None
