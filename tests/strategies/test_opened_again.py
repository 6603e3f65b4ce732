"""Hand-overs of a session that is opened again: they tell what they would have told if it had stayed open."""

from __future__ import annotations

from pathlib import Path

from builders import calls, gives, opened


def test_a_session_that_was_opened_again_hands_over_what_one_that_stayed_open_does(tmp_path: Path) -> None:
    def worked(file: str, halves: int) -> list[str]:
        told: list[str] = []
        for half in range(halves):
            with opened(8_000, store=f"sqlite:{tmp_path / file}") as chat:
                if not half:
                    chat.say("Read all pages. Never touch vendor/.")
                for number in range(half * 80 // halves, (half + 1) * 80 // halves):
                    path = f'{{"path": "src/page_{number}.py"}}'
                    chat.add(calls(f"c{number}", text=f"Page {number} next.", arguments=path))
                    chat.add(gives(f"c{number}", f"text of page {number}\n" * 60))
                    chat.request()
                told = [message.text for row in chat.view().rows for message in row.messages]
        return told

    stayed = worked("one.db", 1)
    assert any("page_3.py" in text for text in stayed), "the hand-over tells of the beginning"
    assert worked("two.db", 2) == stayed
    assert worked("four.db", 4) == stayed
