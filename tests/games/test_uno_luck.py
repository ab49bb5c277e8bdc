"""Luck-adjusted results: the same win rate, from fewer games, and deterministic."""

from __future__ import annotations

import numpy as np
import pytest

from gauntlet.games.uno import Uno, luck, rules

SOLO = (("random", "rule"), 1, 1)
HELPER = (("rule", "rule", "rule"), 2, 1)
TRUTH = {SOLO: (0.5420 - 0.49537, 0.0003), HELPER: (-0.0207, 0.0006)}
"""What RLCard's rule player gains over the random one in the last seat, for the measured seat,
and its standard error: differences of millions of simulated games each."""

Setting = tuple[tuple[str, ...], int, int]


def judged(setting: Setting, reference: str, games: int, playouts: int) -> np.ndarray:
    """Won or not, and advantage, of each game: (games, 2)."""
    players, seat, measured = setting
    game = Uno(len(players))
    code = game.code(reference)
    return luck.sample(game.codes(players), code, seat, measured, games, playouts, 11, luck.WALK)


@pytest.mark.parametrize(
    ("setting", "ratio"), [pytest.param(SOLO, 5, marks=pytest.mark.slow), (HELPER, 4)]
)
def test_the_mean_advantage_is_the_difference_of_win_rates(setting: Setting, ratio: float) -> None:
    won, advantage = judged(setting, "random", 1_000, 50).T
    truth, error = TRUTH[setting]
    assert abs(advantage.mean() - truth) < 4 * np.hypot(advantage.std() / np.sqrt(1_000), error)
    assert won.var() > ratio * advantage.var()


def test_the_reference_gains_nothing_over_itself() -> None:
    won, advantage = judged(SOLO, "rule", 1_500, 30).T
    assert abs(advantage.mean()) < 4 * advantage.std() / np.sqrt(1_500)
    assert won.var() > 5 * advantage.var()


def test_forced_moves_have_no_advantage() -> None:
    """The rule player's only card that fits is as good as what the rule player would do."""
    _, advantage = judged((("first", "first"), 1, 1), "first", 50, 10).T
    assert (advantage == 0).all()


def test_a_game_gives_the_same_again_and_an_illegal_move_nan() -> None:
    game = Uno()
    start = game.deal(np.random.default_rng(4))
    state, actions = start, []
    while seats := game.to_move(state):
        actions.append(game.legal(state, seats[0])[-1])
        state = game.play(state, (actions[-1],))
    codes = game.codes(("random", "random"))

    def advantage(moves: list[int], seed: int) -> float:
        return luck.advantage(start.array, np.array(moves), 1, 1, codes, 20, seed, luck.WALK)

    assert advantage(actions, 3) == advantage(actions, 3) != advantage(actions, 4)
    wrong = [*actions[:2], rules.ACTIONS - 1 if actions[2] != rules.DRAW else 0, *actions[3:]]
    assert np.isnan(advantage(wrong, 3))
