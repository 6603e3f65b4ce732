"""System prompts and notes that people wrote can be erased like messages."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import fanfold
from builders import asks, opened, says, tell
from fanfold import BadInput, Fold, Memory, NotFound, Session, ask
from fanfold.strategies import extract
from fanfold.testing import FakeModel, replied, said

PROMPT = "You are brief.\nThe customer is Jane Roe-SECRET."
STUB = "[erased: asked to forget]"


def is_left(*chats: Session) -> bool:
    """Whether the secret is in a record, in an entry, or in a request."""
    logs = [chat._state.log for chat in chats]
    told = [(log.records, log.tree.entries, chat.request()) for log, chat in zip(logs, chats, strict=True)]
    return "SECRET" in str(told)


def system_of(chat: Session) -> list[str]:
    return [message.text for message in chat.view().frame.messages]


def test_a_system_prompt_is_erased_in_every_session_of_the_tenant() -> None:
    store = Memory()
    chat = opened(9_000, name="one", store=store, system=PROMPT)
    other = opened(9_000, name="other", store=store, system=PROMPT)
    bystander = opened(9_000, name="bystander", store=store, system="You are brief.")
    for one in (chat, other):
        tell(one, asks("Hello."), says("Hi."))
    chat.request(max_tokens=50)
    fork = chat.fork("fork")
    assert chat.erase("system", "asked to forget") == "system"
    assert system_of(chat) == system_of(fork) == system_of(other) == [STUB]
    assert system_of(bystander) == ["You are brief."]
    assert not is_left(chat, other, fork)
    assert STUB in str(chat.request())


def test_every_version_of_the_system_prompt_is_erased_or_one_of_them() -> None:
    for name, left in (("system", [STUB]), (None, ["You are quick."])):
        chat = opened(9_000, system=PROMPT)
        chat.say("Hello.")
        chat.merge([{"role": "system", "content": "You are quick."}, said("Hello.")])
        assert system_of(chat) == ["You are quick."]
        store, tenant = chat._state.terms.tenant.store, chat._state.terms.tenant.name
        found = next(iter(fanfold.stores.search.search(store, tenant, "roe-secret")))
        assert (found.kind, len(found.entry)) == ("system", 32)
        chat.erase(name or found.entry[:12], "asked to forget")
        assert system_of(chat) == left
        assert not is_left(chat)


def test_a_client_that_sends_the_system_prompt_again_meets_the_stub() -> None:
    history = [{"role": "system", "content": PROMPT}, said("Hello."), replied("Hi.")]
    chat = opened(9_000)
    chat.merge(history)
    chat.erase("system", "asked to forget")
    records = len(chat._state.log.records)
    chat.merge(history)
    assert len(chat._state.log.records) == records
    chat.merge([*history, said("And now?")])
    assert system_of(chat) == [STUB]
    assert not is_left(chat)


def test_a_session_that_is_opened_again_with_it_meets_the_stub() -> None:
    store = Memory()
    with opened(9_000, name="one", store=store, system=PROMPT) as chat:
        chat.say("Hello.")
        chat.erase("system", "asked to forget")
    with opened(9_000, name="one", store=store, system=PROMPT) as chat:
        assert system_of(chat) == [STUB]
        assert not is_left(chat)


def test_what_quotes_the_system_prompt_goes_with_it() -> None:
    def quoting(view: Any, budget: Any) -> Any:
        old = view.oldest(leaving=20)
        text = yield from ask(old.messages, "Sum up.")
        yield Fold(old.covers, text)

    model = FakeModel("They talked.\nThe customer is Jane Roe-SECRET.")
    chat = opened(3_000, system=PROMPT, strategy=quoting, summarizer=model)
    tell(chat, asks("word " * 300), says("Ok. " * 50), asks("Go on."), says("Yes. " * 20))
    chat.note("todo", "Call back.\nThe customer is Jane Roe-SECRET.")
    assert chat.compact(force=True).status == "reduced"
    chat.request(max_tokens=100, context="The customer is Jane Roe-SECRET.", metadata={"who": PROMPT})
    chat.erase("system", "asked to forget")
    assert not is_left(chat)
    assert "They talked." in str(chat.request())


def test_a_persons_note_is_erased_with_every_copy_and_with_notes_that_may_tell_of_it() -> None:
    model = FakeModel('{"goal": "call Jane Roe-SECRET back"}')
    chat = opened(3_000, strategy=extract(), summarizer=model)
    chat.say("Hello.")
    note = chat.note("who", "The customer is Jane Roe-SECRET.")
    chat.add(replied("Done."))
    chat.settle()
    other = chat.fork("other")
    assert chat.erase(note.id, "asked to forget") == note.id
    assert not is_left(chat, other)
    notes = [row.messages[0].text for row in other.view().rows if row.kind == "note"]
    assert notes[0] == f"[note: erased]\n{STUB}"


def test_the_name_of_a_note_is_found_and_erased_with_the_note(tmp_path: Path) -> None:
    store = fanfold.SQLite(tmp_path / "a.db")
    chat = opened(9_000, store=store)
    chat.say("Hello.")
    note = chat.note("address of Jane Roe-SECRET", "12 High Street")
    chat.request()
    (found,) = fanfold.stores.search.search(store, "default", "roe-secret")
    assert (found.kind, found.edit) == ("edit", note.id)
    assert "SECRET" not in str(chat.preview("erase", found.edit, "asked to forget").body)
    chat.erase(found.edit, "asked to forget")
    assert not is_left(chat)
    assert list(fanfold.stores.search.search(store, "default", "roe-secret")) == []
    chat.close()
    store.close()
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"SECRET" in file.read_bytes()]


def test_what_cannot_be_erased_by_its_own_name_says_what_to_erase() -> None:
    chat = opened(3_000)
    with pytest.raises(NotFound, match="This session has no system prompt"):
        chat.erase("system", "asked to forget")
    chat.say("Hello.")
    pin = chat.pin(chat.head or "")
    with pytest.raises(BadInput, match="is an edit: erase the messages that it was made from"):
        chat.erase(pin.id, "asked to forget")


def test_erasing_it_once_more_changes_nothing() -> None:
    chat = opened(3_000, system=PROMPT)
    note = chat.note("who", "Jane Roe-SECRET")
    for name in ("system", note.id):
        chat.erase(name, "asked to forget")
        records = list(chat._state.log.records)
        chat.erase(name, "asked to forget")
        assert chat._state.log.records == records


def test_an_old_export_brings_neither_back() -> None:
    store, file = Memory(), BytesIO()
    chat = opened(9_000, name="one", store=store, system=PROMPT)
    chat.say("Hello.")
    note = chat.note("who", "The customer is Jane Roe-SECRET.")
    fanfold.export_session(store, "one", file)
    chat.erase("system", "asked to forget")
    chat.erase(note.id, "asked to forget")
    fanfold.import_session(store, BytesIO(file.getvalue()), name="two")
    later = opened(9_000, name="two", store=store)
    assert not is_left(chat, later)
    fresh = BytesIO()
    fanfold.export_session(store, "one", fresh)
    assert b"SECRET" not in fresh.getvalue()
    elsewhere = Memory()
    fanfold.import_session(elsewhere, BytesIO(fresh.getvalue()))
    moved = opened(9_000, name="one", store=elsewhere, system=PROMPT)
    assert system_of(moved) == [STUB]


def find(chat: Session, words: str) -> list[Any]:
    tenant = chat._state.terms.tenant
    return list(fanfold.stores.search.search(tenant.store, tenant.name, words))


@pytest.mark.parametrize("name", ["labels", None])
def test_labels_are_found_and_erased_with_the_older_ones(name: str | None, tmp_path: Path) -> None:
    store = fanfold.SQLite(tmp_path / "agent.db")
    for customer in ("Jane SECRET", "Janet SECRET"):
        with opened(9_000, name="one", store=store, labels={"customer": customer, "team": "blue"}) as chat:
            chat.say("Hello.")
    with opened(9_000, name="one", store=store) as chat:
        assert [(one.kind, len(one.entry)) for one in find(chat, "secret")] == [("labels", 32)] * 2
        file = BytesIO()
        fanfold.export_session(store, "one", file)
        for id in [name] if name else [found.entry[:12] for found in find(chat, "secret")]:
            chat.erase(id, "asked to forget")
        chat.say("And now?")
        chat.fork("fork").close()
        assert find(chat, "secret") == []
        with pytest.raises(NotFound, match="no labels"):
            chat.erase("labels", "asked to forget")
    with opened(9_000, name="one", store=store, labels={"team": "red"}) as chat:
        chat.say("Hello again.")
        found = {one.name: one.labels for one in store.summaries(chat._state.terms.tenant.name)}
        assert found == {"one": {"team": "red"}, "fork": {}}
    fanfold.import_session(store, BytesIO(file.getvalue()), name="two")
    store.close()
    assert b"SECRET" not in b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_a_fold_that_a_person_wrote_is_erased_and_the_messages_behind_it_stay() -> None:
    chat = opened(9_000, strategy=lambda view, budget: [Fold((view.rows[0].id,), "Somebody rang. SECRET")])
    ids = tell(chat, asks("Who rang?" * 20), says("I do not know." * 20), asks("Go on." * 20), says("Yes."))
    fold = chat.fold(tuple(ids[:2]), "Jane Roe-SECRET rang, " + "and then she rang again. " * 5)
    assert chat.compact(force=True).status == "reduced"
    assert chat.erase(fold.id, "asked to forget") == fold.id
    assert not is_left(chat)
    assert chat.view().rows[0].messages[0].text == STUB
    for edit in reversed(chat.edits()):
        chat.undo(edit.decision.id)
    assert chat.view().rows[0].messages[0].text.startswith("Who rang?")
    assert find(chat, "secret") == []


def test_a_pinned_text_is_erased_by_the_id_of_its_pin_and_then_pins_nothing() -> None:
    chat = opened(9_000)
    tell(chat, asks("one SECRET"), says("Noted."), asks("two SECRET"), says("Noted again."))
    pin = chat.pin("one SECRET")
    for row in (chat.view().rows[0], chat.view().rows[2]):
        chat.erase(row.id, "asked to forget")
    assert not any("pinned" in line for line in str(chat.view()).splitlines())
    assert chat.pins() == {}
    other = opened(9_000)
    tell(other, asks("Call Jane Roe-SECRET, please."), says("Noted."))
    pin = other.pin("Roe-SECRET")
    other.erase(pin.id, "asked to forget")
    assert other.pins() == {}
    other.erase(other.view().rows[0].id, "asked to forget")
    assert not is_left(other)


def test_the_name_of_a_session_is_found_and_says_that_it_stays() -> None:
    chat = opened(9_000, name="call of Jane SECRET")
    chat.say("Hello.")
    assert [(one.kind, one.text) for one in find(chat, "jane secret")] == [("name", "call of Jane SECRET")]
    with pytest.raises(BadInput, match="name of a session cannot be erased"):
        chat.erase("name", "asked to forget")


CONTEXT = "From the files:\nThe customer is Jane Roe-SECRET."


def with_contexts(*contexts: str | None, store: Any = None, name: str = "one") -> Session:
    """A session with a request for each context."""
    chat = opened(9_000, name=name, store=store)
    for number, context in enumerate(contexts):
        chat.say(f"Question {number}?")
        chat.request(max_tokens=50, context=context)
        chat.add(replied(f"Answer {number}."))
    chat.say("And now?")
    return chat


def contexts_of(chat: Session) -> list[str | None]:
    return [chat.sent(one.number)[0].context for one in chat.requests()]


def test_the_context_of_a_request_is_erased_by_its_number_in_every_session_of_the_tenant() -> None:
    store = Memory()
    chat = with_contexts(None, CONTEXT, "The customer likes tea.", store=store)
    other = with_contexts(CONTEXT, store=store, name="other")
    fork = chat.fork("fork")
    assert chat.erase("request 1", "asked to forget") == "request 1"
    assert contexts_of(chat) == [None, STUB, "The customer likes tea."]
    assert contexts_of(other) == [STUB]
    assert find(chat, "secret") == []
    assert not is_left(chat, other, fork)
    assert STUB in str(chat.body(1).body)
    assert not chat.body(1).exact
    assert chat.body(2).exact


@pytest.mark.parametrize("name", ["context", None])
def test_all_contexts_are_erased_at_once_or_one_by_the_id_that_a_search_finds(name: str | None) -> None:
    chat = with_contexts("one SECRET", None, "two SECRET", "three")
    for id in [name] if name else [one.entry[:12] for one in find(chat, "secret")]:
        assert chat.erase(id, "asked to forget") == id
    assert contexts_of(chat) == [STUB, None, STUB, STUB if name else "three"]
    assert not is_left(chat)


def test_a_context_that_is_short_is_erased_and_a_word_in_common_erases_no_other() -> None:
    chat = with_contexts("pin 12", "The customer is away.", "The customer is Jane Roe-SECRET.")
    chat.erase("request 0", "asked to forget")
    chat.erase("request 2", "asked to forget")
    assert contexts_of(chat) == [STUB, "The customer is away.", STUB]


def test_what_quotes_an_erased_context_goes_with_it() -> None:
    chat = with_contexts(CONTEXT, "More.\nThe customer is Jane Roe-SECRET.")
    chat.note("who", "Call back.\nThe customer is Jane Roe-SECRET.")
    chat.erase("request 0", "asked to forget")
    assert contexts_of(chat) == [STUB, STUB]
    assert not is_left(chat)


def test_an_erased_context_that_is_sent_again_stays_erased() -> None:
    chat = with_contexts(CONTEXT)
    chat.request(max_tokens=50, context=CONTEXT)
    chat.erase("request 0", "asked to forget")
    assert "SECRET" not in str(chat.request(max_tokens=50, context=CONTEXT))
    chat.say("Once more.")
    assert STUB in str(chat.request(max_tokens=50, context=CONTEXT))
    assert not is_left(chat)


def test_an_erased_context_is_in_no_file_and_no_old_export_brings_it_back(tmp_path: Path) -> None:
    store, file = fanfold.SQLite(tmp_path / "agent.db"), BytesIO()
    chat = with_contexts(CONTEXT, store=store)
    fanfold.export_session(store, "one", file)
    chat.close()
    with opened(9_000, name="one", store=store) as chat:
        chat.erase("request 0", "asked to forget")
    fanfold.import_session(store, BytesIO(file.getvalue()), name="two")
    with opened(9_000, name="two", store=store) as chat:
        assert contexts_of(chat) == [STUB]
    store.close()
    assert b"SECRET" not in b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_the_preview_of_an_erased_context_changes_no_message_of_the_session() -> None:
    chat = with_contexts(CONTEXT)
    told = chat.preview("erase", "request 0", "asked to forget")
    assert (told.before, told.gone, told.changed) == (told.after, (), ())
    assert contexts_of(chat) == [CONTEXT]


def test_a_request_without_a_context_has_nothing_to_erase() -> None:
    chat = with_contexts(None)
    with pytest.raises(NotFound, match="Request 0 has no context"):
        chat.erase("request 0", "asked to forget")
    with pytest.raises(NotFound, match="There is no request 1: one was sent, number 0"):
        chat.erase("request 1", "asked to forget")
    with pytest.raises(NotFound, match="No request of this session has a context"):
        chat.erase("context", "asked to forget")


def test_erasing_a_context_once_more_changes_nothing() -> None:
    chat = with_contexts(CONTEXT)
    for name in ("request 0", "context"):
        chat.erase(name, "asked to forget")
        records = list(chat._state.log.records)
        assert chat.erase(name, "asked to forget") == name
        assert chat._state.log.records == records
