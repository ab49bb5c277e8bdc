"""The process behind *Observe*: a run of one watched match, whose guesses a page follows.

    python -m pipeline.pages.watcher CONNECTION FIRST KEY=VALUE ...

It is an ordinary run that also sends its observer's guesses over the connection.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from gauntlet.agents.base import Agent, Answer, Decision, Goal, Prepared, Question, Thinking, Turn
from gauntlet.agents.observers import log_likelihoods, posteriors
from gauntlet.common.errors import UserError
from gauntlet.games.base import Game
from gauntlet.games.watch import State, Watch
from gauntlet.games.watch.drawing import acts, catalogue
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.pages.child import Guessed, Scene
from gauntlet.pipeline.pages.seat import FromDeal, play
from gauntlet.pipeline.plan.cells import Plan
from gauntlet.pipeline.plan.rng import DEAL, stream


@dataclass
class Feed:
    """Sends news to the page while it listens; the record has the whole match in any case."""

    connection: Connection
    shown: int = 0

    def tell(self, news: object) -> None:
        with suppress(OSError):
            self.connection.send(news)

    def guessed(self, turn: Turn, decision: Decision) -> Guessed:
        game: Any = turn.game
        view = turn.observation.view
        new = view.told[len(view.told) - min(view.shown - self.shown, len(view.told)) :]
        self.shown = view.shown
        return Guessed(
            shown=view.shown,
            steps=view.steps,
            done=tuple(tuple(acts(step)) for step in new),
            guess=game.read(decision.text),
            posterior=posteriors(log_likelihoods(turn)),
            confidence=_figure(decision.notes.get("confidence")),
            reasoning=str(decision.notes.get("reasoning", "")),
        )


@dataclass(frozen=True)
class Followed:
    """An observer whose guesses a page follows."""

    agent: Agent
    feed: Feed = field(compare=False)

    def prepare(
        self, game: Game[Any], seat: int, goal: Goal
    ) -> Generator[Question, Answer, Followed]:
        if not isinstance(self.agent, Prepared):
            return self
        return replace(self, agent=(yield from self.agent.prepare(game, seat, goal)))

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        decision = yield from self.agent.decide(turn, rng)
        self.feed.tell(self.feed.guessed(turn, decision))
        return decision


def scene(game: Watch, seed: Seed, deal: int, folder: Path) -> Scene:
    """The players watched in this deal, and the loss of every guess."""
    state: State = game.deal(stream(seed, game, deal, DEAL))
    truth, prospects = game.truth(state), game.prospects()
    shape = (len(game.codes),) * len(truth)
    losses: Mapping[str, np.ndarray] = {}
    if prospects is not None:
        losses = prospects.curves(
            int(np.ravel_multi_index(truth, shape)), range(int(np.prod(shape)))
        )
    strategies = catalogue(game)
    return Scene(folder, game.codes, strategies, tuple(game.watched), truth, dict(losses))


def followed(connection: Connection, first: int, folder: Path, plan: Plan) -> Plan:
    """The plan with its observer followed, for the one deal. Raises UserError for other games."""
    (cell,) = plan.cells
    if not isinstance(cell.game, Watch):
        raise UserError(f"{type(cell.game).__name__} has nobody to watch; games of watching have")
    (player,) = cell.players
    feed = Feed(connection)
    feed.tell(scene(cell.game, plan.seed, first, folder))
    watched = replace(cell, players=(replace(player, agent=Followed(player.agent, feed)),))
    return FromDeal((watched,), plan.deals, plan.seed, first)


def _figure(given: Any) -> float | None:
    return float(given) if isinstance(given, int | float) else None


if __name__ == "__main__":
    descriptor, start, *settings = sys.argv[1:]
    sys.exit(play(partial(followed, Connection(int(descriptor))), int(start), settings))
