"""What a folder's results are of: the game, the players by seat, and how to reproduce them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gauntlet.pipeline.log import code
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.tables.formatting import capitalize
from gauntlet.pipeline.tables.media.page import Entry

NAMES, VALUES = 3, 3
"""Players of a seat that are named, and values that a line lists."""
HASH, VALUE = 12, 48
"""Characters shown of a hash, and of another setting."""

Description = Mapping[str, Any]
"""A cell's description, from `Folder.description`."""


def facts(folder: Path, results: Sequence[CellResults], names: Sequence[str]) -> list[Entry]:
    """The lines at the top of a report. names: the page's name for each cell."""
    log, abouts = Folder(folder), [result.about for result in results]
    keys = [f"{name}: {about.key}" for name, about in zip(names, abouts, strict=True)]
    cells = [log.description(about) for about in abouts]
    runs = log.lines("runs")
    command = [runs[-1]["command"]] if runs and "command" in runs[-1] else []
    seed = str(log.seed)
    if not isinstance(log.seed, int):
        seed = f"{', '.join(map(str, log.seed))}, in turn deal by deal"
    versions, played = [], []
    for run in runs[-1:]:
        made_with = [f"commit {run['commit']}"] if run.get("commit") else []
        made_with += [f"{name} {version}" for name, version in run["versions"].items()]
        versions.append(", ".join(made_with))
        machine = f" ({run['machine']})" if run.get("machine") else ""
        played.append(f"{run['started']} on {run['host']}{machine}")
    entries = [
        Entry("note", [log.note_line] if log.note_line else []),
        Entry("game", _unique(map(_game, cells))),
        Entry("players by seat", _seats(abouts, cells)),
        Entry("seating", _unique(map(_seating, abouts))),
        Entry("models", _models(cells)),
        Entry("deals", [_deals(results)]),
        Entry("seed", [seed]),
        Entry("command", command, code=True),
        Entry("versions", versions),
        Entry("last played", played),
        Entry("cells' keys", keys),
        Entry("records' schema", _unique(str(cell["identity"]["schema"]) for cell in cells)),
    ]
    return [entry for entry in entries if any(entry.values)]


def title(labels: Sequence[Mapping[Any, Any]]) -> str:
    """The games and players of a sweep, in words. labels: of its cells."""
    games, models, prompts, agents = (
        _unique(each[name] for each in labels if each[name] != "-")
        for name in ("game", "model", "prompt", "agent")
    )
    players = _named(agents, "players")
    if models:
        players = f"{_named(models, 'models')} by {_named(prompts, 'prompts')}"
    return f"{_named(games, 'games')}: {players}"


def _named(names: Sequence[str], many: str) -> str:
    """The names, or how many there are."""
    return ", ".join(names) if len(names) <= NAMES else f"{len(names)} {many}"


def _unique(values: Iterable[str]) -> list[str]:
    """Every value once, in order."""
    return list(dict.fromkeys(values))


def _game(cell: Description) -> str:
    game = dict(cell["identity"]["game"])
    name, seats = game.pop("class"), game.pop("num_seats", None)
    settings = [f"{seats} seats"] if seats else []
    settings += [f"{key} {_setting(value)}" for key, value in game.items()]
    return f"{cell['labels']['game']} ({name}): {', '.join(settings)}"


def _setting(value: Any) -> str:
    """A setting, shortened."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if len(text) >= 40 and all(letter in "0123456789abcdef" for letter in text):
        return text[:HASH]
    return text if len(text) <= VALUE else f"{text[: VALUE - 3]}..."


def _seats(abouts: Sequence[CellInfo], cells: Sequence[Description]) -> list[str]:
    """A line for each game and seating: who sits where, over all its cells."""
    groups: defaultdict[tuple[str, str, int], list[tuple[CellInfo, list[str]]]] = defaultdict(list)
    for about, cell in zip(abouts, cells, strict=True):
        players = cell["players"]
        groups[about.labels["game"], about.labels["seats"], len(players)].append((about, players))
    lines = []
    for (game, seats, _), group in groups.items():
        measured = group[0][0].seats[0]
        by_seat = [
            f"{seat} {_alternatives(_unique(names))}{' (measured)' if seat in measured else ''}"
            for seat, names in enumerate(zip(*(players for _, players in group), strict=True))
        ]
        start = f"{game} {seats} - ".lstrip() if len(groups) > 1 else ""
        lines.append(start + "; ".join(by_seat))
    return lines


def _alternatives(names: Sequence[str]) -> str:
    if len(names) <= NAMES:
        return " or ".join(names)
    return f"one of {len(names):,} ({', '.join(names[: NAMES - 1])}, ...)"


def _seating(about: CellInfo) -> str:
    every = about.rotations // about.samples
    seats = f"in turn, {every} matches a deal" if every > 1 else "as above in every match"
    return f"{seats}{f', {about.samples} samples of each' if about.samples > 1 else ''}"


def _models(cells: Sequence[Description]) -> list[str]:
    """Every model with its settings, named after the first player that uses it."""
    names: dict[str, str] = {}
    for cell in cells:
        for player, identity in zip(cell["players"], cell["identity"]["players"], strict=True):
            if model := identity.get("model"):
                settings = ", ".join(f"{key} {_setting(value)}" for key, value in model.items())
                label = cell["labels"]["model"]
                names.setdefault(settings, label if f".{label}." in f".{player}." else player)
    return [f"{name}: {settings}" for settings, name in names.items()]


def _deals(results: Sequence[CellResults]) -> str:
    """The number of complete deals, which all tables are of."""
    deals = [len(result.by_deal()[0]) for result in results]
    few, most = min(deals, default=0), max(deals, default=0)
    matches = sum(len(result.outcomes) for result in results)
    each = f"{few:,}" if few == most else f"{few:,} to {most:,}"
    return f"{each} a cell, {matches:,} matches in all"


# --- provenance: runs that differ, and changed code


def notes(folder: Path) -> list[str]:
    """A line if the runs differ in version, commit or machine, and one for each time that changed
    code was accepted."""
    differences = run_differences(Folder(folder).lines("runs"))
    lines = [f"The records are of runs that differ: {differences}."] if differences else []
    lines += [f"{line}." for line in code.accepted_changes(folder)]
    return [*map(capitalize, lines)]


def run_differences(runs: Sequence[Mapping[str, Any]]) -> str:
    """What differs between the runs, with the values in order; "" if nothing."""
    columns: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for run in runs:
        versions = run.get("versions")
        values = dict(versions) if isinstance(versions, Mapping) else {}
        values |= {"commits": run.get("commit"), "machines": run.get("host")}
        for name, value in values.items():
            if value:
                columns[name][str(value)] = None
    differences = []
    for name, values in columns.items():
        *shown, last = [*values][:VALUES]
        if (more := len(values) - VALUES) > 0:
            shown, last = [*shown, last], f"{more} more"
        if shown:
            differences.append(f"{name} {', '.join(shown)} and {last}")
    return "; ".join(differences)
