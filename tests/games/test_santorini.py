"""Santorini against a slow referee, position by position, and what its players come to."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.common.errors import IllegalAction
from gauntlet.games.playouts import played, probabilities, results, simulate
from gauntlet.games.santorini import Santorini, State, rules, words
from gauntlet.games.santorini.game import both
from tests.games.cases import seeds, walk
from tests.games.duels import scores
from tests.games.santorini_referee import ORDER, SQUARES, Referee
from tests.games.slips import slipped

GAME, AT_ONCE = Santorini(), Santorini(quirks=True)
PLACE, MOVE, BUILD = rules.PLACE, rules.MOVE, rules.BUILD


def difference(engine: Any, array: np.ndarray, referee: Referee) -> str:
    """How a state and its options differ from the referee's; "" where they do not."""
    cells = array.tolist()
    winner = cells[rules.WINNER] if cells[rules.WINNER] >= 0 else None
    mask = 0 if engine.over(array) else engine.legal(array)
    pawns = {ORDER[n]: SQUARES[at] for n, at in enumerate(cells[25:29]) if at >= 0}
    ours = (cells[:25], pawns, winner, {SQUARES[at] for at in range(25) if mask >> at & 1})
    theirs = (list(referee.levels.values()), referee.pawns, referee.winner, referee.options())
    named = zip(("levels", "pawns", "winner", "options"), ours, theirs, strict=True)
    return "; ".join(f"{name}: {one} / {other}" for name, one, other in named if one != other)


def lockstep(engine: Any, games: int) -> tuple[int, int, str]:
    """Random games of both up to the first difference: plies, games that ended with a pawn that
    could not move, and the difference."""
    plies = stuck = 0
    for seed in range(games):
        choose, referee, array = random.Random(seed), Referee(), rules.blank()
        while not (found := difference(engine, array, referee)) and referee.winner is None:
            square = choose.choice(sorted(referee.options()))
            engine.step(array, SQUARES.index(square))
            referee.take(square)
            plies += 1
        if found:
            return plies, stuck, f"game {seed}: {found}"
        stuck += 3 not in {referee.levels[at] for at in referee.pawns.values()}
    return plies, stuck, ""


@pytest.mark.parametrize("games", [500, pytest.param(5000, marks=pytest.mark.slow)])
def test_every_state_equals_that_of_the_referee(games: int, figure: Callable[[str], None]) -> None:
    plies, stuck, found = lockstep(rules, games)
    assert not found
    assert plies > 40 * games
    assert stuck > games // 20
    figure(
        f"Santorini in lockstep with its referee: {games:,} games, {plies:,} plies, {stuck:,} "
        "ended by a pawn that could not move"
    )


SLIPS = {
    "a pawn climbs two levels": (
        "state[state[PAWNS + pawn]] + 1",
        "state[state[PAWNS + pawn]] + 2",
    ),
    "a pawn cannot step down": (
        "if state[square] > most:",
        "if state[square] > most or state[square] < state[state[PAWNS + pawn]]:",
    ),
    "level 2 wins": ("state[square] == TOP", "state[square] == TOP - 1"),
    "level 3 does not win": ("state[square] == TOP", "state[square] == COMPLETE"),
    "level 3 is complete": ("state[square] >= COMPLETE", "state[square] >= TOP"),
    "complete squares are built on": ("state[square] >= COMPLETE", "state[square] > COMPLETE"),
    "a build adds two levels": ("state[square] += 1", "state[square] += 2"),
    "pawns may share a square": ("found &= ~(1 << state[pawn])", "pass"),
    "the board is a ring": ("square % SIDE))", "square % SIDE) % 4)"),
    "each player moves both pawns": ("(state[TURN] + 1) % 4", "(state[TURN] + 2) % 4"),
    "who cannot move wins": ("state[WINNER] = 1 - pawn % 2", "state[WINNER] = pawn % 2"),
    "who cannot move is passed over": ("state[WINNER] = 1 - pawn % 2", "pass"),
}


