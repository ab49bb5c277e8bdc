"""Hive in lockstep, ply by ply: against OpenSpiel 2.0.2 and against our own referee.

OpenSpiel's game is played without its expansions, and differs from ours:
- It has two beetles per side. They stay in hand: moves with them are skipped. Where a side has no
  other moves, ours passes and theirs cannot; such a game is abandoned.
- A queen may not be a side's first piece, as in tournaments. In ours it may, and is with the
  referee.
- It ends in a draw if a piece leaves its board, which has the largest size here.
- It distinguishes equal pieces in hand; here the first of them is placed.
- While white's queen is in hand, it treats no black piece as pinned (its search for pinned pieces
  starts at that queen); black's moves are then left to the referee.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gauntlet.games.hive import hexes, rules
from gauntlet.games.hive.words import NAMES
from tests.games import hive_referee as referee
from tests.games.hive_referee import AROUND, Hex, Hive, Move
from tests.games.slips import caught, slipped

PLIES = 500
WAYS = {"{}/": "NE", "{}-": "E", "{}\\": "SE", "/{}": "SW", "-{}": "W", "\\{}": "NW"}
"""OpenSpiel's notation for the direction of a cell from a piece."""
RETURNS = {
    rules.WHITE_WINS: [1, -1],
    rules.BLACK_WINS: [-1, 1],
    rules.DRAW: [0, 0],
    rules.BOTH_LOSE: [-1, -1],
}


