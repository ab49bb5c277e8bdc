"""Names in a line of text."""

from __future__ import annotations

from collections.abc import Sequence


def on_a_line(names: Sequence[str]) -> str:
    """What stands behind a colon: the names one after the other, or where one of them has a comma
    of its own a line each."""
    if any("," in name for name in names):
        return "".join(f"\n- {name}" for name in names)
    return f" {', '.join(names)}"
