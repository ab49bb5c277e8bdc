"""Remove luck from matches in which nobody is scripted: `python -m benchmarks.chance
[--table leads] [--rows all|TEXT] [--deals N] [--playouts N] [--cores N]`.

Players whom the method does not know, except `known` ones, play deals in all seatings.

    players  `tight~`: tight, and a random action in three decisions of ten; `tight!`: tight, and
             the last action, all in, in one decision of fifty; `sharp`, `soft`: made up for a game
             of OpenSpiel
    known    the players whose probabilities the method knows, move by move
    u        how it plays states on: `reference`, the game's own player; `habits`, those learnt from
             LEARNT other deals; `true`, the players themselves
    ratio    the variance of a deal's mean over that of the corrected one: the number of deals that
             a corrected one replaces
    z        the mean of the corrections of the deal, of later draws and of known choices, in its
             standard errors; 0 in truth. Below the table: the root of its mean square, 1 in truth
    covered  the share of the 95% intervals of BLOCKs of deals that hold the mean of all
    ms       of a core per match

`--table leads` draws samples of LED deals, with replacement, and compares the raw mean, the
corrected one and the one that leads (`stats.control_variates.leads`), with intervals as in the
tables. The truth is counted out in games of OpenSpiel, elsewhere the raw mean of all deals.

    miss     the share of samples whose 95% interval does not hold the truth, which is how often a
             test at .05 rejects it: of the raw mean, the corrected one, and the leading one
    leads    the share of samples in which the corrected mean leads
    width    of the corrected interval over the raw one; and of the leading one
    Student  width of the corrected interval over Student's
"""

from __future__ import annotations

import argparse
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from multiprocessing import get_context
from typing import Any, Literal

import numpy as np
from scipy.special import stdtrit

from gauntlet.games.capabilities import measures_of
from gauntlet.games.contract import values_with_score
from gauntlet.games.holdem import Holdem
from gauntlet.games.openspiel.game import OpenSpiel
from gauntlet.games.openspiel.tree import chances, habits, written
from gauntlet.games.playouts import RANDOM, probabilities
from gauntlet.games.uno import Uno
from gauntlet.games.uno.arena import UnoArena
from gauntlet.pipeline.judging import chance
from gauntlet.pipeline.judging.chance import Judge, Turn
from gauntlet.stats.control_variates import corrected, leads
from gauntlet.stats.means import Span, limits, reaching

HANDS = Holdem(mode="hands", hands=1)
LEDUC = OpenSpiel(name="leduc_poker")
KUHN = OpenSpiel(name="kuhn_poker")
KUHN3 = OpenSpiel(name="kuhn_poker", num_seats=3)
NOISE = 0.3
SHARP = {"sharp": 0.2, "soft": 1.0}
"""Parameters of a symmetric Dirichlet distribution, from which made-up players are drawn."""
LEARNT, BLOCK = 750, 50
BLUNDERS = 0.02
LED, SAMPLES = (20, 200), 1_000
"""Deals of a sample, and samples."""


