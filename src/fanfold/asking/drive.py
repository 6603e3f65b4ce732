"""The driver: runs strategies on a draft, guarded, and asks models on their behalf.

Everything that may have to ask a model is a generator: it yields the question, and goes on with the answer.

    def shorten(chat):                                  # the flow: knows nothing of threads, event loops or networks
        answer = yield Ask(chat.messages, "Sum this up.")
        return answer.text

    drive(shorten(chat), model, unit)                   # a function answers
    await adrive(shorten(chat), async_model, …)         # a coroutine answers

So there is one implementation for `Session` and `AsyncSession`; a test answers with a constant; and nobody holds the
session while a model takes its time: what goes on between two questions is one unit of work, the question is outside.
A generator that is left in the middle is closed at once, so its `finally` runs when a caller cancels.

`Reduction` is such a flow: strategies are generators too, and their questions pass through it to the driver.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from msgspec.structs import replace

from fanfold.asking.careful import room_of
from fanfold.asking.question import split_question
from fanfold.core.budget import Budget
from fanfold.core.draft import Draft, Judge
from fanfold.core.errors import AskFailed
from fanfold.core.ids import canonical, digest
from fanfold.core.log import Log
from fanfold.core.plan import Answer, Ask, Outcome, Status, Strategy, is_binding, name_of, steps_of
from fanfold.core.record import Answered, Looked, TokenUsage
from fanfold.core.view import View
from fanfold.strategies.fallbacks import FALLBACKS
from fanfold.text.plain import own, plain_text

Asker = Callable[[Ask], str | Answer]
AsyncAsker = Callable[[Ask], str | Answer | Awaitable[str | Answer]]
Unit = Callable[[Callable[[], Any]], Any]
"""Does some work as one unit."""
T = TypeVar("T")

MOST_ASKS = 12
MOST_IDLE = 20
"""So many steps in a row a plan may take without making the view smaller."""
MOST_STEPS = 100_000
HOPELESS = "system prompt, tools, pins and notes leave so little room that a summary would not help; no model is asked"
REFUSED, GREW = "its edit was refused", "what it did made the view larger"
"""What an outcome says if nothing failed, but nothing that the strategies wanted was done."""


class Reduction:
    """One reduction: strategies in order until the view is within its target, then the fallbacks."""

    def __init__(
        self,
        view: View,
        log: Log,
        scale: Judge,
        budget: Budget,
        strategies: Sequence[Strategy],
        *,
        answered: Callable[[str], Answered | None],
        summarizer_window: int | None = None,
        one_model: bool = False,
        may_ask: bool = True,
    ) -> None:
        self.start = view
        self.draft = Draft(view, log, scale, budget)
        self.log = log
        self._erased = frozenset(log.tree.erased)
        self.scale = scale
        self.budget = budget
        self.strategies = strategies
        self.answered = answered
        """What a model answered before, by the key of the question."""
        self.summarizer_window = summarizer_window or budget.room
        """The window of the model that is asked; by default the session's own."""
        self.one_model = one_model
        """Whether that one is asked, whatever model a question names."""
        self.may_ask = may_ask
        """Whether what an answer could bring is worth its price."""
        self.answers: list[Answered] = []
        """Answers to keep, so that the same question is not asked twice."""
        self.looked: list[Looked] = []
        """What the plans that ran to their end kept up to date."""
        self.asked = 0
        self.usage: TokenUsage | None = None
        """What the models that were asked billed."""
        self.cost = 0.0
        self.error: str | None = None
        """What a strategy raised, or what became of a question, in words that may quote anything."""
        self.refused: str | None = None
        """Why edits of the chosen strategies were not made."""
        self.faults: list[str] = []
        """The same without contents: names of strategies and of errors only."""
        self.larger = False
        self.strategy: str | None = None
        self.fell_back: list[str] = []
        """The fallbacks that had to reduce what the strategies left."""

    def run(self, *, fallbacks: Sequence[Strategy] = FALLBACKS) -> Generator[Ask, Answer, Outcome]:
        """Reduce, and return how it ended."""
        for strategy in self.strategies:
            if self.draft.view.tokens <= self.budget.goal and self.draft.view.fits(self.budget):
                break
            yield from self._attempt(strategy)
        if self.draft.decisions:
            self.refused = None  # some were made, and that is how strategies find out what may be done
        elif self.refused is not None:
            self.faults.append(_without_contents(self.refused))
        # What the model has not seen yet is on offer only where nothing else is left, or could not suffice.
        for desperate in (False, True) if self.draft.view.held <= self.budget.room else (True,):
            for fallback in fallbacks:
                if self.draft.view.fits(self.budget):
                    break
                made = len(self.draft.decisions)
                yield from self._attempt(fallback, forced=True, desperate=desperate)
                if len(self.draft.decisions) > made:
                    self.fell_back.append(name_of(fallback))
        return self.outcome()

    @property
    def erased_since(self) -> frozenset[str]:
        """What was erased since it began."""
        return frozenset(self.log.tree.erased) - self._erased

    def outcome(self) -> Outcome:
        """How it ended so far."""
        before, after, decisions = self.start, self.draft.view, tuple(self.draft.decisions)
        status: Status = "refused-larger" if self.larger else "noop"
        if not after.fits(self.budget):
            status = "does-not-fit"
        elif _any_reduces(decisions) and (after.tokens < before.tokens or after.size < before.size):
            status = "reduced"
        elif self.error is not None:
            status = "failed"
        return Outcome(
            status=status,
            before=before.tokens,
            after=after.tokens,
            decisions=decisions,
            error=self.error or self.refused,
            strategy=self.strategy,
            usage=self.usage,
            cost=self.cost,
        )

    def _attempt(
        self, strategy: Strategy, *, forced: bool = False, desperate: bool = False
    ) -> Generator[Ask, Answer, None]:
        """Run one strategy; if it fails, or leaves more than there was, everything it did is taken back."""
        view, made, looked = self.draft.view, len(self.draft.decisions), len(self.looked)
        failed = False
        try:
            forced = forced or not view.fits(self.budget) or is_binding(strategy)
            yield from self._steps(strategy, forced=forced, desperate=desperate)
        except Exception as error:  # other people's code may raise anything; the fallbacks go on
            failed = True
            self.error = f"{name_of(strategy)}: {type(error).__name__}: {error}"
            self.faults.append(f"{name_of(strategy)} failed with {type(error).__name__}")
        after = self.draft.view
        # Notes alone may take room, as long as the view fits; a plan that was to save some may not.
        if not failed and after.tokens > view.tokens:
            failed = _any_reduces(self.draft.decisions[made:]) or not after.fits(self.budget)
            if failed:
                self.larger = True
                self.refused = f"{name_of(strategy)}: {GREW}"
        if failed:
            self.draft.back_to(view, made)
            del self.looked[looked:]
        elif len(self.draft.decisions) > made:
            self.strategy = name_of(strategy)

    def _steps(self, strategy: Strategy, *, forced: bool, desperate: bool) -> Generator[Ask, Answer, None]:
        """Go through a plan step by step, and stop one that only makes steps."""
        plan = steps_of(strategy(self.draft.view, self.budget))
        reply: Any = None
        idle, pending = 0, list[Answered]()
        try:
            for _ in range(MOST_STEPS):
                step = plan.send(reply)
                idle += 1
                if isinstance(step, Ask):
                    reply = yield from self._ask(step, pending)
                else:
                    made = len(self.draft.decisions)
                    reply = self.draft.offer(step, why=name_of(strategy), forced=forced, desperate=desperate)
                    if len(self.draft.decisions) > made:
                        self.answers.extend(pending)
                    else:  # an answer whose edit was refused is not used again
                        self.larger = self.larger or self.draft.larger
                    pending.clear()
                    if reply.refused is not None:
                        self.refused = f"{name_of(strategy)}: {REFUSED}: {reply.refused}"
                    idle = 0 if _any_reduces(self.draft.decisions[made:]) else idle
                if idle >= MOST_IDLE:
                    break
        except StopIteration:
            pass
        except AskFailed:
            if isinstance(reply, Answer) and reply.error is None:
                pending.clear()  # the last answer said nothing that the strategy could use
            raise
        finally:
            self.answers.extend(pending)  # paid for, whatever became of the plan
        plan.close()

    def _ask(self, question: Ask, pending: list[Answered]) -> Generator[Ask, Answer, Answer]:
        """Put a question, in several pieces if it does not fit the window of the model asked."""
        answer = Answer()
        window = room_of(question.model) if question.model and not self.one_model else None
        pieces = list(split_question(question, window or self.summarizer_window, self.scale))
        if len(pieces) > MOST_ASKS:
            return Answer(
                error=f"the question takes {len(pieces)} pieces, a plan may ask {MOST_ASKS} questions"
            )
        for make in pieces:
            answer = yield from self._put_question(make(answer.text), pending)
            if answer.error is not None:
                return answer
        last = self.start.request
        if (
            question.about and last is not None and last.asked
        ):  # remember for which request it was brought up to date
            self.looked.append(Looked(question.about, last.asked[-1]))
        return answer

    def _put_question(self, question: Ask, pending: list[Answered]) -> Generator[Ask, Answer, Answer]:
        """Put a question that was not answered before."""
        key = digest(canonical((question.messages, question.prompt, question.max_tokens, question.model)))
        known = self.answered(key)
        if known is not None:
            return Answer(known.text)
        if not self.may_ask:
            return Answer(error=HOPELESS)
        if self.asked >= MOST_ASKS:
            return Answer(error=f"a plan may ask {MOST_ASKS} questions, this one asks more")
        self.asked += 1
        answer = yield question
        if answer.usage is not None or answer.cost:
            self.usage = (self.usage or TokenUsage()) + (answer.usage or TokenUsage())
            self.cost += answer.cost
        if answer.error is not None:
            self.error = f"a question to a model got no answer: {answer.error}"
            self.faults.append("a question to a model got no answer")
            return answer
        if not answer.text.strip():
            return replace(answer, error="the answer was empty")
        # All that a plan can tell of: rows of its draft are made from these, and may never be written.
        pending.append(Answered(key, answer.text, tuple(row.id for row in self.start.rows)))
        return answer


