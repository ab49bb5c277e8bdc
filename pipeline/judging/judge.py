"""A recorded match, decision by decision: what each option was worth, by playouts.

The cards are dealt again from the sweep's seed and the recorded moves are played by the game's own
rules. At a decision every option is played on many times with all players uniform random: once
from the true cards, as UNO Arena has it, and once for what the deciding seat sees, with hidden
cards dealt afresh. That deal is uniform: it leaves out what past moves tell, such as that a player
who had to draw does not hold what would have fitted (`luck.py` allows for it). All options of a
decision meet the same cards and the same luck.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from common.errors import UserError
from games.base import Game
from games.capabilities import PlayedOut, seatings_of
from pipeline.log.schema import MatchRecord
from pipeline.plan.chance import DEAL, JUDGE, stream
from stats.decisions import won_together


@dataclass(frozen=True)
class Judged:
    """One decision between two or more different options.

    player: who decided, as the cell numbers its players. chosen: an index into `options`, of which
    equal ones are merged. true, seen: tables of `stats.decisions.Decisions`, from the true cards
    and from hidden cards dealt afresh.
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
class Stand:
    """What the game stood at after a ply: for every seat the chance to be among the winners from
    the true cards, and the deciding seat's own with the cards hidden from it dealt afresh."""

    match: str
    deal: int
    ply: int
    seat: int
    move: str
    true: tuple[float, ...]
    seen: float


@dataclass(frozen=True)
class Work:
    """How to judge: playouts an option, the players to judge, and how many deals to trace."""

    seed: int
    playouts: int
    players: frozenset[int]
    traces: int


def judge(game: Game[Any], work: Work, record: MatchRecord) -> tuple[list[Judged], list[Stand]]:
    """The match's decisions by the players that are judged; its trace, if it is to be traced.

    Raises UserError where the game no longer plays as it was recorded.
    """
    state = game.deal(stream(work.seed, game, record.deal, DEAL))
    judged, trace = [], []
    for ply, decision in enumerate(record.decisions):
        if game.to_move(state) != (decision.seat,):
            raise _other_game(game)
        actions = game.legal(state, decision.seat)
        if len(actions) != len(decision.options):
            raise _other_game(game)
        player = seatings_of(game)[record.rotation][decision.seat]
        traced = record.deal < work.traces
        asked = player in work.players and len(set(actions)) > 1
        if asked or traced:
            one, stand = _judged(game, state, actions, record, ply, work)
            judged += [one] if asked else []
            trace += [stand] if traced else []
        state = game.play(state, (actions[decision.chosen],))
    if list(game.returns(state)) != list(record.returns):
        raise _other_game(game)
    return judged, trace


def _judged(
    game: Game[Any],
    state: Any,
    actions: tuple[int, ...],
    record: MatchRecord,
    ply: int,
    work: Work,
) -> tuple[Judged, Stand]:
    assert isinstance(game, PlayedOut), game
    decision = record.decisions[ply]
    seat, chosen = decision.seat, decision.chosen
    kept = [at for at, action in enumerate(actions) if actions.index(action) == at]
    luck = int(stream(work.seed, game, record.deal, JUDGE, ply).integers(2**62))
    random = ("random",) * game.num_seats
    true, seen = (
        game.winners(state, random, work.playouts, luck, hidden)[kept] for hidden in (False, True)
    )
    taken = kept.index(actions.index(actions[chosen]))
    options = tuple(decision.options[at] for at in kept)
    place = (record.match, record.deal, ply, seat)
    one = Judged(
        *place,
        player=seatings_of(game)[record.rotation][seat],
        options=options,
        chosen=taken,
        fallback=decision.fallback,
        true=won_together(true >> seat & 1),
        seen=won_together(seen >> seat & 1),
    )
    after = tuple(float((true[taken] >> s & 1).mean()) for s in range(game.num_seats))
    return one, Stand(*place, options[taken], after, float((seen[taken] >> seat & 1).mean()))


def _other_game(game: Game[Any]) -> UserError:
    return UserError(
        "the record does not fit the game as it is now: it was written by another version "
        f"of {type(game).__name__}"
    )
