"""Corrections for luck that need no scripted player: luck out of model against model.

For any function u of a state, E[u after the next piece of chance] - u(after it) has mean 0 given
all that any seat has seen before, whatever the players do (N. Burch et al., 2018,
arXiv:1612.06915, without its assumption of known players). So a match's result plus the sum of
these differences has the mean of the result, and less variance the better u predicts it. The same
holds for a move that is drawn from known probabilities.

u is the measured seats' mean result when a state is played on by policies: the scripted players'
own, and for the others the game's reference or, where the game imitates players, what was learnt
from earlier deals. Any policy that was fixed without this deal leaves the mean alone. All chance of
a match is settled by its deal, so a piece of chance is averaged by dealing again what no seat has
seen (`games.capabilities.Redealt`). What only one seat cannot see is not dealt again: moves tell of
it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gauntlet.games.base import Action, Game, TextAction
from gauntlet.games.capabilities import Imitating, Redealt, RolledOut
from gauntlet.games.contract import array, legal_actions, observation, values_with_score
from gauntlet.games.playouts import RANDOM, play_on, policies_of, probabilities
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.judging.judge import Choice, choices
from gauntlet.pipeline.judging.references import games_of, imitated, judged, stretches
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellResults
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.baseline import scripted_policies
from gauntlet.pipeline.plan.cells import Cell
from gauntlet.pipeline.plan.rng import DEAL, LUCK, stream

GROUPS = ("deal", "draws", "moves")
"""Corrections for the cards at the start, for what is drawn later, and for random choices of known
probabilities."""
FAST, SLOW = 200, 40
"""Games played on from a state, at most, if the game plays on by itself, and if not. Any number is
unbiased."""
FEWEST, A_MATCH = 20, 8_000
"""Games played on from a state, at least, and over all states of a match where it is long."""
FRESH = 2
"""New deals that a deal is compared with, for each game played on from a state."""
TRIED = 8
"""Redeals that show whether something is drawn after a move. That they miss it does not depend on
what was drawn."""

Say = Callable[[str], None]


class Turn(NamedTuple):
    """A state, the seats that move in it, and their moves.

    law: the probability of each option of the only mover, if the record tells it; () if not.
    """

    state: Any
    movers: Sequence[int]
    moves: Sequence[Action]
    law: Sequence[float] = ()


def refusal(cell: Cell) -> str:
    """Why a cell's luck cannot be corrected; "" if it can."""
    if not isinstance(cell.game, Redealt):
        return f"{cell.labels['game']} has no `redealt`"
    if None not in scripted_policies(cell):
        return "every player is scripted, so more deals cost less"
    if cell.rotate and len({(one.agent, one.model, one.helps) for one in cell.players}) == 1:
        return "equal players in all seats share every deal evenly"
    return ""


def policies(cell: Cell, learnt: Mapping[int, str] | None = None) -> list[str]:
    """What each player plays in u: its own policy if it is scripted, else what was learnt of it,
    else the game's reference. learnt: by the player's number."""
    references: Sequence[str] = getattr(cell.game, "references", (RANDOM,))
    known = policies_of(cell.game)
    return [
        policy if policy in known else (learnt or {}).get(player, references[0])
        for player, policy in enumerate(scripted_policies(cell))
    ]


