"""Remove luck from matches in which nobody is scripted: `python -m benchmarks.chance
[--rows all|TEXT] [--deals N] [--playouts N] [--cores N]`.

Players whom the method does not know, except `known` ones, play deals in both seatings.

    players  `tight~`: tight, and a random action in three decisions of ten; `sharp`, `soft`: made
             up for a game of OpenSpiel
    known    the players whose probabilities the method knows, move by move
    u        how it plays states on: `reference`, the game's own player; `habits`, those learnt from
             LEARNT other deals; `true`, the players themselves
    ratio    the variance of a deal's mean over that of the corrected one: the number of deals that
             a corrected one replaces
    z        the mean of the corrections of the deal, of later draws and of known choices, in its
             standard errors; 0 in truth. Below the table: the root of its mean square, 1 in truth
    covered  the share of the 95% intervals of BLOCKs of deals that hold the mean of all
    ms       of a core per match
"""

from __future__ import annotations

import argparse
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from multiprocessing import get_context
from typing import Any, Literal

import numpy as np

from gauntlet.games.capabilities import measures_of, values_with_score
from gauntlet.games.holdem import Holdem
from gauntlet.games.openspiel.game import OpenSpiel
from gauntlet.games.openspiel.means import chances, habits, written
from gauntlet.games.playouts import RANDOM, probabilities
from gauntlet.games.uno import Uno
from gauntlet.games.uno.arena import UnoArena
from gauntlet.pipeline.judging import chance
from gauntlet.pipeline.judging.chance import Judge, Turn
from gauntlet.stats.control_variates import corrected
from gauntlet.stats.means import Span, limits, reaching

SEATINGS = ((0, 1), (1, 0))
HANDS = Holdem(mode="hands", hands=1)
LEDUC = OpenSpiel(name="leduc_poker")
KUHN = OpenSpiel(name="kuhn_poker")
NOISE = 0.3
SHARP = {"sharp": 0.2, "soft": 1.0}
"""Parameters of a symmetric Dirichlet distribution, from which made-up players are drawn."""
LEARNT, BLOCK = 750, 50


@dataclass(frozen=True)
class Row:
    """players, known, u: see above."""

    game: Any
    measure: str
    players: tuple[str, str]
    known: tuple[int, ...] = ()
    u: Literal["reference", "habits", "true"] = "reference"

    def judge(self, seating: tuple[int, int]) -> Judge:
        policies = tuple(self.policies[player] for player in seating)
        return Judge(self.game, policies, frozenset(), (seating.index(0),), self.measure)

    @cached_property
    def policies(self) -> tuple[str, ...]:
        """What the method takes each player to play."""
        if self.u == "true":
            return tuple(policy_of(self.game, one, at) for at, one in enumerate(self.players))
        if self.u == "reference":
            return (getattr(self.game, "references", (RANDOM,))[0],) * 2
        seen: list[list[Any]] = [[], []]
        for deal in range(-LEARNT, 0):
            for seating in SEATINGS:
                _, turns = self.play(seating, (deal + 10**6, seating[0]))
                names = [name_of(self.game, turn) for turn in turns]
                for seat, player in enumerate(seating):
                    seen[player].append((turns[0].state, names, seat))
        return tuple(self.game.imitate(games) for games in seen)

    def deals(self, count: int, cores: int) -> tuple[np.ndarray, np.ndarray]:
        """Each deal's result of player 0, (deals,), and its corrections, (deals, 3): means over
        both seatings."""
        judges = [self.judge(seating) for seating in SEATINGS]  # learnt before the processes part
        play = partial(self.deal, judges)
        if cores == 1:
            found = np.array([play(deal) for deal in range(count)])
        else:
            with get_context("fork").Pool(cores) as pool:
                found = np.array(pool.map(play, range(count), chunksize=BLOCK))
        return found[:, 0], found[:, 1:]

    def deal(self, judges: Sequence[Judge], deal: int) -> np.ndarray:
        return np.array([self.match(one, deal, at) for at, one in enumerate(judges)]).mean(axis=0)

    def match(self, judge: Judge, deal: int, rotation: int) -> tuple[float, ...]:
        """Player 0's result in one match, and its corrections."""
        state, turns = self.play(SEATINGS[rotation], (deal, rotation))
        result = values_with_score(self.game, state)[self.measure][judge.measured[0]]
        return result, *judge.corrections(turns[0].state, turns, 2 * deal + rotation)

    def play(self, seating: tuple[int, int], seed: tuple[int, int]) -> tuple[Any, list[Turn]]:
        """The final state and the turns of a match; its deal is that of the first seed.

        numpy seeds (7, 0) like 7: without the 1, moves would depend on cards that nobody sees."""
        game, rng, turns = self.game, np.random.default_rng((*seed, 1)), list[Turn]()
        state = game.deal(np.random.default_rng(seed[0]))
        while seats := game.to_move(state):
            (seat,), player = seats, seating[seats[0]]
            law = law_of(game, self.players[player], player, state)
            move = game.legal(state, seat)[int(rng.choice(len(law), p=law))]
            told = tuple(law.tolist()) if player in self.known else ()
            turns.append(Turn(state, seats, (move,), told))
            state = game.play(state, (move,))
        return state, turns