@dataclass(frozen=True)
class Row:
    """players, known, u: see above."""

    game: Any
    measure: str
    players: tuple[str, ...]
    known: tuple[int, ...] = ()
    u: Literal["reference", "habits", "true"] = "reference"

    @property
    def seatings(self) -> list[tuple[int, ...]]:
        """The players by seat, once with player 0 in each seat."""
        seats = len(self.players)
        return [tuple((seat - first) % seats for seat in range(seats)) for first in range(seats)]

    @property
    def span(self) -> tuple[float, float]:
        """The range of the measure."""
        (measure,) = (one for one in measures_of(self.game) if one.name == self.measure)
        return measure.low, measure.high

    def judge(self, seating: tuple[int, ...]) -> Judge:
        policies = tuple(self.policies[player] for player in seating)
        return Judge(self.game, policies, frozenset(), (seating.index(0),), self.measure)

    @cached_property
    def policies(self) -> tuple[str, ...]:
        """What the method takes each player to play."""
        if self.u == "true":
            return tuple(policy_of(self.game, one, at) for at, one in enumerate(self.players))
        if self.u == "reference":
            return (getattr(self.game, "references", (RANDOM,))[0],) * len(self.players)
        seen: list[list[Any]] = [[] for _ in self.players]
        for deal in range(-LEARNT, 0):
            for seating in self.seatings:
                _, turns = self.play(seating, (deal + 10**6, seating[0]))
                names = [name_of(self.game, turn) for turn in turns]
                for seat, player in enumerate(seating):
                    seen[player].append((turns[0].state, names, seat))
        return tuple(self.game.imitate(games) for games in seen)

    def deals(self, count: int, cores: int) -> tuple[np.ndarray, np.ndarray]:
        """Each deal's result of player 0, (deals,), and its corrections, (deals, 3): means over
        all seatings."""
        # Habits are learnt here, before the processes part.
        judges = [self.judge(seating) for seating in self.seatings]
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
        state, turns = self.play(self.seatings[rotation], (deal, rotation))
        result = values_with_score(self.game, state)[self.measure][judge.measured[0]]
        own = len(self.players) * deal + rotation
        return result, *judge.corrections(turns[0].state, turns, own)

    def play(self, seating: tuple[int, ...], seed: tuple[int, int]) -> tuple[Any, list[Turn]]:
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
    plain = name.rstrip("~!")
    if len(game.legal(state, seat)) == 1:
        return np.ones(1)
    law = np.array(probabilities(game, plain, game.observe(state, seat)))
    if name.endswith("!"):
        return (1 - BLUNDERS) * law + BLUNDERS * (np.arange(len(law)) == len(law) - 1)
    return (1 - NOISE) * law + NOISE / len(law) if plain != name else law


@lru_cache
def policy_of(game: Any, name: str, player: int) -> str:
    """A policy that plays like a player without noise."""
    if name not in SHARP:
        return name.rstrip("~!")
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
    blunders = Row(HANDS, "bb_per_hand", ("tight!", "mixed"), u="habits")
    three = Row(Uno(num_seats=3), "win", ("rule", "random", "random"))
    rows += [blunders, replace(blunders, known=(0, 1)), three]
    rows += [replace(three, players=("random",) * 3)]
    rows += [Row(KUHN3, "utility", ("sharp", "soft", "soft"), u=u) for u in ("reference", "true")]
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


SHOWN = [
    *(f"kuhn_poker, sharp v soft, {known}" for known in ("none, reference", "none, habits")),
    *("kuhn_poker, sharp v soft, 0 and 1, habits", "kuhn_poker, soft v soft, none, true"),
    *(f"leduc_poker, sharp v soft, none, {u}" for u in ("reference", "habits")),
    *("leduc_poker, sharp v soft, 0 and 1, habits", "leduc_poker, soft v soft, none, true"),
    *(f"kuhn_poker, sharp v soft v soft, none, {u}" for u in ("reference", "true")),
    *(f"hold'em, {players} v mixed, none, habits" for players in ("tight~", "tight!")),
    *(f"hold'em, {players} v mixed, 0 and 1, habits" for players in ("tight~", "tight!")),
    *("hold'em, tight v maniac, none, habits", "Uno, rule v random, none, reference"),
    *(f"Uno, {one} v random v random, none, reference" for one in ("rule", "random")),
]
"""The rows of `--table leads`."""


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
    return Measured(float(ratio), z, coverage(better, row.span, len(row.players)))


