"""Judge a recorded match decision by decision: estimate the value of each option by playouts.

The cards are dealt again from the sweep's seed, and the recorded moves are replayed by the game's
rules. At a decision, every option is played out many times with all players uniform random: once
from the true cards, and once from what the deciding seat sees, with hidden cards
redealt. The redeal is uniform: it ignores what past moves reveal, for example that a player who had
to draw held no playable card (`luck.py` allows for it). All options of a decision use the same
cards and the same random numbers.

Simultaneous choices of other seats are random too, and unknown to the deciding seat in both cases.
A chosen open option is judged with the recorded text; other open options with a valid example.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gauntlet.games.base import Action, Game
from gauntlet.games.capabilities import seatings_of
from gauntlet.games.contract import final_returns, legal_actions, seats_to_move
from gauntlet.games.playouts import RANDOM, results
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.log.recorded import other_version, recorded_move
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.plan.rng import DEAL, JUDGE, stream
from gauntlet.stats.decisions import won_together


@dataclass(frozen=True)
class Judged:
    """One decision between two or more distinct options.

    player: the deciding player, by its number in the cell. chosen: an index into `options`, in
    which equal options are merged. true, seen: tables of `stats.decisions.Decisions`, from the true
    cards and from redealt hidden cards.
    """

    match: str
    deal: int
    ply: int
    seat: int
    player: int
    options: tuple[str, ...]
    chosen: int
    fallback: bool
    true: np.ndarray
    seen: np.ndarray


@dataclass(frozen=True)
class TracePoint:
    """The position after a ply: every seat's chance to be among the winners from the true cards,
    and the deciding seat's chance with the cards hidden from it redealt."""

    match: str
    deal: int
    ply: int
    seat: int
    move: str
    true: tuple[float, ...]
    seen: float


@dataclass(frozen=True)
class JudgeSettings:
    """How to judge: playouts per option, the players to judge, and how many deals to trace."""

    seed: Seed
    playouts: int
    players: frozenset[int]
    traces: int


@dataclass(frozen=True)
class Choice:
    """One recorded decision and the state in which it was made.

    ply: its number among the match's decisions. actions: the seat's legal actions. move: the one
    made.
    """

    ply: int
    state: Any
    decision: DecisionRecord
    actions: tuple[Action, ...]
    move: Action


Place = tuple[str, int, int, int]
"""Match, deal, ply and seat."""


def judge(
    game: Game[Any], work: JudgeSettings, record: MatchRecord
) -> tuple[list[Judged], list[TracePoint]]:
    """The decisions of the judged players in a match, and its trace if it is to be traced.

    Raises UserError if the game no longer plays as recorded.
    """
    judgements, trace = [], []
    seatings = seatings_of(game)
    seating = seatings[record.rotation % len(seatings)]
    traced = record.deal < work.traces
    for choice in choices(game, work.seed, record):
        player = seating[choice.decision.seat]
        is_judged = player in work.players and len(set(choice.actions)) > 1
        if is_judged or traced:
            true, seen = _results(game, record, choice, work)
            place = (record.match, record.deal, choice.ply, choice.decision.seat)
            if is_judged:
                judgements.append(_judged(place, choice, player, true, seen))
            if traced:
                trace.append(_stand(place, choice, true, seen))
    return judgements, trace


def choices(game: Game[Any], seed: Seed, record: MatchRecord) -> Iterator[Choice]:
    """Yield a match's decisions in order, replayed by the rules; simultaneous ones share a state.
    Raises UserError if the replay differs from the record."""
    state = game.deal(stream(seed, game, record.deal, DEAL))
    decisions: Sequence[DecisionRecord] = record.decisions
    ply = 0
    while seats := seats_to_move(game, state):
        ply_decisions = decisions[ply : ply + len(seats)]
        if tuple(one.seat for one in ply_decisions) != seats:
            raise other_version(game)
        together = []
        for number, decision in enumerate(ply_decisions, start=ply):
            actions = legal_actions(game, state, decision.seat)
            move = recorded_move(game, actions, decision)
            together.append(Choice(number, state, decision, actions, move))
        yield from together
        if record.forfeits and ply + len(seats) == len(decisions):
            return
        state = game.play(state, [choice.move for choice in together])
        ply += len(seats)
    if ply < len(decisions) or final_returns(game, state) != tuple(record.returns):
        raise other_version(game)


def _judged(
    place: Place, choice: Choice, player: int, true: np.ndarray, seen: np.ndarray
) -> Judged:
    decision, actions = choice.decision, choice.actions
    distinct = [at for at, action in enumerate(actions) if actions.index(action) == at]
    return Judged(
        *place,
        player=player,
        options=tuple(decision.options[at] for at in distinct),
        chosen=distinct.index(_chosen_option(choice)),
        fallback=decision.fallback,
        true=won_together(true[:, :, decision.seat][distinct]),
        seen=won_together(seen[:, :, decision.seat][distinct]),
    )


def _stand(place: Place, choice: Choice, true: np.ndarray, seen: np.ndarray) -> TracePoint:
    seat, option = choice.decision.seat, _chosen_option(choice)
    after, move = tuple(true[option].mean(axis=0).tolist()), choice.decision.options[option]
    return TracePoint(*place, move, after, float(seen[option, :, seat].mean()))


def _chosen_option(choice: Choice) -> int:
    """The index of the chosen option, or of the first equal to it."""
    return choice.actions.index(choice.actions[choice.decision.chosen])


def _results(
    game: Game[Any], record: MatchRecord, choice: Choice, work: JudgeSettings
) -> tuple[np.ndarray, np.ndarray]:
    """The winners after each option, from the true cards and from redealt hidden cards, each of
    shape (options, playouts, seats)."""
    luck = int(stream(work.seed, game, record.deal, JUDGE, choice.ply).integers(2**62))
    random = (RANDOM,) * game.num_seats
    position = (game, choice.state, choice.decision.seat, random, work.playouts, luck)
    moves = {_chosen_option(choice): choice.move}
    return results(*position, hidden=False, moves=moves), results(
        *position, hidden=True, moves=moves
    )
