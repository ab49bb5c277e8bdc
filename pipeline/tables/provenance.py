"""Of what one log was made that a reader should know: runs that differ, and code that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gauntlet.pipeline.log import code
from gauntlet.pipeline.log.folder import Folder

FEW = 3
"""How many values a line lists."""


def notes(folder: Path) -> list[str]:
    """A line where the folder's runs were of several versions, commits or machines, and one for
    each time that changed code was accepted."""
    differ = apart(Folder(folder).lines("runs"))
    lines = [f"The records are of runs that differ: {differ}."] if differ else []
    lines += [f"{line}." for line in code.accepted(folder)]
    return [line[0].upper() + line[1:] for line in lines]


def apart(runs: Sequence[Mapping[str, Any]]) -> str:
    """In what the runs differ, with the values in their order; "" where in nothing."""
    columns: dict[str, list[Any]] = {}
    for run in runs:
        versions = run.get("versions")
        told = dict(versions) if isinstance(versions, Mapping) else {}
        for name, value in (
            *told.items(),
            ("commit", run.get("commit")),
            ("host", run.get("host")),
        ):
            columns.setdefault(name, []).append(value)
    names = {"commit": "commits", "host": "machines"}
    found = {
        name: list(dict.fromkeys(map(str, filter(None, all)))) for name, all in columns.items()
    }
    return "; ".join(
        f"{names.get(name, name)} {_listed(values)}"
        for name, values in found.items()
        if len(values) > 1
    )


def _listed(values: Sequence[str]) -> str:
    some = [*values[:FEW], f"{len(values) - FEW} more"] if len(values) > FEW else values
    return f"{', '.join(some[:-1])} and {some[-1]}"
