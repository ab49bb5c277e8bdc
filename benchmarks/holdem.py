"""Hands of hold'em per second on one core: this engine and pokerkit 0.7.7, in one run.

    python -m benchmarks.holdem [--seconds 3] [--json FILE]

Both play heads-up hands between two uniformly random players, with the same eight actions, stacks
of 200 and blinds of 1 and 2; pokerkit deals its own cards, computes legal actions and costs, and
moves all chips. `hands_per_s` is ours in the compiled loop used by playouts, and `ratio` that over
pokerkit's. Ours is also timed move by move from Python, like matches, between players that look at
their cards, in the playouts of a decision, and in seven-card hands ranked (`rank_hands_per_s`, next
to phevaluator's, called from Python).
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

import numpy as np
from phevaluator import evaluate_7cards
from pokerkit import Automation, NoLimitTexasHoldem

from benchmarks.uno import per_second
from gauntlet.games.holdem import Holdem, ranks

ONE = Holdem(mode="hands", hands=1)
RANDOM = ("random", "random")
SEEN = np.random.default_rng(1).random((100_000, 52)).argpartition(7, axis=1)[:, :7]
SETS = np.bitwise_or.reduce(np.array([ranks.bit(card) for card in range(52)])[SEEN], axis=1)


def ours(turn: int) -> int:
    return len(ONE.scores(RANDOM, 200_000, turn, "win"))


def ours_tight(turn: int) -> int:
    return len(ONE.scores(("tight", "tight"), 20_000, turn, "win"))


def ours_by_move(turn: int) -> int:
    rng = np.random.default_rng(turn)
    for _ in range(500):
        state = ONE.deal(rng)
        while movers := ONE.to_move(state):
            options = ONE.legal(state, movers[0])
            state = ONE.play(state, (options[rng.integers(len(options))],))
    return 500


def our_playouts(turn: int) -> int:
    state = ONE.deal(np.random.default_rng(1))
    return int(ONE.outcomes(state, RANDOM, 10_000, turn, True, "win").size) // 2


def our_ranks(turn: int) -> int:
    return len(ranks.worths(SETS, 7))


def their_ranks(turn: int) -> int:
    for hand in SEEN[:20_000].tolist():
        evaluate_7cards(*hand)
    return 20_000


def pokerkit(turn: int) -> int:
    choose = random.Random(turn)
    for _ in range(50):
        state = NoLimitTexasHoldem.create_state(
            tuple(Automation), False, 0, (1, 2), 2, (200, 200), 2
        )
        raised, street = [0, 0], state.street_index
        while state.status:
            if state.street_index != street:
                raised, street = [0, 0], state.street_index
            at = state.actor_index
            assert at is not None
            options = ["fold"] * state.can_fold() + ["call"]
            options += [
                to
                for to in raises(state, at)
                if raised[at] < 2 and state.can_complete_bet_or_raise_to(to)
            ]
            option = choose.choice(options)
            if option == "fold":
                state.fold()
            elif option == "call":
                state.check_or_call()
            else:
                raised[at] += 1
                state.complete_bet_or_raise_to(option)
    return 50


def raises(state: object, at: int) -> list[int]:
    """Return the amounts of the five raises."""
    pot, most = state.total_pot_amount, state.bets[at] + state.stacks[at]  # type: ignore[attr-defined]
    return [min(most, to) for to in (6, pot // 2, pot, 2 * pot, most)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each measurement")
    parser.add_argument("--json", type=Path, help="file for the figures")
    args = parser.parse_args()
    players = {
        "hands_per_s": ours,
        "pokerkit_hands_per_s": pokerkit,
        "tight_hands_per_s": ours_tight,
        "by_move_hands_per_s": ours_by_move,
        "playouts_per_s": our_playouts,
        "rank_hands_per_s": our_ranks,
        "phevaluator_hands_per_s": their_ranks,
    }
    figures = {}
    for name, play in players.items():
        figures[name] = round(per_second(play, args.seconds), 1)
        print(f"{name:28} {figures[name]:12,.0f}", flush=True)
    figures["ratio"] = round(figures["hands_per_s"] / figures["pokerkit_hands_per_s"], 1)
    print(f"{'ratio':28} {figures['ratio']:12,.0f}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
