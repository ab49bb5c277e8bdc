"""Parsers of written answers: a move, a vote, a percentage.

Sources: TALAGA (ICLR 2024 submission iS3fQooCaa), Appendix A, and the code of GTBench (Duan et al.
2024): the last move that an answer mentions counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gauntlet.agents.base import Status

WRAPPED = "<([^<>]*)>"
AFTER = "(?i)move:"
CHOSEN = "(?i)best choice is"
NUMBER = r"-?\d+(?:\.\d+)?"


def move_in(reply: str, options: Sequence[str], form: str | None = None) -> int | Status:
    """The index of the option that a reply names last, or the error.

    Case, whitespace and underscores are ignored; among equal options the first is meant.

    form: a regular expression for moves, for games whose moves can be told from other words.
        Without it a move stands between < and >, or alone after the last "Move:" or on the last
        line.

    "malformed": no move at all. "illegal": a move that is none of the options.
    """
    names = [folded(option) for option in options]
    if form is not None:
        said = [found.group() for found in re.finditer(form, reply, re.IGNORECASE)]
    else:
        said = re.findall(WRAPPED, reply) or [
            bare for bare in _bare(reply) if folded(bare) in names
        ]
    if not said:
        return "malformed"
    return names.index(folded(said[-1])) if folded(said[-1]) in names else "illegal"


def folded(name: str) -> str:
    """The name without case, whitespace and underscores."""
    return re.sub(r"[\s_]+", "", name).casefold()


def _bare(reply: str) -> list[str]:
    """Where an unmarked move may stand; the last entry takes precedence."""
    lines = [
        line.strip(" .*\t") for line in re.split(AFTER, reply)[-1].splitlines() if line.strip()
    ]
    return [*lines[-1:], *lines[:1]]


def vote_in(reply: str, candidates: int) -> int | None:
    """The index of the candidate that a reply votes for; None if there is none. It is the last
    integer after "best choice is", counted from 1."""
    behind = re.split(CHOSEN, reply, maxsplit=1)[1:]
    numbers = re.findall(r"\d+", "".join(behind))
    place = int(numbers[-1][:9]) if numbers else 0
    return place - 1 if 1 <= place <= candidates else None


def share_in(reply: str) -> float | None:
    """The percentage in a reply's last line as a share from 0 to 1; None if there is none in range.
    It is the first number after the line's last "is"."""
    lines = [line for line in reply.splitlines() if line.strip()]
    found = re.search(NUMBER, lines[-1].rpartition(" is ")[2]) if lines else None
    figure = float(found.group()) if found else -1.0
    return figure / 100 if 0 <= figure <= 100 else None
