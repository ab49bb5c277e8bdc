"""Observer, Not Player: the ideal observer in many matches at once."""

from __future__ import annotations

import numpy as np
import pytest

from games.rock_paper_scissors import RockPaperScissors
from games.rock_paper_scissors.strategies import CODES
from papers.observer import ideal
from papers.published import judged, paper
from stats.intervals import prediction


def test_the_ideal_observers_figures_come_out_again() -> None:
    """Ours of before, each the mean of 120 runs: the new mean lies where it would by chance."""
    told, count = paper("observer")["ideal"], 0
    for pair, by_react in told["sir"].items():
        for react, windows in by_react.items():
            for window, (mean, sd) in windows.items():
                runs = ideal.sir(pair.replace("-", ""), react, window)
                reach = 2 * max(sd, runs.std()) / np.sqrt(len(runs))
                found = float(runs.mean())
                limits = prediction(found, (found - reach, found + reach), len(runs), told["runs"])
                assert judged(mean, limits, effect=0.2) == "agrees", (pair, react, window)
                count += 1
    assert count == 8


@pytest.mark.parametrize("pair", ["NG", "DY", "XZ"])
@pytest.mark.parametrize("window", [20, 50, 210])
def test_windows_are_summed_as_guess_by_guess(pair: str, window: int) -> None:
    """Against the game's own chances, a round at a time."""
    game = RockPaperScissors(rounds=60)
    hands = np.random.default_rng(3).integers(3, size=(2, 1, 60))
    chances = ideal.likelihoods(hands[0], hands[1])
    state = tuple(zip(*(one[0].tolist() for one in hands), strict=True))
    slow = np.array(
        [
            [game.probabilities(code, game.observe(state[:at], 0))[state[at][0]] for code in CODES]
            for at in range(60)
        ]
    )
    np.testing.assert_allclose(chances[0], slow)
    found = ideal.right(chances, CODES.index(pair[0]), window)
    for number in (0, 17, 49):
        end = ideal.WARMUP + number + 1
        with np.errstate(divide="ignore"):
            logs = np.log(slow[max(0, end - window) : end]).sum(axis=0)
        best = np.flatnonzero(logs >= logs.max() - 1e-9)
        wanted = (CODES.index(pair[0]) in best) / len(best)
        assert found[0, number] == pytest.approx(wanted)
