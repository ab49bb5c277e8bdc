"""Random streams: one per purpose, and equal to those that NumPy makes from the same numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.pipeline.config.read import MOST_SEED
from gauntlet.pipeline.plan.cells import digest
from gauntlet.pipeline.plan.rng import deal_key, stream, streams


@given(
    st.integers(0, MOST_SEED), st.integers(0, 2**40), st.lists(st.integers(0, 2**31), max_size=4)
)
def test_a_stream_is_numpys_of_seed_game_deal_and_purpose(
    seed: int, deal: int, purpose: list[int]
) -> None:
    game = TicTacToe()
    numbers = [seed, int(digest(deal_key(game)), 16), deal, *purpose]
    expected = np.random.default_rng(numbers).bit_generator.state
    assert stream(seed, game, deal, *purpose).bit_generator.state == expected
    assert streams(seed, game, deal)(*purpose).bit_generator.state == expected
