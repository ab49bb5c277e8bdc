"""The learnt player: it takes the option whose code the trained network values highest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from gauntlet.agents.base import Decision, Thinking, Turn
from gauntlet.agents.dqn.network import Network, load
from gauntlet.common.errors import Stopped
from gauntlet.games.base import Game, Observation

SHIPPED = Path(__file__).parent / "weights"


@runtime_checkable
class Encoded(Protocol):
    """A game whose decisions can be told in numbers, for players that learn.

    One that plays a learner's games faster than its Game protocol would also has `practice(seat,
    seed) -> Practice`: games of `seat`, all chance in them settled by `seed` and their numbers.
    """

    num_codes: ClassVar[int]
    """Codes, from 0, are what a learner tells apart among the options of all decisions."""

    @property
    def encoding(self) -> str:
        """The name of this way to tell decisions, fit for a file: what was learnt under it fits
        any game that gives the same name."""
        ...

    def encode(self, observation: Observation) -> np.ndarray:
        """What the observing seat knows, float32 of a shape that is the same for all decisions."""
        ...

    def option_codes(self, observation: Observation) -> tuple[tuple[int, ...], ...]:
        """The codes of each option, one or more: an option is worth what its best code is."""
        ...


@dataclass(frozen=True)
class DQN:
    """A Q-network trained by `python -m training.dqn.train`, at play without exploring.

    seed: which of the networks, each trained alone from a seed of its own.
    weights: a folder that the trainer wrote; none for the networks that come with the project.
    digest: of the folder's networks, which make the player; where they lie does not. None for those
        that lie there; any other value must be theirs.

    An option is worth what its best code is; ties go to the option that the game lists first.
    Where a game asks for a choice in two plies whose codes are those of one, as UNO Arena does
    for a wild and its colour, both are read off the same values, so the second ply takes the code
    for which the first was taken. It plays for its own win, whatever its goal is.
    """

    seed: int = 0
    weights: str | None = field(default=None, compare=False)
    digest: str | None = None

    def __post_init__(self) -> None:
        found = digest(self.folder)
        if found is None:
            raise ValueError(f"weights is {self.weights!r}; no networks (*.npz) lie there")
        if self.digest not in (None, found):
            raise ValueError(f"digest is {self.digest}; the networks in {self.folder} have {found}")
        object.__setattr__(self, "digest", found)

    @property
    def folder(self) -> Path:
        return SHIPPED if self.weights is None else Path(self.weights)

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError where there are no networks for the game, or none of the seed."""
        if not isinstance(game, Encoded):
            raise ValueError(f"{type(game).__name__} does not tell its decisions in numbers")
        trained = sorted(file.stem for file in self.folder.glob("*.npz"))
        if game.encoding not in trained:
            raise ValueError(f"no network for {game.encoding}; there are {', '.join(trained)}")
        networks = self.networks(game)
        self._fits(networks[0], game)
        if not 0 <= self.seed < len(networks):
            last = len(networks) - 1
            raise ValueError(f"seed is {self.seed}; {game.encoding} has seeds 0 to {last}")

    def _fits(self, network: Network, game: Any) -> None:
        """Raises ValueError for a network of another shape than the game's."""
        dealt = game.deal(np.random.default_rng(0))
        told = game.encode(game.observe(dealt, game.to_move(dealt)[0]))
        wanted = len(told), game.num_codes
        shape = len(network.weights[0]), network.weights[-1].shape[1]
        if shape != wanted:
            raise ValueError(
                f"the networks for {game.encoding} in {self.folder} turn {shape[0]} numbers into "
                f"the values of {shape[1]} codes; it tells {wanted[0]} numbers of {wanted[1]} codes"
            )

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        game = turn.game
        assert isinstance(game, Encoded), game
        network = self.networks(game)[self.seed]
        values = network.values(game.encode(turn.observation)[None])[0]
        codes = game.option_codes(turn.observation)
        worth = [float(values[list(own)].max()) for own in codes]
        return Decision(worth.index(max(worth)), scores=tuple(worth))
        yield

    def networks(self, game: Encoded) -> tuple[Network, ...]:
        """Those for the game, one a seed. Raises ValueError where their file is damaged, and
        Stopped where others have taken their place since the player was made."""
        assert self.digest is not None
        return _networks(self.folder, game.encoding, self.digest)


def digest(folder: Path) -> str | None:
    """16 hex digits of all networks in a folder; None where there are none. Raises ValueError."""
    files = sorted(folder.glob("*.npz"))
    read = hashlib.sha256()
    try:
        for file in files:
            read.update(file.name.encode() + file.read_bytes())
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from error
    return read.hexdigest()[:16] if files else None


@lru_cache
def _networks(folder: Path, encoding: str, wanted: str) -> tuple[Network, ...]:
    """A worker reads them later than the player was made, and perhaps again."""
    before = digest(folder)
    networks = load(folder / f"{encoding}.npz") if before == wanted else ()
    if digest(folder) != wanted or before != wanted:
        raise Stopped(
            f"the networks in {folder} were exchanged while the run goes; put the old ones back, "
            "or start the run again to play the new ones as cells of their own"
        )
    return networks
