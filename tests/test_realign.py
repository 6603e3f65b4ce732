"""What clients do to a history without meaning anything by it: nothing of it forks or rewrites, in any dialect."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fanfold

Body = dict[str, Any]
Change = Callable[[list[Body]], list[Body]]


def chat_history() -> list[Body]:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "read", "arguments": '{"path": "a.py", "n": 1}'},
    }
    return [
        {"role": "user", "content": "Read a.py"},
        {"role": "assistant", "content": "I read it.", "reasoning_content": "Hm.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "import re"},
        {"role": "assistant", "content": "It imports re.", "reasoning_content": "Yes."},
    ]


def anthropic_history() -> list[Body]:
    return [
        {"role": "user", "content": [{"type": "text", "text": "Read a.py"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s1"},
                {"type": "text", "text": "I read it."},
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a.py", "n": 1}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "import re"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "It imports re."}]},
    ]


def responses_history() -> list[Body]:
    return [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Read a.py"}]},
        {"type": "reasoning", "id": "rs1", "summary": [], "encrypted_content": "abc"},
        {
            "type": "message",
            "id": "m1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "I read it.", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "f1",
            "call_id": "c1",
            "name": "read",
            "arguments": '{"path": "a.py", "n": 1}',
        },
        {"type": "function_call_output", "call_id": "c1", "output": "import re"},
        {
            "type": "message",
            "id": "m2",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "It imports re.", "annotations": []}],
        },
    ]


def gemini_history() -> list[Body]:
    call = {"functionCall": {"name": "read", "args": {"path": "a.py", "n": 1}}, "thoughtSignature": "c2ln"}
    answer = {"functionResponse": {"name": "read", "response": {"output": "import re"}}}
    return [
        {"role": "user", "parts": [{"text": "Read a.py"}]},
        {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": "I read it."}, call]},
        {"role": "user", "parts": [answer]},
        {"role": "model", "parts": [{"text": "It imports re."}]},
    ]


HISTORIES = {
    "openai.chat": chat_history,
    "anthropic": anthropic_history,
    "openai.responses": responses_history,
    "gemini": gemini_history,
}
LISTS = ("content", "parts")


def pieces_of(body: Body) -> tuple[str, list[Body]] | None:
    """The field in which a message has a list of parts, and the list."""
    return next(((key, body[key]) for key in LISTS if isinstance(body.get(key), list)), None)


def rewrite_arguments(history: list[Body]) -> list[Body]:
    """Write the JSON of arguments anew, in another order."""
    for body in history:
        for holder in [body, *(call["function"] for call in body.get("tool_calls", ()))]:
            if isinstance(holder.get("arguments"), str):
                holder["arguments"] = json.dumps(
                    dict(reversed(json.loads(holder["arguments"]).items())), indent=1
                )
        for part in (pieces_of(body) or ("", []))[1]:
            for key, field in (("input", part), ("args", part.get("functionCall", {}))):
                if isinstance(field.get(key), dict):
                    field[key] = dict(reversed(field[key].items()))
    return history


def cut_texts(history: list[Body]) -> list[Body]:
    """Send every text in two parts."""
    for body in history:
        found = pieces_of(body)
        if found is None:
            if body.get("role") in ("user", "assistant") and isinstance(body.get("content"), str):
                text = body["content"]
                body["content"] = [{"type": "text", "text": text[:4]}, {"type": "text", "text": text[4:]}]
            continue
        key, parts = found
        body[key] = [piece for part in parts for piece in _cut(part)]
    return history


def _cut(part: Body) -> list[Body]:
    if not isinstance(part.get("text"), str) or part.get("thought"):
        return [part]
    return [{**part, "text": part["text"][:4]}, {**part, "text": part["text"][4:]}]


def drop_thoughts(history: list[Body]) -> list[Body]:
    """Send no thoughts."""
    kept = [body for body in history if body.get("type") != "reasoning"]
    for body in kept:
        body.pop("reasoning_content", None)
        found = pieces_of(body)
        if found is not None:
            key, parts = found
            body[key] = [part for part in parts if part.get("type") != "thinking" and not part.get("thought")]
    return kept


def replace_signatures(history: list[Body]) -> list[Body]:
    """Send other signatures, as one client does when it resumes."""
    for body in history:
        if body.get("type") == "reasoning":
            body["encrypted_content"] = "another"
        for part in (pieces_of(body) or ("", []))[1]:
            for key in ("signature", "thoughtSignature"):
                if key in part:
                    part[key] = "skip_thought_signature_validator"
    return history


def drop_ids(history: list[Body]) -> list[Body]:
    """Send items without the ids that the provider gave them."""
    return [{key: value for key, value in body.items() if key not in ("id", "status")} for body in history]


def cut_messages(history: list[Body]) -> list[Body]:
    """Send every message of several parts as several messages."""
    sent = list[Body]()
    for body in history:
        found = pieces_of(body)
        if found is not None and len(found[1]) > 1 and "tool_calls" not in body:
            sent += [{**body, found[0]: [part]} for part in found[1]]
        elif body.get("tool_calls") and body.get("content"):
            words = {key: value for key, value in body.items() if key != "tool_calls"}
            sent += [words, {"role": "assistant", "content": None, "tool_calls": body["tool_calls"]}]
        else:
            sent.append(body)
    return sent


def is_result(body: Body) -> bool:
    found = pieces_of(body)
    parts = found[1] if found is not None else [body]
    kinds = ("tool_result", "function_call_output")
    return body.get("role") == "tool" or all(p.get("type") in kinds or "functionResponse" in p for p in parts)


def double_results(history: list[Body]) -> list[Body]:
    """Send every message of results twice."""
    return [
        again for body in history for again in ([body, copy.deepcopy(body)] if is_result(body) else [body])
    ]


def double_parts(history: list[Body]) -> list[Body]:
    """Send every result twice within its message."""
    for body in history:
        found = pieces_of(body)
        if found is not None and is_result(body):
            body[found[0]] = [again for part in found[1] for again in (part, copy.deepcopy(part))]
    return history


CHANGES: tuple[Change, ...] = (
    rewrite_arguments,
    cut_texts,
    drop_thoughts,
    replace_signatures,
    drop_ids,
    cut_messages,
    double_results,
    double_parts,
)
MORE: dict[str, Body] = {
    "openai.chat": {"role": "user", "content": "Go on."},
    "anthropic": {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
    "openai.responses": {"type": "message", "role": "user", "content": "Go on."},
    "gemini": {"role": "user", "parts": [{"text": "Go on."}]},
}


def check(dialect: str, changes: list[Change]) -> None:
    """A history that was changed so is the recorded one, and goes on at its end."""
    history = HISTORIES[dialect]()
    with fanfold.Pool(window=50_000, dialect=dialect, recall=False) as pool, pool.session("run") as chat:
        chat.merge(history)
        path, records = list(chat._state.path), len(chat._state.log.records)
        again = copy.deepcopy(history)
        for change in changes:
            again = change(again)
        merged = chat.merge(copy.deepcopy(again))
        assert (merged.new, merged.replaced, merged.forked) == (0, 0, False)
        assert len(chat._state.log.records) == records
        assert len(merged.entries) == len(again)
        found = pool.find([*again, MORE[dialect]])
        assert (found.session, found.matched, found.at_head) == ("run", len(again), True)
        longer = chat.merge([*again, MORE[dialect]])
        assert (longer.new, longer.replaced, longer.forked) == (1, 0, False)
        assert list(chat._state.path)[:-1] == path
        assert longer.entries[-1] == (chat.head,)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("dialect", HISTORIES)
def test_a_change_without_a_meaning_is_no_change(dialect: str, change: Change) -> None:
    check(dialect, [change])


@pytest.mark.parametrize("dialect", HISTORIES)
def test_changes_without_a_meaning_come_together(dialect: str) -> None:
    @settings(max_examples=25)
    @given(st.lists(st.sampled_from(CHANGES), min_size=2, max_size=5, unique=True))
    def together(changes: list[Change]) -> None:
        check(dialect, changes)

    together()


def test_a_message_in_two_pieces_is_one_entry() -> None:
    with fanfold.open("run", window=50_000, dialect="openai.chat", recall=False) as chat:
        first = chat.merge(chat_history())
        again = chat.merge(cut_messages(chat_history()))
        assert again.entries == (first.entries[0], first.entries[1], first.entries[1], *first.entries[2:])


def test_a_masked_output_is_replaced_also_where_texts_are_cut_otherwise() -> None:
    with fanfold.open("run", window=50_000, dialect="gemini", recall=False) as chat:
        chat.merge(gemini_history())
        masked = cut_texts(drop_thoughts(gemini_history()))
        masked[2]["parts"][0]["functionResponse"]["response"] = {"output": "[masked]"}
        merged = chat.merge(masked)
        assert (merged.new, merged.replaced, merged.forked) == (0, 1, False)


def test_another_word_is_a_fork_all_the_same() -> None:
    for dialect, history in HISTORIES.items():
        with fanfold.open("run", window=50_000, dialect=dialect, recall=False) as chat:
            chat.merge(history())
            changed = history()
            changed[-1] = json.loads(json.dumps(changed[-1]).replace("imports re", "imports os"))
            assert chat.merge(changed).forked


def test_a_thought_whose_reply_was_taken_back_does_not_stay_without_it() -> None:
    """A reasoning item belongs to the item behind it, and OpenAI refuses one that stands alone."""
    asked, thought, reply = responses_history()[:3]
    instead = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Rather b.py."}]}
    with fanfold.open("run", window=9_000, dialect="openai.responses", recall=False) as chat:
        chat.merge([asked, thought, reply])
        assert chat.merge([asked, instead]).forked
        assert chat.request()["input"] == [asked, instead]
        assert {row.kind for row in chat.view().rows} == {"entry"}, "nothing had to be repaired for that"


def test_what_was_undone_before_a_client_went_another_way_can_be_done_again() -> None:
    """Else `redo` says that it did something, and the view stays as it is."""
    ask, answer = ({"role": role, "content": f"{role} speaks"} for role in ("user", "assistant"))
    with fanfold.open("run", window=9_000, dialect="openai.chat", recall=False) as chat:
        chat.merge([ask, answer, ask, answer])
        edit = chat.fold(tuple(row.id for row in chat.view().rows[:2]), "They spoke.")
        chat.undo(edit.id)
        assert chat.merge([ask, answer, {**ask, "content": "Something else."}]).forked
        assert len(chat.view().rows) == 3
        chat.redo(edit.id)
        assert [message.text for message in chat.view().messages] == ["They spoke.", "Something else."]
