"""The rules of the house. The tables here are also the documentation."""

from __future__ import annotations

import ast
import gc
import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from pkgutil import walk_packages

import pytest

import fanfold
from fanfold import errors, testing
from fanfold.dialects.registry import DIALECTS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "fanfold"
DOCS = ROOT / "docs"

FOLDERS = {
    "text": "cutting, excerpts, names, kinds of data",
    "core": "the idea: message, edit, log, view, plan",
    "tokens": "what is counted, and what models there are",
    "plugins": "what other packages offer",
    "dialects": "how it is said to each provider",
    "deferral": "tools that come when they are needed",
    "outputs": "tool outputs: taken in, filtered, found again",
    "strategies": "what is decided: what to show less of",
    "systems": "the five systems that fanfold covers",
    "stores": "where it lies",
    "asking": "models that are asked",
    "config": "what a session is opened with",
    "session": "who holds it",
    "transcripts": "what other tools recorded",
    "testing": "fakes and checks, for the tests of users too",
    "replay": "policies measured on recorded conversations",
    "demo": "what `make demo` shows",
    "inspector": "the page that shows what the model saw",
    "gateway": "for agents that import nothing",
    "integrations": "at home in other frameworks",
    "cli": "the command line",
}
"""A folder imports only folders above it, and itself."""
ORDER = list(FOLDERS)
ROOT_FILES = {"__init__.py", "__main__.py", "py.typed"}
PURE = ("text", "core", "tokens")
"""No I/O, clock, randomness, logging, asyncio."""

