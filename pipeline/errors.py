"""The errors that end a run with one line and status 2."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something asked for cannot be done; the message is one line that says what would do."""


class Halted(UserError):
    """A model answers no more: the run ends early, and all that was played is kept."""


def nearest(word: str, known: Iterable[str]) -> str:
    """ "; did you mean 'x'?" where a known name is close to `word`, and the names there are."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{hint} (known: {', '.join(names) or 'none'})"
