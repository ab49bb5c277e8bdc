"""One cell of a sweep, composed from the same files, with its learners answered from outside.

Rules, deals and luck are the pipeline's.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gauntlet.common.errors import UserError
from gauntlet.models.base import Model, ModelSource, Reply
from gauntlet.pipeline.config.compose import composed
from gauntlet.pipeline.config.players import SeatConfig
from gauntlet.pipeline.config.read import CellConfig, Seed
from gauntlet.pipeline.plan.build import build_cells
from gauntlet.pipeline.plan.cells import Cell, Task, match_id
from gauntlet.pipeline.play.chains import Ask, run
from gauntlet.pipeline.play.prepare import prepare
from gauntlet.training.environment.outside import Outside

SELF = "self"
"""As an opponent's name: another learner."""

FIXED = ("launch=inline", "tracking=none", "agent=llm")
"""The sweep options that an environment fixes."""
OUTSIDE = f"{Outside.__module__}.{Outside.__qualname__}"


@dataclass
class Setting:
    """A cell, the seed of its luck, and the models of its players, loaded on first use."""

    cell: Cell
    seed: Seed
    models: dict[ModelSource, Model] = field(default_factory=dict)
    _one: threading.Lock = field(default_factory=threading.Lock)  # models take one caller at a time

    @property
    def seats(self) -> tuple[int, ...]:
        """The possible seats of a single learner."""
        return tuple(dict.fromkeys(self._seat(rotation) for rotation in self._rotations))

    @property
    def _rotations(self) -> range:
        """All rotations, also where a sweep without rotate=true plays only the first."""
        return replace(self.cell, rotate=True).rotations

    def _seat(self, rotation: int) -> int:
        return self.cell.seats_of(self.cell.subjects, rotation)[0]

    def task(self, deal: int, seat: int) -> Task:
        """Return the match of this deal in which the (first) learner has this seat. Raises
        UserError if there is none."""
        if deal < 0:
            raise UserError(f"deal is {deal}; deals are counted from 0")
        for rotation in self._rotations:
            if self._seat(rotation) == seat:
                key = self.cell.key
                return Task(key, deal, rotation, match_id(key, self.seed, deal, rotation))
        raise UserError(f"seat is {seat}; the learner may sit in {_join(self.seats)}")

    def answer(self, ask: Ask) -> Reply:
        """Return the reply of a player's own model, loading it on first use."""
        with self._one:
            if ask.source not in self.models:
                self.models[ask.source] = ask.source.load()
            (reply,) = self.models[ask.source].answer([ask.request])
        return reply

    def close(self) -> None:
        """Free the models."""
        while self.models:
            self.models.popitem()[1].close()


def setting(
    game: str, opponents: Sequence[str], prompt: str, seed: int, words: Sequence[str] = ()
) -> Setting:
    """Compose the learner against these opponents, each a file of `conf/player` or "self".

    words: further arguments of a sweep's command line, such as "game.size=4". Raises UserError.
    """
    if not opponents:
        raise UserError("opponent: name one or more of conf/player, or self")
    given = [*FIXED, f"game={game}", f"prompt={prompt}", f"seed={seed}", *_seated(opponents)]
    configs, _ = composed([*given, *words])
    if len(configs) != 1:
        raise UserError(f"an environment plays one cell; {' '.join(words)} makes {len(configs)}")
    (cell,) = build_cells([_asked_outside(configs[0])])
    made = Setting(cell, seed)
    made.cell = run(prepare(cell), made.answer).cell
    return made


def _seated(opponents: Sequence[str]) -> list[str]:
    """Return the overrides for the learner in seat 1, and the opponents in the others."""
    first, *more = opponents
    alone = ["seats=solo", "seats.0.agent=subject"]
    words = alone if first == SELF else ["seats=against", f"seats.0.player={first}"]
    for seat, name in enumerate(more, 2):
        who = "agent: subject" if name == SELF else f"player: {name}"
        words.append(f"+seats.{seat}={{{who}, goal: win}}")
    return words


def _asked_outside(config: CellConfig) -> CellConfig:
    """Replace the subjects' models by `Outside`."""
    seats = tuple(_outside(number, seat) for number, seat in enumerate(config.seats))
    return replace(config, seats=seats, packages=(*config.packages, "gauntlet.training"))


def _outside(number: int, seat: SeatConfig) -> SeatConfig:
    return replace(seat, model={"_target_": OUTSIDE, "player": number}) if seat.subject else seat


def _join(seats: Sequence[int]) -> str:
    return ", ".join(map(str, seats))