IMPURE = {
    "asyncio", "concurrent", "ctypes", "datetime", "getpass", "http", "io", "logging", "multiprocessing", "os",
    "pathlib", "platform", "queue", "random", "secrets", "select", "shutil", "signal", "socket", "sqlite3", "ssl",
    "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid", "warnings", "zoneinfo",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input", "exec", "eval"}

LATE = {"asyncio", "click", "re2", "rich", "splintr"}
"""Slow to import: `import fanfold` must not pay for them."""

UNWANTED_WORDS = {
    "base", "engine", "handler", "helper", "helpers", "impl", "manager", "processor", "service", "util", "utils",
}  # fmt: skip
THEIR_WORDS = {
    "openai_base_url", "anthropic_base_url", "gemini_base_url", "api_handler", "condensing_api_handler", "engine",
    "handler", "conversation_manager",
}  # fmt: skip
"""Named after an argument of the provider's own SDK, of a system's own function, or after the option `--engine`."""

EVERY_FILE_ALIKE = {"anthropic", "chat", "gemini", "responses", "transcripts"}
"""One kind of thing a file: the README of `dialects` or a table of formats lists them."""
MOST_LINES_OF_THE_CORE = 3_100
"""It is read in one sitting."""
MOST_LINES_OF_A_FILE = 600
MOST_LINES_OF_A_FUNCTION = 50
MOST_UNNAMED_ARGUMENTS = 4
MOST_PARTICIPLES = 0.05
PARTICIPLES = {
    "begun", "bound", "broken", "brought", "built", "caught", "chosen", "done", "drawn", "found", "given", "gone",
    "grown", "heard", "held", "hidden", "kept", "known", "laid", "led", "left", "lent", "lost", "made", "meant",
    "met", "said", "seen", "sent", "shown", "spent", "spoken", "stood", "taken", "taught", "thrown", "told", "torn",
    "undone", "unread", "unseen", "unsent", "woven", "written",
}  # fmt: skip
"""Past participles that do not end in -ed. Those that are verbs too (`read`, `run`, `set`) are left out."""
NO_PARTICIPLES = {"embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "succeed"}

WRITES_JSON = {
    "text/json_text.py": "the one way",
    "dialects/weigh.py": "what is sent, weighed for every message: the fastest way, once it is known to be right",
    "dialects/reading.py": "looks whether writing what was read gives the same bytes",
    "stores/export.py": "keeps what no JSON can carry: it packs a line that does not come back as it was",
    "demo/script.py": "plays a provider, which puts spaces into arguments",
    "testing": "plays clients and providers, which write JSON as they like",
}
"""Who writes JSON otherwise than by `text/json_text.py`, and why."""

DATA = {"model_table.py"}
"""A table of facts, written by scripts/refresh_models.py."""


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Everything in a file, walked through once for all rules.

    None of it is garbage, for which Python would look again and again, and take longer than all rules together.
    """
    gc.disable()
    try:
        return tuple(ast.walk(tree_of(path)))
    finally:
        gc.enable()


def top_of(path: Path) -> str:
    """The module or package right under fanfold that a file belongs to; `` for `__init__.py` itself."""
    first = path.relative_to(SOURCE).parts[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, with its full name."""
    package = ("fanfold", *path.relative_to(SOURCE).parent.parts)
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            name = ".".join(filter(None, (*above, node.module)))
            yield from (f"{name}.{alias.name}" for alias in node.names)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def test_every_folder_has_its_place_in_the_table_and_no_file_lies_in_the_root() -> None:
    here = [path for path in SOURCE.iterdir() if path.name != "__pycache__"]
    assert {path.name for path in here if path.is_file()} == ROOT_FILES
    assert {path.name for path in here if path.is_dir()} - set(FOLDERS) == set()


def test_a_folder_imports_only_folders_above_it() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in modules()
        if (here := top_of(path)) in FOLDERS
        for name in imported(path)
        if name.split(".")[0] == "fanfold" and not _may_import(here, name.partition(".")[2].split(".")[0])
    ]
    assert wrong == []


def _may_import(here: str, there: str) -> bool:
    if there not in FOLDERS:  # fanfold itself, which is for those who use it as anybody does
        return ORDER.index(here) >= ORDER.index("testing")
    return ORDER.index(there) <= ORDER.index(here)


def test_no_integration_imports_another_one() -> None:
    seam = {"adapter", "laying", "requirement", "telling"}
    wrong = [
        f"{path.name} imports {name}"
        for path in (SOURCE / "integrations").glob("*.py")
        for name in imported(path)
        if name.startswith("fanfold.integrations.") and name.split(".")[2] not in seam
    ]
    assert wrong == []


def test_what_is_pure_stays_pure() -> None:
    wrong = []
    for path in modules():
        if top_of(path) not in PURE:
            continue
        wrong += [f"{path.name} imports {name}" for name in imported(path) if name.split(".")[0] in IMPURE]
        for node in nodes_of(path):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in IMPURE_CALLS
            ):
                wrong.append(f"{path.name}:{node.lineno} calls {node.func.id}")
    assert wrong == []


def test_slow_packages_are_imported_late() -> None:
    wrong = []
    for path in modules():
        for node in tree_of(path).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            early = {name.split(".")[0] for name in names} & LATE
            if early and top_of(path) not in ("cli", "demo", "testing", "gateway", "inspector"):
                wrong.append(f"{path.relative_to(SOURCE)} imports {', '.join(early)} at the top")
    assert wrong == []


def test_importing_fanfold_prints_nothing_and_loads_nothing_slow() -> None:
    code = f"import sys, fanfold; print(sorted({LATE!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_importing_fanfold_loads_only_what_is_pure() -> None:
    code = "import sys, fanfold; print(*(name for name in sys.modules if name.startswith('fanfold.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name.split(".")[1] for name in done.stdout.split()} <= set(PURE)


def test_no_name_says_nothing() -> None:
    wrong = []
    for path in modules():
        named = {path.stem, *(name for node in nodes_of(path) for name in _given_by(node))}
        wrong += [
            f"{path.relative_to(SOURCE)}: {name}"
            for name in sorted(named)
            if name not in THEIR_WORDS and _words(name) & UNWANTED_WORDS
        ]
    assert wrong == []


