"""The DQN player: takes the option whose code the trained network values most."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gauntlet.agents.base import Decision, Thinking, Turn
from gauntlet.agents.dqn.network import Network, load
from gauntlet.common.errors import Stopped
from gauntlet.games.base import Game, Observation
from gauntlet.games.contract import observation, seats_to_move

SHIPPED = Path(__file__).parent / "weights"


@runtime_checkable
class Encoded(Protocol):
    """A game that encodes its decisions as numbers, for learning players.

    A game with a faster way to play training games also has `practice(seat, seed) -> Practice`:
    games of `seat`, with all randomness and encodings fixed by `seed`.
    """

    @property
    def num_codes(self) -> int:
        """Codes count from 0 and label the distinct options over all decisions."""
        ...

    @property
    def encoding(self) -> str:
        """The name of this encoding, usable as a file name. Networks trained under it fit any game
        with the same name."""
        ...

    def encode(self, observation: Observation) -> np.ndarray:
        """What the seat knows, as float32 of the same shape for all decisions."""
        ...

    def option_codes(self, observation: Observation) -> tuple[tuple[int, ...], ...]:
        """One or more codes per option; an option has the value of its best code."""
        ...


@dataclass(frozen=True)
class DQN:
    """A Q-network trained by `python -m gauntlet.training.dqn.train`, playing without exploration.

    seed: which of the networks, each trained from its own seed.
    weights: a folder written by the trainer; None for the networks shipped with the project.
    digest: hash of the folder's networks. It identifies the player; the folder's location does not.
        None accepts whatever is there; any other value must match.

    An option has the value of its best code; ties go to the option listed first. Where a game
    splits one choice into two plies that share their codes, as UNO Arena does for a wild card and
    its colour, both plies read the same values, so the second takes the code that decided the
    first. It always plays for its own win, whatever its goal.
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
        """Raises ValueError if there is no network for the game or for the seed."""
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
        """Raises ValueError if the network's shape does not match the game's."""
        dealt = game.deal(np.random.default_rng(0))
        told = game.encode(observation(game, dealt, seats_to_move(game, dealt)[0]))
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
        """The game's networks, one per seed. Raises ValueError if their file is damaged, and
        Stopped if they were replaced since the player was made."""
        assert self.digest is not None
        return _networks(self.folder, game.encoding, self.digest)


def digest(folder: Path) -> str | None:
    """A hash of all networks in a folder, 16 hex digits; None if it has none. Raises ValueError."""
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
    """Checks the digest again: a worker loads them after the player was made, maybe repeatedly."""
    before = digest(folder)
    networks = load(folder / f"{encoding}.npz") if before == wanted else ()
    if digest(folder) != wanted or before != wanted:
        raise Stopped(
            f"the networks in {folder} changed during the run; put the old ones back, or start "
            "the run again to play the new ones as new cells"
        )
    return networks