def _without_contents(refused: str) -> str:
    """Why edits were refused, without anything that may quote what was said: what is malformed may."""
    name, _, reason = refused.partition(f": {REFUSED}: ")
    if not reason or "malformed" in reason:
        return f"the edits of {name.partition(':')[0]} were refused"
    return f"the edits of {name} were refused: {reason}"


def _any_reduces(decisions: Sequence[Any]) -> bool:
    """Whether something was decided that saves room: a note alone does not."""
    return any(decision.reduces for decision in decisions)


def drive(flow: Generator[Ask, Answer, T], ask: Asker | None, unit: Unit) -> T:
    """Run a flow to its end, answering its questions. No unit of work goes on while a model is asked."""
    answer: Answer | None = None
    while True:
        question, value = unit(partial(_step, flow, answer))
        if question is None:
            return value  # type: ignore[no-any-return]
        with _close_if_left(flow):
            answer = call_model(ask, question)


async def adrive(
    flow: Generator[Ask, Answer, T],
    ask: AsyncAsker | None,
    unit: Unit,
    work: Callable[..., Awaitable[Any]],
) -> T:
    """Run a flow to its end, awaiting the answers to its questions; `work` does each step between them."""
    answer: Answer | None = None
    while True:
        question, value = await work(unit, partial(_step, flow, answer))
        if question is None:
            return value  # type: ignore[no-any-return]
        with _close_if_left(flow):
            answer = await await_model(ask, question)


