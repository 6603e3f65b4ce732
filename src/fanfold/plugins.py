"""Plug-ins: what other packages offer by entry points, so that nobody has to touch the core (systems.md B6).

[project.entry-points."fanfold.strategies"]
minutes = "my_package:minutes"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from fanfold.errors import BadSetting

Kind = Literal["strategies", "codecs", "stores", "scorers", "passes"]
KINDS: tuple[Kind, ...] = ("strategies", "codecs", "stores", "scorers", "passes")


class Plugin(msgspec.Struct, frozen=True):
    """Something that an installed package offers."""

    kind: Kind
    name: str
    place: str
    """Module and object, as the package declares them."""
    package: str
    """The package and its version."""

    def load(self) -> Any:
        """The thing itself; `BadSetting` names the plug-in where its package cannot give it."""
        from importlib.metadata import EntryPoint

        try:
            return EntryPoint(self.name, self.place, f"fanfold.{self.kind}").load()
        except Exception as error:  # a stranger's module may raise anything while it is imported
            raise BadSetting(
                f"The plug-in {self.name!r} ({self.place} of {self.package}) cannot be loaded: "
                f"{type(error).__name__}: {error}. Mend or remove that package."
            ) from error


def installed(kind: Kind | None = None) -> Iterator[Plugin]:
    """The plug-ins of all installed packages; nothing of them is imported yet."""
    from importlib.metadata import entry_points  # late: most programs use what is built in

    for one in KINDS if kind is None else (kind,):
        for entry in entry_points(group=f"fanfold.{one}"):
            dist = entry.dist
            package = f"{dist.name} {dist.version}" if dist else "an unnamed package"
            yield Plugin(one, entry.name, entry.value, package)


def plugin(kind: Kind, name: str) -> Any | None:
    """What a package offers under this name, or None where none does. Two that offer it are an error."""
    found = [one for one in installed(kind) if one.name == name]
    if len(found) > 1:
        offered = ", ".join(f"{one.package} ({one.place})" for one in found)
        raise BadSetting(f"Several packages offer {name!r} among {kind}: {offered}. Remove all but one.")
    return found[0].load() if found else None


def names(kind: Kind) -> tuple[str, ...]:
    """The names of the plug-ins of a kind."""
    return tuple(sorted({one.name for one in installed(kind)}))
