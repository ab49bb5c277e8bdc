"""Watched matches, read from the log of an output_dir, with the outcomes their guesses imply.

A match's measures come from its record. Union is also recomputed from the guesses, so that every
variant is available from one log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.rock_paper_scissors.strategies import CODES, Floats, grid
from gauntlet.games.watch import Watch, observation
from gauntlet.games.watch.observation import Grid, Mode
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.recorded import recorded_game
from gauntlet.pipeline.log.schema import DecisionRecord

UNKNOWN = np.full(3, np.nan)


@dataclass(frozen=True)
class WatchedMatch:
    """One match that an observer watched.

    pair: the codes of both players. observer: its name in tables; for a model, the model's.
    guesses: the codes of each guess in order; None for a null one. decisions: the same, as
    recorded. measures: as in `games.watch.guesses.measures_of`.
    """

    game: Watch
    pair: tuple[str, str]
    observer: str
    deal: int
    guesses: tuple[tuple[str, str] | None, ...]
    decisions: tuple[DecisionRecord, ...]
    measures: Mapping[str, float]

    @cached_property
    def outcomes(self) -> Floats:
        """The outcomes that each guess implies, float64 (guesses, 3); nan for a null one."""
        return np.array(
            [UNKNOWN if guess is None else implied_outcomes(*guess) for guess in self.guesses]
        )

    def union(
        self, mode: Mode = "fixed", over: Grid = "global", eps: float = observation.EPS
    ) -> Floats:
        """Return the Union loss of each guess; nan for a null one."""
        every = grid().reshape(-1, 3)
        return observation.union(
            implied_outcomes(*self.pair), self.outcomes, every, mode, over, eps
        )


def implied_outcomes(strategy: str, other: str) -> Floats:
    """Return [win, draw, loss] of the first of two strategies."""
    found: Floats = grid()[CODES.index(strategy), CODES.index(other)]
    return found


def watched_matches(folder: Path, model: str = "") -> Iterator[WatchedMatch]:
    """Yield every match of an output_dir; model: the observer's name if it uses a model. Raises
    ValueError for a log of games other than watched rock-paper-scissors with the players named."""
    place = Folder(folder)
    for about in place.sweep_cells():
        game = recorded_game(place.description(about)["identity"]["game"])
        if not (isinstance(game, Watch) and isinstance(game.of, RockPaperScissors)):
            raise ValueError(f"{folder} holds other games than watched rock-paper-scissors")
        one, other = game.players
        for record in place.matches(about.stem):
            guesses = tuple(_guess(game, decision) for decision in record.decisions)
            name = model or about.players[0]
            figures = {measure: own for measure, (own,) in record.measures.items()}
            yield WatchedMatch(
                game, (one, other), name, record.deal, guesses, record.decisions, figures
            )


def _guess(game: Watch, decision: DecisionRecord) -> tuple[str, str] | None:
    guess = game.read(decision.text)
    if not guess:
        return None
    one, other = (game.codes[at] for at in guess)
    return one, other


def same_outcomes(pair: Sequence[str]) -> NDArray[np.bool_]:
    """Return which pairs have this one's outcomes, so that no loss tells them apart: (19, 19)."""
    return observation.indistinguishable(grid(), implied_outcomes(pair[0], pair[1]))