class Ours:
    """Our game, and where in the plane its pieces are."""

    def __init__(self, engine: Any, paper_bugs: bool = False) -> None:
        self.engine, self.paper_bugs = engine, paper_bugs
        self.state = engine.blank(PLIES - paper_bugs, paper_bugs)
        self.hive: Hive = {}

    @property
    def ply(self) -> int:
        return self.state.item(rules.PLY)

    @property
    def side(self) -> str:
        return "wb"[self.ply % 2]

    @property
    def result(self) -> int:
        return self.state.item(rules.RESULT)

    def legal(self) -> dict[Move | None, int]:
        """Return the legal moves, with our number for each; None is to pass."""
        moves = self.engine.options(self.state).tolist()
        hexes_of = self.reach()
        known: dict[Move | None, int] = {}
        for move in moves:
            name = NAMES[move // hexes.CELLS] if move != rules.PASS else ""
            told = name if name in self.hive.values() else name[:2]
            known[(told, hexes_of[move % hexes.CELLS]) if name else None] = move
        assert len(known) == len(moves), "a move is listed twice"
        return known

    def reach(self) -> dict[int, Hex]:
        """Return the hexes of all cells next to a piece; of the centre if there is none."""
        found = {} if self.hive else {hexes.CENTRE: (0, 0)}
        for at, name in self.hive.items():
            cell = self.state.item(NAMES.index(name))
            for step, (x, y) in zip(hexes.STEPS.tolist(), AROUND.values(), strict=True):
                found[(cell + step) % hexes.CELLS] = (at[0] + x, at[1] + y)
        return found

    def act(self, move: int) -> None:
        after = np.empty_like(self.state)
        if move != rules.PASS:
            name, to = NAMES[move // hexes.CELLS], self.reach()[move % hexes.CELLS]
            self.hive = {at: other for at, other in self.hive.items() if other != name}
            self.hive[to] = name
        assert self.engine.try_move(self.state, move, after)
        self.state = after

    def choose(self, moves: dict[Move | None, int], rng: random.Random) -> Move | None:
        """Return a random move; in three of ten turns one that ends next to the other queen, if
        possible, so that many games have winners."""
        queen = "bw"[self.ply % 2] + "Q"
        near = {
            one for at, name in self.hive.items() if name == queen for one in referee.neighbours(at)
        }
        close = [told for told in moves if told is not None and told[1] in near]
        return rng.choice(close if close and rng.random() < 0.3 else list(moves))


class Spiel:
    """The same game in OpenSpiel."""

    def __init__(self) -> None:
        pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
        options = "uses_mosquito=false,uses_ladybug=false,uses_pillbug=false,board_size=14"
        self.state = pyspiel.load_game(f"hive({options})").new_initial_state()

    def legal(self, hive: Hive) -> dict[Move | None, int]:
        """Return its moves without those of beetles, in our notation."""
        found: dict[Move | None, int] = {}
        for action in self.state.legal_actions():
            words = self.state.action_to_string(action)
            if words[1] != "B":
                found.setdefault(None if words == "pass" else parse_move(words, hive), action)
        return found


def parse_move(words: str, hive: Hive) -> Move:
    """A move of OpenSpiel, such as "wA1 bQ-"."""
    piece, _, place = words.partition(" ")
    to = (0, 0)
    if place:
        beside = place.strip("\\/-")
        (at,) = (at for at, name in hive.items() if name == beside)
        x, y = AROUND[WAYS[place.replace(beside, "{}")]]
        to = (at[0] + x, at[1] + y)
    return (piece if piece in hive.values() else piece[:2]), to


def against_spiel(engine: Any, seed: int) -> Counter[str]:
    """Play a game in both; return the outcome. Fails if they differ."""
    ours, spiel, rng, tally = Ours(engine), Spiel(), random.Random(seed), Counter(games=1)
    while ours.result == rules.GOING_ON:
        known, theirs = ours.legal(), spiel.legal(ours.hive)
        laid = ours.hive.values()
        if "wQ" not in laid and "bQ" in laid and ours.side == "b":
            right = referee.moves(ours.hive, "b", ours.ply // 2 + 1)
            theirs = {move: number for move, number in theirs.items() if move in right}
        if not theirs and list(known) == [None]:
            return tally + Counter({"left at beetles": 1})
        open_to = {move for move in known if ours.ply > 1 or move is None or move[0][1] != "Q"}
        assert open_to == set(theirs), f"game {seed}, {spiel.state}"
        move = ours.choose({move: known[move] for move in known if move in open_to}, rng)
        ours.act(known[move])
        spiel.state.apply_action(theirs[move])
        tally["plies"] += 1
        tally["passes"] += move is None
        assert spiel.state.is_terminal() == (ours.result != rules.GOING_ON)
    assert spiel.state.returns() == RETURNS[ours.result]
    return tally + Counter({f"result {ours.result}": 1})


def against_referee(engine: Any, seed: int, paper_bugs: bool, most: int = PLIES) -> Counter[str]:
    """As `against_spiel`, with the referee and by either set of rules, up to a number of plies."""
    ours, rng = Ours(engine, paper_bugs), random.Random(seed)
    while ours.result == rules.GOING_ON and ours.ply < most:
        known = ours.legal()
        right = referee.moves(ours.hive, ours.side, ours.ply // 2 + 1, paper_bugs) or {None}
        assert set(known) == right, f"game {seed}, ply {ours.ply}"
        ours.act(known[ours.choose(known, rng)])
        lost = referee.lost(ours.hive, "w"), referee.lost(ours.hive, "b")
        assert (ours.result == rules.GOING_ON) == (ours.ply < PLIES - paper_bugs and not any(lost))
    if ours.result != rules.GOING_ON:
        both = rules.BOTH_LOSE if paper_bugs else rules.DRAW
        ends = {(1, 1): both, (1, 0): rules.BLACK_WINS, (0, 1): rules.WHITE_WINS}
        assert ours.result == ends.get(lost, rules.DRAW)
    return Counter({"plies": ours.ply, f"result {ours.result}": 1})


@pytest.mark.parametrize("games", [30, pytest.param(2_000, marks=pytest.mark.slow)])
def test_every_position_has_the_moves_that_openspiel_has(
    games: int, figure: Callable[[str], None]
) -> None:
    tally = sum((against_spiel(rules, seed) for seed in range(games)), Counter())
    figure(f"hive in lockstep with OpenSpiel, {games:,} games: {dict(tally)}")
    assert tally["result 0"] > games / 10
    assert tally["result 1"] > games / 10


@pytest.mark.parametrize("paper_bugs", [False, True])
@pytest.mark.parametrize("games", [4, pytest.param(500, marks=pytest.mark.slow)])
def test_every_position_has_the_moves_that_the_referee_finds(
    games: int, paper_bugs: bool, figure: Callable[[str], None]
) -> None:
    tally = sum((against_referee(rules, seed, paper_bugs) for seed in range(games)), Counter())
    figure(
        f"hive in lockstep with a referee, paper_bugs {paper_bugs}, {games} games: {dict(tally)}"
    )
    assert tally["plies"] > 20 * games


SLIPS = {
    "the queen may come a turn later": (False, "QUEEN_BY = 3", "QUEEN_BY = 4"),
    "a new piece may touch the other side": (False, "if apart and is_new", "if is_new"),
    "the hive may fall apart": (False, "if GROUPS[table.near[cell]] <= 1:", "if True:"),
    "a grasshopper jumps over one piece alone": (
        False, "while table.near[end] >> direction & 1:", "while False:",
    ),
    "a spider comes back after a step": (False, "and two != start:", "and True:"),
    "an ant makes one step": (False, "table.way[left] = ahead\n", "table.way[left] = start\n"),
    "the queen is surrounded by five": (False, "state, 0) == 6", "state, 0) == 5"),
    "paper_bugs: a crowded cell is left": (True, "if COUNT[around] > 4:", "if COUNT[around] > 5:"),
    "paper_bugs: a piece leaves the hive": (True, "1 <= ahead <= 3", "0 <= ahead <= 3"),
}  # fmt: skip
"""Each with whether it is one of the published code's rules, and the text that it replaces."""


@pytest.mark.parametrize("slip", SLIPS)
def test_a_planted_slip_is_caught(slip: str) -> None:
    paper_bugs, old, new = SLIPS[slip]
    wrong = slipped(rules, old, new)
    assert caught(lambda own, seed: against_referee(own, seed, paper_bugs, 60), wrong, games=60)


@pytest.mark.parametrize("paper_bugs", [False, True])
def test_the_rules_as_plain_python_are_not_taken_for_a_slip(paper_bugs: bool) -> None:
    same = slipped(rules, "QUEEN_BY = 3", "QUEEN_BY = 3")
    assert not caught(lambda own, seed: against_referee(own, seed, paper_bugs, 60), same, games=3)
