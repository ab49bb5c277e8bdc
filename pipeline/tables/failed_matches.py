"""Matches that failed: of how many, and why, in a line a cell and one for a whole run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gauntlet.common.sanitize import visible
from gauntlet.pipeline.log.results import CellResults

LONGEST = 200
"""Of an error as a line, in characters."""
TRACEBACK = "Traceback (most recent call last):"
OURS = re.compile(r"^gauntlet\.common\.errors\.\w+: ")
"""What stands before the message of an error that is made to be read."""

Entries = Iterable[Mapping[str, Any]]
"""The lines of failed_matches.jsonl."""


def warnings(result: CellResults, entries: Entries) -> Iterator[str]:
    """That some or all of the cell's matches failed, and why."""
    if result.failed:
        matches = result.failed + len(result.outcomes)
        why = _cause(_errors(result, entries))
        yield f"{result.failed:,} of {matches:,} matches failed{why}"


def nothing_played(results: Sequence[CellResults], entries: Entries) -> str | None:
    """Why a run has no match at all; None where it has one, or none failed."""
    aside = sum(result.failed for result in results)
    if not aside or any(len(result.outcomes) for result in results):
        return None
    kept = list(entries)
    errors = sum((_errors(result, kept) for result in results), Counter[str]())
    return f"no match was played: all {aside:,} failed{_cause(errors)}"


def _errors(result: CellResults, entries: Entries) -> Counter[str]:
    """How many of the cell's missing matches each error explains."""
    latest = {
        (entry["deal"], entry["rotation"]): reason(entry["error"])
        for entry in entries
        if entry["cell"] == result.about.key
    }
    return Counter(
        error
        for (deal, rotation), error in latest.items()
        if deal < result.complete_deals and not result.outcomes.has(deal, rotation)
    )


def reason(error: str) -> str:
    """What was raised last, without its traceback and further lines of its message."""
    lines = error.rpartition(TRACEBACK)[2].strip("\n").splitlines()
    line = next((line for line in lines if not line.startswith(" ")), error.strip())
    return OURS.sub("", line)


def _cause(errors: Counter[str]) -> str:
    """The most frequent error; "" where the file does not tell."""
    if not errors:
        return ""
    ((error, count),) = errors.most_common(1)
    often = "most often" if len(errors) > 1 else "always"
    return f", {often} ({count:,}) {visible(error)[:LONGEST]}"
