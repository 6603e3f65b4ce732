"""A model to ask that needs no key, no network and no luck."""

from __future__ import annotations

from collections.abc import Callable

from fanfold.core.message import text_of
from fanfold.core.plan import Ask

Script = str | Exception | Callable[[Ask], str]


def gist(question: Ask) -> str:
    """A summary anybody could write: the first words of each message."""
    openings = (text_of(message)[:24].replace("\n", " ") for message in question.messages)
    return f"Summary of {len(question.messages)} messages: " + " / ".join(filter(None, openings))


class FakeModel:
    """Gives its answers in order, the last one again and again; without any, a gist of what it was asked.

    An exception among the answers is raised, a function is called with the question.
    """

    def __init__(self, *answers: Script) -> None:
        self._answers: tuple[Script, ...] = answers or (gist,)
        self.asked: list[Ask] = []
        """Every question so far."""

    def __call__(self, question: Ask) -> str:
        answer = self._answers[min(len(self.asked), len(self._answers) - 1)]
        self.asked.append(question)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, str) else answer(question)

    async def later(self, question: Ask) -> str:
        """The same answers, awaited: `aopen(…, summarizer=FakeModel().later)`."""
        return self(question)

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.asked)
