"""What values show of themselves in a terminal and in a notebook."""

from html.parser import HTMLParser

import fanfold


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.names.append(tag)

    def handle_data(self, data: str) -> None:
        self.words += data


def read(html: str) -> Tags:
    tags = Tags()
    tags.feed(html)
    return tags


def talk(rounds: int = 6) -> fanfold.Session:
    chat = fanfold.open("disk", window=1_500)
    chat.say("Watch the disk.")
    for hour in range(rounds):
        chat.add({"role": "assistant", "content": f"Hour {hour}. " + "It hums. " * 40})
        chat.say(f"Reading {hour}.")
        chat.request(max_tokens=150)
    return chat


def test_a_session_shows_its_name_and_how_full_its_window_is():
    chat = talk(1)
    assert repr(chat) == f"<Session 'disk': 3 messages, {chat.view().tokens:,} of 1,350 tokens>"


def test_a_session_that_was_not_opened_yet_shows_itself_without_opening():
    chat = fanfold.AsyncSession(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    assert repr(chat) == "<AsyncSession, not opened yet>"


def test_a_view_is_short_in_a_terminal():
    view = talk().view()
    assert repr(view) == f"<View of {len(view.rows)} rows, {view.tokens:,} of 1,350 tokens>"


def test_an_entry_shows_its_first_words_and_not_its_wire_form():
    entry = fanfold.open("a", window=1_500).say("Watch\nthe disk. " * 20)
    assert repr(entry) == f"<Entry {entry.id[:8]} user: 'Watch the disk. Watch the disk. Watch the disk …'>"


def test_an_outcome_says_how_it_ended():
    chat = talk()
    outcome = chat.compact(force=True)
    assert (
        repr(outcome) == f"<Outcome {outcome.status}: {outcome.before:,} → {outcome.after:,} tokens by auto>"
    )


def test_a_closed_session_still_shows_itself(tmp_path):
    with fanfold.open("disk", window=1_500, store=f"sqlite:{tmp_path}/a.db") as chat:
        chat.say("Watch the disk.")
    assert repr(chat) == "<Session 'disk': 1 message, 11 of 1,350 tokens>"


def test_what_looks_and_finds_is_short_too():
    chat = fanfold.open("a", window=9_000)
    entry = chat.say("Hello")
    assert repr(chat.why(entry.id)) == f"<Why {entry.id[:8]} is in view>"
    chat.request()
    chat.say("World")
    chat.request()
    assert (
        repr(chat.diff(0, 1))
        == f"<Diff +1 -0 ~0 rows, {chat.sent(0)[1].tokens} → {chat.view().tokens} tokens>"
    )


def test_a_view_is_a_table_in_a_notebook_with_a_bar_for_each_row():
    view = talk(8).view()
    tags = read(view._repr_html_())
    assert tags.names.count("tr") == len(view.rows)
    assert "Hour 7." in tags.words
    assert f"{view.tokens:,} of 1,350 tokens" in tags.words
    assert " auto" in tags.words


def test_what_is_said_is_no_markup_in_a_notebook():
    chat = fanfold.open("<script>alert(1)</script>", window=9_000)
    chat.say("<script>alert(2)</script> & <b>bold</b>")
    tags = read(chat.view()._repr_html_())
    assert "script" not in tags.names
    assert "b" not in tags.names
    assert "<script>alert(2)</script> & <b>bold</b>" in tags.words


def test_a_difference_shows_what_came_and_what_went_in_a_notebook():
    chat = talk()
    diff = chat.diff(0, -1)
    tags = read(diff._repr_html_())
    assert "script" not in tags.names
    assert all(id[:8] in tags.words for id in (*diff.gone, *diff.came, *diff.changed))


def test_a_difference_says_in_words_what_came():
    chat = fanfold.open("a", window=9_000)
    chat.say("Hello")
    chat.request()
    entry = chat.say("World")
    chat.request()
    assert str(chat.diff(0, 1)) == f"8 → 13 tokens\n+ {entry.id[:8]}  ·  user           5  World"


def test_a_past_edit_says_what_it_did_and_what_became_of_it():
    chat = talk()
    chat.compact(force=True)
    (edit,) = chat.edits()
    assert repr(edit) == f"<PastEdit e1 {edit.says} by auto, stands>"
    chat.undo(edit.decision.id)
    assert repr(chat.edits()[0]) == f"<PastEdit e1 {edit.says} by auto, undone>"


def test_one_row_is_no_plural() -> None:
    chat = fanfold.open("talk", window=8_000)
    chat.say("Hello.")
    assert repr(chat.view()).startswith("<View of 1 row, ")
    chat.say("Are you there?")
    assert repr(chat.view()).startswith("<View of 2 rows, ")
