"""Rules as plain Python, with a planted slip: what a lockstep test must catch."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

WRAPPER = re.compile(r"^@(compiled|inlined|allocating)\n", re.MULTILINE)


def slipped(rules: ModuleType, old: str, new: str) -> ModuleType:
    """The rules, not compiled, with a piece of their text replaced."""
    text = Path(str(rules.__file__)).read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the rules"
    module = ModuleType("slipped")
    module.__file__ = rules.__file__
    # Where dataclasses look for the names in their annotations.
    sys.modules["slipped"] = module
    exec(WRAPPER.sub("", text.replace(old, new)), vars(module))
    return module