def planted(old: str, new: str) -> ModuleType:
    return slipped(rules, old, new)


@pytest.mark.parametrize("slip", SLIPS)
def test_a_planted_slip_is_caught(slip: str) -> None:
    assert lockstep(planted(*SLIPS[slip]), games=60)[2]


def test_the_rules_as_plain_python_are_not_taken_for_a_slip() -> None:
    assert not lockstep(planted("SIDE = 5", "SIDE = 5"), games=20)[2]


def position(board: str, pawn: str, stage: int, quirks: bool = False) -> State:
    """A state by its drawing, row 5 first: a level a square, and the pawn that is on it."""
    cells = [0] * rules.SIZE
    cells[rules.TURN], cells[rules.STAGE], cells[rules.WINNER] = ORDER.index(pawn), stage, -1
    for row, line in zip("54321", board.split("\n"), strict=True):
        for column, square in zip("abcde", line.split(), strict=True):
            at = SQUARES.index(column + row)
            cells[at] = int(square[0])
            if square[1:]:
                cells[rules.PAWNS + ORDER.index(square[1])] = at
    return State(tuple(cells))


def options(state: State, seat: int) -> set[str]:
    return {name[:2] for name in GAME.observe(state, seat).options}


HILLS = """\
0 0 0 0 0Y
0 2 4 0 0
0 1 1A 2 3
0 0X 0 3 0
0 0 0 0 0B"""


def test_a_pawn_steps_one_level_up_at_most_and_onto_no_other_pawn() -> None:
    assert options(position(HILLS, "A", MOVE), 0) == {"b4", "d4", "b3", "d3", "c2"}


def test_a_pawn_builds_where_nobody_stands_and_nothing_is_complete() -> None:
    assert options(position(HILLS, "A", BUILD), 0) == {"b4", "d4", "b3", "d3", "c2", "d2"}


def test_a_step_to_level_3_wins_at_once() -> None:
    state = position(HILLS.replace("1A", "1").replace("2 3\n", "2A 3\n"), "A", MOVE)
    after = GAME.play(state, [SQUARES.index("e3")])
    assert GAME.to_move(after) == ()
    assert GAME.returns(after) == (1.0, -1.0)
    assert after.history == ("player 0 moved pawn A from d3 to e3 (level 3)",)


WALLED = """\
0 0 0 0 0Y
0 0 0 0 0
0 0A 0 0 0
2 1 0 0 0
0X 2 0 0 0B"""


def test_whose_pawn_cannot_move_loses_though_the_other_could() -> None:
    state = GAME.play(position(WALLED, "A", BUILD), [SQUARES.index("b2")])
    assert GAME.to_move(state) == ()
    assert GAME.returns(state) == (1.0, -1.0)


def test_pawns_are_placed_and_act_in_turns() -> None:
    order = []
    for state, seats, _ in walk(GAME, 3):
        if seats and state.cells[rules.STAGE] != BUILD:
            order.append((words.NAMES[state.cells[rules.TURN]], *seats))
    wanted = [("A", 0), ("X", 1), ("B", 0), ("Y", 1)]
    assert order == (wanted * len(order))[: len(order)]
    assert len(order) > 12


@given(seeds)
def test_a_turn_in_one_action_is_the_two_stages_one_after_the_other(seed: int) -> None:
    for state, seats, moves in walk(AT_ONCE, seed):
        if seats and state.cells[rules.STAGE] == MOVE:
            pairs = set(AT_ONCE.legal(state, seats[0]))
            assert {
                pair for to in GAME.legal(state, seats[0]) for pair in after(state, to)
            } == pairs
            to, at = divmod(moves[0] - rules.BOTH, 25)
            told = AT_ONCE.play(state, moves)
            middle = GAME.play(state, [to])
            assert told == (GAME.play(middle, [at]) if GAME.to_move(middle) else middle)
        assert state.cells[rules.STAGE] != BUILD


