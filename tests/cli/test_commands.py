"""Every command has help with an example, --json, a place in the docs, and completes in the shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from conftest import Run
from fanfold.cli import app
from fanfold.cli.app import COMMANDS, fanfold
from fanfold.cli.sizes import parse_size, share

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "cli.md"


def command(name: str) -> click.Command:
    """The command of this name."""
    found = fanfold.get_command(click.Context(fanfold), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_help_with_an_example_and_json(run: Run, name: str) -> None:
    ran = run(name, "--help")
    assert ran.code == 0
    assert f"Example: fanfold {name}" in ran.out
    assert "--json" in ran.out
    assert command(name).get_short_help_str()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_and_every_option_of_it_is_documented(name: str) -> None:
    page = DOCS.read_text(encoding="utf-8")
    assert f"`fanfold {name}" in page
    for param in command(name).params:
        if isinstance(param, click.Option):
            assert param.help, f"{name} {param.name} has no help"
            assert max(param.opts, key=len) in page, f"{name} {param.opts}"


def test_a_command_that_is_none_is_wrong_usage(run: Run) -> None:
    ran = run("fitt")
    assert ran.code == 2
    assert ran.err == "fanfold: No such command 'fitt'. Did you mean 'fit'? See `fanfold --help`.\n"
    assert run("xyzzy").err == "fanfold: No such command 'xyzzy'. See `fanfold --help`.\n"
    assert run("show").err == "fanfold: Missing argument 'SESSION'. See `fanfold show --help`.\n"


def test_fanfold_alone_is_its_help(run: Run) -> None:
    assert run() == run("--help")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_with_its_whole_first_sentence(run: Run, name: str) -> None:
    sentence = command(name).get_short_help_str(80)
    assert len(sentence) < 72
    assert not sentence.endswith("...")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("128k", 128_000),
        ("1M", 1_000_000),
        ("64KiB", 65_536),
        ("12_000", 12_000),
        ("1.5k", 1_500),
        ("8,000", 8_000),
        ("8 k", 8_000),
        ("1.5", None),
        ("", None),
        ("-1", None),
    ],
)
def test_sizes_as_people_write_them(text: str, size: int | None) -> None:
    assert parse_size(text) == size


def test_shares_as_people_write_them() -> None:
    assert (share("85%"), share("0.5 %"), share("100k")) == (0.85, 0.005, 100_000)
    assert (type(share("100%")), type(share("1"))) == (float, int)
    for wrong in ("0%", "101%", "x%", "%"):
        with pytest.raises(click.BadParameter, match="is no share"):
            share(wrong)


def completed(words: str, **env: str) -> list[str]:
    """What the shell offers for the last of these words."""
    given = {"_FANFOLD_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": f"{words.count(' ')}"}
    code = "import sys; from fanfold.cli import main; sys.argv = ['fanfold']; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **given, **env}, capture_output=True, text=True
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_the_shell_completes_commands_models_strategies_and_sessions(store: str) -> None:
    assert completed("fanfold un") == ["undo", "unpin"]
    assert "claude-sonnet-4-5" in completed("fanfold fit --model claude-sonnet-4")
    assert completed("fanfold fit --strategy el") == ["elide"]
    assert completed("fanfold show r", FANFOLD_STORE=store) == ["run"]
    assert completed(f"fanfold export --store {store} ") == ["run"]
    assert completed("fanfold show r", FANFOLD_STORE="sqlite:none.db") == []


def test_colours_only_on_a_terminal(run: Run, store: str) -> None:
    assert "\x1b" not in run("show", "run").out + run("demo", "--fast", "--steps", "20").out


def test_the_reference_of_commands_is_what_the_commands_say() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts" / "write_commands.py", "--check"], check=False)
    assert done.returncode == 0, "run `make pages`"


def test_errors_name_options_and_commands_instead_of_python(run: Run, store: str, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(
        '[{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}]'
    )
    assert "give `--model` or `--window`" in run("fit", "talk.json").err
    unknown = run("fit", "talk.json", "--model", "nosuch").err
    assert "Give --window …, or write in fanfold.toml:" in unknown
    assert "register(" not in unknown
    assert "`fanfold show` shows" in run("undo", "run", "e9").err
    assert run("import", "talk.json").out == "talk: 1 message (plain)\n"
    assert "talk            1 " in run("ls").out


def test_each_way_to_say_an_error_to_people_is_one_that_a_command_says(
    run: Run, shortened: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library's words are for programmers; a command names its own options, and none of these rules is idle."""
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    run("fold", "run", ids[1], ids[2], "They looked.")
    run("export", "run", "-o", "run.jsonl")
    Path("talk.json").write_text('[{"role": "user", "content": "hi"}]')
    tried = [
        (("undo", "run", "e9"), "`fanfold show` shows which ones stand"),
        (("fit", "talk.json"), "give `--model` or `--window`"),
        (("import", "run.jsonl"), "There is a session 'run' already; import it under another one: `--name`."),
        (("fit", "talk.json", "--model", "nosuch"), "Give --window …, or write in fanfold.toml:"),
        (("why", "run", "zz"), "begins with 'zz': `fanfold show SESSION --ids` prints the ids."),
        (("undo", "run", "e1"), "Undo that first, or give --through to undo both."),
        (("pin", "run", "Never said."), "stands nowhere in the view; `fanfold note` it first."),
    ]
    errors, reword = list[str](), app._reword
    monkeypatch.setattr(app, "_reword", lambda text: reword(errors.append(text) or text))
    for words, says in tried:
        ran = run(*words)
        assert (ran.code, ran.out) == (2, ""), words
        assert says in ran.err
    monkeypatch.setenv("FANFOLD_KEY", "5a" * 32)
    run("import", "run.jsonl", "-s", "sqlite:sealed.db")
    monkeypatch.delenv("FANFOLD_KEY")
    assert "is sealed: put its key into FANFOLD_KEY." in run("ls", "-s", "sqlite:sealed.db").err
    idle = [said for said, _ in app._REWORDED if not any(re.search(said, error) for error in errors)]
    assert idle == []


def test_models_advises_only_what_it_can_do(run: Run, store: str) -> None:
    """There is no --window here; what is most like the model is named (19.11)."""
    said = run("models", "claude-opus-7").err
    assert "Known are, for example, claude-opus-5-5" in said
    assert "--window" not in said
    assert "--window" not in run("models", "--help").out
    assert "claude-opus-5-5" in run("models", "anthropic/claude-opus-5.5:free").out