def _given_by(node: ast.AST) -> Iterator[str]:
    """The names that a piece of code gives to something."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case (
            ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store())
        ):
            yield name


def _words(name: str) -> set[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return set(spaced.lower().split("_"))


def classes() -> Iterator[tuple[Path, ast.ClassDef]]:
    for path in modules():
        yield from ((path, node) for node in nodes_of(path) if isinstance(node, ast.ClassDef))


def test_no_class_name_has_two_meanings() -> None:
    places: dict[str, list[str]] = {}
    for path, node in classes():
        places.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_more_than_four_arguments_of_a_class_are_given_by_name() -> None:
    ours = {node.name for _, node in classes()}
    wrong = []
    for path in modules():
        for node in nodes_of(path):
            match node:
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args):
                    if name in ours and len(args) > MOST_UNNAMED_ARGUMENTS:
                        wrong.append(f"{path.relative_to(SOURCE)}:{node.lineno}: {name} takes {len(args)}")
    assert wrong == []


def is_participle(name: str) -> bool:
    """Whether a name is one past participle and nothing else, which says neither what is done nor what comes back."""
    word = name.strip("_")
    return word not in NO_PARTICIPLES and (word in PARTICIPLES or re.fullmatch("[a-z]+ed", word) is not None)


def test_few_functions_are_named_by_a_bare_participle() -> None:
    names = [function.name for path in modules() for function in functions(path)]
    bare = sorted(name for name in names if is_participle(name))
    share = len(bare) / len(names)
    assert share <= MOST_PARTICIPLES, f"{share:.1%}: {', '.join(dict.fromkeys(bare))}"


def test_the_core_is_read_in_one_sitting() -> None:
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in (SOURCE / "core").glob("*.py"))
    assert lines <= MOST_LINES_OF_THE_CORE


def test_every_folder_has_a_short_guide() -> None:
    """What lives there, what may be touched, where to begin, the one surprise; for `core` a longer one."""
    folders = {path.parent for path in modules()} - {SOURCE}
    assert sorted(str(folder) for folder in folders if not (folder / "README.md").is_file()) == []
    lines = {
        folder.name: (folder / "README.md").read_text(encoding="utf-8").count("\n") for folder in folders
    }
    assert {name: count for name, count in lines.items() if name != "core" and not 10 <= count <= 30} == {}


def test_files_are_short() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    long = {
        str(path.relative_to(SOURCE)): count
        for path, count in lines.items()
        if count > MOST_LINES_OF_A_FILE and path.name not in DATA
    }
    assert long == {}


def test_functions_are_short() -> None:
    long = {
        f"{path.relative_to(SOURCE)}: {function.name}": length
        for path in modules()
        for function in functions(path)
        if (length := (function.end_lineno or 0) - function.lineno + 1) > MOST_LINES_OF_A_FUNCTION
    }
    assert long == {}


def test_nothing_takes_a_thread_of_the_callers_loop() -> None:
    """(19.18, 19.19) What waits there uses up the caller's threads, and holds up the end of the program."""
    taking = re.compile(r"\bto_thread\(|run_in_executor\(\s*None\b")
    taken = {path.name for path in (ROOT / "src").rglob("*.py") if taking.search(path.read_text())}
    assert taken == set()


def test_every_lock_is_one_that_ctrl_c_cannot_leave_taken() -> None:
    plain = re.compile(r"threading\.R?Lock\(|^from threading import .*Lock", re.M)
    named = {
        str(path.relative_to(SOURCE)) for path in modules() if plain.search(path.read_text(encoding="utf-8"))
    }
    assert named == {"testing/provider/provider.py"}, "the scripted provider imports nothing of fanfold"


def test_there_is_one_way_to_write_json() -> None:
    """What breaks on half a character or on NaN, and what writes a float in two ways, is found by users."""
    writing = re.compile(
        r"\bjson\.(?:dumps?|encode|Encoder)\b|from (?:msgspec\.)?json import .*(?:dumps?|[eE]ncode)"
    )
    found = {
        str(path.relative_to(SOURCE)) if top_of(path) != "testing" else "testing"
        for path in modules()
        if writing.search(path.read_text(encoding="utf-8"))
    }
    assert found == WRITES_JSON.keys()