def after(state: State, to: int) -> set[int]:
    """The actions that step to a square: with every build, or after a win with any square near."""
    (seat,) = GAME.to_move(state)
    middle = GAME.play(state, [to])
    builds = GAME.legal(middle, seat)
    if not builds:
        cells = list(middle.cells)
        cells[rules.WINNER], cells[rules.STAGE] = -1, BUILD
        builds = GAME.legal(State(tuple(cells)), seat)
    return {both(to, at) for at in builds}


@given(seeds)
def test_the_facts_tell_who_can_win_and_where(seed: int) -> None:
    for state, seats, _ in walk(GAME, seed):
        if seats and state.cells[rules.STAGE] == MOVE:
            facts = {fact.name: fact.text for fact in GAME.observe(state, seats[0]).facts}
            pawn = words.NAMES[state.cells[rules.TURN]]
            winning = [
                words.square(to)
                for to in GAME.legal(state, seats[0])
                if not GAME.to_move(GAME.play(state, [to]))
            ]
            told = facts["Pawns that could step to level 3 now"]
            assert (f"{pawn} on {' or '.join(winning)}" in told) == bool(winning)


def test_greedy_climbs_wins_and_stops_the_next_pawn() -> None:
    climb = GAME.observe(position(HILLS, "A", MOVE), 0)
    chances = dict(zip(climb.options, probabilities(GAME, "greedy", climb), strict=True))
    assert {name for name, chance in chances.items() if chance} == {"b4 (level 2)", "d3 (level 2)"}
    threatened = position(HILLS.replace("1 1A", "1A 2X").replace("0X 0 3", "0 2 3"), "A", BUILD)
    stop = GAME.observe(threatened, 0)
    assert "X on d2" in stop.facts[4].text
    chances = dict(zip(stop.options, probabilities(GAME, "greedy", stop), strict=True))
    assert chances["c2 up to level 3"] == 0


def test_one_ply_search_beats_greedy_and_greedy_beats_random() -> None:
    """In thousands of games greedy wins 98%, one-ply search about 90% against greedy."""
    wins = (
        simulate(GAME, ["greedy", "random"], 1000, 1)
        + simulate(GAME, ["random", "greedy"], 1000, 2)[[1, 0, 2]]
    )
    assert wins[0] > 1900
    assert scores(GAME, "one_ply", "greedy", 6).mean() >= 8 / 12


def test_playouts_of_an_option_go_as_those_by_the_rules() -> None:
    """A pawn before a winning step: that option always wins, and the others do as often as games
    played on by the rules."""
    state = position(HILLS.replace("1A", "1").replace("2 3\n", "2A 3\n"), "A", MOVE)
    found = results(GAME, state, 0, ["random", "random"], 400, 5, False)
    names = [name[:2] for name in GAME.observe(state, 0).options]
    assert found.shape == (len(names), 400, 2)
    assert found[names.index("e3"), :, 0].all()
    assert (found.sum(axis=2) == 1).all()
    slow = [played_on(GAME.play(state, [GAME.legal(state, 0)[0]]), number) for number in range(200)]
    assert abs(np.mean(slow) - found[0, :, 0].mean()) < 0.17


def played_on(state: State, number: int) -> bool:
    rng = np.random.default_rng(number)
    while seats := GAME.to_move(state):
        legal = GAME.legal(state, seats[0])
        state = GAME.play(state, [legal[int(rng.integers(len(legal)))]])
    return GAME.returns(state)[0] > 0


@given(st.integers(0, 10_000))
def test_a_game_ends_within_a_hundred_turns(number: int) -> None:
    state, plies = played(GAME, ["random", "random"], 9, number)
    assert plies <= 4 + 2 * 100
    assert sum(state.cells[:25]) <= 100


def test_what_is_not_legal_is_refused_with_the_board() -> None:
    with pytest.raises(IllegalAction, match=r"action 12 is not legal for player 0 in\n   a  b"):
        GAME.play(position(HILLS, "A", MOVE), [12])
    with pytest.raises(ValueError, match="santorini seats 2 players here, got 3"):
        Santorini(num_seats=3)
