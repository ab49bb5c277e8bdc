"""Matches that failed: how many and why, in a line per cell and one for a run without matches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gauntlet.common.sanitize import visible
from gauntlet.pipeline.log.results import CellResults

LONGEST = 200
"""Characters of an error in a line."""
TRACEBACK = "Traceback (most recent call last):"
OWN_ERROR = re.compile(r"^gauntlet\.common\.errors\.\w+: ")
"""The prefix of errors whose messages are written for users."""

Entries = Iterable[Mapping[str, Any]]
"""The lines of failed_matches.jsonl."""


def warnings(result: CellResults, entries: Entries) -> Iterator[str]:
    """That some or all of the cell's matches failed, and why."""
    if result.failed:
        matches = result.failed + len(result.outcomes)
        cause = _cause(_errors(result, entries))
        yield f"{result.failed:,} of {matches:,} matches failed{cause}"


def nothing_played(results: Sequence[CellResults], entries: Entries) -> str | None:
    """Why a run has no match at all; None if it has one, or none failed."""
    failed = sum(result.failed for result in results)
    if not failed or any(len(result.outcomes) for result in results):
        return None
    entries = list(entries)
    errors = sum((_errors(result, entries) for result in results), Counter[str]())
    return f"no match was played: all {failed:,} failed{_cause(errors)}"


def _errors(result: CellResults, entries: Entries) -> Counter[str]:
    """The errors of the cell's missing matches, each with its number of matches."""
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
    """The first line of the last exception, without its traceback."""
    lines = error.rpartition(TRACEBACK)[2].strip("\n").splitlines()
    line = next((line for line in lines if not line.startswith(" ")), error.strip())
    return OWN_ERROR.sub("", line)


def _cause(errors: Counter[str]) -> str:
    """The most frequent error; "" if unknown."""
    if not errors:
        return ""
    ((error, count),) = errors.most_common(1)
    often = "most often" if len(errors) > 1 else "always"
    return f", {often} ({count:,}) {visible(error)[:LONGEST]}"