def test_nothing_is_left_for_later() -> None:
    later = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
    places = [*modules(), *sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "examples").rglob("*.py"))]
    assert [str(path) for path in places if later.search(path.read_text(encoding="utf-8"))] == []


def test_the_list_of_public_names_is_sorted_and_complete() -> None:
    assert fanfold.__all__ == sorted(fanfold.__all__)
    assert [name for name in fanfold.__all__ if not hasattr(fanfold, name)] == []
    classes = {name for name, value in vars(errors).items() if inspect.isclass(value)}
    assert classes - set(fanfold.__all__) == set()


def test_all_public_names_are_listed_before_anybody_has_used_them() -> None:
    code = "import fanfold; print(*dir(fanfold)); print(fanfold.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names, version = done.stdout.splitlines()
    assert {*fanfold.__all__, "loop", "presets", "replay", "__version__"} - set(names.split()) == set()
    assert version == metadata.version("fanfold")


def test_completion_offers_what_is_public_and_nothing_else() -> None:
    """Also after a program has used much of the package."""
    code = "import fanfold, fanfold.cli; fanfold.open; fanfold.replay; print(*dir(fanfold))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = {name for name in done.stdout.split() if not name.startswith("__")}
    modules = {"asking", "loop", "presets", "replay", "systems", "testing", "transcripts"}
    assert names - modules == set(fanfold.__all__)


def test_help_explains_every_class_of_the_package() -> None:
    broken = []
    for value in loaded_classes():
        try:
            pydoc.plaintext.document(value)
        except NameError as error:  # an annotation that only a type checker can read
            broken.append(f"{value.__module__}.{value.__name__}: {error}")
    assert broken == []


def loaded_classes() -> Iterator[type]:
    """Every class of the package, but those of modules that need what is not installed here."""
    for info in walk_packages(fanfold.__path__, "fanfold.", onerror=lambda name: None):
        if not info.name.endswith("__main__"):
            with suppress(ImportError):
                found = vars(import_module(info.name)).values()
                yield from (one for one in found if inspect.isclass(one) and one.__module__ == info.name)


def test_the_signature_of_open_reads_well() -> None:
    assert " at 0x" not in str(inspect.signature(fanfold.open))
    assert "fallback: 'Sequence[Strategy]' = (digest_oldest, drop_seen" in str(
        inspect.signature(fanfold.open)
    )


def test_a_checkout_that_was_not_installed_runs_and_has_a_version() -> None:
    code = (
        "import sys; from importlib import metadata\n"
        "def absent(name): raise metadata.PackageNotFoundError(name)\n"
        "metadata.version = absent\n"
        "from fanfold.cli import main; raise SystemExit(main(['--version']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "fanfold, version 0+unknown\n"


@pytest.mark.parametrize("name", fanfold.__all__)
def test_every_public_name_has_a_docstring(name: str) -> None:
    text = inspect.getdoc(getattr(fanfold, name)) or ""
    assert text.splitlines()[0].endswith((".", ":")), "a sentence"


@pytest.mark.parametrize("name", fanfold.__all__)
def test_every_public_name_is_explained_in_a_page_written_by_hand(name: str) -> None:
    written = "\n".join(page.read_text(encoding="utf-8") for page in pages() if page.name != "names.md")
    assert re.search(rf"\b{name}\b", "\n".join(re.findall(r"`[^`\n]+`|```.*?```", written, re.DOTALL)))


def test_the_table_of_public_names_is_the_one_that_the_docstrings_make() -> None:
    script = ROOT / "scripts" / "write_names.py"
    done = subprocess.run([sys.executable, str(script), "--print"], capture_output=True, check=True)
    assert done.stdout.decode() == (DOCS / "names.md").read_text(encoding="utf-8"), (
        "run scripts/write_names.py"
    )


@pytest.mark.parametrize("verb", sorted(name for name in dir(fanfold.Session) if not name.startswith("_")))
def test_every_verb_of_a_session_is_documented(verb: str) -> None:
    page = (DOCS / "session.md").read_text(encoding="utf-8")
    assert re.search(rf"`{verb}\b", page)
    assert inspect.getdoc(getattr(fanfold.Session, verb))


@pytest.mark.parametrize("name", testing.__all__)
def test_everything_for_the_tests_of_users_is_documented(name: str) -> None:
    page = (DOCS / "testing.md").read_text(encoding="utf-8")
    assert re.search(rf"`{name}\(", page)
    assert inspect.getdoc(getattr(testing, name))


def test_every_dialect_is_in_the_page_on_dialects() -> None:
    page = (DOCS / "dialect.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([a-z.]+)` \|", page, re.MULTILINE)) == set(DIALECTS)