@contextmanager
def _close_if_left(flow: Generator[Ask, Answer, T]) -> Iterator[None]:
    """Where a question is broken off, the flow that asked it ends at once: it may have something to put away."""
    try:
        yield
    except BaseException:
        flow.close()
        raise


def _step(flow: Generator[Ask, Answer, T], answer: Answer | None) -> tuple[Ask | None, T | None]:
    """What a flow asks next, or what it came to."""
    try:
        return flow.send(answer), None  # type: ignore[arg-type]
    except StopIteration as end:
        return None, end.value


def call_model(ask: Asker | None, question: Ask) -> Answer:
    """A model's answer; an error it raises is an answer too."""
    if ask is None:
        return Answer(error="no model to ask was given: open the session with `summarizer=`")
    try:
        return _as_answer(ask(question))
    except Exception as error:
        return Answer(error=f"{type(error).__name__}: {error}")


async def await_model(ask: AsyncAsker | None, question: Ask) -> Answer:
    """The same, awaited where it must be."""
    if ask is None:
        return Answer(error="no model to ask was given: open the session with `summarizer=`")
    try:
        reply = ask(question)
        return _as_answer(await reply if isinstance(reply, Awaitable) else reply)
    except Exception as error:
        return Answer(error=f"{type(error).__name__}: {error}")


def _as_answer(reply: object) -> Answer:
    if isinstance(reply, str):
        return Answer(plain_text(reply))
    if not isinstance(reply, Answer):
        raise AskFailed(f"a model answers with a text, not with {type(reply).__name__}")
    try:
        return own(reply, Answer)  # type: ignore[no-any-return]
    except ValueError as problem:
        raise AskFailed(f"this answer is malformed: {problem}") from problem
