"""Rewards for a seat's decisions: the result at the end, or each decision's advantage.

By the performance-difference lemma (`games/uno/luck.py`), with r the cell's baseline, W(r) its mean
result in the learner's seat and A the advantage of a decision over it, the mean over matches of
W(r) + sum of A is the learner's mean result. So A can replace the result as a reward: it has the
same mean up to a constant, is assigned to single decisions, and excludes the luck of the deal.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from gauntlet.common.errors import UserError
from gauntlet.games.base import Action, move_with
from gauntlet.games.capabilities import Adjustable, add_match_score, nothing_hidden
from gauntlet.games.contract import legal_actions, observation
from gauntlet.games.playouts import probabilities, results
from gauntlet.pipeline.judging.luck import refusal
from gauntlet.pipeline.log.schema import DecisionRecord
from gauntlet.pipeline.plan.baseline import Baseline, measure, policies_with_baseline
from gauntlet.pipeline.plan.cells import Cell
from gauntlet.pipeline.plan.rng import JUDGE, LUCK, stream
from gauntlet.training.environment.match import Match
from gauntlet.training.environment.setting import Setting


class Credit(Protocol):
    """The rewards of one seat in a match; queried after each of its decisions and at the end."""

    def due(self, match: Match, seat: int) -> float:
        """Return the reward since the last call."""
        ...


class Result:
    """Zero until the match is over; then the seat's score in the cell's measure."""

    def due(self, match: Match, seat: int) -> float:
        return 0.0 if match.record is None else result(match, seat)


class Advantage:
    """The advantage of each decision over the setting's baseline.

    playouts: per option; any number is unbiased. Create one object per match.
    """

    def __init__(self, setting: Setting, playouts: int) -> None:
        self.setting, self.playouts = setting, playouts
        self.told = 0.0
        self.judged = 0

    def due(self, match: Match, seat: int) -> float:
        game = self.setting.cell.game
        if isinstance(game, Adjustable):
            found = self._by_the_game(game, match, seat)
            self.told, gained = found, found - self.told
            return gained
        new, self.judged = range(self.judged, len(match.decisions)), len(match.decisions)
        return sum(
            self._playout_advantage(match, ply) for ply in new if match.decisions[ply].seat == seat
        )

    def _by_the_game(self, game: Adjustable, match: Match, seat: int) -> float:
        """Return the sum over all decisions so far: luck is seeded by ply, so sums over more
        decisions differ by the later ones only."""
        cell, task = self.setting.cell, match.table.task
        luck = stream(self.setting.seed, cell.game, task.deal, LUCK).integers(2**62)
        moves = [made.move for made in match.decisions]
        policies = seat_policies(match)
        return game.advantage(match.start, moves, seat, seat, policies, self.playouts, int(luck))

    def _playout_advantage(self, match: Match, ply: int) -> float:
        """Return one decision's advantage by playouts from its state, for games without hidden
        information."""
        decision, state, cell = match.decisions[ply], match.states[ply], self.setting.cell
        if decision.forced:
            return 0.0
        luck = stream(self.setting.seed, cell.game, match.table.task.deal, JUDGE, ply)
        policies = seat_policies(match)
        move = _move(decision, legal_actions(cell.game, state, decision.seat))
        values = results(
            *(cell.game, state, decision.seat, policies, self.playouts, int(luck.integers(2**62))),
            hidden=False,
            measure=cell.measure,
            moves={decision.chosen: move},
        )[:, :, decision.seat].mean(axis=1)
        seen = observation(cell.game, state, decision.seat)
        usual = np.array(probabilities(cell.game, policies[decision.seat], seen))
        return float(values[decision.chosen] - usual @ values)


def seat_policies(match: Match) -> tuple[str, ...]:
    """Return the scripted policy of each seat of a match, with the baseline in the learner's."""
    policies = policies_with_baseline(match.setting.cell)
    return tuple(str(policies[player]) for player in match.seating)


def result(match: Match, seat: int) -> float:
    """Return the seat's score in the cell's measure; the match must be over."""
    record = match.record
    assert record is not None
    return float(add_match_score(record.measures, record.returns)[match.setting.cell.measure][seat])


def no_advantage_reason(cell: Cell) -> str:
    """Return why decisions have no advantages to use as rewards; "" if they have."""
    if isinstance(cell.game, Adjustable):
        return refusal(cell)
    if cell.baseline is None:
        return "there is no baseline to compare with"
    if len(cell.subjects) > 1:
        return "playouts judge one learner, and another one sits at the table"
    if not nothing_hidden(cell.game):
        return f"{cell.labels['game']} has no playouts to judge luck by"
    policies = policies_with_baseline(cell)
    if None in policies:
        name = cell.players[policies.index(None)].name
        return f"{name} is no scripted policy of the game, so that playouts cannot play it"
    return ""


def require_advantage(cell: Cell) -> None:
    """Raises UserError where `reward=advantage` is not possible."""
    if reason := no_advantage_reason(cell):
        raise UserError(f"reward=advantage: {reason}")


def reference(setting: Setting, games: int) -> Baseline:
    """Return W(r), the baseline's mean result in the learner's seat, from this many games if it has
    to be simulated."""
    baseline = measure(setting.cell, setting.seed, games)
    if baseline is None:
        raise UserError("there is no baseline to compare with")
    return baseline


def _move(decision: DecisionRecord, actions: tuple[Action, ...]) -> Any:
    return move_with(actions[decision.chosen], decision.text)
