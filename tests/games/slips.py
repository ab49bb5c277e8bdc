"""Rules as plain Python, with a planted slip: what a lockstep test must catch."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TypeVar

F = TypeVar("F")
IMPORT = re.compile(r"^from games\.\w+\.compiled import (.*)$", re.MULTILINE)


def slipped(rules: ModuleType, old: str, new: str) -> ModuleType:
    """The rules, not compiled, with a piece of their text replaced."""
    text = Path(str(rules.__file__)).read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the rules"
    module = ModuleType("slipped")
    for wrappers in IMPORT.findall(text):
        vars(module).update(dict.fromkeys(wrappers.split(", "), _as_it_is))
    # Where dataclasses look for the names in their annotations.
    sys.modules["slipped"] = module
    exec(IMPORT.sub("", text.replace(old, new)), vars(module))
    return module


def _as_it_is(function: F) -> F:
    return function
