"""Options drawn by their scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.calibrated import Calibrated
from gauntlet.agents.prompting.cloze import Cloze
from gauntlet.agents.prompting.counterfactual import Counterfactual
from gauntlet.agents.prompting.pride import Pride
from gauntlet.agents.prompting.priors import Divided
from gauntlet.agents.reordered import Reordered
from gauntlet.games.openspiel.exploitability import tempered
from gauntlet.pipeline.plan.identity import describe
from tests.agents.play import drive, silent, table, turn_with

ROWS = [[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.2, 0.1, 0.7]]
METHODS = (Cloze, Counterfactual, Calibrated, Pride)


@pytest.mark.parametrize("method", METHODS)
def test_the_default_takes_the_best_and_is_in_no_key(method: Any) -> None:
    assert "temperature" not in describe(method())
    assert describe(method(temperature=0.5))["temperature"] == 0.5
    with pytest.raises(ValueError, match="temperature is -1; it is 0 or above"):
        method(temperature=-1.0)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_options_are_drawn_as_often_as_recorded(temperature: float) -> None:
    """And as `pipeline.exploit` takes scores to be a policy."""
    agent, turn = LLM(Cloze(0, temperature=temperature)), turn_with("a", "b", "c")
    made = [drive(agent, turn, table(ROWS), seed=seed)[0] for seed in range(2_000)]
    (chances,) = {one.chances for one in made}
    counts = np.bincount([one.option for one in made], minlength=3)
    assert chisquare(counts, len(made) * np.array(chances)).pvalue > 1e-4
    legal = np.full((1, 3), True)
    known = tempered(np.array([made[0].scores]), legal, temperature)
    np.testing.assert_allclose(chances, known[0])


def test_differences_are_drawn_by_their_exponentials() -> None:
    agent = LLM(Counterfactual(0, temperature=0.5))
    rows = [[0.7, 0.2], [0.1, 0.4]]
    decision, _ = drive(agent, turn_with("a", "b"), table(rows))
    assert decision.scores == pytest.approx((0.5, -0.3))
    assert decision.chances[0] == pytest.approx(1 / (1 + math.exp(-0.8 / 0.5)))


def test_the_same_stream_draws_the_same_option() -> None:
    agent, turn = LLM(Cloze(0, temperature=2.0)), turn_with("a", "b", "c")
    made = [drive(agent, turn, table(ROWS), seed=seed)[0] for seed in (*range(20), *range(20))]
    assert made[:20] == made[20:]
    assert len({one.option for one in made}) > 1


def test_no_draw_is_recorded_of_the_best_option_or_of_a_fallback() -> None:
    for temperature, answer in ((0.0, table(ROWS)), (1.0, silent)):
        agent = LLM(Divided(0, temperature=temperature))
        decision, _ = drive(
            agent, turn_with("a", "b"), answer if temperature else table([ROWS[0][:2]])
        )
        assert decision.chances == ()
        assert decision.fallback == bool(temperature)


def test_reversed_options_keep_their_chances() -> None:
    """A model that likes what is first in the list."""
    first = [[0.8, 0.1, 0.1]] * 3
    agent = Reordered(LLM(Divided(0, temperature=1.0)))
    decision, _ = drive(agent, turn_with("a", "b", "c"), table(first[:1]))
    assert decision.chances == pytest.approx((0.1, 0.1, 0.8))
