"""F6: thinking blocks or their signatures are invalid after an edit."""

from __future__ import annotations

import copy

import fanfold
from fanfold.testing.provider import Provider
from wire.loops import TASK, opening, output, provided, script
from wire.sdks import Anthropic, ask


def test_a_loop_with_signed_thinking_survives_its_reductions_and_a_naive_edit_does_not() -> None:
    with provided(Anthropic, script(30)) as provider, fanfold.open("run", **opening(Anthropic)) as chat:
        chat.say(TASK)
        sdk = Anthropic(provider)
        for step in range(30):
            reply = ask(sdk, chat)
            for call in reply.calls:
                chat.answer(call, output(call.args["path"], step))
        assert provider.rejected == []
        assert any(row.kind == "fold" for row in chat.view().rows)
        naively_refused(provider)


def naively_refused(provider: Provider) -> None:
    """Without its thinking, and with another's words in it, the last call of the loop is refused."""
    body = copy.deepcopy(dict(provider.requests[-1].body))
    thinking = [
        block
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "thinking"
    ]
    assert thinking
    thinking[-1]["thinking"] += " Summarised."
    assert provider.check("anthropic", body) is not None
