"""The rules of OpenAI's Chat Completions, and of makers who speak it."""

from fanfold.testing.provider.rejection import Rule

from . import calls, messages, settings

RULES: list[Rule] = [*messages.RULES, *calls.RULES, *settings.RULES]
