"""What a request is known by does not depend on what was sent before it."""

import msgspec

import fanfold
from fanfold.core.ids import canonical, digest


def digests(steps, *, anew: bool, store: str) -> list[str]:
    """What each request is known by; `anew`, with the session opened anew for each."""
    known = []
    chat = fanfold.open("run", model="gpt-5.2", store=store)
    for step in steps:
        if anew:
            chat.close()
            chat = fanfold.open("run", model="gpt-5.2", store=store)
        step(chat)
        known.append(chat.request().sent.digest)
    chat.close()
    return known


def say(text):
    def step(chat):
        chat.say(text)

    return step


def answer(text):
    def step(chat):
        chat.add({"role": "assistant", "content": text})
        chat.say("Go on.")

    return step


def rewind(chat):
    chat.rewind(chat.view().rows[1].id)
    chat.say("Another way.")


def fold(chat):
    chat.note("state", "Half done.")
    chat.say("And now?")


def test_a_request_is_known_by_the_same_hash_whatever_was_sent_before(tmp_path):
    steps = [
        say("Find the bug."),
        answer("Where?"),
        answer("Here."),
        rewind,
        answer("Look."),
        fold,
        answer("So."),
    ]
    going_on = digests(steps, anew=False, store=f"sqlite:{tmp_path}/one.db")
    assert digests(steps, anew=True, store=f"sqlite:{tmp_path}/two.db") == going_on
    assert len(set(going_on)) == len(steps)


def test_a_request_is_recognised_that_was_recorded_with_the_hashes_of_its_rows() -> None:
    """Until November 2026 a request was known by the hashes of its rows, and not by the hash of them."""
    chat = fanfold.open("run", model="gpt-5.2", store="memory")
    chat.say("Where is the bug?")
    sent = chat.request()
    rows = b"".join(row.weight.digest for row in sent.rows)
    former = digest(rows, chat._state.log.frame().id.encode(), canonical(sent.sent.params), b"")
    assert (chat.body().exact, sent.sent.digest == former) == (True, False)
    chat._state.log.sent[-1] = msgspec.structs.replace(sent.sent, digest=former)
    assert chat.body().exact
    chat._state.log.sent[-1] = msgspec.structs.replace(sent.sent, digest="another")
    assert not chat.body().exact
