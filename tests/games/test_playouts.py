"""Generic playouts: against compiled ones, exact values, and planted faults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, chi2_contingency, fisher_exact

from gauntlet.common.errors import UserError
from gauntlet.games.base import TextMove
from gauntlet.games.playouts import (
    no_playouts_reason,
    play_on,
    policies_of,
    probabilities,
    results,
    simulate,
    values,
)
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from gauntlet.games.uno.arena import UnoArena
from tests.games.bare import Bare, Guessed, SumGuess, endless

LEAST_P = 1e-4
RANDOM = ("random", "random")


def alike(counts: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two counts of the same events can be of one distribution."""
    return bool(chi2_contingency(np.stack((counts, expected)) + 0.5).pvalue > LEAST_P)


def test_tic_tac_toe_by_its_rules_goes_as_its_vectorised_games() -> None:
    mine = simulate(Bare(TicTacToe()), RANDOM, 3000, 2)
    assert alike(mine, simulate(TicTacToe(), RANDOM, 100_000, 2))
    for count, chance in zip(mine.tolist(), (737 / 1260, 121 / 420, 8 / 63), strict=True):
        assert binomtest(count, 3000, chance).pvalue > LEAST_P


def arena(seed: int, plies: int = 6) -> tuple[Any, int]:
    """A state of UNO Arena in the middle of a game with a choice to make, and who makes it."""
    game, rng = UnoArena(), np.random.default_rng(seed)
    state = game.deal(rng)
    while True:
        (seat,) = game.to_move(state)
        options = game.legal(state, seat)
        if plies <= 0 and len(options) > 2:
            return state, seat
        state, plies = game.play(state, (options[rng.integers(len(options))],)), plies - 1


@pytest.mark.parametrize("hidden", [False, True])
def test_options_by_the_rules_are_worth_what_compiled_playouts_find(hidden: bool) -> None:
    state, seat = arena(4)
    mine = results(Guessed(UnoArena()), state, seat, ("rule", "random"), 100, 5, hidden)
    theirs = results(UnoArena(), state, seat, ("rule", "random"), 10_000, 5, hidden)
    assert mine.shape == (len(UnoArena().legal(state, seat)), 100, 2)
    for own, other in zip(mine[:, :, seat], theirs[:, :, seat], strict=True):
        wins, known = int(own.sum()), int(other.sum())
        assert fisher_exact([[wins, 100 - wins], [known, 10_000 - known]]).pvalue > LEAST_P


def test_compiled_playouts_are_the_games_own() -> None:
    state, seat = arena(7)
    game = UnoArena()
    won = game.winners(state, RANDOM, 50, 9, True)
    found = results(game, state, seat, RANDOM, 50, 9, True)
    assert (found[:, :, 0] == (won & 1)).all()
    assert (found[:, :, 1] == (won >> 1 & 1)).all()
    seen = game.observe(state, seat)
    assert (values(game, seen, 1, RANDOM, 50, 9) == game.values(seen, 1, RANDOM, 50, 9)).all()
    assert (simulate(Uno(), RANDOM, 500, 3) == Uno().simulate(RANDOM, 500, 3)).all()


def exact(game: TicTacToe, state: Any, seat: int) -> float:
    """Return the probability that `seat` wins under random play, from the whole tree."""
    movers = game.to_move(state)
    if not movers:
        return float(game.returns(state)[seat] > 0)
    after = [game.play(state, (cell,)) for cell in game.legal(state, movers[0])]
    return sum(exact(game, one, seat) for one in after) / len(after)


def test_values_of_tic_tac_toe_are_those_of_the_whole_tree() -> None:
    game, state = TicTacToe(), TicTacToe().deal(np.random.default_rng(0))
    for cell in (4, 0, 5):
        state = game.play(state, (cell,))
    seen = game.observe(state, 1)
    for benefits in (0, 1):
        found = values(game, seen, benefits, RANDOM, 1000, 6)
        for value, cell in zip(found.tolist(), game.legal(state, 1), strict=True):
            chance = exact(game, game.play(state, (cell,)), benefits)
            if chance in (0, 1):
                assert value == chance
            else:
                assert binomtest(round(value * 1000), 1000, chance).pvalue > LEAST_P


