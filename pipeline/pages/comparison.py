"""How a person did at a table: next to others on the same cards, and where another move was better.

Others are the cells of any run under the directory that have the same deals, measure and other
players, and someone else in the person's seat.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gauntlet.common.errors import UserError
from gauntlet.games.capabilities import MATCH_SCORE, WIN, PlayedOut, Scored
from gauntlet.games.playouts import RANDOM, no_playouts_reason, results
from gauntlet.pipeline.judging.judge import Choice, choices
from gauntlet.pipeline.library import Library
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.recorded import recorded_game
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.rng import JUDGE, stream
from gauntlet.stats.decisions import clear_loss

PLAYOUTS = 400
SECONDS = 20.0
"""Time limit for judging a match; later decisions are not judged."""
ERROR = 0.1
"""A decision is an error if another option wins at least so much more often."""
MOST = 3
"""Maximum number of others to compare with."""


@dataclass(frozen=True)
class Mistakes:
    """plies: of the errors. judged, decisions: how many were judged, of how many."""

    plies: tuple[int, ...]
    judged: int
    decisions: int

    @property
    def scope(self) -> str:
        return "" if self.judged == self.decisions else f" in your first {self.judged} decisions"


def scores(folder: Folder, record: MatchRecord) -> list[str]:
    """The person's score next to each other's, on the deals of both: "You 6 of 10, rule 7 of 10 on
    the same cards". Only others that have played this match's deal. Raises UserError."""
    about = next(one for one in folder.sweep_cells() if one.key == record.cell)
    own = _by_deal(folder, about)
    found = [(name, values) for name, values in _others(folder, about) if record.deal in values]
    found.sort(key=lambda one: -len(own.keys() & one[1].keys()))
    lines = []
    for name, values in found[:MOST]:
        shared = sorted(own.keys() & values.keys())
        you, they = (_score(about, [each[at] for at in shared]) for each in (own, values))
        lines.append(f"You {you}, {name} {they} on the same cards")
    return lines


def _others(folder: Folder, about: CellInfo) -> Iterator[tuple[str, dict[int, float]]]:
    """The names and results of the others, those of the person's own run first."""
    library = Library(folder.path.parent)
    paths = dict.fromkeys((folder.path, *(library.outputs / name for name in library.names())))
    for there in map(Folder, paths):
        try:
            if there.seed != folder.seed:
                continue
            for cell in there.sweep_cells():
                if cell.key != about.key and _same_but_person(folder, about, there, cell):
                    yield cell.players[cell.subjects[0][0]], _by_deal(there, cell)
        except UserError:
            continue  # a damaged run is shown on its own page


def _same_but_person(folder: Folder, about: CellInfo, there: Folder, cell: CellInfo) -> bool:
    places = (about.seats, about.subjects) == (cell.seats, cell.subjects)
    return places and about.comparable(cell) and _rest(folder, about) == _rest(there, cell)


def _rest(folder: Folder, about: CellInfo) -> list[Any]:
    players = folder.description(about)["identity"]["players"]
    return [player for seat, player in enumerate(players) if seat not in about.subjects[0]]


def _by_deal(folder: Folder, about: CellInfo) -> dict[int, float]:
    outcomes = folder.outcomes({about.key: about.measure.name}).get(about.key)
    if outcomes is None:
        return {}
    columns = (outcomes.column(name).tolist() for name in ("deal", "figure"))
    return dict(zip(*columns, strict=True))


def _score(about: CellInfo, values: list[float]) -> str:
    if (about.measure.low, about.measure.high) == (0.0, 1.0):
        return f"{sum(values):g} of {len(values)}"
    return f"{np.mean(values):.3g} {about.measure.name} a deal over {len(values)}"


def mistakes(folder: Folder, record: MatchRecord) -> Mistakes | None:
    """The subject's clear errors in a match, by playouts of every option with random players from
    what the subject saw; None for a game that cannot be played out. Slow. Raises UserError."""
    game = recorded_game(folder.cell(record.cell)["identity"]["game"])
    if no_playouts_reason(game):
        return None
    end = time.monotonic() + SECONDS
    ply, last, judged, plies, decisions = -1, None, 0, [], 0
    for choice in choices(game, folder.seed, record):
        ply, last = ply + (choice.state is not last), choice.state
        if choice.decision.seat not in record.subjects or len(set(choice.actions)) < 2:
            continue
        decisions += 1
        if time.monotonic() < end:
            judged += 1
            seed = int(stream(folder.seed, game, record.deal, JUDGE, choice.ply).integers(2**62))
            plies += [ply] * (_loss(game, choice, seed) >= ERROR)
    return Mistakes(tuple(plies), judged, decisions)


def _loss(game: Any, choice: Choice, seed: int) -> float:
    """How much more often than the choice another option wins; a draw is half a win, unless the
    game's compiled playouts count wins only."""
    seat, chosen = choice.decision.seat, choice.decision.chosen
    fast = isinstance(game, (PlayedOut, Scored))
    won = results(
        *(game, choice.state, seat, (RANDOM,) * game.num_seats, PLAYOUTS, seed),
        hidden=True,
        measure=(WIN if fast else MATCH_SCORE).name,
        moves={chosen: choice.move},
    )
    return clear_loss(won[:, :, seat], chosen)
