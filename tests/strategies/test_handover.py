"""The hand-over: each section says what happened, from evidence, in the language of the conversation."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from fanfold.core.message import Call, Message, Result, Text, assistant, result, user
from fanfold.strategies.handover.evidence import ended
from fanfold.strategies.handover.facts import Asked, DoneCall, Said, items
from fanfold.strategies.handover.names import Known, Sight, chosen, guessable, names_in, ordered
from fanfold.strategies.handover.past import Chapter, folders_of, newest_of, root_of, tongue_for
from fanfold.strategies.handover.sections import Story
from fanfold.strategies.handover.talk import rank, replaced
from fanfold.strategies.handover.tongue import ENGLISH, JAPANESE
from fanfold.strategies.handover.tools import tools_with
from fanfold.strategies.handover.words import words_of
from fanfold.strategies.handover.writing import Room, outline
from fanfold.text.json_text import to_json
from tests.builders import asks, opened

WIDE = Room(20_000, 5_000, 8_000, 500, 500)
PLAN = [
    {"content": "Read the lexer", "status": "completed"},
    {"content": "Fix advance()", "status": "in_progress"},
    {"content": "Run the tests", "status": "pending"},
]


def told(*messages: Message, later: tuple[Message, ...] = (), room: Room = WIDE, **tools: str) -> str:
    """The hand-over of some messages."""
    table = tools_with(tools)
    everything = [(f"e{number}", message) for number, message in enumerate((*messages, *later))]
    own = tuple(items(everything[: len(messages)], table))
    all_of_it = tuple(items(everything, table))
    refs = {f"e{number}#0": f"o{number}" for number in range(len(everything))}
    behind = all_of_it[len(own) :]
    asked = [item for item in all_of_it if isinstance(item, Asked)]
    tongue = tongue_for(asked, [item for item in all_of_it if isinstance(item, Said)])
    story = Story(own, tongue, later=behind, refs=refs, root=root_of(folders_of(all_of_it)))
    return outline(story, room, lambda text: len(text) // 3 + 1).page().text


def ran(name: str, output: str, *, error: bool = False, **args: Any) -> tuple[Message, Message]:
    """A call and its result."""
    call = Call(f"c{abs(hash((name, output, to_json(args))))}", name, to_json(args))
    return assistant("", call), result(call.id, output, error=error)


def section(text: str, heading: str) -> list[str]:
    """The lines under a heading."""
    lines = text.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"[{heading}"))
    found = []
    for line in lines[start + 1 :]:
        if line.startswith("[") and not line.startswith("[x"):
            break
        found.append(line.removeprefix("- "))
    return found


def test_the_sections_stand_in_their_order() -> None:
    text = told(
        user("Fix the lexer. Never touch vendor/."),
        *ran("TodoWrite", "Todos have been modified", todos=PLAN),
        *ran(
            "Edit",
            "The file a.py has been updated.",
            file_path="a.py",
            old_string="x",
            new_string="def go(): pass",
        ),
        *ran(
            "Bash",
            "Exit code 1\nE   IndexError: list index out of range\n1 failed in 0.1s",
            command="pytest -q",
        ),
        assistant("The root cause is an off-by-one in advance()."),
    )
    heads = [line for line in text.splitlines() if line.startswith("[") and not line.startswith("[x")]
    names = ["task", "plan", "files", "done", "checks", "failures", "found"]
    assert [head[1:].replace(",", " ").replace(":", " ").split()[0] for head in heads] == names


def test_a_plan_is_told_with_its_states_and_the_newest_wins() -> None:
    old = [{"step": "Guess", "status": "pending"}]
    text = told(
        user("Go."), *ran("update_plan", "Plan updated", plan=old), *ran("todowrite", "ok", todos=PLAN)
    )
    assert section(text, "plan") == ["[x] Read the lexer", "[~] Fix advance()", "[ ] Run the tests"]


def test_of_a_long_plan_what_is_done_gives_way_before_what_is_open() -> None:
    steps = [{"content": f"Port module {number}", "status": "completed"} for number in range(40)]
    steps.insert(3, {"content": "Ask about the licence", "status": "in_progress"})
    text = told(user("Go."), *ran("todowrite", "ok", todos=steps), room=Room(600, 100, 300))
    plan = section(text, "plan")
    assert "[~] Ask about the licence" in plan
    assert 2 < len(plan) < len(steps)


def test_a_list_that_is_kept_task_by_task() -> None:
    text = told(
        user("Go."),
        *ran("TaskCreate", "Task #1 created successfully: Read", subject="Read", description="the file"),
        *ran("TaskCreate", "Task #2 created successfully: Fix", subject="Fix", description="the bug"),
        *ran("TaskUpdate", "Updated task #1 status", taskId="1", status="completed"),
    )
    assert section(text, "plan") == ["[x] Read", "[ ] Fix"]


def test_a_plan_that_is_still_in_view_is_not_told_in_its_old_state() -> None:
    newer = [{"content": "Fix advance()", "status": "completed"}]
    text = told(user("Go."), *ran("TodoWrite", "ok", todos=PLAN), later=ran("TodoWrite", "ok", todos=newer))
    assert "[plan" not in text


def test_files_tell_how_often_and_what_changed_last() -> None:
    text = told(
        user("Go."),
        *ran(
            "Write",
            "File created successfully at: a.py",
            file_path="a.py",
            content="import os\n\nclass Lexer:\n    x = 1",
        ),
        *ran(
            "Edit",
            "The file a.py has been updated.",
            file_path="a.py",
            old_string="x",
            new_string="def advance(self):",
        ),
        *ran(
            "Edit",
            "String to replace not found in file.",
            file_path="b.py",
            old_string="x",
            new_string="y = 2",
        ),
    )
    assert section(text, "files") == ["a.py: written, changed (o3); def advance(self):"]


NEW = "export const limit = 3"
PATCH = f"*** Begin Patch\n*** Update File: src/a.ts\n@@\n-old\n+{NEW}\n*** End Patch"


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("apply_patch", {"input": PATCH}),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'E'\n{PATCH}\nE"]}),
        ("str_replace_editor", {"command": "str_replace", "path": "src/a.ts", "old_str": "", "new_str": NEW}),
        ("replace", {"file_path": "src/a.ts", "old_string": "", "new_string": NEW}),
        ("mcp__files__edit_file", {"path": "src/a.ts", "edits": [{"oldText": "", "new_string": NEW}]}),
        ("acme_put", {"path": "src/a.ts", "content": NEW}),
    ],
)
def test_a_change_is_recognised_whoever_offers_the_tool(name: str, args: dict[str, Any]) -> None:
    (line,) = section(told(user("Go."), *ran(name, "Success", **args)), "files")
    assert line.startswith("src/a.ts: ")
    assert NEW in line


def test_users_add_their_own_tools() -> None:
    use = tools_with({"run_sql": "shell"}).use(Call("c", "run_sql", '{"command": "select 1"}'))
    assert (use.kind, use.subject) == ("shell", "select 1")


def test_done_tells_alike_steps_as_one() -> None:
    text = told(
        user("Go."),
        *ran("Read", "1→a", file_path="src/a.py"),
        *ran("Read", "1→b", file_path="src/b.py"),
        *ran("Bash", "waiting", command="wait worker"),
        *ran("Bash", "Exit code 1\nno worker", command="wait worker"),
    )
    assert section(text, "done") == [
        "read src/a.py (o2), src/b.py (o4)",
        "$ wait worker 2× → failed (exit 1) (o8)",
    ]


@pytest.mark.parametrize(
    ("output", "state"),
    [
        ("Exit code 2\nboom", False),
        ("Error: Exit code 1", False),
        ("Chunk ID: 1\nProcess exited with code 0\nOutput:\nok", True),
        ('{"output": "x", "metadata": {"exit_code": 1}}', False),
        ("<returncode>0</returncode>\n<output>x</output>", True),
        ("hello\n[The command completed with exit code 1.]", False),
        ("error: string | null", None),
        ("FAILED to do nothing", None),
    ],
)
def test_how_a_command_ended_is_told_by_evidence_only(output: str, state: bool | None) -> None:
    use = tools_with({}).use(Call("c", "Bash", '{"command": "run it"}'))
    assert ended(Result("c", (Text(output),)), use).ok is state


def test_a_file_that_tells_of_errors_is_no_failure() -> None:
    text = told(
        user("Go."),
        *ran("Read", "   1→error: string | null\n   2→raise ValueError('failed')", file_path="a.ts"),
    )
    assert "failed" not in text
    assert "[failures" not in text


def test_an_error_flag_is_evidence_whatever_the_text() -> None:
    text = told(user("Go."), *ran("fetch_it", "all is well", error=True, url="https://a.example/x"))
    assert "→ failed" in text


def test_behind_a_pipe_the_count_is_quoted_and_no_exit_code_is_claimed() -> None:
    output = "Process exited with code 0\nOutput:\nFAIL pkg/a 0.1s\nok pkg/b 0.2s"
    text = told(user("Go."), *ran("exec_command", output, cmd="go test ./... | tail -5"))
    assert "→ ok" not in text
    assert section(text, "checks") == ["go test ./... | tail -5: «FAIL pkg/a 0.1s» (o2)"]


def test_the_newest_run_of_each_check_is_told() -> None:
    text = told(
        user("Go."),
        *ran("Bash", "Exit code 1\nE  TypeError: bad\n2 failed, 1 passed in 0.2s", command="pytest -q 2>&1"),
        *ran("Bash", "All checks passed!", command="ruff check ."),
        *ran("Bash", "3 passed in 0.1s", command="pytest -q"),
    )
    assert section(text, "checks") == [
        "ruff check .: «All checks passed!» (o4)", "pytest -q: «3 passed in 0.1s» (o6)",
    ]  # fmt: skip


def test_a_failure_says_what_solved_it_or_that_nothing_did() -> None:
    text = told(
        user("Go."),
        *ran("Bash", "Exit code 1\nE  TypeError: bad\n1 failed in 0.2s", command="pytest -q"),
        *ran(
            "Edit",
            "The file src/a.py has been updated.",
            file_path="src/a.py",
            old_string="x",
            new_string="y = 1",
        ),
        *ran("Bash", "1 passed in 0.1s", command="pytest -q"),
        *ran("Bash", "Exit code 127\ndocker: command not found", command="docker ps"),
    )
    first, second = section(text, "failures")
    assert first == "pytest -q: «E TypeError: bad; 1 failed in 0.2s» → solved later, after a.py"
    assert second == "$ docker ps: «docker: command not found» → no success seen since"


def test_what_the_agent_concludes_is_told_before_what_it_announces() -> None:
    look = Call("c", "think", "{}")
    said = [assistant(f"Let me look at file number {number} of the folder.", look) for number in range(30)]
    text = told(
        user("Go."),
        assistant("The cause is the cache: it is never cleared."),
        *said,
        room=Room(400, 100, 120),
    )
    assert "The cause is the cache: it is never cleared." in text
    assert text.count("Let me look") < 10


@pytest.mark.parametrize(
    "announced",
    [
        "Reading part {}.", "Now the tests of part {}.", "I’ll look at part {} next.", "Step {}: the database",
        "Great! Let me read part {}.", "You're right. Let me check part {}.", "Still running part {}; no signal yet.",
        "次に、パート{}のモック設定とすべてのテストケース内の`mockAnalyzer`の参照を更新していきます：",
        "パート{}を読み込みます。",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "found",
    [
        "The index holds two keys for each row.",
        "I’ll use a lock file because two workers share the folder.",
        "キャッシュが消去されていません。",
        "Now the suite passes: 34 of 34.",
    ],
)
def test_announcements_give_way_to_what_was_found(announced: str, found: str) -> None:
    look = Call("c", "think", "{}")
    text = told(
        user("Go."),
        assistant(found, look),
        *(assistant(announced.format(number), look) for number in range(60)),
        room=Room(400, 100, 90),
    )
    assert f"- {found}\n" in f"{text}\n"


def test_a_sentence_that_says_nothing_by_itself_is_told_with_the_next() -> None:
    look = Call("c", "think", "{}")
    sayings = [
        assistant("I found the issue. The lexer drops the last sign. Let me fix it.", look),
        assistant("The test now shows:\n\n- agent=4, human=1\n\nLet me commit.", look),
        assistant("Pythonが利用できないようです。 別の方法で確認します：", look),
    ]
    text = told(user("Go."), *sayings, *[assistant(f"Round {n} is over.", look) for n in range(40)])
    for line in (
        "I found the issue. The lexer drops the last sign.",
        "The test now shows: agent=4, human=1",
        "Pythonが利用できないようです。",
    ):
        assert f"\n- {line}" in text


def test_in_brief_a_conclusion_is_told_rather_than_the_announcement_before_it() -> None:
    said = assistant(
        "Let me look at the log. The worker fails because its folder is gone.", Call("c", "think", "{}")
    )
    (whole,) = section(told(user("Go."), said), "found")
    assert whole == "Let me look at the log. The worker fails because its folder is gone."
    (brief,) = section(told(user("Go."), said, room=Room(400, 100, 42)), "found")
    assert brief == "The worker fails because its folder is gone."


@pytest.mark.parametrize(
    "marked", ["DECISION: refund her first.", "**Decision:** refund her first.", "結論：先に返金する。"]
)
def test_what_the_agent_marks_as_a_decision_is_told_though_no_word_in_it_concludes(marked: str) -> None:
    look = Call("c", "think", "{}")
    said = assistant(f"Jane Okafor (order 17) complains the most. {marked}", look)
    later = [assistant(f"Step {number}: next ticket.", look) for number in range(40)]
    assert marked.replace("**", "") in told(user("Go."), said, *later)


def test_what_was_said_in_passing_between_two_findings_is_one_line() -> None:
    look = Call("c", "think", "{}")
    said = ["The cause is the cache.", "Now update the reader.", "Step 2: the writer", "Both work now."]
    text = told(user("Go."), *[assistant(one, look) for one in said])
    assert section(text, "found") == [said[0], "Now update the reader. · Step 2: the writer", said[3]]


def test_code_that_the_agent_shows_is_no_sentence_of_its_own() -> None:
    look = Call("c", "think", "{}")
    shown = assistant(
        'The counts stand by file.\n```json\n{\n  "removed": 0,\n  "completed": 12\n}\n```\nI decided against a hash.',
        look,
    )
    text = told(user("Go."), shown, assistant("```sh\nmake fixed\n```", look))
    assert section(text, "found") == [
        "The counts stand by file. I decided against a hash.",
        "make fixed",
    ]


def test_what_the_agent_says_while_it_waits_gives_way_to_what_it_found_before() -> None:
    waits = [
        assistant(
            f"Still no completion after {number} minutes of the build.",
            Call(f"w{number}", "write_stdin", '{"session_id": 4711, "chars": ""}'),
        )
        for number in range(30)
    ]
    waits[20] = assistant(
        "The build failed at the lexer.", Call("w20", "write_stdin", '{"session_id": 4711, "chars": ""}')
    )
    text = told(
        user("Go."),
        assistant("Two workers share one cache folder.", Call("c", "think", "{}")),
        *waits,
        room=Room(400, 100, 320),
    )
    assert "Two workers share one cache folder." in text
    assert "The build failed at the lexer." in text
    assert text.count("Still no completion") < 10


@pytest.mark.parametrize(
    "begins",
    [
        "This session is being continued from a previous conversation that ran out of context.\nSummary:\n",
        "Another language model started to solve this problem and produced a summary of its thinking process.\n",
        "You were originally given instructions from a user over one or more turns. Here they are:\n",
        "<state_snapshot>\n<overall_goal>A parser.</overall_goal>\n",
        "<scratchpad>I look back.</scratchpad>\n<state_snapshot>\n",
        "```xml\n<state_snapshot>\n",
        "## Goal\n\nA parser.\n\n## Instructions\n\n- Be brief.\n\n## Discoveries\n\n",
        "## Conversation Summary\n",
    ],
)
def test_the_summaries_of_clients_are_kept_as_hand_overs_and_not_as_words_of_the_person(begins: str) -> None:
    summary = f"{begins}The lexer works. Never push to main. You must ask first.\n" + "It was long. " * 30
    text = told(user("Fix it."), user(summary), *ran("Bash", "Exit code 0", command="make"))
    assert section(text, "task") == ["Fix it."]
    assert "[rules" not in text
    handed = text.partition("[an earlier hand-over that the client wrote")[2]
    assert "The lexer works. Never push to main." in handed


def test_a_person_who_names_a_goal_is_no_client() -> None:
    assert words_of("## Goal\nFix the parser. Never push.").speaker == "person"


def test_a_clients_own_summary_is_no_word_of_the_person() -> None:
    told_by_client = (
        "This session is being continued from a previous conversation.\nSummary:\n" + "Never push. " * 30
    )
    text = told(user("Fix it."), user(told_by_client), assistant("Going on."))
    assert "[an earlier hand-over that the client wrote" in text
    assert "[rules" not in text
    assert section(text, "task") == ["Fix it."]


@pytest.mark.parametrize(
    ("text", "speaker"),
    [
        ("<local-command-stdout>Set model</local-command-stdout>", "notice"),
        ("# AGENTS.md instructions for /repo\n<INSTRUCTIONS>\nNever push.</INSTRUCTIONS>", "context"),
        ("<state_snapshot><goal>x</goal></state_snapshot>", "summary"),
        ("Base directory for this skill: /x\n\n# Skill\nYou must obey.", "notice"),
        ("fix it <system-reminder>You must be quiet.</system-reminder>", "person"),
        ("これまでの会話の要約：完了", "summary"),
    ],
)
def test_who_speaks_in_a_message_of_the_user(text: str, speaker: str) -> None:
    words = words_of(text)
    assert words.speaker == speaker
    assert words.rules == ()


def test_rules_are_sentences_of_the_person_and_no_lines_of_what_was_pasted() -> None:
    document = "\n".join(f"## Part {number}\nYou must read part {number}." for number in range(80))
    log = "```\nERROR must not be null\n```"
    words = words_of(f"Never push to main.\n{log}\n{document}")
    assert words.rules == ("Never push to main.",)


def test_a_japanese_conversation_has_the_same_structure() -> None:
    text = told(
        user("字句解析器を修正してください。vendor は絶対に変更しないでください。"),
        *ran("TodoWrite", "ok", todos=[{"content": "テストを実行する", "status": "pending"}]),
        *ran("Bash", "Exit code 1\nエラー: 値が見つかりません", command="npm run lint"),
        assistant("原因はキャッシュでした。"),
    )
    heads = [line for line in text.splitlines() if line.startswith("[") and not line.startswith("[ ")]
    assert heads == [
        JAPANESE.task, JAPANESE.plan, JAPANESE.done, JAPANESE.checks, JAPANESE.failures, JAPANESE.found,
    ]  # fmt: skip
    assert "npm run lint → 失敗 (終了コード 1)" in text
    assert ENGLISH.found not in text


def test_each_line_names_the_entries_it_was_made_from() -> None:
    messages = [user("Go."), *ran("Bash", "Exit code 1\nno", command="make it")]
    own = tuple(items([(f"e{n}", m) for n, m in enumerate(messages)], tools_with({})))
    page = outline(Story(own, ENGLISH), WIDE, len).page()
    lines = page.text.split("\n")
    sources = {lines[number - 1]: source for number, source in page.sources}
    assert sources["- Go."] == "@p e0"
    assert sources["- $ make it → failed (exit 1)"] == "@a e2#0"


def test_of_a_long_past_requests_stay_and_the_newest_of_all_else() -> None:
    step = [*ran("Bash", "ok", command="ls"), *ran("Write", "ok", file_path="/a/b.py", content="x = 1")]
    messages = [message for _ in range(40) for message in (user("Go on."), assistant("I look."), *step)]
    own = tuple(items([(f"e{n}", m) for n, m in enumerate(messages)], tools_with({})))
    standing = tuple(
        item for item in own if isinstance(item, Asked) or (isinstance(item, DoneCall) and item.use.changes)
    )
    chapters = [Chapter(None, items=own, standing=standing)]
    assert newest_of(chapters, len(own)) == (own, False)
    kept, cut = newest_of(chapters, 16)
    assert cut
    assert kept[-16:] == own[-16:]
    assert [item for item in kept if isinstance(item, Asked)] == [
        item for item in own if isinstance(item, Asked)
    ]
    assert [item for item in kept if not isinstance(item, Asked)][:-12] == [
        item for item in standing[:-8] if not isinstance(item, Asked)
    ][-16:]


@pytest.mark.parametrize("room", range(100, 1_000, 150))
def test_where_names_do_not_all_fit_the_first_of_them_stay(room: int) -> None:
    names = [(f"srv/{number:x}/9f{number:03x}c2.go", f"o{number}") for number in range(90)]
    refs = {f"e{number}#0": f"o{number}" for number in range(90)}
    page = outline(Story((), ENGLISH, refs=refs), Room(20_000, 0, 0, room), lambda text: len(text) // 3 + 1)
    text = page.page(iter(names)).text
    stay = [name for name, _ in names if name in text]
    assert stay
    assert stay == [name for name, _ in names[: len(stay)]]


@pytest.mark.parametrize("name", ["px-3", "a-z0-9", "utf-8", "x86_64", "1-2", "2026-06-18T04"])
def test_names_that_anybody_could_write_are_left_out(name: str) -> None:
    assert guessable(name, "apps/cli/src/export.ts") == {name}


GUESSED = {
    "12345", "main.py", "/etc/hosts", "./src/main.py", "src/main.py", "1111111", "a/node_modules/b/c/d.js",
}  # fmt: skip
HARD = {
    "1234567", "/etc/ssl/certs", "../src/app/main.py", "apps/cli/export.ts", "ann@example.org", "call_12ab", "f00dfee1",
}  # fmt: skip


def test_what_anybody_could_write_is_told_for_many_names_at_once() -> None:
    assert guessable(*GUESSED, *HARD) == GUESSED
    assert guessable() == set()


def test_paths_rank_before_prose_and_long_hashes() -> None:
    names = ["runner/gate/artifact", "0123456789abcdef0123456789abcdef01234567", "apps/cli/src/export.ts"]
    assert next(ordered(dict.fromkeys(names, Sight()), Known())) == "apps/cli/src/export.ts"


LIKELIER = {
    "seen lately": (Sight(age=2), Sight(age=80)),
    "one of few": (Sight(among=3), Sight(among=300)),
    "seen often": (Sight(among=300, times=40), Sight(among=300)),
    "seen again": (Sight(among=9).again(3), Sight(among=9)),
}


def test_many_names_rank_as_two_by_two() -> None:
    seen = {
        f"srv/{'used' if at % 7 == 0 else 'other'}/{at % 5}/{'said' if at % 3 == 0 else 'kept'}-{at}.go": Sight(
            age=at // 9, among=1 + at % 4
        )
        for at in range(900)
    }
    known = Known(used=frozenset({"app/used/main.go"}), spoken=frozenset({b"said"}))
    names = list(ordered(seen, known))
    assert len(names) == len(seen)
    for pair in pairwise(names):
        assert list(ordered({name: seen[name] for name in seen if name in pair}, known)) == list(pair)


@pytest.mark.parametrize("sights", LIKELIER.values(), ids=LIKELIER)
def test_a_name_ranks_by_how_it_was_seen(sights: tuple[Sight, Sight]) -> None:
    seen = dict(zip(["srv/api/users.go", "srv/api/teams.go"], sights, strict=True))
    assert list(ordered(seen, Known())) == ["srv/api/users.go", "srv/api/teams.go"]
    assert list(ordered(dict(reversed(seen.items())), Known())) == ["srv/api/users.go", "srv/api/teams.go"]


def test_a_name_that_ends_in_words_that_were_said_ranks_before_others() -> None:
    seen = dict.fromkeys(["srv/api/teams.go", "srv/api/users.go"], Sight())
    assert next(ordered(seen, Known(spoken=frozenset({b"users"})))) == "srv/api/users.go"


def test_a_folder_is_not_listed_beside_a_file_in_it() -> None:
    assert chosen(iter(["srv/api/v2/users.go", "srv/api/v2", "srv/lib/v2"]), 100) == [
        "srv/api/v2/users.go",
        "srv/lib/v2",
    ]


def test_small_talk_ranks_last_and_rules_first() -> None:
    talk = ["Thanks, great!", "What is that?", "I live in Kyoto.", "Never call me before nine."]
    assert [rank(sentence) for sentence in talk] == [0, 1, 3, 4]
    assert [
        rank(sentence) for sentence in ["ありがとう！", "私は京都に住んでいます。", "必ず敬語で話すこと。"]
    ] == [0, 3, 4]


def test_a_later_value_replaces_an_earlier_one() -> None:
    gone = replaced(("My budget is 500 dollars.", "I like tea.", "Actually, my budget is 800 dollars now."))
    assert gone == frozenset({"My budget is 500 dollars."})


def test_where_room_is_short_what_matters_stays_and_small_talk_goes() -> None:
    facts = [
        f"My {thing} is number {number}." for number, thing in enumerate(("locker", "car", "gate", "desk"))
    ]
    talk = [
        message
        for fact in facts
        for message in (user(fact), user("Thanks, great!"), user("How nice is that?"))
    ]
    text = told(user("Help me move."), *talk, room=Room(52, 52, 0))
    assert all(fact in text for fact in facts)
    assert "Thanks" not in text


def test_a_failure_that_was_tried_again_without_a_sign_of_how_it_ended() -> None:
    text = told(
        user("Go."),
        *ran("Bash", "Exit code 1\nerror: no such branch", command="git push origin main"),
        *ran("Bash", "Everything up-to-date", command="git push origin main"),
    )
    assert section(text, "failures") == [
        "$ git push origin main: «error: no such branch» → tried again later; how that ended is not shown"
    ]


def test_a_failure_that_came_again_is_open() -> None:
    text = told(
        user("Go."),
        *ran("Bash", "Exit code 1\nerror: no such branch", command="git push origin main"),
        *ran("Bash", "Everything up-to-date", command="git push origin main"),
        *ran("Bash", "Exit code 1\nerror: no such branch", command="git push origin main"),
    )
    assert section(text, "failures") == [
        "$ git push origin main: «error: no such branch» → no success seen since"
    ]


def test_commands_that_differ_at_their_end_are_told_apart() -> None:
    paths = " ".join(f"tests/unit/core/part_{number}.test.ts" for number in range(6))
    runs = (f"npx jest {paths} --silent -t {name}" for name in ("TC-2.1", "TC-2.2"))
    text = told(user("Go."), *(message for run in runs for message in ran("Bash", "x" * 500, command=run)))
    ends = [line.partition("…")[2] for line in section(text, "done")]
    assert [("TC-2.1" in end, "TC-2.2" in end) for end in ends] == [(True, False), (False, True)]


LABELLED = {
    "cd /home/ana/code/shop/frontend && NODE_ENV=test npm ls --all": "npm ls --all",
    'export A="x y" && npm ls': "npm ls",
    "tag=$(git describe --tags) && npm ls": "tag=$(git describe --tags) && npm ls",
}


@pytest.mark.parametrize("command", LABELLED)
def test_an_output_is_labelled_by_the_command_and_not_by_where_it_ran(command: str) -> None:
    small = Room(300, 100, 0, outputs=100)
    text = told(user("Go."), *ran("Bash", "x\n" * 500, command=command), room=small)
    assert section(text, "outputs") == [f"$ {LABELLED[command]}, 500 lines (o2)"]


def test_the_answers_to_edits_are_no_outputs_to_look_up_first() -> None:
    edit = ran(
        "Edit",
        f"The file a.py has been updated.\n{'    1→x' * 100}",
        file_path="a.py",
        old_string="x",
        new_string="y",
    )
    text = told(
        user("Go."), *ran("Bash", "x\n" * 300, command="ls -R"), *edit, room=Room(300, 100, 0, outputs=100)
    )
    assert section(text, "outputs")[-1] == "$ ls -R, 300 lines (o2)"
    assert section(text, "outputs")[0] == "Edit (o4)"


def test_a_lint_that_also_fixes_is_the_same_check() -> None:
    text = told(
        user("Go."),
        *ran("Bash", "Exit code 1\nFound 1 error.", command="bun run lint:fix"),
        *ran("Bash", "Checked 278 files in 106ms. No fixes applied.", command="bun run lint"),
    )
    assert len(section(text, "checks")) == 1
    assert "solved later" in section(text, "failures")[0]


PLACES = {
    "http://localhost:3000/chunk-36j.js:30815:13": "http://localhost:3000/chunk-36j.js",
    "cmd/cli/strategy/hooks.go:141": "cmd/cli/strategy/hooks.go",
    "http://127.0.0.1:8080": "http://127.0.0.1:8080",
    "http://db.example.org:5432": "http://db.example.org:5432",
    "2025-01-15-session-123": "2025-01-15-session-123",
}


@pytest.mark.parametrize("said", PLACES)
def test_a_line_of_a_file_names_the_file(said: str) -> None:
    chat = opened()
    chat.add(asks("Go."))
    view = chat.view()
    assert list(names_in("e0#0", Text(f"see {said} there"), view)) == [PLACES[said]]


def test_every_output_has_a_reference_where_there_is_no_room_for_more() -> None:
    reads = [ran("fetch", f"{number} " * 400, url=f"https://example.com/{number}") for number in range(40)]
    text = told(user("Go."), *(message for one in reads for message in one), room=Room(900, 100, 100, 0, 400))
    known = {ref for line in text.splitlines() for ref in line.rpartition("(")[2].rstrip(")").split(", ")}
    assert {f"o{2 * number + 2}" for number in range(40)} <= known


def test_what_is_said_in_passing_leaves_room_for_what_was_done() -> None:
    steps = [
        message
        for number in range(60)
        for message in (
            assistant(f"Now let me look at part {number}, which comes next."),
            *ran("Bash", "", command=f"cat part-{number}"),
        )
    ]
    text = told(user("Go."), *steps, room=Room(2_000, 100, 800))
    done, (passing,) = section(text, "done")[1:], section(text, "found")
    assert len(done) > 2 * (passing.count(" · ") + 1)


RUNS = "Wall time: 30 seconds\nProcess running with session ID 4711\nOutput:\nlistening"


def test_what_still_runs_is_told_with_the_number_to_ask_for_it() -> None:
    text = told(
        user("Go."),
        *ran("exec_command", RUNS, cmd="npm run dev"),
        *ran(
            "Bash",
            "Command running in background with ID: bash_2",
            command="make watch",
            run_in_background=True,
        ),
        *ran("Task", "Async agent launched successfully.\nagentId: a7470ed", description="Look at the docs"),
        *ran("write_stdin", RUNS, session_id=4711, chars=""),
    )
    assert section(text, "running when last seen") == [
        "4711: $ npm run dev", "bash_2: $ make watch", "a7470ed: Task Look at the docs",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "end",
    [
        ran("write_stdin", "Process exited with code 0\nOutput:\n", session_id=4711, chars=""),
        ran("kill_session", "gone", id="4711"),
        ran("BashOutput", "<status>completed</status>", bash_id="4711"),
    ],
)
@pytest.mark.parametrize("later", [False, True])
def test_what_has_ended_is_not_told_as_running(end: tuple[Message, Message], later: bool) -> None:
    begun = ran("exec_command", RUNS, cmd="npm run dev")
    text = told(user("Go."), *begun, later=end) if later else told(user("Go."), *begun, *end)
    assert "running when last seen" not in text


def test_a_small_layer_names_all_that_runs() -> None:
    begun = [
        message
        for number in range(8)
        for message in ran(
            "exec_command",
            RUNS.replace("4711", str(4711 + number)),
            cmd=f"npm run part-{number} --long --options",
        )
    ]
    text = told(user("Go."), *begun, *ran("Bash", "x" * 400, command="make"), room=Room(700, 100, 300))
    assert all(str(4711 + number) in text for number in range(8))


REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\nkeep the old name"
)


def test_why_a_person_refused_a_change_stands_among_what_he_asked() -> None:
    refused = ran("Edit", REFUSED, error=True, file_path="/src/a.py", old_string="x", new_string="y")
    text = told(user("Go."), *refused, user("And now the rest."))
    assert section(text, "task") == ["Go.", "refused Edit /src/a.py: keep the old name", "And now the rest."]


@pytest.mark.parametrize(
    ("tool", "args"), [("Bash", {"command": "cat a"}), ("mcp__x__write_file", {"path": "a", "text": "b"})]
)
def test_words_of_a_refusal_that_others_may_have_written_are_quoted(tool: str, args: dict[str, str]) -> None:
    text = told(user("Go."), *ran(tool, REFUSED, error=True, **args))
    assert section(text, "task") == ["Go."]
    assert "«the user said: keep the old name»" in text


def test_what_a_person_chose_stands_among_what_he_asked_in_order() -> None:
    question = "Which one shall I review?"
    answer = (
        f'User has answered your questions: "{question}"="#325". '
        "You can now continue with the user's answers in mind."
    )
    chosen = ran("AskUserQuestion", answer, questions=[{"question": question}])
    text = told(user("Review something."), *chosen, user("Now the next one."))
    assert section(text, "task") == ["Review something.", f'"{question}"="#325".', "Now the next one."]
    assert "[done" not in text


def test_commands_that_only_look_give_way_to_those_that_change_something() -> None:
    made = ran("Bash", "", command="git branch backup/before-the-merge main")
    looks = [ran("Bash", f"{number}", command=f"cat src/part_{number}.py") for number in range(60)]
    text = told(user("Go."), *made, *(message for one in looks for message in one), room=Room(900, 100, 300))
    assert "$ git branch backup/before-the-merge main (o2)" in section(text, "done")


def test_the_message_of_a_commit_is_found_and_decided() -> None:
    commit = ran(
        "Bash", "", command="git commit -m 'read tabs: they were one word, because we split at spaces'"
    )
    assert section(told(user("Go."), *commit), "found") == [
        "read tabs: they were one word, because we split at spaces"
    ]
