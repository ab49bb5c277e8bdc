"""Corrections for luck that need no scripted player: luck out of model against model.

For any function u of a state, E[u after the next piece of chance] - u(after it) has mean 0 given
all that any seat has seen before, whatever the players do (N. Burch et al., 2018,
arXiv:1612.06915, without its assumption of known players). So a match's result plus the sum of
these differences has the mean of the result, and less variance the better u predicts it. The same
holds for a move that is drawn from known probabilities.

u is the measured seats' mean result when a state is played on by policies: the scripted players'
own, and the game's reference for the others. Any policy leaves the mean alone. All chance of a
match is settled by its deal, so a piece of chance is averaged by dealing again what no seat has
seen (`games.capabilities.Redealt`). What only one seat cannot see is not dealt again: moves tell of
it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from gauntlet.games.base import Action, Game, TextAction
from gauntlet.games.capabilities import (
    WIN,
    Redealt,
    RolledOut,
    Scored,
    Simulated,
    measures_of,
    values_with_score,
)
from gauntlet.games.playouts import RANDOM, play_on, policies_of, probabilities
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.judging.judge import choices
from gauntlet.pipeline.judging.references import judged
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.baseline import scripted_policies
from gauntlet.pipeline.plan.cells import Cell
from gauntlet.pipeline.plan.rng import DEAL, LUCK, stream

GROUPS = ("deal", "draws", "moves")
"""Corrections for the cards at the start, for what is drawn later, and for scripted players' own
random choices."""
FAST, SLOW = 200, 40
"""Games played on from a state, at most, if the game plays on by itself, and if not. Any number is
unbiased."""
FEWEST, A_MATCH = 20, 8_000
"""Games played on from a state, at least, and over all states of a match where it is long."""
FRESH = 100_000
"""Deals that measure the mean over all deals."""
TRIED = 8
"""Redeals that show whether something is drawn after a move: with 20 cards or more left in a pile,
all are what was drawn in fewer than one of 10^10."""

Rng = np.random.Generator
Say = Callable[[str], None]
Turn = tuple[Any, Sequence[int], Sequence[Action]]
"""A state, the seats that move in it, and their moves."""


def refusal(cell: Cell) -> str:
    """Why a cell's luck cannot be corrected; "" if it can."""
    if not isinstance(cell.game, Redealt):
        return f"{cell.labels['game']} has no `redealt`"
    simulated = cell.measure in {one.name for one in measures_of(cell.game)}
    if isinstance(cell.game, RolledOut) and not simulated:
        return f"its playouts do not judge by {cell.measure}"
    if None not in scripted_policies(cell):
        return "every player is scripted, so more deals cost less"
    if cell.rotate and len({(one.agent, one.model) for one in cell.players}) == 1:
        return "equal players in all seats share every deal evenly"
    if any(getattr(player.agent, "on_bad_reply", "") == "forfeit" for player in cell.players):
        return "a forfeited match has no end that playouts can judge"
    return ""


def policies(cell: Cell) -> list[str]:
    """What each player plays in u: its own policy if it is scripted, else the game's reference."""
    references: Sequence[str] = getattr(cell.game, "references", (RANDOM,))
    known = policies_of(cell.game)
    return [one if one in known else references[0] for one in scripted_policies(cell)]