def test_every_error_is_in_the_page_on_errors() -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    classes = [name for name, value in vars(errors).items() if inspect.isclass(value)]
    assert [name for name in classes if f"| `{name}` |" not in page] == []


def test_every_error_is_in_the_tree_at_the_top_of_its_module_and_of_its_page() -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    for text in (errors.__doc__ or "", page):
        drawn = set(re.findall(r"[├└]── (\w+)|^(FanfoldError)$", text, re.MULTILINE))
        names = {a or b for a, b in drawn}
        assert names == {name for name, value in vars(errors).items() if inspect.isclass(value)}


def test_both_kinds_of_session_have_the_same_verbs() -> None:
    sync, asynchronous = (
        {name for name in dir(kind) if not name.startswith("_")}
        for kind in (fanfold.Session, fanfold.AsyncSession)
    )
    assert sync == asynchronous


VERBS = sorted(
    name for name, value in inspect.getmembers(fanfold.Session, callable) if not name.startswith("_")
)


def taken(function: Callable[..., object]) -> list[tuple[str, object, object]]:
    """What a function takes: names, kinds and defaults."""
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.kind, parameter.default) for parameter in parameters]


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_takes_the_same_in_both_kinds_of_session(verb: str) -> None:
    assert taken(getattr(fanfold.Session, verb)) == taken(getattr(fanfold.AsyncSession, verb))


@pytest.mark.parametrize("option", sorted(set(inspect.signature(fanfold.open).parameters) - {"name"}))
def test_every_option_of_a_session_is_documented(option: str) -> None:
    page = (DOCS / "session.md").read_text(encoding="utf-8")
    assert re.search(rf"^\|.*`{option}`.*\|.*\|$", page, re.MULTILINE)


def test_open_and_aopen_take_the_same() -> None:
    assert inspect.signature(fanfold.open) == inspect.signature(fanfold.aopen)


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    names = [name for name in listed.stdout.decode().split("\0") if name]
    if listed.returncode or not names:
        pytest.skip("not a git checkout")
    return [path for name in names if (path := ROOT / name).is_file()]


def test_no_tracked_file_names_a_package_registry_or_a_path_of_one_machine() -> None:
    hosts = [
        "py" + "pi.org",
        "python" + "hosted.org",
        "npm" + "js.org",
        "arti" + "factory",
        "index" + "-url =",
    ]
    paths = ["/ro" + "ot/", "/wo" + "rk/main", "/wo" + "rk/shared", "/Us" + "ers/", "/ho" + "me/runner"]
    wrong = []
    for path in tracked():
        content = path.read_bytes()
        wrong += [
            f"{path.relative_to(ROOT)}: {word}" for word in (*hosts, *paths) if word.encode() in content
        ]
    assert wrong == []


@pytest.mark.parametrize("readme", sorted(SOURCE.rglob("README.md")), ids=lambda path: path.parent.name)
def test_a_readme_names_files_that_are_there(readme: Path) -> None:
    """In its folder, below the package, or in a folder below its own, as every dialect has them."""
    named = set(re.findall(r"`([\w/]+\.py)`", readme.read_text(encoding="utf-8")))
    there = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")}
    missing = [name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in there)]
    assert [name for name in missing if not (ROOT / name).exists()] == []
    beside = {path.name for path in readme.parent.glob("*.py")} - {"__init__.py"}
    unsaid = [name for name in beside if name not in readme.read_text(encoding="utf-8")]
    assert unsaid == [] or readme.parent.name in EVERY_FILE_ALIKE
