"""What a folder's results are results of: the game, who sat where, and what it takes to have them
again."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo, CellResults
from gauntlet.pipeline.tables.page import Entry

NAMED = 3
"""The most players of one seat that are named."""
HASH, VALUE = 12, 48
"""Characters shown of a hash, and of another setting."""

Told = Mapping[str, Any]
"""The description of a cell, as `Folder.description` gives it."""


def facts(folder: Path, results: Sequence[CellResults], names: Sequence[str]) -> list[Entry]:
    """What stands at the top of a report. names: what the page calls each cell."""
    place, abouts = Folder(folder), [result.about for result in results]
    keys = [f"{name}: {about.key}" for name, about in zip(names, abouts, strict=True)]
    told = [place.description(about) for about in abouts]
    runs = place.lines("runs")
    found = [
        Entry("game", _each(map(_game, told))),
        Entry("players by seat", _seats(abouts, told)),
        Entry("seating", _each(map(_seating, abouts))),
        Entry("models", _models(told)),
        Entry("deals", [_deals(results)]),
        Entry("seed", [_seeds(place)]),
        Entry("command", _each(run["command"] for run in runs[-1:] if "command" in run), code=True),
        *_made(runs[-1] if runs else {}),
        Entry("cells' keys", keys),
        Entry("records' schema", _each(str(one["identity"]["schema"]) for one in told)),
    ]
    return [fact for fact in found if any(fact.values)]


def _each(values: Iterable[str]) -> list[str]:
    """Every value once, in order."""
    return list(dict.fromkeys(values))


def _game(told: Told) -> str:
    game = dict(told["identity"]["game"])
    name, seats = game.pop("class"), game.pop("num_seats", None)
    settings = [f"{seats} seats"] * bool(seats) + [f"{key} {_plain(game[key])}" for key in game]
    return f"{told['labels']['game']} ({name}): {', '.join(settings)}"


def _plain(value: Any) -> str:
    """A setting in little room."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if len(text) >= 40 and all(letter in "0123456789abcdef" for letter in text):
        return text[:HASH]
    return text if len(text) <= VALUE else f"{text[: VALUE - 3]}..."


def _seats(abouts: Sequence[CellInfo], told: Sequence[Told]) -> list[str]:
    """A line a game and seating: who sits where, over all its cells."""
    groups: defaultdict[tuple[str, ...], list[tuple[CellInfo, list[str]]]] = defaultdict(list)
    for about, one in zip(abouts, told, strict=True):
        labels = one["players"]
        group = (about.labels["game"], about.labels["seats"], str(len(labels)))
        groups[group].append((about, labels))
    lines = []
    for (game, seats, _), cells in groups.items():
        measured = cells[0][0].seats[0]
        seated = [
            f"{seat} {_some(_each(one))}{' (measured)' if seat in measured else ''}"
            for seat, one in enumerate(zip(*(labels for _, labels in cells), strict=True))
        ]
        lines.append(f"{game} {seats} - ".lstrip() * (len(groups) > 1) + "; ".join(seated))
    return lines


def _some(names: Sequence[str]) -> str:
    if len(names) <= NAMED:
        return " or ".join(names)
    return f"one of {len(names):,} ({', '.join(names[: NAMED - 1])}, ...)"


def _seating(about: CellInfo) -> str:
    every = about.rotations // about.samples
    seats = f"in turn, {every} matches a deal" if every > 1 else "as above in every match"
    return f"{seats}{f', {about.samples} samples of each' if about.samples > 1 else ''}"


def _models(told: Sequence[Told]) -> list[str]:
    """Every model under the name of the first player that asks it, with its settings."""
    found: dict[str, str] = {}
    for one in told:
        for name, player in zip(one["players"], one["identity"]["players"], strict=True):
            if model := player.get("model"):
                said = ", ".join(f"{key} {_plain(value)}" for key, value in model.items())
                found.setdefault(said, _model_name(name, one["labels"]["model"]))
    return [f"{name}: {said}" for said, name in found.items()]


def _model_name(player: str, model: str) -> str:
    """The model's own name, where the player's says that it is of that model."""
    return model if f".{model}." in f".{player}." else player


def _deals(results: Sequence[CellResults]) -> str:
    """How many are complete; all tables are of these."""
    deals = [len(result.by_deal()[0]) for result in results]
    few, most = min(deals, default=0), max(deals, default=0)
    matches = sum(len(result.outcomes) for result in results)
    told = f"{few:,}" if few == most else f"{few:,} to {most:,}"
    return f"{told} a cell, {matches:,} matches in all"


def _seeds(place: Folder) -> str:
    seed = place.seed
    if isinstance(seed, int):
        return str(seed)
    return f"{', '.join(map(str, seed))}, in turn deal by deal"


def _made(run: Mapping[str, Any]) -> Iterator[Entry]:
    """When, where and with what the last run was."""
    if not run:
        return
    versions = run["versions"]
    told = [f"commit {run['commit']}"] if run.get("commit") else []
    told += [f"{name} {versions[name]}" for name in versions]
    yield Entry("versions", [", ".join(told)])
    machine = f" ({run['machine']})" if run.get("machine") else ""
    yield Entry("last played", [f"{run['started']} on {run['host']}{machine}"])
