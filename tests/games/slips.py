"""Rules with a planted bug that a lockstep test must catch."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gauntlet.games import compiling

WRAPPER = re.compile(r"^@(compiled|inlined|allocating)\n", re.MULTILINE)


def changed(path: str, old: str, new: str) -> str:
    """Return the text of a file with a piece replaced, which must occur once."""
    text = Path(path).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
    return text.replace(old, new)


def slipped(rules: ModuleType, old: str, new: str) -> ModuleType:
    """Return the rules, not compiled, with a piece of their text replaced."""
    module = ModuleType("slipped")
    module.__file__ = rules.__file__
    # Where dataclasses look for the names in their annotations.
    sys.modules["slipped"] = module
    exec(WRAPPER.sub("", changed(str(rules.__file__), old, new)), vars(module))
    return module


def planted(rules: ModuleType, old: str, new: str) -> ModuleType:
    """Return the slipped rules, with random numbers generated in plain Python too."""
    module = slipped(rules, old, new)
    vars(module).update(derive=lambda *event: np.uint64(compiling.derive(*event)))
    return module


def slipped_package(package: str, file: str, old: str, new: str) -> ModuleType:
    """Import a copy of the package, next to the real one, with a piece of one file replaced."""
    spec = find_spec(f"{package}.{file}")
    assert spec is not None
    assert spec.origin is not None
    wrong, true = (
        compile(changed(spec.origin, old, new), spec.origin, "exec"),
        SourceFileLoader.get_code,
    )

    def get_code(loader: Any, name: str) -> Any:
        return wrong if name == f"{package}.{file}" else true(loader, name)

    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
            patch.delitem(sys.modules, name)
        parent, _, own = package.rpartition(".")
        patch.setattr(sys.modules[parent], own, None)
        patch.setattr(SourceFileLoader, "get_code", get_code)
        module = importlib.import_module(package)
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
            patch.delitem(sys.modules, name)
    return module


def caught(lockstep: Callable[[Any, int], object], game: Any, games: int) -> bool:
    """Whether a referee disagrees on one of these games."""
    for number in range(games):
        try:
            lockstep(game, number)
        except (AssertionError, StopIteration, LookupError, ValueError):
            return True
    return False
