"""Measure how the second pocket model plays, and its share of unreadable replies.

    python -m gauntlet.training.pocket.duel.evaluate [--weights DIR] [--deals N]

A plain loop without the pipeline, whose figures are the ones to quote.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gauntlet.agents.base import Agent, Answer, Question, Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.base import Method
from gauntlet.agents.prompting.cot import Cot
from gauntlet.agents.prompting.direct import Direct
from gauntlet.agents.prompting.react import React
from gauntlet.agents.prompting.talaga import Talaga
from gauntlet.agents.prompting.tot import Tot
from gauntlet.agents.random import Random
from gauntlet.agents.rule import Rule
from gauntlet.common.process import as_process
from gauntlet.games.base import Game
from gauntlet.games.capabilities import measures_of
from gauntlet.games.contract import values_with_score
from gauntlet.games.holdem import Holdem
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.base import Model
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.training.pocket.asking import NOTED, MatchResult, play_all_seats, reply_kinds
from gauntlet.training.pocket.data import turn_of
from gauntlet.training.pocket.train import DUEL_WEIGHTS

METHODS: dict[str, Method] = {
    "direct": Direct(),
    "cot": Cot(),
    "cot_sc": Cot(samples=3),
    "tot": Tot(),
    "react": React(),
    "talaga": Talaga(),
}
TABLES: dict[str, tuple[Game[Any], Agent]] = {
    "grid_random": (TicTacToe(), Random()),
    "cards_random": (Holdem(mode="hands", hands=2), Random()),
    "cards_caller": (Holdem(mode="hands", hands=2), Rule("caller")),
}


def match(
    game: Game[Any], agent: Agent, other: Agent, seat: int, deal: int
) -> Generator[Question, Answer, MatchResult]:
    """Play one match of `agent` in `seat`, passing on its requests."""
    rng = np.random.default_rng((deal, 1 + seat))
    state, answers = game.deal(np.random.default_rng((deal, 0))), Counter[str]()
    while movers := game.to_move(state):
        turn: Turn = turn_of(game, state, movers[0])
        option = 0
        if len(turn.options) > 1:
            ours = movers[0] == seat
            decision = yield from (agent if ours else other).decide(turn, rng)
            option = decision.option
            answers.update(reply_kinds(decision.notes.get("answers", ())))
            answers["decisions"] += ours
        state = game.play(state, (turn.options[option],))
    name = measures_of(game)[0].name
    return MatchResult(float(values_with_score(game, state)[name][seat]), answers)


def play(
    model: Model, game: Game[Any], method: Method, other: Agent, deals: int
) -> tuple[np.ndarray, Counter[str]]:
    """Return the model's results, (deals, seats), and counts of how its replies were read."""
    return play_all_seats(model, match, game, LLM(method), other, deals)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--weights", type=Path, default=DUEL_WEIGHTS)
    parser.add_argument("--deals", type=int, default=100, help="each played from both seats")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    options = parser.parse_args(arguments)
    model = Checkpoint(str(options.weights)).load()
    print("table        method  matches   mean  error  malformed  illegal  replies a decision")
    for table in options.tables:
        game, other = TABLES[table]
        for name in options.methods:
            results, answers = play(model, game, METHODS[name], other, options.deals)
            by_deal, replies = results.mean(1), sum(answers[one] for one in (*NOTED, "read"))
            wrong = [f"{answers[one] / replies:9.2%}" for one in NOTED]
            print(
                f"{table:12} {name:7} {results.size:7} {by_deal.mean():6.3f} "
                f"{by_deal.std(ddof=1) / len(by_deal) ** 0.5:6.3f} {' '.join(wrong)} "
                f"{replies / answers['decisions']:8.1f}",
                flush=True,
            )
    model.close()
    return 0


if __name__ == "__main__":
    as_process(main)
