"""F12: pictures are few tokens and many bytes: bytes are budgeted, and media are elided first."""

from __future__ import annotations

import base64

import fanfold
from fanfold import Image, Text
from fanfold.core.message import Message
from fanfold.testing import picture, returned, said

from .naive import tokens

PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(300_000)).decode()


def test_megabytes_of_pictures_give_way_before_words_do() -> None:
    budget = fanfold.Budget(window=200_000, max_bytes=1_000_000)
    with fanfold.open("run", budget=budget, dialect="anthropic", model="claude-sonnet-4-5") as chat:
        for i in range(4):
            chat.say(Text(f"picture {i}"), Image("image/png", PICTURE))
            chat.add(Message("assistant", (Text(f"I see picture {i}"),)))
        chat.say("which was first?")
        sent = chat.request(max_tokens=1_000)
        assert chat.view().size <= 1_000_000
        assert all(f"picture {i}" in str(sent) for i in range(4))


def test_base64_in_a_result_is_no_text_to_be_counted() -> None:
    with fanfold.open("run", window=200_000) as chat:
        chat.say("take a picture")
        call = fanfold.Call("c1", "screenshot", "{}")
        chat.add(Message("assistant", (call,)))
        chat.answer(call, PICTURE)
        assert chat.view().tokens < 300
        assert chat.output("o1").text() == PICTURE


def test_a_picture_that_was_elided_is_still_there() -> None:
    with fanfold.open("run", window=200_000) as chat:
        chat.say("take a picture")
        call = fanfold.Call("c1", "screenshot", "{}")
        chat.add(Message("assistant", (call,)))
        chat.answer(call, [Image("image/png", PICTURE)])
        assert base64.b64encode(chat.output("o1").bytes()).decode() == PICTURE


def test_the_naive_count_is_wrong_both_ways() -> None:
    seen = [said("picture", picture(PICTURE)) for _ in range(4)]
    words_only = sum(len(body["content"][0]["text"]) // 4 for body in seen)
    assert words_only < 10, "few tokens, so nothing is done"
    assert len(str(seen)) > 1_000_000, "and the request is refused for its bytes"
    assert tokens([returned("c1", PICTURE)]) > 90_000, "base64 as text fills the window"
