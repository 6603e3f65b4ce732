"""Settings from a file: `fanfold.toml` in the working folder, or the file that FANFOLD_CONFIG names.

[models."my-model"]
window = 200_000
max_output = 32_000
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from fanfold import models
from fanfold.errors import BadSetting
from fanfold.models import Model

NAME = "fanfold.toml"


def find_model(name: str) -> Model:
    """What is known about a model: from the table, from code, or from the settings file; else `UnknownModel`."""
    known = models.lookup(name)
    if known is None:
        register_models()
    return known or models.find(name)


def register_models() -> None:
    """Make the models of the settings file known."""
    for name, fields in _read().get("models", {}).items():
        models.register(_model(name, fields))


def _read() -> dict[str, Any]:
    import tomllib  # late: most programs have no settings file

    path = Path(os.environ.get("FANFOLD_CONFIG", NAME))
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadSetting(
            f"{path.name} cannot be read: {error}. Mend the file, or name another in FANFOLD_CONFIG."
        ) from error


def _model(name: str, fields: Any) -> Model:
    try:
        return msgspec.convert({"name": name, **fields}, Model)
    except (TypeError, msgspec.ValidationError) as error:
        known = ", ".join(field for field in Model.__struct_fields__ if field != "name")
        raise BadSetting(f'[models."{name}"] in {NAME}: {error}. Known are: {known}.') from error
