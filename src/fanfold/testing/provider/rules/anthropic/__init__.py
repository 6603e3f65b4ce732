"""The rules of Anthropic's Messages."""

from fanfold.testing.provider.rejection import Rule

from . import calls, shape, thinking

RULES: list[Rule] = [*shape.RULES, *calls.RULES, *thinking.RULES]
