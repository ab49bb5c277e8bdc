"""The learnt player: it takes the option whose code the trained network values highest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from agents.base import Decision, Thinking, Turn
from agents.dqn.network import Network, load
from games.base import Encoded, Game

SHIPPED = Path(__file__).parent / "weights"


@dataclass(frozen=True)
class DQN:
    """A Q-network trained by `python -m agents.dqn.train`, at play without exploring.

    seed: which of the networks, each trained alone from a seed of its own.
    weights: a folder that the trainer wrote; none for the networks that come with the project.
    digest: of the folder's networks. Other weights make another player, wherever they lie.

    An option is worth what its best code is; ties go to the option that the game lists first.
    Where a game asks for a choice in two plies whose codes are those of one, as UNO Arena does
    for a wild and its colour, both are read off the same values, so the second ply takes the code
    for which the first was taken. It plays for its own win, whatever its goal is.
    """

    seed: int = 0
    weights: str | None = None
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        files = sorted(self.folder.glob("*.npz"))
        if not files:
            raise ValueError(f"weights is {self.weights!r}; no networks (*.npz) lie there")
        read = hashlib.sha256()
        for file in files:
            read.update(file.name.encode() + file.read_bytes())
        object.__setattr__(self, "digest", read.hexdigest()[:16])

    @property
    def folder(self) -> Path:
        return SHIPPED if self.weights is None else Path(self.weights)

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError where there is no network for the game."""
        if not isinstance(game, Encoded):
            raise ValueError(f"{type(game).__name__} does not tell its decisions in numbers")
        trained = sorted(file.stem for file in self.folder.glob("*.npz"))
        if game.encoding not in trained:
            raise ValueError(f"no network for {game.encoding}; there are {', '.join(trained)}")
        seeds = len(self._networks(game))
        if not 0 <= self.seed < seeds:
            raise ValueError(f"seed is {self.seed}; {game.encoding} has seeds 0 to {seeds - 1}")

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        game = turn.game
        assert isinstance(game, Encoded), game
        network = self._networks(game)[self.seed]
        values = network.values(game.encode(turn.observation)[None])[0]
        codes = game.option_codes(turn.observation)
        worth = [float(values[list(own)].max()) for own in codes]
        return Decision(worth.index(max(worth)), scores=tuple(worth))
        yield

    def _networks(self, game: Encoded) -> tuple[Network, ...]:
        return load(self.folder / f"{game.encoding}.npz")
