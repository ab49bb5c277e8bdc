"""Matches of a responder against a subject on fresh deals: what it wins bounds a best response.

A responder is any player. A local best response needs a belief about the subject; any will do, as a
responder that plays well from a wrong belief still wins what it wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from gauntlet.agents.base import check, scripted_policy
from gauntlet.agents.local_response import LocalBestResponse
from gauntlet.common.errors import UserError, suggest
from gauntlet.games.capabilities import (
    MATCH_SCORE,
    WIN,
    Adjustable,
    Imitating,
    Measure,
    add_match_score,
    judgeable_measures,
)
from gauntlet.games.playouts import policies_of
from gauntlet.models.base import Model, ModelSource
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.cells import Cell, Plan, Player
from gauntlet.pipeline.plan.identity import cell_identity
from gauntlet.pipeline.plan.rng import DEAL, stream
from gauntlet.pipeline.play.chains import run_concurrently
from gauntlet.pipeline.play.match import play
from gauntlet.pipeline.play.policy import Progress
from gauntlet.pipeline.play.prepare import prepare
from gauntlet.pipeline.play.queues import run_queued

HABITS, SCORED = "habits", "scored"
"""Beliefs besides the policies of a game: learnt from other deals, or asked of the subject."""
LOCAL = "local best response"


@dataclass(frozen=True)
class Beliefs:
    """learn: deals that habits are learnt from. holdings: of a scored belief, None for all."""

    learn: int = 100
    holdings: int | None = None


@dataclass(frozen=True)
class Won:
    """What a responder won in the matches against a subject.

    gains: half of its result less the subject's, for each match: where results have a constant sum,
        how far it is above an equal share. deals: of each match. measure: of the results.
    asked, fallbacks, requests: of the subject.
    """

    gains: np.ndarray
    deals: np.ndarray
    measure: Measure
    asked: int
    fallbacks: int
    requests: int


@dataclass(frozen=True)
class Dealing:
    """How to play. at_once: the most matches at once, and requests in a batch."""

    seed: Seed
    deals: int
    models: Mapping[ModelSource, Model]
    at_once: int
    on_progress: Progress

    def matches(self, cell: Cell, deals: range) -> Iterator[MatchRecord]:
        """The records of all rotations of these deals. Raises what a model raises."""
        plan = Plan((cell,), deals.stop, self.seed)
        tasks = [task for task in plan.tasks() if task.deal in deals]
        ready = run_queued(prepare(cell), self.models, self.at_once).cell
        for first in range(0, len(tasks), self.at_once):
            some = tasks[first : first + self.at_once]
            playing = run_concurrently([play(ready, task, self.seed) for task in some])
            yield from run_queued(playing, self.models, self.at_once)
            self.on_progress(first + len(some), len(tasks))


def seated(cell: Cell, responder: Player) -> Cell:
    """The cell's subject against a responder, in both seats. Raises UserError."""
    if cell.game.num_seats != 2:
        raise UserError(
            f"game={cell.labels['game']} has {cell.game.num_seats} seats; a responder is played "
            "in games of two"
        )
    try:
        check(responder.agent, cell.game)
    except ValueError as error:
        raise UserError(f"{responder.name}: {error}") from error
    players = cell.players[cell.subjects[0]], responder
    table = replace(cell, players=players, subjects=(0,), measured=(1,), rotate=True, samples=1)
    return replace(table, identity=cell_identity(table))


def beliefs_of(cell: Cell, named: tuple[str, ...]) -> tuple[str, ...]:
    """What to believe of the cell's subject; by default its own policy if it is scripted, else its
    habits. Raises UserError for an unknown belief."""
    known = (*policies_of(cell.game), HABITS, SCORED)
    for one in named:
        if one not in known:
            raise UserError(f"--believed {one}: no belief about {cell.labels['game']}"
                            f"{suggest(one, known)}")  # fmt: skip
    own = scripted_policy(cell.players[cell.subjects[0]].agent)
    return named or (own if own in known else HABITS,)


def local_responder(cell: Cell, believed: str, beliefs: Beliefs, dealing: Dealing) -> Player:
    """The local best response to the cell's subject. Habits are learnt first, from deals that
    follow those of `dealing`, in matches against a local best response to the game's reference."""
    subject = cell.players[cell.subjects[0]]
    if believed == SCORED:
        agent = LocalBestResponse(subject.agent, beliefs.holdings)
        return Player(LOCAL, agent, subject.model, None)
    if believed == HABITS:
        believed = _habits(cell, beliefs.learn, dealing)
    return Player(LOCAL, LocalBestResponse(believed), None, None)


def _habits(cell: Cell, learn: int, dealing: Dealing) -> str:
    game = cell.game
    assert isinstance(game, Adjustable)
    assert isinstance(game, Imitating)
    first = Player(LOCAL, LocalBestResponse(game.references[0]), None, None)
    table, games = seated(cell, first), []
    for record in dealing.matches(table, range(dealing.deals, dealing.deals + learn)):
        start = game.deal(stream(dealing.seed, game, record.deal, DEAL))
        games.append((start, [one.move for one in record.decisions], record.subjects[0]))
    return game.imitate(games)


def won(cell: Cell, responder: Player, dealing: Dealing) -> Won:
    """Play the responder against the cell's subject. Raises UserError."""
    table = seated(cell, responder)
    judged = MATCH_SCORE.name if cell.measure == WIN.name else cell.measure
    gains, deals, sums, counts = [], [], set[float](), np.zeros(3, int)
    for record in dealing.matches(table, range(dealing.deals)):
        (subject,), (own,) = record.subjects, record.measured
        results = add_match_score(record.measures, record.returns)[judged]
        gains.append((results[own] - results[subject]) / 2)
        sums.add(round(results[own] + results[subject], 9))
        deals.append(record.deal)
        made = [one for one in record.decisions if one.seat == subject and not one.forced]
        counts += len(made), sum(one.fallback for one in made), sum(len(one.asked) for one in made)
    if len(sums) > 1:
        raise UserError(f"measure={judged}: what one seat wins, the other does not lose; "
                        f"measure={MATCH_SCORE.name} would do")  # fmt: skip
    measure = next(one for one in judgeable_measures(cell.game) if one.name == judged)
    return Won(np.array(gains), np.array(deals), measure, *counts.tolist())