def law_of(game: Any, name: str, player: int, state: Any) -> np.ndarray:
    """The probability of each option of the seat to move."""
    (seat,) = game.to_move(state)
    if name in SHARP:
        return chances(habits(policy_of(game, name, player)), game.live(state))
    plain = name.removesuffix("~")
    if len(game.legal(state, seat)) == 1:
        return np.ones(1)
    law = np.array(probabilities(game, plain, game.observe(state, seat)))
    return (1 - NOISE) * law + NOISE / len(law) if plain != name else law


@lru_cache
def policy_of(game: Any, name: str, player: int) -> str:
    """A policy that plays like a player without noise."""
    if name not in SHARP:
        return name.removesuffix("~")
    counts: dict[str, list[int]] = {}
    waiting = [game.engine.new_initial_state()]
    while waiting:
        live = waiting.pop()
        actions = live.legal_actions()
        if not (live.is_terminal() or live.is_chance_node()):
            known = live.information_state_string()
            rng = np.random.default_rng((player, zlib.crc32(known.encode())))
            shares = rng.dirichlet([SHARP[name]] * len(actions))
            counts[known] = np.rint(1_000 * shares).astype(int).tolist()
        waiting += [live.child(action) for action in actions]
    return written(counts)


def name_of(game: Any, turn: Turn) -> str:
    (seat,), (move,) = turn.movers, turn.moves
    return str(game.observe(turn.state, seat).options[game.legal(turn.state, seat).index(move)])


def _rows() -> Mapping[str, Row]:
    """All rows by name: what the game is, who plays, who is known, how states are played on."""
    hands = [("tight~", "mixed"), ("mixed", "mixed"), ("tight~", "tight~"), ("tight", "random")]
    chips = [Row(HANDS, "bb_per_hand", players) for players in (*hands, ("tight", "maniac"))]
    small = [Row(game, "utility", ("sharp", "soft")) for game in (KUHN, LEDUC)]
    equals = [Row(game, "utility", (one, one), u="true") for game in (KUHN, LEDUC) for one in SHARP]
    rows = [replace(row, u=u) for row in chips for u in ("reference", "habits")]
    rows += [replace(row, u="habits", known=known) for row in chips[:4] for known in ((0,), (0, 1))]
    rows += [replace(row, u=u) for row in small for u in ("reference", "habits", "true")]
    rows += [replace(row, u="habits", known=(0, 1)) for row in small] + equals
    uno = [Row(Uno(), "win", ("rule", "random")), Row(UnoArena(), "win", ("rule", "random"))]
    uno.append(Row(Uno(), "win", ("first", "rule")))
    rows += [*uno, *(replace(row, known=(1,)) for row in uno)]
    return {name(row): row for row in rows}


