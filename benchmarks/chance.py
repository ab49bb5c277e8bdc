"""Luck out of matches in which nobody is scripted: `python -m benchmarks.chance [--deals N]`.

Scripted players, whom the method is not told unless they are `known`, play deals in both seatings.

    known   whose policy, and so whose random choices, the method may use
    ratio   the variance of a deal's mean over that of the corrected one: the number of deals that a
            corrected one replaces
    z       the mean of the corrections of the deal, of later draws and of known choices, in its
            standard errors; 0 in truth
    ms      per match
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gauntlet.games.capabilities import values_with_score
from gauntlet.games.holdem import Holdem
from gauntlet.games.openspiel.game import OpenSpiel
from gauntlet.games.playouts import RANDOM, scripted_move
from gauntlet.games.uno import Uno
from gauntlet.games.uno.arena import UnoArena
from gauntlet.pipeline.judging.chance import Judge, Turn
from gauntlet.stats.control_variates import corrected

SEATINGS = ((0, 1), (1, 0))
HANDS = Holdem(mode="hands", hands=1)


@dataclass(frozen=True)
class Row:
    """players: their policies. known: numbers of players that the method knows."""

    game: Any
    measure: str
    players: tuple[str, str]
    known: tuple[int, ...] = ()

    def judge(self, seating: tuple[int, int]) -> Judge:
        reference = getattr(self.game, "references", (RANDOM,))[0]
        policies = tuple(self.players[one] if one in self.known else reference for one in seating)
        scripted = frozenset(seat for seat, one in enumerate(seating) if one in self.known)
        measured = (seating.index(0),)
        return Judge(self.game, policies, scripted, measured, self.measure)

    def deals(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Each deal's result of player 0, (deals,), and its corrections, (deals, 3): means over
        both seatings."""
        judges = [self.judge(seating) for seating in SEATINGS]
        matches = [
            [self.match(one, deal, at) for at, one in enumerate(judges)] for deal in range(count)
        ]
        found = np.array(matches).mean(axis=1)
        return found[:, 0], found[:, 1:]

    def match(self, one: Judge, deal: int, rotation: int) -> tuple[float, ...]:
        """Player 0's result in one match, and its corrections."""
        game, rng = self.game, np.random.default_rng((deal, rotation))
        start = state = game.deal(np.random.default_rng(deal))
        by, turns = [self.players[player] for player in SEATINGS[rotation]], list[Turn]()
        while seats := game.to_move(state):
            moves = [scripted_move(game, state, seat, by[seat], rng) for seat in seats]
            turns.append(Turn(state, seats, moves))
            state = game.play(state, moves)
        result = values_with_score(game, state)[self.measure][one.measured[0]]
        return result, *one.corrections(start, turns, 2 * deal + rotation)


ROWS = {
    "hold'em, a hand": Row(HANDS, "bb_per_hand", ("tight", "random")),
    "hold'em, one known": Row(HANDS, "bb_per_hand", ("tight", "random"), (1,)),
    "hold'em, both known": Row(HANDS, "bb_per_hand", ("tight", "random"), (0, 1)),
    "hold'em, mixed": Row(HANDS, "bb_per_hand", ("mixed", "tight")),
    "UNO": Row(Uno(), "win", ("rule", "random")),
    "UNO Arena": Row(UnoArena(), "win", ("rule", "random")),
    "Leduc": Row(OpenSpiel(name="leduc_poker"), "utility", (RANDOM, RANDOM)),
    "Leduc, both known": Row(OpenSpiel(name="leduc_poker"), "utility", (RANDOM, RANDOM), (0, 1)),
    "Kuhn, both known": Row(OpenSpiel(name="kuhn_poker"), "utility", (RANDOM, RANDOM), (0, 1)),
}


def measured(row: Row, count: int) -> tuple[float, np.ndarray]:
    """The ratio of variances, and z of each group of corrections that is not always 0."""
    values, corrections = row.deals(count)
    spread = corrections.std(axis=0)
    used = spread > 0
    z = corrections.mean(axis=0)[used] / spread[used] * np.sqrt(count)
    return float(values.var() / corrected(values, corrections).var()), z


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chance")
    parser.add_argument("--deals", type=int, default=1_000, metavar="N")
    options = parser.parse_args(arguments)
    print("| game | players | deals | ratio | z | ms |\n|---|---|---|---|---|---|")
    for name, row in ROWS.items():
        measured(row, 2)  # compile first
        started = time.perf_counter()
        ratio, z = measured(row, options.deals)
        each = 1_000 * (time.perf_counter() - started) / options.deals / len(SEATINGS)
        shown = ", ".join(f"{one:+.1f}" for one in z)
        players = " v ".join(row.players)
        cells = (name, players, f"{options.deals:,}", f"{ratio:.1f}", shown, f"{each:.0f}")
        print(f"| {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
