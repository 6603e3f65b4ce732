"""The page `reference.md` of the documentation, made when that is built: every public name with its signature, its
docstring, its fields and its methods. `python scripts/reference.py` prints it.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import fanfold

HEAD = """# Reference

Every public name with its signature, as the code has it: functions, then sessions, then the values they return, then
errors. The [names](names.md) are the same in one table. This page is made from the code.

"""
SESSIONS = ("Session", "AsyncSession", "Pool")
WIDTH = 100


def page() -> str:
    """The whole page."""
    public = {name: getattr(fanfold, name) for name in fanfold.__all__}
    functions = {name: value for name, value in public.items() if inspect.isfunction(value)}
    classes = {name: value for name, value in public.items() if isinstance(value, type)}
    errors = {name: value for name, value in classes.items() if issubclass(value, Exception)}
    values = {name: value for name, value in classes.items() if name not in (*errors, *SESSIONS)}
    modules = {name: value for name, value in public.items() if isinstance(value, ModuleType)}
    blocks = [HEAD, "## Functions\n"]
    blocks += [_function(name, value) for name, value in functions.items()]
    blocks += ["## Sessions\n", *(_class(name, classes[name]) for name in SESSIONS if name in classes)]
    blocks += ["## Values\n", *(_class(name, value) for name, value in values.items())]
    blocks += [
        "## Modules\n",
        *(f"- `fanfold.{name}`: {_first(value)}" for name, value in modules.items()),
        "",
    ]
    blocks += ["## Errors\n", *(f"- `{name}`: {_first(value)}" for name, value in errors.items()), ""]
    return "\n".join(blocks)


def _function(name: str, value: Any) -> str:
    return f"### `{name}`\n\n```py\n{_signature(name, value)}\n```\n\n{_doc(value)}\n"


def _class(name: str, value: type) -> str:
    parts = [f"### `{name}`\n", f"{_doc(value)}\n"]
    fields, members = list(_fields(value)), list(_members(value))
    if fields:
        parts += ["| field | type | what it is |", "|---|---|---|"]
        parts += [f"| `{field}` | `{_cell(kind)}` | {_cell(told)} |" for field, kind, told in fields]
        parts.append("")
    parts += [f"- {_member(title, told)}" for title, told in members]
    return "\n".join(parts) + ("\n" if members else "")


def _member(title: str, told: str) -> str:
    return f"`{title}`: {told}"


def _members(value: type) -> Iterator[tuple[str, str]]:
    """The public methods and properties that a class has itself, or from a class of fanfold, each with its words."""
    seen = set()
    for owner in value.__mro__:
        if not owner.__module__.startswith("fanfold"):
            continue
        for name, member in vars(owner).items():
            plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            is_method = inspect.isfunction(plain)
            if name.startswith("_") or name in seen or not (is_method or _is_property(member)):
                continue
            seen.add(name)
            yield (_flat(_signature(name, plain)) if is_method else name), _first(plain)


def _is_property(member: object) -> bool:
    return isinstance(member, property) or type(member).__name__ == "cached_property"


def _fields(value: type) -> Iterator[tuple[str, str, str]]:
    """The fields of a value, each with the line under it in the source."""
    if not hasattr(value, "__struct_fields__"):
        return
    for owner in reversed(value.__mro__):
        if owner.__module__.startswith("fanfold"):
            yield from _fields_of(owner)


def _fields_of(owner: type) -> Iterator[tuple[str, str, str]]:
    body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    assert isinstance(body, ast.ClassDef)
    for here, after in zip(body.body, [*body.body[1:], None], strict=True):
        match here:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind) if not name.startswith("_"):
                told = after.value.value if _is_words(after) else ""  # type: ignore[union-attr]
                yield name, ast.unparse(kind), str(told)


def _is_words(node: ast.stmt | None) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _signature(name: str, value: Any) -> str:
    """As it is called; one argument a line where it is long."""
    told = inspect.signature(value)
    arguments = list(_arguments([one for one in told.parameters.values() if one.name != "self"]))
    end = "" if told.return_annotation is told.empty else f" -> {_kind(told.return_annotation)}"
    line = f"{name}({', '.join(arguments)}){end}"
    lines = ",\n    ".join(arguments)
    return line if len(line) <= WIDTH else f"{name}(\n    {lines},\n){end}"


def _arguments(parameters: list[inspect.Parameter]) -> Iterator[str]:
    starred = False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not starred:
            yield "*"
        starred = starred or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        kind = "" if one.annotation is one.empty else f": {_kind(one.annotation)}"
        default = "" if one.default is one.empty else f" = {_default(one.default)}"
        yield f"{stars}{one.name}{kind}{default}"


def _kind(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _default(value: Any) -> str:
    if isinstance(value, tuple) and value:
        return f"({', '.join(map(_default, value))})"
    return getattr(value, "__name__", None) or repr(value)


def _flat(signature: str) -> str:
    return re.sub(r",\)", ")", re.sub(r"\(\s+", "(", re.sub(r"\s*\n\s*", " ", signature))).replace("( ", "(")


def _doc(value: object) -> str:
    return inspect.getdoc(value) or ""


def _first(value: object) -> str:
    return " ".join(_doc(value).partition("\n\n")[0].split())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def on_files(files: Any, config: Any) -> Any:
    """What mkdocs calls with the pages that it found: this one is added."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "reference.md", content=page()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """What mkdocs calls with each page: what users look for is found before the reasons for it."""
    if page.file.src_uri.startswith("decisions/"):
        page.meta["search"] = {"boost": 0.3}
    return markdown


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode())
