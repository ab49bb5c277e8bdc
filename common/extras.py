"""Packages that not everybody needs: the extras of pyproject.toml, imported where they are used."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from common.errors import UserError


def extra(module: str, name: str, package: str = "") -> ModuleType:
    """The module `module`, which the extra `name` installs. Raises UserError with the command
    that installs it where it is not there.

    package: what people know it by, where the module is called otherwise."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        absent = (error.name or module).partition(".")[0]
        if absent != module.partition(".")[0]:
            raise
        raise UserError(
            f"{package or absent} is not installed: pip install 'gauntlet[{name}]'"
        ) from error