def test_more_playouts_only_add_to_those_before() -> None:
    state, seat = arena(8)
    few, many = (
        results(Guessed(UnoArena()), state, seat, RANDOM, playouts, 3, True)
        for playouts in (10, 30)
    )
    assert (many[:, :10] == few).all()


def test_options_meet_the_same_cards_and_chance() -> None:
    """Two options that lead to the same state win the same playouts, one by one."""

    class Twice(Bare):
        """Every cell is there twice."""

        def legal(self, state: Any, seat: int) -> tuple[int, ...]:
            return tuple(cell + copy for cell in super().legal(state, seat) for copy in (0, 100))

        def play(self, state: Any, moves: Any) -> Any:
            return super().play(state, [move % 100 for move in moves])

    game = Twice(TicTacToe())
    found = results(game, game.deal(np.random.default_rng(0)), 0, RANDOM, 200, 1, False)
    assert (found[0::2] == found[1::2]).all()
    assert (found[0] != found[2]).any()


def test_values_do_not_hang_on_what_is_hidden() -> None:
    """States with equal observations are worth the same, however the cards lie."""
    state, seat = arena(11)
    game = Guessed(UnoArena())
    other = UnoArena().sample(UnoArena().observe(state, seat), np.random.default_rng(1))
    assert other != state
    mine, theirs = (results(game, one, seat, RANDOM, 25, 2, True) for one in (state, other))
    assert (mine == theirs).all()
    mine, theirs = (results(game, one, seat, RANDOM, 25, 2, False) for one in (state, other))
    assert (mine != theirs).any()


def test_every_game_has_the_random_player() -> None:
    game = Bare(TicTacToe())
    seen = game.observe(game.deal(np.random.default_rng(0)), 0)
    assert policies_of(game) == ("random",)
    assert policies_of(Uno())[:2] == ("random", "rule")
    assert probabilities(game, "random", seen) == (1 / 9,) * 9
    with pytest.raises(ValueError, match="Bare has the policy 'random' alone, not 'rule'"):
        probabilities(game, "rule", seen)
    with pytest.raises(ValueError, match="2 seats of Bare need as many policies, got 1"):
        simulate(game, ("random",), 1, 0)


def test_what_a_game_lacks_is_told_in_one_line() -> None:
    game = Bare(TicTacToe())
    state = game.deal(np.random.default_rng(0))
    assert results(game, state, 0, RANDOM, 3, 0, hidden=False).shape == (9, 3, 2)
    with pytest.raises(UserError, match=r"^Bare cannot be played on .* no `sample`.*$") as told:
        results(game, state, 0, RANDOM, 3, 0, hidden=True)
    assert str(told.value) == no_playouts_reason(game)
    assert "\n" not in no_playouts_reason(game)


def test_open_actions_take_an_example_or_what_was_said() -> None:
    """Of ten points, "high" adds one and "low" takes one; silence is worth neither."""
    game = SumGuess()
    state = ((2, 2), "", -1)
    found = results(game, state, 0, RANDOM, 400, 1, True, "points")
    silent, said = found[:, :, 0].mean(axis=1)
    assert abs(silent - 8) < 0.3  # the guess is 2 off in the mean
    assert set((found[1] - found[0])[:, 0]) == {-1.0, 1.0}
    assert abs(said - silent) < 0.2
    high = results(game, state, 0, RANDOM, 50, 1, True, "points", {1: TextMove(1, "high")})
    assert ((high[1] - high[0]) == 1).all()


def test_a_measure_of_the_game_is_played_for_too() -> None:
    state = ((0, 1), "high", -1)
    found = values(SumGuess(), SumGuess().observe(state, 1), 0, RANDOM, 3000, 4, "points")
    each = [np.mean([11 - abs(a + b - guess) for a in range(3) for b in range(3)])
            for guess in range(5)]  # fmt: skip
    assert found == pytest.approx(each, abs=0.1)
    assert found.argmax() == 2


def test_a_game_without_an_end_is_named() -> None:
    game = endless()
    with pytest.raises(UserError, match="Endless is not over after 10,000 plies"):
        play_on(game, game.deal(np.random.default_rng(0)), RANDOM, np.random.default_rng(0))