def coverage(values: np.ndarray, span: Span, seatings: int) -> float:
    """The share of blocks whose 95% interval, as the tables have it, holds the mean of all; nan for
    fewer than two. span: the range of the measure."""
    blocks = values[: len(values) // BLOCK * BLOCK].reshape(-1, BLOCK)
    if len(blocks) < 2:
        return float("nan")
    ends = limits(blocks, reaching(blocks, span, seatings))
    return float(1 - _missed(*ends, blocks.mean()).mean())


def _missed(low: np.ndarray, high: np.ndarray, truth: float) -> np.ndarray:
    return ~((low - 1e-12 <= truth) & (truth <= high + 1e-12))


def truth(row: Row) -> float | None:
    """Player 0's mean result over all seatings, counted out; None where that takes too long."""
    if not isinstance(row.game, OpenSpiel):
        return None
    known = [habits(policy_of(row.game, name, at)) for at, name in enumerate(row.players)]

    def expected(live: Any, seating: tuple[int, ...]) -> float:
        if live.is_terminal():
            return float(live.returns()[seating.index(0)])
        if live.is_chance_node():
            return sum(p * expected(live.child(a), seating) for a, p in live.chance_outcomes())
        law = chances(known[seating[live.current_player()]], live)
        pairs = zip(law, live.legal_actions(), strict=True)
        return sum(p * expected(live.child(action), seating) for p, action in pairs if p > 0)

    start = row.game.engine.new_initial_state()
    return float(np.mean([expected(start, seating) for seating in row.seatings]))


def led(row: Row, deals: int, cores: int) -> Iterator[tuple[str, ...]]:
    """Cells of the table for each number of deals in LED."""
    values, corrections = row.deals(deals, cores)
    corrections -= corrections.mean(axis=0)  # a sample of these deals has corrections of mean 0
    counted = truth(row)
    mean = float(values.mean()) if counted is None else counted
    span, seatings = row.span, len(row.players)
    for n in LED:
        drawn = np.random.default_rng(n).integers(0, len(values), (SAMPLES, n))
        raw = values[drawn]
        better = np.array([corrected(values[one], corrections[one]) for one in drawn])
        ends = limits(raw, span), limits(better, reaching(better, span, seatings))
        first = np.array([leads(*both, span, seatings) for both in zip(raw, better, strict=True)])
        missed = np.array([_missed(low, high, mean) for low, high in ends])
        width = np.array([high - low for low, high in ends])
        student = 2 * stdtrit(n - 1, 0.975) * better.std(axis=1, ddof=1) / np.sqrt(n)
        shares = (*missed.mean(axis=1), np.where(first, missed[1], missed[0]).mean())
        widths = width.mean(axis=1)
        chosen = np.where(first, width[1], width[0]).mean()
        yield (
            f"{n}",
            *(f"{one:.1%}" for one in shares),
            f"{first.mean():.0%}",
            f"{widths[1] / widths[0]:.2f}",
            f"{chosen / widths[0]:.2f}",
            f"{np.median(width[1]) / np.median(student):.2f}" if student.any() else "-",
        )


def core_seconds() -> float:
    """What this process and its ended children have used."""
    return sum(os.times()[:4])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chance")
    parser.add_argument("--deals", type=int, default=1_000, metavar="N")
    parser.add_argument("--playouts", type=int, metavar="N", help="of a state; any N is unbiased")
    parser.add_argument("--cores", type=int, default=1, metavar="N", help="processes")
    parser.add_argument("--table", choices=("corrections", "leads"), default="corrections")
    parser.add_argument("--rows", default="some", metavar="some|all|TEXT", help="in their names")
    options = parser.parse_args(arguments)
    if options.playouts:
        chance.FAST = chance.FEWEST = options.playouts
    wanted = [named for named in ROWS if options.rows == "all" or options.rows in named]
    if options.table == "leads":
        print(
            "| game | players | known | u | deals | raw misses | corrected | leading | leads "
            f"| width | leading | Student |\n|{'---|' * 12}"
        )
        for named in SHOWN if options.rows == "some" else wanted:
            for line in led(ROWS[named], options.deals, options.cores):
                print(f"| {' | '.join((*named.split(', '), *line))} |", flush=True)
        return 0
    print("| game | players | known | u | deals | ratio | z | covered | ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    every: list[float] = []
    for named in FEW if options.rows == "some" else wanted:
        measured(ROWS[named], 2)  # compile and learn first
        started = core_seconds()
        found = measured(ROWS[named], options.deals, options.cores)
        each = 1_000 * (core_seconds() - started) / options.deals / len(ROWS[named].players)
        every += found.z.tolist()
        told = (f"{options.deals:,}", f"{found.ratio:.1f}", ", ".join(f"{z:+.1f}" for z in found.z))
        cells = (*named.split(", "), *told, f"{found.covered:.0%}", f"{each:.0f}")
        print(f"| {' | '.join(cells)} |", flush=True)
    rms = float(np.sqrt(np.mean(np.square(every))))
    print(f"\nz: {len(every)}, root mean square {rms:.2f}, largest {np.abs(every).max():.1f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
