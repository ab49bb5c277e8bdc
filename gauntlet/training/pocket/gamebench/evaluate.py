"""Measure how the fourth pocket model plays GameBench's games, and its share of unreadable replies.

    python -m gauntlet.training.pocket.gamebench.evaluate [--weights DIR] [--deals N]

A plain loop without the pipeline, whose figures are the ones to quote.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gauntlet.agents.base import Agent, Answer, Question
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.base import Method
from gauntlet.agents.prompting.gamebench import Base
from gauntlet.agents.rule import Rule
from gauntlet.common.process import as_process
from gauntlet.games.base import Game, move_with
from gauntlet.games.capabilities import MATCH_SCORE
from gauntlet.games.contract import values_with_score
from gauntlet.games.playouts import RANDOM
from gauntlet.models.base import Model
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.training.pocket.asking import NOTED, MatchResult, play_all_seats, reply_kinds
from gauntlet.training.pocket.data import turn_of
from gauntlet.training.pocket.gamebench.tables import GREEDY, TABLES, needs_model
from gauntlet.training.pocket.train import GAMEBENCH_WEIGHTS

OTHERS: dict[str, Agent] = {RANDOM: Rule(RANDOM), GREEDY: Rule(GREEDY)}


def match(
    game: Game[Any], agent: Agent, other: Agent, seat: int, deal: int
) -> Generator[Question, Answer, MatchResult]:
    """Play one match of `agent` in `seat` against `other` in all others, passing on requests."""
    rng = np.random.default_rng((deal, 1 + seat))
    state, answers = game.deal(np.random.default_rng((deal, 0))), Counter[str]()
    while seats := game.to_move(state):
        moves = []
        for mover in seats:
            turn = turn_of(game, state, mover)
            option, text = 0, ""
            if needs_model(turn):
                decision = yield from (agent if mover == seat else other).decide(turn, rng)
                option, text = decision.option, decision.text
                if mover == seat:
                    answers.update(reply_kinds(decision.notes.get("answers", ())))
                    answers.update(decisions=1, fallbacks=decision.fallback)
            moves.append(move_with(turn.options[option], text))
        state = game.play(state, moves)
    figures = values_with_score(game, state)
    return MatchResult(float(figures[MATCH_SCORE.name][seat]), answers)


def play(
    model: Model, game: Game[Any], method: Method, other: Agent, deals: int
) -> tuple[np.ndarray, Counter[str]]:
    """Return the model's scores, (deals, seats), and counts of how its replies were read."""
    return play_all_seats(model, match, game, LLM(method), other, deals)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--weights", type=Path, default=GAMEBENCH_WEIGHTS)
    parser.add_argument("--deals", type=int, default=100, help="each played from both seats")
    parser.add_argument("--games", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--others", nargs="+", choices=OTHERS, default=[RANDOM])
    options = parser.parse_args(arguments)
    model = Checkpoint(str(options.weights)).load()
    print("game                 against  matches  score  error  malformed  illegal  fallbacks")
    for name in options.games:
        for other in options.others:
            game = TABLES[name].game
            results, answers = play(model, game, Base(), OTHERS[other], options.deals)
            by_deal, replies = results.mean(1), sum(answers[one] for one in (*NOTED, "read"))
            wrong = [f"{answers[one] / replies:9.2%}" for one in NOTED]
            print(
                f"{name:20} {other:7} {results.size:8} {by_deal.mean():6.3f} "
                f"{by_deal.std(ddof=1) / len(by_deal) ** 0.5:6.3f}  {' '.join(wrong)} "
                f"{answers['fallbacks'] / answers['decisions']:9.2%}",
                flush=True,
            )
    model.close()
    return 0


if __name__ == "__main__":
    as_process(main)