@dataclass(frozen=True)
class Judge:
    """Corrects the matches of one rotation.

    policies: by seat. scripted: the seats whose policy is the player's own. measured: the seats
    whose mean result counts. expected: its mean over all deals, and the standard error; None leaves
    the deal uncorrected.
    """

    game: Game[Any]
    policies: tuple[str, ...]
    scripted: frozenset[int]
    measured: tuple[int, ...]
    measure: str
    expected: tuple[float, float] | None

    @classmethod
    def of(cls, cell: Cell, rotation: int) -> Judge:
        by_player, scripted = policies(cell), scripted_policies(cell)
        seating = cell.seating(rotation)
        by_seat = tuple(by_player[player] for player in seating)
        own = frozenset(s for s, player in enumerate(seating) if scripted[player] == by_seat[s])
        measured = cell.seats_of(cell.measured, rotation)
        game: Any = cell.game
        expected = fresh_mean(game, by_seat, measured, cell.measure)
        return cls(game, by_seat, own, measured, cell.measure, expected)

    def corrections(
        self, start: Any, turns: Iterable[Turn], seed: int
    ) -> tuple[float, float, float]:
        """A match's sums of corrections, by GROUPS. seed: determines the redeals and playouts."""
        dealt = drawn = moved = 0.0
        every = [*turns]
        if self.expected:
            dealt = self.expected[0] - float(self.values(start, (), seed << 16, FAST).mean())
        count = max(FEWEST, min(FAST, A_MATCH // max(1, len(every))))
        for number, turn in enumerate(every, start=1):
            draws, own = self._turn(*turn, (seed << 16) + number, count)
            drawn, moved = drawn + draws, moved + own
        return dealt, drawn, moved

    def _turn(
        self, state: Any, movers: Sequence[int], moves: Sequence[Action], seed: int, count: int
    ) -> tuple[float, float]:
        """The corrections for what is drawn after a turn's moves, and for the mover's choice."""
        weights, after = self._chances(state, movers), self.game.play(state, moves)
        drawn = moved = 0.0
        played = self.values(state, moves, seed, count) if weights else None
        if played is not None:
            found = [self.values(state, (option,), seed, count) for option in weights]
            moved = float((np.dot([*weights.values()], found) - played).mean())
        if self._draws(state, moves, after, seed):
            played = self.values(state, moves, seed, count) if played is None else played
            drawn = float((played - self.values(after, (), seed, count)).mean())
        return drawn, moved

    def _draws(self, state: Any, moves: Sequence[Action], after: Any, seed: int) -> bool:
        """Whether the moves are followed by chance that somebody sees."""
        pairs = zip(self.redeals(state, TRIED, seed), self.redeals(after, TRIED, seed), strict=True)
        fast = isinstance(self.game, RolledOut)
        return not fast or any(self.game.play(one, moves) != other for one, other in pairs)

    def _chances(self, state: Any, movers: Sequence[int]) -> dict[Action, float]:
        """The probability of each option of a scripted seat; {} where it is certain or unknown."""
        if len(movers) != 1 or movers[0] not in self.scripted:
            return {}
        options = self.game.legal(state, movers[0])
        if len(set(options)) < 2 or any(isinstance(one, TextAction) for one in options):
            return {}
        observation = self.game.observe(state, movers[0])
        chances = probabilities(self.game, self.policies[movers[0]], observation)
        weights = dict.fromkeys(options, 0.0)
        for option, chance in zip(options, chances, strict=True):
            weights[option] += chance
        weights = {option: chance for option, chance in weights.items() if chance > 0}
        return weights if len(weights) > 1 else {}

    def redeals(self, state: Any, count: int, seed: int) -> Iterator[Any]:
        game: Any = self.game
        return (game.redealt(state, np.random.default_rng((seed, at))) for at in range(count))

    def values(self, state: Any, moves: Sequence[Action], seed: int, count: int) -> np.ndarray:
        """The measured seats' mean result of each of some games from here: float64 (games,). Equal
        seeds have equal luck, as far as the states allow. count: games of a game that plays on by
        itself."""
        if isinstance(self.game, RolledOut):
            asked = (state, moves, self.policies, count, seed, self.measure)
            return np.asarray(self.game.rollouts(*asked)[:, self.measured].mean(axis=1))
        found = np.empty(SLOW)
        for at, dealt in enumerate(self.redeals(state, SLOW, seed)):
            start = self.game.play(dealt, moves) if moves else dealt
            found[at] = self.result(start, np.random.default_rng((seed, at)))
        return found

    def result(self, state: Any, rng: Rng) -> float:
        end, _ = play_on(self.game, state, self.policies, rng)
        values = values_with_score(self.game, end)[self.measure]
        return float(np.mean([values[seat] for seat in self.measured]))


def of_record(judge: Judge, record: MatchRecord, seed: Seed) -> tuple[float, float, float]:
    """A recorded match's corrections. Raises UserError if the game no longer plays as recorded."""
    game = judge.game
    start = game.deal(stream(seed, game, record.deal, DEAL))
    own = int(stream(seed, game, record.deal, LUCK, record.rotation).integers(2**31))
    return judge.corrections(start, turns(game, seed, record), own)


def turns(game: Game[Any], seed: Seed, record: MatchRecord) -> Iterator[Turn]:
    """Yield each state of a match with its movers and their moves."""
    for _, together in groupby(choices(game, seed, record), key=lambda one: id(one.state)):
        made = list(together)
        yield made[0].state, [one.decision.seat for one in made], [one.move for one in made]


@lru_cache(maxsize=256)
def fresh_mean(
    game: Any, policies: tuple[str, ...], measured: tuple[int, ...], measure: str
) -> tuple[float, float] | None:
    """The measured seats' mean result over all deals, and its standard error; None if the game
    does not simulate itself by this measure."""
    names = {one.name for one in measures_of(game)}
    if isinstance(game, Scored) and measure in names:
        found = game.scores(policies, FRESH, FRESH, measure)[:, measured].mean(axis=1)
        return float(found.mean()), float(found.std(ddof=1) / math.sqrt(FRESH))
    if isinstance(game, RolledOut) and isinstance(game, Simulated) and measure == WIN.name:
        wins = game.simulate(policies, FRESH, FRESH)[[*measured]].sum()
        rate = float(wins / FRESH / len(measured))
        return rate, math.sqrt(rate * (1 - rate) / FRESH)
    return None


def cell_error(cell: Cell) -> float:
    """The standard error of the mean over all deals, which all matches of a cell share."""
    means = [Judge.of(cell, rotation).expected for rotation, _ in enumerate(cell.seatings)]
    return math.hypot(*(mean[1] for mean in means if mean)) / len(means)


def corrections(
    folder: Path, cell: Cell, about: CellInfo, wanted: Collection[str], seed: Seed, say: Say
) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """Yield the id and the corrections of each wanted match, for a cell that `refusal` accepts."""
    judges = [Judge.of(cell, rotation) for rotation, _ in enumerate(cell.seatings)]
    records = [one for one in Folder(folder).matches(about.stem) if one.match in wanted]

    def judge(record: MatchRecord) -> tuple[float, float, float]:
        return of_record(judges[record.rotation % len(judges)], record, seed)

    return judged(cell, records, judge, say)
