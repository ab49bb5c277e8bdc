"""Packages that not everybody needs: the extras of pyproject.toml, imported where they are used."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from common.errors import UserError


def extra(module: str, name: str, package: str = "") -> ModuleType:
    """The module `module`, which the extra `name` installs. Raises UserError with the command
    that installs it where it is not there. package: what people know it by, where the module is
    called otherwise."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        absent = (error.name or module).partition(".")[0]
        if absent != module.partition(".")[0]:
            raise
        raise _absent(package or absent, name) from error


def require(package: str, name: str) -> None:
    """Raises what `extra` does, and imports nothing: for packages that take seconds, or that
    another process needs."""
    try:
        found = find_spec(package)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise _absent(package, name)


def _absent(package: str, name: str) -> UserError:
    return UserError(f"{package} is not installed: pip install 'gauntlet[{name}]'")
