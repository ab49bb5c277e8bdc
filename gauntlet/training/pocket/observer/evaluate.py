"""Measure how often the third pocket model identifies both strategies, next to scripted observers.

    python -m gauntlet.training.pocket.observer.evaluate [--weights DIR] [--deals N]

A plain loop without the pipeline, whose figures are the ones to quote.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gauntlet.agents.base import Agent, Decision, Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.observers import Likeliest, Nearest
from gauntlet.agents.prompting.observe import Observe
from gauntlet.common.process import as_process
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.watch import State, Watch
from gauntlet.models.base import Model
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.training.pocket.asking import run_parallel
from gauntlet.training.pocket.data import turn_of
from gauntlet.training.pocket.train import OBSERVER_WEIGHTS

PAIRS = ("H C", "N G", "D Y")


class Guesses(NamedTuple):
    """right: bool (deals, guesses), both codes right. malformed: replies without a guess; asked:
    all replies."""

    right: np.ndarray
    malformed: int
    asked: int


def watching(players: str, window: int | None = 50, react: str = "lag1") -> Watch:
    """Return a watched game of these two players, or of random ones if none are given: 210 rounds,
    the last `window` of them shown."""
    of = RockPaperScissors(rounds=210, react=react)
    return Watch(of=of, players=tuple(players.split()), window=window)


def deal_watched(game: Watch, deal: int) -> State:
    return game.deal(np.random.default_rng((deal, 0)))


def turns(game: Watch, deal: int) -> Iterator[Turn]:
    """Yield all turns of a match. Guesses do not affect the observations."""
    state = deal_watched(game, deal)
    while game.to_move(state):
        yield turn_of(game, state, 0)
        state = State(state.transcript, (*state.guesses, ()))


def watch(game: Watch, agent: Agent, deals: int, model: Model | None = None) -> Guesses:
    """Return an observer's guesses in `deals` deals."""
    guesses, malformed, attempts = [], 0, 0
    for deal in range(deals):
        decisions = decide_all(agent, list(turns(game, deal)), deal, model)
        truth = game.guess(game.truth(deal_watched(game, deal)))
        guesses.append([one.text == truth for one in decisions])
        attempts += sum(one.attempts for one in decisions)
        malformed += sum(max(one.attempts - 1, 0) + one.fallback for one in decisions)
    return Guesses(np.array(guesses), malformed, attempts)


def decide_all(
    agent: Agent, turns: Sequence[Turn], deal: int, model: Model | None = None
) -> Sequence[Decision]:
    """Return an agent's decisions, with all its requests in parallel."""
    chains = [
        agent.decide(turn, np.random.default_rng((deal, n)))
        for n, turn in enumerate(turns, start=1)
    ]
    return run_parallel(chains, model)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--weights", type=Path, default=OBSERVER_WEIGHTS)
    parser.add_argument("--deals", type=int, default=10)
    parser.add_argument(
        "--pairs", nargs="+", default=list(PAIRS), help="as 'H C'; '' for drawn ones"
    )
    parser.add_argument("--window", type=int, default=50, help="0 for all rounds")
    parser.add_argument("--react", choices=("lag1", "iid"), default="lag1")
    options = parser.parse_args(arguments)
    model = Checkpoint(str(options.weights)).load()
    agents: dict[str, Agent] = {
        "model": LLM(Observe()),
        "likeliest": Likeliest(),
        "nearest": Nearest(),
    }
    print("pair  observer   guesses  both right  error  malformed")
    for pair in options.pairs:
        game = watching(pair, window=options.window or None, react=options.react)
        for name, agent in agents.items():
            guesses = watch(game, agent, options.deals, model)
            rates = guesses.right.mean(1)
            print(
                f"{pair:5} {name:9} {guesses.right.size:8} {rates.mean():11.3f} "
                f"{rates.std(ddof=1) / len(rates) ** 0.5:6.3f} "
                f"{guesses.malformed / max(guesses.asked, 1):10.2%}",
                flush=True,
            )
    model.close()
    return 0


if __name__ == "__main__":
    as_process(main)
