"""Games of UNO per second on one core: this engine and RLCard 1.2.0, in one run.

    python -m benchmarks.uno [--seconds 3] [--json FILE]

Both play two uniformly random players. RLCard is run in two ways: its environment with its random
agents (`env.run`), its intended use, and its bare game class driven by our own loop, which avoids
all encoding. The bare class is faster, so `ratio` is ours over that one. Ours is also timed move by
move from Python, like matches, and in playouts from the middle of a game.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import rlcard
from rlcard.agents import RandomAgent
from rlcard.games.uno.game import UnoGame

from gauntlet.games.uno import Uno, policies


def per_second(play: Callable[[int], int], seconds: float) -> float:
    """Return the best rate over at least three rounds and `seconds`; `play(round)` returns the
    number of games it played. The first round is a warm-up."""
    play(0)
    best, spent, turn = 0.0, 0.0, 0
    while turn < 3 or spent < seconds:
        turn += 1
        start = time.perf_counter()
        count = play(turn)
        taken = time.perf_counter() - start
        best, spent = max(best, count / taken), spent + taken
    return best


def ours(turn: int) -> int:
    return int(Uno().simulate(("random", "random"), 50_000, turn).sum())


def ours_by_move(turn: int) -> int:
    game, rng = Uno(), np.random.default_rng(turn)
    for _ in range(200):
        state = game.deal(rng)
        while movers := game.to_move(state):
            options = game.legal(state, movers[0])
            state = game.play(state, (options[rng.integers(len(options))],))
    return 200


def our_playouts(turn: int) -> int:
    state = Uno().deal(np.random.default_rng(1)).array
    return len(policies.values(state, 0, np.zeros(2, np.int64), 10_000, turn)) * 10_000


def rlcard_env() -> Callable[[int], int]:
    env = rlcard.make("uno", config={"seed": 0})
    env.set_agents([RandomAgent(num_actions=env.num_actions) for _ in range(2)])

    def play(turn: int) -> int:
        for _ in range(100):
            env.run(is_training=False)
        return 100

    return play


def rlcard_bare(turn: int) -> int:
    choose = random.Random(turn)
    game = UnoGame()
    for _ in range(200):
        game.init_game()
        while not game.is_over():
            game.step(choose.choice(game.get_legal_actions()))
    return 200


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each measurement")
    parser.add_argument("--json", type=Path, help="file for the figures")
    args = parser.parse_args()
    players = {
        "ours.games_per_s": ours,
        "rlcard.games_per_s": rlcard_bare,
        "rlcard_env_run.games_per_s": rlcard_env(),
        "ours_by_move.games_per_s": ours_by_move,
        "ours.playouts_per_s": our_playouts,
    }
    figures = {}
    for name, play in players.items():
        figures[name] = round(per_second(play, args.seconds), 1)
        print(f"{name:28} {figures[name]:12,.0f}", flush=True)
    figures["ratio"] = round(figures["ours.games_per_s"] / figures["rlcard.games_per_s"], 1)
    print(f"{'ratio':28} {figures['ratio']:12,.0f}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