def name(row: Row) -> str:
    game = "hold'em" if row.game == HANDS else getattr(row.game, "name", type(row.game).__name__)
    known = " and ".join(str(player) for player in row.known) or "none"
    return f"{game}, {' v '.join(row.players)}, {known}, {row.u}"


ROWS = _rows()
FEW = [
    *(
        f"hold'em, {players}, none, {u}"
        for players in ("tight~ v mixed", "tight v random", "tight v maniac")
        for u in ("reference", "habits")
    ),
    *(f"hold'em, tight~ v mixed, {known}, habits" for known in ("0", "0 and 1")),
    "hold'em, mixed v mixed, 0 and 1, habits",
    "Uno, rule v random, none, reference",
    "UnoArena, rule v random, none, reference",
    *(f"leduc_poker, sharp v soft, none, {u}" for u in ("reference", "habits", "true")),
]


@dataclass(frozen=True)
class Measured:
    """Of one row; z of each group of corrections that is not always 0."""

    ratio: float
    z: np.ndarray
    covered: float


def measured(row: Row, count: int, cores: int = 1) -> Measured:
    values, corrections = row.deals(count, cores)
    spread = corrections.std(axis=0)
    used = spread > 1e-9
    z = corrections.mean(axis=0)[used] / spread[used] * np.sqrt(count)
    better = corrected(values, corrections)
    left = better.var()
    ratio = values.var() / left if left > 1e-12 * values.var() else np.inf
    (measure,) = (one for one in measures_of(row.game) if one.name == row.measure)
    return Measured(float(ratio), z, coverage(better, (measure.low, measure.high)))


def coverage(values: np.ndarray, span: Span) -> float:
    """The share of blocks whose 95% interval, as the tables have it, holds the mean of all; nan for
    fewer than two. span: the range of the measure."""
    blocks = values[: len(values) // BLOCK * BLOCK].reshape(-1, BLOCK)
    if len(blocks) < 2:
        return float("nan")
    low, high = limits(blocks, reaching(blocks, span))
    mean = blocks.mean()
    return float(((low - 1e-12 <= mean) & (mean <= high + 1e-12)).mean())


def core_seconds() -> float:
    """What this process and its ended children have used."""
    return sum(os.times()[:4])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chance")
    parser.add_argument("--deals", type=int, default=1_000, metavar="N")
    parser.add_argument("--playouts", type=int, metavar="N", help="of a state; any N is unbiased")
    parser.add_argument("--cores", type=int, default=1, metavar="N", help="processes")
    parser.add_argument("--rows", default="some", metavar="some|all|TEXT", help="in their names")
    options = parser.parse_args(arguments)
    if options.playouts:
        chance.FAST = chance.FEWEST = options.playouts
    print("| game | players | known | u | deals | ratio | z | covered | ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    every: list[float] = []
    wanted = [named for named in ROWS if options.rows == "all" or options.rows in named]
    for named in FEW if options.rows == "some" else wanted:
        measured(ROWS[named], 2)  # compile and learn first
        started = core_seconds()
        found = measured(ROWS[named], options.deals, options.cores)
        each = 1_000 * (core_seconds() - started) / options.deals / len(SEATINGS)
        every += found.z.tolist()
        told = (f"{options.deals:,}", f"{found.ratio:.1f}", ", ".join(f"{z:+.1f}" for z in found.z))
        cells = (*named.split(", "), *told, f"{found.covered:.0%}", f"{each:.0f}")
        print(f"| {' | '.join(cells)} |", flush=True)
    rms = float(np.sqrt(np.mean(np.square(every))))
    print(f"\nz: {len(every)}, root mean square {rms:.2f}, largest {np.abs(every).max():.1f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
