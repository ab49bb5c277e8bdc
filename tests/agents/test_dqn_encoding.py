"""The encoding of UNO and UNO Arena decisions: by hand, against RLCard's, and without secrets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from rlcard.games.uno.utils import ACTION_LIST, encode_hand, encode_target

from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import State, Uno, rules
from gauntlet.games.uno.arena import UnoArena
from gauntlet.games.uno.arena.rules import COLOUR, PHASE
from gauntlet.games.uno.policies import redeal
from gauntlet.training.dqn.practice import ByTheRules, SeatInTurn
from tests.games.test_small_games import after
from tests.games.test_uno_rules import position

GAMES = (Uno(), UnoArena(), Uno(4), UnoArena(3))
every_game = pytest.mark.parametrize("game", GAMES, ids=str)


def states(game: Any, games: int, seed: int = 0) -> Iterator[State]:
    """Yield every state with a choice in this many random games."""
    rng = np.random.default_rng(seed)
    for _ in range(games):
        state = game.deal(rng)
        while movers := game.to_move(state):
            options = game.legal(state, movers[0])
            if len(options) > 1:
                yield state
            state = game.play(state, (options[rng.integers(len(options))],))


def encoded(game: Any, state: State) -> np.ndarray:
    (seat,) = game.to_move(state)
    found: np.ndarray = game.encode(game.observe(state, seat))
    return found


def test_a_decision_worked_by_hand() -> None:
    held = "red 3, red 3, blue skip, wild, wild draw four, wild draw four"
    state = position("yellow 7", "red 1, red 2, red 4", held, pile="green 1", to_move=1)
    row = encoded(Uno(), state)
    planes, sizes = row[:240].reshape(4, 4, 15), row[240:]
    two, one, none = np.zeros((3, 4, 15))
    two[0, 3] = one[2, 10] = 1
    one[:, 13] = two[:, 14] = 1
    none[:] = 1 - one - two
    match = np.zeros((4, 15))
    match[3, 7] = 1
    assert (planes == [none, one, two, match]).all()
    assert sizes * 108 == pytest.approx([1, 6, 3])


def test_the_planes_are_those_of_rlcard() -> None:
    """Except for wilds held twice, which RLCard does not distinguish from one."""
    seen = 0
    for state in states(Uno(), 40):
        (seat,) = Uno().to_move(state)
        view = Uno().observe(state, seat).view
        if max(view.hand) > 2 or max(view.hand[13], view.hand[14]) > 1:
            continue
        names = [ACTION_LIST[kind] for kind in range(60) for _ in range(view.hand[kind])]
        planes = np.zeros((4, 4, 15), dtype=int)
        encode_hand(planes[:3], names)
        encode_target(planes[3], ACTION_LIST[15 * view.colour + view.trait])
        assert (encoded(Uno(), state)[:240] == planes.ravel()).all()
        seen += 1
    assert seen > 100


@every_game
def test_numbers_are_in_range_and_of_one_shape(game: Any) -> None:
    for state in states(game, 10):
        row = encoded(game, state)
        assert row.dtype == np.float32
        assert row.shape == (241 + game.num_seats,)
        assert 0 <= row.min() <= row.max() <= 1
        assert (row[:180].reshape(3, 60).sum(axis=0) == 1).all()
        assert row[180:240].sum() == 1


@every_game
def test_hidden_cards_do_not_show(game: Any) -> None:
    for number, state in enumerate(states(game, 6)):
        (seat,) = game.to_move(state)
        other = state.array.copy()
        redeal(other, seat, np.uint64(number))
        assert (encoded(game, State(other)) == encoded(game, state)).all()
        same = game.option_codes(game.observe(State(other), seat))
        assert same == game.option_codes(game.observe(state, seat))


@every_game
def test_codes_tell_the_options_of_a_decision_apart(game: Any) -> None:
    for state in states(game, 10):
        (seat,) = game.to_move(state)
        codes = [code for own in game.option_codes(game.observe(state, seat)) for code in own]
        assert len(set(codes)) == len(codes)
        assert 0 <= min(codes) <= max(codes) < game.num_codes


def test_a_colour_is_asked_as_the_wild_was() -> None:
    game, asked = UnoArena(), 0
    for state in states(game, 30):
        (seat,) = game.to_move(state)
        for wild in {13, 14} & set(game.legal(state, seat)) if phase(state) == 0 else ():
            after = game.play(state, (wild,))
            if not game.to_move(after):
                continue
            assert phase(after) == COLOUR
            assert (encoded(game, after) == encoded(game, state)).all()
            before, now = game.observe(state, seat), game.observe(after, seat)
            option = game.legal(state, seat).index(wild)
            apart = game.option_codes(now)
            assert game.option_codes(before)[option] == tuple(code for (code,) in apart)
            asked += 1
    assert asked > 30


def phase(state: State) -> int:
    return state.array.item(PHASE)


@every_game
def test_practice_tells_what_the_game_tells(game: Any) -> None:
    practice, rng = game.practice(1, 7), np.random.default_rng(1)
    for number in range(15):
        going = practice.begin(number)
        while going:
            seen = game.observe(State(practice.state.copy()), 1)
            assert (practice.features == game.encode(seen)).all()
            legal = np.flatnonzero(practice.legal)
            codes = [code for own in game.option_codes(seen) for code in own]
            assert legal.tolist() == sorted(codes)
            going = practice.take(int(rng.choice(legal)))
        over = State(practice.state)
        assert game.to_move(over) == ()
        assert practice.result == game.returns(over)[1]


def test_a_tic_tac_toe_decision_worked_by_hand() -> None:
    """Seat 1 is to move; X has the corners of the first row, O its middle."""
    game = TicTacToe()
    state = after(game, 0, 1, 2)
    seen = game.observe(state, 1)
    assert game.encode(seen).tolist() == [0, 1, 0, *6 * [0], 1, 0, 1, *6 * [0]]
    assert game.option_codes(seen) == ((3,), (4,), (5,), (6,), (7,), (8,))
    other = game.observe(after(game, 2, 1, 0), 1)
    assert (game.encode(other) == game.encode(seen)).all()


def test_seats_take_turns_in_practice() -> None:
    """The second seat sees a mark of the other's when it begins, the first none."""
    turns = SeatInTurn([ByTheRules(TicTacToe(), seat, 3) for seat in (0, 1)])
    for number in range(6):
        assert turns.begin(number)
        assert turns.features.sum() == number % 2
        while turns.take(int(np.flatnonzero(turns.legal)[0])):
            pass
        assert turns.result in (-1, 0, 1)


@pytest.mark.parametrize("game", [Uno(), UnoArena()], ids=str)
def test_fast_practice_meets_as_many_choices_as_the_rules_do(game: Any) -> None:
    """And wins as often. In the rules, a wild's colour is a separate, second choice."""
    fast, slow = (
        played(practice, 400, 90) for practice in (game.practice(1, 5), ByTheRules(game, 1, 5))
    )
    for one, other in zip(fast, slow, strict=True):
        error = np.sqrt(one.var() / len(one) + other.var() / len(other))
        assert abs(one.mean() - other.mean()) < 4 * error


def played(practice: Any, games: int, seed: int) -> np.ndarray:
    """Choices that are no wild's colour, and the result, of games at random: (2, games)."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(games):
        choices, wild, going = 0, False, practice.begin(number)
        while going:
            legal = np.flatnonzero(practice.legal)
            colour = wild and len(legal) == 4 and len(set(legal % 15)) == 1
            choices += not colour
            code = int(rng.choice(legal))
            wild = code % 15 >= rules.WILD
            going = practice.take(code)
        found.append((choices, practice.result))
    return np.array(found, float).T
