"""Hive in lockstep, ply by ply: against OpenSpiel 2.0.2 and against a referee of our own.

OpenSpiel's game is played without its expansions, and differs from ours in this:
- It has two beetles a side. They stay in hand: moves with them are left out. Where they are all
  that a side has left, our side passes and theirs cannot; such a game is left there.
- A queen may not be a side's first piece, as in tournaments. Ours may, and does where the referee
  looks on.
- It ends in a draw where a piece leaves its board; that has the largest size here.
- It tells equal pieces in hand apart; here the first of them is placed.
- While white's queen is in hand, it holds no black piece for pinned (its search for pinned pieces
  starts at that queen); then what black may move with is left to the referee.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gauntlet.games.hive import hexes, rules
from gauntlet.games.hive.words import NAMES
from tests.games import hive_referee as referee
from tests.games.hive_referee import AROUND, Hex, Hive, Move
from tests.games.slips import slipped

PLIES = 500
WAYS = {"{}/": "NE", "{}-": "E", "{}\\": "SE", "/{}": "SW", "-{}": "W", "\\{}": "NW"}
"""How OpenSpiel writes where a cell lies from a piece."""
RETURNS = {
    rules.WHITE_WINS: [1, -1],
    rules.BLACK_WINS: [-1, 1],
    rules.DRAW: [0, 0],
    rules.BOTH_LOSE: [-1, -1],
}


class Ours:
    """Our game, and where in the plane its pieces lie."""

    def __init__(self, engine: Any, quirks: bool = False) -> None:
        self.engine, self.quirks = engine, quirks
        self.state = engine.blank(PLIES - quirks, quirks)
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
        """What may be done, with our number for it; None is to pass."""
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
        """The hexes of all cells beside a piece; of the centre where there is none."""
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
        assert self.engine.played(self.state, move, after)
        self.state = after

    def choose(self, moves: dict[Move | None, int], rng: random.Random) -> Move | None:
        """Any move; in three of ten turns one that ends beside the other queen, if there is one, so
        that many games have winners."""
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
        """Its moves without those of beetles, told as ours."""
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


def against_spiel(engine: Any, seed: int, tally: Counter[str]) -> str:
    """Plays a game in both, to its end or the first difference, which is returned."""
    ours, spiel, rng = Ours(engine), Spiel(), random.Random(seed)
    while ours.result == rules.GOING_ON:
        known, theirs = ours.legal(), spiel.legal(ours.hive)
        laid = ours.hive.values()
        if "wQ" not in laid and "bQ" in laid and ours.side == "b":
            right = referee.moves(ours.hive, "b", ours.ply // 2 + 1)
            theirs = {move: number for move, number in theirs.items() if move in right}
        if not theirs and list(known) == [None]:
            tally["left at beetles"] += 1
            return ""
        open_to = {move for move in known if ours.ply > 1 or move is None or move[0][1] != "Q"}
        if open_to != set(theirs):
            return f"game {seed}, {spiel.state}: {open_to ^ set(theirs)}"
        move = ours.choose({move: known[move] for move in known if move in open_to}, rng)
        ours.act(known[move])
        spiel.state.apply_action(theirs[move])
        tally["plies"] += 1
        tally["passes"] += move is None
        if spiel.state.is_terminal() != (ours.result != rules.GOING_ON):
            return f"game {seed}, {spiel.state}: over in one alone"
    tally[f"result {ours.result}"] += 1
    same = spiel.state.returns() == RETURNS[ours.result]
    return "" if same else f"game {seed}, {spiel.state}: {ours.result}"


def against_referee(engine: Any, quirks: bool, seed: int, plies: int, tally: Counter[str]) -> str:
    """As `against_spiel`, with the referee and by either set of rules, up to a number of plies."""
    ours, rng = Ours(engine, quirks), random.Random(seed)
    while ours.result == rules.GOING_ON and ours.ply < plies:
        known = ours.legal()
        right = referee.moves(ours.hive, ours.side, ours.ply // 2 + 1, quirks) or {None}
        if set(known) != right:
            return f"game {seed}, ply {ours.ply}: {set(known) ^ right}"
        ours.act(known[ours.choose(known, rng)])
        tally["plies"] += 1
        if (ours.result == rules.GOING_ON) != (ours.ply < PLIES - quirks and not over(ours.hive)):
            return f"game {seed}, ply {ours.ply}: over or not"
    if ours.result != rules.GOING_ON:
        tally[f"result {ours.result}"] += 1
        if ours.result != expected(ours.hive, quirks):
            return f"game {seed}: {ours.result}"
    return ""


def over(hive: Hive) -> bool:
    return referee.lost(hive, "w") or referee.lost(hive, "b")


def expected(hive: Hive, quirks: bool) -> int:
    lost = referee.lost(hive, "w"), referee.lost(hive, "b")
    both = rules.BOTH_LOSE if quirks else rules.DRAW
    ends = {(True, True): both, (True, False): rules.BLACK_WINS, (False, True): rules.WHITE_WINS}
    return ends.get(lost, rules.DRAW)


@pytest.mark.parametrize("games", [30, pytest.param(2_000, marks=pytest.mark.slow)])
def test_every_position_has_the_moves_that_openspiel_has(
    games: int, figure: Callable[[str], None]
) -> None:
    tally: Counter[str] = Counter()
    for seed in range(games):
        difference = against_spiel(rules, seed, tally)
        assert not difference, difference
    figure(f"hive in lockstep with OpenSpiel, {games:,} games: {dict(tally)}")
    assert tally["result 0"] > games / 10
    assert tally["result 1"] > games / 10


@pytest.mark.parametrize("quirks", [False, True])
@pytest.mark.parametrize("games", [6, pytest.param(500, marks=pytest.mark.slow)])
def test_every_position_has_the_moves_that_the_referee_finds(
    games: int, quirks: bool, figure: Callable[[str], None]
) -> None:
    tally: Counter[str] = Counter()
    for seed in range(games):
        difference = against_referee(rules, quirks, seed, PLIES, tally)
        assert not difference, difference
    figure(f"hive in lockstep with a referee, quirks {quirks}, {games} games: {dict(tally)}")
    assert tally["plies"] > 20 * games


SLIPS = {
    "the queen may come a turn later": (False, "QUEEN_BY = 3", "QUEEN_BY = 4"),
    "pieces move before their queen lies": (
        False, "if state[OWN * seat] != HAND:", "if state[PLY] > 4:",
    ),
    "a new piece may touch the other side": (False, "if apart and is_new", "if is_new"),
    "the hive may fall apart": (False, "if GROUPS[table.near[cell]] <= 1:", "if True:"),
    "no piece with neighbours in two groups may leave": (
        False, "        if beside & ~reached == 0:", "        if False:",
    ),
    "a grasshopper jumps over one piece alone": (
        False, "while table.near[end] >> direction & 1:", "while False:",
    ),
    "a spider comes back after a step": (False, "and two != start:", "and True:"),
    "a spider comes back after two steps": (False, "end in (start, one)", "end == start"),
    "a spider returns to its cell": (False, "end in (start, one)", "end == one"),
    "an ant may stay where it is": (False, "table.seen[start] = stamp", "pass"),
    "an ant makes one step": (False, "table.way[left] = ahead\n", "table.way[left] = start\n"),
    "the queen is surrounded by five": (False, "state, 0) == 6", "state, 0) == 5"),
    "quirks: a crowded cell is left": (True, "if COUNT[around] > 4:", "if COUNT[around] > 5:"),
    "quirks: a crowded cell is entered": (True, "1 <= ahead <= 3", "1 <= ahead <= 4"),
    "quirks: a piece leaves the hive": (True, "1 <= ahead <= 3", "0 <= ahead <= 3"),
    "quirks: a spider loses touch": (True, "& int(TOUCHES[table.near[cell]])", ""),
}  # fmt: skip
"""Each with whether it is one of the published code's rules, and the text that it replaces."""


def first_difference(engine: ModuleType, quirks: bool, games: int) -> str:
    for seed in range(games):
        try:
            difference = against_referee(engine, quirks, seed, 60, Counter())
        except (AssertionError, KeyError, IndexError) as error:
            return f"{type(error).__name__}: {error}"
        if difference:
            return difference
    return ""


@pytest.mark.parametrize("slip", SLIPS)
def test_a_planted_slip_is_caught(slip: str) -> None:
    quirks, old, new = SLIPS[slip]
    assert first_difference(slipped(rules, old, new), quirks, games=60)


@pytest.mark.parametrize("quirks", [False, True])
def test_the_rules_as_plain_python_are_not_taken_for_a_slip(quirks: bool) -> None:
    assert not first_difference(slipped(rules, "QUEEN_BY = 3", "QUEEN_BY = 3"), quirks, games=3)