@dataclass(frozen=True)
class Judge:
    """Corrects the matches of one rotation.

    policies: by seat. scripted: the seats whose policy is the player's own. measured: the seats
    whose mean result counts.
    """

    game: Game[Any]
    policies: tuple[str, ...]
    scripted: frozenset[int]
    measured: tuple[int, ...]
    measure: str

    @classmethod
    def from_cell(cls, cell: Cell, rotation: int, by_player: Sequence[str]) -> Judge:
        known, seating = scripted_policies(cell), cell.seating(rotation)
        by_seat = tuple(by_player[player] for player in seating)
        scripted = frozenset(s for s, player in enumerate(seating) if known[player] == by_seat[s])
        return cls(
            cell.game, by_seat, scripted, cell.seats_of(cell.measured, rotation), cell.measure
        )

    def corrections(
        self, start: Any, turns: Iterable[Turn], seed: int
    ) -> tuple[float, float, float]:
        """A match's sums of corrections, by GROUPS. seed: determines the redeals and playouts."""
        every, drawn, moved = [*turns], 0.0, 0.0
        count = max(FEWEST, min(FAST, A_MATCH // max(1, len(every))))
        fresh = self.values(None, (), seed << 16, FRESH * count)
        dealt = float(fresh.mean() - self.values(start, (), seed << 16, count).mean())
        for number, turn in enumerate(every, start=1):
            draws, choice = self._turn(turn, (seed << 16) + number, count)
            drawn, moved = drawn + draws, moved + choice
        return dealt, drawn, moved

    def _turn(self, turn: Turn, seed: int, count: int) -> tuple[float, float]:
        """The corrections for what is drawn after a turn's moves, and for the mover's choice."""
        state, _, moves, _ = turn
        weights, after = self._chances(turn), self.game.play(state, moves)
        drawn = moved = 0.0
        played = self.values(state, moves, seed, count) if weights else None
        if played is not None:
            values = [self.values(state, (option,), seed, count) for option in weights]
            moved = float((np.tensordot([*weights.values()], values, 1) - played).mean())
        if self._draws(state, moves, seed):
            played = self.values(state, moves, seed, count) if played is None else played
            drawn = float((played - self.values(after, (), seed, count)).mean())
        return drawn, moved

    def _draws(self, state: Any, moves: Sequence[Action], seed: int) -> bool:
        """Whether the moves are followed by chance that somebody sees, as far as redeals show; what
        was drawn in this match does not count."""
        game: Any = self.game
        every = (game.play(one, moves) for one in self.redeals(state, TRIED, seed))
        first, *others = (game.redealt(one, np.random.default_rng(seed)) for one in every)
        return any(one != first for one in others)

    def _chances(self, turn: Turn) -> dict[Action, float]:
        """The probability of each option of the mover; {} where it is certain or unknown, and where
        playing on from each would take minutes a match: in a game that does not play on by
        itself."""
        state, movers, _, law = turn
        known = law or movers[0] in self.scripted
        if len(movers) != 1 or not known or not isinstance(self.game, RolledOut):
            return {}
        options = legal_actions(self.game, state, movers[0])
        if len(set(options)) < 2 or any(isinstance(one, TextAction) for one in options):
            return {}
        if not law:
            seen = observation(self.game, state, movers[0], options)
            law = probabilities(self.game, self.policies[movers[0]], seen)
        weights = dict.fromkeys(options, 0.0)
        for option, chance in zip(options, law, strict=True):
            weights[option] += chance
        weights = {option: chance for option, chance in weights.items() if chance > 0}
        return weights if len(weights) > 1 else {}

    def redeals(self, state: Any, count: int, seed: int) -> Iterator[Any]:
        game: Any = self.game
        return (game.redealt(state, np.random.default_rng((seed, at))) for at in range(count))

    def values(self, state: Any, moves: Sequence[Action], seed: int, count: int) -> np.ndarray:
        """The measured seats' mean result of each of some games from here, or from new deals if
        `state` is None: float64 (games,). Equal seeds have equal luck, as far as the states allow.
        count: games of a game that plays on by itself."""
        if isinstance(self.game, RolledOut):
            results = self.game.rollouts(state, moves, self.policies, count, seed, self.measure)
            array(self.game, "rollouts", results, (None, self.game.num_seats))
            return np.asarray(results[:, self.measured].mean(axis=1))
        deals = self.redeals(state, SLOW, seed)
        if state is None:
            deals = (self.game.deal(np.random.default_rng((seed, at))) for at in range(SLOW))
        values = np.empty(SLOW)
        for at, dealt in enumerate(deals):
            start = self.game.play(dealt, moves) if moves else dealt
            values[at] = self.result(start, np.random.default_rng((seed, at, 1)))
        return values

    def result(self, state: Any, rng: np.random.Generator) -> float:
        end, _ = play_on(self.game, state, self.policies, rng)
        values = values_with_score(self.game, end)[self.measure]
        return float(np.mean([values[seat] for seat in self.measured]))


def of_record(
    judge: Judge, record: MatchRecord, seed: Seed, opening: int = 0
) -> tuple[float, float, float]:
    """A recorded match's corrections. opening: plies that were drawn at random. Raises UserError if
    the game no longer plays as recorded."""
    game = judge.game
    start = game.deal(stream(seed, game, record.deal, DEAL))
    luck_seed = int(stream(seed, game, record.deal, LUCK, record.rotation).integers(2**31))
    return judge.corrections(start, turns(game, seed, record, opening), luck_seed)


def turns(game: Game[Any], seed: Seed, record: MatchRecord, opening: int = 0) -> Iterator[Turn]:
    """Yield each state of a match with its movers, their moves, and by what law they were drawn.
    The turn in which a seat gave up has no moves and is left out."""
    played = len(record.decisions)
    for _, together in groupby(choices(game, seed, record), key=lambda choice: id(choice.state)):
        turn = list(together)
        last = turn[-1].ply + 1 == played
        if not (record.forfeits and last):
            movers, moves = [one.decision.seat for one in turn], [one.move for one in turn]
            yield Turn(turn[0].state, movers, moves, law_of(turn[0], opening))


def law_of(choice: Choice, opening: int) -> Sequence[float]:
    """The probability of each option, if a move's record tells by what law it was drawn."""
    if choice.ply < opening:
        return (1 / len(choice.actions),) * len(choice.actions)
    decision = choice.decision
    return () if decision.fallback else decision.chances


def corrections(
    folder: Path, cell: Cell, result: CellResults, wanted: Collection[str], seed: Seed, say: Say
) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """Yield the id and the corrections of each wanted match, for a cell that `refusal` accepts."""
    records = [one for one in Folder(folder).matches(result.about.stem) if one.match in wanted]
    for start, end in stretches(result):
        stretch = [one for one in records if start <= one.deal < end]
        if stretch:
            by_player = policies(cell, _learnt(folder, cell, result, start, seed))
            judges = [Judge.from_cell(cell, at, by_player) for at, _ in enumerate(cell.seatings)]

            def judge(record: MatchRecord, judges: Sequence[Judge] = judges) -> Any:
                return of_record(judges[record.rotation % len(judges)], record, seed, cell.opening)

            yield from judged(cell, stretch, judge, say)


def _learnt(
    folder: Path, cell: Cell, result: CellResults, start: int, seed: Seed
) -> dict[int, str]:
    """What was learnt of each player that is not scripted from the deals before `start`."""
    if not (start and isinstance(cell.game, Imitating)):
        return {}
    before = {one.match for one in result.outcomes if one.deal < start}
    matches = games_of(folder, result.about, before)
    unknown = [at for at, policy in enumerate(scripted_policies(cell)) if policy is None]
    return {player: imitated(cell, matches, player, seed) for player in unknown}
