"""Santorini against a slow referee, position by position, and results of its players."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.games.playouts import play_game, probabilities, results
from gauntlet.games.santorini import Santorini, State, rules, words
from gauntlet.games.santorini.game import step_and_build
from tests.games.cases import seeds, walk
from tests.games.santorini_referee import ORDER, SQUARES, Referee
from tests.games.slips import caught, slipped

GAME, AT_ONCE = Santorini(), Santorini(paper_bugs=True)
PLACE, MOVE, BUILD = rules.PLACE, rules.MOVE, rules.BUILD


def lockstep(engine: Any, seed: int) -> Counter[str]:
    """Play a random game in both; return the outcome. Fails if they differ."""
    choose, referee, array = random.Random(seed), Referee(), rules.blank()
    tally = Counter(games=1)
    while True:
        cells = array.tolist()
        assert cells[:25] == list(referee.levels.values())
        pawns = {ORDER[n]: SQUARES[at] for n, at in enumerate(cells[25:29]) if at >= 0}
        assert pawns == referee.pawns
        assert cells[rules.WINNER] == (-1 if referee.winner is None else referee.winner)
        mask = 0 if engine.over(array) else engine.legal(array)
        assert {SQUARES[at] for at in range(25) if mask >> at & 1} == referee.options()
        if referee.winner is not None:
            break
        square = choose.choice(sorted(referee.options()))
        engine.step(array, SQUARES.index(square))
        referee.take(square)
        tally["plies"] += 1
    tally["ended by a pawn that could not move"] += 3 not in {
        referee.levels[at] for at in referee.pawns.values()
    }
    return tally


@pytest.mark.parametrize("games", [500, pytest.param(5000, marks=pytest.mark.slow)])
def test_every_state_equals_that_of_the_referee(games: int, figure: Callable[[str], None]) -> None:
    tally = sum((lockstep(rules, seed) for seed in range(games)), Counter())
    assert tally["plies"] > 40 * games
    assert tally["ended by a pawn that could not move"] > games // 20
    figure(f"Santorini in lockstep with its referee: {dict(tally)}")


SLIPS = {
    "a pawn climbs two levels": (
        "state[state[PAWNS + pawn]] + 1",
        "state[state[PAWNS + pawn]] + 2",
    ),
    "level 2 wins": ("state[square] == TOP", "state[square] == TOP - 1"),
    "complete squares are built on": ("state[square] >= COMPLETE", "state[square] > COMPLETE"),
    "pawns may share a square": ("mask &= ~(1 << state[pawn])", "pass"),
    "each player moves both pawns": ("pawn = (state[TURN] + 1)", "pawn = (state[TURN] + 2)"),
    "who cannot move wins": ("state[WINNER] = 1 - pawn % 2", "state[WINNER] = pawn % 2"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_planted_slip_is_caught(slip: str) -> None:
    assert caught(lockstep, slipped(rules, *SLIPS[slip]), games=60)


def test_the_rules_as_plain_python_are_not_taken_for_a_slip() -> None:
    assert not caught(lockstep, slipped(rules, "SIDE = 5", "SIDE = 5"), games=20)


def position(board: str, pawn: str, stage: int, paper_bugs: bool = False) -> State:
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
    return {step_and_build(to, at) for at in builds}


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
    state, plies = play_game(GAME, ["random", "random"], 9, number)
    assert plies <= 4 + 2 * 100
    assert sum(state.cells[:25]) <= 100
