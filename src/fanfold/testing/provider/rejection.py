"""Why a provider says no, before it is put into that provider's own words."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import wraps

from .seal import Seal
from .wire import Wire

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True)
class Rejection:
    """A refused request: the text and what each API's error shape needs beside it."""

    message: str
    status: int = 400
    param: str | None = None
    code: str | None = None
    rule: str = ""
    """The name of the rule that said no; empty where no rule did."""


@dataclass(frozen=True)
class Limits:
    """The figures the providers publish; smaller ones make small tests."""

    anthropic_bytes: int = 32 * MEBIBYTE
    openai_bytes: int = 50 * MEBIBYTE
    gemini_bytes: int = 20 * MEBIBYTE
    image_bytes: int = 5 * MEBIBYTE
    images: int = 100
    text: int = 10 * MEBIBYTE
    """The longest string OpenAI takes in one place, in characters."""
    tools: int = 128
    marks: int = 4
    """Blocks with `cache_control` in one Anthropic request."""


@dataclass(frozen=True)
class JudgeTerms:
    """What a rule may know beside the body."""

    model: str
    limits: Limits = field(default_factory=Limits)
    seal: Seal = field(default_factory=Seal)
    foreign: bool = False
    """Accept signatures that another server gave; one's own are verified either way."""


Refusals = Iterator[Rejection]
"""What a rule finds wrong with a body; only the first counts, so a rule goes no further than that."""
Rule = Callable[[Wire, JudgeTerms], Rejection | None]


def collector(rules: list[Rule]) -> Callable[[Callable[[Wire, JudgeTerms], Refusals]], Rule]:
    """A decorator that enters a rule into its API's list, in the order they are written down."""

    def enter(find: Callable[[Wire, JudgeTerms], Refusals]) -> Rule:
        @wraps(find)
        def rule(body: Wire, terms: JudgeTerms) -> Rejection | None:
            return next(find(body, terms), None)

        rules.append(rule)
        return rule

    return enter
